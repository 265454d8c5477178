#include <ridge/check/gtest_cases.hpp>
#include <ridge/core/op.hpp>
#include <ridge/norm/norm.hpp>
#include <ridge/norm/split.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace ridge {
namespace {

using norm_detail::variants;

const check::TestCasesOf cases{"layer_norm", "rms_norm", "add_layer_norm", "add_rms_norm"};

std::string chosen(NormProblem p, const char* device = "H200") {
  auto plan = plan_norm(p, *device_model(device));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}
NormProblem gradient(std::int64_t rows, std::int64_t cols, DType dtype) {
  return {.backward = true, .rows = rows, .cols = cols, .dtype = dtype, .dgamma = true, .dbeta = true};
}

TEST(NormPlan, KeepsTheRowWhereItFits) {
  EXPECT_EQ(chosen({.rows = 65536, .cols = 128}), "short_32");
  EXPECT_EQ(chosen({.rows = 65536, .cols = 128, .dtype = bf16}), "short_16");
  EXPECT_EQ(chosen({.rows = 65536, .cols = 129}), "warp_32");  // not vector-aligned
  for (const char* device : {"H200", "A100"}) {
    EXPECT_EQ(chosen({.rows = 65536, .cols = 1024, .dtype = bf16}, device), "short_128");
    EXPECT_EQ(chosen({.rows = 65536, .cols = 1024}, device), "even_256");
    EXPECT_EQ(chosen({.rows = 16384, .cols = 4096}, device), "even_1k");
  }
  EXPECT_EQ(chosen({.rows = 16384, .cols = 4096, .dtype = bf16}), "even_512");
  EXPECT_EQ(chosen({.rows = 8192, .cols = 8192, .dtype = bf16}), "even_1k");
  EXPECT_EQ(chosen({.rows = 4096, .cols = 16384}), "even_4k");
  EXPECT_EQ(chosen({.rows = 16384, .cols = 4097}), "block_1k");  // not vector-aligned
  EXPECT_EQ(chosen({.rows = 16384, .cols = 4096, .dtype = bf16, .added = true}), "even_1k");
  EXPECT_EQ(chosen({.rows = 8192, .cols = 8192, .added = true}), "block_2k");
  EXPECT_EQ(chosen({.rows = 4096, .cols = 50257}, "RTX4090"), "vec4");  // 192 KB do not fit in 99
}

TEST(NormPlan, LongRowsPassThroughARingOnHopper) {
  EXPECT_EQ(chosen({.rows = 4096, .cols = 32768, .dtype = bf16}), "even_4k");
  EXPECT_EQ(chosen({.rows = 4096, .cols = 32768}), "even_8k");
  EXPECT_EQ(chosen({.rows = 4096, .cols = 50257, .dtype = bf16}), "ring_3kx2");
  EXPECT_EQ(chosen({.rows = 4096, .cols = 50257}), "ring_3kx4");
  EXPECT_EQ(chosen({.rows = 1024, .cols = 131072, .dtype = bf16}), "ring_4kx4");
  EXPECT_EQ(chosen({.rows = 1024, .cols = 131072}), "ring_4kx8");
}

TEST(NormPlan, LongRowsWithAResidualAreSharedByClusters) {
  const auto added = [](std::int64_t rows, std::int64_t cols, DType dtype) {
    return chosen({.norm = Norm::rms, .rows = rows, .cols = cols, .dtype = dtype, .added = true, .beta = false});
  };
  EXPECT_EQ(added(4096, 32768, bf16), "even_4k");
  EXPECT_EQ(added(4096, 32768, f32), "even_8k");
  EXPECT_EQ(added(1024, 131072, bf16), "ring_2kx8");
  EXPECT_EQ(added(1024, 131072, f32), "ring_2kx16");
  EXPECT_EQ(added(1024, 131071, f32), "block_16kx4");
  EXPECT_EQ(added(4096, 50257, bf16), "block_8kx2");
  EXPECT_EQ(added(4096, 50257, f32), "block_16kx2");
  const auto plan =
      plan_norm({.rows = 4, .cols = 32768, .added = true}, *device_model("A100"), {.variant = "block_16kx2"});
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(std::string(plan.error().message()).find("compute capability 9.0"), std::string::npos);
}

TEST(NormPlan, RowsOfAFewColumnsAreBroughtAsOneSpan) {
  for (const DType dtype : {f32, bf16, f64})
    for (const std::int64_t cols : {3, 17}) {
      EXPECT_EQ(chosen({.rows = 1000000, .cols = cols, .dtype = dtype}), "span_32") << cols;
      EXPECT_EQ(chosen({.norm = Norm::rms, .rows = 1000000, .cols = cols, .dtype = dtype, .added = true}), "span_32");
      EXPECT_EQ(chosen(gradient(1000000, cols, dtype)), "span_sums_32") << cols;
      EXPECT_EQ(chosen({.backward = true, .rows = 1000000, .cols = cols, .dtype = dtype}), "span_sums_32") << cols;
    }
  EXPECT_EQ(chosen({.rows = 1000000, .cols = 32, .dtype = bf16}), "short_8");  // vector-aligned
  EXPECT_EQ(chosen({.rows = 1000000, .cols = 32}), "short_8");
  EXPECT_EQ(chosen({.rows = 10000, .cols = 17}), "warp_16");  // all rows are in flight at once
  EXPECT_EQ(chosen({.rows = 10000, .cols = 17, .dtype = bf16}), "warp_16");
  EXPECT_EQ(chosen(gradient(10000, 17, bf16)), "span_sums_32");
  const auto plan = plan_norm(gradient(1000000, 17, f32), *device_model("H200"));
  EXPECT_EQ(plan->grid, 3 * 132);  // blocks are persistent
  EXPECT_EQ(plan->workspace_bytes(), static_cast<std::size_t>(plan->grid) * 2 * 17 * sizeof(float));
}

TEST(NormPlan, AFewLongRowsAreSplitOverTheDevice) {
  for (const DType dtype : {f32, bf16}) {
    EXPECT_EQ(chosen({.rows = 1, .cols = 10000000, .dtype = dtype}), "split");
    EXPECT_EQ(chosen({.rows = 7, .cols = 1000003, .dtype = dtype}), "split");
    EXPECT_EQ(chosen({.backward = true, .rows = 1, .cols = 10000000, .dtype = dtype}), "split");
  }
  EXPECT_EQ(chosen({.rows = 32, .cols = 262144}), "split");
  EXPECT_EQ(chosen({.rows = 1, .cols = 131072}), "ring_2kx16");  // a row of a cluster is as fast or faster
  EXPECT_EQ(chosen({.rows = 8, .cols = 131072, .dtype = bf16}), "ring_2kx8");
  EXPECT_EQ(chosen({.rows = 32, .cols = 262144, .dtype = bf16}), "ring_4kx8");
  EXPECT_EQ(chosen(gradient(1, 131072, bf16)), "split");  // gradients' large clusters take long to start
  auto plan = plan_norm({.rows = 1, .cols = 10000000}, *device_model("H200"));
  EXPECT_EQ(plan->workspace_bytes(),
            static_cast<std::size_t>(plan->grid) * norm_detail::split::partial_floats * sizeof(float));
  // The statistics of a few rows; their columns need no slices of sums.
  plan = plan_norm(gradient(1, 10000000, f32), *device_model("H200"));
  EXPECT_EQ(variants[plan->variant].name, "split");
  EXPECT_EQ(plan->workspace_bytes(),
            256 + static_cast<std::size_t>(plan->grid) * norm_detail::split::partial_floats * sizeof(float));
}

TEST(NormPlan, AFewRowsAreSharedByManyThreads) {
  EXPECT_EQ(chosen({.rows = 1, .cols = 8192}), "lean_2k");
  EXPECT_EQ(chosen({.rows = 1, .cols = 8192, .dtype = bf16}), "lean_2k");
}

// Blocks beside those of the rows sum the columns, as long as all rows take them less time than a launch.
TEST(NormPlan, AFewRowsTakeOneLaunchWithTheirSums) {
  const auto plan_of = [](std::int64_t rows, std::int64_t cols) {
    return *plan_norm(gradient(rows, cols, bf16), *device_model("H200"), {.variant = "lean_512"});
  };
  EXPECT_EQ(plan_of(19, 640).grid, 19 + 10);
  EXPECT_EQ(plan_of(19, 640).workspace, 0u);
  EXPECT_EQ(plan_of(64, 640).grid, 64 + 10);
  EXPECT_EQ(plan_of(65, 640).grid, 65);
  EXPECT_GT(plan_of(65, 640).workspace, 0u);
  EXPECT_EQ(plan_of(40, 2048).grid, 40);
}

TEST(NormPlan, GradientsInOnePassWhereABlockHoldsTheColumns) {
  EXPECT_EQ(chosen(gradient(16384, 4096, bf16)), "fused_512");
  EXPECT_EQ(chosen(gradient(8192, 8192, bf16)), "fused_1k");
  EXPECT_EQ(chosen(gradient(16384, 4096, f32)), "fused_1k");
  EXPECT_EQ(chosen(gradient(8192, 8192, f32)), "fused_2k");
  EXPECT_EQ(chosen(gradient(4096, 16384, bf16)), "fused_2k");
  EXPECT_EQ(chosen(gradient(4096, 24000, bf16)), "roles_1kx4");
  EXPECT_EQ(chosen(gradient(4096, 32768, bf16)), "roles_1kx4");
  EXPECT_EQ(chosen(gradient(4096, 50257, bf16)), "roles_1kx8");
  EXPECT_EQ(chosen(gradient(4096, 50257, f32)), "fused_2kx8");
  EXPECT_EQ(chosen(gradient(1024, 131072, bf16)), "fused_2kx16");
  EXPECT_EQ(chosen(gradient(1024, 57348, f32)), "fused_2kx16");
  EXPECT_EQ(chosen(gradient(1024, 131072, f32)), "fused_wide");
}

TEST(NormPlan, GradientsOfShortRowsInOnePass) {
  EXPECT_EQ(chosen(gradient(65536, 128, f32)), "ahead_32");
  EXPECT_EQ(chosen(gradient(65536, 64, f32)), "ahead_16");
  EXPECT_EQ(chosen(gradient(65536, 128, bf16)), "ahead_16");
}

TEST(NormPlan, EveryPlaceWhereRowsStartHasASliceOfTheSumsMore) {
  for (const std::int64_t cols : {1024, 1025, 1026, 1028}) {
    NormProblem p = gradient(10000, cols, f32);
    const auto plan = plan_norm(p, *device_model("H200"), {.variant = "fused_512"});
    ASSERT_TRUE(plan.ok());
    const std::int64_t slices = plan->grid + (cols == 1025 ? 3 : cols == 1026 ? 1 : 0);
    EXPECT_EQ(plan->workspace_bytes(), static_cast<std::size_t>(slices * 2 * cols) * sizeof(float)) << cols;
  }
}

TEST(NormPlan, FusedGradientsInClustersRefuseWhatTheyCannotShare) {
  const auto refusal = [](NormProblem p, const char* device, const char* variant) {
    auto plan = plan_norm(p, *device_model(device), {.variant = variant});
    return plan ? std::string() : std::string(plan.error().message());
  };
  EXPECT_EQ(refusal(gradient(64, 50257, f32), "A100", "fused_2kx8"),
            "layer_norm: variant is fused_2kx8; it must be another one here: clusters are of compute capability 9.0");
  EXPECT_EQ(
      refusal(gradient(64, 20, f32), "H200", "fused_2kx8"),
      "layer_norm: variant is fused_2kx8; it must be another one here: a row has 5 vectors of 16 bytes for 8 blocks");
  EXPECT_EQ(refusal(gradient(64, 4000, bf16), "H200", "roles_1kx4"),
            "layer_norm: variant is roles_1kx4; it must be another one here: a row has 500 vectors of 16 bytes for 512 "
            "threads that sum it up");
}

// x is a view with gaps between its rows, y has none.
TEST(NormPlan, RowsThatLieApartAreReadOnceToo) {
  const auto apart = [](std::int64_t rows, std::int64_t cols, DType dtype) {
    NormProblem p{.rows = rows, .cols = cols, .dtype = dtype};
    const Rows plain = Rows::contiguous(rows, cols);
    Rows gaps = plain;
    gaps.outer.stride[0] += 3;
    p.row_layouts = {gaps, plain, gaps, gaps};
    return p;
  };
  EXPECT_EQ(chosen(apart(2783, 64, bf16)), "elements_128");
  EXPECT_EQ(chosen(apart(100000, 300, bf16)), "elements_512");
  EXPECT_EQ(chosen(apart(4096, 1021, f32)), "elements_1k");
  EXPECT_EQ(chosen(apart(256, 2880, f16)), "elements_4k");
  EXPECT_EQ(chosen(apart(27264, 11904, f16)), "elements_16k");
}

TEST(NormPlan, StridedRowsAndVectorsHaveAVariant) {
  NormProblem p{.rows = 8, .cols = 64};
  p.parameters_contiguous = false;
  EXPECT_EQ(chosen(p), "block_reduce");
}

TEST(NormPlan, TwoFloatsWhereTheyAreAskedFor) {
  const auto two_float = [](std::int64_t rows, std::int64_t cols, Norm norm = Norm::layer, bool added = false) {
    return chosen({.norm = norm, .rows = rows, .cols = cols, .added = added, .accumulate = Accumulate::two_float});
  };
  EXPECT_EQ(two_float(65536, 128), "warp_32");
  EXPECT_EQ(two_float(65536, 1024), "warp_256");
  EXPECT_EQ(two_float(16384, 4096), "block_1k");
  EXPECT_EQ(two_float(8192, 8192), "block_2k");
  EXPECT_EQ(two_float(8192, 8192, Norm::rms, true), "block_2k");
  EXPECT_EQ(two_float(4096, 32768), "block_8k");
  EXPECT_EQ(two_float(4096, 50257), "block_16k");
  EXPECT_EQ(two_float(1024, 131072), "strided");
  const auto refusal = [](NormProblem p, const char* variant = "") {
    p.accumulate = Accumulate::two_float;
    auto plan = plan_norm(p, *device_model("H200"), {.variant = variant});
    return plan ? std::string() : std::string(plan.error().message());
  };
  EXPECT_EQ(refusal({.rows = 8, .cols = 50}, "warp_16"),
            "layer_norm: variant is warp_16; it must be another one here: it has no sums in two floats");
  EXPECT_EQ(refusal({.rows = 8, .cols = 50, .dtype = bf16}),
            "layer_norm: accumulate is two_float; it must be left out: it is for the forward pass of f32, and this is "
            "of bf16");
  EXPECT_EQ(refusal(gradient(8, 50, f32)),
            "layer_norm: accumulate is two_float; it must be left out: it is for the forward pass of f32, and this is "
            "a gradient");
  auto plan = plan_norm({.rows = 16384, .cols = 4096, .accumulate = Accumulate::two_float}, *device_model("H200"));
  EXPECT_NE(plan->explain().text().find("f32 16384x4096, in two floats"), std::string::npos);
}

TEST(NormPlan, RowsAreBroughtAheadByThreeEighthsOfATurn) {
  const auto ahead = [](const NormProblem& p, const char* device) {
    const auto plan = plan_norm(p, *device_model(device));
    return norm_detail::prefetch_distance(variants[plan->variant].config, plan->problem, plan->device);
  };
  EXPECT_EQ(ahead({.rows = 4096, .cols = 32768}, "H200"), 132 * 3 / 8);  // one row in a multiprocessor
  EXPECT_EQ(ahead({.rows = 8192, .cols = 8192, .dtype = bf16}, "H200"), 8 * 132 * 3 / 8);  // eight
  EXPECT_EQ(ahead({.rows = 4096, .cols = 32768}, "A100"), 0);
  EXPECT_EQ(ahead({.rows = 4096, .cols = 32768, .added = true}, "H200"), 0);
  EXPECT_EQ(ahead({.rows = 65536, .cols = 1024}, "H200"), 0);  // 4 KB
}

TEST(NormPlan, RowsOfNoColumnsArePlannedFromSizes) {
  for (const bool backward : {false, true}) {
    const auto plan = plan_norm({.backward = backward, .rows = 5, .cols = 0, .dgamma = backward}, cpu());
    EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message());
  }
}

