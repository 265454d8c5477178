// The kernels' arguments.
#pragma once
#include <ridge/core/rows.hpp>
#include <ridge/simt/simt.hpp>

#include <type_traits>

namespace ridge::norm_detail {

template <class T> using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

// A tensor seen as rows; data is null if there is none.
template <class P> struct RowTensor {
  P* data = nullptr;
  RowOffsets rows;
  std::int64_t step = 1;  // from one element of a row to the next
  RIDGE_HD P* row(std::int64_t r) const { return data + rows(r); }
  // The same by one stride. Precondition: rows are evenly spaced.
  RIDGE_HD P* strided_row(std::int64_t r) const { return data + r * rows.stride[0]; }
};

// gamma or beta, or its gradient: [cols]; data is null if there is none.
template <class P> struct ParameterTensor {
  P* data = nullptr;
  std::int64_t step = 1;
};

// x, y, residual, sum: [rows, cols]; gamma, beta: [cols]. residual and sum are both given or both null.
template <class T> struct Forward {
  RowTensor<const T> x, residual;
  RowTensor<T> y, sum;
  ParameterTensor<const T> gamma, beta;
  std::int64_t rows, cols;
  Compute<T> eps;
  bool rms;
  std::int64_t prefetch_distance = 0;  // in rows
};

// dy, x, dx, dsum: [rows, cols]; gamma: [cols]
template <class T> struct Backward {
  RowTensor<const T> dy, x, dsum;
  RowTensor<T> dx;
  ParameterTensor<const T> gamma;
  std::int64_t rows, cols;
  Compute<T> eps;
  bool rms;
  Compute<T>* statistics;  // [rows, statistics_size], for the kernels over columns (sums.cuh); null: not wanted
};

// Where a kernel over rows puts its sums over rows, of dy n and of dy: a slice for each of its blocks; or dgamma and
// dbeta, [cols], where it has all rows. All null: they are not wanted.
template <class T> struct SumsOutput {
  Compute<T>* slices = nullptr;  // [slices][2][cols]
  T *dgamma = nullptr, *dbeta = nullptr;
  RIDGE_HD bool wanted() const { return slices || dgamma || dbeta; }
  // which: 0 for dgamma, 1 for dbeta
  RIDGE_HD void put(std::int64_t slice, int which, std::int64_t column, std::int64_t cols, Compute<T> sum) const {
    if (slices) slices[(slice * 2 + which) * cols + column] = sum;
    else if (T* to = which == 0 ? dgamma : dbeta) to[column] = T(sum);
  }
};

}  // namespace ridge::norm_detail
