// The case book on every device; and views, a gate, groups and linear.
#include <ridge/bench/bench.hpp>
#include <ridge/check/gtest_cases.hpp>
#include <ridge/core/op.hpp>
#include <ridge/core/tuning.hpp>
#include <ridge/gemm/gemm.hpp>
#include <ridge/gemm/linear.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ridge {
namespace {

const check::TestCasesOf cases{"gemm", "grouped_gemm", "linear"};

// ---- views --------------------------------------------------------------------------------------------------------

struct Small {  // d = a b, a [2, 3], b [3, 2]
  std::vector<float> a{1, 2, 3, 4, 5, 6}, b{1, 0, 0, 1, 1, 1}, d = std::vector<float>(4, -1);
  TensorView A = view(a.data(), {2, 3}), B = view(b.data(), {3, 2}), D = view(d.data(), {2, 2});
};

TEST(Gemm, ViewsSayHowOperandsLie) {
  Small s;
  gemm(s.A, s.B, s.D);
  EXPECT_EQ(s.d, (std::vector<float>{4, 5, 10, 11}));
  std::vector<float> at{1, 4, 2, 5, 3, 6}, bt{1, 0, 1, 0, 1, 1};
  gemm(transposed(view(at.data(), {3, 2})), transposed(view(bt.data(), {2, 3})), s.D);
  EXPECT_EQ(s.d, (std::vector<float>{4, 5, 10, 11}));
  gemm(s.A, s.B, transposed(s.D));  // D stored by columns
  EXPECT_EQ(s.d, (std::vector<float>{4, 10, 5, 11}));
}

TEST(Gemm, DMayBeC) {
  Small s;
  s.d = {100, 200, 300, 400};
  gemm({.a = s.A, .b = s.B, .d = s.D, .c = s.D}, {.beta = 2});
  EXPECT_EQ(s.d, (std::vector<float>{204, 405, 610, 811}));
}

TEST(Gemm, CIsNotReadWhereBetaIsZero) {
  Small s;
  std::vector<float> c(4, NAN);
  gemm({.a = s.A, .b = s.B, .d = s.D, .c = view(c.data(), {2, 2})});
  EXPECT_EQ(s.d, (std::vector<float>{4, 5, 10, 11}));
}

// Products that cancel but for one part in some ten thousand.
TEST(Gemm, InTwoFloatsWhatCancelsIsExact) {
  const std::int64_t m = 5, n = 8, k = 1000;
  std::vector<float> a(m * k), b(k * n), d(m * n);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < k; j += 2) {
      a[i * k + j] = static_cast<float>(std::sin(0.7 * static_cast<double>(i + 3 * j)));
      a[i * k + j + 1] = -a[i * k + j];
    }
  for (std::int64_t j = 0; j < k; ++j)
    for (std::int64_t c = 0; c < n; ++c)
      b[j * n + c] = static_cast<float>(1 + 1e-3 * std::cos(static_cast<double>(j * n + c)));
  const auto worst = [&](Accumulate accumulate, const char* variant) {
    const GemmTensors t{.a = view(a.data(), {m, k}), .b = view(b.data(), {k, n}), .d = view(d.data(), {m, n})};
    auto plan = plan_gemm(*GemmProblem::of(t, {.accumulate = accumulate}), cpu(), {.variant = variant});
    EXPECT_TRUE(plan.ok()) << plan.error().message();
    if (!plan) return double(INFINITY);
    EXPECT_TRUE(plan->run(t).ok());
    double error = 0;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t c = 0; c < n; ++c) {
        long double want = 0;
        for (std::int64_t j = 0; j < k; ++j) want += static_cast<long double>(a[i * k + j]) * b[j * n + c];
        error = std::max(error, static_cast<double>(std::fabs((d[i * n + c] - want) / want)));
      }
    return error;
  };
  for (const char* variant : {"naive_two_float", "async_two_float"})
    EXPECT_LE(worst(Accumulate::two_float, variant), 0.51 * 0x1p-23) << variant;
  for (const char* variant : {"naive", "async"}) EXPECT_GE(worst(Accumulate::plain, variant), 1e-5) << variant;
}