TEST(NormPlan, GradientsOfVectorsAreElementsApart) {
  std::vector<float> rows(2 * 8), gradients(rows.size()), vector(8);
  const TensorView x = view(rows.data(), {2, 8}), dx = view(gradients.data(), {2, 8});
  const TensorView one = broadcast_to(view(vector.data(), {1}), Layout::contiguous({8}));
  const auto refused = [](const NormGradientTensors& t) {
    const auto p = NormProblem::of(Norm::layer, 1e-5, t);
    return p ? std::string() : std::string(p.error().argument());
  };
  EXPECT_EQ(refused({.dy = x, .x = x, .dx = dx, .dgamma = one}), "dgamma.strides");
  EXPECT_EQ(refused({.dy = x, .x = x, .dx = dx, .dbeta = one}), "dbeta.strides");
  EXPECT_EQ(refused({.dy = x, .x = x, .gamma = one, .dx = dx}), "");  // an input may repeat
  EXPECT_EQ(refused({.dy = x, .x = x, .dx = dx, .dgamma = view(vector.data(), {8})}), "");
}

TEST(NormPlan, ARefusalSaysWhy) {
  auto plan = plan_norm({.rows = 8, .cols = 5000}, *device_model("H200"), {.variant = "warp_32"});
  EXPECT_EQ(plan.error().message(),
            "layer_norm: variant is warp_32; it must be another one here: a row has 1250 vectors of 16 bytes, and 32 "
            "are kept");
  plan = plan_norm({.rows = 8, .cols = 50}, *device_model("H200"), {.variant = "fused_128"});
  EXPECT_EQ(plan.error().message(),
            "layer_norm: variant is fused_128; it must be another one here: it is for gradients of gamma and beta");
  plan = plan_norm({.norm = Norm::rms, .rows = 8, .cols = 8, .dtype = i32}, *device_model("H200"));
  EXPECT_EQ(plan.error().message(), "rms_norm: dtype is i32; it must be one of f32 f16 bf16 f64");
  plan = plan_norm({.rows = 8, .cols = 8, .eps = -1}, *device_model("H200"));
  EXPECT_EQ(plan.error().message(), "layer_norm: eps is -1; it must be finite and not negative");
  plan = plan_norm({.rows = 8, .cols = 8, .eps = 3.5e38}, *device_model("H200"));
  EXPECT_EQ(plan.error().message(), "layer_norm: eps is 3.5e+38; it must be in float32's range");
  EXPECT_TRUE(plan_norm({.rows = 8, .cols = 8, .dtype = DType::f64, .eps = 3.5e38}, *device_model("H200")));
}

