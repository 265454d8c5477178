#include <ridge/check/gtest_cases.hpp>
#include <ridge/softmax/oracle.hpp>
#include <ridge/softmax/resident.hpp>
#include <ridge/softmax/softmax.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace ridge {
namespace {

using softmax_detail::variants;

const check::TestCasesOf cases{"softmax", "log_softmax"};

std::string chosen(SoftmaxProblem p, const char* device = "H200") {
  auto plan = plan_softmax(p, *device_model(device));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}

TEST(SoftmaxPlan, KeepsTheRowInTheNarrowestPlaceThatHoldsIt) {
  EXPECT_EQ(chosen({.rows = 65536, .cols = 128}), "short_32");
  EXPECT_EQ(chosen({.rows = 65536, .cols = 128, .dtype = bf16}), "short_16");
  EXPECT_EQ(chosen({.rows = 65536, .cols = 1024}), "warp_256");
  EXPECT_EQ(chosen({.rows = 16384, .cols = 4096}), "block_1k");
  EXPECT_EQ(chosen({.rows = 8192, .cols = 8192}), "block_2k");
  EXPECT_EQ(chosen({.rows = 8192, .cols = 16384, .dtype = bf16}), "block_2k");
  EXPECT_EQ(chosen({.rows = 4096, .cols = 32768, .dtype = bf16}), "block_4k");
  EXPECT_EQ(chosen({.rows = 4096, .cols = 32768}), "block_8k");
  EXPECT_EQ(chosen({.rows = 1024, .cols = 1 << 20}), "vec4");
}

TEST(SoftmaxPlan, RowsOfAFewColumnsAreBroughtAsOneSpan) {
  for (const DType dtype : {f32, bf16})
    for (const std::int64_t cols : {3, 17, 32})
      for (const bool backward : {false, true})
        EXPECT_EQ(chosen({.rows = 1000000, .cols = cols, .dtype = dtype, .backward = backward}),
                  cols == 32 && (dtype == f32 || (dtype == bf16 && backward)) ? "short_8" : "span_32")
            << cols;
  EXPECT_EQ(chosen({.rows = 1000000, .cols = 3, .dtype = f64}), "span_32");
  EXPECT_EQ(chosen({.rows = 10000, .cols = 17}), "warp_16");   // too few for one thread per row
  EXPECT_EQ(chosen({.rows = 65536, .cols = 64}), "short_16");  // half of a warp's lanes would idle
  SoftmaxProblem p{.rows = 8, .cols = 17, .x = Rows::contiguous(8, 17), .y = Rows::contiguous(8, 17)};
  p.x->outer.stride[0] = 20;
  const auto plan = plan_softmax(p, *device_model("H200"), {.variant = "span_32"});
  EXPECT_EQ(plan.error().message(),
            "softmax: variant is span_32; it must be another one here: there are gaps between rows");
}

TEST(SoftmaxPlan, RowsOfAnotherAxisLieSideBySide) {
  std::vector<float> x(2 * 19 * 64);
  const auto along = [&](std::initializer_list<std::int64_t> shape, int axis, DType dtype = f32) {
    TensorView v = view(x.data(), shape);  // only its address is looked at
    v.dtype = dtype;
    v = axis_last(v, axis);
    return SoftmaxProblem::of_gradient(false, v, v, v);
  };
  for (const DType dtype : {f32, bf16, f64}) {
    EXPECT_EQ(chosen(*along({8, 19, 512, 512}, 1, dtype)), "columns");
    EXPECT_EQ(chosen(*along({1024, 64, 4096}, 1, dtype)).substr(0, 7), "columns");
    EXPECT_EQ(chosen(*along({4096, 1000}, 0, dtype)).substr(0, 7), "columns");
  }
  const auto plan = plan_softmax(*along({8, 19, 512}, 2), *device_model("H200"), {.variant = "columns"});
  EXPECT_EQ(plan.error().message(),
            "softmax: variant is columns; it must be another one here: neighbouring rows do not lie side by side");
}

TEST(SoftmaxPlan, RowsSideBySideMayStartElsewhereThanPlanned) {
  std::vector<bfloat16> x(2 * 20 * 64 + 1), y(x.size()), dx(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = bfloat16(static_cast<float>(i % 7));
  const auto at = [](std::vector<bfloat16>& v, std::size_t offset) {
    return axis_last(view(v.data() + offset, {2, 20, 64}), 1);
  };
  const auto plan = plan_softmax(*SoftmaxProblem::of(false, at(x, 0), at(y, 0)), cpu(), {.variant = "columns_8"});
  ASSERT_TRUE(plan.ok());
  ASSERT_TRUE(plan->run(at(x, 1), at(y, 1)).ok());
  float sum = 0;
  for (int i = 0; i < 20; ++i) sum += static_cast<float>(y[static_cast<std::size_t>(1 + (20 + i) * 64 + 63)]);
  EXPECT_NEAR(sum, 1, 0.01);
  const auto gradient =
      plan_softmax(*SoftmaxProblem::of_gradient(false, at(x, 0), at(y, 0), at(dx, 0)), cpu(), {.variant = "columns"});
  ASSERT_TRUE(gradient.ok());
  ASSERT_TRUE(gradient->run_gradient(at(x, 1), at(y, 1), at(dx, 1)).ok());
  sum = 0;
  for (int i = 0; i < 20; ++i) sum += static_cast<float>(dx[static_cast<std::size_t>(1 + (20 + i) * 64 + 63)]);
  EXPECT_NEAR(sum, 0, 0.02);
  EXPECT_NE(static_cast<float>(dx[static_cast<std::size_t>(1 + 20 * 64 + 63)]), 0);
}

TEST(Softmax, AlongAnyAxis) {
  const float x[2][2][2] = {{{1, 2}, {1, 4}}, {{0, 0}, {0, 1}}};
  float y[2][2][2], z[2][2][2];
  const TensorView in = view(&x[0][0][0], {2, 2, 2}), out = view(&y[0][0][0], {2, 2, 2});
  softmax(in, 1, out);
  EXPECT_FLOAT_EQ(y[0][0][0], 0.5f);
  EXPECT_FLOAT_EQ(y[0][0][1], 1 / (1 + std::exp(2.0f)));
  log_softmax(in, -3, view(&z[0][0][0], {2, 2, 2}));
  EXPECT_FLOAT_EQ(z[0][0][0], -std::log(1 + std::exp(-1.0f)));
  const auto sentence = [&](int axis, const TensorView& to) {
    try {
      softmax(in, axis, to);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(sentence(3, out), "softmax: axis is 3; it must be from -3 to 2, or left out for the last");
  EXPECT_EQ(sentence(1, view(&y[0][0][0], {2, 4})), "softmax: y.shape is 2x4; it must be that of x, 2x2x2");
}

TEST(SoftmaxPlan, AFewLongRowsAreSplitOverTheDevice) {
  for (const bool backward : {false, true})
    for (const DType dtype : {f32, bf16}) {
      const SoftmaxProblem one{.rows = 1, .cols = 10000000, .dtype = dtype, .backward = backward};
      EXPECT_EQ(chosen(one), "split");
      EXPECT_EQ(chosen({.rows = 7, .cols = 1000003, .dtype = dtype, .backward = backward}), "split");
      const auto plan = plan_softmax(one, *device_model("H200"));
      EXPECT_EQ(plan->grid, 264);  // slices of whole lines, two blocks for each of 132 multiprocessors
      EXPECT_EQ(plan->workspace_bytes(), 264 * sizeof(float) * (backward ? 1 : 2));
    }
  const auto refused = plan_softmax({.rows = 1, .cols = 2000}, *device_model("H200"), {.variant = "split"});
  EXPECT_EQ(
      refused.error().message(),
      "softmax: variant is split; it must be another one here: rows are too short to be split, or as many as hold "
      "all blocks");
}

TEST(Softmax, ASplitRowNeedsItsWorkspace) {
  std::vector<float> x(50000, 1.0f), y(x.size());
  const TensorView in = view(x.data(), {1, 50000}), out = view(y.data(), {1, 50000});
  const auto plan = plan_softmax(*SoftmaxProblem::of(false, in, out), cpu(), {.variant = "split"});
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->run(in, out).ok());
  std::vector<float> room(plan->workspace_bytes() / sizeof(float));
  ASSERT_TRUE(plan->run(in, out, {room.data(), plan->workspace_bytes()}, {}).ok());
  for (const float e : y) ASSERT_NEAR(e, 1.0 / 50000, 1e-10);
}

// x is a view with gaps between its rows, y has none.
template <class T> void check_split_rows_apart(double tolerance) {
  constexpr std::int64_t rows = 3, cols = 30011, pitch = cols + 3;
  std::vector<T> x(rows * pitch), y(rows * cols);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = T(static_cast<float>(i % 97) * 0.125f - 6);
  TensorView in = view(x.data(), {rows, cols});
  in.layout.stride = {pitch, 1};
  const TensorView out = view(y.data(), {rows, cols});
  for (const bool log : {false, true}) {
    const auto plan = plan_softmax(*SoftmaxProblem::of(log, in, out), cpu(), {.variant = "split"});
    ASSERT_TRUE(plan.ok()) << plan.error().message();
    std::vector<double> room(plan->workspace_bytes() / sizeof(double) + 1);
    ASSERT_TRUE(plan->run(in, out, {room.data(), plan->workspace_bytes()}, {}).ok());
    for (std::int64_t row = 0; row < rows; ++row) {
      double sum = 0;
      const auto at = [&](std::int64_t i) { return static_cast<double>(static_cast<float>(x[row * pitch + i])); };
      for (std::int64_t i = 0; i < cols; ++i) sum += std::exp(at(i));
      for (std::int64_t i = 0; i < cols; ++i) {
        const double want = log ? at(i) - std::log(sum) : std::exp(at(i)) / sum,
                     got = static_cast<float>(y[row * cols + i]);
        ASSERT_NEAR(got, want, std::fabs(want) * tolerance + 1e-7) << row << ", " << i;
      }
    }
  }
}
TEST(Softmax, SplitRowsOfXAndYMayLieApart) {
  check_split_rows_apart<float>(1e-5);
  check_split_rows_apart<half>(0x1p-10);
  check_split_rows_apart<bfloat16>(0x1p-8);
  const Rows apart = [] {
    Rows rows = Rows::contiguous(13, 227655);
    rows.outer.stride[0] += 3;
    return rows;
  }();
  EXPECT_EQ(chosen({.rows = 13, .cols = 227655, .x = apart, .y = Rows::contiguous(13, 227655)}), "split");
}

// x is a view with gaps between its rows, y has none.
TEST(SoftmaxPlan, RowsThatLieApartAreReadOnceToo) {
  const auto apart = [](std::int64_t rows, std::int64_t cols, DType dtype) {
    SoftmaxProblem p{.rows = rows, .cols = cols, .dtype = dtype};
    p.x = p.y = Rows::contiguous(rows, cols);
    p.x->outer.stride[0] += 3;
    return p;
  };
  EXPECT_EQ(chosen(apart(119519, 8, f16)), "elements_8");
  EXPECT_EQ(chosen(apart(7638, 2, f64)).substr(0, 9), "elements_");
  EXPECT_EQ(chosen(apart(6, 3840, f32)), "elements_4k");
  EXPECT_EQ(chosen(apart(3159, 8321, f32)), "elements_16k");
  EXPECT_EQ(chosen(apart(1792, 50257, bf16)), "vec4");
  EXPECT_EQ(chosen({.rows = 7104, .cols = 37952, .dtype = f64}), "vec4");
  EXPECT_EQ(chosen({.rows = 422, .cols = 7000, .dtype = f64}), "elements_16k");
  EXPECT_EQ(chosen({.rows = 1, .cols = 200000, .dtype = f64}), "split");
}

TEST(SoftmaxPlan, AFewRowsBeginBeforeTheKernelBeforeThemEnds) {
  for (const std::int64_t cols : {4096, 8192})
    for (const DType dtype : {f32, bf16}) {
      EXPECT_EQ(chosen({.rows = 1, .cols = cols, .dtype = dtype}), "short_2k");
      EXPECT_NE(chosen({.rows = 8192, .cols = cols, .dtype = dtype}), "short_2k");
    }
}

TEST(SoftmaxPlan, LongRowsLieInAClusterOnHopper) {
  EXPECT_EQ(chosen({.rows = 1024, .cols = 131072}), "block_8kx4");
  EXPECT_EQ(chosen({.rows = 1024, .cols = 131072, .dtype = bf16}), "block_8kx2");
  EXPECT_EQ(chosen({.rows = 4096, .cols = 50257, .backward = true}), "ring_512x4");
  EXPECT_EQ(chosen({.rows = 4096, .cols = 50257, .dtype = bf16, .backward = true}), "ring_512x2");
  for (const std::int64_t cols : {114688, 114692, 131072, 220000})  // from 114,688 on, no row in flight
    EXPECT_EQ(chosen({.rows = 1024, .cols = cols, .backward = true}), "ring_512x8") << cols;
  EXPECT_EQ(chosen({.rows = 1024, .cols = 131072}, "A100"), "vec4");
}

TEST(SoftmaxPlan, RowsThatStartAnywhereAreKeptToo) {
  EXPECT_EQ(chosen({.rows = 4096, .cols = 50257, .dtype = bf16}), "block_8k");
}

TEST(SoftmaxPlan, ADeviceWithLittleSharedMemoryKeepsLess) {
  EXPECT_EQ(chosen({.rows = 4096, .cols = 50257}, "H200"), "block_8kx2");
  EXPECT_EQ(chosen({.rows = 4096, .cols = 50257}, "A100"), "block_16k");
  EXPECT_EQ(chosen({.rows = 4096, .cols = 50257}, "RTX4090"), "vec4");  // 128 KB do not fit in 99
}

TEST(SoftmaxPlan, RowsAreBroughtAheadOnHopper) {
  const auto ahead = [](const SoftmaxProblem& p, const char* device) {
    const auto plan = plan_softmax(p, *device_model(device));
    return softmax_detail::resident::prefetch_distance(softmax_detail::variants[plan->variant].config, p, plan->device);
  };
  EXPECT_EQ(ahead({.rows = 4096, .cols = 50257, .dtype = bf16}, "H200"), 2 * 132 * 3 / 8);
  EXPECT_EQ(ahead({.rows = 1024, .cols = 131072, .dtype = bf16}, "H200"), 132 * 3 / 8 * 2 / 3);  // in clusters of two
  EXPECT_EQ(ahead({.rows = 1024, .cols = 131072}, "H200"), 0);
  EXPECT_EQ(ahead({.rows = 4096, .cols = 50257, .dtype = bf16}, "A100"), 0);
  EXPECT_EQ(ahead({.rows = 16384, .cols = 4096, .dtype = bf16}, "H200"), 0);  // 8 KB
}

TEST(SoftmaxPlan, StridedRowsHaveAVariant) {
  SoftmaxProblem p{.rows = 8, .cols = 64, .x = Rows::contiguous(8, 64), .y = Rows::contiguous(8, 64)};
  p.x->step = 2;
  EXPECT_EQ(chosen(p), "strided");
}

TEST(Softmax, RefusesDataOffItsElementsSize) {
  alignas(16) char bytes[80] = {};
  const TensorView off = view(reinterpret_cast<float*>(bytes + 2), {2, 4}),
                   on = view(reinterpret_cast<float*>(bytes + 48), {2, 4});
  EXPECT_EQ(SoftmaxProblem::of(false, off, on).error().message(),
            "softmax: x.data is misaligned; it must be aligned to its elements' size");
  EXPECT_EQ(SoftmaxProblem::of_gradient(false, off, on, on).error().message(),
            "softmax: dy.data is misaligned; it must be aligned to its elements' size");
}

TEST(SoftmaxPlan, ARefusalSaysWhy) {
  auto plan = plan_softmax({.rows = 8, .cols = 5000}, *device_model("H200"), {.variant = "warp_32"});
  EXPECT_EQ(
      plan.error().message(),
      "softmax: variant is warp_32; it must be another one here: a row has 1250 vectors of 16 bytes, and 32 are kept");
  plan = plan_softmax({.rows = 8, .cols = 8, .dtype = i32}, *device_model("H200"));
  EXPECT_EQ(plan.error().message(), "softmax: dtype is i32; it must be one of f32 f16 bf16 f64");
}

TEST(Softmax, LeadingAxesThatDoNotMerge) {  // a transposed batch: [2, 3, 40] seen through strides of [3, 2, 40]
  std::vector<float> x(240), y(240, -1.0f);
  for (int i = 0; i < 240; ++i) x[i] = static_cast<float>(i % 7);
  TensorView a = view(x.data(), {2, 3, 40}), b = view(y.data(), {2, 3, 40});
  a.layout.stride = {40, 80, 1};
  softmax(a, b);
  for (int row = 0; row < 6; ++row) {
    float sum = 0;
    for (int i = 0; i < 40; ++i) sum += y[row * 40 + i];
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

// The greatest error of y, in units of y, by the row of that name; elements up to 100 below the maximum.
double error_far_below_the_maximum(std::string_view variant, Accumulate accumulate) {
  constexpr std::int64_t rows = 4, cols = 400;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(0, 80);
  std::vector<float> x(rows * cols), y(rows * cols);
  for (float& e : x) e = uniform(random);
  const TensorView from = view(x.data(), {rows, cols}), to = view(y.data(), {rows, cols});
  auto plan = plan_softmax(*SoftmaxProblem::of(false, from, to, accumulate), cpu(), {.variant = std::string(variant)});
  EXPECT_TRUE(plan.ok()) << plan.error().message();
  if (!plan) return INFINITY;
  EXPECT_TRUE(plan->run(from, to).ok());
  double worst = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const softmax_detail::RowOracle oracle(std::vector<double>(x.begin() + r * cols, x.begin() + (r + 1) * cols).data(),
                                           cols);
    for (std::int64_t i = r * cols; i < (r + 1) * cols; ++i)
      worst = std::max(worst,
                       std::fabs(y[static_cast<std::size_t>(i)] / oracle.softmax(x[static_cast<std::size_t>(i)]) - 1));
  }
  return worst;
}

// The table of the README: --gtest_output=json:FILE writes the numbers.
TEST(Softmax, InTwoFloatsElementsFarBelowTheMaximumAreAsAccurate) {
  const double plain = error_far_below_the_maximum("online", Accumulate::plain);
  RecordProperty("online", std::to_string(plain * 1e9));
  for (const char* variant : {"two_float", "two_float_512", "two_float_8k"}) {
    const double error = error_far_below_the_maximum(variant, Accumulate::two_float);
    RecordProperty(variant, std::to_string(error * 1e9));
    EXPECT_LE(error, 0.51 * 0x1p-23) << variant;
    EXPECT_LE(error, plain / 10) << variant;
  }
}

// A probability is at most 1, so its logarithm at most 0, however base and sum are rounded: for rows of one element,
// and for an element beside which all others vanish. By every variant.
TEST(Softmax, LogarithmsAreNotAboveZero) {
  for (const std::int64_t cols : {1, 3, 32, 100, 1000, 5000, 20000})
    for (const softmax_detail::Variant& row : softmax_detail::variants) {
      constexpr std::int64_t rows = 64;
      const SoftmaxProblem problem{.rows = rows, .cols = cols, .dtype = f32, .log = true};
      auto plan = plan_softmax(problem, cpu(), {.variant = std::string(row.name)});
      if (!plan) continue;  // not for this variant
      std::vector<float> x(static_cast<std::size_t>(rows * cols), -1e5f), y(x.size(), 1);
      for (std::int64_t r = 0; r < rows; ++r) x[r * cols + r % cols] = 0.37f + 1234.567f * static_cast<float>(r);
      std::vector<std::byte> workspace(plan->workspace_bytes());
      ASSERT_TRUE(plan->run(view(x.data(), {rows, cols}), view(y.data(), {rows, cols}),
                            {workspace.data(), workspace.size()}, {})
                      .ok());
      for (std::int64_t r = 0; r < rows; ++r) {
        const float at = y[r * cols + r % cols];
        ASSERT_LE(at, 0) << row.name << ", row " << r << " of " << cols;
        ASSERT_GE(at, -1e-6f) << row.name << ", row " << r << " of " << cols;
      }
    }
}

// Rows beside one another, some of which are too large for the fast exponentials: those are computed by themselves, and
// the others are what they are without them, bit for bit. By every variant of short rows, with gaps and in place.
template <class T> void check_rare_rows(std::int64_t cols) {
  constexpr std::int64_t rows = 67;
  const std::int64_t pitch = cols + 16 / static_cast<std::int64_t>(sizeof(T));
  constexpr float inf = std::numeric_limits<float>::infinity();
  const auto rare = [](std::int64_t row) { return row % 5 == 2 || row % 7 == 3; };
  std::vector<T> plain(rows * pitch), mixed(plain.size());
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < pitch; ++i) {
      const float x = static_cast<float>((row * 31 + i * 7) % 97) * 0.125f - 6;
      const float huge = row % 3 == 0 ? (i == 1 ? inf : x) : row % 3 == 1 ? -inf : i == cols - 1 ? 6e4f : -6e4f;
      plain[row * pitch + i] = T(x);
      mixed[row * pitch + i] = T(rare(row) ? huge * (sizeof(T) == 4 ? 1e6f : 1.0f) : x);
    }
  const auto rows_of = [&](std::vector<T>& v) {
    TensorView view_of = view(v.data(), {rows, cols});
    view_of.layout.stride = {pitch, 1};
    return view_of;
  };
  for (const softmax_detail::Variant& row : variants) {
    if (row.config.algorithm != softmax_detail::Algorithm::short_rows) continue;
    for (const bool log : {false, true}) {
      std::vector<T> x = mixed, y(x.size()), z = plain;
      auto plan =
          plan_softmax(*SoftmaxProblem::of(log, rows_of(x), rows_of(y)), cpu(), {.variant = std::string(row.name)});
      if (!plan) continue;  // rows are too long
      ASSERT_TRUE(plan->run(rows_of(x), rows_of(y)).ok());
      for (std::vector<T>* both : {&x, &z}) {
        auto inplace = plan_softmax(*SoftmaxProblem::of(log, rows_of(*both), rows_of(*both)), cpu(),
                                    {.variant = std::string(row.name)});
        ASSERT_TRUE(inplace.ok());
        ASSERT_TRUE(inplace->run(rows_of(*both), rows_of(*both)).ok());
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto same = [&](const std::vector<T>& a, const std::vector<T>& b) {
          return std::memcmp(a.data() + r * pitch, b.data() + r * pitch, static_cast<std::size_t>(cols) * sizeof(T)) ==
                 0;
        };
        ASSERT_TRUE(same(x, y)) << row.name << ", row " << r;
        if (!rare(r)) {
          ASSERT_TRUE(same(y, z)) << row.name << ", row " << r;
          continue;
        }
        const float first = static_cast<float>(y[r * pitch]), last = static_cast<float>(y[r * pitch + cols - 1]);
        if (r % 3 == 2) {
          ASSERT_EQ(last, log ? 0.0f : 1.0f) << row.name << ", row " << r;
          ASSERT_TRUE(log ? first < -6e4f : first == 0) << row.name << ", row " << r << ": " << first;
        } else {
          ASSERT_TRUE(std::isnan(first) && std::isnan(last)) << row.name << ", row " << r;
        }
      }
    }
  }
}
TEST(Softmax, RareRowsLeaveTheirNeighboursAlone) {
  for (const std::int64_t vectors : {3, 8, 13, 31, 47, 60, 90, 128}) {
    check_rare_rows<float>(vectors * 4);
    check_rare_rows<half>(vectors * 8);
    check_rare_rows<bfloat16>(vectors * 8);
  }
}

TEST(SoftmaxPlan, ShortRowsWithoutIdleLanes) {
  for (const DType dtype : {f32, f16, bf16})
    for (const bool backward : {false, true})
      for (const auto& [vectors, name] : {std::pair{6, "short_8"},
                                          {16, "short_16"},
                                          {32, "short_32"},
                                          {48, "short_48"},
                                          {64, "short_64"},
                                          {96, "short_96"},
                                          {128, "short_128"}})
        EXPECT_EQ(
            chosen({.rows = 100000, .cols = vectors * (dtype == f32 ? 4 : 8), .dtype = dtype, .backward = backward}),
            name);
  for (const bool backward : {false, true})
    EXPECT_EQ(chosen({.rows = 10, .cols = 64, .dtype = bf16, .backward = backward}), "short_few");
  const auto plan = plan_softmax({.rows = 8, .cols = 30, .dtype = bf16}, *device_model("H200"), {.variant = "short_8"});
  EXPECT_EQ(plan.error().message(),
            "softmax: variant is short_8; it must be another one here: rows are not of whole 16-byte vectors, from a "
            "boundary on");
}

TEST(Softmax, PartialOverlapIsRefused) {
  std::vector<float> x(100);
  EXPECT_THROW(softmax(view(x.data(), {5, 10}), view(x.data() + 5, {5, 10})), Error);
}

}  // namespace
}  // namespace ridge
