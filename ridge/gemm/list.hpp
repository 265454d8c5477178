// gemm_list: a list of products in one launch, each with sizes, places and pitches of its own,
//   D_i = scale * act(alpha * A_i B_i + beta * D_i).
//
// Shapes    A_i [m, k], B_i [k, n] and D_i [m, n], row-major, each row `pitch` elements behind the one before it. The
//           layout is the list's, with the letters of gemm.hpp: of t, A is stored [k, m], and B [n, k]. Items lie in
//           memory of the plan's device and are read when the list runs, and may be others each time;
//           nothing of them comes to the host.
// Types     f64 f32 f16 bf16, of A and B; D as gemm.hpp has it. Sums and the epilogue in float64 of f64, else in
//           float32.
// Values    beta == 0: D is not read. alpha == 0 or k == 0: neither A nor B is read, and D is scale * act(beta * D).
//           relu(NaN) is NaN.
// Empty     No items, or an item whose m or n is 0 or less: nothing of it is read or written. A k below 0 is taken as
//           0.
// Trusted   Pointers and pitches are only known to the device, and are not checked: elements are on their own size,
//           rows of D do not overlap, and no D overlaps another D, an A or a B. m, n and k are below 2^31 - 32.
// Repeats   bit for bit.
#pragma once
#include <ridge/gemm/gemm.hpp>

namespace ridge {

struct GemmListItem {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t pitch_a = 0, pitch_b = 0, pitch_d = 0;  // elements from a row, as it is stored, to the next
};

// What is known of a list when it is planned.
struct GemmListProblem {
  std::int64_t count = 0;  // items
  DType dtype = DType::f32;
  std::optional<DType> out = {};
  GemmLayout layout = GemmLayout::nn;
  GemmScalars scalars = {};
  bool operator==(const GemmListProblem&) const = default;
};

class GemmListPlan {
 public:
  // items: [problem.count], in memory of the device.
  RIDGE_API Status run(const GemmListItem* items, Stream = {}) const;
  RIDGE_API std::string_view variant_name() const;

  GemmListProblem problem;
  DeviceInfo device;
  bool tensor_cores = false;
};

// options.variant: list_8x8, any device; list_mma, f16 and bf16 in layouts nn and nt from compute capability 8.0 on.
RIDGE_API Result<GemmListPlan> plan_gemm_list(const GemmListProblem&, const DeviceInfo&, const PlanOptions& = {});

}  // namespace ridge
