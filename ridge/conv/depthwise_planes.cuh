// Groups of one channel and one filter of a fixed size, NCHW: a block copies planes, or a band of a plane's rows, to
// shared memory as they follow one another in memory, in vectors of 16 bytes wherever they begin. Lanes have
// neighbouring columns, and a thread several outputs one below the other: an input is read once for all of them.
#pragma once
#include <ridge/conv/depthwise_planes.hpp>
#include <ridge/conv/launch.cuh>
#include <ridge/core/divider.hpp>
#include <ridge/tile/async_copy.cuh>

namespace ridge::conv_detail {

struct PlanesShape {
  int h, w, oh, ow, top, left;
  unsigned planes_of_block, strips_of_band;
  unsigned planes;                           // in all
  Divider bands, columns, strips, channels;  // bands: of a plane; strips: of a band
  std::int64_t y[4] = {}, f[4] = {};         // strides
};

// Starts to copy `count` elements to shared memory; returns the place of the first one, at most a vector from `to` on.
// Precondition: `to` is aligned to 16 bytes, with room for the elements and two vectors.
template <int Threads, class T>
__device__ __forceinline__ const T* start_span(T* to, const T* from, std::int64_t count) {
  constexpr int width = 16 / static_cast<int>(sizeof(T));
  const int past = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % 16 / sizeof(T));
  const int last = past + static_cast<int>(count);  // counted from the vector that holds the first
  RIDGE_KEEP_LOOP
  for (int at = static_cast<int>(threadIdx.x) * width; at < last; at += Threads * width) {
    if (at >= past && at + width <= last) {
      tile::copy_async<16>(to + at, from + (at - past));
    } else {  // the ends: neighbours are not this block's to read
      for (int e = ::max(at, past); e < ::min(at + width, last); ++e) to[e] = from[e - past];
    }
  }
  return to + past;
}

