// Where outputs lie among the inputs of an axis, by definition; shares nothing with the kernels. Whole numbers decide
// which inputs these are, and double which weights they have.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace ridge::upsample_detail {

struct Tap {
  std::int64_t input;
  double weight;  // not 0
};

// The inputs of output j, of one or two different places.
inline std::vector<Tap> taps_of(bool bilinear, bool exact, bool align_corners, std::int64_t inputs,
                                std::int64_t outputs, std::int64_t j) {
  if (!bilinear) return {{exact ? (2 * j + 1) * inputs / (2 * outputs) : j * inputs / outputs, 1.0}};
  // The place is over / under.
  std::int64_t over = (2 * j + 1) * inputs - outputs, under = 2 * outputs;
  if (align_corners) over = outputs > 1 ? j * (inputs - 1) : 0, under = std::max<std::int64_t>(outputs - 1, 1);
  over = std::clamp<std::int64_t>(over, 0, (inputs - 1) * under);  // places beyond the edge are those of the edge
  const std::int64_t first = over / under, rest = over % under;
  const double behind = static_cast<double>(rest) / static_cast<double>(under);
  if (rest == 0) return {{first, 1.0}};
  return {{first, 1 - behind}, {first + 1, behind}};
}

}  // namespace ridge::upsample_detail
