// What the kernels are given.
#pragma once
#include <ridge/core/rows.hpp>
#include <ridge/simt/simt.hpp>

#include <type_traits>

namespace ridge::norm_detail {

template <class T> using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

// A tensor seen as rows. data is null where there is none.
template <class P> struct RowTensor {
  P* data = nullptr;
  RowOffsets rows;
  std::int64_t step = 1;  // from one element of a row to the next
  RIDGE_HD P* row(std::int64_t r) const { return data + rows(r); }
  RIDGE_HD P* even_row(std::int64_t r) const { return data + r * rows.stride[0]; }  // rows are evenly spaced
};

template <class P> struct VectorTensor {
  P* data = nullptr;
  std::int64_t step = 1;
};

// x: [rows, cols], y the same; residual and sum too, or neither; gamma: [cols], beta: [cols]
template <class T> struct Forward {
  RowTensor<const T> x, residual;
  RowTensor<T> y, sum;
  VectorTensor<const T> gamma, beta;
  std::int64_t rows, cols;
  Compute<T> eps;
  bool rms;
  std::int64_t prefetch_distance = 0;  // in rows
};

// dy, x, dx, dsum: [rows, cols]; gamma: [cols]
template <class T> struct Backward {
  RowTensor<const T> dy, x, dsum;
  RowTensor<T> dx;
  VectorTensor<const T> gamma;
  std::int64_t rows, cols;
  Compute<T> eps;
  bool rms;
  Compute<T>* statistics;  // [rows, statistics_size]: for the sums over columns; null: not wanted
};

}  // namespace ridge::norm_detail
