// Permutation by definition, index by index; shares nothing with the kernels.
#pragma once
#include <cstdint>
#include <vector>

namespace ridge::transpose_detail {

// y[i_0, ..., i_n] = x[j_0, ..., j_n] with j[axes[k]] = i[k]; both row-major, `shape` is x's.
inline std::vector<double> permuted(const std::vector<double>& x, const std::vector<std::int64_t>& shape,
                                    const std::vector<int>& axes) {
  std::vector<double> y;
  y.reserve(x.size());
  std::vector<std::int64_t> i(shape.size()), j(shape.size());
  for (std::size_t n = 0; n < x.size(); ++n) {
    for (std::size_t k = 0; k < axes.size(); ++k) j[axes[k]] = i[k];
    std::int64_t at = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) at = at * shape[axis] + j[axis];
    y.push_back(x[at]);
    for (std::size_t k = axes.size(); k-- > 0;) {  // the next index of y
      if (++i[k] < shape[axes[k]]) break;
      i[k] = 0;
    }
  }
  return y;
}

}  // namespace ridge::transpose_detail
