#include <ridge/core/check_data.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

namespace ridge {

namespace {

enum class Extent { good, negative, many };

// Sizes of 0 count as 1, because contiguous strides are products of sizes too.
Extent extent_of(const std::int64_t* sizes, int count) {
  std::int64_t elements = 1;
  for (int axis = 0; axis < count; ++axis) {
    if (sizes[axis] < 0) return Extent::negative;
    if (__builtin_mul_overflow(elements, std::max<std::int64_t>(sizes[axis], 1), &elements) || elements > most_elements)
      return Extent::many;
  }
  return Extent::good;
}

std::string joined(std::span<const std::int64_t> values, const char* between) {
  std::string text;
  for (const std::int64_t value : values) text += (text.empty() ? "" : between) + std::to_string(value);
  return text;
}

Status refuse_extent(std::string_view op, std::string_view argument, std::span<const std::int64_t> sizes,
                     Extent extent) {
  return Status::invalid(op, std::string(argument), joined(sizes, "x"),
                         extent == Extent::negative ? "of sizes that are 0 or more" : "of at most 2^56 elements");
}

}  // namespace

Status check_extent(std::string_view op, std::string_view argument, const Layout& layout) {
  const auto rank = static_cast<std::size_t>(layout.rank);
  if (const Extent extent = extent_of(layout.shape.data(), layout.rank); extent != Extent::good)
    return refuse_extent(op, std::string(argument) + ".shape", std::span(layout.shape).first(rank), extent);
  std::int64_t low = 0, high = 0;
  for (int axis = 0; axis < layout.rank; ++axis) {
    if (layout.shape[axis] <= 1) continue;
    std::int64_t reach = 0;
    std::int64_t& end = layout.stride[axis] < 0 ? low : high;
    if (__builtin_mul_overflow(layout.shape[axis] - 1, layout.stride[axis], &reach) ||
        __builtin_add_overflow(end, reach, &end) || high > most_elements || low < -most_elements)
      return Status::invalid(op, std::string(argument) + ".strides", joined(std::span(layout.stride).first(rank), ","),
                             "such that elements lie within 2^56 of the first");
  }
  return {};
}

Status check_data(std::string_view op, std::string_view argument, const TensorView& view) {
  RIDGE_TRY(check_extent(op, argument, view.layout));
  if (reinterpret_cast<std::uintptr_t>(view.data) % size_of(view.dtype) == 0) return {};
  return Status::invalid(op, std::string(argument) + ".data", "misaligned", "aligned to its elements' size");
}

Status check_sizes(std::string_view op, std::string_view argument, std::initializer_list<std::int64_t> sizes) {
  const Extent extent = extent_of(sizes.begin(), static_cast<int>(sizes.size()));
  return extent == Extent::good ? Status() : refuse_extent(op, argument, sizes, extent);
}

Status check_elements_apart(std::string_view op, std::string_view argument, const Layout& layout) {
  if (!overlaps_itself(layout)) return {};
  std::string strides = joined(std::span(layout.stride).first(static_cast<std::size_t>(layout.rank)), ",");
  for (int axis = 0; axis < layout.rank; ++axis)
    if (layout.stride[axis] == 0 && layout.shape[axis] > 1)
      strides = "0 in an axis of " + std::to_string(layout.shape[axis]);
  return Status::invalid(op, std::string(argument) + ".strides", strides, "such that no two elements share memory");
}

}  // namespace ridge
