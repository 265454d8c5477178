// What the families of transforms share: a block's transform in shared memory, its range, and its operations.
#pragma once
#include <ridge/dwconv/problem.hpp>

namespace ridge::dwconv_detail {

inline constexpr int fft_radix = 16;  // numbers per thread
constexpr int fft_threads(int points) { return points / fft_radix; }
// Padded index in shared memory: one number of padding after every sixteen,
// so that lanes with a stride of sixteen use different banks.
constexpr int fft_padded(int i) { return i + i / fft_radix; }
constexpr int fft_words(int points) { return fft_padded(points); }
// Twiddle factors in shared memory: four for each thread's position in a span, while spans are longer than the radix.
constexpr int fft_twiddles(int points) {
  int count = 0;
  for (int span = points; span > fft_radix; span /= fft_radix) count += 4 * (span / fft_radix);
  return count;
}
constexpr int log2_of(int n) { return n > 1 ? 1 + log2_of(n / 2) : 0; }

constexpr bool as_threads_are(const Variant& row) {
  return row.config.points == 0 || row.config.threads == fft_threads(row.config.points);
}
static_assert(std::all_of(std::begin(variants), std::end(variants), as_threads_are));

// The range of a sum over the batch, which has no scale, as exponents of a row's greatest magnitude: products of 2^14
// elements, added up over 2^17 tiles and transformed back, stay below 2^127, and underflow below 2^-149 is less than a
// rounding of the largest product.
inline constexpr int least_summed_exponent = -60, most_summed_exponent = 30;

// The transforms' operations are fewer than the direct sum's.
inline void count_transforms(roofline::Kernel& k, const Config& c, double transforms) {
  k.cost.on(Unit::fp16_tensor) = 0;
  k.cost.on(Unit::fp32) = transforms * 5 * c.points * std::log2(c.points);
}

}  // namespace ridge::dwconv_detail
