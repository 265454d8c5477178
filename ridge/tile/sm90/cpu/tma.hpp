// TMA on the CPU runtime: a copy is done when it is started, by the thread that starts it.
#pragma once
#include <ridge/tile/sm90/mbarrier.cuh>
#include <ridge/tile/sm90/tensor_map.cuh>

#include <cstring>
#include <stdexcept>
#include <string>

namespace ridge::tile::sm90 {

namespace detail {

// f(place in the tile, element in memory) of every element of the box at `from`; null: outside of the tensor.
template <class F> void for_box(const TensorMap& map, const void* tile, const int (&from)[TensorMap::most_axes], F f) {
  const unsigned alignment = is_swizzled(static_cast<unsigned>(map.line)) ? atom_bytes : line_bytes;
  if (shared_address(tile) % alignment != 0) simt::detail::misaligned(tile, alignment, simt::detail::where::current());
  std::int64_t outer = 0;
  bool inside = true;
  for (int axis = 2; axis < map.axes; ++axis) {
    inside = inside && from[axis] >= 0 && from[axis] < map.size[axis];
    outer += from[axis] * map.stride[axis];
  }
  for (int r = 0; r < map.box_rows; ++r)
    for (int i = 0; i < map.line / map.element_bytes; ++i) {
      const std::int64_t x = from[0] + i, y = from[1] + r;
      const bool here = inside && x >= 0 && x < map.size[0] && y >= 0 && y < map.size[1];
      char* element = static_cast<char*>(map.data) + (outer + y * map.stride[1] + x) * map.element_bytes;
      f(swizzled(static_cast<unsigned>(r), static_cast<unsigned>(i * map.element_bytes),
                 static_cast<unsigned>(map.line)),
        here ? element : nullptr);
    }
}

// To where a load brings it, an element of the tensor, or null outside.
inline void bring(const TensorMap& map, char* to, const char* element) {
  const auto bytes = static_cast<std::size_t>(map.element_bytes);
  if (!element) {
    std::memset(to, 0, bytes);
  } else if (map.tf32) {
    std::uint32_t bits;
    std::memcpy(&bits, element, sizeof bits);
    const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
    bits = is_nan ? 0x7fffe000 : (bits + 0xfff + (bits >> 13 & 1)) & ~std::uint32_t{0x1fff};
    std::memcpy(to, &bits, sizeof bits);
  } else {
    std::memcpy(to, element, bytes);
  }
}

}  // namespace detail

inline void prefetch(const TensorMap*) {}
inline void fetch(const TensorMap*, int /*x*/, int /*y*/, int /*z*/) {}

inline void load(const TensorMap* map, void* to, Barrier* full, int x, int y, int z, int w = 0) {
  // As the engine refuses it, by an illegal instruction.
  if (!is_swizzled(static_cast<unsigned>(map->line)) && x * map->element_bytes % 16 != 0)
    throw std::invalid_argument("a tile without swizzle begins at element " + std::to_string(x) +
                                ", which is not on 16 bytes");
  detail::for_box(*map, to, {x, y, z, w}, [&](unsigned place, const char* element) {
    detail::bring(*map, static_cast<char*>(to) + place, element);
  });
  detail::arrived_bytes(full, map->box_rows * map->line);
}

namespace detail {

// The engine has so many bits for a tap's offset.
inline void check_tap(int tap, int most) {
  if (tap < 0 || tap > most) throw std::invalid_argument("a tap " + std::to_string(tap) + " pixels from the first");
}

// Pixels of images, which are volumes of one slice.
inline void load_windows(const TensorMap* map, void* to, Barrier* full, int c, int w, int h, int d, int n, int tap_w,
                         int tap_h, int tap_d) {
  if (shared_address(to) % atom_bytes != 0) simt::detail::misaligned(to, atom_bytes, simt::detail::where::current());
  const ImageMap& image = map->image;
  const int of_n = image.volume ? 4 : 3, in_line = map->line / map->element_bytes;
  const std::int64_t slices = image.volume ? map->size[3] : 1, slice = image.volume ? map->stride[3] : 0;
  for (const int tap : {tap_w, tap_h, tap_d}) check_tap(tap, image.volume ? most_volume_tap : most_image_tap);
  // Places are walked as the engine does, and only a step past a row's last one begins the next.
  for (int pixel = 0; pixel < map->box_rows; ++pixel) {
    const std::int64_t x = w + tap_w, y = h + tap_h, z = d + tap_d;
    const bool inside = x >= 0 && x < map->size[1] && y >= 0 && y < map->size[2] && z >= 0 && z < slices && n >= 0 &&
                        n < map->size[of_n];
    for (int i = 0; i < in_line; ++i) {
      char* at =
          static_cast<char*>(to) + swizzled(static_cast<unsigned>(pixel), static_cast<unsigned>(i * map->element_bytes),
                                            static_cast<unsigned>(map->line));
      const std::int64_t element = x * map->stride[1] + y * map->stride[2] + z * slice + n * map->stride[of_n] + c + i;
      const bool here = inside && c + i < map->size[0];
      bring(*map, at, here ? static_cast<const char*>(map->data) + element * map->element_bytes : nullptr);
    }
    if ((w += image.step_w) < map->size[1] + image.beyond_w) continue;
    w = image.first_w;
    if ((h += image.step_h) < map->size[2] + image.beyond_h) continue;
    h = image.first_h;
    if ((d += image.step_d) < slices + image.beyond_d) continue;
    d = image.first_d;
    ++n;
  }
  arrived_bytes(full, map->box_rows * map->line);
}

}  // namespace detail

inline void load_image(const TensorMap* map, void* to, Barrier* full, int c, int w, int h, int n, int tap_w,
                       int tap_h) {
  detail::load_windows(map, to, full, c, w, h, 0, n, tap_w, tap_h, 0);
}
inline void load_volume(const TensorMap* map, void* to, Barrier* full, int c, int w, int h, int d, int n, int tap_w,
                        int tap_h, int tap_d) {
  detail::load_windows(map, to, full, c, w, h, d, n, tap_w, tap_h, tap_d);
}

// A block is a cluster of its own.
inline void load_multicast(const TensorMap* map, void* to, Barrier* full, int x, int y, int z, std::uint16_t /*mask*/) {
  load(map, to, full, x, y, z);
}

inline void fence_shared_for_copies() {}
inline void fence_global_for_copies() {}
inline void store(const TensorMap* map, const void* from, int x, int y, int z, int w = 0) {
  detail::for_box(*map, from, {x, y, z, w}, [&](unsigned place, char* element) {
    if (element)
      std::memcpy(element, static_cast<const char*>(from) + place, static_cast<std::size_t>(map->element_bytes));
  });
}
inline void commit_stores() {}
template <int Pending> void wait_stores_read() {}
template <int Pending> void wait_stores() {}

}  // namespace ridge::tile::sm90
