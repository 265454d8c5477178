// Greedy suppression in double, by definition; shares nothing with the kernels.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace ridge::nms_detail {

// Whether boxes a and b (x1, y1, x2, y2) overlap by more than `iou`.
inline bool overlap_oracle(const double* a, const double* b, double iou, double more) {
  const auto side = [&](const double* box, int axis) { return box[2 + axis] - box[axis] + more; };
  double area_a = 1, area_b = 1, shared = 1;
  for (int axis = 0; axis < 2; ++axis) {
    if (!(side(a, axis) > 0) || !(side(b, axis) > 0)) return false;
    const double meet = std::min(a[2 + axis], b[2 + axis]) - std::max(a[axis], b[axis]) + more;
    if (!(meet > 0)) return false;
    area_a *= side(a, axis);
    area_b *= side(b, axis);
    shared *= meet;
  }
  return shared / (area_a + area_b - shared) > iou;
}

// classes may be empty.
inline std::vector<std::int64_t> nms_oracle(const std::vector<double>& boxes, const std::vector<double>& scores,
                                            const std::vector<double>& classes, double iou, bool legacy) {
  std::vector<std::int64_t> order(scores.size()), kept;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    return std::isnan(scores[j]) ? !std::isnan(scores[i]) : scores[i] > scores[j];
  });
  for (std::int64_t i : order) {
    const bool suppressed = std::any_of(kept.begin(), kept.end(), [&](std::int64_t j) {
      return (classes.empty() || classes[i] == classes[j]) &&
             overlap_oracle(&boxes[4 * i], &boxes[4 * j], iou, legacy ? 1 : 0);
    });
    if (!suppressed) kept.push_back(i);
  }
  return kept;
}

}  // namespace ridge::nms_detail
