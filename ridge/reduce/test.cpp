#include <ridge/check/gtest_cases.hpp>
#include <ridge/core/op.hpp>
#include <ridge/reduce/families.hpp>
#include <ridge/reduce/offsets.hpp>
#include <ridge/reduce/reduce.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace ridge {
namespace {

using namespace reduce_detail;

#ifdef RIDGE_SIMT_RACE  // slow, and barriers do not depend on the function: three stand for all
const check::TestCasesOf cases{"sum", "argmax", "dot", "trace"};
#else
const check::TestCasesOf cases{"sum", "mean", "max", "min", "argmax", "argmin", "dot", "trace"};
#endif

std::string chosen(const ReduceProblem& p, const char* device = "H200") {
  auto plan = plan_reduce(p, *device_model(device));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}
std::string refusal(const ReduceProblem& p, const char* variant = "") {
  auto plan = plan_reduce(p, *device_model("H200"), {.variant = variant});
  return plan ? "none" : std::string(plan.error().message());
}

// ---- the plan ----------------------------------------------------------------------------------------------------

TEST(ReducePlan, EverythingIsSplitOverTheChipUnlessOneBlockIsSooner) {
  EXPECT_EQ(chosen(ReduceProblem::flat(Reduce::sum, f32, 1 << 28)), "best");
  EXPECT_EQ(chosen(ReduceProblem::flat(Reduce::argmax, f32, 1 << 28)), "best");
  EXPECT_EQ(chosen(ReduceProblem::flat(Reduce::dot, f32, 1 << 28)), "best");
  // Reading 8,192 partial results shows beside reading x.
  EXPECT_EQ(chosen(ReduceProblem::flat(Reduce::sum, bf16, 1 << 26)), "one_wave");
  EXPECT_EQ(chosen(ReduceProblem::flat(Reduce::sum, f32, 1 << 20)), "best");
  // A cluster of blocks on Hopper, a block elsewhere.
  EXPECT_EQ(chosen(ReduceProblem::flat(Reduce::sum, f32, 65536)), "cluster");
  EXPECT_EQ(chosen(ReduceProblem::flat(Reduce::dot, f32, 16384)), "cluster");
  EXPECT_EQ(chosen(ReduceProblem::flat(Reduce::sum, f32, 8192), "A100"), "one_block");
  EXPECT_EQ(chosen(ReduceProblem::flat(Reduce::sum, f32, 4096)), "best");  // one slice: one block, no partial results
  EXPECT_EQ(chosen(ReduceProblem::flat(Reduce::sum, f32, 0)), "best");
}

TEST(ReducePlan, RowsGetTheThreadsThatTheirLengthFeeds) {
  const auto sum = [](std::int64_t rows, std::int64_t cols) {
    return chosen(ReduceProblem::rows(Reduce::sum, f32, rows, cols));
  };
  EXPECT_EQ(sum(65536, 128), "row_lanes");
  EXPECT_EQ(sum(65536, 1024), "row_warp");
  EXPECT_EQ(sum(16384, 4096), "row_block");
  EXPECT_EQ(sum(4096, 32768), "row_block");
  EXPECT_EQ(sum(4096, 50257), "row_block");
  EXPECT_EQ(sum(16, 1 << 24), "row_split");
  for (const std::int64_t cols : {3, 7, 17, 32, 33, 64, 125}) EXPECT_EQ(sum(1000000, cols), "row_span") << cols;
  for (const Reduce f : {Reduce::sum, Reduce::max, Reduce::argmin})
    for (const DType dtype : {u8, i8, bf16, i32})
      for (const std::int64_t cols : {33, 64, 100, 256})
        EXPECT_EQ(chosen(ReduceProblem::rows(f, dtype, 1000000, cols)), "row_span") << name(dtype) << cols;
  auto apart = ReduceProblem::rows(Reduce::sum, f32, 65536, 128);  // a gap behind each row
  apart.x.stride[0] = apart.z.stride[0] = 132;
  EXPECT_EQ(chosen(apart), "row_lanes");
}

TEST(ReducePlan, ATraceIsALineWithGaps) {
  const auto p = ReduceProblem::trace(f32, 16384, 20000);
  auto plan = plan_reduce(p, *device_model("H200"));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(variants[plan->variant].name, "cluster");
  EXPECT_EQ(plan->explain().cost.bytes_read, 4.0 * 16384);
  EXPECT_EQ(plan->workspace_bytes(), 0u);
}

TEST(ReducePlan, AnOutermostAxisOfOneIsNoRow) {
  auto p = ReduceProblem::rows(Reduce::max, f32, 1, 1 << 24);
  EXPECT_EQ(chosen(p), "one_wave");
}

TEST(ReducePlan, OtherAxesAreReadAsColumns) {
  const auto along = [](DType dtype, std::vector<std::int64_t> shape, int axis) {
    return chosen(ReduceProblem::along(Reduce::sum, dtype, shape, axis));
  };
  for (DType dtype : {f32, bf16}) {
    EXPECT_EQ(along(dtype, {65536, 128}, 0), "columns");
    EXPECT_EQ(along(dtype, {1024, 131072}, 0), "columns");
    EXPECT_EQ(along(dtype, {64, 1024, 1024}, 1), "columns");
    EXPECT_EQ(along(dtype, {64, 1024, 1024}, -3), "columns");
    EXPECT_EQ(along(dtype, {16384, 4096}, 1), along(dtype, {16384, 4096}, -1));
    EXPECT_EQ(along(dtype, {4, 8, 16, 2, 3, 4, 5, 1024}, 7).substr(0, 4), "row_");
  }
  EXPECT_EQ(along(f32, {16384, 4096}, 0), "columns");
  EXPECT_EQ(along(f32, {8192, 8192}, 0), "columns");
  EXPECT_EQ(along(bf16, {4096, 32768}, 0), "columns");
  EXPECT_EQ(along(bf16, {65536, 1024}, 0), "columns");
  EXPECT_EQ(along(bf16, {16384, 4096}, 0), "columns");
  EXPECT_EQ(along(bf16, {8192, 8192}, 0), "columns");
  EXPECT_EQ(along(i32, {16384, 4096}, 0), "strided");
  auto p = ReduceProblem::along(Reduce::max, f32, std::vector<std::int64_t>{1 << 14, 1 << 12}, 0);
  p.start = 4;
  EXPECT_EQ(chosen(p), "strided");
}

TEST(ReducePlan, RowsOfOneElementAreReadBesideEachOther) {
  const auto along = [](Reduce f, DType dtype, std::vector<std::int64_t> shape, int axis) {
    return chosen(ReduceProblem::along(f, dtype, shape, axis));
  };
  for (DType dtype : {f32, bf16, u8}) {
    EXPECT_EQ(along(Reduce::sum, dtype, {1, 10000001}, 0), "row_span");
    EXPECT_EQ(along(Reduce::sum, dtype, {10000000, 1}, 1), "row_span");
    EXPECT_EQ(along(Reduce::sum, dtype, {64, 1, 4096}, 1), "row_span");
    EXPECT_EQ(along(Reduce::argmax, dtype, {1, 10000000}, 0), "row_span");
  }
  auto apart = ReduceProblem::along(Reduce::sum, f32, std::vector<std::int64_t>{1000000, 1}, 1);
  apart.x.stride[0] = apart.z.stride[0] = 2;
  EXPECT_EQ(chosen(apart), "strided");
  auto lines = ReduceProblem::along(Reduce::sum, f32, std::vector<std::int64_t>{4000, 1, 4096}, 1);  // of wider ones
  lines.x.stride[0] = lines.z.stride[0] = 4160;
  EXPECT_EQ(chosen(lines), "columns");
}

TEST(ReducePlan, ColumnsAtAnyPitchAreReadBy16Bytes) {
  const auto plan = [](Reduce f, DType dtype, std::vector<std::int64_t> shape, int axis = 0) {
    return *plan_reduce(ReduceProblem::along(f, dtype, shape, axis), *device_model("H200"));
  };
  const auto row = [](const ReducePlan& p) { return std::string(variants[p.variant].name); };
  for (DType dtype : {f32, f16, bf16}) {
    const ReducePlan p = plan(Reduce::mean, dtype, {4096, 50257});
    EXPECT_EQ(row(p), "columns_shifted");
    EXPECT_EQ(p.slices, dtype == f32 ? 5 : 8);
    EXPECT_EQ(p.workspace_bytes(), static_cast<std::size_t>(p.slices) * 50257 * 4);
    EXPECT_EQ(row(plan(Reduce::sum, dtype, {64, 1023, 1023}, 1)), "columns_shifted");
  }
  EXPECT_EQ(row(plan(Reduce::max, bf16, {4096, 50257})), "strided");
  EXPECT_EQ(row(plan(Reduce::sum, i32, {4096, 50257})), "strided");

  auto p = ReduceProblem::along(Reduce::sum, f32, std::vector<std::int64_t>{4096, 50257}, 0);
  p.start = 4;
  EXPECT_EQ(chosen(p), "columns_shifted");
  p.accumulate = Accumulate::two_float;
  EXPECT_EQ(refusal(p, "columns_shifted"),
            "sum: variant is columns_shifted; it must be another one here: columns at any pitch are for plain sums and "
            "means of f32, f16 and bf16");
  p.accumulate = Accumulate::plain;
  for (std::int64_t pitch : {std::int64_t{50256}, std::int64_t{-50257}}) {  // overlapping windows; reversed
    p.x.stride[0] = p.z.stride[0] = pitch;
    EXPECT_EQ(
        refusal(p, "columns_shifted"),
        "sum: variant is columns_shifted; it must be another one here: the axis that is reduced does not step past "
        "what lies side by side");
  }
  p.x.stride[1] = p.z.stride[1] = 2;
  EXPECT_EQ(refusal(p, "columns_shifted"),
            "sum: variant is columns_shifted; it must be another one here: rows do not lie side by side");
}

TEST(ReducePlan, AxesInAnotherOrderAreTheSameRows) {
  // A transposed view: its last axis is the columns of what is stored.
  auto p = ReduceProblem::rows(Reduce::sum, f32, 4096, 16384);
  p.x.stride[0] = p.z.stride[0] = 1;
  p.x.stride[1] = p.z.stride[1] = 4096;
  EXPECT_EQ(chosen(p), "columns");
  p.y = {};  // over everything, the order of the axes is free...
  EXPECT_EQ(chosen(p), "one_wave");
  p.function = Reduce::argmax;  // ... but for indices
  EXPECT_EQ(chosen(p), "strided");
}

TEST(ReducePlan, BlocksOfColumnsHaveEveryThreadAtWork) {
  const Config c = std::ranges::find(variants, "columns", &Variant::name)->config;
  const auto threads = [&](Extent e) {
    const tile::ColumnBlock k = columns::block_of(c, e, 4);
    EXPECT_EQ(k.lanes * k.depth * k.groups, c.threads);
    return std::vector<int>{k.lanes, k.depth, k.groups};
  };
  EXPECT_EQ(threads({.rows = 4096, .cols = 16384, .inner = 4096}), (std::vector<int>{8, 32, 1}));
  EXPECT_EQ(threads({.rows = 1 << 15, .cols = 4096, .inner = 1 << 15}), (std::vector<int>{16, 16, 1}));
  EXPECT_EQ(threads({.rows = 1 << 17, .cols = 1024, .inner = 1 << 17}), (std::vector<int>{32, 8, 1}));
  EXPECT_EQ(threads({.rows = 1 << 20, .cols = 16, .inner = 8}), (std::vector<int>{2, 4, 32}));
  EXPECT_EQ(threads({.rows = 4, .cols = std::int64_t{1} << 40, .inner = 4}), (std::vector<int>{1, 256, 1}));
}

TEST(ReducePlan, StridesAndMisalignmentFallBack) {
  auto p = ReduceProblem::flat(Reduce::sum, f32, 1 << 20);
  p.x.stride[0] = p.z.stride[0] = 2;
  EXPECT_EQ(chosen(p), "strided");
  p = ReduceProblem::flat(Reduce::dot, f32, 1 << 20);
  p.alignment = 4;
  EXPECT_EQ(chosen(p), "scalar");
  p.z.stride[0] = 0;
  EXPECT_EQ(chosen(p), "strided");
  p = ReduceProblem::rows(Reduce::sum, f32, 16384, 4096);  // rows with gaps are rows
  p.x.stride[0] = p.z.stride[0] = 5001;
  EXPECT_EQ(chosen(p), "row_block");
  p.y = {};  // over everything, the gaps part the elements
  EXPECT_EQ(chosen(p), "strided");
}

TEST(ReducePlan, RefusalsSayWhy) {
  const auto line = ReduceProblem::flat(Reduce::sum, f32, 1 << 20);
  EXPECT_EQ(refusal(ReduceProblem::flat(Reduce::max, f32, 0)),
            "max: x.shape is 0; it must be one with an element for each result");
  EXPECT_EQ(refusal(ReduceProblem::rows(Reduce::argmin, f32, 3, 0)),
            "argmin: x.shape is 3x0; it must be one with an element for each result");
  EXPECT_EQ(refusal(ReduceProblem::rows(Reduce::argmin, f32, 0, 0)), "none");
  EXPECT_EQ(refusal(ReduceProblem::flat(Reduce::sum, boolean, 8)),
            "sum: dtype is bool; it must be one of f64 f32 f16 bf16 i64 i32 i8 u8");
  EXPECT_EQ(refusal(ReduceProblem::flat(Reduce::dot, boolean, 8)),
            "dot: dtype is bool; it must be one of f64 f32 f16 bf16 i64 i32 i8 u8");
  EXPECT_EQ(refusal(line, "row_split"),
            "sum: variant is row_split; it must be another one here: there are no several rows");
  EXPECT_EQ(refusal(ReduceProblem::flat(Reduce::sum, f16, 8), "vec4"),
            "sum: variant is vec4; it must be another one here: a step of the textbook: sum, mean, max and min of f32 "
            "and i32 (vec4: dot too)");
  EXPECT_EQ(refusal(ReduceProblem::flat(Reduce::max, f32, 8), "atomic"),
            "max: variant is atomic; it must be another one here: an atomic instruction does sums of f32 and i32, and "
            "max and min of i32");
  EXPECT_EQ(
      refusal(ReduceProblem::flat(Reduce::mean, f32, 8), "block_atomic"),
      "mean: variant is block_atomic; it must be another one here: an atomic instruction does sums of f32 and i32, "
      "and max and min of i32");
  auto p = line;
  p.y = Layout::contiguous({3});
  p.axes = AxisSet::of({0});
  EXPECT_EQ(refusal(p),
            "sum: y.shape is 3; it must be a scalar, or x without its axis 0, scalar, or with 1 in their places");
  p = line;
  p.alignment = 2;
  EXPECT_EQ(refusal(p), "sum: alignment is 2 bytes; it must be a multiple of an element's 4 bytes");
  p = ReduceProblem::rows(Reduce::sum, f32, 3, 5);
  p.axes = AxisSet::of({2});
  EXPECT_EQ(refusal(p), "sum: axes is '2'; it must be from 0 to 1, the axes of x");
  p.axes = AxisSet::of({-1});
  EXPECT_EQ(refusal(p), "sum: axes is 'none'; it must be from 0 to 1, the axes of x");
  p.axes = AxisSet::of({0});
  EXPECT_EQ(refusal(p),
            "sum: y.shape is 3; it must be a scalar, or x without its axis 0, 5, or with 1 in their places");
}

TEST(ReducePlan, FloatAtomicsRunOnlyByName) {
  const auto refusal_of = [](DType dtype, std::string_view row, const char* by_name = "") {
    const auto plan =
        plan_reduce(ReduceProblem::flat(Reduce::sum, dtype, 1000), *device_model("H200"), {.variant = by_name});
    const Explanation e = plan->explain();
    return std::ranges::find(e.candidates, row, &Candidate::variant)->refusal;
  };
  for (const char* row : {"atomic", "block_atomic"}) {
    EXPECT_EQ(refusal_of(f32, row), "the order of its additions changes from run to run: only by name");
    EXPECT_EQ(refusal_of(f32, row, row), "");
    EXPECT_EQ(refusal_of(i32, row), "");
  }
}

TEST(ReducePlan, OneAtomicPerBlockTakesNoWorkspace) {
  const DeviceInfo h200 = *device_model("H200");
  const auto plan = plan_reduce(ReduceProblem::flat(Reduce::sum, f32, 1 << 20), h200, {.variant = "block_atomic"});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->workspace_bytes(), 0u);
  EXPECT_EQ(plan->grid, (1 << 20) / 256);
  const auto additions = [](const char* row) {
    const Config& c = std::ranges::find(variants, row, &Variant::name)->config;
    return partition_of(c).additions(c, {.cols = 1 << 20}, 1, 4);
  };
  EXPECT_EQ(additions("atomic"), 1 << 20);
  EXPECT_LE(additions("block_atomic"), (1 << 20) / 256 + 16);
}

