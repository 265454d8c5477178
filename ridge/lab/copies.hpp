// Asynchronous copies: a thread's queue (cp.async and its groups), and those that a barrier waits for.
//
// A copy is done as late as the program allows, by the wait that covers it. A kernel that does not wait, or waits for
// too few groups, then reads what was there before; if copies were done when they are issued, nobody would notice. The
// source is read as late, so that a kernel which overwrites it too early is noticed too.
#pragma once
#include <ridge/simt/cpu/runtime.hpp>

#include <cstring>
#include <stdexcept>

namespace ridge::lab {

struct Copy {
  void* to;
  const void* from;
  std::size_t bytes, zeros;  // copied, and then set to zero
};

// ---- this thread's queue -----------------------------------------------------------------------------------------
RIDGE_API void queue_copy(const Copy&);
// Ends a group; returns how many have ended since the thread began.
RIDGE_API std::size_t commit_copies();
RIDGE_API std::size_t committed_groups();
// Takes the oldest copy out of the first `groups` groups; false if there is none.
RIDGE_API bool take_copy(std::size_t groups, Copy&);

// ---- those of a barrier of this block ----------------------------------------------------------------------------
// `list` is the barrier's: null is empty.
RIDGE_API void attach_copy(void*& list, const Copy&);
RIDGE_API bool detach_copy(void*& list, Copy&);

// ---- doing them --------------------------------------------------------------------------------------------------
// Inline, so that the trace and the sanitizers see the accesses as the kernel's.
template <std::size_t Bytes> void copy_word(void* to, const void* from) {
  std::memcpy(__builtin_assume_aligned(to, Bytes), __builtin_assume_aligned(from, Bytes), Bytes);
}
inline void do_copy(const Copy& c) {
  const std::size_t aligned = reinterpret_cast<std::uintptr_t>(c.to) | reinterpret_cast<std::uintptr_t>(c.from);
  if (c.bytes == 16 && aligned % 16 == 0) copy_word<16>(c.to, c.from);
  else if (c.bytes == 8 && aligned % 8 == 0) copy_word<8>(c.to, c.from);
  else if (c.bytes == 4 && aligned % 4 == 0) copy_word<4>(c.to, c.from);
  else if (c.bytes) std::memcpy(c.to, c.from, c.bytes);
  if (c.zeros) std::memset(static_cast<char*>(c.to) + c.bytes, 0, c.zeros);
}

// Does the copies of all groups but the latest `prior`.
inline void wait_copies_prior(std::size_t prior) {
  const std::size_t groups = committed_groups();
  Copy c;
  while (groups > prior && take_copy(groups - prior, c)) do_copy(c);
}

// Calls issue(copy) for the share of a group's thread in a copy of `bytes`: the widest words that addresses allow,
// neighbouring words to neighbouring threads. Precondition, as far as a device checks it: both addresses are multiples
// of `alignment`.
template <class Issue>
void share_copy(void* to, const void* from, std::size_t bytes, std::size_t alignment, std::size_t rank,
                std::size_t threads, simt::detail::where at, Issue issue) {
  const std::size_t addresses = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
  if (addresses % alignment != 0) simt::detail::misaligned(addresses % 16 ? to : from, alignment, at);
  std::size_t word = 16;
  while (addresses % word != 0) word /= 2;
  const std::size_t words = bytes / word, rest = bytes % word;
  const auto piece = [&](std::size_t i, std::size_t size) {
    issue(Copy{static_cast<char*>(to) + i * word, static_cast<const char*>(from) + i * word, size, 0});
  };
  for (std::size_t i = rank; i < words; i += threads) piece(i, word);
  if (rest && words % threads == rank) piece(words, rest);
}

}  // namespace ridge::lab
