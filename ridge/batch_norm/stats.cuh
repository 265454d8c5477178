// Mean and variance of each channel. A thread takes elements relative to the channel's first one, several at a time,
// and updates its moments with their distances from its mean so far; Chan's formula combines the moments of threads.
#pragma once
#include <ridge/batch_norm/variants.hpp>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/row_reduce.cuh>

namespace ridge::batch_norm_detail {

// Moments of `count` values: their mean, and the sum of squares of their distances from it.
struct Moments {  // no initialisers: there are some in shared memory
  float count, mean, squares;
};
// The weights for combining moments of `a` values with those of `b` values.
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
  float base;  // the mean is relative to it
};
static_assert(sizeof(Partial) == partial_bytes);

// The outputs: mean and variance of the channels.
struct Results {
  float *mean, *var;
  std::int64_t stride_mean, stride_var;

  __device__ __forceinline__ void write(std::int64_t channel, const Moments& m, float base) const {
    const float variance = m.squares / m.count;  // no elements: 0 / 0
    mean[channel * stride_mean] = variance == variance ? base + m.mean : variance;
    var[channel * stride_var] = variance;
  }
};

struct StatsShape {
  std::int64_t channels, n, h, w;
  std::int64_t stride[4] = {};  // of n, c, h, w
  unsigned items = 0, slices = 0;
  int columns = 1;
  Divider by_slices = {}, by_plane = {},
          by_row = {},  // by_plane: items of a plane; by_row: of a row, if rows are not merged
      by_columns = {};  // images
};

// A thread per channel.                                 x: [n, c, h, w], any strides
// Precondition: gridDim.x * threads covers the channels; n h w >= 1.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads) stats_serial(const T* x, Results results, StatsShape s) {
  const std::int64_t channel = std::int64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
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
  results.write(channel, m, base);
}

// Adds the first `there` of N elements to the mean and squares of `count` elements; share is 1 / (count + there). Sums
// of distances from the mean so far lose no digits by the correction, as that mean is of no fewer elements. For the
// first elements it is their own mean. Precondition: d is 0 from `there` on.
template <int N>
__device__ __forceinline__ void extend_some(float& mean, float& squares, const float (&d)[N], int there, float count,
                                            float share) {
  if (count == 0) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) sum += d[i];
    mean = sum * share;
  }
  float sum = 0, square = 0;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const float distance = i < there ? d[i] - mean : 0;
    sum += distance;
    square = fmaf(distance, distance, square);
  }
  mean = fmaf(sum, share, mean);
  squares += fmaf(-sum * share, sum, square);
}
// The same for all N elements.
template <int N>
__device__ __forceinline__ void extend(float& mean, float& squares, const float (&d)[N], float count, float share) {
  extend_some(mean, squares, d, N, count, share);
}

// Several blocks per channel, each with every slices-th step of loads * threads items: together they go through x from
// its beginning to its end. Lanes are along planes.
//                                                       x: [n, c, h, w]                  partial: [c, slices]
// Preconditions: gridDim.x == c * slices < 2^31; a channel has fewer than 2^31 items; vectorized: planes_on_vectors().
// If there is one slice, the results are written directly.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    stats_planes(const T* x, Partial* partial, Results results, StatsShape s) {
  constexpr int threads = Policy::config.threads, loads = Policy::config.loads;
  constexpr int V = Policy::config.vectorized ? tile::vector_elements<T> : 1;
  constexpr unsigned step = threads * loads;
  using Loaded = std::conditional_t<Policy::config.vectorized, tile::Packed, T>;
  __shared__ tile::RowScratch<Moments, threads, Warp> scratch;
  unsigned slice = blockIdx.x;
  const unsigned channel = s.by_slices.divide(slice);
  x += channel * s.stride[1];
  const float base = float(*x);

  const auto load = [&](unsigned item) -> Loaded {
    const unsigned n = s.by_plane.divide(item);
    if constexpr (Policy::config.vectorized) {
      return tile::load_packed(x + n * s.stride[0] + std::int64_t{item} * V);
    } else {
      const unsigned h = s.by_row.divide(item);
      return x[n * s.stride[0] + h * s.stride[2] + item * s.stride[3]];
    }
  };
  const auto spread = [&](const Loaded& loaded, float* d) {  // V differences from the base
    if constexpr (Policy::config.vectorized) {
      const tile::Floats<T> elements = tile::unpack_floats<T>(loaded);
#pragma unroll
      for (int v = 0; v < V; ++v) d[v] = elements[v] - base;
    } else {
      *d = float(loaded) - base;
    }
  };
  Moments m{};
  for (unsigned first = slice * step; first < s.items; first += s.slices * step) {
    const unsigned item = first + threadIdx.x;
    if (first + step <= s.items) {
      Loaded in[loads];
      float d[loads * V];
#pragma unroll
      for (int k = 0; k < loads; ++k) in[k] = load(item + k * threads);
#pragma unroll
      for (int k = 0; k < loads; ++k) spread(in[k], d + k * V);
      extend(m.mean, m.squares, d, m.count, 1 / (m.count + float(loads * V)));
      m.count += float(loads * V);
    } else {
      for (unsigned at = item; at < s.items; at += threads) {
        float d[V];
        spread(load(at), d);
        extend(m.mean, m.squares, d, m.count, 1 / (m.count + float(V)));
        m.count += float(V);
      }
    }
  }
  m = tile::row_reduce<threads, Warp>(
      m, [](Moments a, Moments b) { return merge(a, b); }, scratch);
  if (threadIdx.x != 0) return;
  if (s.slices == 1) results.write(channel, m, base);
  else partial[blockIdx.x] = {m, base};
}

