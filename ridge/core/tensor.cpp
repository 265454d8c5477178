#include <ridge/core/checked.hpp>
#include <ridge/core/tensor.hpp>

#include <algorithm>
#include <limits>

namespace ridge {

Layout Layout::contiguous(std::span<const std::int64_t> shape) {
  Layout layout;
  layout.rank = static_cast<int>(shape.size());
  std::int64_t stride = 1;
  for (int axis = layout.rank - 1; axis >= 0; --axis) {
    layout.shape[axis] = shape[axis];
    layout.stride[axis] = stride;
    stride = saturating_product(stride, std::max<std::int64_t>(shape[axis], 1));
  }
  return layout;
}

std::int64_t Layout::count() const {
  std::int64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) {
    if (shape[axis] == 0) return 0;
    count = saturating_product(count, shape[axis]);
  }
  return count;
}

bool Layout::is_contiguous() const {
  std::int64_t expected = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    if (shape[axis] == 0) return true;
    if (shape[axis] != 1 && stride[axis] != expected) return false;
    expected = saturating_product(expected, shape[axis]);
  }
  return true;
}

std::int64_t Layout::span() const {
  if (count() == 0) return 0;
  std::int64_t low = 0, high = 0;
  for (int axis = 0; axis < rank; ++axis) {
    const std::int64_t reach = saturating_product(shape[axis] - 1, stride[axis]);
    std::int64_t& end = reach < 0 ? low : high;
    end = saturating_sum(end, reach);
  }
  return saturating_sum(saturating_sum(high, -std::max(low, -std::numeric_limits<std::int64_t>::max())), 1);
}

TensorView broadcast_to(const TensorView& view, const Layout& shape) {
  TensorView wide = view;
  wide.layout.rank = shape.rank;
  const int missing = shape.rank - view.layout.rank;
  if (missing < 0) return view;
  for (int axis = 0; axis < shape.rank; ++axis) {
    const std::int64_t own = axis < missing ? 1 : view.layout.shape[axis - missing];
    if (own != shape.shape[axis] && own != 1) return view;
    wide.layout.shape[axis] = shape.shape[axis];
    wide.layout.stride[axis] = own == shape.shape[axis] && axis >= missing ? view.layout.stride[axis - missing] : 0;
  }
  return wide;
}

bool Layout::same_shape(const Layout& other) const {
  return rank == other.rank && std::equal(shape.begin(), shape.begin() + rank, other.shape.begin());
}

std::string Layout::text() const {
  std::string shape_text, stride_text;
  for (int axis = 0; axis < rank; ++axis) {
    shape_text += (axis ? "x" : "") + std::to_string(shape[axis]);
    stride_text += (axis ? "," : "") + std::to_string(stride[axis]);
  }
  if (rank == 0) shape_text = "scalar";
  return is_contiguous() ? shape_text : shape_text + " strides " + stride_text;
}

void collapse(std::span<Layout> views) {
  if (views.empty()) return;
  const Layout& first = views.front();
  int kept = 0;  // axes [0, kept) are final
  for (int axis = 0; axis < first.rank; ++axis) {
    const std::int64_t size = first.shape[axis];
    if (size == 1) continue;
    const bool continues = kept > 0 && std::ranges::all_of(views, [&](const Layout& v) {
                             std::int64_t next = 0;
                             return !__builtin_mul_overflow(v.stride[axis], size, &next) && v.stride[kept - 1] == next;
                           });
    for (Layout& v : views) {
      const std::int64_t stride = v.stride[axis];
      if (continues) {
        v.shape[kept - 1] = saturating_product(v.shape[kept - 1], size);
        v.stride[kept - 1] = stride;
      } else {
        v.shape[kept] = size;
        v.stride[kept] = stride;
      }
    }
    if (!continues) ++kept;
  }
  for (Layout& v : views) {
    v.rank = kept;
    std::fill(v.shape.begin() + kept, v.shape.end(), 0);
    std::fill(v.stride.begin() + kept, v.stride.end(), 0);
  }
}

int alignment_of(const void* data, int most) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  int alignment = 1;
  while (alignment < most && address % (2 * alignment) == 0) alignment *= 2;
  return alignment;
}

}  // namespace ridge
