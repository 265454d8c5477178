// nms: non-maximum suppression of boxes. By falling score, a box is kept unless it overlaps one that was kept before.
//
// Shapes    boxes [n, 4] of x1, y1, x2, y2; scores [n]; classes [n], optional: boxes of different classes do not
//           overlap. indices [n]: the kept boxes' numbers by falling score, then -1; count [1]: how many were kept.
//           Strides are free.
// Types     boxes and scores f32 or f16, both the same, computed in float32; classes i32 or i64; indices and count i64.
// Values    Two boxes overlap if the area they share is more than `iou` of the area they cover together; exactly `iou`
//           is not more. A side is x2 - x1, or with `legacy` x2 - x1 + 1: corners count as pixels. A box with a side of
//           0 or less, or with a NaN, overlaps nothing. Equal scores: the lower number first (-0 equals 0). NaN scores
//           come last.
// Limits    n < 2^31.
// Aliasing  Outputs must not overlap inputs or each other.
// Empty     count is 0.
// Repeats   bit for bit. Nothing is copied to the host.
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
  std::optional<DType> classes = {};  // their type, where there are any
  // In elements: from box to box and from coordinate to coordinate, and from each number to the next.
  std::int64_t box_pitch = 4, box_step = 1, score_step = 1, class_step = 1, index_step = 1;
  bool operator==(const NmsProblem&) const = default;
  RIDGE_API std::string text() const;  // what explain() says of it
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
  // The views must be as planned. Workspace: workspace_bytes(), whose contents need not be set.
  RIDGE_API Status run(const NmsTensors&, Workspace, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  RIDGE_API std::size_t workspace_bytes() const;

  NmsProblem problem;
  DeviceInfo device;
  int variant = 0;  // row of the table in variants.hpp
};

// What the tensors need; refuses shapes, dtypes and devices that do not belong together, and overlap.
RIDGE_API Result<NmsProblem> nms_problem(const NmsTensors&, const NmsOptions& = {});
RIDGE_API Result<NmsPlan> plan_nms(const NmsProblem&, const DeviceInfo&, const PlanOptions& = {});

// Plan (cached per problem and device), borrow workspace, run. Throws ridge::Error.
RIDGE_API void nms(const NmsTensors&, const NmsOptions& = {}, Stream = {});

}  // namespace ridge
