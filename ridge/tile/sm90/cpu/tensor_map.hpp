// Tensor maps for the CPU runtime.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/core/status.hpp>
#include <ridge/tile/sm90/image_map.hpp>
#include <ridge/tile/sm90/swizzle.hpp>

namespace ridge::tile::sm90 {

struct TensorMap {
  static constexpr int most_axes = 5;
  void* data;
  int element_bytes, axes, box_rows, line;          // line: bytes
  std::int64_t size[most_axes], stride[most_axes];  // in elements; axis 0 is that of neighbours
  ImageMap image;                                   // of make_image_map(), whose axes are c, w, h, n, or c, w, h, d, n
  bool tf32;                                        // of float32: loads round
};

template <std::size_t N>
Status make_tensor_map(TensorMap* map, const void* data, MapElement element, std::int64_t cols,
                       const MapAxis (&outer)[N], int box_rows, int line = line_bytes,
                       Fetch /*of the device's cache*/ = Fetch::wide) {
  static_assert(N < TensorMap::most_axes);
  *map = {const_cast<void*>(data),
          static_cast<int>(size_of(element.dtype)),
          1 + N,
          box_rows,
          line,
          {cols, 1, 1, 1, 1},
          {1},
          {},
          element.tf32};
  for (std::size_t i = 0; i < N; ++i) {
    map->size[1 + i] = outer[i].size;
    map->stride[1 + i] = outer[i].stride;
    // As the driver refuses it.
    if (outer[i].size > 1 && outer[i].stride * map->element_bytes % 16 != 0)
      return Status::error(Code::device_error, "a tensor map's strides must be multiples of 16 bytes");
  }
  return {};
}

inline Status make_image_map(TensorMap* map, const void* data, MapElement element, const ImageMap& image, int pixels,
                             int line = line_bytes) {
  RIDGE_TRY(
      image.volume
          ? make_tensor_map(map, data, element, image.channels, {image.w, image.h, image.d, image.n}, pixels, line)
          : make_tensor_map(map, data, element, image.channels, {image.w, image.h, image.n}, pixels, line));
  map->image = image;
  // As the driver refuses them.
  const int least = image.volume ? least_volume_corner : least_image_corner;
  const int most = image.volume ? most_volume_corner : most_image_corner;
  for (const int corner : {image.first_w, image.first_h, image.first_d, image.beyond_w, image.beyond_h, image.beyond_d})
    if (corner < least || corner > most)
      return Status::error(Code::device_error,
                           "an image map's corners must be from -128 to 127, a volume's from -16 to 15");
  for (const int step : {image.step_w, image.step_h, image.step_d})
    if (step < 1 || step > most_image_step)
      return Status::error(Code::device_error, "an image map's steps must be from 1 to 8");
  return {};
}

}  // namespace ridge::tile::sm90
