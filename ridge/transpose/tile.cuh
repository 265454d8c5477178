// A tile through shared memory, 16 bytes per access on both sides, or 8 in x.
//
// A chunk is 16 bytes: V units of one row of x, or of one column (a row of y). Chunks of x are copied to shared memory
// unchanged. A thread then reads one word (4 bytes, or a wider unit) from each of V rows: a small matrix of V rows and
// as many columns as a word has units. Its transpose in registers is one chunk of y for each of these columns.
//
// Eight lanes take neighbouring chunks of y, a line of 128 bytes, and so read rows that are V apart. A swizzle puts
// these into different banks: row r stores chunk j at position j ^ (r / V % 8). Four such groups of lanes take
// neighbouring words, which fill the banks of a chunk. When a row's chunks are written, eight lanes write all eight
// positions of a group: no bank conflict on either side.
#pragma once
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/transpose/launch.cuh>
#include <ridge/transpose/pieces.cuh>
#include <ridge/transpose/tile.hpp>

namespace ridge::transpose_detail {

// Transposes V words, one per row, into a chunk per column. A word of a unit of 4 bytes or more is one column: a copy.
template <class T>
__device__ __forceinline__ void transpose_words(const Word<T> (&words)[per_chunk(sizeof(T))],
                                                Packed (&columns)[per_word<T>]) {
  if constexpr (sizeof(T) == 1) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {                                                  // four rows of four bytes
      const unsigned low01 = __byte_perm(words[4 * i], words[4 * i + 1], 0x5140);  // 0.0 1.0 0.1 1.1 (row.column)
      const unsigned low23 = __byte_perm(words[4 * i + 2], words[4 * i + 3], 0x5140);
      const unsigned high01 = __byte_perm(words[4 * i], words[4 * i + 1], 0x7362);  // 0.2 1.2 0.3 1.3
      const unsigned high23 = __byte_perm(words[4 * i + 2], words[4 * i + 3], 0x7362);
      columns[0][i] = __byte_perm(low01, low23, 0x5410);
      columns[1][i] = __byte_perm(low01, low23, 0x7632);
      columns[2][i] = __byte_perm(high01, high23, 0x5410);
      columns[3][i] = __byte_perm(high01, high23, 0x7632);
    }
  } else if constexpr (sizeof(T) == 2) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {  // two rows of two units
      columns[0][i] = __byte_perm(words[2 * i], words[2 * i + 1], 0x5410);
      columns[1][i] = __byte_perm(words[2 * i], words[2 * i + 1], 0x7632);
    }
  } else {
    memcpy(&columns[0], words, sizeof columns[0]);
  }
}

// Swizzled position of a chunk in shared memory.
template <class Policy, class T> __device__ __forceinline__ int tile_chunk(int row, int chunk) {
  return row * (Policy::config.x_bytes / chunk_bytes) + (chunk ^ row / per_chunk(sizeof(T)) % 8);
}

//                                                            x: [matrices][rows, cols]  y: [matrices][cols, rows]
// Preconditions: rows are whole chunks, and all columns of y start on one; cols are whole accesses of x, and all rows
// of x start on one; gridDim.x is all tiles.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads) transpose_tile(const T* x, T* y, Form f, Tiles tiles) {
  constexpr Config c = Policy::config;
  constexpr int V = per_chunk(sizeof(T)), rows = tile_rows(c, sizeof(T)), cols = tile_cols(c, sizeof(T));
  constexpr int parts = chunk_bytes / c.access_bytes, part_units = c.access_bytes / static_cast<int>(sizeof(T));
  constexpr int row_parts = c.x_bytes / c.access_bytes;                       // accesses per row of a tile
  constexpr int chunks = tile_bytes(c, sizeof(T)) / chunk_bytes / c.threads;  // per thread, on either side
  T* shared = simt::dynamic_shared<T>();
  const TileIndex at = tile_of_block<c.strip>(tiles);
  const Axes::Offsets matrix = f.outer(at.matrix);
  const std::int64_t row0 = std::int64_t{at.row} * rows, col0 = std::int64_t{at.col} * cols;
  x += matrix.x + row0 * f.pitch_x + col0;
  y += matrix.y + col0 * f.pitch_y + row0;
  const int rows_left = static_cast<int>(min(f.rows - row0, std::int64_t{rows}));
  const int cols_left = static_cast<int>(min(f.cols - col0, std::int64_t{cols}));

  tile::grid_dependency_wait();
#pragma unroll
  for (int u = 0; u < chunks * parts; ++u) {
    const int i = u * c.threads + threadIdx.x, row = i / row_parts, part = i % row_parts;
    if (row < rows_left && part * part_units < cols_left)
      tile::copy_async<c.access_bytes>(
          shared + tile_chunk<Policy, T>(row, part / parts) * V + part % parts * part_units,
          x + row * f.pitch_x + part * part_units);
  }
  tile::wait_for_copies();
  __syncthreads();
  tile::launch_dependents();

  constexpr int words = per_chunk(sizeof(Word<T>)), lines = rows / V / 8;  // words per chunk; lines per column
  const int near = threadIdx.x % 8, word4 = threadIdx.x / 8 % 4;
#pragma unroll
  for (int u = 0; u < chunks / per_word<T>; ++u) {
    const int piece = u * (c.threads / 32) + threadIdx.x / 32;  // eight chunks of y by four words
    const int group = piece % lines * 8 + near, word = piece / lines * 4 + word4;
    Word<T> from[V];
#pragma unroll
    for (int k = 0; k < V; ++k)
      from[k] = load_word(shared + tile_chunk<Policy, T>(group * V + k, word / words) * V + word % words * per_word<T>);
    Packed column[per_word<T>];
    transpose_words<T>(from, column);
#pragma unroll
    for (int j = 0; j < per_word<T>; ++j) {
      const int col = word * per_word<T> + j;
      if (col < cols_left && group * V < rows_left) store_packed(y + col * f.pitch_y + group * V, column[j]);
    }
  }
}

// fits() refuses these, for shifted tiles too.
[[maybe_unused]] static Status no_tile() {
  return Status::error(Code::unsupported, "transpose: this variant has no such tile");
}

namespace tiled {

template <class Policy, class T> static Status launch(const Call<T>& call) {
  constexpr int unit = sizeof(T), unasked = 48 * 1024;  // bytes of shared memory without an opt-in attribute
  const auto tiles = tiles_of(Policy::config, call.form);
  if constexpr (!instantiated(Policy::config, unit)) return no_tile();
  else if constexpr (tile_bytes(Policy::config, unit) <= unasked)
    return tile::launch_dependent(call.plan.device.cc, launch_config(call), transpose_tile<Policy, T>, call.x, call.y,
                                  call.form, tiles);
  else return simt::launch(launch_config(call), transpose_tile<Policy, T>, call.x, call.y, call.form, tiles);
}

}  // namespace tiled
}  // namespace ridge::transpose_detail
