// Sums and dots of float32, accumulated in double-floats (unevaluated sums of two floats, tile/two_float.cuh).
#pragma once
#include <ridge/reduce/functions.cuh>
#include <ridge/tile/two_float.cuh>

namespace ridge::reduce_detail {

struct TwoFloatAdditive {
  using Element = float;
  using Partial = tile::TwoFloat;
  using Output = float;
  static constexpr bool locates = false;

  static __device__ __forceinline__ float neutral() { return 0; }
  static __device__ __forceinline__ Partial identity() { return {0, 0}; }
  static __device__ __forceinline__ Partial combine(Partial a, Partial b) { return tile::add(a, b); }
  static __device__ __forceinline__ float output(Partial sum, std::int64_t count, const Finish& finish) {
    const float rounded = tile::to_float(sum);
    return finish.mean ? rounded / static_cast<float>(count) : rounded;
  }

  // V sums side by side: of one row (end_of_tile(), result()), or of V rows (result(v)).
  template <int V> struct Sums {
    Partial sum[V];
    __device__ __forceinline__ explicit Sums(std::int64_t = 0) {
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) sum[v] = identity();
    }
    __device__ __forceinline__ void end_of_tile(std::int64_t) {}
    __device__ __forceinline__ Partial result(int v) const { return sum[v]; }
    __device__ __forceinline__ Partial result() const {
      Partial all[V];
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) all[v] = sum[v];
      RIDGE_UNROLL_ON_GPU
      for (int half = V / 2; half > 0; half /= 2) {
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < half; ++v) all[v] = combine(all[v], all[v + half]);
      }
      return all[0];
    }
  };
};

struct TwoFloatSum : TwoFloatAdditive {
  static constexpr int inputs = 1;
  static __device__ __forceinline__ Partial lift(float x, float, std::int64_t) { return {x, 0}; }

  template <int V> struct Running : Sums<V> {
    using Sums<V>::Sums;
    __device__ __forceinline__ void add(const simt::vec<float, V>& x, std::int64_t = 0) {
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) this->sum[v] = tile::add(this->sum[v], x[v]);
    }
  };
  template <int V> using RunningColumns = Running<V>;
};

struct TwoFloatDot : TwoFloatAdditive {
  static constexpr int inputs = 2;
  static __device__ __forceinline__ Partial lift(float x, float z, std::int64_t) { return tile::two_product(x, z); }

  template <int V> struct Running : Sums<V> {
    using Sums<V>::Sums;
    __device__ __forceinline__ void add(const simt::vec<float, V>& x, const simt::vec<float, V>& z, std::int64_t = 0) {
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) this->sum[v] = tile::add(this->sum[v], tile::two_product(x[v], z[v]));
    }
  };
  template <int V> using RunningColumns = Running<V>;
};

}  // namespace ridge::reduce_detail
