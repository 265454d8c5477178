// The accesses of inline PTX to the kernel's memory, in code that is compiled with the user's file: the sanitizers and
// the trace see them. For the trace they are inlined into the user's function, at the line of the asm statement.
#pragma once
#include <ridge/lab/copies.hpp>
#include <ridge/lab/poll.hpp>
#include <ridge/lab/ptx/frame.hpp>
#include <ridge/simt/cpu/lanes.hpp>

#include <atomic>
#include <cstring>

namespace ridge::lab {

// Calls f<Word>() with the type of one access.
template <class F> [[gnu::always_inline]] inline void with_ptx_word(unsigned bytes, F f) {
  switch (bytes) {
    case 1: return f.template operator()<std::uint8_t>();
    case 2: return f.template operator()<std::uint16_t>();
    case 4: return f.template operator()<std::uint32_t>();
    default: return f.template operator()<std::uint64_t>();
  }
}

template <unsigned Bytes> [[gnu::always_inline]] inline void move_ptx_word(void* to, const void* from) {
  std::memcpy(__builtin_assume_aligned(to, Bytes), __builtin_assume_aligned(from, Bytes), Bytes);
}
[[gnu::always_inline]] inline void move_ptx_words(void* to, const void* from, unsigned bytes) {
  switch (bytes) {
    case 1: return move_ptx_word<1>(to, from);
    case 2: return move_ptx_word<2>(to, from);
    case 4: return move_ptx_word<4>(to, from);
    case 8: return move_ptx_word<8>(to, from);
    default: return move_ptx_word<16>(to, from);
  }
}

template <class Word> [[gnu::always_inline]] inline void update_ptx_word(PtxFrame& f) {
  std::atomic_ref<Word> cell(*static_cast<Word*>(f.address));
  Word old = cell.load(std::memory_order_relaxed);
  for (bool done = false; !done;) {
    const auto next = static_cast<Word>(ptx_updated(f, old));
    if (f.orders) done = cell.compare_exchange_weak(old, next, std::memory_order_acq_rel, std::memory_order_acquire);
    else done = cell.compare_exchange_weak(old, next, std::memory_order_relaxed);
  }
  f.words[0] = old;
}

// Whether a literal may have a word in it. The compiler knows, and leaves out what the statement does not do.
[[gnu::always_inline]] inline bool ptx_mentions(const char* instructions, const char* word) {
  const bool found = __builtin_strstr(instructions, word) != nullptr;
  return __builtin_constant_p(found) ? found : true;
}
// The same for red, but not as the end of "shared", of which it looks at the first few.
template <int Few = 8> [[gnu::always_inline]] inline bool finds_ptx_red(const char* begin, const char* from) {
  const char* const at = __builtin_strstr(from, "red");
  if (!at) return false;
  if constexpr (Few == 0) return true;
  else return at == begin || at[-1] != 'a' || finds_ptx_red<Few - 1>(begin, at + 3);
}
[[gnu::always_inline]] inline bool ptx_mentions_red(const char* instructions) {
  const bool found = finds_ptx_red(instructions, instructions);
  return __builtin_constant_p(found) ? found : true;
}

// The actions that a statement's instructions can ask for.
struct PtxAbilities {
  bool load, store, atomic, fence, wait;
  bool any() const { return load || store || atomic || fence || wait; }
};

[[gnu::always_inline]] inline void do_ptx_action(PtxFrame& f, PtxAction action, const PtxAbilities& can) {
  if (can.load && action == PtxAction::load) {
    move_ptx_words(f.words, f.address, f.bytes);
  } else if (can.store && action == PtxAction::store) {
    move_ptx_words(f.address, f.words, f.bytes);
  } else if (can.load && action == PtxAction::load_strong) {
    with_ptx_word(f.bytes, [&]<class Word>() [[gnu::always_inline]] {
      const std::atomic_ref<Word> cell(*static_cast<Word*>(f.address));
      f.words[0] = f.orders ? cell.load(std::memory_order_acquire) : cell.load(std::memory_order_relaxed);
    });
    looked();
  } else if (can.store && action == PtxAction::store_strong) {
    with_ptx_word(f.bytes, [&]<class Word>() [[gnu::always_inline]] {
      const std::atomic_ref<Word> cell(*static_cast<Word*>(f.address));
      if (f.orders) cell.store(static_cast<Word>(f.words[0]), std::memory_order_release);
      else cell.store(static_cast<Word>(f.words[0]), std::memory_order_relaxed);
    });
  } else if (can.atomic && action == PtxAction::update) {
    if (f.bytes == 2) update_ptx_word<std::uint16_t>(f);
    else if (f.bytes == 4) update_ptx_word<std::uint32_t>(f);
    else update_ptx_word<std::uint64_t>(f);
  } else if (can.fence && action == PtxAction::fence) {
    __threadfence();
  } else if (can.wait && action == PtxAction::wait) {
    wait_copies_prior(f.prior);
  }
}

}  // namespace ridge::lab
