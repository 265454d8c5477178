// Mean and variance of each channel. Elements are taken relative to the channel's first one, some at a time: their mean
// and sum of squares about it are computed in registers, and combined with what was there by Chan's formula.
#pragma once
#include <ridge/batch_norm/variants.hpp>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/row_reduce.cuh>

namespace ridge::batch_norm_detail {

// Of `count` values: their mean, and the sum of squares of their distances from it.
struct Moments {  // no initialisers: there are some in shared memory
  float count, mean, squares;
};
// What combining moments of `a` values with those of `b` takes of their counts.
struct Weights {
  float share, product;  // b / (a + b), a b / (a + b)
  __device__ __forceinline__ Weights(float a, float b) : share(a + b > 0 ? b / (a + b) : 0), product(a * share) {}
  __device__ __forceinline__ void combine(float& mean, float& squares, float other_mean, float other_squares) const {
    const float distance = other_mean - mean;
    mean = fmaf(distance, share, mean);
    squares += other_squares + distance * distance * product;
  }
};
__device__ __forceinline__ Moments merge(Moments a, const Moments& b) {
  Weights(a.count, b.count).combine(a.mean, a.squares, b.mean, b.squares);
  a.count += b.count;
  return a;
}

struct Partial {
  Moments moments;
  float base;  // what the mean is relative to
};
static_assert(sizeof(Partial) == partial_bytes);

struct StatsShape {
  std::int64_t channels, n, h, w;
  std::int64_t stride[4] = {};  // of n, c, h, w
  unsigned units = 0, slice_units = 0, slices = 0;
  int columns = 1;
  Divider by_slices = {}, by_plane = {},
          by_row = {};  // by_plane: a plane's units; by_row: a row's, where rows are not merged
};

// A thread per channel.                                 x: [n, c, h, w], any strides     partial: [c]
// Precondition: gridDim.x * threads covers the channels; n h w >= 1.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads) stats_serial(const T* x, Partial* partial, StatsShape s) {
  const std::int64_t channel = std::int64_t{blockIdx.x} * Row::config.threads + threadIdx.x;
  if (channel >= s.channels) return;
  x += channel * s.stride[1];
  const float base = float(*x);
  const auto sum = [&](auto&& f) {
    float total = 0;
    for (std::int64_t n = 0; n < s.n; ++n)
      for (std::int64_t h = 0; h < s.h; ++h)
        for (std::int64_t w = 0; w < s.w; ++w)
          total += f(float(x[n * s.stride[0] + h * s.stride[2] + w * s.stride[3]]) - base);
    return total;
  };
  Moments m{};
  m.count = float(s.n * s.h * s.w);
  m.mean = sum([](float d) { return d; }) / m.count;
  m.squares = sum([&](float d) { return (d - m.mean) * (d - m.mean); });
  partial[channel] = {m, base};
}

// The moments of N values.
template <int N> __device__ __forceinline__ Moments moments_of(const float (&d)[N]) {
  Moments m{float(N), 0, 0};
#pragma unroll
  for (int i = 0; i < N; ++i) m.mean += d[i];
  m.mean *= 1.0f / float(N);
#pragma unroll
  for (int i = 0; i < N; ++i) m.squares = fmaf(d[i] - m.mean, d[i] - m.mean, m.squares);
  return m;
}

// A block per slice of a channel, lanes along its planes.
//                                                       x: [n, c, h, w]                  partial: [c, slices]
// Preconditions: gridDim.x == c * slices < 2^31; a channel has fewer than 2^31 units; wide: planes_on_units().
template <class Row, class T, int Warp>
__global__ void __launch_bounds__(Row::config.threads) stats_planes(const T* x, Partial* partial, StatsShape s) {
  constexpr int threads = Row::config.threads, loads = Row::config.loads;
  constexpr int V = Row::config.wide ? tile::unit_elements<T> : 1;
  using Loaded = std::conditional_t<Row::config.wide, tile::Packed, T>;
  __shared__ tile::RowScratch<Moments, threads, Warp> scratch;
  unsigned slice = blockIdx.x;
  const unsigned channel = s.by_slices.divide(slice);
  x += channel * s.stride[1];
  const float base = float(*x);
  const unsigned begin = slice * s.slice_units;
  const unsigned end = s.units - begin < s.slice_units ? s.units : begin + s.slice_units;

  const auto load = [&](unsigned unit) -> Loaded {
    const unsigned n = s.by_plane.divide(unit);
    if constexpr (Row::config.wide) {
      return tile::load_packed(x + n * s.stride[0] + std::int64_t{unit} * V);
    } else {
      const unsigned h = s.by_row.divide(unit);
      return x[n * s.stride[0] + h * s.stride[2] + unit * s.stride[3]];
    }
  };
  const auto spread = [&](const Loaded& unit, float* d) {  // V differences from the base
    if constexpr (Row::config.wide) {
      const tile::Unit<T> elements = tile::unpack<T>(unit);
#pragma unroll
      for (int v = 0; v < V; ++v) d[v] = float(elements[v]) - base;
    } else {
      *d = float(unit) - base;
    }
  };
  Moments m{};
  unsigned unit = begin + threadIdx.x;
  for (; unit + (loads - 1) * threads < end; unit += loads * threads) {
    Loaded in[loads];
    float d[loads * V];
#pragma unroll
    for (int k = 0; k < loads; ++k) in[k] = load(unit + k * threads);
#pragma unroll
    for (int k = 0; k < loads; ++k) spread(in[k], d + k * V);
    m = merge(m, moments_of(d));
  }
  for (; unit < end; unit += threads) {
    float d[V];
    spread(load(unit), d);
    m = merge(m, moments_of(d));
  }
  m = tile::row_reduce<threads, Warp>(
      m, [](Moments a, Moments b) { return merge(a, b); }, scratch);
  if (threadIdx.x == 0) partial[blockIdx.x] = {m, base};
}

