// Switching stacks: the one thing that cannot be written in C++.
//
// x86-64 and aarch64 save what their ABIs call callee-saved and nothing else, about 2 ns; elsewhere (or with
// -DRIDGE_SIMT_UCONTEXT) ucontext does it, at some 200 ns because it also saves the signal mask.
#pragma once
#include <cstddef>

#if !defined(RIDGE_SIMT_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define RIDGE_SIMT_UCONTEXT 1
#endif

namespace ridge::simt {

#ifndef RIDGE_SIMT_UCONTEXT
extern "C" [[gnu::visibility("hidden")]] void ridge_simt_switch_stack(void** save, void* to);
#endif

// Leaves the current stack for `to`, and notes in `save` what brings one back.
inline void switch_stack(void** save, void* to) {
#ifdef RIDGE_SIMT_UCONTEXT
  void switch_ucontext(void** save, void* to);
  switch_ucontext(save, to);
#else
  ridge_simt_switch_stack(save, to);
#endif
}

// Lays out a stack so that switching to the result calls `entry`, which must never return.
void* prepare_stack(char* low, std::size_t size, void (*entry)());

}  // namespace ridge::simt
