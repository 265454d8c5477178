// Group normalisation: a sample's channels are in groups, and each group is normalised by its own mean and variance.
//
//   group_norm  y = act((x - mean) / sqrt(var + eps) * gamma + beta), with mean and var over the channels and pixels of
//               a sample's group; var is the biased one (over n, not n - 1)
//   gradients   dx from dy and x, and dgamma and dbeta. The statistics are computed again from x
//
// Shapes    x, y, dy and dx [n, c, ...] (nchw) or [n, ..., c] (nhwc), of 2 to 8 axes; gamma, beta, dgamma, dbeta [c].
//           `groups` divides c, and a group's channels are neighbours. Strides are free as long as the spatial axes of
//           all tensors together merge into two. The fast paths take 16-byte vectors: of groups that are contiguous, or
//           of contiguous channels whose pixels are evenly spaced, whatever `layout` calls the axes.
// Types     x f32 f16 bf16; y, dy and dx have x's type. gamma, beta, dgamma and dbeta are each f32 or of x's type.
//           Everything is computed in float32.
// Options   gamma and beta, each on its own; without gamma the scale is 1, without beta the shift 0. dgamma and dbeta,
//           each on its own, also without gamma and beta. activation: none, relu, gelu (erf), gelu_tanh, silu, sigmoid,
//           relu6, hardswish, hardsigmoid; its gradient depends on beta too. That of relu is 0 at 0, of relu6 at 6
//           too, of hardsigmoid at -3 and 3.
// Accuracy  Values are taken relative to the group's first one, and the mean is kept as two floats: a mean far greater
//           than the deviations costs no digits. A first value far from all others costs those of that distance.
// Values    A constant group gives act(beta). A group of x with NaN or an infinity gives NaN. There is no meaning in a
//           group whose distances from its first value, or their squares, add up beyond float32, nor in a channel whose
//           gamma is infinite or whose gamma / sqrt(var + eps) is beyond float32. Gradients: NaN in a group's dy or
//           gamma, or, with an activation, in its beta, gives NaN for all of its dx; there is no meaning in dx of a
//           group with an infinity in these, or whose sums are beyond float32, and in dgamma and dbeta of such
//           channels.
// eps       not negative, finite. With 0, a constant group gives NaN, and one whose variance is below float32's normal
//           numbers has no meaning.
// Empty     no samples or no pixels: dgamma and dbeta are 0. Nothing else is written.
// Aliasing  y may be x itself (the same elements); any other overlap is refused, and every overlap for gradients.
// Repeats   bit for bit on one device.
#pragma once
#include <ridge/core/activation.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/tensor.hpp>

#include <optional>

namespace ridge {

enum class GroupNormLayout : std::uint8_t { nchw, nhwc };

struct GroupNormOptions {
  std::int64_t groups = 1;
  float eps = 1e-5f;
  Activation activation = Activation::none;
  GroupNormLayout layout = GroupNormLayout::nchw;
  bool operator==(const GroupNormOptions&) const = default;
};

struct GroupNormTensors {
  TensorView x, y;
  std::optional<TensorView> gamma = {}, beta = {};
};

struct GroupNormGradientTensors {
  TensorView dy, x;
  std::optional<TensorView> gamma = {}, beta = {};
  TensorView dx;
  std::optional<TensorView> dgamma = {}, dbeta = {};
};

struct GroupNormProblem {
  GroupNormOptions options = {};
  bool backward = false;
  DType dtype = DType::f32;
  // [n, c, h, w] in either layout, spatial axes merged. y: of y, or of dx; forward, dy is as x.
  Layout x = {}, y = {}, dy = {};
  int align_x = 16, align_y = 16, align_dy = 16;  // alignment of the address in bytes, 16 at most
  bool gamma = true, beta = true, dgamma = false, dbeta = false;
  bool aligned_parameters = true;  // gamma and beta are contiguous f32 on 16-byte addresses
  bool operator==(const GroupNormProblem&) const = default;

  // Contiguous, aligned tensors; the forward pass.
  RIDGE_API static GroupNormProblem contiguous(DType, std::int64_t n, std::int64_t c, std::int64_t spatial,
                                               const GroupNormOptions&);
  // The problem of these views; refuses shapes or dtypes that do not match, groups that do not divide, and overlap.
  RIDGE_API static Result<GroupNormProblem> of(const GroupNormTensors&, const GroupNormOptions&);
  RIDGE_API static Result<GroupNormProblem> of(const GroupNormGradientTensors&, const GroupNormOptions&);
  RIDGE_API std::string text() const;  // as in explain()
};

class GroupNormPlan {
 public:
  // The views must be as planned, and the workspace have workspace_bytes().
  RIDGE_API Status run(const GroupNormTensors&, Workspace = {}, Stream = {}) const;
  RIDGE_API Status run(const GroupNormGradientTensors&, Workspace = {}, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return workspace; }

  GroupNormProblem problem;
  DeviceInfo device;
  int variant = 0;            // row of the table in variants.hpp
  std::size_t workspace = 0;  // bytes
};

RIDGE_API Result<GroupNormPlan> plan_group_norm(const GroupNormProblem&, const DeviceInfo&, const PlanOptions& = {});

// One line each: plan (cached per problem and device), borrow workspace from the stream's pool, run. Throw
// ridge::Error.
RIDGE_API void group_norm(const GroupNormTensors&, const GroupNormOptions&, Stream = {});
RIDGE_API void group_norm_gradients(const GroupNormGradientTensors&, const GroupNormOptions&, Stream = {});

}  // namespace ridge
