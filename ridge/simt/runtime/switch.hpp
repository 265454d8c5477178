// Stack switching, the one part that cannot be written in C++.
//
// On x86-64 and aarch64 a switch saves only the callee-saved registers and takes about 2 ns; elsewhere (or with
// -DRIDGE_SIMT_UCONTEXT) it uses ucontext, and takes some 200 ns because that also saves the signal mask.
#pragma once
#include <cstddef>

#if !defined(RIDGE_SIMT_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define RIDGE_SIMT_UCONTEXT 1
#endif

namespace ridge::simt {

#ifndef RIDGE_SIMT_UCONTEXT
extern "C" [[gnu::visibility("hidden")]] void ridge_simt_switch_stack(void** save, void* to);
#endif

// Leaves the current stack for `to`, and stores the value to come back with in `save`.
inline void switch_stack(void** save, void* to) {
#ifdef RIDGE_SIMT_UCONTEXT
  void switch_ucontext(void** save, void* to);
  switch_ucontext(save, to);
#else
  ridge_simt_switch_stack(save, to);
#endif
}

// Prepares a stack so that switching to the result calls `entry`, which must never return.
void* prepare_stack(char* low, std::size_t size, void (*entry)());

}  // namespace ridge::simt
