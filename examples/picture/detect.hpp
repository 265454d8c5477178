// Finds bright discs: filters, candidates at the filters' peaks, and nms, all with Ridge's operators on a device.
#pragma once
#include "image.hpp"

#include <ridge/core/device.hpp>

#include <array>
#include <vector>

namespace picture {

using Box = std::array<float, 4>;  // x1, y1, x2, y2 in pixels

struct Found {
  std::vector<float> response;  // at each pixel the greatest response of all filters
  std::vector<Box> candidates;
  std::vector<float> scores;  // the candidates' contrast, at most 255
  std::vector<int> kept;      // indices of candidates, by falling score
};

// Throws ridge::Error.
Found detect(const Image&, const ridge::DeviceInfo&);

// The picture with all candidates in a faint colour and the kept ones bright; beside it the filters' response.
inline constexpr Color kept_color{255, 40, 40};
Image drawn(const Image&, const Found&);

}  // namespace picture