// As `ridge trace` counts them (counts.txt): 47 wavefronts for 12 requests of each of a block's three accesses.
TEST(ReducePlan, ConflictsOfTheStridedTreeAreCounted) {
  EXPECT_EQ(textbook::conflicts_of_strided(256, 4), 3 * (47 - 12));
}

TEST(ReducePlan, WorkspaceIsAPartialResultPerSlice) {
  auto plan = plan_reduce(ReduceProblem::flat(Reduce::sum, bf16, 1 << 28), *device_model("H200"), {.variant = "best"});
  EXPECT_EQ(plan->slices, 32768 / 2);  // two tiles each: at most 32 waves of 4 blocks on each multiprocessor
  EXPECT_EQ(plan->workspace_bytes(), static_cast<std::size_t>(plan->slices) * 4);  // one pass
  plan =
      plan_reduce(ReduceProblem::flat(Reduce::sum, f32, 1 << 28), *device_model("H200"), {.variant = "warp_shuffle"});
  EXPECT_EQ(plan->workspace_bytes(), ((1 << 20) + 128) * sizeof(float));  // two passes, of 8,192 and 128
  plan = plan_reduce(ReduceProblem::flat(Reduce::argmax, f32, 4096), *device_model("H200"));
  EXPECT_EQ(plan->workspace_bytes(), 0u);
}

