// RowRing: the layout of a block's shared memory for rows in flight. A block's threads are teams; each team has a ring
// of slots, and a slot has one row of every input tensor. Where a row is too long for one block, a cluster of blocks
// has a slice each. Plain C++: the plan sizes it and passes it to the kernel (tile/sm90/row_ring.cuh).
#pragma once
#include <ridge/core/vector_access.hpp>

#include <cstdint>
#include <numeric>

namespace ridge::tile {

struct RowRing {
  static constexpr int line_bytes = 128;   // of memory
  static constexpr int most_stages = 8;    // more are not needed: 200 KB are in flight with any number
  static constexpr int barrier_bytes = 8;  // of a barrier
  static constexpr int value_bytes = 16;   // the most of a reduced value
  static constexpr int exchange_slot_bytes =
      2 * value_bytes;                        // a value from one block to another: each word with its number
  static constexpr int exchanges = 2;         // reductions whose scratch is in use at a time
  static constexpr int exchange_buffers = 4;  // exchanges of which a block may have some values and not others yet
  static constexpr int warp = 32;             // lanes
  // The most that is prefetched of the row after those in the ring (tile/l2_prefetch.cuh).
  static constexpr unsigned prefetch_bytes = 40 << 10;

  int team = warp;        // threads of a team
  int teams = 1;          // of a block
  int cluster = 1;        // blocks that share a row
  int offsets = 1;        // alignment offsets of rows: rows r, r + offsets, ... are one cluster's, and co-aligned
  int tensors = 1;        // input tensors of rows
  int stages = 0;         // slots of a team; 0: the row does not fit
  int slice_vectors = 0;  // the most whole vectors of a row in a block
  int row_bytes = 0;      // room for such a slice
  bool on_lines = false;  // a cluster's rows are co-aligned on 128-byte lines too

  constexpr int barriers() const { return teams * stages; }
  constexpr int scratch_bytes() const { return teams * exchanges * (team / warp) * value_bytes; }
  constexpr int exchange_bytes() const {
    return cluster > 1 ? teams * exchange_buffers * cluster * exchange_slot_bytes : 0;
  }
  constexpr int slot() const { return tensors * row_bytes; }
  constexpr int padded_barrier_bytes() const {
    return (barriers() * barrier_bytes + vector_bytes - 1) / vector_bytes * vector_bytes;
  }
  // Offsets in the block's shared memory: slots, scratch, exchange buffers, barriers.
  constexpr int scratch_at() const { return teams * stages * slot(); }
  constexpr int exchange_at() const { return scratch_at() + scratch_bytes(); }
  constexpr int barriers_at() const { return exchange_at() + exchange_bytes(); }
  constexpr int smem_bytes() const { return barriers_at() + padded_barrier_bytes(); }
  // The same for a grid of `clusters` and rows `pitch` bytes apart. If the clusters are a multiple of the offsets
  // within a line at which rows start, each cluster has the rows of one offset, and its lanes can start on a line.
  constexpr RowRing of_clusters(std::int64_t clusters, std::int64_t pitch) const {
    RowRing r = *this;
    const std::int64_t line_offsets = line_bytes / std::gcd(std::int64_t{line_bytes}, pitch);
    if (clusters % line_offsets != 0 || line_offsets % offsets != 0) return r;
    r.offsets = static_cast<int>(line_offsets);
    r.on_lines = true;
    return r;
  }
  // A kernel's time for barriers and the first copies; a cluster's blocks wait for each other. Estimated.
  static constexpr double start_us(int cluster) { return cluster > 1 ? 1.5 : 0.5; }
  // The clusters that have work, a multiple of the offsets.
  constexpr std::int64_t clusters_of(std::int64_t all_rows) const {
    const std::int64_t of_cluster = std::int64_t{teams} * offsets;
    return (all_rows + of_cluster - 1) / of_cluster * offsets;
  }
};

// What the ring must hold.
struct RowRingNeed {
  std::int64_t cols = 0;
  int element_bytes = 4;
  bool aligned = false;  // every row starts on 16 bytes
  int tensors = 1;
  int offsets = 1;       // alignment offsets at which rows start, in turn
  int least_stages = 2;  // 1: for rows that stay in their slot to the end
};

// The ring with as many stages as fit in `limit` bytes.
constexpr RowRing row_ring(int threads, int team, int cluster, const RowRingNeed& need, int limit) {
  RowRing r{
      .team = team, .teams = threads / team, .cluster = cluster, .offsets = need.offsets, .tensors = need.tensors};
  const std::int64_t of_vector = vector_bytes / need.element_bytes, vectors = need.cols / of_vector;
  const std::int64_t slice = (vectors + cluster - 1) / cluster;
  if (slice * vector_bytes > limit) return r;
  r.slice_vectors = static_cast<int>(slice);
  // A row that is not aligned has a partial vector at each end.
  r.row_bytes = (r.slice_vectors + (!need.aligned ? 2 : need.cols % of_vector ? 1 : 0)) * vector_bytes;
  if (r.row_bytes == 0) return r;
  for (r.stages = RowRing::most_stages; r.stages > 0 && r.smem_bytes() > limit;) --r.stages;
  if (r.stages < need.least_stages) r.stages = 0;
  return r;
}

}  // namespace ridge::tile
