// Rows too long to keep on chip, by 16-byte vectors: read twice, the second time from the L2 cache as far as the rows
// in flight fit there.
#pragma once
#include <ridge/norm/streaming.cuh>
#include <ridge/tile/row_vectors.cuh>

namespace ridge::norm_detail {

using tile::for_elements;

// Count, mean and sum of squared differences from the mean of a set of values. merged() gives those of the union of two
// sets (Chan, Golub and LeVeque, 1979).
struct Moments {
  float n, mean, squares;
};
__device__ __forceinline__ Moments merged(const Moments& a, const Moments& b) {
  const float n = a.n + b.n;
  if (n == 0) return a;
  const float share = b.n / n, apart = b.mean - a.mean;
  return {n, fmaf(apart, share, a.mean),
          a.squares + b.squares + apart * (apart * (a.n * share))};  // an empty set adds 0, however far
}

// a + b of two vectors, rounded as it is stored.
template <class T> __device__ __forceinline__ tile::Packed packed_sum(const tile::Packed& a, const tile::Packed& b) {
  tile::Floats<T> x = tile::unpack_floats<T>(a), y = tile::unpack_floats<T>(b);
#pragma unroll
  for (int v = 0; v < tile::vector_elements<T>; ++v) x[v] += y[v];
  tile::Packed r = tile::pack_floats<T>(x);
  tile::make_opaque(r);  // or each element of 16 bits would stay in a register of its own
  return r;
}

// The vectors of gamma and beta that belong to one vector of a row; zeros if there are none.
template <class T> struct Affine { tile::Packed gamma, beta; };
template <class T> __device__ __forceinline__ Affine<T> load_affine(const Forward<T>& a, std::int64_t at, bool exists) {
  Affine<T> r{};
  if (exists && a.gamma.data) r.gamma = tile::load_packed_anywhere(a.gamma.data + at);
  if (exists && a.beta.data) r.beta = tile::load_packed_anywhere(a.beta.data + at);
  return r;
}
// y for a vector of x.
template <class T>
__device__ __forceinline__ tile::Packed normalised_vector(const Forward<T>& a, const Statistics<float>& normalised,
                                                          const tile::Packed& x, const Affine<T>& affine) {
  tile::Floats<T> e = tile::unpack_floats<T>(x);
  const tile::Floats<T> gamma = tile::unpack_floats<T>(affine.gamma), beta = tile::unpack_floats<T>(affine.beta);
#pragma unroll
  for (int v = 0; v < tile::vector_elements<T>; ++v)
    e[v] = multiply_add(normalised(e[v]), a.gamma.data ? gamma[v] : 1.0f, a.beta.data ? beta[v] : 0.0f);
  return tile::pack_floats<T>(e);
}
// The same for an affine that is always filled in: with 1 and 0 if gamma and beta were not given.
template <class T, class Normalised>
__device__ __forceinline__ tile::Packed normalised_vector(const Normalised& normalised, const tile::Packed& x,
                                                          const Affine<T>& affine) {
  tile::Floats<T> e = tile::unpack_floats<T>(x);
  const tile::Floats<T> gamma = tile::unpack_floats<T>(affine.gamma), beta = tile::unpack_floats<T>(affine.beta);
#pragma unroll
  for (int v = 0; v < tile::vector_elements<T>; ++v) e[v] = normalised(e[v], gamma[v], beta[v]);
  return tile::pack_floats<T>(e);
}
template <class T, class Normalised>
__device__ __forceinline__ T norm_element(const Forward<T>& a, const Normalised& normalised, float x, std::int64_t at) {
  return T(normalised(x, a.gamma.data ? float(a.gamma.data[at]) : 1.0f, a.beta.data ? float(a.beta.data[at]) : 0.0f));
}

// Columns [begin, begin + cols) of a row, by 16-byte vectors and a block's threads. Elements [0, head) and [tail, cols)
// of these are in no whole vector.
template <int Threads, class T> struct VectorPart {
  static constexpr int V = tile::vector_elements<T>;
  static constexpr int U = vector::in_flight;
  const Forward<T>& a;
  const T *x, *residual;
  T *y, *sum;
  std::int64_t begin, cols, head, vectors, tail;

  __device__ __forceinline__ VectorPart(const Forward<T>& forward, std::int64_t row, std::int64_t first, std::int64_t n)
      : a(forward), begin(first), cols(n) {
    x = a.x.strided_row(row) + begin;
    residual = a.sum.data ? a.residual.strided_row(row) + begin : nullptr;
    y = a.y.strided_row(row) + begin;
    sum = a.sum.data ? a.sum.strided_row(row) + begin : nullptr;
    const std::int64_t to_boundary =
        (vector_bytes - reinterpret_cast<std::uintptr_t>(x) % vector_bytes) % vector_bytes / sizeof(T);
    head = to_boundary < cols ? to_boundary : cols;
    vectors = (cols - head) / V;
    tail = head + vectors * V;
  }

  // The base of distances: the first element, so that their mean has no rounding error of its own. All of the block's
  // threads call.
  __device__ __forceinline__ float base() const {
    const float first = a.rms ? 0.0f : float(residual ? rounded_sum(x[0], residual[0]) : x[0]);
    if (sum) __syncthreads();  // sum may be x
    return first;
  }

  // Moments of this thread's elements, as distances from base. Writes sum.
  __device__ __forceinline__ Moments moments(float base) const {
    Moments seen{0, 0, 0};
    const auto add_vectors = [&](auto count, std::int64_t u) {
      constexpr int N = decltype(count)::value;
      tile::Packed vector[N];
#pragma unroll
      for (int k = 0; k < N; ++k) vector[k] = tile::load_packed(x + head + (u + k * Threads) * V);
      if (residual) {
        tile::Packed other[N];
#pragma unroll
        for (int k = 0; k < N; ++k) other[k] = tile::load_packed(residual + head + (u + k * Threads) * V);
#pragma unroll
        for (int k = 0; k < N; ++k) {
          vector[k] = packed_sum<T>(vector[k], other[k]);
          tile::store_packed(sum + head + (u + k * Threads) * V, vector[k]);
        }
      }
      Moments m{float(N * V), 0, 0};
      if (!a.rms) {
#pragma unroll
        for (int k = 0; k < N; ++k) {
          const tile::Vector<T> e = tile::unpack<T>(vector[k]);
#pragma unroll
          for (int v = 0; v < V; ++v) m.mean += float(e[v]) - base;
        }
        m.mean /= N * V;
      }
#pragma unroll
      for (int k = 0; k < N; ++k) {
        const tile::Vector<T> e = tile::unpack<T>(vector[k]);
#pragma unroll
        for (int v = 0; v < V; ++v) {
          const float d = float(e[v]) - base - m.mean;
          m.squares = fmaf(d, d, m.squares);
        }
      }
      seen = merged(seen, m);
    };
    const auto add_element = [&](std::int64_t i) {
      T e = x[i];
      if (residual) sum[i] = e = rounded_sum(e, residual[i]);
      const float d = float(e) - base;
      seen = merged(seen, a.rms ? Moments{1, 0, d * d} : Moments{1, d, 0});
    };
    std::int64_t u = threadIdx.x;
    for (; u + (U - 1) * Threads < vectors; u += U * Threads) add_vectors(std::integral_constant<int, U>{}, u);
    for (; u < vectors; u += Threads) add_vectors(std::integral_constant<int, 1>{}, u);
    for (std::int64_t i = threadIdx.x; i < head; i += Threads) add_element(i);
    for (std::int64_t i = tail + threadIdx.x; i < cols; i += Threads) add_element(i);
    return seen;
  }

  // Calls f(x, exists) for the elements as they are stored, in the rare case. Precondition: a barrier since moments().
  __device__ __forceinline__ auto each() const {
    return [kept = sum ? sum : x, cols = cols](auto&& f) {
#pragma unroll 1
      for (std::int64_t i = threadIdx.x; i < cols; i += Threads) f(float(kept[i]), true);
    };
  }

  __device__ __forceinline__ void write(const Statistics<float>& normalised) const {
    const T* kept = sum ? sum : x;
    for (std::int64_t i = threadIdx.x; i < vectors; i += Threads) {
      const std::int64_t at = head + i * V;
      tile::store_packed(
          y + at, normalised_vector(a, normalised, tile::load_packed(kept + at), load_affine(a, begin + at, true)));
    }
    for (std::int64_t i = threadIdx.x; i < head; i += Threads)
      y[i] = norm_element(a, normalised, float(kept[i]), begin + i);
    for (std::int64_t i = tail + threadIdx.x; i < cols; i += Threads)
      y[i] = norm_element(a, normalised, float(kept[i]), begin + i);
  }
};
__device__ __forceinline__ Statistics<float> statistics_of(const Moments& m, float base, float eps) {
  const float scale = reciprocal_root(m.squares / m.n + eps);
  return {base, -m.mean * scale, scale};
}

// Preconditions: gridDim.x == rows; rows of all tensors are co-aligned and evenly spaced; gamma and beta are
// contiguous. y and sum may be x or residual.
template <class Team, class T> __global__ void __launch_bounds__(Team::threads) norm_vector(Forward<T> a) {
  __shared__ typename Team::template Scratch<Moments> scratch;
  const VectorPart<Team::threads, T> part(a, blockIdx.x, 0, a.cols);
  const float base = part.base();
  const Moments seen = Team::reduce(
      part.moments(base), [](const Moments& p, const Moments& q) { return merged(p, q); }, scratch);
  Statistics<float> normalised = statistics_of(seen, base, a.eps);
  if (const float divisor = seen.squares / seen.n + a.eps; !is_ordinary(divisor)) {
    normalised =
        wide_statistics_alone<lanes_alone<Team>, T>(part.sum ? part.sum : part.x, nullptr, a.cols, a.eps, a.rms);
    __syncthreads();  // y may be x
  }
  part.write(normalised);
}

namespace vector {

template <class Policy, class T, int Warp> static Status launch(const Call& call) {
  return simt::launch(launch_config(call, Warp), norm_vector<TeamOf<Policy, Warp>, T>, forward_of<T>(call));
}

}  // namespace vector
}  // namespace ridge::norm_detail
