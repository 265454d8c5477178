// What the interpreter of inline PTX (compiled, in the library) and the kernel that runs it (the user's file) share.
//
// The library parses and computes. It does not touch the kernel's memory: -fsanitize=thread, =address and the trace see
// accesses of code that is compiled with them, so the library returns an action, and the kernel does it (access.hpp).
#pragma once
#include <ridge/simt/cpu/runtime.hpp>

#include <cstdint>

namespace ridge::lab {

// An asm statement of the user's file.
struct PtxSite {
  const char* instructions;
  const char* file;
  int line;
  simt::detail::where at;

  PtxSite(const char* text, const char* in_file, int in_line, simt::detail::where here = simt::detail::where::current())
      : instructions(text), file(in_file), line(in_line), at(here) {}
};

struct PtxOperand {
  const char* name;  // [name], or null
};

enum class PtxAction : unsigned char {
  done,
  load,          // `bytes` from `address` to `words`
  store,         // the other way round
  load_strong,   // as an atomic variable
  store_strong,  //
  update,        // *address = ptx_updated(*address), atomically
  fence,
  wait  // for this thread's copies, but the latest `prior` groups
};

// One execution of a statement. It is on the kernel's stack, where the trace does not see it; the registers that the
// statement declares are the library's.
struct PtxFrame {
  const PtxSite* site;
  const void* program;  // isa::Program
  unsigned next;        // its step
  unsigned operands;
  std::uint64_t* registers;  // the operands
  std::uint64_t* own;        // and those of the statement
  void* address;
  unsigned bytes, prior;
  bool orders;  // acquires, or releases
  alignas(16) std::uint64_t words[2];
};

// Runs until there is something for the kernel to do. The operands are described if any has a name.
RIDGE_API PtxAction ptx_begin(PtxFrame&, const PtxOperand*);
RIDGE_API PtxAction ptx_resume(PtxFrame&);
RIDGE_API std::uint64_t ptx_updated(PtxFrame&, std::uint64_t old);

// What cannot be emulated ends the kernel with a sentence.
[[noreturn]] RIDGE_API void ptx_refused(const PtxSite&, const char* why);

}  // namespace ridge::lab
