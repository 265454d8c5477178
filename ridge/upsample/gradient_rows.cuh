// A gradient in two steps, with the sums of rows of dy in shared memory.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/tile/packed.cuh>
#include <ridge/upsample/functions.cuh>
#include <ridge/upsample/gradient_rows.hpp>
#include <ridge/upsample/launch.cuh>

namespace ridge::upsample_detail {

struct GradientRowsShape {
  Narrow rows, columns;
  unsigned all_rows, tile_rows;                      // of dx, in all planes and of a block
  unsigned across_count;                             // threads along a row of dy
  Divider across, by_columns, by_rows, by_channels;  // by these threads, by dx's columns, rows and channels
  std::int64_t dy[3], dx[3];                         // strides of n, c, h
  bool vectors;  // a thread's columns are neighbours, and rows of dy start on 16 bytes
};

// A row of dx among those of all planes: its number in its plane, and where the plane begins.
struct RowOfPlane {
  int row;
  unsigned image, channel;
  __device__ __forceinline__ RowOfPlane(const GradientRowsShape& p, unsigned of_all) {
    channel = p.by_rows.divide(of_all);
    row = static_cast<int>(of_all);
    image = p.by_channels.divide(channel);
  }
  __device__ __forceinline__ std::int64_t plane(const std::int64_t (&strides)[3]) const {
    return image * strides[0] + channel * strides[1];
  }
};

// dx[n, c, a, b] = the sum of its readers in dy, weighted    dy: [n, c, oh, ow]  dx: [n, c, h, w], rows contiguous
// Shared memory: sums along columns [tile_rows][across_count * V]
// Preconditions: a block for each tile of all_rows < 2^31; is_narrow() along both axes; smem_bytes() of dynamic shared
// memory; where p.vectors, ow is a multiple of V and rows of dy start on 16 bytes.
template <class Policy, class M, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    upsample_gradient_rows(const T* dy, T* dx, GradientRowsShape p) {
  constexpr int V = tile::vector_elements<T>, threads = Policy::config.threads;
  float* sums = simt::dynamic_shared<float>();
  const unsigned first = blockIdx.x * p.tile_rows, tile_rows = min(p.tile_rows, p.all_rows - first);
  const unsigned pitch = p.across_count * V;
  const int ow = p.columns.outputs, w = p.columns.inputs;

  for (unsigned item = threadIdx.x; item < tile_rows * p.across_count; item += threads) {
    unsigned lane = item;
    const unsigned r = p.across.divide(lane);
    const RowOfPlane of(p, first + r);
    const int column = static_cast<int>(lane) * (p.vectors ? V : 1);
    const int apart = p.vectors ? 1 : static_cast<int>(p.across_count);
    const T* in = dy + of.plane(p.dy) + column;
    const Range<int> rows = M::readers(p.rows, of.row);
    tile::Floats<T> sum{};
#pragma unroll 4
    for (int i = rows.first; i < rows.last; ++i) {
      const float weight = M::weight(p.rows, of.row, i);
      const T* from = in + i * p.dy[2];
      if (p.vectors) {
        tile::for_elements<T>(tile::load_packed(from), [&](float e, int v) { sum[v] = fmaf(weight, e, sum[v]); });
      } else {
#pragma unroll
        for (int v = 0; v < V; ++v)
          if (column + v * apart < ow) sum[v] = fmaf(weight, float(from[v * apart]), sum[v]);
      }
    }
    float* out = sums + r * pitch + static_cast<unsigned>(column);
    if (p.vectors) {
#pragma unroll
      for (int v = 0; v < V; v += 4)  // 16 bytes of floats
        simt::store(out + v, simt::vec<float, 4>{sum[v], sum[v + 1], sum[v + 2], sum[v + 3]});
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v) out[v * apart] = sum[v];
    }
  }
  __syncthreads();

  for (unsigned item = threadIdx.x; item < tile_rows * static_cast<unsigned>(w); item += threads) {
    unsigned lane = item;
    const unsigned r = p.by_columns.divide(lane);
    const RowOfPlane of(p, first + r);
    const int column = static_cast<int>(lane);
    const Range<int> columns = M::readers(p.columns, column);
    const float* in = sums + r * pitch;
    float sum = 0;
    for (int j = columns.first; j < columns.last; ++j) sum = fmaf(M::weight(p.columns, column, j), in[j], sum);
    dx[of.plane(p.dx) + of.row * p.dx[2] + column] = T(sum);
  }
}

namespace gradient_rows {

template <class Policy, class M, class T> static Status launch(const Call<T>& call) {
  constexpr Config c = Policy::config;
  const UpsampleProblem& p = call.plan.problem;
  const Layout &dx = p.x, &dy = p.y;
  const std::int64_t across = threads_across(p);  // 0 where dy is empty, and dx is 0
  const GradientRowsShape s{.rows = Narrow(rows_axis(p)),
                            .columns = Narrow(columns_axis(p)),
                            .all_rows = static_cast<unsigned>(rows_of(p)),
                            .tile_rows = static_cast<unsigned>(rows_of_block(c, p)),
                            .across_count = static_cast<unsigned>(across),
                            .across = Divider(std::max<std::int64_t>(across, 1)),
                            .by_columns = Divider(dx.shape[3]),
                            .by_rows = Divider(dx.shape[2]),
                            .by_channels = Divider(dx.shape[1]),
                            .dy = {dy.stride[0], dy.stride[1], dy.stride[2]},
                            .dx = {dx.stride[0], dx.stride[1], dx.stride[2]},
                            .vectors = loads_vectors(p)};
  return simt::launch(launch_config(call), upsample_gradient_rows<Policy, M, T>, call.in, call.out, s);
}

}  // namespace gradient_rows
}  // namespace ridge::upsample_detail
