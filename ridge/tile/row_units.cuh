// A row in units of 16 bytes, wherever it starts: a few head elements up to a 16-byte boundary, whole units, and as few
// tail elements. Of the Lanes that share it, lane l has units l, l + Lanes, l + 2 Lanes, ... and at most one element of
// head or tail. ResidentRows keeps what a lane has on chip; softmax and the norms read their rows once that way.
#pragma once
#include <ridge/tile/opaque.cuh>
#include <ridge/tile/packed.cuh>

#include <type_traits>

namespace ridge::tile {

template <class T, int Lanes> struct RowUnits {
  static constexpr int V = unit_elements<T>, lanes_of_row = Lanes;
  static_assert(2 * V <= Lanes, "head and tail have lanes of their own");
  int lane;
  int head, units;
  int edge_at;  // the head or tail element that is this lane's; -1: none

  // Precondition: cols is below 2^31.
  __device__ __forceinline__ RowUnits(const T* row, std::int64_t cols, int lane_of_row) : lane(lane_of_row) {
    const int to_boundary =
        static_cast<int>((unit_bytes - reinterpret_cast<std::uintptr_t>(row) % unit_bytes) % unit_bytes / sizeof(T));
    head = cols < to_boundary ? static_cast<int>(cols) : to_boundary;
    units = static_cast<int>((cols - head) / V);
    const int tail_start = head + units * V, tail = static_cast<int>(cols) - tail_start;
    edge_at = lane < head ? lane : lane >= V && lane - V < tail ? tail_start + lane - V : -1;
  }
  // Of this lane's unit k: the place of its first element; whether the row has it; whether any lane of the row does.
  __device__ __forceinline__ int at(int k) const { return head + (k * Lanes + lane) * V; }
  __device__ __forceinline__ bool has(int k) const { return k * Lanes + lane < units; }
  __device__ __forceinline__ bool used(int k) const { return k * Lanes < units; }
};

// The same, but that lane 0's units begin on lines of 128 bytes, where there is room for what the row then lacks: its
// first line is not whole, and all others are one access of eight lanes instead of two of their neighbours.
template <class T, int Lanes> struct LineUnits : RowUnits<T, Lanes> {
  static constexpr int line_units = 128 / unit_bytes;
  int ahead = 0;  // units that the row's first one lies behind lane 0's

  // most: units that the lanes have in all.
  __device__ __forceinline__ LineUnits(const T* row, std::int64_t cols, int lane_of_row, int most)
      : RowUnits<T, Lanes>(row, cols, lane_of_row) {
    const int before = static_cast<int>(reinterpret_cast<std::uintptr_t>(row + this->head) / unit_bytes % line_units);
    if (this->units + before > most) return;
    ahead = before;
    this->lane -= before;
  }
  __device__ __forceinline__ bool has(int k) const {
    return k * Lanes + this->lane < this->units && (k > 0 || this->lane >= 0);
  }
  __device__ __forceinline__ bool used(int k) const { return k * Lanes - ahead < this->units; }
};

// Either of them.
template <bool OnLines, int Lanes, class T>
__device__ __forceinline__ auto units_of(const T* row, std::int64_t cols, int lane, int most) {
  if constexpr (OnLines) return LineUnits<T, Lanes>(row, cols, lane, most);
  else return RowUnits<T, Lanes>(row, cols, lane);
}

// The units of N rows of one shape that a lane keeps: K of each in registers, S in shared memory, where only that lane
// touches them; `batch` of each row move there together, as many loads in flight.
template <class Units, int N, int K, int S, int batch = S % 4 == 0 ? 4 : 2> struct ResidentRows {
  static_assert(S % batch == 0, "shared memory is filled in whole batches");

  const Units& units;
  Packed* spill;  // [S][N][stride]: this lane's column
  int stride;     // threads of the block
  Packed kept[K][N];

  // load(k) gives unit k of each row, with what the rows do not have filled in. No branch may stand between the loads
  // within it: all of them are to be in flight before the first is used.
  template <class Load> __device__ __forceinline__ void fill(Load&& load) {
#pragma unroll
    for (int k = 0; k < K; ++k) load(k, kept[k]);
#pragma unroll 1
    for (int s = 0; s < S; s += batch)
      if (units.used(K + s)) {
        Packed moved[batch][N];
#pragma unroll
        for (int i = 0; i < batch; ++i) load(K + s + i, moved[i]);
#pragma unroll
        for (int i = 0; i < batch; ++i)
#pragma unroll
          for (int n = 0; n < N; ++n) spill[((s + i) * N + n) * stride] = moved[i][n];
      }
  }

  // Between two passes, outside of any branch: or the compiler would carry every element, converted, from one to the
  // other, in registers that it does not have.
  __device__ __forceinline__ void end_pass() {
#pragma unroll
    for (int k = 0; k < K; ++k)
#pragma unroll
      for (int n = 0; n < N; ++n) make_opaque(kept[k][n]);
  }

  // Calls f(Packed[N], k) for every unit that the row uses, also where this lane has none.
  template <class F> __device__ __forceinline__ void for_each(F&& f) {
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (units.used(k)) f(kept[k], k);
#pragma unroll 1
    for (int s = 0; s < S; s += batch)
      if (units.used(K + s)) {
#pragma unroll
        for (int i = 0; i < batch; ++i) {
          Packed unit[N];
#pragma unroll
          for (int n = 0; n < N; ++n) unit[n] = spill[((s + i) * N + n) * stride];
          f(unit, K + s + i);
        }
      }
  }

  // Calls f(std::integral_constant<int, n>, Packed (*)[N], k) for n units from unit k on, at most B at a time, as long
  // as the row uses the first of them. N is 1 where that is of use.
  template <int B, class F> __device__ __forceinline__ void for_batches(F&& f) {
    constexpr int even = K / B * B;
#pragma unroll
    for (int k = 0; k < even; k += B)
      if (units.used(k)) f(std::integral_constant<int, B>{}, &kept[k], k);
    if constexpr (even < K)
      if (units.used(even)) f(std::integral_constant<int, K - even>{}, &kept[even], even);
    static_assert(S % B == 0);
#pragma unroll 1
    for (int s = 0; s < S; s += B)
      if (units.used(K + s)) {
        Packed moved[B][N];
#pragma unroll
        for (int i = 0; i < B; ++i)
#pragma unroll
          for (int n = 0; n < N; ++n) moved[i][n] = spill[((s + i) * N + n) * stride];
        f(std::integral_constant<int, B>{}, moved, K + s);
      }
  }

  // The same with f(Packed[N], k, ahead(k)), where ahead() reads what the pass needs besides: for one unit while
  // another is worked on.
  template <class Ahead, class F> __device__ __forceinline__ void for_each(Ahead&& ahead, F&& f) {
    auto next = ahead(0);
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const auto now = next;
      if (k + 1 < K + S) next = ahead(k + 1);
      if (units.used(k)) f(kept[k], k, now);
    }
#pragma unroll 1
    for (int s = 0; s < S; ++s)
      if (units.used(K + s)) {
        const auto now = next;
        next = ahead(K + s + 1);
        Packed unit[N];
#pragma unroll
        for (int n = 0; n < N; ++n) unit[n] = spill[(s * N + n) * stride];
        f(unit, K + s, now);
      }
  }
};

