// A thread walks down rows of y, with the places of its columns in registers.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/tile/packed.cuh>
#include <ridge/upsample/functions.cuh>
#include <ridge/upsample/launch.cuh>
#include <ridge/upsample/rows.hpp>

namespace ridge::upsample_detail {

struct RowsShape {
  Narrow rows, columns;
  unsigned items;
  int across_count;                // threads along a row of y
  Divider across, down, channels;  // by threads along a row of y, by threads down a plane, by channels
  std::int64_t x[3], y[3];         // strides of n, c, h
  bool vectors;                    // a thread's columns are neighbours, and rows of y start on 16 bytes
};

// The columns of y of one thread: one after the other, or across_count apart, so that a warp's are neighbours.
template <class T> struct ColumnsOfThread {
  static constexpr int V = tile::vector_elements<T>;
  int first, apart, end;
  bool vectors;

  __device__ __forceinline__ ColumnsOfThread(const RowsShape& p, unsigned lane)
      : first(static_cast<int>(lane) * (p.vectors ? V : 1)),
        apart(p.vectors ? 1 : p.across_count),
        end(p.columns.outputs),
        vectors(p.vectors) {}
  // The v-th; the last one of y for those behind it, which are computed and not stored.
  __device__ __forceinline__ int operator[](int v) const { return min(first + v * apart, end - 1); }
  __device__ __forceinline__ void store(T* row, const tile::Packed& packed) const {
    if (vectors) {
      tile::store_packed(row + first, packed);
    } else {
      const tile::Vector<T> out = tile::unpack<T>(packed);
#pragma unroll
      for (int v = 0; v < V; ++v)
        if (first + v * apart < end) row[first + v * apart] = out[v];
    }
  }
};

// y[n, c, i, j] = a pixel of x, or the mean of four    x: [n, c, h, w]  y: [n, c, oh, ow], rows contiguous
// A thread computes V columns of Config::rows rows of y.
// Preconditions: gridDim.x * threads covers items < 2^31; is_narrow() along both axes; h and w are not 0; where
// p.vectors, ow is a multiple of V and rows of y start on 16 bytes.
template <class Policy, class M, class T>
__global__ void __launch_bounds__(Policy::config.threads) upsample_rows(const T* x, T* y, RowsShape p) {
  constexpr int V = tile::vector_elements<T>, R = Policy::config.rows;
  const unsigned item = blockIdx.x * Policy::config.threads + threadIdx.x;
  if (item >= p.items) return;
  unsigned lane = item;
  unsigned down = p.across.divide(lane);
  unsigned channel = p.down.divide(down);
  const unsigned image = p.channels.divide(channel);
  x += image * p.x[0] + channel * p.x[1];
  y += image * p.y[0] + channel * p.y[1];
  const int first_row = static_cast<int>(down) * R, end_row = min(first_row + R, p.rows.outputs);
  const ColumnsOfThread<T> columns(p, lane);

  if constexpr (!M::blends) {
    int from[V];
#pragma unroll
    for (int v = 0; v < V; ++v) from[v] = p.columns.source(columns[v]);
    tile::Packed row{};
    int held = -1;  // the row of x that `row` is of
    for (int i = first_row; i < end_row; ++i) {
      const int source = p.rows.source(i);
      if (source != held) {
        const T* in = x + source * p.x[2];
        tile::Vector<T> out;
#pragma unroll
        for (int v = 0; v < V; ++v) out[v] = in[from[v]];
        row = tile::pack<T>(out);
        held = source;
      }
      columns.store(y + i * p.y[2], row);
    }
  } else {
    Place<int> at[V];
#pragma unroll
    for (int v = 0; v < V; ++v) at[v] = p.columns.place(columns[v]);
    const auto means_of_row = [&](int i, float(&means)[V]) {
      const T* in = x + i * p.x[2];
#pragma unroll
      for (int v = 0; v < V; ++v)
        means[v] = blend(at[v].weight < 1 ? float(in[p.columns.before(at[v])]) : 0.0f,
                         at[v].weight > 0 ? float(in[p.columns.behind(at[v])]) : 0.0f, at[v].weight);
    };
    float before[V] = {}, behind[V] = {};
    int held = -1;  // the place of rows that `before` and `behind` are of
    for (int i = first_row; i < end_row; ++i) {
      const Place<int> row = p.rows.place(i);
      if (row.q != held) {
        if (held >= 0 && row.q == held + 1) {
#pragma unroll
          for (int v = 0; v < V; ++v) before[v] = behind[v];
        } else {
          means_of_row(p.rows.before(row), before);
        }
        means_of_row(p.rows.behind(row), behind);
        held = row.q;
      }
      tile::Floats<T> out;
#pragma unroll
      for (int v = 0; v < V; ++v)
        out[v] = blend(row.weight < 1 ? before[v] : 0.0f, row.weight > 0 ? behind[v] : 0.0f, row.weight);
      columns.store(y + i * p.y[2], tile::pack_floats<T>(out));
    }
  }
}

namespace rows {

template <class Policy, class M, class T> static Status launch(const Call<T>& call) {
  constexpr Config c = Policy::config;
  const UpsampleProblem& p = call.plan.problem;
  const RowsShape s{.rows = Narrow(rows_axis(p)),
                    .columns = Narrow(columns_axis(p)),
                    .items = static_cast<unsigned>(items_of(c, p)),
                    .across_count = whole(threads_across(p)),
                    .across = Divider(threads_across(p)),
                    .down = Divider(ceil_div(p.y.shape[2], c.rows)),
                    .channels = Divider(p.y.shape[1]),
                    .x = {p.x.stride[0], p.x.stride[1], p.x.stride[2]},
                    .y = {p.y.stride[0], p.y.stride[1], p.y.stride[2]},
                    .vectors = stores_vectors(p)};
  return simt::launch(launch_config(call), upsample_rows<Policy, M, T>, call.in, call.out, s);
}

}  // namespace rows
}  // namespace ridge::upsample_detail
