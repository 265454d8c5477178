// Sets of a tensor's axes: those that an operator works along.
#pragma once
#include <ridge/core/options.hpp>
#include <ridge/core/tensor.hpp>

#include <bit>
#include <initializer_list>
#include <span>

namespace ridge {

struct AxisSet {
  std::uint32_t bits = 0;  // bit i: axis i, counted from the first
  static constexpr std::uint32_t no_axis = 1u << 31;
  // Counted from the first. What is none, such as -1, is kept as no_axis, which every operator refuses.
  static constexpr AxisSet of(std::initializer_list<int> axes) {
    AxisSet set;
    for (int axis : axes) set.bits |= axis >= 0 && axis < max_rank ? 1u << axis : no_axis;
    return set;
  }
  constexpr bool contains(int axis) const { return bits >> axis & 1; }
  constexpr int count() const { return std::popcount(bits); }
  bool operator==(const AxisSet&) const = default;

  // Axes of a tensor of that rank, where -1 is the last; refuses those that it has not, and one that is named twice.
  // left_out: what the operator does without the option, for the sentence.
  RIDGE_API static Result<AxisSet> of(std::string_view op, std::span<const std::int64_t> axes, int rank,
                                      std::string_view left_out = "all axes");
  // The same from an option, such as axis=0,2.
  RIDGE_API static Result<AxisSet> of(std::string_view op, std::string_view key, const Options&, int rank);

  RIDGE_API std::string text() const;  // "0,2"
};

// The layout's axes in the set, in their order; and the others.
Layout within(const Layout&, AxisSet);
Layout without(const Layout&, AxisSet);

// An axis counted from the first, of one where -1 is the last; refuses what the tensor has not.
RIDGE_API Result<int> axis_of(std::string_view op, std::int64_t axis, int rank);

// The same elements with this axis as the last one, behind the others in their order; no data moves.
RIDGE_API TensorView axis_last(const TensorView&, int axis);

}  // namespace ridge
