// Copies an operand into the workspace for TMA and wgmma: in 16-byte aligned rows, along the axis that the kernel
// wants.
#pragma once
#include <ridge/core/vector_access.hpp>
#include <ridge/gemm/config.hpp>
#include <ridge/simt/simt.hpp>
#include <ridge/tile/dependent_launch.cuh>

namespace ridge::gemm_kernels {

// Copies byte rows of any alignment to 16-byte aligned rows.
struct RowCopy {
  const unsigned char* from = nullptr;
  unsigned char* to = nullptr;
  std::int64_t rows = 0, row_bytes = 0;
  std::int64_t from_pitch = 0, to_pitch = 0, from_batch = 0, to_batch = 0;  // bytes
  unsigned batch = 1;
  int lanes_log2 = 0;  // threads along a row, at most copy_threads
};
inline constexpr int copy_threads = 256;

// Vector `vector` of a row, from four aligned words and the shifted-in part of a fifth, or byte by byte at the row's
// ends: no byte outside the row's first and last word is read.
__device__ __forceinline__ simt::vec<unsigned, 4> vector_of_row(const unsigned char* row, std::int64_t row_bytes,
                                                                std::int64_t vector) {
  const unsigned char* at = row + vector * vector_bytes;
  const auto shift = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at) % 4);
  const std::int64_t left = row_bytes - vector * vector_bytes;
  simt::vec<unsigned, 4> x{};
  if (shift == 0 ? left >= vector_bytes : vector > 0 && left >= vector_bytes + 4 - static_cast<int>(shift)) {
    const auto* words = reinterpret_cast<const unsigned*>(at - shift);
    unsigned word[5];
    RIDGE_UNROLL_ON_GPU
    for (int i = 0; i < 5; ++i) word[i] = i < 4 || shift ? words[i] : 0;
    RIDGE_UNROLL_ON_GPU
    for (int i = 0; i < 4; ++i)
      x[i] = static_cast<unsigned>((static_cast<std::uint64_t>(word[i + 1]) << 32 | word[i]) >> 8 * shift);
  } else {
    RIDGE_UNROLL_ON_GPU
    for (int i = 0; i < vector_bytes; ++i)
      if (i < left) x[i / 4] |= static_cast<unsigned>(at[i]) << 8 * (i % 4);
  }
  return x;
}

// One to three operands of a product; blockIdx.z selects one.
template <class Job> struct Jobs {
  Job job[3];
  unsigned count = 0;
};

// to[batch][row] = from[batch][row], with the batch in y. The padding of a row to 16 bytes is zero.
__global__ void __launch_bounds__(copy_threads) copy_rows(Jobs<RowCopy> jobs) {
  tile::launch_dependents();  // the product waits for these rows, and loads others first
  const RowCopy copy = jobs.job[blockIdx.z];
  if (blockIdx.y >= copy.batch) return;
  const int lanes = 1 << copy.lanes_log2, lane = static_cast<int>(threadIdx.x) % lanes;
  const std::int64_t rows_at_a_time = copy_threads / lanes,
                     vectors = (copy.row_bytes + vector_bytes - 1) / vector_bytes;
  const unsigned char* from = copy.from + blockIdx.y * copy.from_batch;
  unsigned char* to = copy.to + blockIdx.y * copy.to_batch;
  for (std::int64_t row = blockIdx.x * rows_at_a_time + threadIdx.x / lanes; row < copy.rows;
       row += gridDim.x * rows_at_a_time) {
    constexpr int at_a_time = 4;  // vectors in flight per thread
    for (std::int64_t first = lane; first < vectors; first += at_a_time * lanes) {
      simt::vec<unsigned, 4> x[at_a_time];
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < at_a_time; ++i)
        if (first + i * lanes < vectors)
          x[i] = vector_of_row(from + row * copy.from_pitch, copy.row_bytes, first + i * lanes);
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < at_a_time; ++i)
        if (first + i * lanes < vectors)
          simt::store(reinterpret_cast<unsigned*>(to + row * copy.to_pitch + (first + i * lanes) * vector_bytes), x[i]);
    }
  }
}

