// Operands of the tensor cores: 16-bit elements as they are, a float32 as two float16 and a scale.
//
// The scale is a power of two that brings the greatest magnitude of some elements to [2^14, 2^15). With it x is hi + lo
// / 2^11, hi the nearest float16 and lo the nearest to what is left, 2^11 times as large. That keeps 22 bits of every x
// down to 2^-27 of the greatest. Elements that are not `tame`, because they span more, or are not finite, are zeros
// here, and whoever asked computes their part of the sum in float32.
#pragma once
#include <ridge/dwconv/magnitudes.cuh>
#include <ridge/dwconv/sum.cuh>
#include <ridge/dwconv/variants.hpp>

namespace ridge::dwconv_detail {

template <class T> using PartOf = std::conditional_t<std::is_same_v<T, bfloat16>, bfloat16, half>;

inline constexpr float low_scale = 0x1p11f;  // of lo
inline constexpr int top_exponent = 14;
// Exponents of the greatest magnitude between which scales and their products are normal numbers.
inline constexpr int least_exponent = -48, most_exponent = 62, exponent_span = 27;

// Whether the scale of elements whose greatest magnitude has this exponent serves these too.
__device__ __forceinline__ bool tame(const Magnitudes& m, int exponent_of_all) {
  return m.greatest == 0 ||
         (exponent_of_all >= least_exponent && exponent_of_all <= most_exponent &&
          static_cast<int>(m.least >> fraction_bits) - exponent_bias >= exponent_of_all - exponent_span);
}

// How elements of T become parts: the scale, its inverse, and whether it serves them.
struct Scale {
  float by = 1, inverse = 1;
  bool tame = true;
};
template <class T> __device__ __forceinline__ Scale scale_of(const Magnitudes& m) {
  if constexpr (parts(dtype_of<T>) == 1) {
    return {1, 1, m.finite()};
  } else {
    const int e = m.exponent();
    if (m.greatest == 0) return {};
    if (!tame(m, e)) return {0, 1, false};
    return {power_of_two(top_exponent - e), power_of_two(e - top_exponent), true};
  }
}

// x of T, in float32, as its parts.
template <class T> struct Split {
  PartOf<T> part[parts(dtype_of<T>)];
  __device__ __forceinline__ Split(float x, float scale) {
    const float scaled = parts(dtype_of<T>) == 1 ? x : x * scale;
    part[0] = PartOf<T>(scaled);
    if constexpr (parts(dtype_of<T>) == 2) part[1] = PartOf<T>((scaled - float(part[0])) * low_scale);
  }
};

// ---- rows of signals ------------------------------------------------------------------------------------------------

// N neighbouring elements of a row as they lie in memory, so that nothing waits for them before they are used.
template <class T, int N> struct Elements {
  static constexpr int V = N * sizeof(T) > 16 ? 16 / static_cast<int>(sizeof(T)) : N;  // of an access
  simt::vec<T, V> raw[N / V];

  // Those from x on; 0 where they are not in [0, end). `units`: N elements that begin at a multiple of N are whole
  // accesses (units_aligned() below). A step below 0 goes through memory backwards.
  __device__ __forceinline__ void load(const T* row, std::int64_t step, int x, int end, bool units) {
    if (units && x >= 0 && x + N <= end) {
      const T* from = step > 0 ? row + x : row - (x + N - 1);
#pragma unroll
      for (int i = 0; i < N / V; ++i) raw[i] = simt::load<V>(from + i * V);
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const int at = step > 0 ? x + i : x + N - 1 - i;
        raw[i / V][i % V] = at >= 0 && at < end ? row[at * step] : T(0.0f);
      }
    }
  }
  // In the row's order.
  __device__ __forceinline__ void to_floats(float (&to)[N], std::int64_t step) const {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float forward = float(raw[i / V][i % V]), backward = float(raw[(N - 1 - i) / V][(N - 1 - i) % V]);
      to[i] = step > 0 ? forward : backward;
    }
  }
};

// Whether every row of a signal can be read so, in accesses of 16 bytes.
template <class T> static bool units_aligned(const Signal<T>& s, int alignment) {
  constexpr std::int64_t V = 16 / sizeof(T);
  if (s.step != 1 && s.step != -1) return false;
  return alignment >= 16 && s.batch % V == 0 && s.channel % V == 0 && (s.step == 1 || s.size % V == 0);
}

// Which of a block's places, of which later ones have more to do, a warp takes: the quarters of a multiprocessor have
// every fourth warp, and get theirs in turn from either end.
__device__ __forceinline__ int place_of(int warp) { return warp / 4 % 2 ? warp / 4 * 4 + 3 - warp % 4 : warp; }

}  // namespace ridge::dwconv_detail