TEST(ReducePlan, NoFloatSumIsLongerThanItsChains) {
  const DeviceInfo h200 = *device_model("H200");
  const auto additions = [](const Variant& row, std::int64_t n, std::int64_t slices) {
    return partition_of(row.config).additions(row.config, {.cols = n}, slices, 4);
  };
  for (std::int64_t n : {std::int64_t{1} << 10, std::int64_t{1} << 28, std::int64_t{1} << 40}) {
    auto plan = plan_reduce(ReduceProblem::flat(Reduce::sum, f32, n), h200);
    ASSERT_TRUE(plan.ok());
    EXPECT_LE(additions(variants[plan->variant], n, plan->slices), longest_chain + 160) << n;
  }
  EXPECT_LE(additions(*std::ranges::find(variants, "best", &Variant::name), 1 << 28, 528), 600);
}

TEST(ReducePlan, ExplainsItself) {
  auto plan = plan_reduce(ReduceProblem::flat(Reduce::dot, f32, 1 << 28), *device_model("H200"));
  ASSERT_TRUE(plan.ok());
  const Explanation e = plan->explain();
  EXPECT_EQ(e.bound, "memory");
  EXPECT_EQ(e.cost.bytes(), 8.0 * (1 << 28) + 4);
  EXPECT_EQ(e.candidates.size(), std::size(variants));
  EXPECT_EQ(e.workspace_bytes, plan->workspace_bytes());
}