// By name: c, one tensor beyond those that are read, is allowed only if the request gives beta as 0.
TEST(Gemm, ByNameCMayComeWhereBetaIsZero) {
  Small s;
  std::vector<float> c(4, NAN);
  const OpInfo& op = **find_op("gemm");
  const TensorView in[] = {s.A, s.B, view(c.data(), {2, 2})};
  auto plan = plan_op(op, in, std::span(&s.D, 1), {{"beta", "0"}}, cpu());
  ASSERT_TRUE(plan) << plan.error().message();
  ASSERT_TRUE((*plan)->run(in, std::span(&s.D, 1), {}, {}).ok());
  EXPECT_EQ(s.d, (std::vector<float>{4, 5, 10, 11}));
  plan = plan_op(op, in, std::span(&s.D, 1), {}, cpu());
  EXPECT_EQ(plan.error().message(), "gemm: the number of inputs is 3; it must be 2 (a, b)");
  std::vector<float> bias{100, 200};
  const TensorView more[] = {s.A, s.B, in[2], view(bias.data(), {2})};
  plan = plan_op(op, more, std::span(&s.D, 1), {{"beta", "0"}, {"epilogue", "bias"}}, cpu());
  ASSERT_TRUE(plan) << plan.error().message();
  ASSERT_TRUE((*plan)->run(more, std::span(&s.D, 1), {}, {}).ok());
  EXPECT_EQ(s.d, (std::vector<float>{104, 205, 110, 211}));
}

TEST(Gemm, DWhoseRowsOverlapIsRefused) {
  Small s;
  TensorView d = view(s.d.data(), {2, 2});
  d.layout.stride[0] = 1;
  const auto problem = GemmProblem::of({.a = s.A, .b = s.B, .d = d});
  ASSERT_TRUE(problem);
  const auto plan = plan_gemm(*problem, cpu());
  EXPECT_EQ(plan.error().message(), "gemm: d.strides is 0,1,1; it must be such that no two elements share memory");
}

TEST(Gemm, DMayLieBetweenTheColumnsOfA) {
  Small s;
  std::vector<float> both(12, -1);
  TensorView a = view(both.data(), {2, 3}), d = view(both.data() + 3, {2, 2});
  a.layout.stride[0] = d.layout.stride[0] = 6;
  for (int i = 0; i < 6; ++i) both[i / 3 * 6 + i % 3] = s.a[i];
  gemm(a, s.B, d);
  EXPECT_EQ(both, (std::vector<float>{1, 2, 3, 4, 5, -1, 4, 5, 6, 10, 11, -1}));
}

TEST(Gemm, NeitherOperandIsReadWhereAlphaIsZero) {
  Small s;
  s.A.data = s.B.data = nullptr;
  std::vector<float> bias{7, -8};
  gemm({.a = s.A, .b = s.B, .d = s.D, .bias = view(bias.data(), {2})}, {.alpha = 0, .activation = Activation::relu});
  EXPECT_EQ(s.d, (std::vector<float>{7, 0, 7, 0}));
}

TEST(Gemm, BiasAlongMIsAColumn) {
  Small s;
  std::vector<float> bias{100, 200};
  gemm({.a = s.A, .b = s.B, .d = s.D, .bias = view(bias.data(), {2, 1})});
  EXPECT_EQ(s.d, (std::vector<float>{104, 105, 210, 211}));
}

TEST(Gemm, TypesMayDiffer) {
  Small s;
  std::vector<half> d(4);
  std::vector<bfloat16> bias{bfloat16(0.5f), bfloat16(-0.5f)};
  gemm({.a = s.A, .b = s.B, .d = view(d.data(), {2, 2}), .bias = view(bias.data(), {2})});
  EXPECT_EQ(static_cast<float>(d[0]), 4.5f);
  EXPECT_EQ(static_cast<float>(d[3]), 10.5f);
}

TEST(Gemm, AnOperandWithoutABatchIsShared) {
  Small s;
  std::vector<float> b{1, 0, 0, 1, 1, 1, 2, 0, 0, 2, 2, 2}, d(8);
  gemm(s.A, view(b.data(), {2, 3, 2}), view(d.data(), {2, 2, 2}));
  EXPECT_EQ(d, (std::vector<float>{4, 5, 10, 11, 8, 10, 20, 22}));
}

