#include <ridge/transpose/transpose.hpp>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace ridge::transpose_detail {

namespace {
struct Axis {
  std::int64_t size, x, y;  // strides in bytes, later in units
};

// Axes of more than one element, y's fastest last, followed by the bytes of an element as an axis; merged where both
// sides allow it.
std::vector<Axis> merged_axes(const TransposeProblem& p) {
  std::vector<Axis> axes;
  for (int axis = 0; axis < p.y.rank; ++axis)
    if (p.y.shape[axis] != 1)
      axes.push_back({p.y.shape[axis], p.x.stride[p.axes[axis]] * p.element_bytes, p.y.stride[axis] * p.element_bytes});
  std::ranges::stable_sort(axes, [](const Axis& a, const Axis& b) { return std::abs(a.y) > std::abs(b.y); });
  axes.push_back({p.element_bytes, 1, 1});
  std::vector<Axis> merged;
  for (const Axis& axis : axes) {
    if (!merged.empty() && merged.back().x == axis.x * axis.size && merged.back().y == axis.y * axis.size)
      merged.back() = {merged.back().size * axis.size, axis.x, axis.y};
    else merged.push_back(axis);
  }
  return merged;
}

// The largest unit, up to a chunk, that divides the innermost run, every other stride and both addresses.
int common_unit(const std::vector<Axis>& axes, const TransposeProblem& p) {
  int unit = chunk_bytes;
  const auto divides = [&](const Axis& axis) { return axis.x % unit == 0 && axis.y % unit == 0; };
  while (axes.back().size % unit || p.offset_x % unit || p.offset_y % unit ||
         !std::all_of(axes.begin(), axes.end() - 1, divides))
    unit /= 2;
  return unit;
}
}  // namespace

Form form_of(const TransposeProblem& p) {
  Form f;
  f.unit = p.element_bytes;
  f.cols = p.y.count() ? 1 : 0;
  if (f.cols == 0) return f;
  std::vector<Axis> axes = merged_axes(p);
  f.unit = common_unit(axes, p);
  f.offset_x = p.offset_x;
  f.offset_y = p.offset_y;
  axes.back().size /= f.unit;
  for (auto axis = axes.begin(); axis != axes.end() - 1; ++axis) {
    axis->x /= f.unit;
    axis->y /= f.unit;
  }
  if (axes.back().size == 1) axes.pop_back();

  const auto take = [&](auto axis) {
    const Axis taken = *axis;
    axes.erase(axis);
    return taken;
  };
  if (axes.empty()) return f;  // a single unit
  if (axes.back().x == 1 && axes.back().y == 1) {
    f.cols = take(axes.end() - 1).size;
    f.kind = axes.empty() ? Kind::copy : Kind::runs;
  } else {
    f.kind = Kind::strided;
    const auto col = std::ranges::find(axes, 1, &Axis::x);
    if (axes.back().y == 1 && col != axes.end()) {
      f.kind = Kind::matrices;
      const Axis cols = take(col), rows = take(axes.end() - 1);
      f.rows = rows.size, f.pitch_x = rows.x;
      f.cols = cols.size, f.pitch_y = cols.y;
    }
  }
  for (const Axis& axis : axes) f.outer.push(axis.size, axis.x, axis.y);
  return f;
}

}  // namespace ridge::transpose_detail