// ---- offsets -----------------------------------------------------------------------------------------------------

TEST(ReduceOffsets, FollowEveryAxisBeyond32Bits) {
  ReduceAxes axes;
  axes.outer = 2, axes.rank = 4;
  const std::int64_t shape[] = {3, 5, std::int64_t{1} << 33, 7}, stride[] = {11, -13, 17, std::int64_t{1} << 32};
  std::copy_n(shape, 4, axes.shape);
  std::copy_n(stride, 4, axes.x);
  EXPECT_EQ(row_offset(axes, axes.x, 2 * 5 + 4), 2 * 11 - 4 * 13);
  const std::int64_t col = (std::int64_t{1} << 33) - 1;
  EXPECT_EQ(col_offset(axes, axes.x, col * 7 + 6), col * 17 + 6 * stride[3]);
  axes.rank = axes.outer = 0;
  EXPECT_EQ(row_offset(axes, axes.x, 0), 0);
}

// ---- one line, on the CPU ----------------------------------------------------------------------------------------

TEST(Reduce, OneLineOnTheCpu) {
  std::vector<float> x{3, -1, 2, 8, 8, 1}, y(2);
  float all = 0;
  std::int64_t at = 0;
  sum(view(x.data(), {2, 3}), view(&all, {}));
  EXPECT_EQ(all, 21);
  max(view(x.data(), {2, 3}), view(y.data(), {2}));
  EXPECT_EQ(y[0], 3);
  EXPECT_EQ(y[1], 8);
  argmax(view(x.data(), {2, 3}), view(&at, {}));
  EXPECT_EQ(at, 3);
  dot(view(x.data(), {6}), view(x.data(), {6}), view(&all, {}));
  EXPECT_EQ(all, 143);
}

