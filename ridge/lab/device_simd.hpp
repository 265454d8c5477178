// CUDA's SIMD intrinsics: words of two halfwords or four bytes.
#pragma once
#include <ridge/simt/cpu/math.hpp>

#include <limits>

namespace ridge::lab {

// f of each part of type Part of the words, modulo the part's size.
template <class Part, class F> unsigned by_parts(unsigned a, unsigned b, F f) {
  using Bits = std::make_unsigned_t<Part>;
  unsigned result = 0;
  for (unsigned shift = 0; shift < 32; shift += 8 * sizeof(Part)) {
    const auto part = static_cast<Bits>(f(static_cast<Part>(a >> shift), static_cast<Part>(b >> shift)));
    result |= static_cast<unsigned>(part) << shift;
  }
  return result;
}

template <class Part> int clamp_to(int x) {
  constexpr int least = std::numeric_limits<Part>::min(), most = std::numeric_limits<Part>::max();
  return x < least ? least : x > most ? most : x;
}

template <class Part> unsigned sum_of_differences(unsigned a, unsigned b) {
  unsigned sum = 0;
  by_parts<Part>(a, b, [&sum](int x, int y) {
    sum += static_cast<unsigned>(x < y ? y - x : x - y);
    return 0;
  });
  return sum;
}

// The greatest or least of three, by parts; at least 0 if Relu.
template <class Part, bool Relu> unsigned max_of_three(unsigned a, unsigned b, unsigned c) {
  const auto greater = [](Part x, Part y) { return x < y ? y : x; };
  const unsigned most = by_parts<Part>(by_parts<Part>(a, b, greater), c, greater);
  return Relu ? by_parts<Part>(most, 0, greater) : most;
}
template <class Part, bool Relu> unsigned min_of_three(unsigned a, unsigned b, unsigned c) {
  const auto less = [](Part x, Part y) { return y < x ? y : x; };
  const unsigned least = by_parts<Part>(by_parts<Part>(a, b, less), c, less);
  return Relu ? by_parts<Part>(least, 0, [](Part x, Part y) { return x < y ? y : x; }) : least;
}
// The greater or lesser of two, and whether it is the first one (of equals, both are).
template <class T> T max_and_which(T a, T b, bool* is_first) {
  *is_first = a >= b;
  return a >= b ? a : b;
}
template <class T> T min_and_which(T a, T b, bool* is_first) {
  *is_first = a <= b;
  return a <= b ? a : b;
}
template <class Half, class F> unsigned halves_and_which(unsigned a, unsigned b, bool* high, bool* low, F f) {
  const auto at = [&](int shift, bool* is_first) {
    const Half chosen = f(static_cast<Half>(a >> shift), static_cast<Half>(b >> shift), is_first);
    return static_cast<unsigned>(static_cast<unsigned short>(chosen)) << shift;
  };
  return at(16, high) | at(0, low);
}
template <class Part> unsigned sum_by_parts(unsigned a, unsigned b) {
  return by_parts<std::make_unsigned_t<Part>>(a, b, [](unsigned x, unsigned y) { return x + y; });
}
template <class Part, bool Relu> unsigned max_of_sum(unsigned a, unsigned b, unsigned c) {
  return max_of_three<Part, Relu>(sum_by_parts<Part>(a, b), c, c);
}
template <class Part, bool Relu> unsigned min_of_sum(unsigned a, unsigned b, unsigned c) {
  return min_of_three<Part, Relu>(sum_by_parts<Part>(a, b), c, c);
}

}  // namespace ridge::lab