TEST(NormPlan, AGradientIsRefusedInTheNamesThatWereAskedFor) {
  std::vector<float> rows(2 * 8), sums(rows.size() + 1), gradients(rows.size());
  std::vector<half> halves(rows.size());
  const TensorView dy = view(rows.data(), {2, 8}), sum = view(sums.data(), {2, 8}), dx = view(gradients.data(), {2, 8});
  const auto op = find_op("add_layer_norm");
  ASSERT_TRUE(op);
  Options options;
  options.set("backward", "1");
  options.set("inputs", "dy,sum");
  options.set("outputs", "dx");
  const auto refusal = [&](const TensorView& of_dy, const TensorView& of_sum, const TensorView& of_dx) {
    const std::vector<TensorView> in{of_dy, of_sum}, out{of_dx};
    return std::string(plan_op(**op, in, out, options, cpu()).error().message());
  };
  EXPECT_EQ(refusal(view(halves.data(), {2, 8}), sum, view(halves.data(), {2, 8})),
            "add_layer_norm: dy.dtype is f16; it must be that of sum, f32");
  EXPECT_TRUE(refusal(dy, view(sums.data(), {1, 8}), dx).starts_with("add_layer_norm: dy.shape is 2x8;"));
  EXPECT_TRUE(refusal(dy, sum, view(sums.data() + 1, {2, 8})).starts_with("add_layer_norm: dx is overlapping sum;"));
}

