// What the kernels of a channel's mean and variance share. A thread takes elements relative to the channel's first one,
// several at a time, and updates its moments with their distances from its mean so far; Chan's formula combines the
// moments of threads.
#pragma once
#include <ridge/batch_norm/launch.cuh>
#include <ridge/core/divider.hpp>
#include <ridge/tile/moments.cuh>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/row_reduce.cuh>

#include <algorithm>

namespace ridge::batch_norm_detail {

using tile::extend;
using tile::extend_some;
using tile::merge;
using tile::Moments;
using tile::Weights;

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

inline constexpr int finish_threads = 128, finish_loads = 4;

// Combines a channel's slices, a block per channel.     partial: [c, slices]
// Precondition: gridDim.x == c.
template <int Warp>
__global__ void __launch_bounds__(finish_threads)
    stats_finish(const Partial* partial, Results results, std::int64_t slices) {
  __shared__ tile::RowScratch<Moments, finish_threads, Warp> scratch;
  tile::launch_dependents();
  tile::grid_dependency_wait();
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

// ---- launch

template <class T> struct StatsCall {
  const BatchNormPlan& plan;
  StatsGrid grid;
  const T* x;
  Partial* partial;
  Results results;
  Stream stream;
};

template <class T> static simt::Config launch_config(const StatsCall<T>& call, int warp) {
  const BatchNormPlan& plan = call.plan;
  const StatsVariant& row = stats_variants[plan.stats_variant];
  return launch_config(family_of(row).footprint(row, plan.problem, plan.device), call.stream, warp);
}

// in_item: elements of a plane in an item. Precondition: channels have items.
template <class T> static StatsShape shape_of(const StatsCall<T>& call, std::int64_t in_item = 1) {
  const Layout& x = call.plan.problem.x;
  StatsShape s{.channels = x.shape[1],
               .n = x.shape[0],
               .h = x.shape[2],
               .w = x.shape[3],
               .items = static_cast<unsigned>(call.grid.items),
               .slices = static_cast<unsigned>(call.grid.slices),
               .columns = call.grid.columns,
               .by_slices = Divider(call.grid.slices),
               .by_plane = Divider(spatial(x) / in_item),
               .by_row = Divider(x.shape[3])};
  std::copy_n(x.stride.begin(), 4, s.stride);
  return s;
}

// The last step for channels of several slices, or of none: without elements their statistics are NaN.
template <int Warp, class T> static Status launch_finish(const StatsCall<T>& call) {
  const simt::Config at{.grid = dim3(static_cast<unsigned>(call.plan.problem.x.shape[1])),
                        .block = dim3(finish_threads),
                        .stream = call.stream.handle,
                        .warp = Warp};
  return launch_after(call.grid.slices > 0, call.plan, at, stats_finish<Warp>,
                      static_cast<const Partial*>(call.partial), call.results, call.grid.slices);
}

}  // namespace ridge::batch_norm_detail
