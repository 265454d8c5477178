// RowRing: how rows that are on their way to a block lie in its shared memory. A block's threads are teams; each team
// has a ring of slots, a slot one row of every input tensor. Where a row is too long for one block, a cluster of blocks
// has it in slices. Plain C++: the plan sizes it, and the kernel (tile/sm90/row_ring.cuh) is given what the plan sized.
#pragma once
#include <cstdint>
#include <numeric>

namespace ridge::tile {

struct RowRing {
  static constexpr int unit_bytes = 16;                  // that copies are made of
  static constexpr int line_bytes = 128;                 // of memory
  static constexpr int most_stages = 8;                  // more are not needed: 200 KB are on their way with any
  static constexpr int barrier_bytes = 8;                // of a barrier
  static constexpr int value_bytes = 16;                 // of what is reduced, at most
  static constexpr int message_bytes = 2 * value_bytes;  // of one block to another: each word with its number
  static constexpr int exchanges = 2;                    // reductions whose scratch is in use at a time
  static constexpr int inboxes = 4;                      // messages of which a block may have some, and not others
  static constexpr int warp = 32;                        // lanes
  // Of the row behind those in the ring, brought to the L2 cache (tile/rows_ahead.cuh).
  static constexpr unsigned bytes_ahead = 40 << 10;

  int team = warp;        // threads of a team
  int teams = 1;          // of a block
  int cluster = 1;        // blocks that share a row
  int phases = 1;         // a cluster has every so many-th row: those that lie alike on units
  int tensors = 1;        // input tensors of rows
  int stages = 0;         // slots of a team; 0: the row does not fit
  int slice_units = 0;    // whole units of a row that a block has at most
  int row_bytes = 0;      // room of such a slice
  bool on_lines = false;  // a cluster's rows lie alike on lines of memory too

  constexpr int barriers() const { return teams * stages; }
  constexpr int scratch_bytes() const { return teams * exchanges * (team / warp) * value_bytes; }
  constexpr int inbox_bytes() const { return cluster > 1 ? teams * inboxes * cluster * message_bytes : 0; }
  constexpr int slot() const { return tensors * row_bytes; }
  constexpr int padded_barrier_bytes() const {
    return (barriers() * barrier_bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
  }
  // From the start of the block's shared memory, one after the other: slots, scratch, inboxes, barriers.
  constexpr int scratch_at() const { return teams * stages * slot(); }
  constexpr int inbox_at() const { return scratch_at() + scratch_bytes(); }
  constexpr int barriers_at() const { return inbox_at() + inbox_bytes(); }
  constexpr int smem_bytes() const { return barriers_at() + padded_barrier_bytes(); }
  // The same for a grid of so many clusters of rows `pitch` bytes apart: if it is a multiple of the places of a line
  // where rows start, a cluster has those of one place, and its lanes' units can begin with a line.
  constexpr RowRing of_clusters(std::int64_t clusters, std::int64_t pitch) const {
    RowRing r = *this;
    const std::int64_t places = line_bytes / std::gcd(std::int64_t{line_bytes}, pitch);
    if (clusters % places != 0 || places % phases != 0) return r;
    r.phases = static_cast<int>(places);
    r.on_lines = true;
    return r;
  }
  // Of a kernel, for barriers and the first copies; a cluster's blocks wait for each other. Estimated.
  static constexpr double start_us(int cluster) { return cluster > 1 ? 1.5 : 0.5; }
  // Clusters that have something to do, a multiple of the phases.
  constexpr std::int64_t clusters_of(std::int64_t all_rows) const {
    const std::int64_t of_cluster = std::int64_t{teams} * phases;
    return (all_rows + of_cluster - 1) / of_cluster * phases;
  }
};

// What the ring is to hold.
struct RowRingNeed {
  std::int64_t cols = 0;
  int element_bytes = 4;
  bool aligned = false;  // every row starts on a unit
  int tensors = 1;
  int phases = 1;        // different places of a unit where rows start, one after the other
  int least_stages = 2;  // 1: for rows that stay in their slot to the end
};

// With as many stages as there is room for in `limit` bytes.
constexpr RowRing row_ring(int threads, int team, int cluster, const RowRingNeed& need, int limit) {
  RowRing r{.team = team, .teams = threads / team, .cluster = cluster, .phases = need.phases, .tensors = need.tensors};
  const std::int64_t of_unit = RowRing::unit_bytes / need.element_bytes, units = need.cols / of_unit;
  const std::int64_t slice = (units + cluster - 1) / cluster;
  if (slice * RowRing::unit_bytes > limit) return r;
  r.slice_units = static_cast<int>(slice);
  // A row that starts anywhere has a part of a unit at each end.
  r.row_bytes = (r.slice_units + (!need.aligned ? 2 : need.cols % of_unit ? 1 : 0)) * RowRing::unit_bytes;
  if (r.row_bytes == 0) return r;
  for (r.stages = RowRing::most_stages; r.stages > 0 && r.smem_bytes() > limit;) --r.stages;
  if (r.stages < need.least_stages) r.stages = 0;
  return r;
}

}  // namespace ridge::tile