// Checks y of one row by every variant: it may differ from float64's by `most` and by the `share` of itself.
void expect_close(const std::vector<float>& x, double most, double share) {
  const auto cols = static_cast<std::int64_t>(x.size());
  std::vector<float> y(x.size());
  double mean = 0, variance = 0;
  for (const float e : x) mean += e / static_cast<double>(cols);
  for (const float e : x) variance += (e - mean) * (e - mean) / static_cast<double>(cols);
  int ran = 0;
  for (const auto& row : variants) {
    std::vector<float> from = x;
    const NormTensors t{.x = view(from.data(), {1, cols}), .y = view(y.data(), {1, cols})};
    const auto plan = plan_norm(*NormProblem::of(Norm::layer, 1e-5, t), cpu(), {.variant = std::string(row.name)});
    if (!plan) continue;
    std::vector<double> room(plan->workspace_bytes() / sizeof(double) + 1);  // for multi-block rows
    ASSERT_TRUE(plan->run(t, {room.data(), plan->workspace_bytes()}).ok());
    ++ran;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double want = (x[i] - mean) / std::sqrt(variance + 1e-5);
      EXPECT_NEAR(y[i], want, most + share * std::fabs(want)) << row.name << " " << i;
    }
  }
  EXPECT_GT(ran, 5);
}