TEST(Gemm, SeveralBatchAxesMerge) {
  Small s;
  std::vector<float> a, b{1, 0, 0, 1, 1, 1}, d(24), c(24, 1.0f), want;
  for (int batch = 0; batch < 6; ++batch)
    for (const float x : s.a) a.push_back(x + static_cast<float>(batch));
  for (int batch = 0; batch < 6; ++batch)
    for (const float x : {4.0f, 5.0f, 10.0f, 11.0f}) want.push_back(x + 2 * static_cast<float>(batch));
  const TensorView A = view(a.data(), {3, 2, 2, 3}), D = view(d.data(), {3, 2, 2, 2});
  gemm(A, s.B, D);  // B is shared
  EXPECT_EQ(d, want);
  gemm(A, view(b.data(), {1, 1, 3, 2}), D);
  EXPECT_EQ(d, want);
  GemmTensors t{.a = A, .b = s.B, .d = D, .c = view(c.data(), {3, 2, 2, 2})};
  const auto problem = GemmProblem::of(t, {.beta = -1});
  ASSERT_TRUE(problem.ok());
  EXPECT_EQ(problem->batch, 6);
  ASSERT_TRUE(plan_gemm(*problem, cpu())->run(t).ok());
  for (std::size_t i = 0; i < d.size(); ++i) EXPECT_EQ(d[i], want[i] - 1);
  std::vector<float> several(8);  // a batch of 1 is broadcast, as no batch is
  gemm(view(a.data(), {1, 2, 3}), view(a.data(), {2, 3, 2}), view(several.data(), {2, 2, 2}));
  EXPECT_EQ(several[0], 1 * a[0] + 2 * a[2] + 3 * a[4]);
  EXPECT_EQ(several[4], 1 * a[6] + 2 * a[8] + 3 * a[10]);

  std::vector<float> nothing;  // without matrices
  gemm(view(nothing.data(), {2, 0, 2, 3}), view(nothing.data(), {2, 0, 3, 2}), view(nothing.data(), {2, 0, 2, 2}));

  const auto why = [](const GemmTensors& wrong) { return std::string(GemmProblem::of(wrong).error().message()); };
  EXPECT_EQ(
      why({.a = A, .b = view(a.data(), {2, 3, 2}), .d = D}),
      "gemm: b.shape is 2x3x2; it must be one whose batch axes are broadcast all or none, and merge into one as d's "
      "do: copy it");
  EXPECT_EQ(why({.a = A, .b = view(a.data(), {4, 3, 2}), .d = D}),
            "gemm: b.shape is 4x3x2; it must be of 2 axes, behind batch axes that broadcast to those of d, 3x2x2x2");
}

TEST(Gemm, ShapesThatDoNotFitAreRefused) {
  Small s;
  const auto why = [](const GemmTensors& t, const GemmScalars& scalars = {}) {
    return std::string(GemmProblem::of(t, scalars).error().message());
  };
  EXPECT_EQ(why({.a = s.A, .b = s.D, .d = s.D}),
            "gemm: b.shape is 2x2; it must be of as many rows as a has columns, 3");
  EXPECT_EQ(why({.a = s.A, .b = s.B, .d = s.A}), "gemm: d.shape is 2x3; it must be 2x2");
  EXPECT_EQ(why({.a = s.A, .b = s.B, .d = s.D}, {.beta = 1}),
            "gemm: c is not given; it must be given where beta is not 0");
  EXPECT_EQ(why({.a = s.A, .b = s.B, .d = s.D, .bias = s.B}), "gemm: bias.shape is 3x2; it must be 2, or 2x1 along M");
  EXPECT_EQ(why({.a = s.D, .b = s.D, .d = s.D}), "gemm: d is overlapping a; it must be apart from it");
  GemmTensors shifted{.a = s.A, .b = s.B, .d = view(s.a.data(), {2, 2}), .c = view(s.a.data() + 1, {2, 2})};
  shifted.a = view(s.b.data(), {2, 3});
  EXPECT_EQ(why(shifted, {.beta = 1}), "gemm: d is overlapping c; it must be apart from it, or the same elements");
}

