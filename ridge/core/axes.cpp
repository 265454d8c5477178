#include <ridge/core/axes.hpp>
#include <ridge/core/whole_numbers.hpp>

#include <algorithm>

namespace ridge {

static std::string joined(std::span<const std::int64_t> axes) {
  std::string text;
  for (std::int64_t axis : axes) text += (text.empty() ? "" : ",") + std::to_string(axis);
  return text;
}

static std::string allowed(int rank, std::string_view left_out) {
  if (rank == 0) return "left out: x is a scalar";
  return "from " + std::to_string(-rank) + " to " + std::to_string(rank - 1) + ", or left out for " +
         std::string(left_out);
}

Result<AxisSet> AxisSet::of(std::string_view op, std::span<const std::int64_t> axes, int rank,
                            std::string_view left_out) {
  AxisSet set;
  for (std::int64_t axis : axes) {
    if (axis < -rank || axis >= rank) return Status::invalid(op, "axis", joined(axes), allowed(rank, left_out));
    const int from_first = static_cast<int>(axis < 0 ? axis + rank : axis);
    if (set.contains(from_first)) return Status::invalid(op, "axis", joined(axes), "without any axis named twice");
    set.bits |= 1u << from_first;
  }
  return set;
}

Result<AxisSet> AxisSet::of(std::string_view op, std::string_view key, const Options& options, int rank) {
  const std::string_view text = options.text(key);
  const auto axes = whole_numbers(text);
  if (!axes)
    return Status::invalid(op, std::string(key), "'" + std::string(text) + "'", "a whole number, or some as in 0,2");
  return of(op, *axes, rank);
}

std::string AxisSet::text() const {
  std::string text;
  for (int axis = 0; axis < max_rank; ++axis)
    if (contains(axis)) text += (text.empty() ? "" : ",") + std::to_string(axis);
  if (bits & no_axis) text += text.empty() ? "none" : ",none";
  return text;
}

static Layout picked(const Layout& layout, AxisSet set, bool wanted) {
  Layout some;
  for (int axis = 0; axis < layout.rank; ++axis) {
    if (set.contains(axis) != wanted) continue;
    some.shape[some.rank] = layout.shape[axis];
    some.stride[some.rank++] = layout.stride[axis];
  }
  return some;
}
Layout within(const Layout& layout, AxisSet set) { return picked(layout, set, true); }
Layout without(const Layout& layout, AxisSet set) { return picked(layout, set, false); }

Result<int> axis_of(std::string_view op, std::int64_t axis, int rank) {
  const auto set = AxisSet::of(op, std::span(&axis, 1), rank, "the last");
  if (!set) return set.error();
  return std::countr_zero(set->bits);
}

TensorView axis_last(const TensorView& v, int axis) {
  TensorView moved = v;
  const Layout others = without(v.layout, AxisSet::of({axis}));
  moved.layout = others;
  moved.layout.shape[others.rank] = v.layout.shape[axis];
  moved.layout.stride[others.rank] = v.layout.stride[axis];
  moved.layout.rank = v.layout.rank;
  return moved;
}

}  // namespace ridge