// ---- halfwords ------------------------------------------------------------------------------------------------------
inline unsigned __vabs2(unsigned a) {
  return ridge::lab::by_parts<short>(a, a, [](int x, int) { return x < 0 ? -x : x; });
}
inline unsigned __vabsss2(unsigned a) {
  return ridge::lab::by_parts<short>(a, a, [](int x, int) { return ridge::lab::clamp_to<short>(x < 0 ? -x : x); });
}
inline unsigned __vneg2(unsigned a) {
  return ridge::lab::by_parts<short>(a, a, [](int x, int) { return -x; });
}
inline unsigned __vnegss2(unsigned a) {
  return ridge::lab::by_parts<short>(a, a, [](int x, int) { return ridge::lab::clamp_to<short>(-x); });
}
inline unsigned __vadd2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return x + y; });
}
inline unsigned __vaddss2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<short>(a, b, [](int x, int y) { return ridge::lab::clamp_to<short>(x + y); });
}
inline unsigned __vaddus2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b,
                                              [](int x, int y) { return ridge::lab::clamp_to<unsigned short>(x + y); });
}
inline unsigned __vsub2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return x - y; });
}
inline unsigned __vsubss2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<short>(a, b, [](int x, int y) { return ridge::lab::clamp_to<short>(x - y); });
}
inline unsigned __vsubus2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b,
                                              [](int x, int y) { return ridge::lab::clamp_to<unsigned short>(x - y); });
}
inline unsigned __vavgs2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<short>(a, b, [](int x, int y) { return (x + y + (x + y >= 0)) >> 1; });
}
inline unsigned __vavgu2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return (x + y + 1) >> 1; });
}
inline unsigned __vhaddu2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return (x + y) >> 1; });
}
inline unsigned __vmaxs2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<short>(a, b, [](int x, int y) { return x < y ? y : x; });
}
inline unsigned __vmaxu2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return x < y ? y : x; });
}
inline unsigned __vmins2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<short>(a, b, [](int x, int y) { return y < x ? y : x; });
}
inline unsigned __vminu2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return y < x ? y : x; });
}
inline unsigned __vabsdiffs2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<short>(a, b, [](int x, int y) { return x < y ? y - x : x - y; });
}
inline unsigned __vabsdiffu2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return x < y ? y - x : x - y; });
}
inline unsigned __vsads2(unsigned a, unsigned b) { return ridge::lab::sum_of_differences<short>(a, b); }
inline unsigned __vsadu2(unsigned a, unsigned b) { return ridge::lab::sum_of_differences<unsigned short>(a, b); }
inline unsigned __vcmpeq2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return x == y ? -1 : 0; });
}
inline unsigned __vcmpne2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return x != y ? -1 : 0; });
}
inline unsigned __vcmpges2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<short>(a, b, [](int x, int y) { return x >= y ? -1 : 0; });
}
inline unsigned __vcmpgeu2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return x >= y ? -1 : 0; });
}
inline unsigned __vcmpgts2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<short>(a, b, [](int x, int y) { return x > y ? -1 : 0; });
}
inline unsigned __vcmpgtu2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return x > y ? -1 : 0; });
}
inline unsigned __vcmples2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<short>(a, b, [](int x, int y) { return x <= y ? -1 : 0; });
}
inline unsigned __vcmpleu2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return x <= y ? -1 : 0; });
}
inline unsigned __vcmplts2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<short>(a, b, [](int x, int y) { return x < y ? -1 : 0; });
}
inline unsigned __vcmpltu2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return x < y ? -1 : 0; });
}
inline unsigned __vseteq2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return x == y ? 1 : 0; });
}
inline unsigned __vsetne2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return x != y ? 1 : 0; });
}
inline unsigned __vsetges2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<short>(a, b, [](int x, int y) { return x >= y ? 1 : 0; });
}
inline unsigned __vsetgeu2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return x >= y ? 1 : 0; });
}
inline unsigned __vsetgts2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<short>(a, b, [](int x, int y) { return x > y ? 1 : 0; });
}
inline unsigned __vsetgtu2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return x > y ? 1 : 0; });
}
inline unsigned __vsetles2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<short>(a, b, [](int x, int y) { return x <= y ? 1 : 0; });
}
inline unsigned __vsetleu2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return x <= y ? 1 : 0; });
}
inline unsigned __vsetlts2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<short>(a, b, [](int x, int y) { return x < y ? 1 : 0; });
}
inline unsigned __vsetltu2(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned short>(a, b, [](int x, int y) { return x < y ? 1 : 0; });
}