TEST(Gemm, APlanRunsWhatItWasMadeFor) {
  Small s;
  const auto problem = GemmProblem::of({.a = s.A, .b = s.B, .d = s.D});
  const auto plan = plan_gemm(*problem, cpu());
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->run({.a = s.A, .b = s.B, .d = s.D}).ok());
  EXPECT_EQ(s.d, (std::vector<float>{4, 5, 10, 11}));
  std::vector<float> longer(8);
  EXPECT_EQ(plan->run({.a = view(longer.data(), {2, 4}), .b = view(longer.data(), {4, 2}), .d = s.D}).code(),
            Code::invalid_argument);
  const auto packed = plan_gemm({.m = 2, .n = 2, .k = 3}, cpu());  // by hand, without views
  ASSERT_TRUE(packed.ok());
  EXPECT_TRUE(packed->run({.a = s.A, .b = s.B, .d = s.D}).ok());
}

// ---- a gate, and groups ---------------------------------------------------------------------------------------------

TEST(Gemm, AGateMayBeTheOtherHalfOfOneTensor) {
  Small s;
  std::vector<float> both{1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 2};  // [3, 4]: b, gate
  TensorView b = view(both.data(), {3, 2}), gate = view(both.data() + 2, {3, 2});
  b.layout.stride[0] = gate.layout.stride[0] = 4;
  gemm({.a = s.A, .b = b, .d = s.D, .gate = gate});
  EXPECT_EQ(s.d, (std::vector<float>{4 * 6, 5 * 7, 10 * 15, 11 * 16}));
  GemmTensors t{.a = s.A, .b = b, .d = s.D, .gate = s.A};
  EXPECT_EQ(std::string(GemmProblem::of(t).error().message()), "gemm: gate.shape is 2x3; it must be that of b, 3x2");
}

TEST(Gemm, AGateHasABiasOfItsOwn) {
  Small s;
  std::vector<float> bias{10, -10}, of_gate{1, -1};
  GemmTensors t{.a = s.A, .b = s.B, .d = s.D, .bias = view(bias.data(), {2}), .gate = s.B};
  t.gate_bias = view(of_gate.data(), {2});
  gemm(t);
  EXPECT_EQ(s.d, (std::vector<float>{14 * 5, -5 * 4, 20 * 11, 1 * 10}));
  const auto refusal = [&] { return std::string(GemmProblem::of(t).error().message()); };
  t.gate_bias = s.A;
  EXPECT_EQ(refusal(), "gemm: gate_bias.shape is 2x3; it must be 2");
  t.gate_bias = view(s.d.data(), {2});
  EXPECT_EQ(refusal(), "gemm: d is overlapping gate_bias; it must be apart from it");
  t.gate.reset();
  EXPECT_EQ(refusal(), "gemm: gate_bias is given; it must be left out where there is no gate");
}

struct Grouped {  // d [5, 2] = a [5, 3] by b [3, 3, 2]
  std::vector<float> a = std::vector<float>(15), b = std::vector<float>(18), d = std::vector<float>(10, -1);
  std::vector<std::int32_t> offsets{0, 2, 2, 5};
  TensorView A = view(a.data(), {5, 3}), B = view(b.data(), {3, 3, 2}), D = view(d.data(), {5, 2}),
             O = view(offsets.data(), {4});
  Grouped() {
    for (int i = 0; i < 15; ++i) a[i] = static_cast<float>(i);
    for (int g = 0; g < 3; ++g) b[6 * g] = b[6 * g + 3] = static_cast<float>(g + 1);  // columns 0 and 1 times g + 1
  }
};

TEST(GemmGroups, OffsetsMayChangeBetweenRuns) {
  Grouped s;
  const auto problem = GemmProblem::of({.a = s.A, .b = s.B, .d = s.D, .offsets = s.O});
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  const auto plan = plan_gemm(*problem, cpu());
  ASSERT_TRUE(plan.ok());
  ASSERT_TRUE(plan->run({.a = s.A, .b = s.B, .d = s.D, .offsets = s.O}).ok());
  EXPECT_EQ(s.d, (std::vector<float>{0, 1, 3, 4, 18, 21, 27, 30, 36, 39}));
  s.offsets = {1, 1, 3, 4};  // the first row and the last are in no group
  std::fill(s.d.begin(), s.d.end(), -1.0f);
  ASSERT_TRUE(plan->run({.a = s.A, .b = s.B, .d = s.D, .offsets = s.O}).ok());
  EXPECT_EQ(s.d, (std::vector<float>{-1, -1, 6, 8, 12, 14, 27, 30, -1, -1}));
}