// A mean 8,000 times the standard deviation, which float32 holds to 1 part in 10^7: the error left is the rounding of a
// sum of 4,096 squares, the most if one thread sums them. And a first element far from such a mean, whose own y is 64
// and shows the rounding of the sum: by one thread, some 160 units in its last place.
TEST(LayerNorm, AMeanFarFromZeroCostsNoAccuracy) {
  std::vector<float> x(4096);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(1e4 + static_cast<double>(i) * 1e-3);
  expect_close(x, 5e-6, 0);
  x[0] = 0;
  expect_close(x, 5e-6, 160 * 0x1p-24);
}

// gamma and beta may have any alignment, whatever x has.
TEST(LayerNorm, VectorsThatStartOffAUnit) {
  constexpr std::int64_t rows = 2, cols = 1000;
  std::vector<float> x(rows * cols), y(x.size()), gamma(cols + 1), beta(cols + 3);
  for (std::int64_t i = 0; i < rows * cols; ++i) x[i] = static_cast<float>(i * 37 % 100) - 50;  // a mean of -0.5
  for (std::int64_t i = 0; i < cols; ++i) {
    gamma[i + 1] = static_cast<float>(i % 7);
    beta[i + 3] = static_cast<float>(i % 5);
  }
  const double mean = -0.5, scale = 1 / std::sqrt((100.0 * 100 - 1) / 12 + 1e-5);
  int ran = 0;
  for (const auto& row : variants) {
    NormTensors t{.x = view(x.data(), {rows, cols}), .y = view(y.data(), {rows, cols})};
    t.gamma = view(gamma.data() + 1, {cols});
    t.beta = view(beta.data() + 3, {cols});
    const auto plan = plan_norm(*NormProblem::of(Norm::layer, 1e-5, t), cpu(), {.variant = std::string(row.name)});
    if (!plan) continue;
    std::vector<double> room(plan->workspace_bytes() / sizeof(double) + 1);
    ASSERT_TRUE(plan->run(t, {room.data(), plan->workspace_bytes()}).ok()) << row.name;
    ++ran;
    for (std::int64_t i = 0; i < rows * cols; ++i)
      ASSERT_NEAR(y[i], (x[i] - mean) * scale * (i % cols % 7) + i % cols % 5, 2e-5) << row.name << " " << i;
  }
  EXPECT_GT(ran, 5);
}

// Squares of distances from 0, or from the first element, overflow; those of distances from the mean do not. The other
// elements' distances are known to the last bits of the first element's.
TEST(LayerNorm, AFirstElementSoFarThatSquaresOverflow) {
  std::vector<float> x(4096, 0.0f);
  x[0] = 1e18f;
  expect_close(x, 1e-5, 5e-5);
  x.assign(128, 3e18f);
  x[0] = 0;
  expect_close(x, 1e-5, 5e-5);
}

