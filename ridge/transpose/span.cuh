// Many small matrices: a block moves a span of whole ones, which is contiguous in x and in y. cp.async copies chunks of
// x into shared memory unchanged. A thread then gathers the units of a chunk of y one by one from anywhere in the span:
// a chunk may hold columns of several matrices.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/transpose/launch.cuh>
#include <ridge/transpose/span.hpp>
#include <ridge/transpose/staged.cuh>

namespace ridge::transpose_detail {

struct SpanShape {
  std::int64_t all;          // all matrices
  int matrices;              // per block
  int rows, cols;            // of a matrix
  int swizzle_shift;         // see span_swizzle()
  int step;                  // threads that write chunks of y
  bool periodic;             // chunks that are `step` apart hold the same units of their matrices
  Divider by_size, by_rows;  // divide by rows * cols, and by rows
};

//                                                            x: [all][rows, cols]  y: [all][cols, rows]
// Preconditions: gridDim.x covers all matrices; step <= threads.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads) transpose_span(const T* x, T* y, SpanShape s) {
  constexpr Config c = Policy::config;
  constexpr int V = per_chunk(sizeof(T));
  T* shared = simt::dynamic_shared<T>();
  const int size = s.rows * s.cols;
  const std::int64_t first = std::int64_t{blockIdx.x} * s.matrices;
  const int units = size * static_cast<int>(min(s.all - first, std::int64_t{s.matrices}));
  const T* tile_x = x + first * size;
  y += first * size;
  const int shift = chunk_offset(tile_x), skew = chunk_offset(y);  // units of the first chunk before the span

  tile::grid_dependency_wait();
  const int chunks = (shift + units + V - 1) / V;
  const auto place = [&](int i) { return span_swizzle(i * V, V, s.swizzle_shift) / V; };
  const T *begin_x = tile_x - shift, *x_end = x + s.all * size;
  if (begin_x >= x && begin_x + chunks * V <= x_end) {
#pragma unroll 4
    for (int i = threadIdx.x; i < chunks; i += c.threads)
      tile::copy_async<chunk_bytes>(shared + place(i) * V, begin_x + i * V);
  } else {
    stage_chunks<c.threads>(
        shared, chunks, [&](int i) { return Source<T>{begin_x + i * V, tile_x, tile_x + units, x, x_end, place(i)}; });
  }
  tile::wait_for_copies();
  __syncthreads();
  tile::launch_dependents();

  if (static_cast<int>(threadIdx.x) >= s.step) return;
  int from[V];  // staged unit of each unit of a chunk of y
  bool known = false;
#pragma unroll 1
  for (int i = threadIdx.x; i * V < skew + units; i += s.step) {
    const int begin = i * V - skew;  // the first chunk may begin before the span
    if (known) {
#pragma unroll
      for (int v = 0; v < V; ++v) from[v] += s.step * V;
    } else {
      // Counted from V matrices before the span: a chunk begins no earlier than that.
      unsigned within = static_cast<unsigned>(begin + V * size);
      const int matrix = static_cast<int>(s.by_size.divide(within)) - V;
      unsigned below = within;
      int col = static_cast<int>(s.by_rows.divide(below)), row = static_cast<int>(below);
      int at = shift + matrix * size + row * s.cols + col;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        from[v] = at;
        at += s.cols;
        if (++row == s.rows) {  // on to the next column, or the next matrix's first
          row = 0;
          at -= size - 1;
          if (++col == s.cols) col = 0, at += size - s.cols;
        }
      }
      known = s.periodic;
    }
    const auto unit = [&](int v) { return shared[span_swizzle(from[v], V, s.swizzle_shift)]; };
    if (begin >= 0 && begin + V <= units) {
      tile::Vector<T> chunk;
#pragma unroll
      for (int v = 0; v < V; ++v) chunk[v] = unit(v);
      store_packed(y + begin, tile::pack<T>(chunk));
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v)
        if (begin + v >= 0 && begin + v < units) y[begin + v] = unit(v);
    }
  }
}

namespace span {

[[maybe_unused]] static SpanShape shape_of(const Config& c, const Form& f) {
  const std::int64_t period = period_of(f);
  const bool periodic = period <= c.threads;
  return {.all = f.outer.count(),
          .matrices = static_cast<int>(matrices_of_block(c, f)),
          .rows = static_cast<int>(f.rows),
          .cols = static_cast<int>(f.cols),
          .swizzle_shift = f.swizzle_shift,
          .step = static_cast<int>(periodic ? c.threads / period * period : c.threads),
          .periodic = periodic,
          .by_size = Divider(f.rows * f.cols),
          .by_rows = Divider(f.rows)};
}

// Blocks of a dependent launch crowd on the multiprocessors that are free at that time. With units of one byte, whose
// blocks run longest, this costs more than the launch latency.
template <class Policy, class T> static Status launch(const Call<T>& call) {
  const SpanShape shape = shape_of(Policy::config, call.form);
  if constexpr (sizeof(T) > 1)
    return tile::launch_dependent(call.plan.device.cc, launch_config(call), transpose_span<Policy, T>, call.x, call.y,
                                  shape);
  else return simt::launch(launch_config(call), transpose_span<Policy, T>, call.x, call.y, shape);
}

}  // namespace span
}  // namespace ridge::transpose_detail
