// The same sum from tiles in shared memory; a thread has a few outputs of a few rows.
#pragma once
#include <ridge/dwconv/launch.cuh>
#include <ridge/dwconv/tiled.hpp>

namespace ridge::dwconv_detail {

// The sums of R neighbouring outputs and G rows of p, over the steps of one tile. From output to output and from step
// to step, q's elements are the same, shifted by one: a thread has those of R outputs in registers (a sliding window)
// and loads four more for every four steps.
template <int R, int G> struct ThreadSums {
  static constexpr int steps = 4;  // at a time: one 16-byte access
  float sums[G][R] = {};

  // p: [G][tile_steps]. q: the element of this thread's last output at step 0, aligned to 16 bytes if R is 4.
  // valid(x, r): whether output r has step x; only if Edge: a NaN outside of a sum must not reach it.
  template <bool Edge, class Valid>
  __device__ __forceinline__ void add(const float* p, const float* q, const Valid& valid) {
    constexpr int V = R % 4 == 0 ? 4 : 1;  // q's elements per access
    float window[R + steps];               // steps x - (R - 1) to x + 4, relative to output 0
#pragma unroll
    for (int i = 0; i < R; i += V) load_to<V>(window + i, q + i);
#pragma unroll 4
    for (int x = 0; x < tile_steps; x += steps) {
#pragma unroll
      for (int i = 0; i < steps; i += V) load_to<V>(window + R + i, q + x + R + i);
#pragma unroll
      for (int g = 0; g < G; ++g) {
        const auto row = simt::load<steps>(p + g * tile_steps + x);
#pragma unroll
        for (int e = 0; e < steps; ++e)
#pragma unroll
          for (int r = 0; r < R; ++r)
            if (!Edge || valid(x + e, r)) sums[g][r] += row[e] * window[R - 1 + e - r];
      }
#pragma unroll
      for (int i = 0; i < R; ++i) window[i] = window[i + steps];
    }
  }

 private:
  template <int V> static __device__ __forceinline__ void load_to(float* to, const float* from) {
    const auto v = simt::load<V>(from);
#pragma unroll
    for (int i = 0; i < V; ++i) to[i] = v[i];
  }
};

// One block per channel, group of rows and tile of outputs.   y: [batch, channels, size], or [channels, size] if Summed
// Preconditions: gridDim.x is tiled_grid(); tiled_smem_bytes(); sizes below 2^31.
template <class Policy, class T, bool Summed>
__global__ void __launch_bounds__(Policy::config.threads) dwconv_tiled(Sum<T> s) {
  constexpr Config config = Policy::config;
  constexpr int R = config.outputs, G = tile_rows(config, Summed), tile = tile_outputs(config);
  float* p_tile = simt::dynamic_shared<float>();  // [G][tile_steps]
  float* q_tile = p_tile + G * tile_steps;        // [tile + tile_steps]
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t tiles = (s.y.size + tile - 1) / tile, groups = Summed ? 1 : (s.batch + G - 1) / G;
  // Neighbouring blocks have the same filter; the largest tiles come first.
  const std::int64_t group = blockIdx.x % groups, c = blockIdx.x / groups % s.channels;
  const std::int64_t tile_index = blockIdx.x / groups / s.channels;

  for (int half = 0; half < (config.paired ? 2 : 1); ++half) {
    const std::int64_t number = half == 0 ? tiles - 1 - tile_index : tile_index;
    if (half == 1 && number == tiles - 1 - tile_index) break;  // the middle tile, already done
    const std::int64_t o0 = number * tile;
    const std::int64_t last = (o0 + tile < s.y.size ? o0 + tile : s.y.size) - 1;
    ThreadSums<R, G> thread_sums;
    for (std::int64_t b0 = group * G, b_end = Summed ? s.batch : b0 + 1; b0 < b_end; ++b0) {
      for (std::int64_t x0 = s.first(o0), end = s.end(last); x0 < end; x0 += tile_steps) {
        const std::int64_t q0 = x0 - o0 - (tile - 1) + s.shift;  // of the tile's last output at x0
        __syncthreads();
        for (int i = thread; i < G * tile_steps; i += config.threads) {
          const std::int64_t b = b0 + i / tile_steps, x = x0 + i % tile_steps;
          p_tile[i] = x < s.p.size && b < s.batch ? float(s.p.at(b, c, x)) : 0.0f;
        }
        for (int i = thread; i < tile + tile_steps; i += config.threads) {
          const std::int64_t at = q0 + i;
          q_tile[i] = at >= 0 && at < s.q.size ? float(s.q.at(b0, c, at)) : 0.0f;
        }
        __syncthreads();
        const int at = tile - R - thread * R;  // of this thread's last output, in q_tile
        const auto valid = [&](int x, int r) {
          const std::int64_t of_q = q0 + at + R - 1 - r + x;
          return x0 + x < s.p.size && of_q >= 0 && of_q < s.q.size;
        };
        const bool inside = x0 + tile_steps <= s.p.size && q0 >= 0 && q0 + tile + tile_steps - 1 <= s.q.size;
        if (inside) thread_sums.template add<false>(p_tile, q_tile + at, valid);
        else thread_sums.template add<true>(p_tile, q_tile + at, valid);
      }
    }
#pragma unroll
    for (int g = 0; g < G; ++g)
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const std::int64_t b = group * G + g, o = o0 + thread * R + r;
        if (o < s.y.size && (Summed || b < s.batch)) s.y.at(b, c, o) = T(s.eps + thread_sums.sums[g][r]);
      }
  }
}

namespace tiled {

template <int I, class T, bool Summed> static Status launch(const Arguments& args, const Sum<T>& sum) {
  constexpr Config c = Policy<I>::config;
  const std::int64_t grid = tiled_grid(c, args.plan.problem, sum.y.size, Summed);
  const simt::Config at = launch_config(args, c.threads, grid, tiled_smem_bytes(c, Summed));
  return simt::launch(at, dwconv_tiled<Policy<I>, T, Summed>, sum);
}

}  // namespace tiled
}  // namespace ridge::dwconv_detail