TEST(GemmGroups, ShapesThatDoNotFitAreRefused) {
  Grouped s;
  const auto why = [](const GemmTensors& t) { return std::string(GemmProblem::of(t).error().message()); };
  EXPECT_EQ(why({.a = s.A, .b = view(s.b.data(), {3, 2}), .d = s.D, .offsets = s.O}),
            "gemm: b.shape is 3x2; it must be of 3 axes where there are offsets");
  EXPECT_EQ(why({.a = s.A, .b = s.B, .d = s.D, .offsets = view(s.offsets.data(), {3})}),
            "gemm: offsets.shape is 3; it must be contiguous, of 4 elements: one more than b has matrices");
  EXPECT_EQ(why({.a = s.A, .b = s.B, .d = s.D, .offsets = view(s.a.data(), {4})}),
            "gemm: offsets.dtype is f32; it must be i32");
  EXPECT_EQ(why({.a = s.A, .b = s.B, .d = s.D, .bias = view(s.b.data(), {2}), .offsets = s.O}),
            "gemm: bias.shape is 2; it must be 3x2, one for each group");
}

// ---- benchmarks -----------------------------------------------------------------------------------------------------

bench::Accuracy accuracy_of(const std::string& text) {
  const auto measured = bench::measure(*check::Case::parse(text), cpu(), {.peers = true, .repeats = 1});
  EXPECT_EQ(measured[0].error, "") << text;
  EXPECT_TRUE(measured[0].accuracy) << text;
  return measured[0].accuracy.value_or(bench::Accuracy{.largest_error = HUGE_VAL});
}

TEST(GemmBench, ErrorsAreThoseAgainstAProductInDouble) {
  for (const char* layout : {"nn", "nt", "tn", "tt"}) {
    const std::string with = std::string(":layout=") + layout;
    // Whole numbers: an element compared with another's value shows.
    for (const char* options : {"", ":epilogue=bias+relu+residual:beta=2", ":epilogue=bias_m+gate"}) {
      const bench::Accuracy exact = accuracy_of("gemm:f32:m=37,n=70,k=24,batch=2:fill=ints" + with + options);
      EXPECT_EQ(exact.largest_error, 0) << layout << options;
      EXPECT_EQ(exact.elements, 1024);
    }
    // Sums of 100 products of size 1 in float32, and in float32 then rounded to 8 bits.
    const bench::Accuracy f32_error = accuracy_of("gemm:f32:m=40,n=72,k=100" + with),
                          bf16_error = accuracy_of("gemm:bf16:m=40,n=72,k=100" + with);
    EXPECT_GT(f32_error.rms_error, 10 * 0x1p-26);
    EXPECT_LT(f32_error.rms_error, 10 * 0x1p-21);
    EXPECT_GT(bf16_error.rms_error, 10 * 0x1p-11);
    EXPECT_LT(bf16_error.rms_error, 10 * 0x1p-8);
    EXPECT_GE(f32_error.largest_error, f32_error.rms_error);
  }
}

// ---- linear -------------------------------------------------------------------------------------------------------

TEST(Linear, AnyLeadingAxes) {
  const std::vector<float> w{1, 0, 1, 0, 1, 1}, x{1, 2, 3, 4, 5, 6};  // w [2, 3]
  std::vector<float> y(4, -1);
  const TensorView W = view(w.data(), {2, 3});
  linear({.x = view(x.data(), {2, 3}), .w = W, .y = view(y.data(), {2, 2})});
  EXPECT_EQ(y, (std::vector<float>{4, 5, 10, 11}));
  y.assign(4, -1);
  linear({.x = view(x.data(), {1, 2, 1, 3}), .w = W, .y = view(y.data(), {1, 2, 1, 2})});
  EXPECT_EQ(y, (std::vector<float>{4, 5, 10, 11}));
  y.assign(4, -1);
  linear({.x = view(x.data(), {3}), .w = W, .y = view(y.data(), {2})});  // none
  EXPECT_EQ(y, (std::vector<float>{4, 5, -1, -1}));
  linear({.x = view(x.data(), {4, 0, 3}), .w = W, .y = view(y.data(), {4, 0, 2})});  // empty
  EXPECT_EQ(y, (std::vector<float>{4, 5, -1, -1}));
}

