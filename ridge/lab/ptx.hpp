// Inline PTX: what the translator makes of asm("mov.u32 %0, %1;" : "=r"(x) : "r"(y)) is
//
//   ptx(PtxSite{"mov.u32 %0, %1;", __FILE__, __LINE__}, written("=r", x), given("r", y))
//
// The instructions are interpreted (ptx/): those that occur in posted kernels for compute capability 8.0. Others end
// the kernel with a sentence.
#pragma once
#include <ridge/lab/ptx/access.hpp>

#include <bit>
#include <cstdlib>
#include <type_traits>

namespace ridge::lab {

// ---- operands ------------------------------------------------------------------------------------------------------
// r, h, l: an integer's bits; f, d: floating point; n: a constant.
[[gnu::always_inline]] constexpr char ptx_letter(const char* constraint) {
  while (*constraint == '=' || *constraint == '+' || *constraint == '&') ++constraint;
  return *constraint;
}

template <class T> [[gnu::always_inline]] inline std::uint64_t ptx_bits(const char* constraint, const T& x) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<std::uintptr_t>(x);
  } else if constexpr (std::is_null_pointer_v<T>) {
    return 0;
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<std::uint64_t>(x);
  } else if constexpr (std::is_arithmetic_v<T>) {
    const char letter = ptx_letter(constraint);
    if (letter == 'f') return std::bit_cast<std::uint32_t>(static_cast<float>(x));
    if (letter == 'd') return std::bit_cast<std::uint64_t>(static_cast<double>(x));
    if constexpr (std::is_same_v<T, float>) return std::bit_cast<std::uint32_t>(x);
    else if constexpr (std::is_same_v<T, double>) return std::bit_cast<std::uint64_t>(x);
    else return static_cast<std::uint64_t>(x);
  } else {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "an asm operand is a number or a pointer");
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof x);
    return bits;
  }
}

template <class T> [[gnu::always_inline]] inline void take_ptx_bits(T& x, std::uint64_t bits) {
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    x = static_cast<T>(bits);
  } else if constexpr (std::is_pointer_v<T>) {
    x = reinterpret_cast<T>(bits);
  } else {
    static_assert(sizeof(T) <= 8, "an asm operand is a number or a pointer");
    std::remove_cv_t<T> value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
    x = value;
  }
}

template <class T> struct PtxWritten {
  const char* constraint;  // "=r", or "+r" if it is read as well
  T& to;
  const char* name;
  [[gnu::always_inline]] std::uint64_t bits() const { return *constraint == '+' ? ptx_bits(constraint, to) : 0; }
  [[gnu::always_inline]] void take(std::uint64_t result) const { take_ptx_bits(to, result); }
};
struct PtxGiven {
  const char* constraint;  // "r", or "0": as the operand of that number
  std::uint64_t value;
  const char* name;
  [[gnu::always_inline]] std::uint64_t bits() const { return value; }
  [[gnu::always_inline]] void take(std::uint64_t) const {}
};

template <class T>
[[gnu::always_inline]] inline PtxWritten<T> written(const char* constraint, T& x, const char* name = nullptr) {
  return {constraint, x, name};
}
template <class T>
[[gnu::always_inline]] inline PtxGiven given(const char* constraint, T x, const char* name = nullptr) {
  return {constraint, ptx_bits(constraint, x), name};
}

// ---- the statement -------------------------------------------------------------------------------------------------
template <class... Operands>
[[gnu::always_inline]] inline void run_ptx(const PtxSite& site, const PtxAbilities& can, const Operands&... operands) {
  constexpr unsigned count = sizeof...(operands);
  static_assert(count < 128, "an asm statement of that many operands");
  std::uint64_t registers[count + 1];
  const PtxOperand described[count + 1] = {{operands.name}..., {}};
  std::uint64_t* next = registers;
  ((*next++ = operands.bits()), ...);
  [[maybe_unused]] const auto same_as = [&](const char* constraint, std::uint64_t bits) {
    if (*constraint >= '0' && *constraint <= '9') registers[std::atoi(constraint)] = bits;
  };
  (same_as(operands.constraint, operands.bits()), ...);

  PtxFrame frame;
  frame.site = &site;
  frame.operands = count;
  frame.registers = registers;
  const bool has_names = (... || (operands.name != nullptr));
  PtxAction action = ptx_begin(frame, has_names ? described : nullptr);
  while (can.any() && action != PtxAction::done) {
    do_ptx_action(frame, action, can);
    action = ptx_resume(frame);
  }
  next = registers;
  ((operands.take(*next++)), ...);
}

// The trace has to find the accesses within the user's function. The sanitizers report who called, so for them, and for
// speed, there is one function for all statements with such operands.
template <class... Operands> [[gnu::noinline]] void call_ptx(const PtxSite& site, const Operands&... operands) {
  run_ptx(site, {true, true, true, true, true}, operands...);
}

template <class... Operands> [[gnu::always_inline]] inline void ptx(const PtxSite& site, const Operands&... operands) {
#ifdef RIDGE_SIMT_TRACED
  const char* const text = site.instructions;
  run_ptx(site,
          {.load = ptx_mentions(text, "ld"),
           .store = ptx_mentions(text, "st"),
           .atomic = ptx_mentions(text, "atom") || ptx_mentions_red(text),
           .fence = ptx_mentions(text, "fence") || ptx_mentions(text, "membar"),
           .wait = ptx_mentions(text, "wait")},
          operands...);
#else
  call_ptx(site, operands...);
#endif
}

}  // namespace ridge::lab

#include <ridge/lab/ptx/shared.hpp>
