// gemm: D = scale * (act(alpha * A B + beta * C + bias) + residual), for matrices or batches of them;
//       with a gate G  D = scale * (act(alpha * A B + beta * C + bias) * (alpha * A G + gate_bias) + residual);
//       with groups of A's rows, a B for each of them. Lists of products of any sizes: list.hpp.
//
// Shapes    A [M, K], B [K, N], C, D and residual [M, N], in the notation of row-major arrays: element (i, j) of a view
//           is at i * stride(0) + j * stride(1). Strides alone give an operand's layout, so a transposed operand is a
//           transposed view of what is stored, `transposed(b)` of b [N, K]. The layouts nn, nt, tn, tt of the BLAS are:
//             n: stored as it is used,       A [M, K] with rows of K elements, B [K, N] with rows of N
//             t: stored transposed,          A [K, M] with rows of M elements, B [N, K] with rows of K
//           Batch axes come first; a tensor has those of D, or is broadcast along all of them; several must merge into
//           one. Any sizes, any strides, any alignment. The fast path needs operands contiguous along one of the
//           two axes, with 16-byte aligned rows; others are correct but slower. On Hopper a plan may ask for
//           workspace, into which it first copies such operands in the layout that its tensor cores read.
//           bias is [N] (along N: one value per column) or [M, 1] (along M: one per row).
//           A gate G has B's shape, [K, N] or with a batch. B and G may be views of one tensor. gate_bias is [N].
//           Groups: A [M, K], B [G, K, N], D and residual [M, N], bias [G, N], and offsets [G + 1] in device memory.
//           Rows offsets[g] to offsets[g + 1] of D are the product of those rows of A and B[g]. Groups may be empty.
//           Offsets are read when the product runs, and may change between runs; they rise from 0 or more to M or less.
//           Offsets outside of that are clamped to 0 or M, and nothing outside of the tensors is touched, whatever they
//           are. A checked plan refuses such offsets; on the CPU runtime every plan is checked.
//           Rows of D in no group are not written.
// Types     A and B have the same type; D may have another. C, the biases and residual have any type that D may have.
//             A, B            D (the first is the default)                     accumulated and computed in
//             f64             f64                                              float64
//             f32             f32 f16 bf16 f8e4m3 f8e5m2                       float32
//             f16             f16 f32 bf16 f8e4m3 f8e5m2                       float32
//             bf16            bf16 f32 f16 f8e4m3 f8e5m2                       float32
//             f8e4m3, f8e5m2  f32 f16 bf16 f8e4m3 f8e5m2                       float32; see below
//             i8              i32                                              int32, wrapping; alpha, beta and scale
//                                                                              whole numbers; act none or relu
//             i8              f32 f16 bf16 i8                                  int32, the epilogue in float32
//           float32 means float32. scalars.math asks for anything less exact, which a more exact variant may
//           serve too (where no tensor cores offer it, the product is computed in float32):
//             tf32    f32 inputs are rounded to 10 bits of fraction, those of 2^128 (1 - 2^-12) and more to infinity;
//                     sums in float32
//             tf32x3  three TF32 products of the inputs' high and low parts: within 2^-20 of the product of each two
//                     elements. An infinite input may give NaN
//             fast    f8: the whole sum stays in tensor cores, which keep about 13 bits of its fraction
//           Without it, tensor cores add up 128 products of f8 at a time, and float32 additions do the rest.
//           scalars.accumulate asks for more: Accumulate::two_float, where A and B are f32, adds up exact products in
//           double-float arithmetic, whose sum is rounded to float32 once. It errs by 2^-24 of the sum and at most
//           (k 2^-24)^2 of the products' absolute sum, for ten times the instructions of the product. Products beyond
//           float32's range are infinite, as with plain sums
//           A cast to i8 rounds to nearest even and saturates; NaN becomes 0.
//           A gate, and groups, take f64 f32 f16 bf16, and not both at once; offsets are i32.
// Values    beta == 0: C is not read, and need not be given. alpha == 0 or K == 0: neither A nor B is read, and D is
//           scale * (act(beta * C + bias) + residual). relu(NaN) is NaN.
//           With a gate, act(beta * C + bias) is then multiplied by gate_bias, or by 0 where there is none.
// Aliasing  D may be C or residual itself (the same elements); any other overlap is refused.
// Empty     M, N or the batch of size 0: nothing is launched.
// Repeats   bit for bit; where offsets fall, rows in two groups get the product of one of them.
#pragma once
#include <ridge/core/accumulate.hpp>
#include <ridge/core/activation.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>

