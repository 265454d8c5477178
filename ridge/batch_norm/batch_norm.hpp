// Batch normalisation: each channel is normalised by its own mean and variance; and its gradients.
//
//   batch_norm         y = act(z), z = (x - mean) / sqrt(var + eps) * gamma + beta + residual, by the statistics given
//   batch_norm_stats   mean and var of x, over all axes but the channel; var is the biased one (over n, not n - 1)
//   batch_norm_train   both: mean and var, and y by them
//
// and gradients, with xhat = (x - mean) / sqrt(var + eps), from dy, x, mean and var; with an activation also from
// gamma, beta and residual, of which z is computed again:
//   dz                 dy times the activation's slope at z, which is also dresidual, the residual's gradient
//   dgamma, dbeta      sums of dz xhat, and of dz, over all axes but the channel
//   dx                 batch_norm: dz gamma / sqrt(var + eps). batch_norm_train, whose mean and var follow x: that of
//                      dz - mean of dz - xhat (mean of dz xhat) in place of dz
//
// Shapes    x, y and residual [n, c, ...] (nchw) or [n, ..., c] (nhwc), of 2 to 8 axes; mean, var, gamma and beta [c].
//           Strides are free as long as the spatial axes of all of them together merge into two; contiguous tensors
//           are fast. dy, dx and dresidual are as x, dgamma and dbeta as gamma.
// Types     x f32 f16 bf16; y and residual have x's type. Given mean, var, gamma and beta are each f32 or of x's type;
//           computed mean and var are f32, and so are dgamma and dbeta. Everything is computed in float32.
// Options   gamma and beta, each on its own; without gamma the scale is 1, without beta the shift 0. residual.
//           activation: none, relu, gelu (erf), gelu_tanh, silu, sigmoid, relu6, hardswish, hardsigmoid; slopes at
//           their corners are those of group_norm.hpp. dgamma, dbeta and dresidual, each on its own. Without an
//           activation dz is dy: a gradient takes no beta and no residual then, and gives no dresidual.
// Accuracy  Values are taken relative to the channel's first one and combined pairwise (Chan), so a mean far greater
//           than the deviations costs no digits. A first value far from all others costs var no digits; mean is right
//           to the last bits of that distance. Where dresidual is asked for, dx follows from it, so from dz in x's
//           type.
// Values    var + eps below 0 gives NaN. A channel with NaN or an infinity has NaN for mean and var; a variance beyond
//           float32 is not finite, and y is then act(beta + residual) or NaN. gamma / sqrt(var + eps) is a float32: if
//           it leaves that range, y has no meaning. An infinite z or dy has no meaning in gradients with an activation.
// Empty     statistics of no elements are NaN, dgamma and dbeta 0. Otherwise nothing is launched.
// Aliasing  y may be x or residual itself (the same elements); any other overlap is refused, and every overlap for
//           gradients.
// Repeats   bit for bit on one device.
#pragma once
#include <ridge/core/activation.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/tensor.hpp>

#include <optional>

namespace ridge {

enum class BatchNorm : std::uint8_t { inference, stats, train };
RIDGE_API std::string_view name(BatchNorm);

enum class BatchNormLayout : std::uint8_t { nchw, nhwc };

struct BatchNormOptions {
  float eps = 1e-5f;  // stats ignores it, and the activation
  BatchNormLayout layout = BatchNormLayout::nchw;
  Activation activation = Activation::none;
  bool operator==(const BatchNormOptions&) const = default;
};

// stats ignores y, gamma, beta and residual.
struct BatchNormTensors {
  TensorView x = {}, y = {}, mean = {}, var = {};
  std::optional<TensorView> gamma = {}, beta = {}, residual = {};
};

// A gradient's views: mean and var are those that y was made with.
struct BatchNormGradientTensors {
  TensorView dy = {}, x = {}, mean = {}, var = {};
  std::optional<TensorView> gamma = {}, beta = {}, residual = {};  // beta and residual: with an activation
  TensorView dx = {};
  std::optional<TensorView> dgamma = {}, dbeta = {}, dresidual = {};
};

struct BatchNormProblem {
  BatchNorm function = BatchNorm::inference;
  BatchNormOptions options = {};
  DType dtype = DType::f32;
  Layout x = {}, y = {};           // [n, c, h, w] in either layout, spatial axes merged; stats: y is x
  int align_x = 16, align_y = 16;  // alignment of the address in bytes, 16 at most
  bool gamma = true, beta = true, residual = false;
  bool aligned_parameters = true;  // parameters are contiguous f32 on 16-byte addresses
  Layout of_residual = {};         // as x, if there is a residual
  int align_residual = 16;
  // Backward: y is dx.
  bool backward = false, dgamma = false, dbeta = false, dresidual = false;
  Layout dy = {}, of_dresidual = {};  // as x
  int align_dy = 16, align_dresidual = 16;
  bool operator==(const BatchNormProblem&) const = default;

  // Contiguous, aligned tensors.
  RIDGE_API static BatchNormProblem contiguous(BatchNorm, DType, BatchNormLayout, std::int64_t n, std::int64_t c,
                                               std::int64_t spatial);
  // The problem of these views; refuses shapes or dtypes that do not match, and overlap.
  RIDGE_API static Result<BatchNormProblem> of(BatchNorm, const BatchNormTensors&, const BatchNormOptions&);
  // Of a gradient of inference or train.
  RIDGE_API static Result<BatchNormProblem> of_gradient(BatchNorm, const BatchNormGradientTensors&,
                                                        const BatchNormOptions&);
  RIDGE_API std::string text() const;  // as in explain()
};

class BatchNormPlan {
 public:
  // The views must be as planned.
  RIDGE_API Status run(const BatchNormTensors&, Workspace, Stream = {}) const;
  RIDGE_API Status run_gradient(const BatchNormGradientTensors&, Workspace, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  RIDGE_API std::size_t workspace_bytes() const;

  BatchNormProblem problem;
  DeviceInfo device;
  // Rows of the tables in variants.hpp, if the function has that part; backward: of the sums, and of their use.
  int stats_variant = 0, apply_variant = 0;
};

// options.variant names a row of the statistics' table; for inference, a row of its own table.
RIDGE_API Result<BatchNormPlan> plan_batch_norm(const BatchNormProblem&, const DeviceInfo&, const PlanOptions& = {});

// One line each: plan (cached per problem and device) and run. Throw ridge::Error.
RIDGE_API void batch_norm(const BatchNormTensors&, const BatchNormOptions& = {}, Stream = {});
RIDGE_API void batch_norm_stats(const BatchNormTensors&, const BatchNormOptions& = {}, Stream = {});
RIDGE_API void batch_norm_train(const BatchNormTensors&, const BatchNormOptions& = {}, Stream = {});
RIDGE_API void batch_norm_gradient(const BatchNormGradientTensors&, const BatchNormOptions& = {}, Stream = {});
RIDGE_API void batch_norm_train_gradient(const BatchNormGradientTensors&, const BatchNormOptions& = {}, Stream = {});

}  // namespace ridge