TEST(Reduce, ATraceReadsNothingButTheDiagonal) {
  std::vector<float> x(5 * 7, NAN);
  for (int i = 0; i < 5; ++i) x[static_cast<std::size_t>(i * 8)] = static_cast<float>(i + 1);
  float y = 0;
  trace(view(x.data(), {5, 7}), view(&y, {}));
  EXPECT_EQ(y, 15);
  trace(transposed(view(x.data(), {5, 7})), view(&y, {}));
  EXPECT_EQ(y, 15);
  trace(view(x.data(), {0, 7}), view(&y, {}));
  EXPECT_EQ(y, 0);
}

// As `ridge run` moves the diagonal alone to a GPU.
TEST(Reduce, ATraceIsThatOfItsCopiedDiagonal) {
  const OpInfo& op = **find_op("trace");
  for (const auto& [rows, cols] : {std::pair{5, 7}, {7, 5}, {1, 3}, {3, 1}, {0, 4}}) {
    std::vector<float> x(static_cast<std::size_t>(rows * cols), NAN), copy;
    for (int i = 0; i < std::min(rows, cols); ++i)
      x[static_cast<std::size_t>(i * (cols + 1))] = static_cast<float>(i + 1);
    const PartRead read = op.reads(view(x.data(), {rows, cols}));
    for (std::int64_t i = 0; i < read.part.count(); ++i)
      copy.push_back(x[static_cast<std::size_t>(i * read.part.stride(0))]);
    TensorView whole = view(copy.data(), {rows, cols});
    whole.layout = read.whole;
    EXPECT_EQ(whole.layout.span(), static_cast<std::int64_t>(copy.size()));
    float y = 0;
    trace(whole, view(&y, {}));
    const int n = std::min(rows, cols);
    EXPECT_EQ(y, static_cast<float>(n * (n + 1) / 2)) << rows << "x" << cols;
  }
}

TEST(Reduce, IntegersAndHalvesKeepTheirPromises) {
  std::vector<std::int32_t> big(3, 2147483647);
  std::int64_t wide = 0;
  sum(view(big.data(), {3}), view(&wide, {}));
  EXPECT_EQ(wide, 3 * std::int64_t{2147483647});
  std::vector<std::uint8_t> bytes(1000, 255);
  double average = 0;
  mean(view(bytes.data(), {1000}), view(&average, {}));
  EXPECT_EQ(average, 255);
  std::vector<half> halves(100, half(1000.0f));
  half h(0.0f);
  sum(view(halves.data(), {100}), view(&h, {}));
  EXPECT_TRUE(std::isinf(static_cast<float>(h)));  // 100,000 is beyond f16
  mean(view(halves.data(), {100}), view(&h, {}));
  EXPECT_EQ(static_cast<float>(h), 1000);
}

