// Copies an operand into workspace as TMA and wgmma read it: rows on 16 bytes, along the axis that the kernel asks for.
#pragma once
#include <ridge/gemm/config.hpp>
#include <ridge/simt/simt.hpp>
#include <ridge/tile/overlap.cuh>

namespace ridge::gemm_kernels {

// Rows of bytes that start anywhere, to rows that start on 16 bytes.
struct RowCopy {
  const unsigned char* from = nullptr;
  unsigned char* to = nullptr;
  std::int64_t rows = 0, row_bytes = 0;
  std::int64_t from_pitch = 0, to_pitch = 0, from_batch = 0, to_batch = 0;  // bytes
  unsigned batch = 1;
  int lanes_log2 = 0;  // threads along a row, at most copy_threads
};
inline constexpr int copy_threads = 256, unit_bytes = 16;

// Unit `unit` of a row. Four aligned words and what of a fifth one falls into it, or at the row's ends byte by byte: no
// byte outside of the row's first and last word is read.
__device__ __forceinline__ simt::vec<unsigned, 4> unit_of_row(const unsigned char* row, std::int64_t row_bytes,
                                                              std::int64_t unit) {
  const unsigned char* at = row + unit * unit_bytes;
  const auto shift = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at) % 4);
  const std::int64_t left = row_bytes - unit * unit_bytes;
  simt::vec<unsigned, 4> x{};
  if (shift == 0 ? left >= unit_bytes : unit > 0 && left >= unit_bytes + 4 - static_cast<int>(shift)) {
    const auto* words = reinterpret_cast<const unsigned*>(at - shift);
    unsigned word[5];
    RIDGE_UNROLL_ON_GPU
    for (int i = 0; i < 5; ++i) word[i] = i < 4 || shift ? words[i] : 0;
    RIDGE_UNROLL_ON_GPU
    for (int i = 0; i < 4; ++i)
      x[i] = static_cast<unsigned>((static_cast<std::uint64_t>(word[i + 1]) << 32 | word[i]) >> 8 * shift);
  } else {
    RIDGE_UNROLL_ON_GPU
    for (int i = 0; i < unit_bytes; ++i)
      if (i < left) x[i / 4] |= static_cast<unsigned>(at[i]) << 8 * (i % 4);
  }
  return x;
}

// One or both operands of a product: number z of the grid.
template <class Job> struct Jobs {
  Job job[3];
  unsigned count = 0;
};

// to[batch][row] = from[batch][row], for the batch in y. What follows a row up to 16 bytes is zero.
__global__ void __launch_bounds__(copy_threads) copy_rows(Jobs<RowCopy> jobs) {
  tile::let_next_begin();  // the product waits for these rows, and loads others first
  const RowCopy copy = jobs.job[blockIdx.z];
  if (blockIdx.y >= copy.batch) return;
  const int lanes = 1 << copy.lanes_log2, lane = static_cast<int>(threadIdx.x) % lanes;
  const std::int64_t rows_at_a_time = copy_threads / lanes, units = (copy.row_bytes + unit_bytes - 1) / unit_bytes;
  const unsigned char* from = copy.from + blockIdx.y * copy.from_batch;
  unsigned char* to = copy.to + blockIdx.y * copy.to_batch;
  for (std::int64_t row = blockIdx.x * rows_at_a_time + threadIdx.x / lanes; row < copy.rows;
       row += gridDim.x * rows_at_a_time) {
    constexpr int at_a_time = 4;  // units under way in a thread
    for (std::int64_t first = lane; first < units; first += at_a_time * lanes) {
      simt::vec<unsigned, 4> x[at_a_time];
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < at_a_time; ++i)
        if (first + i * lanes < units)
          x[i] = unit_of_row(from + row * copy.from_pitch, copy.row_bytes, first + i * lanes);
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < at_a_time; ++i)
        if (first + i * lanes < units)
          simt::store(reinterpret_cast<unsigned*>(to + row * copy.to_pitch + (first + i * lanes) * unit_bytes), x[i]);
    }
  }
}

