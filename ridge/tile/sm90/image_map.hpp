// Images as the copy engine gathers them (im2col): columns of the pixels that windows have at one of their taps. Plain
// C++: plans ask for the limits.
#pragma once
#include <cstdint>

namespace ridge::tile::sm90 {

// An axis other than the contiguous one.
struct MapAxis {
  std::int64_t size = 1, stride = 0;  // stride: in elements, a multiple of 16 bytes
};

// Images [n, h, w, c] whose channels are contiguous. Windows follow each other along w, row after row, image after
// image. The first tap of the first window is at `first`, which padding puts outside of the image; that of the last
// window is at or before size - 1 + `beyond`; windows are `step` pixels apart.
//
// Volumes [n, d, h, w, c] are images with one axis more: windows go on from slice to slice.
struct ImageMap {
  std::int64_t channels = 0;
  MapAxis w, h, n;
  int first_w = 0, first_h = 0, beyond_w = 0, beyond_h = 0;
  int step_w = 1, step_h = 1;
  bool volume = false;
  MapAxis d = {};
  int first_d = 0, beyond_d = 0, step_d = 1;
};
inline constexpr int least_image_corner = -128, most_image_corner = 127;  // of `first` and `beyond`
inline constexpr int most_image_step = 8;
inline constexpr int most_image_tap = 255;  // pixels from the first tap to another
// The same of volumes: with three axes the engine has five bits for each.
inline constexpr int least_volume_corner = -16, most_volume_corner = 15, most_volume_tap = 31;

}  // namespace ridge::tile::sm90
