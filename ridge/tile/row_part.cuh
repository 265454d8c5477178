// The part of a row that a block has, where a cluster of blocks shares it; and a block that has all of it.
#pragma once
#include <ridge/tile/packed.cuh>

namespace ridge::tile {

struct RowPart {
  int begin, size;  // elements
};

// Of `blocks` slices of whole units each; the first has the row's head, the last its tail. No slice has more than
// ceil(cols / V / blocks) whole units.
template <class T> __device__ __forceinline__ RowPart part_of(const T* row, int cols, int blocks, int rank) {
  constexpr int V = unit_elements<T>;
  const int to_boundary = static_cast<int>((0 - reinterpret_cast<std::uintptr_t>(row)) % unit_bytes / sizeof(T));
  const int head = cols < to_boundary ? cols : to_boundary, units = (cols - head) / V;
  const int of_slice = (cols / V + blocks - 1) / blocks;
  const auto unit = [&](int r) { return head + (r * of_slice < units ? r * of_slice : units) * V; };
  const int begin = rank == 0 ? 0 : unit(rank), end = rank == blocks - 1 ? cols : unit(rank + 1);
  return {begin, end - begin};
}

// A row that one block has, or part of a block. In its place, of a cluster: sm90/row_cluster.cuh.
struct WholeRow {
  static constexpr bool shares = false;
  struct Inbox {};
  __device__ __forceinline__ explicit WholeRow(Inbox&) {}
  template <class Team> __device__ __forceinline__ std::int64_t row() const { return Team::row(); }
  template <class T> __device__ __forceinline__ RowPart part(const T*, std::int64_t cols) const {
    return {0, static_cast<int>(cols)};
  }
};

}  // namespace ridge::tile
