// How warps multiply by mma.sync: which elements of a product each lane has, and how the tiles that it is read from lie
// in shared memory. Plain C++: the maps are tested on the host.
//
// A product is that of two fragments, 16 x K of each operand: K is 32 bytes, but 4 or 8 of double. Both operands'
// fragments are alike. With g = lane / 4 and q = lane % 4, a lane's register i has
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

enum class Axis : std::uint8_t { k, outer };  // in which neighbours lie in shared memory

struct At {
  unsigned outer, k;  // within a fragment
};

// The element of register i of a fragment of floats or doubles.
RIDGE_HD constexpr At single_at(unsigned lane, unsigned i) { return {lane / 4 + i % 2 * 8, i / 2 * 4 + lane % 4}; }

// The first of the 8 neighbours whose address a lane gives to ldmatrix, for a fragment of 16-bit elements, or of others
// that lie along k, which ldmatrix takes for such. Matrix i, which becomes register i, is that of lanes 8 i to 8 i + 7,
// a row each. Where neighbours lie along outer, the rows are those of k, and ldmatrix transposes.
RIDGE_HD constexpr At matrix_row_at(Axis axis, unsigned lane) {
  const unsigned matrix = lane / 8, row = lane % 8;
  return {matrix % 2 * 8 + (axis == Axis::k ? row : 0), matrix / 2 * 8 + (axis == Axis::k ? 0 : row)};
}

struct Place {
  unsigned row, col;  // in 16 x 8 sums
};
RIDGE_HD constexpr Place sum_at(unsigned lane, unsigned i) { return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2}; }

// ---- tiles in shared memory ---------------------------------------------------------------------------------------

inline constexpr unsigned piece_bytes = 16, line_bytes = 128;  // a line is once through all banks

// What shared memory serves at a time. Each must find the banks apart, so the pieces of a line change places from row
// to row:
//   matrices   ldmatrix: the same piece of 8 rows that follow each other
//   singles    a float for each lane, or a double for half a warp's: two neighbouring pieces of 4 rows that follow each
//              other, in either axis
enum class Reads : std::uint8_t { matrices, singles };

// Where a byte of a row lies in a tile of rows of row_bytes, a power of two (for singles at least a line).
RIDGE_HD constexpr unsigned swizzled(Reads reads, unsigned row_bytes, unsigned row, unsigned byte) {
  const unsigned pieces = row_bytes / piece_bytes;
  const unsigned turn = reads == Reads::singles ? row % 4 * 2 : pieces < 8 ? row / (8 / pieces) % pieces : row % 8;
  return row * row_bytes + (byte ^ turn * piece_bytes);
}

// From where a lane reads one fragment's register to where it reads another's, `outer` and `k` further, multiples of 8
// and of 4 (for matrices, of 16): address ^ flip, then + add. Both are known when a kernel is compiled, and so a lane
// needs one address of an operand. Preconditions: the tile lies on a whole line, and the first fragment begins at k 0
// and along outer at a multiple of a power of two that is more than any `outer` stepped, and at least 32.
struct Step {
  unsigned flip, add;
};
RIDGE_HD constexpr Step step(Axis axis, unsigned row_bytes, unsigned element_bytes, unsigned outer, unsigned k) {
  if (axis == Axis::k) return {k * element_bytes, outer * row_bytes};
  const unsigned byte = outer * element_bytes;
  return {byte % line_bytes, byte / line_bytes * line_bytes + k * row_bytes};
}

}  // namespace ridge::tile::sm80
