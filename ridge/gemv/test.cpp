#include <ridge/check/gtest_cases.hpp>
#include <ridge/core/op.hpp>
#include <ridge/gemv/gemv.hpp>
#include <ridge/gemv/launch.hpp>
#include <ridge/gemv/variants.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ridge {
namespace {

using namespace gemv_detail;

const check::TestCasesOf cases{"gemv"};

std::string chosen(const GemvProblem& p, const char* device = "H200") {
  auto plan = plan_gemv(p, *device_model(device));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}
std::string refusal(const GemvProblem& p, const char* variant = "") {
  auto plan = plan_gemv(p, *device_model("H200"), {.variant = variant});
  return plan ? "none" : std::string(plan.error().message());
}

TEST(GemvPlan, OfSizesIsOfPackedTensors) {
  std::vector<float> a(64), x(8), y(8);
  for (const std::int64_t m : {0, 1, 2, 5})
    for (const std::int64_t k : {0, 1, 2, 5})
      for (const bool by_columns : {false, true}) {
        const TensorView packed = by_columns ? transposed(view(a.data(), {k, m})) : view(a.data(), {m, k});
        const auto given = GemvProblem::of({.a = packed, .x = view(x.data(), {k}), .y = view(y.data(), {m})}, {});
        ASSERT_TRUE(given.ok()) << given.error().message();
        EXPECT_EQ(GemvProblem::packed(f32, m, k, by_columns), *given)
            << m << "x" << k << (by_columns ? " transposed" : "");
      }
}

// ---- the plan ----------------------------------------------------------------------------------------------------

TEST(GemvPlan, RowsGetTheLanesThatTheirLengthFeeds) {
  EXPECT_EQ(chosen(GemvProblem::packed(f32, 1 << 20, 16)), "lanes_4");
  EXPECT_EQ(chosen(GemvProblem::packed(f32, 1 << 20, 32)), "lanes_8");
  EXPECT_EQ(chosen(GemvProblem::packed(bf16, 1 << 20, 16)), "lanes_2");
  EXPECT_EQ(chosen(GemvProblem::packed(bf16, 1 << 20, 32)), "lanes_4");
  for (DType dtype : {f32, f16, bf16}) {
    const std::string long_rows = chosen(GemvProblem::packed(dtype, 128256, 4096));
    EXPECT_TRUE(long_rows == "warp" || long_rows == "block") << long_rows;
    EXPECT_EQ(chosen(GemvProblem::packed(dtype, 16, 1 << 20)), "split");
    EXPECT_EQ(chosen(GemvProblem::packed(dtype, 4096, 4096, true)), "columns");
    EXPECT_EQ(chosen(GemvProblem::packed(dtype, 4095, 4095, true)).substr(0, 7), "strided");
  }
  EXPECT_EQ(chosen(GemvProblem::packed(f32, 4095, 4095)), "warp_elements");
  EXPECT_EQ(chosen(GemvProblem::packed(f64, 4096, 4096)).substr(0, 7), "strided");
}

TEST(GemvPlan, StridesAndMisalignmentFallBack) {
  auto p = GemvProblem::packed(f32, 1 << 16, 64);
  p.row_stride = 68;  // padded rows that stay 16-byte aligned take the same path
  EXPECT_EQ(chosen(p).substr(0, 5), "lanes");
  p.row_stride = 65;
  EXPECT_EQ(chosen(p), "warp_elements");
  p.row_stride = 64, p.x.alignment_offset = 4;
  EXPECT_EQ(chosen(p), "warp_elements");
  p.x = {.stride = 2};
  EXPECT_EQ(chosen(p).substr(0, 7), "strided");
  p = GemvProblem::packed(f32, 4096, 4096, true);
  p.x = {.stride = -3, .alignment_offset = 4};  // one element of x serves a whole column
  EXPECT_EQ(chosen(p), "columns");
}

TEST(GemvPlan, RefusalsSayWhy) {
  auto p = GemvProblem::packed(f32, 100, 30);
  EXPECT_EQ(refusal(p, "warp"), "gemv: variant is warp; it must be another one here: k is not a multiple of 16 bytes");
  EXPECT_EQ(refusal(p, "columns"),
            "gemv: variant is columns; it must be another one here: rows do not lie side by side");
  EXPECT_EQ(refusal(GemvProblem::packed(f16, 8, 8), "naive"),
            "gemv: variant is naive; it must be another one here: a step of the textbook, of f32");
  EXPECT_EQ(refusal(GemvProblem::packed(i32, 8, 8)), "gemv: a.dtype is i32; it must be one of f64 f32 f16 bf16");
  p.scalars.alpha = INFINITY;
  EXPECT_EQ(refusal(p), "gemv: alpha is inf; it must be finite");
  p.scalars.alpha = -1e300;
  EXPECT_EQ(refusal(p), "gemv: alpha is -1e+300; it must be within float32's range where a is f32");
}

TEST(GemvPlan, WorkspaceIsAPartialResultPerSlice) {
  auto plan = plan_gemv(GemvProblem::packed(bf16, 16, 1 << 20), *device_model("H200"));
  ASSERT_TRUE(plan.ok());
  EXPECT_GT(plan->slices, 8);
  EXPECT_EQ(plan->workspace_bytes(), static_cast<std::size_t>(plan->slices) * 16 * 4);
  plan = plan_gemv(GemvProblem::packed(bf16, 1 << 20, 16), *device_model("H200"));
  EXPECT_EQ(plan->workspace_bytes(), 0u);
}

TEST(GemvPlan, EverythingInFlightFeedsTheMemory) {
  // Bytes of A in flight per multiprocessor, for the rows of the table that plans choose: 32 KB and more.
  for (const Variant& row : variants) {
    const Config& c = row.config;
    if (c.textbook || c.strided) continue;
    const int bytes = c.access_bytes > 0 ? c.access_bytes : 4;
    EXPECT_GE(c.blocks_per_sm * c.threads * c.rows * c.vectors * bytes, 32 << 10) << row.name;
  }
}

TEST(GemvPlan, ExplainsItself) {
  auto plan = plan_gemv(GemvProblem::packed(f32, 16384, 16384), *device_model("H200"));
  ASSERT_TRUE(plan.ok());
  const Explanation e = plan->explain();
  EXPECT_EQ(e.bound, "memory");
  EXPECT_EQ(e.cost.bytes(), 4.0 * (16384.0 * 16384 + 2 * 16384));
  EXPECT_EQ(e.candidates.size(), std::size(variants));
  EXPECT_EQ(e.problem, "f32 16384x16384 n");
}

// ---- one line, on the CPU ----------------------------------------------------------------------------------------

TEST(Gemv, OneLineOnTheCpu) {
  std::vector<float> a{1, 2, 3, 4, 5, 6}, x{1, 10, 100}, y(2), wide(3);
  gemv(view(a.data(), {2, 3}), view(x.data(), {3}), view(y.data(), {2}));
  EXPECT_EQ(y, (std::vector<float>{321, 654}));
  gemv(transposed(view(a.data(), {2, 3})), view(x.data(), {2}), view(wide.data(), {3}));
  EXPECT_EQ(wide, (std::vector<float>{41, 52, 63}));
}

// By name: c, one tensor beyond those that are read, is allowed only if the request gives beta as 0.
TEST(Gemv, ByNameCMayComeWhereBetaIsZero) {
  std::vector<float> a{1, 2, 3, 4}, x{1, 1}, c{NAN, NAN}, bias{10, 20}, y(2);
  const OpInfo& op = **find_op("gemv");
  const TensorView in[] = {view(a.data(), {2, 2}), view(x.data(), {2}), view(c.data(), {2}), view(bias.data(), {2})};
  const TensorView out = view(y.data(), {2});
  auto plan = plan_op(op, in, std::span(&out, 1), {{"beta", "0"}, {"epilogue", "bias"}}, cpu());
  ASSERT_TRUE(plan) << plan.error().message();
  ASSERT_TRUE((*plan)->run(in, std::span(&out, 1), {}, {}).ok());
  EXPECT_EQ(y, (std::vector<float>{13, 27}));
  plan = plan_op(op, in, std::span(&out, 1), {{"epilogue", "bias"}}, cpu());
  EXPECT_EQ(plan.error().message(), "gemv: the number of inputs is 4; it must be 3 (a, x, bias)");
}

TEST(Gemv, YMayBeCItself) {
  for (std::int64_t k : {3, 9000}) {  // one kernel, and two
    std::vector<float> a(static_cast<std::size_t>(4 * k), 1), x(static_cast<std::size_t>(k), 2), y{1, 2, 3, 4};
    const TensorView out = view(y.data(), {4});
    gemv({.a = view(a.data(), {4, k}), .x = view(x.data(), {k}), .y = out, .c = out}, {.beta = -1});
    const auto twice = static_cast<float>(2 * k);
    EXPECT_EQ(y, (std::vector<float>{twice - 1, twice - 2, twice - 3, twice - 4}));
  }
}

TEST(Gemv, RowsWithGapsAreReadByVectorsAndGapsAreNot) {
  const std::int64_t m = 37, k = 64, pitch = 72;
  std::vector<float> a(static_cast<std::size_t>(m * pitch), NAN), x(static_cast<std::size_t>(k), 1),
      y(static_cast<std::size_t>(m));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < k; ++j) a[static_cast<std::size_t>(i * pitch + j)] = static_cast<float>(i);
  TensorView matrix = view(a.data(), {m, k});
  matrix.layout.stride[0] = pitch;
  for (const Variant& row : variants) {
    auto problem = GemvProblem::of({.a = matrix, .x = view(x.data(), {k}), .y = view(y.data(), {m})});
    ASSERT_TRUE(problem.ok());
    auto plan = plan_gemv(*problem, cpu(), {.variant = std::string(row.name)});
    if (!plan) continue;
    std::vector<float> scratch(plan->workspace_bytes() / 4 + 4);
    y.assign(static_cast<std::size_t>(m), -1);
    std::byte* aligned = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(scratch.data()) + 15) & ~15ull);
    ASSERT_TRUE(
        plan->run({.a = matrix, .x = view(x.data(), {k}), .y = view(y.data(), {m})}, {aligned, plan->workspace_bytes()})
            .ok());
    for (std::int64_t i = 0; i < m; ++i)
      EXPECT_EQ(y[static_cast<std::size_t>(i)], static_cast<float>(64 * i)) << row.name;
  }
}