TEST(Linear, LeadingAxesThatDoNotMergeAreABatch) {
  std::vector<float> x(2 * 4 * 3), y(8, -1), residual{1, 2, 3, 4, 5, 6, 7, 8};  // x [2, 2, 3], every other row
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const std::vector<float> w{1, 0, 0, 0, 0, 1}, bias{100, 200};
  TensorView X = view(x.data(), {2, 2, 3});
  X.layout.stride = {12, 3, 1};  // rows 0, 1 and 4, 5
  linear({.x = X,
          .w = view(w.data(), {2, 3}),
          .y = view(y.data(), {2, 2, 2}),
          .bias = view(bias.data(), {2}),
          .residual = view(residual.data(), {2, 2, 2})});
  EXPECT_EQ(y, (std::vector<float>{101, 204, 106, 209, 117, 220, 122, 225}));
  TensorView deep = view(x.data(), {2, 2, 2, 3});
  deep.layout.stride = {1, 7, 3, 1};
  try {
    linear({.x = deep, .w = view(w.data(), {2, 3}), .y = view(y.data(), {2, 2, 2, 2})});
    FAIL() << "three axes apart";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "linear: x.shape is 2x2x2x3 strides 1,7,3,1; it must be such that its leading axes, with those of y and "
              "residual, merge into one or two");
  }
}

TEST(Gemm, RefusesWhatNoKernelCouldTake) {
  alignas(16) char bytes[64] = {};
  Small s;
  const auto why = [](const GemmTensors& t, const GemmScalars& scalars = {}) {
    auto problem = GemmProblem::of(t, scalars);
    if (!problem) return std::string(problem.error().message());
    auto plan = plan_gemm(*problem, cpu());
    return plan ? std::string() : std::string(plan.error().message());
  };
  const TensorView off = view(reinterpret_cast<float*>(bytes + 2), {2, 2});
  EXPECT_EQ(why({.a = s.A, .b = s.B, .d = off}),
            "gemm: d.data is misaligned; it must be aligned to its elements' size");
  EXPECT_EQ(why({.a = s.A, .b = s.B, .d = s.D, .residual = off}),
            "gemm: residual.data is misaligned; it must be aligned to its elements' size");
  EXPECT_TRUE(why({.a = s.A, .b = s.B, .d = s.D}, {.alpha = 1e39}).ends_with("within float32's range where a is f32"));
  // A bias with as many groups as rows has D's shape, and other rows are unfinished when it is written.
  std::vector<float> a{1, 1}, b{1, 1}, d{10, 20};
  std::vector<std::int32_t> offsets{0, 2, 2};
  const TensorView D = view(d.data(), {2, 1});
  EXPECT_EQ(why({.a = view(a.data(), {2, 1}),
                 .b = view(b.data(), {2, 1, 1}),
                 .d = D,
                 .bias = D,
                 .offsets = view(offsets.data(), {3})}),
            "gemm: d is overlapping bias; it must be apart from it");
}

TEST(Linear, ARefusalNamesItsOwnTensors) {
  Small s;
  const auto why = [](const LinearTensors& t, const LinearOptions& options = {}) {
    auto plan = plan_linear(t, options, cpu());
    return std::string(plan.error().message());
  };
  const TensorView w = transposed(s.B);
  EXPECT_EQ(why({.x = s.A, .w = s.B, .y = s.D}), "linear: w.shape is 3x2; it must be of as many columns as x has, 3");
  EXPECT_EQ(why({.x = s.A, .w = w, .y = s.A}), "linear: y.shape is 2x3; it must be 2x2");
  EXPECT_EQ(why({.x = s.A, .w = w, .y = s.D, .bias = s.A}), "linear: bias.shape is 2x3; it must be 2");
  EXPECT_EQ(why({.x = s.A, .w = w, .y = view(s.a.data(), {2, 2})}),
            "linear: y is overlapping x; it must be apart from it");
  EXPECT_THROW(
      {
        try {
          linear({.x = s.A, .w = s.B, .y = s.D});
        } catch (const Error& error) {
          EXPECT_EQ(error.status().op(), "linear");
          throw;
        }
      },
      Error);
  TensorView half_w = w;
  half_w.dtype = f16;
  EXPECT_EQ(why({.x = s.A, .w = half_w, .y = s.D}), "linear: w.dtype is f16; it must be that of a, f32");
}

}  // namespace
}  // namespace ridge
