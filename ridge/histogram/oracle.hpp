// The histogram by its edges, serial and in double, as in numpy.histogram; shares nothing with the kernels.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace ridge::histogram_detail {

// numpy.linspace(lo, hi, bins + 1)
inline std::vector<double> oracle_edges(std::int64_t bins, double lo, double hi) {
  std::vector<double> edges(static_cast<std::size_t>(bins) + 1);
  const double step = (hi - lo) / static_cast<double>(bins);
  for (std::int64_t k = 0; k < bins; ++k) {
    volatile double product = static_cast<double>(k) * step;  // rounded: no fused multiply-add
    edges[static_cast<std::size_t>(k)] = product + lo;
  }
  edges.back() = hi;
  return edges;
}

// -1, 0 or 1 for x below, at or above an edge, exactly.
inline int oracle_compare(double x, double edge) { return (x > edge) - (x < edge); }
inline int oracle_compare(std::int64_t x, double edge) {
  if (edge >= 0x1p63) return -1;
  if (edge < -0x1p63) return 1;
  const auto whole = static_cast<std::int64_t>(std::floor(edge));
  return x < whole ? -1 : x > whole ? 1 : edge > std::floor(edge) ? -1 : 0;
}

// The bin of x, or -1.
template <class T> std::int64_t oracle_bin(const std::vector<double>& edges, T x) {
  const auto bins = static_cast<std::int64_t>(edges.size()) - 1;
  if (x != x || oracle_compare(x, edges.front()) < 0 || oracle_compare(x, edges.back()) > 0) return -1;
  std::int64_t low = 0, high = bins;  // edge low <= x, and x < edge high or x == hi
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (oracle_compare(x, edges[static_cast<std::size_t>(middle)]) < 0 ? high : low) = middle;
  }
  return low;
}

inline std::vector<double> oracle(const std::vector<double>& x, std::int64_t bins, double lo, double hi) {
  const std::vector<double> edges = oracle_edges(bins, lo, hi);
  std::vector<double> counts(static_cast<std::size_t>(bins));
  for (double value : x)
    if (const std::int64_t bin = oracle_bin(edges, value); bin >= 0) ++counts[static_cast<std::size_t>(bin)];
  return counts;
}

}  // namespace ridge::histogram_detail
