// Rows of a few columns, without gaps between them: a thread has a row, which the block brought to shared memory with
// its others as one span.
#pragma once
#include <ridge/softmax/element.cuh>
#include <ridge/softmax/launch.cuh>
#include <ridge/tile/row_span.cuh>

#include <type_traits>

namespace ridge::softmax_detail {

// The places of a thread's row in shared memory, in the order of SpanRow, for passes that are unrolled: an access is a
// comparison, a choice of two addresses, and a constant distance from it.
template <class T> struct SpanPlaces {
  static constexpr unsigned size = sizeof(T);
  char* room;
  unsigned before, behind;  // bytes to elements before the row's end, and to those that went around it
  unsigned cols, wrap;      // the latter from element `wrap` on

  // row: where it begins in the room, in elements
  __device__ __forceinline__ SpanPlaces(T* shared, int row, const tile::SpanRow<T>& own)
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
  // The same row, unknown to the compiler: it would keep every place of one pass for the next, in registers.
  __device__ __forceinline__ SpanPlaces again() const {
    SpanPlaces row = *this;
    tile::make_opaque(row.wrap);
    return row;
  }
};

// A row of any values, in place: of f64, or one whose greatest element ScaledExponential does not take.
template <class T> __device__ void softmax_span_any_row(T* row, const tile::SpanRow<T>& own, bool log) {
  using X = Compute<T>;
  const bool keeps = std::is_same_v<T, X> && !log;  // exponentials, where they are in place as they are in registers
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

// A row in registers, in place.
template <class T>
__device__ __forceinline__ void softmax_span_row(T* room, int row, const tile::SpanRow<T>& own, bool log) {
  constexpr int most = tile::span_most_cols;
  const SpanPlaces<T> places(room, row, own);
  float e[most], max = tile::minus_infinity<float>, sum = 0;
  tile::for_elements<most>(places.cols, [&](int j, bool has) {
    e[j] = has ? float(places[j]) : tile::minus_infinity<float>;  // adds nothing
    max = tile::greater(max, e[j]);
  });
  if (!tile::ScaledExponential::takes(max)) {
    softmax_span_any_row(room + row, own, log);
    return;
  }
  const tile::ScaledExponential exponential(tile::softmax_base(max));
  const auto add_terms = [&](auto as_log) {
    tile::for_elements<most>(places.cols, [&](int j, bool) {
      const float term = exponential(e[j]);
      sum += term;
      e[j] = as_log ? e[j] - exponential.base : term;
    });
  };
  if (log) add_terms(std::true_type{});
  else add_terms(std::false_type{});
  const float scale = log ? 1.0f : __fdividef(1.0f, sum), shift = log ? -exponential.log_of_sum(sum) : 0.0f;
  const SpanPlaces<T> again = places.again();
  tile::for_elements<most>(again.cols, [&](int j, bool has) {
    if (has) again[j] = T(fmaf(e[j], scale, shift));
  });
}

// y[r][:] = softmax(x[r][:])                                        x: [rows, cols], y: [rows, cols], without gaps
// Preconditions: cols <= span_most_cols; gridDim.x * rows_of_block covers rows, rows_of_block is a multiple of
// span_pair; x and y lie alike on 16-byte units; footprint().smem of dynamic shared memory. y may be x.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    softmax_span(const T* x, T* y, std::int64_t rows, int cols, int rows_of_block, bool log) {
  constexpr int threads = Policy::config.threads;
  const std::int64_t first = std::int64_t{blockIdx.x} * rows_of_block;
  const int here = static_cast<int>(::min(rows - first, std::int64_t{rows_of_block}));
  T* room = simt::dynamic_shared<T>();
  const tile::RowSpan<T> span(x + first * cols, here * cols);
  span.template bring<threads>(x + first * cols, room);
  __syncthreads();

  const tile::SpanRow<T> own(cols);
  for (int r = own.first(); r < here; r += threads) {
    const int row = span.lead + r * cols;
    if constexpr (std::is_same_v<T, double>) softmax_span_any_row(room + row, own, log);
    else softmax_span_row(room, row, own, log);
  }
  __syncthreads();
  span.template send<threads>(room, y + first * cols);
}

// dx of both.                                                       y, dy, dx: [rows, cols], without gaps
// Preconditions: as above, of all three. dx may be y or dy.
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
  span.template bring<threads>(y + first * cols, room_y);
  span.template bring<threads>(dy + first * cols, room_dy);
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
  span.template send<threads>(room_y, dx + first * cols);
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
