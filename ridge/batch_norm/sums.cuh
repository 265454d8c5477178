// What the kernels of a gradient's sums share: those of dy and of dy (x - mean), over all axes but the channel.
#pragma once
#include <ridge/batch_norm/apply.cuh>
#include <ridge/batch_norm/families.hpp>
#include <ridge/batch_norm/launch.cuh>
#include <ridge/core/divider.hpp>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/row_reduce.cuh>

#include <algorithm>

namespace ridge::batch_norm_detail {

struct Sums {     // no initialisers: there are some in shared memory
  float dy, dyx;  // of dy, of dy (x - mean)

  __device__ __forceinline__ void take(float gradient, float distance) {
    dy += gradient;
    dyx = fmaf(gradient, distance, dyx);
  }
};
static_assert(sizeof(Sums) == sums_bytes);
__device__ __forceinline__ Sums operator+(const Sums& a, const Sums& b) { return {a.dy + b.dy, a.dyx + b.dyx}; }

// What becomes of a channel's sums: the second kernel reads them, and they are dgamma and dbeta where these are asked
// for.
struct SumsOutputs {
  Sums *totals, *partial;  // [c], [c, slices]
  float *dgamma, *dbeta;   // null: not asked for
  std::int64_t stride_dgamma, stride_dbeta;
  Parameter mean, var;
  float eps;

  // any: whether there are elements; statistics of none are NaN.
  __device__ __forceinline__ void write(std::int64_t channel, const Sums& sums, bool any = true) const {
    totals[channel] = sums;
    if (dgamma) dgamma[channel * stride_dgamma] = any ? sums.dyx * rsqrtf(var(channel, 0) + eps) : 0.0f;
    if (dbeta) dbeta[channel * stride_dbeta] = sums.dy;
  }
  // The sums of one of a channel's slices.
  __device__ __forceinline__ void put(std::int64_t channel, unsigned slice, unsigned slices, const Sums& sums) const {
    if (slices == 1) write(channel, sums);
    else partial[channel * slices + slice] = sums;
  }
};

struct SumsShape {
  std::int64_t channels, n, h, w;
  std::int64_t x[4] = {}, dy[4] = {};  // strides of n, c, h, w
  unsigned items = 0, slices = 0;
  int columns = 1;
  Divider by_slices = {}, by_plane = {},
          by_row = {};      // by_plane: items of a plane; by_row: of a row, if rows are not merged
  Divider by_columns = {};  // images
};

inline constexpr int sums_finish_threads = 128;

// Adds a channel's slices, a block per channel.         partial: [c, slices]
// Precondition: gridDim.x == c.
template <int Warp>
__global__ void __launch_bounds__(sums_finish_threads) sums_finish(SumsOutputs out, std::int64_t slices) {
  __shared__ tile::RowScratch<Sums, sums_finish_threads, Warp> scratch;
  const Sums* partial = out.partial + blockIdx.x * slices;
  Sums sums{};
  for (std::int64_t i = threadIdx.x; i < slices; i += sums_finish_threads) sums = sums + partial[i];
  sums = tile::row_reduce<sums_finish_threads, Warp>(
      sums, [](Sums a, Sums b) { return a + b; }, scratch);
  if (threadIdx.x == 0) out.write(blockIdx.x, sums, slices > 0);
}

// ---- launch

template <class T> struct SumsCall {
  const BatchNormPlan& plan;
  StatsGrid grid;
  const T *x, *dy;
  SumsOutputs outputs;
  Stream stream;
};

template <class T> static simt::Config launch_config(const SumsCall<T>& call, int warp) {
  const BatchNormPlan& plan = call.plan;
  const StatsVariant& row = sums_variants[plan.stats_variant];
  return launch_config(sums_family_of(row).footprint(row, plan.problem, plan.device), call.stream, warp);
}

// in_item: elements of a plane in an item. Precondition: channels have items.
template <class T> static SumsShape shape_of(const SumsCall<T>& call, std::int64_t in_item = 1) {
  const BatchNormProblem& p = call.plan.problem;
  SumsShape s{.channels = p.x.shape[1],
              .n = p.x.shape[0],
              .h = p.x.shape[2],
              .w = p.x.shape[3],
              .items = static_cast<unsigned>(call.grid.items),
              .slices = static_cast<unsigned>(call.grid.slices),
              .columns = call.grid.columns,
              .by_slices = Divider(call.grid.slices),
              .by_plane = Divider(spatial(p.x) / in_item),
              .by_row = Divider(p.x.shape[3])};
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(p.dy.stride.begin(), 4, s.dy);
  return s;
}

// The last step for channels of several slices, or of none: without elements their sums are 0.
template <int Warp, class T> static Status launch_finish(const SumsCall<T>& call) {
  const simt::Config at{.grid = dim3(static_cast<unsigned>(call.plan.problem.x.shape[1])),
                        .block = dim3(sums_finish_threads),
                        .stream = call.stream.handle,
                        .warp = Warp};
  return simt::launch(at, sums_finish<Warp>, call.outputs, call.grid.slices);
}

}  // namespace ridge::batch_norm_detail
