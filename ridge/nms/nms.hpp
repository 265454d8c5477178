// nms: non-maximum suppression of boxes. By descending score, a box is kept unless it overlaps one kept before it.
//
// Shapes    boxes [n, 4] of x1, y1, x2, y2; scores [n]; classes [n], optional: boxes of different classes do not
//           overlap. indices [n]: the kept boxes by descending score, then -1; count [1]: how many were kept.
//           Strides are free.
// Types     boxes and scores both f32 or both f16, computed in float32; classes i32 or i64; indices and count i64.
// Values    Two boxes overlap if their intersection is more than `iou` of their union; exactly `iou` is not more. A
//           side is x2 - x1, or with `legacy` x2 - x1 + 1: corners count as pixels. A box with a side of 0 or less, or
//           with a NaN, overlaps nothing. Equal scores: the lower index first (-0 equals 0). NaN scores come last.
// Limits    n < 2^31.
// Aliasing  Outputs must not overlap inputs or each other.
// Empty     count is 0.
// Repeats   bitwise identical. Nothing is copied to the host.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>

#include <optional>

namespace ridge {

struct NmsProblem {
  std::int64_t n = 0;
  DType dtype = DType::f32;
  float iou = 0.5f;
  bool legacy = false;
  std::optional<DType> classes = {};  // their type, if there are classes
  // Strides in elements: of boxes and of coordinates, and of the other tensors.
  std::int64_t box_pitch = 4, box_step = 1, score_step = 1, class_step = 1, index_step = 1;
  bool operator==(const NmsProblem&) const = default;
  RIDGE_API std::string text() const;  // for explain()
};

struct NmsTensors {
  TensorView boxes, scores, indices, count;
  std::optional<TensorView> classes = {};
};

struct NmsOptions {
  float iou = 0.5f;
  bool legacy = false;
};

class NmsPlan {
 public:
  // The views must be as planned. Workspace: workspace_bytes(), uninitialized.
  RIDGE_API Status run(const NmsTensors&, Workspace, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  RIDGE_API std::size_t workspace_bytes() const;

  NmsProblem problem;
  DeviceInfo device;
  int variant = 0;  // row of the table in variants.hpp
};

// The problem of these tensors. Refuses shapes, dtypes and devices that do not match, and overlap.
RIDGE_API Result<NmsProblem> nms_problem(const NmsTensors&, const NmsOptions& = {});
RIDGE_API Result<NmsPlan> plan_nms(const NmsProblem&, const DeviceInfo&, const PlanOptions& = {});

// Plan (cached per problem and device), borrow workspace, run. Throws ridge::Error.
RIDGE_API void nms(const NmsTensors&, const NmsOptions& = {}, Stream = {});

}  // namespace ridge
