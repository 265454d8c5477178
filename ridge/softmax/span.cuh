// Rows of a few columns, without gaps between them: a block loads its rows to shared memory as one span, then a thread
// works on a row.
#pragma once
#include <ridge/softmax/element.cuh>
#include <ridge/softmax/launch.cuh>
#include <ridge/tile/row_span.cuh>

#include <type_traits>

namespace ridge::softmax_detail {

// Addresses of the elements of a thread's row in shared memory, in the order of SpanRow, for unrolled passes: an access
// is a comparison, a choice of two addresses, and a constant offset from it.
template <class T> struct SpanPositions {
  static constexpr unsigned size = sizeof(T);
  char* room;
  unsigned before, behind;  // byte offsets for elements before the order wraps around the row's end, and after it
  unsigned cols, wrap;      // it wraps at element `wrap`

  // row: its start in the room, in elements
  __device__ __forceinline__ SpanPositions(T* shared, int row, const tile::SpanRow<T>& own)
      : room(reinterpret_cast<char*>(shared)),
        before((static_cast<unsigned>(row) + own.start) * size),
        behind(before - own.cols * size),
        cols(own.cols),
        wrap(own.cols - own.start) {
    tile::make_opaque(before);  // or each access would scale its own
    tile::make_opaque(behind);
  }
  __device__ __forceinline__ T& operator[](int j) const {
    const unsigned from = static_cast<unsigned>(j) < wrap ? before : behind;
    return *reinterpret_cast<T*>(room + static_cast<int>(from + static_cast<unsigned>(j) * size));
  }
  // The same row, hidden from the compiler, which would keep every address of one pass in a register for the next.
  __device__ __forceinline__ SpanPositions again() const {
    SpanPositions row = *this;
    tile::make_opaque(row.wrap);
    return row;
  }
};

// softmax of a row in place, for any values: of f64, or a row whose greatest element ScaledExponential does not take.
template <class T> __device__ void softmax_span_any_row(T* row, const tile::SpanRow<T>& own, bool log) {
  using X = Compute<T>;
  const bool keeps = std::is_same_v<T, X> && !log;  // whether exponentials are stored in place, without rounding
  const int cols = static_cast<int>(own.cols);
  X max = tile::minus_infinity<X>, sum = 0;
#pragma unroll 1
  for (int j = 0; j < cols; ++j) max = tile::greater(max, X(row[own.at(j)]));
  const X base = tile::softmax_base(max);
#pragma unroll 1
  for (int j = 0; j < cols; ++j) {
    T& e = row[own.at(j)];
    const X term = tile::exponential(X(e) - base);
    sum += term;
    if (keeps) e = T(term);
  }
  const Normalise<X> normalise(max, sum, log);
#pragma unroll 1
  for (int j = 0; j < cols; ++j) {
    T& e = row[own.at(j)];
    e = T(keeps ? X(e) * normalise.scale : normalise(X(e)));
  }
}

// softmax of a row in place, by way of registers.
template <class T>
__device__ __forceinline__ void softmax_span_row(T* room, int row, const tile::SpanRow<T>& own, bool log) {
  constexpr int most = tile::span_most_cols;
  const SpanPositions<T> positions(room, row, own);
  float e[most], max = tile::minus_infinity<float>, sum = 0;
  tile::for_elements<most>(positions.cols, [&](int j, bool has) {
    e[j] = has ? float(positions[j]) : tile::minus_infinity<float>;  // adds nothing
    max = tile::greater(max, e[j]);
  });
  if (!tile::ScaledExponential::takes(max)) {
    softmax_span_any_row(room + row, own, log);
    return;
  }
  const tile::ScaledExponential exponential(tile::softmax_base(max));
  const auto add_terms = [&](auto as_log) {
    tile::for_elements<most>(positions.cols, [&](int j, bool) {
      const float term = exponential(e[j]);
      sum += term;
      e[j] = as_log ? e[j] - exponential.base : term;
    });
  };
  if (log) add_terms(std::true_type{});
  else add_terms(std::false_type{});
  const float scale = log ? 1.0f : __fdividef(1.0f, sum), shift = log ? -exponential.log_of_sum(sum) : 0.0f;
  const SpanPositions<T> again = positions.again();
  tile::for_elements<most>(again.cols, [&](int j, bool has) {
    if (has) again[j] = T(fmaf(e[j], scale, shift));
  });
}

// y[r][:] = softmax(x[r][:])                                        x: [rows, cols], y: [rows, cols], without gaps
// Preconditions: cols <= span_most_cols; gridDim.x * rows_of_block covers rows, rows_of_block is a multiple of
// span_pair; x and y are co-aligned on 16 bytes; footprint().smem of dynamic shared memory. y may be x.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    softmax_span(const T* x, T* y, std::int64_t rows, int cols, int rows_of_block, bool log) {
  constexpr int threads = Policy::config.threads;
  const std::int64_t first = std::int64_t{blockIdx.x} * rows_of_block;
  const int here = static_cast<int>(::min(rows - first, std::int64_t{rows_of_block}));
  T* room = simt::dynamic_shared<T>();
  const tile::RowSpan<T> span(x + first * cols, here * cols);
  span.template load<threads>(x + first * cols, room);
  __syncthreads();