// The workspace has a count of arrivals, and its contents may be anything, also what another run left there.
TEST(Reduce, TheLastBlockFinishesWhateverTheWorkspaceHolds) {
  constexpr std::int64_t n = 216024;
  std::vector<float> x(n);
  float all = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 97) - 48;
    all += x[i];
  }
  const auto plan = plan_reduce(ReduceProblem::flat(Reduce::sum, f32, n), cpu(), {.variant = "last_block"});
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  ASSERT_GT(plan->slices, 1);
  const Variant& row = variants[plan->variant];
  EXPECT_EQ(family_of(row).model(row, {plan->problem, plan->axes, plan->extent}, plan->device).launches, 1);
  const std::size_t bytes = plan->workspace_bytes();
  EXPECT_EQ(bytes, 16 + static_cast<std::size_t>(plan->slices) * sizeof(float));
  auto workspace = Buffer::allocate(cpu().id, bytes);
  ASSERT_TRUE(workspace.ok());
  const TensorView in = view(x.data(), {n});
  for (int value : {0, 255, 1, 128}) {
    std::memset(workspace->data(), value, bytes);
    for (int run = 0; run < 3; ++run) {
      float y = -1;
      ASSERT_TRUE(plan->run(in, in, view(&y, {}), {workspace->data(), bytes}).ok());
      EXPECT_EQ(y, all) << "of bytes " << value << ", run " << run;
    }
  }
}

// 2^20 values whose sum is a millionth of the sum of their absolute values: pairs that cancel except for a small rest.
std::vector<float> ill_conditioned() {
  std::vector<float> x(1 << 20);
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < x.size() / 2; ++i) {
    const float large = std::ldexp(normal(random), static_cast<int>(random() % 14));
    x[2 * i] = large;
    x[2 * i + 1] = -large + normal(random);
  }
  std::shuffle(x.begin(), x.end(), random);
  return x;
}

TEST(Reduce, TwoFloatsSumNearlyAsFloat64Does) {
  const std::vector<float> x = ill_conditioned();
  const auto n = static_cast<std::int64_t>(x.size());
  long double exact = 0, magnitude = 0;
  for (float v : x) exact += v, magnitude += std::fabs(v);
  ASSERT_LT(std::fabs(exact), 1e-5L * magnitude);
  const auto error = [&](float sum) { return static_cast<double>(std::fabs(sum - exact)); };
  const double rounding = 0x1p-24 * static_cast<double>(std::fabs(exact));
  float plain = 0, two = 0;
  const TensorView line = view(x.data(), {n});
  reduce(Reduce::sum, line, -1, view(&plain, {}));
  reduce(Reduce::sum, line, -1, view(&two, {}), {}, Accumulate::two_float);
  EXPECT_LE(error(two), 2 * rounding);
  EXPECT_GT(error(plain), 100 * error(two));
  // The same numbers as rows' sums, and by products with one.
  const std::vector<float> ones(x.size(), 1);
  float product = 0;
  dot(line, view(ones.data(), {n}), view(&product, {}), {}, Accumulate::two_float);
  EXPECT_LE(error(product), 2 * rounding);
  std::vector<float> columns(16);
  reduce(Reduce::sum, view(x.data(), {n / 16, 16}), 0, view(columns.data(), {16}), {}, Accumulate::two_float);
  for (std::size_t c = 0; c < 16; ++c) {
    long double column = 0;
    for (std::size_t r = 0; r < x.size() / 16; ++r) column += x[16 * r + c];
    EXPECT_LE(std::fabs(columns[c] - column), 0x1p-23L * std::fabs(column)) << c;
  }
}

TEST(Reduce, TwoFloatProductsKeepWhatRoundingTakes) {
  // (1 + e)(1 - e) - 1 = -e^2, which is below float32's roundoff of the products.
  const float e = 0x1p-13f;
  const std::vector<float> x{1 + e, -1}, z{1 - e, 1};
  float y = 1;
  dot(view(x.data(), {2}), view(z.data(), {2}), view(&y, {}), {}, Accumulate::two_float);
  EXPECT_EQ(y, -e * e);
  dot(view(x.data(), {2}), view(z.data(), {2}), view(&y, {}));
  EXPECT_EQ(y, 0);
}

TEST(Reduce, ArgmaxTakesTheFirstNanElseTheFirstOfTies) {
  std::vector<float> x(5000, -INFINITY);
  std::int64_t at = -1;
  const auto argmax_of = [&] {
    argmax(view(x.data(), {5000}), view(&at, {}));
    return at;
  };
  EXPECT_EQ(argmax_of(), 0);
  x[4321] = x[4999] = 0.0f, x[1234] = -0.0f;
  EXPECT_EQ(argmax_of(), 1234);  // zeros are equal
  x[4800] = x[3000] = NAN;
  EXPECT_EQ(argmax_of(), 3000);
}

