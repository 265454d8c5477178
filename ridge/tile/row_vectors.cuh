// A row in vectors of 16 bytes, wherever it starts: a head of a few elements up to a 16-byte boundary, whole vectors,
// and a tail. Of the Lanes that share the row, lane l has vectors l, l + Lanes, l + 2 Lanes, ... and at most one
// element of head or tail. ResidentRows keeps a lane's vectors on chip; softmax and the norms so read their rows once.
#pragma once
#include <ridge/tile/opaque.cuh>
#include <ridge/tile/packed.cuh>

#include <type_traits>

namespace ridge::tile {

template <class T, int Lanes> struct RowVectors {
  static constexpr int V = vector_elements<T>, lanes_of_row = Lanes;
  static_assert(2 * V <= Lanes, "head and tail have lanes of their own");
  int lane;
  int head, count;  // head elements; whole vectors
  int edge_at;      // the head or tail element that is this lane's; -1: none

  // Precondition: cols is below 2^31.
  __device__ __forceinline__ RowVectors(const T* row, std::int64_t cols, int lane_of_row) : lane(lane_of_row) {
    const int to_boundary = static_cast<int>((vector_bytes - reinterpret_cast<std::uintptr_t>(row) % vector_bytes) %
                                             vector_bytes / sizeof(T));
    head = cols < to_boundary ? static_cast<int>(cols) : to_boundary;
    count = static_cast<int>((cols - head) / V);
    const int tail_start = head + count * V, tail = static_cast<int>(cols) - tail_start;
    edge_at = lane < head ? lane : lane >= V && lane - V < tail ? tail_start + lane - V : -1;
  }
  // For this lane's vector k: the index of its first element; whether the row has it; whether any lane's is in the row.
  __device__ __forceinline__ int at(int k) const { return head + (k * Lanes + lane) * V; }
  __device__ __forceinline__ bool has(int k) const { return k * Lanes + lane < count; }
  __device__ __forceinline__ bool used(int k) const { return k * Lanes < count; }
};

// The same, but lane 0's vectors start on 128-byte lines where the lanes have room for it: the row's first line is
// partial, and every other line is one access of eight lanes, where it would be two of neighbouring lanes.
template <class T, int Lanes> struct LineVectors : RowVectors<T, Lanes> {
  static constexpr int line_vectors = 128 / vector_bytes;
  int offset = 0;  // vectors from the start of lane 0's first line to the row's first vector

  // most: vectors that the lanes have together.
  __device__ __forceinline__ LineVectors(const T* row, std::int64_t cols, int lane_of_row, int most)
      : RowVectors<T, Lanes>(row, cols, lane_of_row) {
    const int before =
        static_cast<int>(reinterpret_cast<std::uintptr_t>(row + this->head) / vector_bytes % line_vectors);
    if (this->count + before > most) return;
    offset = before;
    this->lane -= before;
  }
  __device__ __forceinline__ bool has(int k) const {
    return k * Lanes + this->lane < this->count && (k > 0 || this->lane >= 0);
  }
  __device__ __forceinline__ bool used(int k) const { return k * Lanes - offset < this->count; }
};

// One or the other.
template <bool OnLines, int Lanes, class T>
__device__ __forceinline__ auto vectors_of(const T* row, std::int64_t cols, int lane, int most) {
  if constexpr (OnLines) return LineVectors<T, Lanes>(row, cols, lane, most);
  else return RowVectors<T, Lanes>(row, cols, lane);
}

// The vectors of N rows of one shape that a lane keeps: K of each row in registers and S in shared memory, where no
// other lane touches them; `batch` of each row move there together, so that as many loads are in flight.
template <class Vectors, int N, int K, int S, int batch = S % 4 == 0 ? 4 : 2> struct ResidentRows {
  static_assert(S % batch == 0, "shared memory is filled in whole batches");

  const Vectors& vectors;
  Packed* spill;  // [S][N][stride]: this lane's column
  int stride;     // threads of the block
  Packed kept[K][N];

  // load(k) gives vector k of each row, with a fill value where the rows have none. It may not branch between its
  // loads: all of them must be in flight before the first is used.
  template <class Load> __device__ __forceinline__ void fill(Load&& load) {
#pragma unroll
    for (int k = 0; k < K; ++k) load(k, kept[k]);
#pragma unroll 1
    for (int s = 0; s < S; s += batch)
      if (vectors.used(K + s)) {
        Packed moved[batch][N];
#pragma unroll
        for (int i = 0; i < batch; ++i) load(K + s + i, moved[i]);
#pragma unroll
        for (int i = 0; i < batch; ++i)
#pragma unroll
          for (int n = 0; n < N; ++n) spill[((s + i) * N + n) * stride] = moved[i][n];
      }
  }

  // To be called between two passes, outside of any branch. Without it the compiler keeps every element, converted,
  // from one pass to the next, in registers that it does not have.
  __device__ __forceinline__ void end_pass() {
#pragma unroll
    for (int k = 0; k < K; ++k)
#pragma unroll
      for (int n = 0; n < N; ++n) make_opaque(kept[k][n]);
  }

  // Calls f(Packed[N], k) for every k at which any lane of the row has a vector, also where this lane has none.
  template <class F> __device__ __forceinline__ void for_each(F&& f) {
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (vectors.used(k)) f(kept[k], k);
#pragma unroll 1
    for (int s = 0; s < S; s += batch)
      if (vectors.used(K + s)) {
#pragma unroll
        for (int i = 0; i < batch; ++i) {
          Packed vector[N];
#pragma unroll
          for (int n = 0; n < N; ++n) vector[n] = spill[((s + i) * N + n) * stride];
          f(vector, K + s + i);
        }
      }
  }

  // Calls f(std::integral_constant<int, n>, Packed (*)[N], k) for n <= B vectors from vector k on, as long as any lane
  // of the row has the first of them. Of use where N is 1.
  template <int B, class F> __device__ __forceinline__ void for_batches(F&& f) {
    constexpr int even = K / B * B;
#pragma unroll
    for (int k = 0; k < even; k += B)
      if (vectors.used(k)) f(std::integral_constant<int, B>{}, &kept[k], k);
    if constexpr (even < K)
      if (vectors.used(even)) f(std::integral_constant<int, K - even>{}, &kept[even], even);
    static_assert(S % B == 0);
#pragma unroll 1
    for (int s = 0; s < S; s += B)
      if (vectors.used(K + s)) {
        Packed moved[B][N];
#pragma unroll
        for (int i = 0; i < B; ++i)
#pragma unroll
          for (int n = 0; n < N; ++n) moved[i][n] = spill[((s + i) * N + n) * stride];
        f(std::integral_constant<int, B>{}, moved, K + s);
      }
  }

  // The same with f(Packed[N], k, ahead(k)), where ahead() loads what else the pass needs: for one vector while the one
  // before it is worked on.
  template <class Ahead, class F> __device__ __forceinline__ void for_each(Ahead&& ahead, F&& f) {
    auto next = ahead(0);
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const auto now = next;
      if (k + 1 < K + S) next = ahead(k + 1);
      if (vectors.used(k)) f(kept[k], k, now);
    }
#pragma unroll 1
    for (int s = 0; s < S; ++s)
      if (vectors.used(K + s)) {
        const auto now = next;
        next = ahead(K + s + 1);
        Packed vector[N];
#pragma unroll
        for (int n = 0; n < N; ++n) vector[n] = spill[(s * N + n) * stride];
        f(vector, K + s, now);
      }
  }
};