// The 16 bytes from byte `shift` of two neighbouring units on.
__device__ __forceinline__ Packed shifted(const Packed& low, const Packed& high, int shift) {
  unsigned w[2 * unit_words];
#pragma unroll
  for (int i = 0; i < unit_words; ++i) w[i] = low[i], w[unit_words + i] = high[i];
#pragma unroll
  for (int i = 0; i < 6; ++i) w[i] = shift & 8 ? w[i + 2] : w[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) w[i] = shift & 4 ? w[i + 1] : w[i];
  const int bits = shift % word_bytes * 8;
  Packed r;
#pragma unroll
  for (int i = 0; i < unit_words; ++i)
    r[i] = static_cast<unsigned>((static_cast<unsigned long long>(w[i + 1]) << 32 | w[i]) >> bits);
  return r;
}

// A unit of elements that starts anywhere. On CUDA two aligned units are read, of which each has an element that is
// asked for; so nothing is touched that is not in the same 16 bytes as one of them.
template <class T> __device__ __forceinline__ Packed load_packed_anywhere(const T* p) {
  if constexpr (RIDGE_SIMT_ON_CUDA) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    const int shift = static_cast<int>(address % unit_bytes);
    const auto* low = reinterpret_cast<const T*>(address - static_cast<std::uintptr_t>(shift));
    const Packed first = load_packed(low);
    if (shift == 0) return first;
    return shifted(first, load_packed(low + unit_elements<T>), shift);
  } else {
    Unit<T> unit;
#pragma unroll
    for (int v = 0; v < unit_elements<T>; ++v) unit[v] = p[v];
    return pack<T>(unit);
  }
}

// Whether element `at` of a vector lies on a 16-byte unit, or there is no vector.
template <class T> __device__ __forceinline__ bool on_units(const T* vector, int at) {
  return !vector || reinterpret_cast<std::uintptr_t>(vector + at) % unit_bytes == 0;
}

// Of a vector whose element 0 goes with a row's first element: the units that go with a lane's first K of the row,
// wherever they start. No load waits for another one. `without`: where the row has none, and throughout if the vector
// is null.
template <class T, int K, int Lanes>
__device__ __forceinline__ void load_units_anywhere(const T* vector, const RowUnits<T, Lanes>& units, float without,
                                                    Packed (&unit)[K]) {
  constexpr int V = unit_elements<T>;
#pragma unroll
  for (int k = 0; k < K; ++k) unit[k] = packed_fill<T>(without);
  if (!vector) return;
  const T* p = vector + units.at(0);
  if constexpr (RIDGE_SIMT_ON_CUDA) {
    const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(p) % unit_bytes);  // alike in all of them
    p -= shift / static_cast<int>(sizeof(T));
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (units.has(k)) unit[k] = load_packed(p + k * Lanes * V);
    if (shift == 0) return;
    Packed high[K];
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (units.has(k)) high[k] = load_packed(p + (k * Lanes + 1) * V);
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (units.has(k)) unit[k] = shifted(unit[k], high[k], shift);
  } else {
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (units.has(k)) unit[k] = load_packed_anywhere(p + k * Lanes * V);
  }
}

}  // namespace ridge::tile