TEST(Reduce, WalksAnyStrides) {
  std::vector<float> x(24);
  for (int i = 0; i < 24; ++i) x[i] = static_cast<float>(i);
  TensorView t = view(x.data(), {2, 3, 4});
  std::swap(t.layout.shape[0], t.layout.shape[2]);  // [4, 3, 2], transposed
  std::swap(t.layout.stride[0], t.layout.stride[2]);
  std::vector<float> y(12);
  sum(t, view(y.data(), {4, 3}));
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j) EXPECT_EQ(y[i * 3 + j], static_cast<float>(2 * (j * 4 + i) + 12));
  std::int64_t at = 0;
  argmax(t, view(&at, {}));
  EXPECT_EQ(at, 23);
  t.layout.stride[0] = 0;  // broadcast
  float all = 0;
  sum(t, view(&all, {}));
  EXPECT_EQ(all, 4 * (0 + 4 + 8 + 12 + 16 + 20));
}

TEST(Reduce, TakesAnyAxisOfAnyRank) {
  // 8 axes, every second element, against a loop over all of it.
  const std::int64_t shape[8] = {2, 3, 1, 4, 2, 5, 2, 3};
  TensorView t = view(static_cast<float*>(nullptr), {});
  t.layout = Layout::contiguous(shape);
  std::vector<float> x(static_cast<std::size_t>(2 * t.count()));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 37) % 101);
  t.data = x.data();
  for (auto& stride : t.layout.stride) stride *= 2;
  for (int axis = 0; axis < 8; ++axis) {
    std::vector<std::int64_t> kept;
    std::int64_t inner = 1;
    for (int i = 0; i < 8; ++i)
      if (i != axis) kept.push_back(shape[i]), inner *= i > axis ? shape[i] : 1;
    const std::int64_t rows = t.count() / shape[axis];
    std::vector<float> sums(static_cast<std::size_t>(rows));
    std::vector<std::int64_t> places(static_cast<std::size_t>(rows));
    TensorView y = view(sums.data(), {}), at = view(places.data(), {});
    y.layout = at.layout = Layout::contiguous(kept);
    sum(t, axis, y);
    argmax(t, axis - 8, at);
    for (std::int64_t r = 0; r < rows; ++r) {
      float all = 0, most = -1;
      std::int64_t place = 0;
      for (std::int64_t i = 0; i < shape[axis]; ++i) {
        const float value = x[static_cast<std::size_t>(2 * ((r / inner * shape[axis] + i) * inner + r % inner))];
        all += value;
        if (value > most) most = value, place = i;
      }
      EXPECT_EQ(sums[static_cast<std::size_t>(r)], all) << axis << " " << r;
      EXPECT_EQ(places[static_cast<std::size_t>(r)], place) << axis << " " << r;
    }
  }
}

TEST(Reduce, TakesSeveralAxes) {
  const std::int64_t shape[3] = {2, 3, 4};
  std::vector<float> x(24), y(3);
  std::iota(x.begin(), x.end(), 0.0f);
  const TensorView t = view(x.data(), {2, 3, 4}), columns = view(y.data(), {3}), kept = view(y.data(), {1, 3, 1});
  sum(t, AxisSet::of({0, 2}), columns);
  EXPECT_EQ(y, (std::vector<float>{60, 92, 124}));
  max(t, AxisSet::of({0, 2}), kept);
  EXPECT_EQ(y, (std::vector<float>{15, 19, 23}));
  mean(t, AxisSet::of({0, 1, 2}), view(y.data(), {1, 1, 1}));
  EXPECT_EQ(y[0], 11.5f);

  const auto several = ReduceProblem::along(Reduce::sum, f32, shape, AxisSet::of({0, 2}));
  EXPECT_EQ(several.text(), "f32 2x3x4, axes 0,2");
  const auto plan = plan_reduce(several, cpu());
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->run(t, {}, view(y.data(), {1, 2, 1}), {}).message(),
            "sum: the request is of other strides or alignment; it must be as planned, f32 2x3x4, axes 0,2");

  EXPECT_EQ(refusal(ReduceProblem::along(Reduce::argmax, f32, shape, AxisSet::of({0, 2}))),
            "argmax: axis is 0,2; it must be one alone, or left out for all axes");
  const auto axes = [](std::vector<std::int64_t> given) {
    const auto set = AxisSet::of("sum", given, 3);
    return set.ok() ? set->text() : std::string(set.error().message());
  };
  EXPECT_EQ(axes({-1, 0}), "0,2");
  EXPECT_EQ(axes({-1, 2}), "sum: axis is -1,2; it must be without any axis named twice");
  EXPECT_EQ(axes({0, 3}), "sum: axis is 0,3; it must be from -3 to 2, or left out for all axes");
}

