// attention_merge: attention over the union of two sets of keys, from the results for each of them.
//
//   LSE = log(exp(LSE_a) + exp(LSE_b))     O = exp(LSE_a - LSE) O_a + exp(LSE_b - LSE) O_b
//
// Shapes    O_a, O_b and O [B, H, S, Dv], LSE_a, LSE_b and LSE [B, H, S], of any sizes and strides.
// Types     f32 f16 bf16, one for O_a, O_b and O; LSE is f32, the natural logarithm. Computed in float32.
// Values    A part whose LSE is -inf had no keys: its O does not matter, even NaN. Where both had none, O = 0 and LSE
//           = -inf. An LSE that is NaN or +inf makes its row NaN. An LSE far from 0, as with masks of -1e9, says little
//           about how many keys a part had, because its last place exceeds the logarithm of their number.
// Aliasing  O and LSE overlap nothing. The parts may.
// Empty     Without queries nothing is launched; with Dv = 0, LSE is written.
// Repeats   bit for bit.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>

#include <array>

namespace ridge {

struct AttentionMergeTensors {
  TensorView o_a = {}, lse_a = {}, o_b = {}, lse_b = {}, o = {}, lse = {};
};

struct AttentionMergeProblem {
  std::int64_t b = 1, h = 1, s = 0, dv = 0;
  DType dtype = DType::f32;
  using Strides = std::array<std::int64_t, 4>;  // in elements; the last one of an LSE is not used
  Strides o_a = {}, lse_a = {}, o_b = {}, lse_b = {}, o = {}, lse = {};
  bool operator==(const AttentionMergeProblem&) const = default;

  // Problem that the views describe; refuses shapes and types that do not fit together, and overlap.
  RIDGE_API static Result<AttentionMergeProblem> of(const AttentionMergeTensors&);
  RIDGE_API std::string text() const;
};

class AttentionMergePlan {
 public:
  // The views must be as planned.
  RIDGE_API Status run(const AttentionMergeTensors&, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return 0; }

  AttentionMergeProblem problem;
  DeviceInfo device;
  int variant = 0;
};

RIDGE_API Result<AttentionMergePlan> plan_attention_merge(const AttentionMergeProblem&, const DeviceInfo&,
                                                          const PlanOptions& = {});

// One line: plan (cached per problem and device) and run. Throws ridge::Error.
RIDGE_API void attention_merge(const AttentionMergeTensors&, Stream = {});

}  // namespace ridge
