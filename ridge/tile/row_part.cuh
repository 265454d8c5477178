// The part of a row that a block of a cluster has; and WholeRow, for a block that has all of it.
#pragma once
#include <ridge/tile/packed.cuh>

namespace ridge::tile {

struct RowPart {
  int begin, size;  // elements
};

// Slice `rank` of `blocks` slices of whole vectors; the first has the row's head too, the last its tail. No slice has
// more than ceil(cols / V / blocks) whole vectors.
template <class T> __device__ __forceinline__ RowPart part_of(const T* row, int cols, int blocks, int rank) {
  constexpr int V = vector_elements<T>;
  const int to_boundary = static_cast<int>((0 - reinterpret_cast<std::uintptr_t>(row)) % vector_bytes / sizeof(T));
  const int head = cols < to_boundary ? cols : to_boundary, vectors = (cols - head) / V;
  const int of_slice = (cols / V + blocks - 1) / blocks;
  const auto vector = [&](int r) { return head + (r * of_slice < vectors ? r * of_slice : vectors) * V; };
  const int begin = rank == 0 ? 0 : vector(rank), end = rank == blocks - 1 ? cols : vector(rank + 1);
  return {begin, end - begin};
}

// A row of one block or a part of it. sm90/row_cluster.cuh takes its place where a cluster shares the row.
struct WholeRow {
  static constexpr bool shares = false;
  struct ExchangeBuffer {};
  __device__ __forceinline__ explicit WholeRow(ExchangeBuffer&) {}
  template <class Team> __device__ __forceinline__ std::int64_t row() const { return Team::row(); }
  template <class T> __device__ __forceinline__ RowPart part(const T*, std::int64_t cols) const {
    return {0, static_cast<int>(cols)};
  }
};

}  // namespace ridge::tile
