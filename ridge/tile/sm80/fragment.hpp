// The layouts of mma.sync: which elements of a fragment each lane has, and the layout of the tiles in shared memory
// that fragments are read from. Plain C++: the maps are tested on the host.
//
// A product multiplies two fragments, 16 x K of each operand: K is 32 bytes, but 4 or 8 doubles. Both operands'
// fragments have the same layout. With g = lane / 4 and q = lane % 4, a lane's register i has
//
//   16-bit, 4 registers           outer g + 8 (i % 2), k 8 (i / 2) + 2 q and the next one
//   8-bit, 4                      outer g + 8 (i % 2), k 16 (i / 2) + 4 q and the next three
//   float, 4                      outer g + 8 (i % 2), k 4 (i / 2) + q
//   double, 2 or 4 (as K / 2)     the same
//
// `outer` is m of A and n of B. This is the order of mma's A. Its B is 8 columns: even registers are the first eight,
// odd ones the others. The sums of 16 x 8 are four of each lane: sum i is row g + 8 (i / 2), column 2 q + i % 2.
#pragma once
#include <ridge/core/api.hpp>

#include <cstdint>
#include <type_traits>

namespace ridge::tile::sm80 {

// A register of a fragment of T: 4 bytes of neighbours along k, or one double.
template <class T> using Register = std::conditional_t<std::is_same_v<T, double>, double, unsigned>;

enum class Axis : std::uint8_t { k, outer };  // the contiguous axis in shared memory

struct At {
  unsigned outer, k;  // within a fragment
};

// The element in register i of a fragment of floats or doubles.
RIDGE_HD constexpr At single_at(unsigned lane, unsigned i) { return {lane / 4 + i % 2 * 8, i / 2 * 4 + lane % 4}; }

// The first of the two 16-bit elements in register i of a fragment.
RIDGE_HD constexpr At pair_at(unsigned lane, unsigned i) { return {lane / 4 + i % 2 * 8, i / 2 * 8 + lane % 4 * 2}; }

// The first of the 8 neighbours whose address a lane passes to ldmatrix, for a fragment of 16-bit elements, or of other
// types that are contiguous along k, which ldmatrix moves all the same. Lanes 8 i to 8 i + 7 pass a row each of matrix
// i, which becomes register i. Where outer is the contiguous axis, the rows are those of k, and ldmatrix transposes.
RIDGE_HD constexpr At matrix_row_at(Axis axis, unsigned lane) {
  const unsigned matrix = lane / 8, row = lane % 8;
  return {matrix % 2 * 8 + (axis == Axis::k ? row : 0), matrix / 2 * 8 + (axis == Axis::k ? 0 : row)};
}

struct Place {
  unsigned row, col;  // in 16 x 8 sums
};
RIDGE_HD constexpr Place sum_at(unsigned lane, unsigned i) { return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2}; }

// ---- tiles in shared memory ---------------------------------------------------------------------------------------

inline constexpr unsigned piece_bytes = 16, line_bytes = 128;  // a line spans all banks once

// What shared memory serves at a time. It must be free of bank conflicts, so the pieces of a line are permuted from row
// to row (swizzled):
//   matrices   ldmatrix: the same piece of 8 consecutive rows
//   singles    a float for each lane, or a double for each lane of half a warp: two neighbouring pieces of 4
//              consecutive rows, in either axis
enum class Reads : std::uint8_t { matrices, singles };

// Offset of a row's byte in a tile of rows of row_bytes, a power of two (for singles at least a line).
RIDGE_HD constexpr unsigned swizzled(Reads reads, unsigned row_bytes, unsigned row, unsigned byte) {
  const unsigned pieces = row_bytes / piece_bytes;
  const unsigned flip = reads == Reads::singles ? row % 4 * 2 : pieces < 8 ? row / (8 / pieces) % pieces : row % 8;
  return row * row_bytes + (byte ^ flip * piece_bytes);
}

// The step from the address of one fragment's register to that of another, `outer` and `k` further, multiples of 8 and
// of 4 (for matrices, of 16): address ^ flip, then + add. Both are compile-time constants, so a lane needs one address
// per operand. Preconditions: the tile is aligned to a line; the first fragment starts at k 0 and, along outer, at a
// multiple of a power of two that is above every `outer` stepped and at least 32.
struct Step {
  unsigned flip, add;
};
RIDGE_HD constexpr Step step(Axis axis, unsigned row_bytes, unsigned element_bytes, unsigned outer, unsigned k) {
  if (axis == Axis::k) return {k * element_bytes, outer * row_bytes};
  const unsigned byte = outer * element_bytes;
  return {byte % line_bytes, byte / line_bytes * line_bytes + k * row_bytes};
}

}  // namespace ridge::tile::sm80
