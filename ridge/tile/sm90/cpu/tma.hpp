// TMA on the CPU runtime: a copy is done when it is started, by the thread that starts it.
#pragma once
#include <ridge/tile/sm90/mbarrier.cuh>
#include <ridge/tile/sm90/tensor_map.cuh>

#include <cstring>

namespace ridge::tile::sm90 {

namespace detail {

// f(place in the tile, element in memory) of every element of the box at `from`; null: outside of the tensor.
template <class F> void for_box(const TensorMap& map, const void* tile, const int (&from)[TensorMap::most_axes], F f) {
  if (shared_address(tile) % atom_bytes != 0)
    simt::detail::misaligned(tile, atom_bytes, simt::detail::where::current());
  std::int64_t outer = 0;
  bool inside = true;
  for (int axis = 2; axis < map.axes; ++axis) {
    inside = inside && from[axis] >= 0 && from[axis] < map.size[axis];
    outer += from[axis] * map.stride[axis];
  }
  for (int r = 0; r < map.box_rows; ++r)
    for (int i = 0; i < line_bytes / map.element_bytes; ++i) {
      const std::int64_t x = from[0] + i, y = from[1] + r;
      const bool here = inside && x >= 0 && x < map.size[0] && y >= 0 && y < map.size[1];
      char* element = static_cast<char*>(map.data) + (outer + y * map.stride[1] + x) * map.element_bytes;
      f(swizzled(static_cast<unsigned>(r), static_cast<unsigned>(i * map.element_bytes)), here ? element : nullptr);
    }
}

}  // namespace detail

inline void prefetch(const TensorMap*) {}

inline void load(const TensorMap* map, void* to, Barrier* full, int x, int y, int z, int w = 0) {
  detail::for_box(*map, to, {x, y, z, w}, [&](unsigned place, const char* element) {
    char* at = static_cast<char*>(to) + place;
    if (element) std::memcpy(at, element, static_cast<std::size_t>(map->element_bytes));
    else std::memset(at, 0, static_cast<std::size_t>(map->element_bytes));
  });
  detail::arrived_bytes(full, map->box_rows * line_bytes);
}

inline void load_multicast(const TensorMap* map, void* to, Barrier* full, int x, int y, int z, std::uint16_t /*mask*/) {
  load(map, to, full, x, y, z);
}

inline void fence_shared_for_copies() {}
inline void store(const TensorMap* map, const void* from, int x, int y, int z, int w = 0) {
  detail::for_box(*map, from, {x, y, z, w}, [&](unsigned place, char* element) {
    if (element)
      std::memcpy(element, static_cast<const char*>(from) + place, static_cast<std::size_t>(map->element_bytes));
  });
}
inline void commit_stores() {}
template <int Pending> void wait_stores_read() {}

}  // namespace ridge::tile::sm90
