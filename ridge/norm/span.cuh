// Rows of a few columns, without gaps between them: a block loads its rows to shared memory as one span, then a thread
// works on a row.
#pragma once
#include <ridge/norm/vector.cuh>
#include <ridge/tile/row_span.cuh>

namespace ridge::norm_detail {

// A team of one thread (statistics.cuh).
struct OneThread {
  template <class V> struct Scratch {};
  template <class V, class F> static __device__ __forceinline__ V reduce(V value, F, Scratch<V>&) { return value; }
};

// a + b of two vectors, rounded as it is stored, for any type.
template <class T> __device__ __forceinline__ tile::Packed span_sum(const tile::Packed& a, const tile::Packed& b) {
  if constexpr (sizeof(T) == 8) {
    tile::Vector<T> sum = tile::unpack<T>(a);
    const tile::Vector<T> other = tile::unpack<T>(b);
#pragma unroll
    for (int v = 0; v < tile::vector_elements<T>; ++v) sum[v] += other[v];
    return tile::pack<T>(sum);
  } else {
    return packed_sum<T>(a, b);
  }
}

// Preconditions: cols <= span_most_cols; rows of all tensors follow one another without gaps, and the tensors are
// co-aligned; gridDim.x * rows_of_block covers rows, rows_of_block is a multiple of span_pair; footprint().smem of
// dynamic shared memory. y and sum may be x or residual.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, sizeof(T) == 8 ? 1 : Policy::config.blocks_per_sm)
    norm_span(Forward<T> a, int rows_of_block) {
  using X = Compute<T>;
  constexpr int threads = Policy::config.threads, most = tile::span_most_cols;
  __shared__ X gamma[most], beta[most];
  const int cols = static_cast<int>(a.cols);
  const std::int64_t first = std::int64_t{blockIdx.x} * rows_of_block, start = first * cols;
  const int here = static_cast<int>(::min(a.rows - first, std::int64_t{rows_of_block}));
  T* room = simt::dynamic_shared<T>();
  const T* x = a.x.data + start;
  const tile::RowSpan<T> span(x, here * cols);
  if (a.sum.data) {
    const T* residual = a.residual.data + start;
    T *sum = a.sum.data + start, *kept = room + span.lead;
    span.template for_vectors<threads>(
        [&](int at) { return span_sum<T>(tile::load_packed(x + at), tile::load_packed(residual + at)); },
        [&](int at, const tile::Packed& vector) {
          tile::store_packed(sum + at, vector);
          tile::store_packed_shared(kept + at, vector);
        });
    span.for_edge([&](int at) { kept[at] = sum[at] = rounded_sum(x[at], residual[at]); });
  } else {
    span.template load<threads>(x, room);
  }
  if (const int i = static_cast<int>(threadIdx.x); i < cols) {
    gamma[i] = a.gamma.data ? X(a.gamma.data[i * a.gamma.step]) : X(1);
    beta[i] = a.beta.data ? X(a.beta.data[i * a.beta.step]) : X(0);
  }
  __syncthreads();

  const tile::SpanRow<T> own(cols);
  Scratch<OneThread, X> scratch;
  for (int r = own.first(); r < here; r += threads) {
    T* row = room + span.lead + r * cols;
    X e[most];
    own.template unrolled<most>([&](int j, int at) { e[j] = at >= 0 ? X(row[at]) : X(0); });
    const auto each = [&](auto&& f) { own.template unrolled<most>([&](int j, int at) { f(e[j], at >= 0); }); };
    const auto normalised = row_statistics<OneThread, X>(
        each, [] {}, X(a.cols), a.eps, a.rms, scratch);
    own.again().template unrolled<most>([&](int j, int at) {
      if (at >= 0) row[at] = T(normalised(e[j], gamma[at], beta[at]));
    });
  }
  __syncthreads();
  span.template store<threads>(room, a.y.data + start);
}

// dx, and slices[b][0][j] = sum of dy n over the rows of block b, [b][1][j] = sum of dy; slices null: not wanted.
// Blocks are persistent: an iteration works on `rows` rows while the next ones are loaded. First a thread takes a row's
// statistics; then it takes every so many-th element, all of one column, and keeps that column's sums.
//
// Preconditions: as above, of dy, x, dsum and dx; any grid.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, sizeof(T) == 8 ? 1 : Policy::config.blocks_per_sm)
    norm_span_gradient(Backward<T> a, Compute<T>* slices, int rows) {
  using X = Compute<T>;
  constexpr int threads = Policy::config.threads, most = tile::span_most_cols;
  __shared__ X gamma[most];
  const int cols = static_cast<int>(a.cols), tensors = a.dsum.data ? 3 : 2;
  const int room = tile::span_room(rows, cols, sizeof(T)) / static_cast<int>(sizeof(T));
  T* rooms = simt::dynamic_shared<T>();                                           // [stages][tensors][room]
  X* of_rows = reinterpret_cast<X*>(rooms + SpanShape::stages * tensors * room);  // [SpanShape::of_row][rows]
  const int thread = static_cast<int>(threadIdx.x), lines = threads / cols, line = thread / cols;
  const int column = thread - line * cols;
  if (thread < cols) gamma[thread] = a.gamma.data ? X(a.gamma.data[thread * a.gamma.step]) : X(1);
  const std::int64_t iterations = (a.rows + rows - 1) / rows;
  const auto rows_of = [&](std::int64_t iteration) {
    return static_cast<int>(::min(a.rows - iteration * rows, std::int64_t{rows}));
  };
  const auto load_rows = [&](std::int64_t iteration, int stage) {
    if (iteration < iterations) {
      const std::int64_t start = iteration * rows * cols;
      T* to = rooms + stage * tensors * room;
      const tile::RowSpan<T> span(a.x.data + start, rows_of(iteration) * cols);
      span.template load_async<threads>(a.x.data + start, to);
      span.template load_async<threads>(a.dy.data + start, to + room);
      if (tensors == 3) span.template load_async<threads>(a.dsum.data + start, to + 2 * room);
    }
    tile::commit_copies();
  };

  const tile::SpanRow<T> own(cols);
  X sum_gamma = 0, sum_beta = 0;
  load_rows(blockIdx.x, 0);
  int stage = 0;
#pragma unroll 1
  for (std::int64_t iteration = blockIdx.x; iteration < iterations; iteration += gridDim.x, stage ^= 1) {
    load_rows(iteration + gridDim.x, stage ^ 1);
    const std::int64_t start = iteration * rows * cols;
    const int here = rows_of(iteration);
    const tile::RowSpan<T> span(a.x.data + start, here * cols);
    T *of_x = rooms + stage * tensors * room, *x = of_x + span.lead, *dy = x + room, *dsum = dy + room;
    tile::wait_copies<1>();
    __syncthreads();

    // ---- a thread per row
    for (int r = own.first(); r < here; r += threads) {
      X e[most];
      own.template unrolled<most>([&](int j, int at) { e[j] = at >= 0 ? X(x[r * cols + at]) : X(0); });
      GradientScratch<OneThread, X> scratch;
      const auto gradient = row_gradient<OneThread, X>(
          [&](auto&& f) { own.template unrolled<most>([&](int j, int at) { f(e[j], at >= 0); }); },
          [&](auto&& f) {
            own.again().template unrolled<most>(
                [&](int j, int at) { f(e[j], at >= 0 ? X(dy[r * cols + at]) * gamma[at] : X(0), at >= 0); });
          },
          [] {}, X(a.cols), a.eps, a.rms, scratch);
      of_rows[r] = gradient.normalised.base;
      of_rows[rows + r] = gradient.normalised.offset;
      of_rows[2 * rows + r] = gradient.normalised.scale;
      of_rows[3 * rows + r] = gradient.mean_g;
      of_rows[4 * rows + r] = gradient.mean_gn;
    }
    __syncthreads();

    // ---- a thread per column, `lines` rows at a time
    if (line < lines)
#pragma unroll 2
      for (int r = line; r < here; r += lines) {
        const int at = r * cols + column;
        const RowGradient<X> gradient{
            {of_rows[r], of_rows[rows + r], of_rows[2 * rows + r]}, of_rows[3 * rows + r], of_rows[4 * rows + r]};
        const X dy_at = X(dy[at]), n = gradient.normalised(X(x[at])), d = gradient(n, dy_at * gamma[column]);
        sum_gamma = multiply_add(dy_at, n, sum_gamma);
        sum_beta += dy_at;
        x[at] = T(tensors == 3 ? d + X(dsum[at]) : d);
      }
    __syncthreads();
    span.template store<threads>(of_x, a.dx.data + start);
    __syncthreads();  // the room is free
  }
  if (!slices) return;

  // ---- sum the lines, in order
  tile::wait_copies<0>();
  X* sums = reinterpret_cast<X*>(rooms);  // [2][lines][cols]
  if (line < lines) {
    sums[thread] = sum_gamma;
    sums[lines * cols + thread] = sum_beta;
  }
  __syncthreads();
  if (thread >= 2 * cols) return;
  const int which = line;  // 0 or 1
  X sum = 0;
#pragma unroll 8
  for (int i = 0; i < lines; ++i) sum += sums[(which * lines + i) * cols + column];
  slices[std::int64_t{blockIdx.x} * 2 * cols + thread] = sum;
}

namespace span {

template <class Policy, class T, int Warp> static Status launch(const Call& call) {
  const int rows = shape_of(Policy::config, call.plan.problem, call.plan.device).rows;
  return simt::launch(launch_config(call, Warp), norm_span<Policy, T>, forward_of<T>(call), rows);
}

template <class Policy, class T, int Warp> static Status launch_gradient(const Call& call) {
  const int rows = shape_of(Policy::config, call.plan.problem, call.plan.device).rows;
  return simt::launch(launch_config(call, Warp), norm_span_gradient<Policy, T>, backward_of<T>(call),
                      slices_of_sums<T>(call), rows);
}

}  // namespace span
}  // namespace ridge::norm_detail
