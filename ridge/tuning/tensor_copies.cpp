#include <ridge/core/gpu.hpp>
#include <ridge/tuning/tensor_copies.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace ridge::tuning {

namespace {

constexpr std::uintptr_t alignment = 256;  // that of a Buffer

// The bytes in [begin, end) that views touch.
struct Region {
  std::uintptr_t begin, end;
};

Region region_of(const TensorView& v) {
  const auto size = static_cast<std::int64_t>(size_of(v.dtype));
  std::int64_t lowest = 0;
  for (int axis = 0; axis < v.rank(); ++axis) lowest += std::min<std::int64_t>(v.stride(axis), 0) * (v.size(axis) - 1);
  const auto begin = reinterpret_cast<std::uintptr_t>(v.data) + static_cast<std::uintptr_t>(lowest * size);
  return {begin, begin + static_cast<std::uintptr_t>(v.layout.span() * size)};
}

// Merges regions that overlap.
std::vector<Region> merged(std::vector<Region> regions) {
  std::ranges::sort(regions, {}, &Region::begin);
  std::vector<Region> apart;
  for (const Region& r : regions) {
    if (apart.empty() || r.begin >= apart.back().end) apart.push_back(r);
    else apart.back().end = std::max(apart.back().end, r.end);
  }
  return apart;
}

}  // namespace

Result<TensorCopies> TensorCopies::make(Views inputs, Views outputs, const DeviceInfo& device, Stream stream) {
  std::vector<Region> touched;
  for (const Views& views : {inputs, outputs})
    for (const TensorView& v : views)
      if (v.count() > 0) touched.push_back(region_of(v));
  const std::vector<Region> regions = merged(std::move(touched));
  std::size_t bytes = 0;
  for (const Region& r : regions) bytes += r.end - r.begin;
  constexpr std::size_t most_sets = 32;
  const auto wanted =
      static_cast<std::size_t>(2 * std::max<std::int64_t>(device.l2_bytes, 0)) / std::max<std::size_t>(bytes, 1) + 1;

  const auto copy = [&](void* to, const void* from, std::size_t n) -> Status {
    if (!device.is_cpu()) return gpu::copy_on(device.id.index, to, from, n, stream);
    std::memcpy(to, from, n);
    return {};
  };
  TensorCopies copies;
  for (std::size_t s = 0; s < std::min(wanted, most_sets); ++s) {
    std::vector<std::uintptr_t> moved;  // per region: the change of its addresses
    for (const Region& r : regions) {
      const std::uintptr_t alignment_offset = r.begin % alignment;
      auto buffer = Buffer::allocate(device.id, r.end - r.begin + alignment_offset);
      if (!buffer) return buffer.error();
      const std::uintptr_t to = reinterpret_cast<std::uintptr_t>(buffer->data()) + alignment_offset;
      RIDGE_TRY(copy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(r.begin), r.end - r.begin));
      moved.push_back(to - r.begin);
      copies.buffers_.push_back(std::move(*buffer));
    }
    const auto moved_views = [&](Views views) {
      std::vector<TensorView> list(views.begin(), views.end());
      for (TensorView& v : list) {
        if (v.count() == 0) continue;
        const Region of = region_of(v);
        for (std::size_t i = 0; i < regions.size(); ++i)
          if (regions[i].begin <= of.begin && of.end <= regions[i].end)
            v.data = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(v.data) + moved[i]);
      }
      return list;
    };
    copies.sets_.push_back({moved_views(inputs), moved_views(outputs)});
  }
  return copies;
}

}  // namespace ridge::tuning
