// A tile of units of 4 or 8 bytes whose rows and columns do not start on 16-byte boundaries.
//
// Memory is still read and written by whole aligned chunks. A row's chunks begin up to a chunk before the tile and are
// stored in shared memory as they were read. A column's chunks of y begin on y's boundaries, up to V - 1 units before
// the tile, and the next tile's begin as much earlier: no chunk of y is written in two parts, except at the ends of
// y's rows. In between, a thread gathers the V units of a chunk one by one, at each row's own shift.
#pragma once
#include <ridge/transpose/launch.cuh>
#include <ridge/transpose/shifted.hpp>
#include <ridge/transpose/shifted_words.cuh>
#include <ridge/transpose/staged.cuh>

namespace ridge::transpose_detail {

//                                                            x: [matrices][rows, cols]  y: [matrices][cols, rows]
// Preconditions: gridDim.x is all tiles; `above` is how many rows before its tile a chunk of y may begin.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    transpose_shifted(const T* x, T* y, Form f, Tiles tiles, int above) {
  constexpr Config c = Policy::config;
  constexpr int V = per_chunk(sizeof(T)), rows = tile_rows(c, sizeof(T)), cols = tile_cols(c, sizeof(T));
  constexpr int chunks = shifted_chunks(c);
  T* shared = simt::dynamic_shared<T>();
  const TileIndex at = tile_of_block<c.strip>(tiles);
  const Axes::Offsets matrix = f.outer(at.matrix);
  const std::int64_t row0 = std::int64_t{at.row} * rows, col0 = std::int64_t{at.col} * cols;
  x += matrix.x;
  y += matrix.y + col0 * f.pitch_y;
  const int cols_left = static_cast<int>(min(f.cols - col0, std::int64_t{cols}));

  const bool dense = f.pitch_x == f.cols;  // the next row follows a row's end
  const T* tile_x = x + (row0 - above) * f.pitch_x + col0;
  stage_chunks<c.threads>(shared, (rows + above) * chunks, [&](int i) {
    const int row = i / chunks, chunk = i % chunks;
    const T* first = tile_x + row * f.pitch_x;
    const bool exists = row0 - above + row >= 0 && row0 - above + row < f.rows;
    const T *low = dense ? x : first - col0, *high = low + (dense ? f.rows * f.cols : f.cols);
    return Source<T>{first - chunk_offset(first) + chunk * V, first, first + (exists ? cols_left : 0), low, high,
                     shifted_chunk(c, sizeof(T), row, chunk)};
  });
  tile::wait_for_copies();
  __syncthreads();

  // Eight lanes take neighbouring chunks of a column, four such groups neighbouring columns.
  constexpr int lines = rows / V / 8;
  const int shift0 = chunk_offset(tile_x), shift_step = static_cast<int>(f.pitch_x % V);  // from one row to the next
  const auto place = [&](int row, int col) {  // position of a unit in shared memory
    return shifted_chunk(c, sizeof(T), row, 0) * V + ((shift0 + row * shift_step) & (V - 1)) + col;
  };
  for (int i = threadIdx.x; i < 8 * lines * cols; i += c.threads) {
    const int near = i % 8, col4 = i / 8 % 4, piece = i / 32;
    const int group = piece % lines * 8 + near, col = piece / lines * 4 + col4;
    if (col >= cols_left) continue;
    T* column = y + col * f.pitch_y;
    const int first = group * V - (above ? chunk_offset(column + row0) : 0);  // row within the tile
    write_chunk(column, row0 + first, 0, f.rows, [&](int v) { return shared[place(above + first + v, col)]; });
  }
}

namespace shifted {

template <class Policy, class T> static Status launch(const Call<T>& call) {
  const Form& f = call.form;
  if constexpr (!instantiated(Policy::config, sizeof(T))) return no_tile();
  else if constexpr (by_words(sizeof(T)))
    return simt::launch(launch_config(call), transpose_shifted_words<Policy, T>, call.x, call.y, f,
                        tiles_of(Policy::config, f), y_shifted(f));
  else
    return simt::launch(launch_config(call), transpose_shifted<Policy, T>, call.x, call.y, f,
                        tiles_of(Policy::config, f), units_above(f));
}

}  // namespace shifted
}  // namespace ridge::transpose_detail
