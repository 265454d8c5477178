// A tile of 1- or 2-byte units whose rows and columns do not start on 16-byte boundaries.
//
// Memory is still read and written by whole aligned chunks. A row's chunks begin up to a chunk before the tile and are
// stored in shared memory as they were read. A thread reads words at each row's own shift (two words and a funnel
// shift where rows do not start on words) and transposes them in registers, as tile.cuh does. A column's chunks of y
// begin on y's boundaries, up to a chunk before the transposed ones: a thread assembles each from its own transposed
// chunk and that of the lane before it. Neighbouring tiles therefore share a chunk's worth of rows: both read them, and
// the second tile begins with them.
#pragma once
#include <ridge/transpose/shifted.hpp>
#include <ridge/transpose/staged.cuh>
#include <ridge/transpose/tile.cuh>
#include <ridge/transpose/window.cuh>

namespace ridge::transpose_detail {

// Copies a tile's rows into shared memory, where no chunk reaches beyond the matrix and all columns exist. A thread
// copies the same chunk of every rows_apart-th row, always with the same shift.
template <class Policy, class T>
__device__ __forceinline__ void stage_rows(T* shared, const T* tile_x, std::int64_t pitch, int first_row,
                                           int last_row) {
  constexpr Config c = Policy::config;
  constexpr int V = per_chunk(sizeof(T)), rows = tile_rows(c, sizeof(T)), whole = c.x_bytes / chunk_bytes;
  constexpr int rows_apart = c.threads / whole;
  static_assert(rows_apart % V == 0 && rows % rows_apart == 0);
  const int row0 = static_cast<int>(threadIdx.x) / whole, chunk = static_cast<int>(threadIdx.x) % whole;
  const T* from = tile_x + row0 * pitch;
  from += chunk * V - chunk_offset(from);
  T* to = shared + shifted_chunk(c, sizeof(T), row0, chunk) * V;
#pragma unroll
  for (int u = 0; u < rows / rows_apart; ++u) {
    const int row = row0 + u * rows_apart;
    if (row >= first_row && row < last_row)
      tile::copy_async<chunk_bytes>(to + shifted_chunk(c, sizeof(T), u * rows_apart, 0) * V, from);
    from += rows_apart * pitch;
  }
#pragma unroll 1
  for (int row = threadIdx.x; row < rows; row += c.threads) {  // the extra last chunk of misaligned rows
    const T* start = tile_x + row * pitch;
    const int past = chunk_offset(start);
    if (past > 0 && row >= first_row && row < last_row)
      tile::copy_async<chunk_bytes>(shared + shifted_chunk(c, sizeof(T), row, whole) * V, start - past + whole * V);
  }
}

//                                                            x: [matrices][rows, cols]  y: [matrices][cols, rows]
// Preconditions: gridDim.x is all tiles; shifted: y_shifted().
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    transpose_shifted_words(const T* x, T* y, Form f, Tiles tiles, bool shifted) {
  constexpr Config c = Policy::config;
  constexpr int V = per_chunk(sizeof(T)), rows = tile_rows(c, sizeof(T)), cols = tile_cols(c, sizeof(T));
  constexpr int chunks = shifted_chunks(c), groups = rows / V;
  constexpr int bits = 8 * static_cast<int>(sizeof(T));
  T* shared = simt::dynamic_shared<T>();
  const TileIndex at = tile_of_block<c.strip>(tiles);
  const Axes::Offsets matrix = f.outer(at.matrix);
  const int above = shifted ? V : 0;
  const std::int64_t row0 = std::int64_t{at.row} * (rows - above) - above, col0 = std::int64_t{at.col} * cols;
  x += matrix.x;
  y += matrix.y + col0 * f.pitch_y + row0;
  const int cols_left = static_cast<int>(min(f.cols - col0, std::int64_t{cols}));
  const int first_row = row0 < 0 ? above : 0, last_row = static_cast<int>(min(f.rows - row0, std::int64_t{rows}));

  const bool dense = f.pitch_x == f.cols;  // the next row follows a row's end
  const T* tile_x = x + row0 * f.pitch_x + col0;
  if (cols_left == cols && (col0 >= V || (dense && row0 > 0)) &&
      (col0 + cols + V <= f.cols || (dense && row0 + rows < f.rows))) {
    stage_rows<Policy, T>(shared, tile_x, f.pitch_x, first_row, last_row);
  } else {
    stage_chunks<c.threads>(shared, rows * chunks, [&](int i) {
      const int row = i / chunks, chunk = i % chunks;
      const T* first = tile_x + row * f.pitch_x;
      const bool exists = row >= first_row && row < last_row;
      const T *low = dense ? x : first - col0, *high = low + (dense ? f.rows * f.cols : f.cols);
      return Source<T>{first - chunk_offset(first) + chunk * V, first, first + (exists ? cols_left : 0), low, high,
                       shifted_chunk(c, sizeof(T), row, chunk)};
    });
  }
  tile::wait_for_copies();
  __syncthreads();

  // Neighbouring lanes take neighbouring chunks of a column, further lanes the next words of a row. Shifts repeat every
  // V rows.
  const simt::tiles<groups> lanes;
  constexpr int block_cols = c.threads / groups * per_word<T>;  // columns of the block per iteration
  const int group = lanes.rank();
  const int shift0 = chunk_offset(tile_x), shift_step = static_cast<int>(f.pitch_x % V);
  const bool words_apart = (shift0 | shift_step) % per_word<T> != 0;
#pragma unroll 1
  for (int first_col = 0; first_col < cols_left; first_col += block_cols) {
    const int col = first_col + static_cast<int>(threadIdx.x) / groups * per_word<T>;
    const T* group_x = shared + shifted_chunk(c, sizeof(T), group * V, 0) * V + col;
    unsigned from[V];
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const int shift = (shift0 + k * shift_step) & (V - 1), off = shift % per_word<T>;
      const T* word = group_x + shifted_chunk(c, sizeof(T), k, 0) * V + shift - off;
      from[k] = load_word(word);
      if (words_apart)
        from[k] =
            __byte_perm(from[k], load_word(word + per_word<T>), 0x3210 + 0x1111 * off * static_cast<int>(sizeof(T)));
    }
    Packed column[per_word<T>];
    transpose_words<T>(from, column);
#pragma unroll
    for (int j = 0; j < per_word<T>; ++j) {
      T* line = y + (col + j) * f.pitch_y;
      Packed chunk = column[j];
      int first = group * V;  // the row within the tile that the chunk begins with
      if (shifted) {
        const int past = chunk_offset(line);
        chunk = window_of(lanes.shfl_up(chunk, 1), chunk, chunk_bytes - past * static_cast<int>(sizeof(T)));
        first -= past;
      }
      if (col + j >= cols_left || (shifted && group == 0)) continue;
      if (first >= first_row && first + V <= last_row) {
        store_packed(line + first, chunk);
      } else {
#pragma unroll
        for (int v = 0; v < V; ++v)
          if (first + v >= first_row && first + v < last_row)
            line[first + v] = static_cast<T>(chunk[v / per_word<T>] >> v % per_word<T> * bits);
      }
    }
  }
}

}  // namespace ridge::transpose_detail
