// Offsets of a row's elements, for kernels and for their tests.
#pragma once
#include <ridge/core/api.hpp>
#include <ridge/reduce/reduce.hpp>

namespace ridge::reduce_detail {

// 64-bit division is an order of magnitude slower than 32-bit.
RIDGE_HD constexpr std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 32) == 0) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  return a / b;
}

// The offset of element `index` of the axes [first, last), counted in row-major order; stride is one of axes' arrays.
RIDGE_HD constexpr std::int64_t offset(const ReduceAxes& axes, const std::int64_t (&stride)[max_rank], int first,
                                       int last, std::int64_t index) {
  std::int64_t at = 0;
#pragma unroll 1  // divisions are long, and most problems need none
  for (int axis = last - 1; axis > first; --axis) {
    const std::int64_t rest = quotient(index, axes.shape[axis]);
    at += (index - rest * axes.shape[axis]) * stride[axis];
    index = rest;
  }
  return first < last ? at + index * stride[first] : 0;
}
RIDGE_HD constexpr std::int64_t row_offset(const ReduceAxes& axes, const std::int64_t (&stride)[max_rank],
                                           std::int64_t row) {
  return offset(axes, stride, 0, axes.outer, row);
}
RIDGE_HD constexpr std::int64_t col_offset(const ReduceAxes& axes, const std::int64_t (&stride)[max_rank],
                                           std::int64_t col) {
  return offset(axes, stride, axes.outer, axes.rank, col);
}

}  // namespace ridge::reduce_detail