#include <memory>
#include <optional>

namespace ridge {

class Tuning;  // core/tuning.hpp

enum class GemmLayout : std::uint8_t { nn, nt, tn, tt };
enum class GemmBias : std::uint8_t { none, along_n, along_m };
enum class GemmMath : std::uint8_t { exact, tf32, tf32x3, fast };
RIDGE_API std::string_view name(GemmLayout);
RIDGE_API std::string_view name(GemmMath);

// Scalar parameters of the epilogue and of the arithmetic.
struct GemmScalars {
  double alpha = 1, beta = 0, scale = 1;
  Activation activation = Activation::none;
  GemmMath math = GemmMath::exact;
  Accumulate accumulate = Accumulate::plain;
  bool operator==(const GemmScalars&) const = default;
};

// The views of one run.
struct GemmTensors {
  TensorView a, b, d;
  std::optional<TensorView> c = {}, bias = {}, residual = {}, gate = {}, gate_bias = {};
  std::optional<TensorView> offsets = {};  // with groups
};

// A matrix's layout: strides in elements, 0 where an axis has one element or the batch shares the matrix.
struct GemmOperand {
  DType dtype = DType::f32;
  std::int64_t row_stride = 0, col_stride = 1, batch_stride = 0;
  int alignment_offset = 0;  // bytes of the first element past a 16-byte boundary
  bool operator==(const GemmOperand&) const = default;
};

struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  DType dtype = DType::f32;            // of A and B
  std::optional<DType> out = {};       // of D, where it is not the default
  GemmLayout layout = GemmLayout::nn;  // of packed, aligned A and B; ignored where a and b are given below
  GemmScalars scalars = {};
  GemmBias bias = GemmBias::none;
  bool residual = false;
  bool gate = false, gate_bias = false;
  bool grouped = false;  // m rows in `batch` groups
  // Layouts of tensors that are not packed and aligned.
  std::optional<GemmOperand> a = {}, b = {}, c = {}, d = {}, bias_layout = {}, residual_layout = {}, gate_layout = {},
                             gate_bias_layout = {};
  bool operator==(const GemmProblem&) const = default;

  // The problem of these views; refuses shapes that do not fit together, unsupported types, and overlap.
  RIDGE_API static Result<GemmProblem> of(const GemmTensors&, const GemmScalars& = {});
  RIDGE_API std::string text() const;  // "f32 4096x4096x4096 nt, bias+relu"
};

class GemmPlan {
 public:
  // The views must be as planned. workspace_bytes() of workspace are used.
  RIDGE_API Status run(const GemmTensors&, Workspace = {}, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return workspace; }

  GemmProblem problem;  // with the layout of every tensor that takes part
  DeviceInfo device;
  int variant = 0;         // row of the table in variants.hpp
  std::int64_t tiles = 0;  // blocks for one matrix, or for all groups
  int split = 1;           // split-K: blocks that share a tile's products, in a cluster or with a slice of k each
  bool swap_ab = false;    // split-K in clusters: swap-AB, B is the wide operand; tiles by TMA: B is `down`
  std::size_t workspace = 0;
  bool checked = false;                         // offsets are checked before anything is launched
  std::shared_ptr<const GemmPlan> nested = {};  // of the slices of k, as a batch: where the row runs that
};

// Where options name no variant: the tuning's, if it has measured this problem and the tensors are packed and aligned
// as they were then; else the one with the least predicted time.
RIDGE_API Result<GemmPlan> plan_gemm(const GemmProblem&, const DeviceInfo&, const PlanOptions& = {},
                                     const Tuning* = nullptr);

// The type of D where the caller names none.
constexpr DType gemm_default_out(DType dtype) {
  return dtype == i8 ? i32 : dtype == f8e4m3 || dtype == f8e5m2 ? f32 : dtype;
}

// One line: plan (cached per problem and device) and run. Throws ridge::Error.
//   gemm({.a = x, .b = transposed(w), .d = y, .bias = bias}, {.activation = Activation::gelu}, stream);
RIDGE_API void gemm(const GemmTensors&, const GemmScalars& = {}, Stream = {});
inline void gemm(const TensorView& a, const TensorView& b, const TensorView& d, Stream stream = {}) {
  gemm({.a = a, .b = b, .d = d}, {}, stream);
}

}  // namespace ridge
