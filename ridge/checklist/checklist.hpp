// The textbook's checklist as tiny operators: each does one thing in several ways; one is right, the others show what
// goes wrong. README.md says what to look for in each.
//
//   checklist_copy       y = x                                  coalesced, strided and misaligned access
//   checklist_branch     y = a hash of x, one for even indices and another for odd ones                  divergence
//   checklist_vecadd     y = a + b                              one element per thread or several: coarsening
//   checklist_histogram  y[k] = number of elements of x equal to k   atomics, privatised, coarsened
//   checklist_window     y[i] = sum of x[i - r .. i + r]        shared memory; zeros beyond the ends; w = 2r + 1
//   checklist_banks      y = every 128 elements of x reversed   shared memory with strides 1, 2, 3, 4, 32, 33
//
// Shapes    n elements, contiguous; checklist_histogram has 256 counts.
// Types     f32; checklist_branch i32 (it wraps), checklist_histogram u8 to i32.
// Aliasing  outputs must be apart from inputs.
// Empty     nothing is launched; counts become 0.
// Repeats   bitwise identical: additions have a fixed order, counts are whole numbers.
#pragma once
#include <ridge/core/op.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/tensor.hpp>

namespace ridge {

enum class Lesson : std::uint8_t { copy, branch, vecadd, histogram, window, banks };
inline constexpr int lesson_count = 6;
RIDGE_API std::string_view name(Lesson);  // "checklist_copy"

struct ChecklistProblem {
  Lesson lesson = Lesson::copy;
  std::int64_t n = 0;
  std::int64_t width = 9;  // window width; odd
  bool operator==(const ChecklistProblem&) const = default;
};

class ChecklistPlan {
 public:
  // The views must be contiguous and of the plan's sizes and types.
  RIDGE_API Status run(Views inputs, const TensorView& y, Stream = {}) const;
  // Whether run() would accept them.
  RIDGE_API Status check(Views inputs, const TensorView& y) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return 0; }

  ChecklistProblem problem;
  DeviceInfo device;
  int variant = 0;  // row of the lesson's table in variants.hpp
};

RIDGE_API Result<ChecklistPlan> plan_checklist(const ChecklistProblem&, const DeviceInfo&, const PlanOptions& = {});

}  // namespace ridge