// Every alignment offset of a row, with nothing readable before or after the matrix, and gaps of NaN.
template <class T> void sums_columns_from_any_start(DType dtype) {
  for (std::int64_t start = 0; start < 8; ++start)
    for (auto [rows, cols, gap] : {std::array<std::int64_t, 3>{1, 5, 0},
                                   {2, 1, 7},
                                   {3, 2, 0},
                                   {21, 3, 0},
                                   {70, 11, 2},
                                   {35, 249, 0},
                                   {9, 130, 5}}) {
      const std::int64_t pitch = cols + gap, span = (rows - 1) * pitch + cols;
      auto memory = Buffer::allocate(cpu().id, static_cast<std::size_t>(start + span) * sizeof(T));
      ASSERT_TRUE(memory.ok());
      T* x = static_cast<T*>(memory->data()) + start;
      std::fill(x - start, x + span, T(NAN));
      std::vector<T> y(static_cast<std::size_t>(cols));
      std::vector<float> sums(y.size());
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) {
          const auto value = static_cast<float>((r * 5 + c * 3) % 7 - 3);
          x[r * pitch + c] = T(value);
          sums[static_cast<std::size_t>(c)] += value;
        }
      TensorView matrix = view(x, {rows, cols}), to = view(y.data(), {cols});
      matrix.layout.stride[0] = pitch;
      const auto problem = ReduceProblem::of(Reduce::sum, matrix, nullptr, to, 0);
      ASSERT_TRUE(problem.ok());
      EXPECT_EQ(problem->dtype, dtype);
      auto plan = plan_reduce(*problem, cpu(), {.variant = "columns_shifted"});
      if (!plan && (rows == 1 || cols == 1)) continue;  // there are no columns
      ASSERT_TRUE(plan.ok()) << plan.error().message();
      std::vector<float> scratch(plan->workspace_bytes() / sizeof(float) + 64);
      ASSERT_TRUE(plan->run(matrix, {}, to, {scratch.data(), plan->workspace_bytes()}).ok());
      for (std::size_t c = 0; c < y.size(); ++c)
        EXPECT_EQ(static_cast<float>(y[c]), sums[c]) << start << " " << rows << "x" << cols << " " << c;
    }
}
TEST(Reduce, ColumnsAreSummedFromAnyStart) {
  sums_columns_from_any_start<float>(f32);
  sums_columns_from_any_start<half>(f16);
  sums_columns_from_any_start<bfloat16>(bf16);
}

TEST(Reduce, ColumnsOfLowestValuesHaveTheirFirstAsArgmax) {
  std::vector<float> x(40 * 8, -INFINITY);
  std::vector<std::int64_t> at(8, -1);
  x[17 * 8 + 3] = x[39 * 8 + 3] = 0.0f, x[5 * 8 + 3] = -0.0f;
  x[30 * 8 + 4] = x[20 * 8 + 4] = NAN;
  argmax(view(x.data(), {40, 8}), 0, view(at.data(), {8}));
  EXPECT_EQ(at, (std::vector<std::int64_t>{0, 0, 0, 5, 20, 0, 0, 0}));
}

TEST(Reduce, EmptyRowsGiveTheIdentity) {
  float y[3] = {7, 7, 7};
  sum(view(y, {3, 0}), view(y, {3}));
  for (float v : y) EXPECT_EQ(v, 0);
  mean(view(y, {3, 0}), view(y, {3}));
  for (float v : y) EXPECT_TRUE(std::isnan(v));
}

TEST(Reduce, BadRequestsAreRefused) {
  const auto sentence = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& e) {
      return e.what();
    }
    return "none";
  };
  std::vector<float> x(8);
  std::int64_t wide = 0;
  EXPECT_EQ(sentence([&] { sum(view(x.data(), {8}), view(x.data() + 2, {})); }),
            "sum: y is overlapping x; it must be apart from it");
  EXPECT_EQ(sentence([&] { sum(view(x.data(), {8}), view(&wide, {})); }), "sum: y.dtype is i64; it must be f32");
  float y = 0;
  EXPECT_EQ(sentence([&] { dot(view(x.data(), {8}), view(x.data(), {7}), view(&y, {})); }),
            "dot: z.shape is 7; it must be that of x, 8");
  EXPECT_EQ(sentence([&] { trace(view(x.data(), {8}), view(&y, {})); }), "trace: x.shape is 8; it must be of 2 axes");
  EXPECT_EQ(
      sentence([&] { reduce(Reduce::max, view(x.data(), {8}), -1, view(&y, {}), {}, Accumulate::two_float); }),
      "max: accumulate is two_float; it must be left out: it is for sum, mean, dot and trace of f32, and this is max "
      "of f32");
  std::vector<float> columns(4);
  EXPECT_EQ(sentence([&] {
              sum(view(x.data(), {2, 4}), 2, view(columns.data(), {4}));
            }),
            "sum: axis is 2; it must be from -2 to 1, or left out for all axes");
  auto plan = plan_reduce(ReduceProblem::flat(Reduce::sum, f32, 8), cpu(), {.variant = "tree_sequential"});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->run(view(x.data(), {8}), {}, view(&y, {}), {}).message(),
            "sum: workspace is 0 bytes; it must be at least 4");
}

}  // namespace
}  // namespace ridge
