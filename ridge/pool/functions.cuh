// The functions of a window: combine() its elements in any grouping, then finish() the result.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/tile/extreme.cuh>
#include <ridge/tile/packed.cuh>

namespace ridge::pool_detail {

// Number of the taps first ... first + taps - 1 that are within [0, size).
template <class Index> __device__ __forceinline__ Index taps_inside(Index first, Index taps, Index size) {
  const Index last = first + taps;
  const Index inside = (last < size ? last : size) - (first > 0 ? first : 0);
  return inside > 0 ? inside : 0;
}

// A plane with its padding, for windows that reach beyond it. Sums of a position and a window's size have 31 bits, or
// 63.
template <class Index> struct PaddedPlane {
  Index top, left, h, w;  // padding before the input; sizes of the whole

  // Number of the r x s taps of a window at (i, j) of the input that are within.
  __device__ __forceinline__ float taps(Index i, Index j, Index r, Index s) const {
    return float(taps_inside(i + top, r, h)) * float(taps_inside(j + left, s, w));
  }
};

// The inputs of window o of `outputs` along an axis of adaptive pooling: from o inputs / outputs, rounded down, to
// (o + 1) inputs / outputs, rounded up. Precondition: inputs * outputs below 2^62.
struct AdaptiveSpan {
  std::int64_t begin, end;
  __device__ __forceinline__ AdaptiveSpan(std::int64_t o, std::int64_t inputs, std::int64_t outputs)
      : begin(static_cast<std::int64_t>(quotient(o * inputs, outputs))),
        end(static_cast<std::int64_t>(quotient((o + 1) * inputs + outputs - 1, outputs))) {}
  __device__ __forceinline__ std::int64_t size() const { return end - begin; }
};

struct Max {
  static constexpr bool counts = false, clips = false;
  static __device__ __forceinline__ float neutral() { return -__builtin_huge_valf(); }
  static __device__ __forceinline__ float combine(float a, float b) { return tile::Extreme<true>::pick(a, b); }
  template <class T> static __device__ __forceinline__ float finish(float greatest, float, float) { return greatest; }
};

struct Mean {
  static constexpr bool counts = true, clips = false;
  static __device__ __forceinline__ float neutral() { return 0; }
  static __device__ __forceinline__ float combine(float a, float b) { return a + b; }
  // sum / count, given the reciprocal of count: the product, corrected once by its error, so that the mean of equal
  // values is that value; 16-bit floats are rounded to it anyway. For an infinite sum the error is NaN, and the product
  // is already correct.
  template <class T> static __device__ __forceinline__ float finish(float sum, float count, float reciprocal) {
    const float mean = sum * reciprocal;
    if constexpr (sizeof(T) == 2) {
      return mean;
    } else {
      const float better = fmaf(fmaf(-mean, count, sum), reciprocal, mean);
      return better == better ? better : mean;
    }
  }
};

// The mean of windows that may reach beyond the padded input; the divisor counts what is within. clips() of a problem.
struct ClippedMean : Mean {
  static constexpr bool clips = true;
};

// Accumulators of windows of V neighbouring channels: floats, or for the maximum of 16-bit floats packed pairs, two per
// instruction.
template <class F, class T> struct Channels {
  static constexpr int V = tile::vector_elements<T>;
  static constexpr bool packed = std::is_same_v<F, Max> && tile::is_packed<T>;
  std::conditional_t<packed, tile::Packed, simt::vec<float, V>> value;

  __device__ __forceinline__ Channels() {}
  __device__ __forceinline__ explicit Channels(const tile::Packed& in) {
    if constexpr (packed) value = in;
    else value = tile::unpack_floats<T>(in);
  }
  __device__ __forceinline__ void combine(const Channels& other) {
#pragma unroll
    for (int i = 0; i < (packed ? tile::vector_words : V); ++i) {
      if constexpr (packed) value[i] = tile::Extreme<true>::packed_pick<T>(value[i], other.value[i]);
      else value[i] = F::combine(value[i], other.value[i]);
    }
  }
  __device__ __forceinline__ tile::Packed finish(float count, float reciprocal) const {
    if constexpr (packed) {
      return value;
    } else {
      tile::Floats<T> out;
#pragma unroll
      for (int v = 0; v < V; ++v) out[v] = F::template finish<T>(value[v], count, reciprocal);
      return tile::pack_floats<T>(out);
    }
  }
};

}  // namespace ridge::pool_detail
