// dwconv: a long causal convolution along time, each channel with a filter of its own ("timex").
//
//   y[b, c, t] = eps + sum over u <= t of w[c, L-1-(t-u)] * k[b, c, u]
//
// and its gradients:  dk[b, c, u] = sum over t >= u of w[c, L-1-(t-u)] * dy[b, c, t]
//                     dw[c, L-1-d] = sum over b and t >= d of dy[b, c, t] * k[b, c, t-d]
//
// Shapes    k, y, dy, dk [B, C, T]; w, dw [C, L]; any B, C, T and L. The last element of a filter is that of lag 0. A
//           filter shorter than T looks back L - 1 steps; of a longer one only the last T elements count, and the
//           gradient of the others is 0. There is no wrap-around. Strides are free;
//           contiguous time takes the fast path.
// Types     f32 f16 bf16, one for all tensors. Sums are float32. On tensor cores a float32 is split into two float16
//           and a scale, which keeps 22 bits of each operand; operands beyond that (NaN, infinities, and magnitudes
//           2^27 apart within one row of 64 steps or one filter; for w's gradient,
//           within 32 rows) are multiplied in float32.
// Accuracy  A sum of n terms is within (n + 26) 2^-24 of the sum of their magnitudes. Rows by Fourier transforms
//           (fft_*), which plans choose for long filters, have a bound by norms instead: an output is within 33
//           log2(points) 2^-24, or 2.6e-5 at 8,192 points, of the product of the row's and the filter's norms. Where
//           few or small terms meet, as in a row's first outputs, that is more than the direct sum's error. Other
//           rows, which variant= can name, have the first bound.
// Values    Only the terms of the sums count: a NaN in k at step u reaches no output before u, and none after u + L -
//           1.
// Aliasing  Outputs must not overlap inputs or each other.
// Empty     No batch, channels or steps: nothing is launched for k's gradient or y, and dw is 0. L = 0: y is eps.
// Repeats   bit for bit.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>

namespace ridge {

struct DwconvProblem {
  std::int64_t batch = 0, channels = 0, time = 0, taps = 0;  // B, C, T, L
  DType dtype = DType::f32;
  float eps = 0;  // added to every output; gradients do not depend on it
  bool backward = false;
  Layout y = {}, k = {}, w = {}, dk = {}, dw = {};  // y: or dy. The gradients' are empty in a forward problem
  int alignment = 16;                               // of all addresses, in bytes; 16 at most
  bool operator==(const DwconvProblem&) const = default;

  // Contiguous, aligned tensors.
  RIDGE_API static DwconvProblem contiguous(DType, std::int64_t batch, std::int64_t channels, std::int64_t time,
                                            std::int64_t taps, bool backward = false);
  // The problem of these views; refuses shapes, dtypes and devices that do not match, and overlap.
  RIDGE_API static Result<DwconvProblem> of(const TensorView& k, const TensorView& w, const TensorView& y,
                                            float eps = 0);
  RIDGE_API static Result<DwconvProblem> of_gradient(const TensorView& dy, const TensorView& k, const TensorView& w,
                                                     const TensorView& dk, const TensorView& dw);
  RIDGE_API std::string text() const;  // as explain() prints it
};

class DwconvPlan {
 public:
  // The views must be as planned.
  RIDGE_API Status run(const TensorView& k, const TensorView& w, const TensorView& y, Stream = {}) const;
  RIDGE_API Status run_gradient(const TensorView& dy, const TensorView& k, const TensorView& w, const TensorView& dk,
                                const TensorView& dw, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return 0; }

  DwconvProblem problem;
  DeviceInfo device;
  int variant = 0;  // row of the table in variants.hpp
};

RIDGE_API Result<DwconvPlan> plan_dwconv(const DwconvProblem&, const DeviceInfo&, const PlanOptions& = {});

// Plan (cached per problem and device) and run. Throw ridge::Error.
RIDGE_API void dwconv(const TensorView& k, const TensorView& w, const TensorView& y, float eps = 0, Stream = {});
RIDGE_API void dwconv_gradient(const TensorView& dy, const TensorView& k, const TensorView& w, const TensorView& dk,
                               const TensorView& dw, Stream = {});

}  // namespace ridge
