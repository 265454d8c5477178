// Aligned chunks out of a range whose chunks were cut at other offsets; and the remainder beside them.
#pragma once
#include <ridge/transpose/pieces.cuh>

namespace ridge::transpose_detail {

// The 16 bytes of the 32 in `low` and `high` that start at byte `from`, 0 to 16.
__device__ __forceinline__ Packed window_of(const Packed& low, const Packed& high, int from) {
  unsigned words[9];
#pragma unroll
  for (int i = 0; i < 4; ++i) words[i] = low[i], words[4 + i] = high[i];
  words[8] = 0;
  const auto skip =
      [&]<int Step>(std::integral_constant<int, Step>) {  // whole words, by selects: registers cannot be indexed
        const bool skipped = (from / 4 & Step) != 0;
#pragma unroll
        for (int i = 0; i + Step < 9; ++i) words[i] = skipped ? words[i + Step] : words[i];
      };
  skip(std::integral_constant<int, 4>());
  skip(std::integral_constant<int, 2>());
  skip(std::integral_constant<int, 1>());
  Packed window;
  const unsigned select = 0x3210 + 0x1111 * (from % 4);
#pragma unroll
  for (int i = 0; i < 4; ++i) window[i] = __byte_perm(words[i], words[i + 1], select);
  return window;
}

// Copies the rows of a matrix of few columns that are not in whole groups of V, or not in whole chunks of y, one by
// one. All threads of a block call it. Precondition: rows of x have no gaps.
template <int Threads, int Width, class T>
__device__ __forceinline__ void copy_remainder(const T* x, T* y, const Form& f) {
  constexpr int V = per_chunk(sizeof(T));
  const std::int64_t groups = f.rows / V;
  for (int i = threadIdx.x; i < 3 * V * Width; i += Threads) {
    const int k = i / (3 * V), place = i % (3 * V);
    T* column = y + k * f.pitch_y;
    const int past = chunk_offset(column), above = past > 0 ? V - past : 0;
    const std::int64_t below = max(groups * V - past, std::int64_t{above});  // the first row after the whole chunks
    const std::int64_t row = place < V ? place : below + place - V;
    if (place < V ? row < above && row < f.rows : row < f.rows) column[row] = x[row * Width + k];
  }
}

}  // namespace ridge::transpose_detail
