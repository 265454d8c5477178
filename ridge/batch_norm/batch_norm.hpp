// Batch normalisation: each channel is normalised by its own mean and variance; and its gradients.
//
//   batch_norm         y = (x - mean) / sqrt(var + eps) * gamma + beta, with the statistics given
//   batch_norm_stats   mean and var of x, over all axes but the channel; var is the biased one (over n, not n - 1)
//   batch_norm_train   both: mean and var, and y by them
//
// and gradients, with xhat = (x - mean) / sqrt(var + eps), from dy, x, mean and var:
//   dgamma, dbeta      sums of dy xhat, and of dy, over all axes but the channel
//   dx                 batch_norm: dy gamma / sqrt(var + eps). batch_norm_train, whose mean and var follow x: that of
//                      dy - mean of dy - xhat (mean of dy xhat) in place of dy
//
// Shapes    x and y [n, c, ...] (nchw) or [n, ..., c] (nhwc), of 2 to 8 axes; mean, var, gamma and beta [c]. Strides
//           are free as long as the spatial axes of x and y together merge into two; contiguous tensors are fast.
//           dy and dx are as x, dgamma and dbeta as gamma.
// Types     x f32 f16 bf16; y has x's type. Given mean, var, gamma and beta are each f32 or of x's type; computed mean
//           and var are f32, and so are dgamma and dbeta. Everything is computed in float32.
// Options   gamma and beta, each on its own; without gamma the scale is 1, without beta the shift 0. dgamma and dbeta,
//           each on its own.
// Accuracy  Values are taken relative to the channel's first one and combined pairwise (Chan), so a mean far greater
//           than the deviations costs no digits. A first value far from all others costs var no digits; mean is right
//           to the last bits of that distance.
// Values    var + eps below 0 gives NaN. A channel with NaN or an infinity has NaN for mean and var; a variance beyond
//           float32 is not finite, and y is then beta or NaN. gamma / sqrt(var + eps) is a float32: if it leaves that
//           range, y has no meaning.
// Empty     statistics of no elements are NaN, dgamma and dbeta 0. Otherwise nothing is launched.
// Aliasing  y may be x itself (the same elements); any other overlap is refused, and every overlap for gradients.
// Repeats   bit for bit on one device.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/tensor.hpp>

#include <optional>

namespace ridge {

enum class BatchNorm : std::uint8_t { inference, stats, train };
RIDGE_API std::string_view name(BatchNorm);

enum class BatchNormLayout : std::uint8_t { nchw, nhwc };

// stats ignores y, gamma and beta.
struct BatchNormTensors {
  TensorView x = {}, y = {}, mean = {}, var = {};
  std::optional<TensorView> gamma = {}, beta = {};
};

// A gradient's views: mean and var are those that y was made with.
struct BatchNormGradientTensors {
  TensorView dy = {}, x = {}, mean = {}, var = {};
  std::optional<TensorView> gamma = {};
  TensorView dx = {};
  std::optional<TensorView> dgamma = {}, dbeta = {};
};

struct BatchNormProblem {
  BatchNorm function = BatchNorm::inference;
  BatchNormLayout layout = BatchNormLayout::nchw;
  float eps = 1e-5f;
  DType dtype = DType::f32;
  Layout x = {}, y = {};           // [n, c, h, w] in either layout, spatial axes merged; stats: y is x
  int align_x = 16, align_y = 16;  // alignment of the address in bytes, 16 at most
  bool gamma = true, beta = true;
  bool aligned_parameters = true;  // parameters are contiguous f32 on 16-byte addresses
  // Backward: y is dx; beta is not read.
  bool backward = false, dgamma = false, dbeta = false;
  Layout dy = {};  // as x
  int align_dy = 16;
  bool operator==(const BatchNormProblem&) const = default;

  // Contiguous, aligned tensors.
  RIDGE_API static BatchNormProblem contiguous(BatchNorm, DType, BatchNormLayout, std::int64_t n, std::int64_t c,
                                               std::int64_t spatial);
  // The problem of these views; refuses shapes or dtypes that do not match, and overlap.
  RIDGE_API static Result<BatchNormProblem> of(BatchNorm, BatchNormLayout, const BatchNormTensors&, float eps);
  // Of a gradient of inference or train.
  RIDGE_API static Result<BatchNormProblem> of_gradient(BatchNorm, BatchNormLayout, const BatchNormGradientTensors&,
                                                        float eps);
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
RIDGE_API void batch_norm(const BatchNormTensors&, float eps = 1e-5f, BatchNormLayout = BatchNormLayout::nchw,
                          Stream = {});
RIDGE_API void batch_norm_stats(const BatchNormTensors&, BatchNormLayout = BatchNormLayout::nchw, Stream = {});
RIDGE_API void batch_norm_train(const BatchNormTensors&, float eps = 1e-5f, BatchNormLayout = BatchNormLayout::nchw,
                                Stream = {});
RIDGE_API void batch_norm_gradient(const BatchNormGradientTensors&, float eps = 1e-5f,
                                   BatchNormLayout = BatchNormLayout::nchw, Stream = {});
RIDGE_API void batch_norm_train_gradient(const BatchNormGradientTensors&, float eps = 1e-5f,
                                         BatchNormLayout = BatchNormLayout::nchw, Stream = {});

}  // namespace ridge