// ---- bytes ----------------------------------------------------------------------------------------------------------
inline unsigned __vabs4(unsigned a) {
  return ridge::lab::by_parts<signed char>(a, a, [](int x, int) { return x < 0 ? -x : x; });
}
inline unsigned __vabsss4(unsigned a) {
  return ridge::lab::by_parts<signed char>(
      a, a, [](int x, int) { return ridge::lab::clamp_to<signed char>(x < 0 ? -x : x); });
}
inline unsigned __vneg4(unsigned a) {
  return ridge::lab::by_parts<signed char>(a, a, [](int x, int) { return -x; });
}
inline unsigned __vnegss4(unsigned a) {
  return ridge::lab::by_parts<signed char>(a, a, [](int x, int) { return ridge::lab::clamp_to<signed char>(-x); });
}
inline unsigned __vadd4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return x + y; });
}
inline unsigned __vaddss4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<signed char>(a, b, [](int x, int y) { return ridge::lab::clamp_to<signed char>(x + y); });
}
inline unsigned __vaddus4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b,
                                             [](int x, int y) { return ridge::lab::clamp_to<unsigned char>(x + y); });
}
inline unsigned __vsub4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return x - y; });
}
inline unsigned __vsubss4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<signed char>(a, b, [](int x, int y) { return ridge::lab::clamp_to<signed char>(x - y); });
}
inline unsigned __vsubus4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b,
                                             [](int x, int y) { return ridge::lab::clamp_to<unsigned char>(x - y); });
}
inline unsigned __vavgs4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<signed char>(a, b, [](int x, int y) { return (x + y + (x + y >= 0)) >> 1; });
}
inline unsigned __vavgu4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return (x + y + 1) >> 1; });
}
inline unsigned __vhaddu4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return (x + y) >> 1; });
}
inline unsigned __vmaxs4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<signed char>(a, b, [](int x, int y) { return x < y ? y : x; });
}
inline unsigned __vmaxu4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return x < y ? y : x; });
}
inline unsigned __vmins4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<signed char>(a, b, [](int x, int y) { return y < x ? y : x; });
}
inline unsigned __vminu4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return y < x ? y : x; });
}
inline unsigned __vabsdiffs4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<signed char>(a, b, [](int x, int y) { return x < y ? y - x : x - y; });
}
inline unsigned __vabsdiffu4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return x < y ? y - x : x - y; });
}
inline unsigned __vsads4(unsigned a, unsigned b) { return ridge::lab::sum_of_differences<signed char>(a, b); }
inline unsigned __vsadu4(unsigned a, unsigned b) { return ridge::lab::sum_of_differences<unsigned char>(a, b); }
inline unsigned __vcmpeq4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return x == y ? -1 : 0; });
}
inline unsigned __vcmpne4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return x != y ? -1 : 0; });
}
inline unsigned __vcmpges4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<signed char>(a, b, [](int x, int y) { return x >= y ? -1 : 0; });
}
inline unsigned __vcmpgeu4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return x >= y ? -1 : 0; });
}
inline unsigned __vcmpgts4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<signed char>(a, b, [](int x, int y) { return x > y ? -1 : 0; });
}
inline unsigned __vcmpgtu4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return x > y ? -1 : 0; });
}
inline unsigned __vcmples4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<signed char>(a, b, [](int x, int y) { return x <= y ? -1 : 0; });
}
inline unsigned __vcmpleu4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return x <= y ? -1 : 0; });
}
inline unsigned __vcmplts4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<signed char>(a, b, [](int x, int y) { return x < y ? -1 : 0; });
}
inline unsigned __vcmpltu4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return x < y ? -1 : 0; });
}
inline unsigned __vseteq4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return x == y ? 1 : 0; });
}
inline unsigned __vsetne4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return x != y ? 1 : 0; });
}
inline unsigned __vsetges4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<signed char>(a, b, [](int x, int y) { return x >= y ? 1 : 0; });
}
inline unsigned __vsetgeu4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return x >= y ? 1 : 0; });
}
inline unsigned __vsetgts4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<signed char>(a, b, [](int x, int y) { return x > y ? 1 : 0; });
}
inline unsigned __vsetgtu4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return x > y ? 1 : 0; });
}
inline unsigned __vsetles4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<signed char>(a, b, [](int x, int y) { return x <= y ? 1 : 0; });
}
inline unsigned __vsetleu4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return x <= y ? 1 : 0; });
}
inline unsigned __vsetlts4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<signed char>(a, b, [](int x, int y) { return x < y ? 1 : 0; });
}
inline unsigned __vsetltu4(unsigned a, unsigned b) {
  return ridge::lab::by_parts<unsigned char>(a, b, [](int x, int y) { return x < y ? 1 : 0; });
}

