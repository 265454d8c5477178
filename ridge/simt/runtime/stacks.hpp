// The stacks of a worker's fibers: one mapping, with a guard below each stack; pages are touched only when used.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ridge::simt {

class Stacks {
 public:
  static constexpr std::size_t bytes = 128 << 10;  // per stack: a register-tiled kernel spills some 10 KB at -O0
  static constexpr int count = 1024;

  // Maps the stacks if they are not mapped yet. Returns false if there is no address space for them.
  bool map();

  // The low end of stack i. The first call for an i makes its guard; if the process has run out of mappings, the stack
  // has no guard until a later call succeeds.
  char* stack(int i);

  // The memory of all stacks.
  const void* base() const { return base_; }
  std::size_t size() const { return base_ ? count * stride() : 0; }

  // Whether the address is in the guard of a stack.
  bool in_guard(std::uintptr_t address) const;

 private:
  std::size_t stride() const { return guard_ + bytes; }
  char* slot(int i) const { return base_ + static_cast<std::size_t>(i) * stride(); }

  char* base_ = nullptr;
  std::size_t guard_ = 0;
  int guarded_ = 0;  // slots below this number have their guards
};

}  // namespace ridge::simt