// A plan takes tensors of the planned alignment, and of others if its variant takes them: on a GPU, a ring's rows then
// have other room.
void expect_elsewhere(const DeviceInfo& on, std::int64_t rows, std::int64_t cols) {
  const auto n = static_cast<std::size_t>(rows * cols);
  std::vector<float> x(n + 4), y(n + 4), want(n + 4);
  for (std::size_t i = 0; i < n; ++i) x[i + 1] = static_cast<float>(i * 37 % 101) - 50;
  layer_norm(view(x.data() + 1, {rows, cols}), view(want.data() + 1, {rows, cols}));
  auto from = Buffer::allocate(on.id, x.size() * sizeof(float)), to = Buffer::allocate(on.id, y.size() * sizeof(float));
  ASSERT_TRUE(from.ok() && to.ok());
  throw_if(copy_bytes(from->data(), on.id, x.data(), {}, x.size() * sizeof(float)));
  const auto at = [&](Buffer& buffer, int element) {
    return view(static_cast<float*>(buffer.data()) + element, {rows, cols}, on.id);
  };
  int ran = 0;
  for (const auto& row : variants) {
    const NormTensors planned{.x = at(*from, 0), .y = at(*to, 0)}, t{.x = at(*from, 1), .y = at(*to, 1)};
    const auto plan = plan_norm(*NormProblem::of(Norm::layer, 1e-5, planned), on, {.variant = std::string(row.name)});
    if (!plan) continue;
    auto room = Buffer::allocate(on.id, plan->workspace_bytes() + 1);
    ASSERT_TRUE(room.ok());
    if (const Status status = plan->run(t, {room->data(), plan->workspace_bytes()}); !status.ok()) {
      EXPECT_EQ(status.argument(), "the request") << status.message();  // it takes vector-aligned rows
      continue;
    }
    ++ran;
    const float* const written = static_cast<const float*>(to->data()) + 1;
    throw_if(copy_bytes(y.data() + 1, {}, written, on.id, n * sizeof(float)));
    // As the other row, whose sums are short; this one's serial sum errs by at most half a last bit per addition.
    const double of_scale = 1e-5 + static_cast<double>(cols / lanes(row.config)) / (1 << 24);
    for (std::size_t i = 1; i <= n; ++i)
      ASSERT_NEAR(y[i], want[i], of_scale * std::max(1.0f, std::fabs(want[i]))) << row.name << " " << i;
  }
  EXPECT_GT(ran, 3);
}
TEST(LayerNorm, APlanTakesTensorsThatLieElsewhere) {
  expect_elsewhere(cpu(), 3, 1000);
  expect_elsewhere(cpu(), 2, 20000);
}
TEST(LayerNorm, cudaAPlanTakesTensorsThatLieElsewhere) {
  auto gpu = device(0);
  if (!gpu) GTEST_SKIP() << "no GPU on this machine";
  expect_elsewhere(*gpu, 70, 1000);
  expect_elsewhere(*gpu, 70, 131072);
}

// Squares of the elements overflow, and those of their distances do not.
TEST(LayerNorm, LargeNumbersNearEachOther) {
  constexpr std::int64_t rows = 3, cols = 64;
  std::vector<float> x(rows * cols), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 2 ? 1.01e19f : 0.99e19f;
  int ran = 0;
  for (const auto& row : variants) {
    const NormTensors t{.x = view(x.data(), {rows, cols}), .y = view(y.data(), {rows, cols})};
    const auto plan = plan_norm(*NormProblem::of(Norm::layer, 1e-5, t), cpu(), {.variant = std::string(row.name)});
    if (!plan) continue;
    ASSERT_TRUE(plan->run(t).ok()) << row.name;
    ++ran;
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], i % 2 ? 1 : -1, 1e-4) << row.name << " " << i;
  }
  EXPECT_GT(ran, 5);
}

// The greatest error against float64's result, in units in the last place (of 2^-4 for results below it).
double worst_ulps(const std::vector<float>& x, std::int64_t cols, Norm norm, Accumulate accumulate) {
  const std::int64_t rows = static_cast<std::int64_t>(x.size()) / cols;
  std::vector<float> from = x, y(x.size());
  const TensorView in = view(from.data(), {rows, cols}), out = view(y.data(), {rows, cols});
  if (norm == Norm::layer) layer_norm(in, out, {.accumulate = accumulate});
  else rms_norm(in, out, {.accumulate = accumulate});
  double worst = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* e = x.data() + row * cols;
    long double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < cols; ++i) sum += e[i];
    const long double mean = norm == Norm::rms ? 0 : sum / static_cast<long double>(cols);
    for (std::int64_t i = 0; i < cols; ++i) squares += (e[i] - mean) * (e[i] - mean);
    const long double scale = 1 / std::sqrt(squares / static_cast<long double>(cols) + 1e-5L);
    for (std::int64_t i = 0; i < cols; ++i) {
      const auto want = static_cast<double>((e[i] - mean) * scale);
      const double ulp = std::ldexp(1.0, std::max(std::ilogb(want), -4) - 23);
      worst = std::max(worst, std::fabs(y[static_cast<std::size_t>(row * cols + i)] - want) / ulp);
    }
  }
  return worst;
}

