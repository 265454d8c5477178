// Rows: tensors of one shape seen as rows of the last axis, with their leading axes merged as far as strides allow.
// Softmax, the norms and other last-axis operators plan with them.
#pragma once
#include <ridge/core/tensor.hpp>

namespace ridge {

struct Rows {
  Layout outer;              // the leading axes, merged; rank 0 or 1 is what fast kernels take
  std::int64_t step = 1;     // stride from one element of a row to the next
  int alignment_offset = 0;  // bytes of the first element past a 16-byte boundary
  bool operator==(const Rows&) const = default;

  // The stride from one row to the next; only where outer.rank <= 1.
  std::int64_t pitch() const { return outer.rank == 1 ? outer.stride[0] : 0; }

  // The layout of the whole tensor, with its leading axes merged.
  Layout layout(std::int64_t cols) const {
    Layout whole = outer;
    whole.shape[whole.rank] = cols;
    whole.stride[whole.rank++] = step;
    return whole;
  }

  // Contiguous rows, aligned to 16 bytes.
  static Rows contiguous(std::int64_t rows, std::int64_t cols) {
    Rows r;
    if (rows != 1) r.outer = Layout::contiguous({rows});
    if (rows != 1) r.outer.stride[0] = cols > 0 ? cols : 1;
    return r;
  }
};

// The number of rows of a layout, along its last axis. Precondition: rank 1 or more.
inline std::int64_t rows_in(Layout layout) {
  --layout.rank;
  return layout.count();
}

// The rows of up to four tensors of one shape, merged together. `out` receives one Rows per view.
RIDGE_API void rows_of(std::span<const TensorView> views, std::span<Rows> out);

// The offset of a row in elements, for any outer rank; on the host and in kernels.
struct RowOffsets {
  int rank = 0;
  std::int64_t shape[max_rank] = {}, stride[max_rank] = {};

  static RowOffsets of(const Layout& outer) {
    RowOffsets r;
    r.rank = outer.rank;
    for (int axis = 0; axis < outer.rank; ++axis) {
      r.shape[axis] = outer.shape[axis];
      r.stride[axis] = outer.stride[axis];
    }
    return r;
  }
  RIDGE_HD std::int64_t operator()(std::int64_t row) const {
    if (rank <= 1) return row * stride[0];  // most rows: no division
    std::int64_t offset = 0;
#if RIDGE_GPU_COMPILER
#pragma unroll 1  // nvcc would repeat the division, for up to 100 KB of a kernel's code
#endif
    for (int axis = rank - 1; axis >= 0; --axis) {
      const std::int64_t outer = axis > 0 ? row / shape[axis] : 0;
      offset += (row - outer * shape[axis]) * stride[axis];
      row = outer;
    }
    return offset;
  }
};

}  // namespace ridge
