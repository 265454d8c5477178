// Finds round bright things: filters, candidates at the filters' peaks, and nms, all by Ridge's operators on a device.
#pragma once
#include "image.hpp"

#include <ridge/core/device.hpp>

#include <array>
#include <vector>

namespace picture {

using Box = std::array<float, 4>;  // x1, y1, x2, y2 in pixels

struct Found {
  std::vector<float> response;  // the greatest of any size's filter at each pixel
  std::vector<Box> candidates;
  std::vector<float> scores;  // of the candidates: their contrast, of 255
  std::vector<int> kept;      // numbers of candidates, by falling score
};

// Throws ridge::Error.
Found detect(const Image&, const ridge::DeviceInfo&);

// The picture with all candidates faint and those that were kept bright; beside it the filters' response.
inline constexpr Color kept_color{255, 40, 40};
Image drawn(const Image&, const Found&);

}  // namespace picture
