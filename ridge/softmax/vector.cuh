// Rows too long to keep on chip, by 16-byte vectors.
#pragma once
#include <ridge/softmax/element.cuh>
#include <ridge/softmax/launch.cuh>
#include <ridge/tile/row_lanes.cuh>

namespace ridge::softmax_detail {

// A part of a row by 16-byte vectors and a block's threads. Elements [0, head) and [tail, cols) are in no whole vector.
template <int Threads, class T> struct VectorPart {
  using X = Compute<T>;
  static constexpr int V = vector_bytes / sizeof(T);
  static constexpr int U = vector::in_flight;
  std::int64_t cols, head, vectors, tail;

  __device__ __forceinline__ VectorPart(const T* x, std::int64_t n) : cols(n) {
    const std::int64_t to_boundary =
        (vector_bytes - reinterpret_cast<std::uintptr_t>(x) % vector_bytes) % vector_bytes / sizeof(T);
    head = to_boundary < cols ? to_boundary : cols;
    vectors = (cols - head) / V;
    tail = head + vectors * V;
  }

  // Calls on_vectors(vec[n], at) for this thread's vectors, n at a time, which are U or 1: vector k starts at element
  // at + k * Threads * V. Calls on_element(at) for its elements that are in none.
  template <class OnVectors, class OnElement>
  __device__ __forceinline__ void for_batches(const T* x, OnVectors&& on_vectors, OnElement&& on_element) const {
    std::int64_t u = threadIdx.x;
    for (; u + (U - 1) * Threads < vectors; u += U * Threads) {
      simt::vec<T, V> several[U];
#pragma unroll
      for (int k = 0; k < U; ++k) several[k] = simt::load<V>(x + head + (u + k * Threads) * V);
      on_vectors(several, head + u * V);
    }
    for (; u < vectors; u += Threads) {
      simt::vec<T, V> one[1] = {simt::load<V>(x + head + u * V)};
      on_vectors(one, head + u * V);
    }
    for (std::int64_t i = threadIdx.x; i < head; i += Threads) on_element(i);
    for (std::int64_t i = tail + threadIdx.x; i < cols; i += Threads) on_element(i);
  }
  // The same for one vector at a time: on_vector(vec, at).
  template <class OnVector, class OnElement>
  __device__ __forceinline__ void for_each(const T* x, OnVector&& on_vector, OnElement&& on_element) const {
    const auto one_by_one = [&](const auto& several, std::int64_t at) {
      constexpr int n = sizeof several / sizeof several[0];
#pragma unroll
      for (int k = 0; k < n; ++k) on_vector(several[k], at + k * Threads * V);
    };
    for_batches(x, one_by_one, on_element);
  }

  // Maximum and sum of this thread's elements: the maximum of the vectors that are loaded together first, so that the
  // sum is rescaled once for all of them.
  __device__ __forceinline__ tile::OnlineSoftmax<X> seen(const T* x) const {
    auto seen = tile::OnlineSoftmax<X>::nothing();
    for_batches(
        x,
        [&](const auto& several, std::int64_t) {
          constexpr int n = sizeof several / sizeof several[0];
          X max = seen.max;
#pragma unroll
          for (int k = 0; k < n; ++k)
#pragma unroll
            for (int v = 0; v < V; ++v) max = tile::greater(max, X(several[k][v]));
          const X base = tile::softmax_base(max);
          X sum = seen.sum * tile::exponential(seen.max - base);
#pragma unroll
          for (int k = 0; k < n; ++k)
#pragma unroll
            for (int v = 0; v < V; ++v) sum += tile::exponential(X(several[k][v]) - base);
          seen = {max, sum};
        },
        [&](std::int64_t i) { seen.add(X(x[i])); });
    return seen;
  }
  __device__ __forceinline__ void write(const T* x, T* y, const Normalise<X>& normalise) const {
    const auto apart = reinterpret_cast<std::uintptr_t>(x) - reinterpret_cast<std::uintptr_t>(y);
    if (apart % vector_bytes == 0) write_vectors(x, y, normalise);
    else write_elements(x, y, normalise);
  }
  // Precondition: x and y are co-aligned on 16 bytes.
  __device__ __forceinline__ void write_vectors(const T* x, T* y, const Normalise<X>& normalise) const {
    for_each(
        x,
        [&](simt::vec<T, V> vector, std::int64_t at) {
#pragma unroll
          for (int v = 0; v < V; ++v) vector[v] = T(normalise(X(vector[v])));
          simt::store_streaming(y + at, vector);
        },
        [&](std::int64_t i) { y[i] = T(normalise(X(x[i]))); });
  }
  // Element by element, eight of them in flight, for x and y of any alignment.
  __device__ __forceinline__ void write_elements(const T* x, T* y, const Normalise<X>& normalise) const {
#pragma unroll 8
    for (std::int64_t i = threadIdx.x; i < cols; i += Threads) y[i] = T(normalise(X(x[i])));
  }
};

// y[r][:] = softmax(x[r][:]). The second read is served by the L2 cache as far as the rows
// in flight fit there, so stores are evict-first.                       x: [rows, cols]  y: [rows, cols]
// Preconditions: gridDim.x == rows; rows are aligned to their elements' size. y may be x.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads)
    softmax_vector(const T* x, T* y, std::int64_t cols, std::int64_t pitch_x, std::int64_t pitch_y, bool log) {
  constexpr int threads = Policy::config.threads;
  __shared__ tile::RowScratch<tile::OnlineSoftmax<Compute<T>>, threads, Warp> scratch;
  x += blockIdx.x * pitch_x;
  y += blockIdx.x * pitch_y;
  const VectorPart<threads, T> part(x, cols);
  const auto seen = tile::row_reduce<threads, Warp>(
      part.seen(x), [](auto a, auto b) { return tile::merge(a, b); }, scratch);
  part.write(x, y, Normalise<Compute<T>>(seen.max, seen.sum, log));
}

namespace vector {

template <class Policy, class T, int Warp> static Status launch(const Forward<T>& call) {
  const SoftmaxProblem& p = call.plan.problem;
  return simt::launch(launch_config(call, Warp), softmax_vector<Policy, T, Warp>, call.x, call.y, p.cols, p.x->pitch(),
                      p.y->pitch(), p.log);
}

}  // namespace vector
}  // namespace ridge::softmax_detail