// Several blocks per columns * V channels, each with every slices-th step of their positions: lanes along channels
// first, then along positions.
//                                                       x: [n, c, h, w]                  partial: [c, slices]
// Preconditions: gridDim.x == groups * slices < 2^31; fewer than 2^31 positions; columns is a power of two that divides
// threads; vectorized: channels_on_vectors(). Shared memory: mean [threads][V], squares [threads][V], count [threads].
// If there is one slice, the results are written directly.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    stats_channels(const T* x, Partial* partial, Results results, StatsShape s) {
  constexpr int threads = Policy::config.threads, loads = Policy::config.loads;
  constexpr int V = Policy::config.vectorized ? tile::vector_elements<T> : 1;
  using Loaded = std::conditional_t<Policy::config.vectorized, tile::Packed, T>;
  float* means = simt::dynamic_shared<float>();
  float *squares = means + threads * V, *counts = squares + threads * V;
  unsigned slice = blockIdx.x;
  const unsigned group = s.by_slices.divide(slice);
  const int column = static_cast<int>(threadIdx.x) & (s.columns - 1), lanes = threads / s.columns;
  const int lane = static_cast<int>(threadIdx.x) / s.columns;
  const std::int64_t channel = (std::int64_t{group} * s.columns + column) * V;
  const bool exists = channel < s.channels;  // a lane without channels still joins the barriers
  if (exists) x += channel * s.stride[1];
  const unsigned items = exists ? s.items : 0, step = lanes * loads;

  const auto load = [&](unsigned position) -> Loaded {
    if constexpr (Policy::config.vectorized) {
      return tile::load_packed(x + position * s.stride[3]);
    } else {
      const unsigned n = s.by_plane.divide(position), h = s.by_row.divide(position);
      return x[n * s.stride[0] + h * s.stride[2] + position * s.stride[3]];
    }
  };
  const auto element = [&](const Loaded& in, int v) {
    if constexpr (Policy::config.vectorized) return tile::unpack_floats<T>(in)[v];
    else return float(in);
  };
  float base[V] = {}, mean[V] = {}, square[V] = {}, count = 0;
  if (exists) {
    const Loaded first = load(0);
#pragma unroll
    for (int v = 0; v < V; ++v) base[v] = element(first, v);
  }
  const auto take = [&]<int N>(const Loaded(&in)[N]) {
    const float share = 1 / (count + float(N));
#pragma unroll
    for (int v = 0; v < V; ++v) {
      float d[N];
#pragma unroll
      for (int k = 0; k < N; ++k) d[k] = element(in[k], v) - base[v];
      extend(mean[v], square[v], d, count, share);
    }
    count += float(N);
  };
  for (unsigned first = slice * step; first < items; first += s.slices * step) {
    const unsigned position = first + lane;
    if (first + step <= items) {
      Loaded in[loads];
#pragma unroll
      for (int k = 0; k < loads; ++k) in[k] = load(position + k * lanes);
      take(in);
    } else {
      for (unsigned at = position; at < items; at += lanes) {
        const Loaded in[1] = {load(at)};
        take(in);
      }
    }
  }

  // Combine the lanes of a column, halves first.
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
  if (lane != 0 || !exists) return;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const Moments m{count, mean[v], square[v]};
    if (s.slices == 1) results.write(channel + v, m, base[v]);
    else partial[(channel + v) * s.slices + slice] = {m, base[v]};
  }
}

