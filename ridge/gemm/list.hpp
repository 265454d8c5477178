// gemm_list: a list of products in one launch, each with its own sizes, pointers and pitches,
//   D_i = scale * act(alpha * A_i B_i + beta * D_i).
//
// Shapes    A_i [m, k], B_i [k, n] and D_i [m, n], row-major, consecutive rows `pitch` elements apart. All items have
//           the list's layout, in the letters of gemm.hpp: with t, A is stored [k, m], and B [n, k]. The items are in
//           device memory, are read when the list runs, and may change between runs; none is copied to the host.
// Types     f64 f32 f16 bf16 for A and B; D as in gemm.hpp. Sums and the epilogue in float64 for f64, else in float32.
// Values    beta == 0: D is not read. alpha == 0 or k == 0: neither A nor B is read, and D is scale * act(beta * D).
//           relu(NaN) is NaN.
// Empty     No items, or an item with m or n of 0 or less: nothing of it is read or written. A k below 0 counts as 0.
// Trusted   Only the device knows pointers and pitches, which are not checked: elements are aligned to their size, rows
//           of D do not overlap, and no D overlaps another D, an A or a B. m, n and k are below 2^31 - 32.
// Repeats   bit for bit.
#pragma once
#include <ridge/gemm/gemm.hpp>

namespace ridge {

struct GemmListItem {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t pitch_a = 0, pitch_b = 0, pitch_d = 0;  // elements between consecutive rows as stored
};

// What is known about a list when it is planned.
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
  // items: [problem.count], in device memory.
  RIDGE_API Status run(const GemmListItem* items, Stream = {}) const;
  RIDGE_API std::string_view variant_name() const;

  GemmListProblem problem;
  DeviceInfo device;
  bool tensor_cores = false;
};

// options.variant: list_8x8, any device; list_mma, f16 and bf16 in layouts nn and nt from compute capability 8.0 on.
RIDGE_API Result<GemmListPlan> plan_gemm_list(const GemmListProblem&, const DeviceInfo&, const PlanOptions& = {});

}  // namespace ridge