// The table of the README: --gtest_output=json:FILE writes the numbers. Without gamma and beta, one rounding is left.
TEST(NormAccuracy, InTwoFloatsOnlyTheResultIsRounded) {
  struct Data {
    const char* name;
    std::int64_t rows, cols;
    double (*element)(double normal, std::int64_t i);
  };
  constexpr Data all[] = {
      {"normal_64x4096", 64, 4096, [](double normal, std::int64_t) { return normal; }},
      {"mean_1e4_64x4096", 64, 4096, [](double normal, std::int64_t) { return 1e4 + normal; }},
      {"signs_1e4_64x4096", 64, 4096, [](double normal, std::int64_t i) { return (i % 2 ? -1e4 : 1e4) + normal; }},
      {"outlier_64x4096", 64, 4096, [](double normal, std::int64_t i) { return i % 4096 ? normal : 1e4; }},
      {"mean_1e4_2x131072", 2, 131072, [](double normal, std::int64_t) { return 1e4 + normal; }},
  };
  for (const Data& data : all)
    for (Norm norm : {Norm::layer, Norm::rms}) {
      std::mt19937 random(7);
      std::normal_distribution<double> normal;
      std::vector<float> x(static_cast<std::size_t>(data.rows * data.cols));
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>(data.element(normal(random), static_cast<std::int64_t>(i)));
      const double plain = worst_ulps(x, data.cols, norm, Accumulate::plain),
                   two_float = worst_ulps(x, data.cols, norm, Accumulate::two_float);
      const std::string name = std::string(norm == Norm::layer ? "layer_norm_" : "rms_norm_") + data.name;
      RecordProperty(name + "_plain", std::to_string(plain));
      RecordProperty(name + "_two_float", std::to_string(two_float));
      EXPECT_LE(two_float, 0.51) << name;
      EXPECT_LE(two_float, plain) << name;
    }
}

// Squares of the elements overflow, and those of their distances do not; and a mean that float32 does not have.
TEST(NormAccuracy, TwoFloatsTakeDistancesFromTheMeanWhereItIsFar) {
  constexpr std::int64_t cols = 64;
  std::vector<float> x(cols), y(cols);
  for (std::int64_t i = 0; i < cols; ++i) x[i] = i % 2 ? 1.01e19f : 0.99e19f;
  layer_norm(view(x.data(), {1, cols}), view(y.data(), {1, cols}), {.accumulate = Accumulate::two_float});
  for (std::int64_t i = 0; i < cols; ++i) EXPECT_NEAR(y[i], i % 2 ? 1 : -1, 1e-6) << i;
  for (std::int64_t i = 0; i < cols; ++i) x[i] = i % 2 ? 16777216.0f : 16777218.0f;
  layer_norm(view(x.data(), {1, cols}), view(y.data(), {1, cols}), {.accumulate = Accumulate::two_float});
  for (std::int64_t i = 0; i < cols; ++i) EXPECT_NEAR(y[i], (i % 2 ? -1 : 1) / std::sqrt(1 + 1e-5), 0x1p-24) << i;
}

// By every variant, also where a row's sum is beyond float32's range; zeros also with an eps that is below it.
TEST(LayerNorm, ConstantRowsGiveBetaItself) {
  const auto only_large = [](std::int64_t cols) {
    return cols > 10000;
  };  // one thread alone errs where sums are rounded
  for (const std::int64_t cols : {20, 128, 1000, 1024, 20000})
    for (const double eps : {1e-5, 1e-60})
      for (const float value : {0.0f, 0.1f, 60000.0f, -3e-3f, 1e38f, -3e38f}) {
        if ((eps < 1e-5 && value != 0) || (only_large(cols) && std::fabs(value) < 1e38f)) continue;
        const auto n = static_cast<std::size_t>(2 * cols);
        std::vector<float> x(n, value), y(n), beta(static_cast<std::size_t>(cols));
        for (std::size_t i = 0; i < beta.size(); ++i) beta[i] = static_cast<float>(i % 1000) * 0.25f + 1;
        int ran = 0;
        for (const auto& row : variants) {
          NormTensors t{.x = view(x.data(), {2, cols}), .y = view(y.data(), {2, cols})};
          t.beta = view(beta.data(), {cols});
          const auto plan = plan_norm(*NormProblem::of(Norm::layer, eps, t), cpu(), {.variant = std::string(row.name)});
          if (!plan) continue;
          std::vector<double> room(plan->workspace_bytes() / sizeof(double) + 1);
          ASSERT_TRUE(plan->run(t, {room.data(), plan->workspace_bytes()}).ok()) << row.name;
          ++ran;
          for (std::size_t i = 0; i < n; ++i) {
            const float want = beta[i % beta.size()];
            ASSERT_NEAR(y[i], want, 1e-6 * want) << row.name << " " << cols << " " << eps << " " << value << " " << i;
          }
        }
        EXPECT_GT(ran, 3);
      }
}

