// Images as the copy engine gathers them: columns of the pixels that windows meet with one of their taps. Plain C++:
// plans ask for the limits.
#pragma once
#include <cstdint>

namespace ridge::tile::sm90 {

// An axis besides that of neighbours.
struct MapAxis {
  std::int64_t size = 1, stride = 0;  // stride: in elements, a multiple of 16 bytes
};

// Images [n, h, w, c] whose channels are neighbours. Windows are walked along w, row after row, image after image: the
// first tap of the first window is at `first`, which padding puts outside; that of the last at or before
// size - 1 + `beyond`; `step` pixels are from window to window.
struct ImageMap {
  std::int64_t channels = 0;
  MapAxis w, h, n;
  int first_w = 0, first_h = 0, beyond_w = 0, beyond_h = 0;
  int step_w = 1, step_h = 1;
};
inline constexpr int least_image_corner = -128, most_image_corner = 127;  // of `first` and `beyond`
inline constexpr int most_image_step = 8;
inline constexpr int most_image_tap = 255;  // pixels from the first tap to another

}  // namespace ridge::tile::sm90