TEST(Gemv, BadRequestsAreRefused) {
  const auto sentence = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& e) {
      return e.what();
    }
    return "none";
  };
  std::vector<float> a(12), x(4), y(4);
  const TensorView matrix = view(a.data(), {3, 4}), in = view(x.data(), {4}), out = view(y.data(), {3});
  EXPECT_EQ(sentence([&] { gemv(matrix, view(x.data(), {3}), out); }), "gemv: x.shape is 3; it must be 4");
  EXPECT_EQ(sentence([&] { gemv(matrix, in, view(y.data(), {4})); }), "gemv: y.shape is 4; it must be 3");
  EXPECT_EQ(sentence([&] { gemv(view(a.data(), {12}), in, out); }), "gemv: a.shape is 12; it must be of 2 axes");
  EXPECT_EQ(sentence([&] { gemv(matrix, in, view(x.data() + 1, {3})); }),
            "gemv: y is overlapping x; it must be apart from it");
  EXPECT_EQ(sentence([&] { gemv({.a = matrix, .x = in, .y = out}, {.beta = 2}); }),
            "gemv: c is not given; it must be given where beta is not 0");
  EXPECT_EQ(sentence([&] { gemv({.a = matrix, .x = in, .y = out, .bias = view(y.data() + 1, {3})}); }),
            "gemv: y is overlapping bias; it must be apart from it, or the same elements");
  std::vector<half> h(4);
  EXPECT_EQ(sentence([&] { gemv(matrix, view(h.data(), {4}), out); }),
            "gemv: x.dtype is f16; it must be that of a, f32");
}

}  // namespace
}  // namespace ridge