// Small planes: a block has V channels, whose planes are one contiguous range of an image, and a thread has the same
// vector of it in several images. The moments of each position are combined in shared memory, by a warp per channel.
//                                                       x: [n, c, h, w]                  partial: [c, slices]
// Preconditions: images_on_vectors(); a plane has s.columns <= threads elements; gridDim.x == groups * slices < 2^31.
// Shared memory: mean [levels][columns * V], squares the same, count [levels]. If there is one slice, the results are
// written directly.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    stats_images(const T* x, Partial* partial, Results results, StatsShape s) {
  constexpr int threads = Policy::config.threads, loads = Policy::config.loads, V = tile::vector_elements<T>;
  float* means = simt::dynamic_shared<float>();
  float *squares = means + threads * V, *counts = squares + threads * V;
  unsigned slice = blockIdx.x;
  const std::int64_t channel0 = std::int64_t{s.by_slices.divide(slice)} * V;
  const int plane = s.columns, levels = threads / plane,
            channels = static_cast<int>(min(s.channels - channel0, std::int64_t{V}));
  unsigned position = threadIdx.x;
  const int level = static_cast<int>(s.by_columns.divide(position)), element0 = static_cast<int>(position) * V;
  const bool exists = level < levels && element0 < channels * plane;
  x += channel0 * plane;

  float base[V] = {}, mean[V] = {}, square[V] = {}, count = 0;
  if (exists)
#pragma unroll
    for (int v = 0; v < V; ++v) {  // each channel's first element
      unsigned element = static_cast<unsigned>(element0 + v);
      const std::int64_t channel = s.by_columns.divide(element);
      base[v] = float(x[channel * plane]);
    }
  const unsigned step = levels * loads;
  if (exists)
    for (unsigned first = slice * step + level; first < s.items; first += s.slices * step) {
      tile::Packed in[loads];
      int there = 0;
#pragma unroll
      for (int k = 0; k < loads; ++k)
        if (first + k * levels < s.items) {
          in[k] = tile::load_packed(x + std::int64_t{first + k * levels} * s.stride[0] + element0);
          ++there;
        }
      const float share = 1 / (count + float(there));
#pragma unroll
      for (int v = 0; v < V; ++v) {
        float d[loads];
#pragma unroll
        for (int k = 0; k < loads; ++k) d[k] = k < there ? tile::unpack_floats<T>(in[k])[v] - base[v] : 0;
        extend_some(mean[v], square[v], d, there, count, share);
      }
      count += float(there);
    }
  if (level < levels) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      means[(level * plane + static_cast<int>(position)) * V + v] = mean[v];
      squares[(level * plane + static_cast<int>(position)) * V + v] = square[v];
    }
    if (position == 0) counts[level] = count;
  }
  __syncthreads();

  const simt::tile<Warp> warp;
  for (int channel = warp.index(); channel < channels; channel += threads / Warp) {
    Moments m{};
    for (int l = 0; l < levels; ++l)
      for (int i = warp.rank(); i < plane; i += Warp) {
        const int at = (l * V + channel) * plane + i;
        m = merge(m, {counts[l], means[at], squares[at]});
      }
    m = warp.reduce(m, [](Moments a, Moments b) { return merge(a, b); });
    if (warp.rank() != 0) continue;
    const float first = float(x[channel * plane]);
    if (s.slices == 1) results.write(channel0 + channel, m, first);
    else partial[(channel0 + channel) * s.slices + slice] = {m, first};
  }
}

// Combines a channel's slices, a block per channel.     partial: [c, slices]
// Precondition: gridDim.x == c.
template <int Warp>
__global__ void __launch_bounds__(finish_threads)
    stats_finish(const Partial* partial, Results results, std::int64_t slices) {
  __shared__ tile::RowScratch<Moments, finish_threads, Warp> scratch;
  partial += blockIdx.x * slices;
  const float base = slices > 0 ? partial->base : 0;
  Moments m{};
  for (std::int64_t i = threadIdx.x; i < slices; i += finish_loads * finish_threads) {
    Moments in[finish_loads];
#pragma unroll
    for (int k = 0; k < finish_loads; ++k)
      in[k] = i + k * finish_threads < slices ? partial[i + k * finish_threads].moments : Moments{};
#pragma unroll
    for (int k = 0; k < finish_loads; ++k) m = merge(m, in[k]);
  }
  m = tile::row_reduce<finish_threads, Warp>(
      m, [](Moments a, Moments b) { return merge(a, b); }, scratch);
  if (threadIdx.x == 0) results.write(blockIdx.x, m, base);
}

}  // namespace ridge::batch_norm_detail
