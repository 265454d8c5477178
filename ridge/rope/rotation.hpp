// Shared by rope and rope_cache: options by name, tensors without a batch, positions, tables of angles.
#pragma once
#include <ridge/core/check_data.hpp>
#include <ridge/core/check_indices.hpp>
#include <ridge/core/options.hpp>
#include <ridge/core/text.hpp>
#include <ridge/rope/variants.hpp>

#include <cmath>
#include <string>
#include <utility>

namespace ridge::rope_detail {

// Views [s, h, d] as [1, s, h, d]; leaves other ranks unchanged.
inline Layout with_batch(Layout t) {
  if (t.rank != 3) return t;
  for (int axis = 3; axis > 0; --axis) {
    t.shape[axis] = t.shape[axis - 1];
    t.stride[axis] = t.stride[axis - 1];
  }
  t.shape[0] = 1;
  t.stride[0] = 0;
  t.rank = 4;
  return t;
}

// Options of case texts and the command line: style=neox|gptj  rotary_dim=N  base=X
inline Result<RopeOptions> rope_options(std::string_view op, const Options& options) {
  const std::string_view style = options.text("style", "neox");
  if (style != "neox" && style != "gptj")
    return Status::invalid(op, "style", "'" + std::string(style) + "'", "neox or gptj");
  auto n = options.integer(op, "rotary_dim", 0);
  if (!n) return n.error();
  auto base = options.real(op, "base", 10000);
  if (!base) return base.error();
  return RopeOptions{style == "neox" ? RopeStyle::neox : RopeStyle::gptj, *n, *base};
}

// The checklist item of a table row.
inline std::string_view checklist_item(const Variant& row) {
  if (row.config.method == Method::pairs) return {};
  return row.config.heads > 1 ? "coarsening" : "coalescing";
}

// Whether heads of d elements can be rotated by these options.
inline Status check_rotation(std::string_view op, const RopeOptions& options, std::int64_t d) {
  const std::int64_t n = rotary_dim(options, d);
  if (options.rotary_dim < 0 || n % 2 != 0 || n > d || n / 2 > most_angles)
    return Status::invalid(
        op, "rotary_dim", std::to_string(options.rotary_dim != 0 ? options.rotary_dim : n),
        "even, at most d, " + std::to_string(d) + ", and at most " + std::to_string(2 * most_angles));
  // With a base below 1 a pair would rotate by more than a radian a position, and whole revolutions would be lost.
  if (!(options.base >= 1) || !std::isfinite(options.base))
    return Status::invalid(op, "base", number_text(options.base), "finite, and 1 or more");
  return {};
}

// A request's tensors of positions and tables.
struct AngleTensors {
  const std::optional<TensorView>&positions, &cos, &sin;
};

// Checks them for tokens [b, s] of this dtype, the argument `x`. apart(view, name) refuses views that overlap outputs.
template <class Apart>
Status check_angles(std::string_view op, const AngleTensors& t, std::int64_t b, std::int64_t s, std::int64_t pairs,
                    DType dtype, std::string_view x, Apart&& apart) {
  if (t.cos.has_value() != t.sin.has_value())
    return Status::invalid(op, t.cos ? "sin" : "cos", "missing", "given along with the other table");
  if (t.positions) {
    const TensorView& v = *t.positions;
    if (v.dtype != DType::i32 && v.dtype != DType::i64)
      return Status::invalid(op, "positions.dtype", std::string(name(v.dtype)), "i32 or i64");
    if (!(v.rank() == 1 && v.size(0) == s) && !(v.rank() == 2 && v.size(0) == b && v.size(1) == s))
      return Status::invalid(op, "positions.shape", v.layout.text(),
                             std::to_string(s) + " or " + std::to_string(b) + "x" + std::to_string(s));
    RIDGE_TRY(apart(v, "positions"));
  }
  if (!t.cos) return {};
  for (const auto& [view, label] : {std::pair{&*t.cos, "cos"}, std::pair{&*t.sin, "sin"}}) {
    if (view->dtype != t.cos->dtype || (view->dtype != DType::f32 && view->dtype != dtype))
      return Status::invalid(op, std::string(label) + ".dtype", std::string(name(view->dtype)),
                             "f32 or that of " + std::string(x) + ", the same in both tables");
    if (view->rank() != 2 || view->size(1) != pairs || view->size(0) != t.cos->size(0))
      return Status::invalid(op, std::string(label) + ".shape", view->layout.text(),
                             "of 2 axes: as many positions in both tables, and " + std::to_string(pairs) + " pairs");
    RIDGE_TRY(apart(*view, label));
  }
  return {};
}

// If tables of angles are given, checks that they contain each token's position.
inline Status check_positions(std::string_view op, const AngleTensors& t, std::int64_t s, Stream stream) {
  if (!t.cos) return {};
  const std::int64_t rows = t.cos->size(0);
  if (t.positions) return check_indices(op, "positions", *t.positions, rows, "the positions of cos and sin", stream);
  return check_index(op, "the last position", s - 1, 0, rows - 1, "the positions of cos and sin");
}

}  // namespace ridge::rope_detail
