// Merges split-KV parts: normalized partial O, their sums of P, and the logarithms of what P is relative to.
#pragma once
#include <ridge/attention/arguments.cuh>
#include <ridge/attention/merge_launch.hpp>
#include <ridge/tile/dependent_launch.cuh>

namespace ridge::attention_kernels {

// Source of parts: consecutive in a workspace, as blocks stored them ...
//   o [parts][rows][dv]   log, sum [parts][rows], with rows of batch, heads and queries
struct PartsInWorkspace {
  const float *o, *log, *sum;
  int parts, dv;
  std::int64_t rows;
  Strides at_row;
  Indices from_q;  // first row of each sequence, if sequences are packed

  // Whether the query exists; turns its position in the sequence into its row among all sequences.
  __device__ __forceinline__ bool find(BlockCoord& at) const {
    if (from_q.data == nullptr) return true;
    at.tile += from_q(0, at.batch);
    return at.tile < from_q(0, at.batch + 1);
  }
  __device__ __forceinline__ int count() const { return parts; }
  __device__ __forceinline__ std::int64_t row(int part, const BlockCoord& at) const {
    return part * rows + at.batch * at_row.batch + at.head * at_row.head + at.tile;
  }
  __device__ __forceinline__ float log_of(int part, const BlockCoord& at) const { return log[row(part, at)]; }
  __device__ __forceinline__ float sum_of(int part, const BlockCoord& at) const { return sum[row(part, at)]; }
  __device__ __forceinline__ float value(int part, const BlockCoord& at, int column) const {
    return o[row(part, at) * dv + column];
  }
};

// ... or two tensors each, [batch, heads, sq, dv] and [batch, heads, sq]: P is relative to the LSE, and sums to 1.
template <class T> struct PartsOfTwo {
  const T* o[2];
  const float* lse[2];
  Strides at_o[2], at_lse[2];

  __device__ __forceinline__ static constexpr bool find(const BlockCoord&) { return true; }
  __device__ __forceinline__ static constexpr int count() { return 2; }
  __device__ __forceinline__ float log_of(int part, const BlockCoord& at) const {
    const Strides& s = at_lse[part];
    return lse[part][at.batch * s.batch + at.head * s.head + at.tile * s.row];
  }
  __device__ __forceinline__ static constexpr float sum_of(int, const BlockCoord&) { return 1; }
  __device__ __forceinline__ float value(int part, const BlockCoord& at, int column) const {
    const Strides& s = at_o[part];
    return static_cast<float>(o[part][at.batch * s.batch + at.head * s.head + at.tile * s.row + column * s.element]);
  }
};

template <class T, class Parts> struct MergeArguments {
  Parts parts;
  T* o;        // [batch, heads, sq, dv]
  float* lse;  // [batch, heads, sq]; may be null
  Strides at_o, at_lse;
  int batch, heads, sq, dv;
};

// Arguments for the parts in the workspace.
template <class T> MergeArguments<T, PartsInWorkspace> merge_of(const Arguments<T>& a) {
  return {.parts = {.o = a.partial_o,
                    .log = a.partial_log,
                    .sum = a.partial_sum,
                    .parts = a.splits,
                    .dv = a.dv,
                    .rows = a.rows,
                    .at_row = a.at_row,
                    .from_q = a.sequences.from_q},
          .o = a.o,
          .lse = a.lse,
          .at_o = a.at_o,
          .at_lse = a.at_lse,
          .batch = a.batch,
          .heads = a.heads,
          .sq = a.sq,
          .dv = a.dv};
}

// 32 lanes per query and head; parts are added in their order, so that the result is reproducible.
// Precondition: gridDim.x is merge_blocks(batch * heads * sq).
template <class T, class Parts>
__global__ void __launch_bounds__(merge_threads) attention_merge_kernel(MergeArguments<T, Parts> a) {
  tile::grid_dependency_wait();
  const unsigned rank = static_cast<unsigned>(simt::thread_rank()), lane = rank % merge_lanes;
  const unsigned query = blockIdx.x * merge_rows + rank / merge_lanes, head = query / static_cast<unsigned>(a.sq),
                 batch = head / static_cast<unsigned>(a.heads);
  if (batch >= static_cast<unsigned>(a.batch)) return;
  BlockCoord at(static_cast<int>(batch), static_cast<int>(head % static_cast<unsigned>(a.heads)),
                static_cast<int>(query % static_cast<unsigned>(a.sq)));
  const Parts& parts = a.parts;
  if (!parts.find(at)) return;
  float row_max = minus_infinity;
  for (int part = 0; part < parts.count(); ++part) row_max = fmaxf(row_max, parts.log_of(part, at));
  const float base = row_max == minus_infinity ? 0 : row_max;
  float sum = 0;
  for (int part = 0; part < parts.count(); ++part) sum += expf(parts.log_of(part, at) - base) * parts.sum_of(part, at);
  const float inverse = sum == 0 ? 0 : 1 / sum;
  T* o = a.o + at.batch * a.at_o.batch + at.head * a.at_o.head + at.tile * a.at_o.row;
  constexpr int columns = 4;  // of a lane at a time, whose reads are in flight together
  for (int first = static_cast<int>(lane); first < a.dv; first += columns * merge_lanes) {
    float values[columns] = {};
#pragma unroll 4
    for (int part = 0; part < parts.count(); ++part) {
      const float log = parts.log_of(part, at), weight = expf(log - base) * parts.sum_of(part, at) * inverse;
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < columns; ++i)
        if (const int column = first + i * merge_lanes; column < a.dv) {
          const float value = parts.value(part, at, column);
          if (log != minus_infinity) values[i] += weight * value;  // else it had no keys, and its O is undefined
        }
    }
    RIDGE_UNROLL_ON_GPU
    for (int i = 0; i < columns; ++i)
      if (const int column = first + i * merge_lanes; column < a.dv) o[column * a.at_o.element] = T(values[i]);
  }
  if (a.lse && lane == 0)
    a.lse[at.batch * a.at_lse.batch + at.head * a.at_lse.head + at.tile * a.at_lse.row] =
        sum == 0 ? minus_infinity : base + logf(sum);
}

}  // namespace ridge::attention_kernels