// y = epilogue(conv(x, w)), filters of Config::size with this stride along h and w
//                                                       x: [n, c, h, w]  y: [n, c, oh, ow]
// Preconditions: x's planes are dense; gridDim.x is grid_of(); planes_smem_bytes() of dynamic shared memory.
template <class Policy, int Stride, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    conv_depthwise_planes(const T* x, const T* w, T* y, PlanesShape p, Epilogue<T> epilogue) {
  constexpr Config c = Policy::config;
  constexpr int S = c.size, R = c.rows, rows_met = depthwise_inputs(R, S, Stride);
  float* const filters = simt::dynamic_shared<float>();  // [planes_of_block][S][S]
  unsigned band = blockIdx.x;
  const unsigned first_plane = p.bands.divide(band) * p.planes_of_block,
                 planes = ::min(p.planes_of_block, p.planes - first_plane);
  const int first_strip = static_cast<int>(band * p.strips_of_band);
  const int first_row = ::max(0, first_strip * R * Stride - p.top),
            end_row = ::min(p.h, ((first_strip + static_cast<int>(p.strips_of_band)) * R - 1) * Stride - p.top + S);
  const std::int64_t plane_size = std::int64_t{p.h} * p.w;

  // ---- load: the inputs of whole planes, or of a band; and a filter for each plane
  const bool whole = p.planes_of_block > 1 || end_row - first_row >= p.h;
  T* const tile = reinterpret_cast<T*>(filters + (p.planes_of_block * S * S + 3) / 4 * 4);
  const std::int64_t first = whole ? 0 : std::int64_t{first_row} * p.w,
                     count = whole ? planes * plane_size : std::int64_t{::max(0, end_row - first_row)} * p.w;
  // Where row 0 of the first plane is, or would be.
  const T* const image = start_span<c.threads>(tile, x + first_plane * plane_size + first, count) - first;
  RIDGE_KEEP_LOOP
  for (unsigned n = threadIdx.x; n < planes * S * S; n += c.threads) {
    const unsigned plane = n / (S * S), tap = n % (S * S);
    unsigned channel = first_plane + plane;
    p.channels.divide(channel);
    filters[n] = static_cast<float>(w[channel * p.f[0] + tap / S * p.f[2] + tap % S * p.f[3]]);
  }
  tile::wait_for_copies();
  __syncthreads();

  RIDGE_KEEP_LOOP
  for (unsigned piece = threadIdx.x; piece < planes * p.strips_of_band * static_cast<unsigned>(p.ow);
       piece += c.threads) {
    unsigned j = piece, strip = p.columns.divide(j);
    const unsigned plane = p.strips.divide(strip);
    const int first_i = (first_strip + static_cast<int>(strip)) * R;
    if (first_i >= p.oh) continue;
    float filter[S][S];
    RIDGE_UNROLL_ON_GPU
    for (int tap = 0; tap < S * S; ++tap) filter[tap / S][tap % S] = filters[plane * (S * S) + tap];
    const int column = static_cast<int>(j) * Stride - p.left, row = first_i * Stride - p.top;
    const T* from = image + plane * plane_size + row * p.w + column;  // may be outside, and is not read there
    bool inside[S];
    RIDGE_UNROLL_ON_GPU
    for (int b = 0; b < S; ++b) inside[b] = static_cast<unsigned>(column + b) < static_cast<unsigned>(p.w);

    // ---- compute
    float sums[R] = {};
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < rows_met; ++e, from += p.w) {
      float values[S] = {};
      if (static_cast<unsigned>(row + e) < static_cast<unsigned>(p.h)) {
        RIDGE_UNROLL_ON_GPU
        for (int b = 0; b < S; ++b)
          if (inside[b]) values[b] = static_cast<float>(from[b]);
      }
      RIDGE_UNROLL_ON_GPU
      for (int r = 0; r < R; ++r) {
        const int a = e - r * Stride;
        if (a < 0 || a >= S) continue;
        RIDGE_UNROLL_ON_GPU
        for (int b = 0; b < S; ++b) sums[r] += values[b] * filter[a][b];
      }
    }

    // ---- finish
    unsigned k = first_plane + plane;
    const std::int64_t n = p.channels.divide(k);
    Epilogue<T> finish = epilogue;
    finish.bias = nullptr;  // read once
    const float bias = epilogue.bias ? static_cast<float>(epilogue.bias[k * epilogue.bias_stride]) : 0;
    T* const to = y + n * p.y[0] + k * p.y[1] + j * p.y[3];
    RIDGE_UNROLL_ON_GPU
    for (int r = 0; r < R; ++r)
      if (first_i + r < p.oh) to[(first_i + r) * p.y[2]] = finish(sums[r] + bias, n, k, first_i + r, j);
  }
}

namespace depthwise_planes {

template <int I, class T> static Status launch(const Arguments& args) {
  static_assert(depthwise_most_stride == 2);
  constexpr Config c = Policy<I>::config;
  const ConvProblem& p = args.plan.problem;
  const PlaneTiles t = plane_tiles(c, p);
  PlanesShape s{.h = whole(p.x.shape[2]),
                .w = whole(p.x.shape[3]),
                .oh = whole(p.y.shape[2]),
                .ow = whole(p.y.shape[3]),
                .top = whole(p.geometry.pad.top),
                .left = whole(p.geometry.pad.left),
                .planes_of_block = static_cast<unsigned>(t.planes),
                .strips_of_band = static_cast<unsigned>(t.strips),
                .planes = static_cast<unsigned>(plane_count(p)),
                .bands = Divider(t.bands),
                .columns = Divider(p.y.shape[3]),
                .strips = Divider(t.strips),
                .channels = Divider(p.y.shape[1])};
  std::copy_n(p.y.stride.begin(), 4, s.y);
  std::copy_n(p.w.stride.begin(), 4, s.f);
  const auto launch = [&](auto kernel) {
    return simt::launch(launch_config(args), kernel, static_cast<const T*>(args.x), static_cast<const T*>(args.w),
                        static_cast<T*>(args.y), s, epilogue_of<T>(args));
  };
  if (p.geometry.stride.w == 1) return launch(conv_depthwise_planes<Policy<I>, 1, T>);
  return launch(conv_depthwise_planes<Policy<I>, 2, T>);
}

}  // namespace depthwise_planes
}  // namespace ridge::conv_detail
