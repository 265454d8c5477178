// A tile of inputs and the windows that reach it, all of them known when the kernel is compiled: a thread searches each
// window once, in row order, and adds its gradient to those inputs of the tile that get some of it.
#pragma once
#include <ridge/pool/gradient.cuh>

namespace ridge::pool_detail {

// One axis of a tile of `Size` inputs from input S q on, and its windows of K taps, at a stride S, behind P of padding.
// The tile's windows are q + first and those after it; window q begins P before the tile.
template <int K, int S, int P, int Size> struct TileAxis {
  static_assert(Size % S == 0 && P >= 0 && P < K);
  static constexpr int taps = K, stride = S, pad = P, size = Size;
  static constexpr int first = -((K - 1 - P) / S);                // (P - K + 1) / S, rounded up
  static constexpr int windows = (Size - 1 + P) / S - first + 1;  // the last begins at or before the tile's last input
  // The inputs that the windows reach, relative to the tile's first one.
  static constexpr int begin = first * S - P, end = (first + windows - 1) * S - P + K;
};

// Adds what window (i, j) of a tile gives to the inputs of the tile: `gradient` to each, or to its first maximum, whose
// value is y. x(r, c) is an input, counted from the tile's first row and column, and inside(r, c) whether there is one.
// All loops are unrolled, so that dx is in registers.
template <class F, class Rows, class Cols, class X, class Inside>
__device__ __forceinline__ void add_window(float (&dx)[Rows::size][Cols::size], int i, int j, float gradient, float y,
                                           const X& x, const Inside& inside) {
  bool found = false;
#pragma unroll
  for (int a = 0; a < Rows::taps; ++a) {
#pragma unroll
    for (int b = 0; b < Cols::taps; ++b) {
      const int r = (Rows::first + i) * Rows::stride - Rows::pad + a,
                c = (Cols::first + j) * Cols::stride - Cols::pad + b;
      if (r >= Rows::size) continue;  // after all of the tile's taps
      const bool in_tile = r >= 0 && c >= 0 && c < Cols::size;
      if constexpr (F::counts) {
        if (in_tile) dx[r][c] += gradient;
      } else {
        const bool ours = !found && inside(r, c) && is_maximum(x(r, c), y);
        found = found || ours;
        if (in_tile) dx[r][c] += ours ? gradient : 0.0f;
      }
    }
  }
}

struct TileGradientShape {
  StridedAxis<int> rows, cols;
  unsigned items;
  Divider inner, across, down, channels;  // by what an item's place is taken from, one after the other
  float share;                            // of all windows, or 0
  GradientStrides strides;
};

}  // namespace ridge::pool_detail
