// The normal form of a permutation: adjacent axes that are contiguous on both sides are merged, and bytes that stay
// together on both sides are one unit of up to 16 bytes.
#pragma once
#include <ridge/core/tensor.hpp>
#include <ridge/core/vector_access.hpp>

namespace ridge {
struct TransposeProblem;
}

namespace ridge::transpose_detail {

inline constexpr int chunk_bytes = vector_bytes;  // a chunk is a vector access

// Axes that a kernel walks by one index: sizes, and strides in x and y, in units.
struct Axes {
  static constexpr int most = max_rank + 1;  // the parts of an element are one more axis where units are smaller
  int rank = 0;
  std::int64_t shape[most] = {}, x[most] = {}, y[most] = {};

  struct Offsets {
    std::int64_t x = 0, y = 0;
  };
  RIDGE_HD Offsets operator()(std::int64_t index) const {
    Offsets at;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const std::int64_t outer =
          axis > 0
              ? static_cast<std::int64_t>(static_cast<std::uint64_t>(index) / static_cast<std::uint64_t>(shape[axis]))
              : 0;
      const std::int64_t i = index - outer * shape[axis];
      at.x += i * x[axis];
      at.y += i * y[axis];
      index = outer;
    }
    return at;
  }
  RIDGE_HD constexpr std::int64_t count() const {
    std::int64_t n = 1;
    for (int axis = 0; axis < rank; ++axis) n *= shape[axis];
    return n;
  }
  void push(std::int64_t size, std::int64_t stride_x, std::int64_t stride_y) {
    shape[rank] = size, x[rank] = stride_x, y[rank] = stride_y;
    ++rank;
  }
};

enum class Kind : std::uint8_t {
  copy,      // cols units, contiguous on both sides
  runs,      // outer runs of cols units, each contiguous on both sides
  matrices,  // outer matrices: y[c * pitch_y + r] = x[r * pitch_x + c]
  strided,   // outer units, no two of them adjacent on both sides
};

struct Form {
  Kind kind = Kind::copy;
  int unit = 4;                           // bytes that move together; the members below count units
  int offset_x = 0, offset_y = 0;         // alignment offset: bytes of the first unit past a 16-byte boundary
  std::int64_t rows = 1, cols = 1;        // of a matrix; a run has cols units
  std::int64_t pitch_x = 0, pitch_y = 0;  // from row to row in x, from column to column in y
  int swizzle_shift = 31;                 // span: see span_swizzle(); chosen by the plan, 31 is no swizzle
  Axes outer;                             // the other axes, y's fastest last

  RIDGE_HD constexpr std::int64_t count() const { return outer.count() * rows * cols; }
};

// The form of a valid problem; a problem without elements becomes a copy of nothing.
RIDGE_API Form form_of(const TransposeProblem&);

}  // namespace ridge::transpose_detail
