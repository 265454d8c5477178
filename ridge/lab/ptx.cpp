// Inline PTX: statements are parsed once, and run.
#include <ridge/lab/ptx/frame.hpp>
#include <ridge/lab/ptx/program.hpp>
#include <ridge/lab/ptx/uninterrupted.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <stdexcept>

namespace ridge::lab {
namespace {

using isa::Program;
using isa::Step;

[[noreturn]] void refuse(const PtxSite& site, std::string_view instruction, std::string_view why) {
  std::string sentence = "PTX is not emulated: \"";
  sentence.append(instruction).append("\" at ").append(site.file).append(":").append(std::to_string(site.line));
  if (!why.empty()) sentence.append(": ").append(why);
  throw std::runtime_error(sentence);
}

bool same_names(const Program& program, const PtxOperand* operands, unsigned count) {
  if (program.operands != count || program.names.empty() != !operands) return false;
  for (unsigned i = 0; operands && i < count; ++i)
    if (program.names[i] != (operands[i].name ? operands[i].name : "")) return false;
  return true;
}

// To ThreadSanitizer a block's threads are threads, and it watches their new and delete, and their locks. So nothing
// that one of them has allocated here is deleted, and the lock is no mutex, which would order those that take it.

// All programs, by the address of their literal. The linker makes equal literals one; operands may differ in name.
class Cache {
 public:
  const Program* find(const char* text, const PtxOperand* operands, unsigned count) {
    const Uninterrupted here;
    while (locked_.test_and_set(std::memory_order_acquire)) {}
    Entry*& first = entries_[reinterpret_cast<std::uintptr_t>(text) / 8 % entries_.size()];
    const Entry* found = first;
    while (found && (found->text != text || !same_names(*found->program, operands, count))) found = found->next;
    if (!found) found = first = new Entry{text, isa::parse(text, operands, count), first};
    locked_.clear(std::memory_order_release);
    return found->program.get();
  }

 private:
  struct Entry {
    const char* text;
    std::unique_ptr<Program> program;
    Entry* next;
  };
  std::atomic_flag locked_;
  std::array<Entry*, 1024> entries_{};
};
Cache& cache() {
  static Cache& all = *new Cache;  // kernels may run while the process ends
  return all;
}

// The statements that this OS thread ran last, without a lock.
const Program& program_of(const char* text, const PtxOperand* operands, unsigned count) {
  struct Recent {
    const char* text = nullptr;
    const Program* program = nullptr;
  };
  static thread_local std::array<Recent, 256> all;
  Recent& recent = all[reinterpret_cast<std::uintptr_t>(text) / 8 % all.size()];
  if (recent.text != text || !same_names(*recent.program, operands, count))
    recent = {text, cache().find(text, operands, count)};
  return *recent.program;
}

// The registers that statements declare: a statement that waits for other threads keeps them. Those of statements that
// did not end are free when the next block begins.
class OwnRegisters {
 public:
  void take(PtxFrame& f, unsigned count) {
    f.own = nullptr;
    if (count == 0) return;
    if (const std::size_t block = simt::worker_or_null() ? simt::detail::block_number() : 0; block_ != block) {
      block_ = block;
      free_ = nullptr;
      for (Set* set = all_; set; set = set->former) release(set);
    }
    if (!free_) {
      const Uninterrupted here;
      all_ = new Set{.former = all_, .next_free = nullptr, .registers = {}};
      free_ = all_;
    }
    f.own = free_->registers;
    free_ = free_->next_free;
    std::fill_n(f.own, count, 0);
  }
  void release(const PtxFrame& f) {
    if (f.own) release(reinterpret_cast<Set*>(reinterpret_cast<char*>(f.own) - offsetof(Set, registers)));
  }

 private:
  struct Set {
    Set *former, *next_free;
    std::uint64_t registers[Program::most_own];
  };
  void release(Set* set) {
    set->next_free = free_;
    free_ = set;
  }

  Set *all_ = nullptr, *free_ = nullptr;
  std::size_t block_ = 0;
};
OwnRegisters& own_registers() {
  static thread_local OwnRegisters all;
  return all;
}

PtxAction run_from(PtxFrame& f, const Program& program) {
  for (; f.next < program.steps.size(); ++f.next) {
    const Step& step = program.steps[f.next];
    if (step.guarded && isa::bits(f, step.guard) == 0) continue;
    const PtxAction action = step.run(f, step);
    if (action != PtxAction::done) return action;
  }
  own_registers().release(f);
  return PtxAction::done;
}

}  // namespace

PtxAction ptx_begin(PtxFrame& f, const PtxOperand* operands) {
  const Program& program = program_of(f.site->instructions, operands, f.operands);
  if (!program.refused.empty()) refuse(*f.site, program.refused, program.why);
  f.program = &program;
  f.next = 0;
  own_registers().take(f, program.registers - program.operands);
  return run_from(f, program);
}

PtxAction ptx_resume(PtxFrame& f) {
  const Program& program = *static_cast<const Program*>(f.program);
  const Step& step = program.steps[f.next++];
  if (step.finish) step.finish(f, step);
  return run_from(f, program);
}

std::uint64_t ptx_updated(PtxFrame& f, std::uint64_t old) {
  const Step& step = static_cast<const Program*>(f.program)->steps[f.next];
  return step.update(f, step, old);
}

void ptx_refused(const PtxSite& site, const char* why) {
  const std::string_view text = site.instructions;
  refuse(site, text.substr(0, text.find_first_of(";\n")), why);
}

}  // namespace ridge::lab
