// Tensor maps for the CPU runtime.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/core/status.hpp>
#include <ridge/tile/sm90/swizzle.hpp>

namespace ridge::tile::sm90 {

struct TensorMap {
  static constexpr int most_axes = 4;
  void* data;
  int element_bytes, axes, box_rows;
  std::int64_t size[most_axes], stride[most_axes];  // in elements; axis 0 is that of neighbours
};

template <std::size_t N>
Status make_tensor_map(TensorMap* map, const void* data, DType dtype, std::int64_t cols, const MapAxis (&outer)[N],
                       int box_rows) {
  static_assert(N < TensorMap::most_axes);
  *map = {const_cast<void*>(data), static_cast<int>(size_of(dtype)), 1 + N, box_rows, {cols, 1, 1, 1}, {1}};
  for (std::size_t i = 0; i < N; ++i) {
    map->size[1 + i] = outer[i].size;
    map->stride[1 + i] = outer[i].stride;
    // As the driver refuses it.
    if (outer[i].size > 1 && outer[i].stride * map->element_bytes % 16 != 0)
      return Status::error(Code::device_error, "a tensor map's strides must be multiples of 16 bytes");
  }
  return {};
}

}  // namespace ridge::tile::sm90