// An operand of elements T with any strides, to rows along k; to rows along M or N with the axes' names exchanged. In
// parts: float as [high | low], each rounded to TF32.
template <class T> struct Turn {
  const T* from = nullptr;
  T* to = nullptr;
  std::int64_t outer = 0, k = 0;
  std::int64_t outer_stride = 0, k_stride = 0, from_batch = 0;  // in elements
  std::int64_t pitch = 0, to_batch = 0;                         // of `to`
  std::int64_t low = 0;  // in parts: where low parts begin, behind zeros up to there; else 0
  unsigned batch = 1;
  bool neighbours_k = false;  // the source's neighbours lie along k: so do the lanes that read
};
inline constexpr int turn_outer = 64, turn_threads = 256;
template <class T> inline constexpr int turn_k = 128 / static_cast<int>(sizeof(T));  // a line of the result
// Rows of the tile in shared memory are an odd number of words apart.
template <class T>
inline constexpr int turn_pitch = turn_outer + (sizeof(T) == 4 ? 1 : 4 / static_cast<int>(sizeof(T)));

// The nearest number of 11 significant bits, which TF32 holds; halves away from zero. Infinities, NaN and what would
// become infinite keep their first bits.
__device__ __forceinline__ float rounded_to_tf32(float x) {
  unsigned bits;
  memcpy(&bits, &x, sizeof bits);
  constexpr unsigned last_bits = 0x1fff, largest = 0x7f7fe000;  // of TF32
  const unsigned magnitude = bits & 0x7fffffff;
  bits = magnitude > 0x7f800000 ? bits | 0x400000
         : magnitude < largest  ? (bits + 0x1000) & ~last_bits
                                : bits & ~last_bits;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// to[batch][outer][k] = from(batch, outer, k), for the batch in y; blocks in x are tiles, along outer first.
template <class T, bool Parts> __global__ void __launch_bounds__(turn_threads) turn_operand(Jobs<Turn<T>> jobs) {
  tile::let_next_begin();
  const Turn<T> turn = jobs.job[blockIdx.z];
  constexpr int line = turn_k<T>, pitch = turn_pitch<T>, word = 4 / static_cast<int>(sizeof(T));  // elements of a word
  __shared__ T tile[line * pitch];                                                                // [k][outer]
  const std::int64_t tiles_outer = (turn.outer + turn_outer - 1) / turn_outer;
  const std::int64_t first_outer = blockIdx.x % tiles_outer * turn_outer, first_k = blockIdx.x / tiles_outer * line;
  if (first_k >= turn.k || blockIdx.y >= turn.batch) return;  // the other operand is larger
  const T* from = turn.from + blockIdx.y * turn.from_batch;
  T* to = turn.to + blockIdx.y * turn.to_batch;
  const int thread = static_cast<int>(threadIdx.x);

  constexpr int elements = line * turn_outer, turns = elements / turn_threads;
  static_assert(elements % turn_threads == 0 && turn_threads % turn_outer == 0);
  RIDGE_UNROLL_ON_GPU
  for (int i = 0; i < turns; ++i) {
    const int index = i * turn_threads + thread;
    const int outer = turn.neighbours_k ? index / line : index % turn_outer,
              k = turn.neighbours_k ? index % line : index / turn_outer;
    const bool there = first_outer + outer < turn.outer && first_k + k < turn.k;
    tile[k * pitch + outer] =
        there ? from[(first_outer + outer) * turn.outer_stride + (first_k + k) * turn.k_stride] : T{};
  }
  __syncthreads();
  // A warp stores lines of 128 bytes.
  const std::int64_t stored_k = Parts ? turn.low : turn.pitch;
  RIDGE_UNROLL_ON_GPU
  for (int i = 0; i < elements / word / turn_threads; ++i) {
    const int index = i * turn_threads + thread, outer = index / (line / word), k = index % (line / word) * word;
    if (first_outer + outer >= turn.outer || first_k + k >= stored_k) continue;
    simt::vec<T, word> x;
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < word; ++v) x[v] = tile[(k + v) * pitch + outer];
    T* at = to + (first_outer + outer) * turn.pitch + first_k + k;
    if constexpr (Parts) {
      const float high = rounded_to_tf32(x[0]), rest = x[0] - high;
      at[0] = high;
      at[turn.low] = rest == rest ? rounded_to_tf32(rest) : 0.0f;  // of infinity and NaN, nothing
    } else {
      simt::store(at, x);
    }
  }
}

}  // namespace ridge::gemm_kernels