// A block per columns * V channels and a slice of their positions: lanes along channels first, then along positions.
//                                                       x: [n, c, h, w]                  partial: [c, slices]
// Preconditions: gridDim.x == groups * slices < 2^31; fewer than 2^31 positions; columns is a power of two that divides
// threads; wide: channels_on_units(). Shared memory: mean [threads][V], squares [threads][V], count [threads].
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads) stats_channels(const T* x, Partial* partial, StatsShape s) {
  constexpr int threads = Row::config.threads, loads = Row::config.loads;
  constexpr int V = Row::config.wide ? tile::unit_elements<T> : 1;
  using Loaded = std::conditional_t<Row::config.wide, tile::Packed, T>;
  float* means = simt::dynamic_shared<float>();
  float *squares = means + threads * V, *counts = squares + threads * V;
  unsigned slice = blockIdx.x;
  const unsigned group = s.by_slices.divide(slice);
  const int column = static_cast<int>(threadIdx.x) & (s.columns - 1), lanes = threads / s.columns;
  const int lane = static_cast<int>(threadIdx.x) / s.columns;
  const std::int64_t channel = (std::int64_t{group} * s.columns + column) * V;
  const bool exists = channel < s.channels;  // a lane without channels goes along, to the barriers
  if (exists) x += channel * s.stride[1];
  const unsigned begin = slice * s.slice_units;
  const unsigned end = !exists ? 0 : s.units - begin < s.slice_units ? s.units : begin + s.slice_units;

  const auto load = [&](unsigned position) -> Loaded {
    if constexpr (Row::config.wide) {
      return tile::load_packed(x + position * s.stride[3]);
    } else {
      const unsigned n = s.by_plane.divide(position), h = s.by_row.divide(position);
      return x[n * s.stride[0] + h * s.stride[2] + position * s.stride[3]];
    }
  };
  const auto element = [&](const Loaded& in, int v) {
    if constexpr (Row::config.wide) return float(tile::unpack<T>(in)[v]);
    else return float(in);
  };
  float base[V] = {}, mean[V] = {}, square[V] = {}, count = 0;
  if (exists) {
    const Loaded first = load(0);
#pragma unroll
    for (int v = 0; v < V; ++v) base[v] = element(first, v);
  }
  unsigned position = begin + lane;
  for (; position + (loads - 1) * lanes < end; position += loads * lanes) {
    Loaded in[loads];
#pragma unroll
    for (int k = 0; k < loads; ++k) in[k] = load(position + k * lanes);
    const Weights weights(count, float(loads));
#pragma unroll
    for (int v = 0; v < V; ++v) {
      float d[loads];
#pragma unroll
      for (int k = 0; k < loads; ++k) d[k] = element(in[k], v) - base[v];
      const Moments m = moments_of(d);
      weights.combine(mean[v], square[v], m.mean, m.squares);
    }
    count += float(loads);
  }
  for (; position < end; position += lanes) {
    const Loaded in = load(position);
    const Weights weights(count, 1);
#pragma unroll
    for (int v = 0; v < V; ++v) weights.combine(mean[v], square[v], element(in, v) - base[v], 0);
    count += 1;
  }

  // The lanes of a column, halves first.
  const auto put = [&] {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      means[v * threads + threadIdx.x] = mean[v];
      squares[v * threads + threadIdx.x] = square[v];
    }
    counts[threadIdx.x] = count;
  };
  put();
  for (int half = lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) {
      const int other = static_cast<int>(threadIdx.x) + half * s.columns;
      const Weights weights(count, counts[other]);
#pragma unroll
      for (int v = 0; v < V; ++v)
        weights.combine(mean[v], square[v], means[v * threads + other], squares[v * threads + other]);
      count += counts[other];
      put();
    }
  }
  if (lane == 0 && exists) {
#pragma unroll
    for (int v = 0; v < V; ++v) partial[(channel + v) * s.slices + slice] = {{count, mean[v], square[v]}, base[v]};
  }
}

// A warp per channel.                                   partial: [c, slices]             mean, var: [c]
// Precondition: gridDim.x * (finish_threads / Warp) covers the channels.
template <int Warp>
__global__ void __launch_bounds__(finish_threads)
    stats_finish(const Partial* partial, float* mean, float* var, std::int64_t channels, std::int64_t slices,
                 std::int64_t stride_mean, std::int64_t stride_var) {
  const simt::tile<Warp> warp;
  const std::int64_t channel = std::int64_t{blockIdx.x} * (finish_threads / Warp) + warp.index();
  if (channel >= channels) return;  // a whole warp
  Moments m{};
  for (std::int64_t i = warp.rank(); i < slices; i += Warp) m = merge(m, partial[channel * slices + i].moments);
  m = warp.reduce(m, [](Moments a, Moments b) { return merge(a, b); });
  if (warp.rank() != 0) return;
  const float variance = m.squares / m.count;  // of no elements: 0 / 0
  const float base = slices > 0 ? partial[channel * slices].base : 0;
  mean[channel * stride_mean] = variance == variance ? base + m.mean : variance;
  var[channel * stride_var] = variance;
}

}  // namespace ridge::batch_norm_detail
