// Matrices of a few columns or a few rows: one side is a single contiguous range of memory, the other a few long ones.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/transpose/launch.cuh>
#include <ridge/transpose/narrow.hpp>
#include <ridge/transpose/staged.cuh>

namespace ridge::transpose_detail {

// Swizzled position of a chunk: chunks any power of two apart are in different banks.
__device__ __forceinline__ int swizzled(int chunk) { return chunk ^ ((chunk >> 3 ^ chunk >> 6) & 7); }

// Few columns: a tile is a range of whole rows of x.            x: [matrices][rows, cols]  y: [matrices][cols, rows]
// Preconditions: rows of x have no gaps, cols <= narrow_width; gridDim.x is all tiles; `above` as for shifted; by_cols
// divides by cols.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    transpose_narrow_in(const T* x, T* y, Form f, Tiles tiles, int above, Divider by_cols) {
  constexpr Config c = Policy::config;
  constexpr int V = per_chunk(sizeof(T));
  T* shared = simt::dynamic_shared<T>();
  const TileIndex at = tile_of_block<1>(tiles);
  const Axes::Offsets matrix = f.outer(at.matrix);
  const int cols = static_cast<int>(f.cols), rows = narrow_length(c, sizeof(T), cols);
  const std::int64_t row0 = std::int64_t{at.row} * rows;
  x += matrix.x;
  y += matrix.y;

  const T *tile_x = x + (row0 - above) * cols, *x_end = x + f.rows * cols;
  const int shift = chunk_offset(tile_x), units = shift + (rows + above) * cols;
  const T *first = tile_x < x ? x : tile_x, *beyond = tile_x + (rows + above) * cols;
  const T* last = beyond < x_end ? beyond : x_end;
  stage_chunks<c.threads>(shared, (units + V - 1) / V,
                          [&](int i) { return Source<T>{tile_x - shift + i * V, first, last, x, x_end, swizzled(i)}; });
  tile::wait_for_copies();
  __syncthreads();

  // Eight lanes take neighbouring chunks of a column, the next eight the next column.
  for (int i = threadIdx.x; i < rows / V * cols; i += c.threads) {
    const int near = i % 8, line = static_cast<int>(by_cols(static_cast<unsigned>(i) / 8)), col = i / 8 - line * cols;
    T* column = y + col * f.pitch_y;
    const int begin = (line * 8 + near) * V - (above ? chunk_offset(column + row0) : 0);
    write_chunk(column, row0 + begin, 0, f.rows, [&](int v) {
      const int unit = shift + (above + begin + v) * cols + col;
      return shared[swizzled(unit / V) * V + unit % V];
    });
  }
}

// Few rows: a tile is a range of whole columns, contiguous in y.
//                                                            x: [matrices][rows, cols]  y: [matrices][cols, rows]
// Preconditions: columns of y have no gaps, rows <= narrow_width; gridDim.x is all tiles; a chunk of y may begin
// `above` units before its tile; by_pitch divides by narrow_pitch(), by_rows by rows.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    transpose_narrow_out(const T* x, T* y, Form f, Tiles tiles, int above, Divider by_pitch, Divider by_rows) {
  constexpr Config c = Policy::config;
  constexpr int V = per_chunk(sizeof(T));
  T* shared = simt::dynamic_shared<T>();
  const TileIndex at = tile_of_block<1>(tiles);
  const Axes::Offsets matrix = f.outer(at.matrix);
  const int rows = static_cast<int>(f.rows), cols = narrow_length(c, sizeof(T), rows);
  const int pitch = narrow_pitch(c, sizeof(T), rows);  // chunks
  const int before = above ? V : 0;                    // columns before the tile that are staged too
  const std::int64_t col0 = std::int64_t{at.col} * cols;
  x += matrix.x;
  y += matrix.y;

  const std::int64_t first_col = max(col0 - before, std::int64_t{0}), last_col = min(col0 + cols, f.cols);
  const T* tile_x = x + col0 - before;
  stage_chunks<c.threads>(shared, rows * pitch, [&](int i) {
    const int row = static_cast<int>(by_pitch(static_cast<unsigned>(i))), chunk = i - row * pitch;
    const T *line = x + row * f.pitch_x, *start = line + col0 - before;
    return Source<T>{
        start - chunk_offset(start) + chunk * V, line + first_col, line + last_col, line, line + f.cols, i};
  });
  tile::wait_for_copies();
  __syncthreads();

  const int shift0 = chunk_offset(tile_x), shift_step = static_cast<int>(f.pitch_x % V);  // from one row to the next
  const std::int64_t unit0 = col0 * rows;                                                 // of y
  const int skew = above ? chunk_offset(y + unit0) : 0;
  for (int i = threadIdx.x; i < cols / V * rows; i += c.threads) {
    const int begin = i * V - skew + before * rows;  // counted from the first staged column
    write_chunk(y, unit0 + i * V - skew, 0, f.cols * rows, [&](int v) {
      const int unit = begin + v, col = static_cast<int>(by_rows(static_cast<unsigned>(unit))), row = unit - col * rows;
      return shared[row * pitch * V + ((shift0 + row * shift_step) & (V - 1)) + col];
    });
  }
}

namespace narrow_in {

template <class Policy, class T> static Status launch(const Call<T>& call) {
  const Form& f = call.form;
  return simt::launch(launch_config(call), transpose_narrow_in<Policy, T>, call.x, call.y, f,
                      tiles_of(Policy::config, f), units_above(f), Divider(f.cols));
}

}  // namespace narrow_in

namespace narrow_out {

template <class Policy, class T> static Status launch(const Call<T>& call) {
  const Form& f = call.form;
  return simt::launch(launch_config(call), transpose_narrow_out<Policy, T>, call.x, call.y, f,
                      tiles_of(Policy::config, f), units_above(f),
                      Divider(narrow_pitch(Policy::config, sizeof(T), f.rows)), Divider(f.rows));
}

}  // namespace narrow_out
}  // namespace ridge::transpose_detail