// ---- of three words: Hopper's DPX, which older devices emulate ------------------------------------------------------
inline int __vimax3_s32(int a, int b, int c) { return ridge::lab::max_of_three<int, false>(a, b, c); }
inline int __viaddmax_s32(int a, int b, int c) { return ridge::lab::max_of_sum<int, false>(a, b, c); }
inline int __vimax3_s32_relu(int a, int b, int c) { return ridge::lab::max_of_three<int, true>(a, b, c); }
inline int __viaddmax_s32_relu(int a, int b, int c) { return ridge::lab::max_of_sum<int, true>(a, b, c); }
inline int __vimax_s32_relu(int a, int b) { return ridge::lab::max_of_three<int, true>(a, b, b); }
inline int __vimin3_s32(int a, int b, int c) { return ridge::lab::min_of_three<int, false>(a, b, c); }
inline int __viaddmin_s32(int a, int b, int c) { return ridge::lab::min_of_sum<int, false>(a, b, c); }
inline int __vimin3_s32_relu(int a, int b, int c) { return ridge::lab::min_of_three<int, true>(a, b, c); }
inline int __viaddmin_s32_relu(int a, int b, int c) { return ridge::lab::min_of_sum<int, true>(a, b, c); }
inline int __vimin_s32_relu(int a, int b) { return ridge::lab::min_of_three<int, true>(a, b, b); }
inline unsigned __vimax3_u32(unsigned a, unsigned b, unsigned c) {
  return ridge::lab::max_of_three<unsigned, false>(a, b, c);
}
inline unsigned __viaddmax_u32(unsigned a, unsigned b, unsigned c) {
  return ridge::lab::max_of_sum<unsigned, false>(a, b, c);
}
inline unsigned __vimin3_u32(unsigned a, unsigned b, unsigned c) {
  return ridge::lab::min_of_three<unsigned, false>(a, b, c);
}
inline unsigned __viaddmin_u32(unsigned a, unsigned b, unsigned c) {
  return ridge::lab::min_of_sum<unsigned, false>(a, b, c);
}
inline unsigned __vimax3_s16x2(unsigned a, unsigned b, unsigned c) {
  return ridge::lab::max_of_three<short, false>(a, b, c);
}
inline unsigned __viaddmax_s16x2(unsigned a, unsigned b, unsigned c) {
  return ridge::lab::max_of_sum<short, false>(a, b, c);
}
inline unsigned __vimax3_s16x2_relu(unsigned a, unsigned b, unsigned c) {
  return ridge::lab::max_of_three<short, true>(a, b, c);
}
inline unsigned __viaddmax_s16x2_relu(unsigned a, unsigned b, unsigned c) {
  return ridge::lab::max_of_sum<short, true>(a, b, c);
}
inline unsigned __vimax_s16x2_relu(unsigned a, unsigned b) { return ridge::lab::max_of_three<short, true>(a, b, b); }
inline unsigned __vimin3_s16x2(unsigned a, unsigned b, unsigned c) {
  return ridge::lab::min_of_three<short, false>(a, b, c);
}
inline unsigned __viaddmin_s16x2(unsigned a, unsigned b, unsigned c) {
  return ridge::lab::min_of_sum<short, false>(a, b, c);
}
inline unsigned __vimin3_s16x2_relu(unsigned a, unsigned b, unsigned c) {
  return ridge::lab::min_of_three<short, true>(a, b, c);
}
inline unsigned __viaddmin_s16x2_relu(unsigned a, unsigned b, unsigned c) {
  return ridge::lab::min_of_sum<short, true>(a, b, c);
}
inline unsigned __vimin_s16x2_relu(unsigned a, unsigned b) { return ridge::lab::min_of_three<short, true>(a, b, b); }
inline unsigned __vimax3_u16x2(unsigned a, unsigned b, unsigned c) {
  return ridge::lab::max_of_three<unsigned short, false>(a, b, c);
}
inline unsigned __viaddmax_u16x2(unsigned a, unsigned b, unsigned c) {
  return ridge::lab::max_of_sum<unsigned short, false>(a, b, c);
}
inline unsigned __vimin3_u16x2(unsigned a, unsigned b, unsigned c) {
  return ridge::lab::min_of_three<unsigned short, false>(a, b, c);
}
inline unsigned __viaddmin_u16x2(unsigned a, unsigned b, unsigned c) {
  return ridge::lab::min_of_sum<unsigned short, false>(a, b, c);
}

// The greater or lesser of two, with the question whether that is the first one.
inline int __vibmax_s32(int a, int b, bool* pred) { return ridge::lab::max_and_which(a, b, pred); }
inline int __vibmin_s32(int a, int b, bool* pred) { return ridge::lab::min_and_which(a, b, pred); }
inline unsigned __vibmax_u32(unsigned a, unsigned b, bool* pred) { return ridge::lab::max_and_which(a, b, pred); }
inline unsigned __vibmin_u32(unsigned a, unsigned b, bool* pred) { return ridge::lab::min_and_which(a, b, pred); }
inline unsigned __vibmax_s16x2(unsigned a, unsigned b, bool* pred_hi, bool* pred_lo) {
  return ridge::lab::halves_and_which<short>(a, b, pred_hi, pred_lo, ridge::lab::max_and_which<short>);
}
inline unsigned __vibmin_s16x2(unsigned a, unsigned b, bool* pred_hi, bool* pred_lo) {
  return ridge::lab::halves_and_which<short>(a, b, pred_hi, pred_lo, ridge::lab::min_and_which<short>);
}
inline unsigned __vibmax_u16x2(unsigned a, unsigned b, bool* pred_hi, bool* pred_lo) {
  return ridge::lab::halves_and_which<unsigned short>(a, b, pred_hi, pred_lo,
                                                      ridge::lab::max_and_which<unsigned short>);
}
inline unsigned __vibmin_u16x2(unsigned a, unsigned b, bool* pred_hi, bool* pred_lo) {
  return ridge::lab::halves_and_which<unsigned short>(a, b, pred_hi, pred_lo,
                                                      ridge::lab::min_and_which<unsigned short>);
}