// Fused kernels take a row's sums relative to the mean of 32 elements. If just these lie far off, they are the root of
// cols / 32 standard deviations from the row's mean, and the variance errs by cols / 32 roundings, as norm.hpp says.
TEST(LayerNorm, GradientsOfARowWhoseFirstElementsLieFarOff) {
  constexpr std::int64_t cols = 8192;
  std::vector<float> x(cols), dy(cols), dx(cols), dgamma(cols);
  for (std::int64_t i = 0; i < cols; ++i) {
    x[i] = i < 128 && i % 4 == 0 ? 1000.0f : static_cast<float>(i * 37 % 101) / 50 - 1;
    dy[i] = static_cast<float>(i * 53 % 103) / 51 - 1;
  }
  double mean = 0, variance = 0, mean_g = 0, mean_gn = 0;
  for (const float e : x) mean += e / static_cast<double>(cols);
  for (const float e : x) variance += (e - mean) * (e - mean) / static_cast<double>(cols);
  const double scale = 1 / std::sqrt(variance + 1e-5);
  for (std::int64_t i = 0; i < cols; ++i) {
    mean_g += dy[i] / static_cast<double>(cols);
    mean_gn += dy[i] * (x[i] - mean) * scale / static_cast<double>(cols);
  }
  int ran = 0;
  for (const auto& row : variants) {
    const NormGradientTensors t{.dy = view(dy.data(), {1, cols}),
                                .x = view(x.data(), {1, cols}),
                                .dx = view(dx.data(), {1, cols}),
                                .dgamma = view(dgamma.data(), {cols})};
    const auto plan = plan_norm(*NormProblem::of(Norm::layer, 1e-5, t), cpu(), {.variant = std::string(row.name)});
    if (!plan) continue;
    std::vector<double> room(plan->workspace_bytes() / sizeof(double) + 1);
    ASSERT_TRUE(plan->run(t, {room.data(), plan->workspace_bytes()}).ok()) << row.name;
    ++ran;
    double worst = 0;
    for (std::int64_t i = 0; i < cols; ++i) {
      const double n = (x[i] - mean) * scale;
      worst = std::max(worst, std::fabs(dx[i] / scale - (dy[i] - mean_g - n * mean_gn)));
      worst = std::max(worst, std::fabs(dgamma[i] - dy[i] * n) / std::max(1.0, std::fabs(n)));
    }
    EXPECT_LT(worst, cols / 32 * 0x1p-23) << row.name;
  }
  EXPECT_GT(ran, 3);
}

TEST(LayerNorm, WhatMayOverlap) {
  std::vector<float> x(400), gamma(20);
  EXPECT_THROW(layer_norm(view(x.data(), {10, 20}), view(x.data() + 20, {10, 20})), Error);
  EXPECT_THROW(layer_norm(view(x.data(), {10, 20}), view(x.data(), {10, 20}), {.gamma = view(x.data(), {20})}), Error);
  const TensorView a = view(x.data(), {10, 20}), b = view(x.data() + 200, {10, 20});
  EXPECT_NO_THROW(add_layer_norm(a, b, a, b));  // y and sum take the places of x and residual
  EXPECT_THROW(add_layer_norm(a, b, a, a), Error);
  EXPECT_THROW(norm_gradients(Norm::layer, {.dy = a, .x = b, .dx = a}), Error);
}

// By name: which optional tensors there are.
TEST(LayerNorm, InputsAndOutputsByName) {
  const OpInfo& op = **find_op("layer_norm");
  const auto names = [](const Result<std::vector<std::string_view>>& r) {
    if (!r) return std::string(r.error().message());
    std::string text;
    for (auto name : *r) text += std::string(name) + " ";
    return text;
  };
  EXPECT_EQ(names(input_names(op, {}, 1)), "x ");
  EXPECT_EQ(names(input_names(op, {}, 2)), "x gamma ");
  EXPECT_EQ(names(input_names(op, {{"inputs", "x,beta"}}, 2)), "x beta ");
  EXPECT_EQ(names(input_names(op, {{"backward", "1"}}, 2)), "dy x ");
  EXPECT_EQ(names(output_names(op, {{"backward", "1"}, {"outputs", "dx,dbeta"}})), "dx dbeta ");
  EXPECT_EQ(names(input_names(op, {}, 4)), "layer_norm: the number of inputs is 4; it must be 3 (x, gamma, beta)");
  EXPECT_EQ(names(input_names(op, {{"inputs", "beta,x"}}, 2)),
            "layer_norm: inputs is 'beta,x'; it must be of x, [gamma], [beta], in order");
  EXPECT_EQ(names(input_names(op, {{"inputs", "gamma"}}, 1)),
            "layer_norm: inputs is 'gamma'; it must be of x, [gamma], [beta], in order");
  EXPECT_EQ(names(output_names(op, {{"outputs", "y,dx"}})), "layer_norm: outputs is 'y,dx'; it must be of y, in order");
  EXPECT_EQ(names(output_names(op, {{"backward", "yes"}})), "layer_norm: backward is 'yes'; it must be 0 or 1");
}

}  // namespace
}  // namespace ridge
