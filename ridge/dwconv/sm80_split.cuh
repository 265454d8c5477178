// Operands of the tensor cores: 16-bit elements unchanged, a float32 split into two float16 components and a scale.
//
// The scale is a power of two that brings the greatest magnitude of some elements to [2^14, 2^15). Then x = hi + lo /
// 2^11: hi is the nearest float16, lo the nearest to the remainder times 2^11. That keeps 22 bits of every x down to
// 2^-27 of the greatest. Elements that are not `in_range`, because they span more or are not finite, become zeros here,
// and the caller computes their part of the sum in float32.
#pragma once
#include <ridge/dwconv/magnitudes.cuh>
#include <ridge/dwconv/sm80_split.hpp>
#include <ridge/dwconv/sum.cuh>

namespace ridge::dwconv_detail {

template <class T> using ComponentOf = std::conditional_t<std::is_same_v<T, bfloat16>, bfloat16, half>;

inline constexpr float low_scale = 0x1p11f;  // of lo
inline constexpr int top_exponent = 14;
// Range of the greatest magnitude's exponent in which scales and their products are normal numbers.
inline constexpr int least_exponent = -48, most_exponent = 62, exponent_span = 27;

// Whether the scale of elements whose greatest magnitude has this exponent suits these too.
__device__ __forceinline__ bool in_range(const Magnitudes& m, int exponent_of_all) {
  return m.greatest == 0 ||
         (exponent_of_all >= least_exponent && exponent_of_all <= most_exponent &&
          static_cast<int>(m.least >> fraction_bits) - exponent_bias >= exponent_of_all - exponent_span);
}

// The split of elements of T: the scale, its inverse, and whether the elements are in range.
struct Scale {
  float by = 1, inverse = 1;
  bool in_range = true;
};
template <class T> __device__ __forceinline__ Scale scale_of(const Magnitudes& m) {
  if constexpr (components(dtype_of<T>) == 1) {
    return {1, 1, m.finite()};
  } else {
    const int e = m.exponent();
    if (m.greatest == 0) return {};
    if (!in_range(m, e)) return {0, 1, false};
    return {power_of_two(top_exponent - e), power_of_two(e - top_exponent), true};
  }
}

// The components of x, a T as float32.
template <class T> struct Split {
  ComponentOf<T> component[components(dtype_of<T>)];
  __device__ __forceinline__ Split(float x, float scale) {
    const float scaled = components(dtype_of<T>) == 1 ? x : x * scale;
    component[0] = ComponentOf<T>(scaled);
    if constexpr (components(dtype_of<T>) == 2)
      component[1] = ComponentOf<T>((scaled - float(component[0])) * low_scale);
  }
};

// ---- rows of signals ------------------------------------------------------------------------------------------------

// N neighbouring elements of a row in memory order, so that nothing waits for the loads before the elements are used.
template <class T, int N> struct Elements {
  static constexpr int V = N * sizeof(T) > 16 ? 16 / static_cast<int>(sizeof(T)) : N;  // elements per access
  simt::vec<T, V> raw[N / V];

  // Those from x on; 0 where they are not in [0, end). `aligned`: N elements that begin at a multiple of N are whole
  // accesses (is_vector_aligned() below). A step below 0 goes through memory backwards.
  __device__ __forceinline__ void load(const T* row, std::int64_t step, int x, int end, bool aligned) {
    if (aligned && x >= 0 && x + N <= end) {
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
  // Converts them, in the row's order.
  __device__ __forceinline__ void to_floats(float (&to)[N], std::int64_t step) const {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float forward = float(raw[i / V][i % V]), backward = float(raw[(N - 1 - i) / V][(N - 1 - i) % V]);
      to[i] = step > 0 ? forward : backward;
    }
  }
};

// Whether every row of a signal can be read in 16-byte vectors.
template <class T> static bool is_vector_aligned(const Signal<T>& s, int alignment) {
  constexpr std::int64_t V = 16 / sizeof(T);
  if (s.step != 1 && s.step != -1) return false;
  return alignment >= 16 && s.batch % V == 0 && s.channel % V == 0 && (s.step == 1 || s.size % V == 0);
}

// The position of a warp within a block's work, where later positions have more to do: a quarter of a multiprocessor
// has every fourth warp, and gets early and late positions alternately.
__device__ __forceinline__ int balanced_position(int warp) { return warp / 4 % 2 ? warp / 4 * 4 + 3 - warp % 4 : warp; }

}  // namespace ridge::dwconv_detail