// Transposes an operand of elements T with any strides to rows along k; to rows along M or N if the axes swap names. In
// parts: float as [high | low], each rounded to TF32.
template <class T> struct TransposeJob {
  const T* from = nullptr;
  T* to = nullptr;
  std::int64_t outer = 0, k = 0;
  std::int64_t outer_stride = 0, k_stride = 0, from_batch = 0;  // in elements
  std::int64_t pitch = 0, to_batch = 0;                         // of `to`
  std::int64_t low = 0;                                         // in parts: where low parts begin, after zeros; else 0
  unsigned batch = 1;
  bool neighbours_k = false;  // the source is contiguous along k: so are the lanes that read
};
inline constexpr int transpose_outer = 64, transpose_threads = 256;
template <class T> inline constexpr int transpose_k = 128 / static_cast<int>(sizeof(T));  // a line of the result
// Rows of the tile in shared memory are an odd number of words apart.
template <class T>
inline constexpr int transpose_pitch = transpose_outer + (sizeof(T) == 4 ? 1 : 4 / static_cast<int>(sizeof(T)));

// Rounds to 11 significant bits, which TF32 holds; halves away from zero. Infinities, NaN and numbers that would round
// to infinity keep their first bits.
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

// to[batch][outer][k] = from(batch, outer, k), with the batch in y; blocks in x are tiles, along outer first.
template <class T, bool Parts>
__global__ void __launch_bounds__(transpose_threads) transpose_operand(Jobs<TransposeJob<T>> jobs) {
  tile::launch_dependents();
  const TransposeJob<T> job = jobs.job[blockIdx.z];
  constexpr int line = transpose_k<T>, pitch = transpose_pitch<T>, word = 4 / static_cast<int>(sizeof(T));  // per word
  __shared__ T tile[line * pitch];  // [k][outer]
  const std::int64_t tiles_outer = (job.outer + transpose_outer - 1) / transpose_outer;
  const std::int64_t first_outer = blockIdx.x % tiles_outer * transpose_outer,
                     first_k = blockIdx.x / tiles_outer * line;
  if (first_k >= job.k || blockIdx.y >= job.batch) return;  // the other operand is larger
  const T* from = job.from + blockIdx.y * job.from_batch;
  T* to = job.to + blockIdx.y * job.to_batch;
  const int thread = static_cast<int>(threadIdx.x);

  constexpr int elements = line * transpose_outer, iterations = elements / transpose_threads;
  static_assert(elements % transpose_threads == 0 && transpose_threads % transpose_outer == 0);
  RIDGE_UNROLL_ON_GPU
  for (int i = 0; i < iterations; ++i) {
    const int index = i * transpose_threads + thread;
    const int outer = job.neighbours_k ? index / line : index % transpose_outer,
              k = job.neighbours_k ? index % line : index / transpose_outer;
    const bool there = first_outer + outer < job.outer && first_k + k < job.k;
    tile[k * pitch + outer] =
        there ? from[(first_outer + outer) * job.outer_stride + (first_k + k) * job.k_stride] : T{};
  }
  __syncthreads();
  // A warp stores lines of 128 bytes.
  const std::int64_t stored_k = Parts ? job.low : job.pitch;
  RIDGE_UNROLL_ON_GPU
  for (int i = 0; i < elements / word / transpose_threads; ++i) {
    const int index = i * transpose_threads + thread, outer = index / (line / word), k = index % (line / word) * word;
    if (first_outer + outer >= job.outer || first_k + k >= stored_k) continue;
    simt::vec<T, word> x;
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < word; ++v) x[v] = tile[(k + v) * pitch + outer];
    T* at = to + (first_outer + outer) * job.pitch + first_k + k;
    if constexpr (Parts) {
      const float high = rounded_to_tf32(x[0]), rest = x[0] - high;
      at[0] = high;
      at[job.low] = rest == rest ? rounded_to_tf32(rest) : 0.0f;  // 0 for infinity and NaN
    } else {
      simt::store(at, x);
    }
  }
}

}  // namespace ridge::gemm_kernels