  const tile::SpanRow<T> own(cols);
  for (int r = own.first(); r < here; r += threads) {
    const int row = span.lead + r * cols;
    if constexpr (std::is_same_v<T, double>) softmax_span_any_row(room + row, own, log);
    else softmax_span_row(room, row, own, log);
  }
  __syncthreads();
  span.template store<threads>(room, y + first * cols);
}

// dx of softmax and log_softmax.                                    y, dy, dx: [rows, cols], without gaps
// Preconditions: as above, for all three. dx may be y or dy.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    softmax_gradient_span(const T* y, const T* dy, T* dx, std::int64_t rows, int cols, int rows_of_block, bool log) {
  using X = Compute<T>;
  constexpr int threads = Policy::config.threads;
  [[maybe_unused]] constexpr int at_once = sizeof(T) == 8 ? 1 : 4;
  const std::int64_t first = std::int64_t{blockIdx.x} * rows_of_block;
  const int here = static_cast<int>(::min(rows - first, std::int64_t{rows_of_block}));
  T* room_y = simt::dynamic_shared<T>();
  T* room_dy = room_y + tile::span_room(rows_of_block, cols, sizeof(T)) / static_cast<int>(sizeof(T));
  const tile::RowSpan<T> span(y + first * cols, here * cols);
  span.template load<threads>(y + first * cols, room_y);
  span.template load<threads>(dy + first * cols, room_dy);
  __syncthreads();

  const tile::SpanRow<T> own(cols);
  const Gradient<X> gradient{log};
  for (int r = own.first(); r < here; r += threads) {
    T *of_y = room_y + span.lead + r * cols, *of_dy = room_dy + span.lead + r * cols;
    X sum = 0;
#pragma unroll at_once
    for (int j = 0; j < cols; ++j) sum += gradient.term(X(of_y[own.at(j)]), X(of_dy[own.at(j)]));
#pragma unroll at_once
    for (int j = 0; j < cols; ++j) {
      const int at = own.at(j);
      of_y[at] = T(gradient.dx(X(of_y[at]), X(of_dy[at]), sum));
    }
  }
  __syncthreads();
  span.template store<threads>(room_y, dx + first * cols);
}

namespace span {

template <class Policy, class T, int Warp> static Status launch(const Forward<T>& call) {
  const SoftmaxProblem& p = call.plan.problem;
  return simt::launch(launch_config(call, Warp), softmax_span<Policy, T>, call.x, call.y, p.rows,
                      static_cast<int>(p.cols), rows_of_block(Policy::config, p, call.plan.device), p.log);
}

template <class Policy, class T, int Warp> static Status launch(const Backward<T>& call) {
  const SoftmaxProblem& p = call.plan.problem;
  return simt::launch(launch_config(call, Warp), softmax_gradient_span<Policy, T>, call.y, call.dy, call.dx, p.rows,
                      static_cast<int>(p.cols), rows_of_block(Policy::config, p, call.plan.device), p.log);
}

}  // namespace span
}  // namespace ridge::softmax_detail
