// The lessons by definition, element by element; shares nothing with the kernels.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace ridge::checklist_detail {

inline double oracle_hash(std::int64_t index, double x) {
  std::uint32_t h = static_cast<std::uint32_t>(static_cast<std::int64_t>(x));
  for (int round = 0; round < 64; ++round) {
    if (index % 2 == 0) {
      h = h * 1664525u + 1013904223u;
    } else {
      h ^= h << 13;
      h ^= h >> 17;
      h ^= h << 5;
    }
  }
  return static_cast<std::int32_t>(h);
}

inline std::vector<double> oracle_histogram(const std::vector<double>& x) {
  std::vector<double> counts(256);
  for (double sample : x) counts[static_cast<std::size_t>(sample)] += 1;
  return counts;
}

struct WindowSum {
  double sum = 0, magnitude = 0;  // sums of elements, and of absolute values
};
inline WindowSum oracle_window(const std::vector<double>& x, std::int64_t i, std::int64_t width) {
  WindowSum w;
  const std::int64_t last = std::min(i + width / 2, static_cast<std::int64_t>(x.size()) - 1);
  for (std::int64_t at = std::max<std::int64_t>(i - width / 2, 0); at <= last; ++at) {
    w.sum += x[at];
    w.magnitude += std::abs(x[at]);
  }
  return w;
}

inline std::vector<double> oracle_reversed(std::vector<double> x, std::size_t block) {
  std::vector<double> y;
  for (std::size_t first = 0; first < x.size(); first += block) {
    const std::size_t last = std::min(first + block, x.size());
    for (std::size_t i = last; i > first; --i) y.push_back(x[i - 1]);
  }
  return y;
}

}  // namespace ridge::checklist_detail