// The 16 bytes that start at byte `shift` of two neighbouring vectors.
__device__ __forceinline__ Packed shifted(const Packed& low, const Packed& high, int shift) {
  unsigned w[2 * vector_words];
#pragma unroll
  for (int i = 0; i < vector_words; ++i) w[i] = low[i], w[vector_words + i] = high[i];
#pragma unroll
  for (int i = 0; i < 6; ++i) w[i] = shift & 8 ? w[i + 2] : w[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) w[i] = shift & 4 ? w[i + 1] : w[i];
  const int bits = shift % word_bytes * 8;
  Packed r;
#pragma unroll
  for (int i = 0; i < vector_words; ++i)
    r[i] = static_cast<unsigned>((static_cast<unsigned long long>(w[i + 1]) << 32 | w[i]) >> bits);
  return r;
}

// Loads a vector that is not aligned. On CUDA by two aligned vectors, each of which has an element that is asked for:
// no byte is touched outside of the 16 bytes of such an element.
template <class T> __device__ __forceinline__ Packed load_packed_anywhere(const T* p) {
  if constexpr (RIDGE_SIMT_ON_CUDA) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    const int shift = static_cast<int>(address % vector_bytes);
    const auto* low = reinterpret_cast<const T*>(address - static_cast<std::uintptr_t>(shift));
    const Packed first = load_packed(low);
    if (shift == 0) return first;
    return shifted(first, load_packed(low + vector_elements<T>), shift);
  } else {
    Vector<T> vector;
#pragma unroll
    for (int v = 0; v < vector_elements<T>; ++v) vector[v] = p[v];
    return pack<T>(vector);
  }
}

// Whether element `at` of an array is aligned to 16 bytes, or there is no array.
template <class T> __device__ __forceinline__ bool on_vectors(const T* array, int at) {
  return !array || reinterpret_cast<std::uintptr_t>(array + at) % vector_bytes == 0;
}

// Loads the vectors of an array, whose element 0 belongs to a row's first element, that belong to a lane's first K
// vectors of the row, whatever the array's alignment. No load waits for another one. `without`: the value where the row
// has no vector, and throughout if the array is null.
template <class T, int K, int Lanes>
__device__ __forceinline__ void load_vectors_anywhere(const T* array, const RowVectors<T, Lanes>& vectors,
                                                      float without, Packed (&vector)[K]) {
  constexpr int V = vector_elements<T>;
#pragma unroll
  for (int k = 0; k < K; ++k) vector[k] = packed_fill<T>(without);
  if (!array) return;
  const T* p = array + vectors.at(0);
  if constexpr (RIDGE_SIMT_ON_CUDA) {
    const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(p) % vector_bytes);  // alike in all of them
    p -= shift / static_cast<int>(sizeof(T));
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (vectors.has(k)) vector[k] = load_packed(p + k * Lanes * V);
    if (shift == 0) return;
    Packed high[K];
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (vectors.has(k)) high[k] = load_packed(p + (k * Lanes + 1) * V);
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (vectors.has(k)) vector[k] = shifted(vector[k], high[k], shift);
  } else {
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (vectors.has(k)) vector[k] = load_packed_anywhere(p + k * Lanes * V);
  }
}

}  // namespace ridge::tile
