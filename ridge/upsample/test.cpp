#include <ridge/check/gtest_cases.hpp>
#include <ridge/upsample/axis.hpp>
#include <ridge/upsample/oracle.hpp>
#include <ridge/upsample/upsample.hpp>
#include <ridge/upsample/variants.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace ridge {
namespace {

using upsample_detail::axis_of;
using upsample_detail::Coordinates;
using upsample_detail::is_narrow;
using upsample_detail::Narrow;
using upsample_detail::Tap;
using upsample_detail::taps_of;
using upsample_detail::variants;
using upsample_detail::Wide;

const check::TestCasesOf cases{"upsample"};

constexpr Upsampling nearest{}, nearest_exact{.mode = Interpolation::nearest_exact},
    bilinear{.mode = Interpolation::bilinear}, aligned{.mode = Interpolation::bilinear, .align_corners = true};

Upsampling nhwc(Upsampling how) {
  how.layout = UpsampleLayout::nhwc;
  return how;
}

// ---- places ------------------------------------------------------------------------------------------------------

std::vector<Tap> taps_of(const Upsampling& how, std::int64_t inputs, std::int64_t outputs, std::int64_t j) {
  return taps_of(how.mode == Interpolation::bilinear, how.mode == Interpolation::nearest_exact, how.align_corners,
                 inputs, outputs, j);
}

// The weight of input i in output j: 0 where it has none.
double weight_in(const std::vector<Tap>& taps, std::int64_t i) {
  double weight = 0;
  for (const Tap& tap : taps) weight += tap.input == i ? tap.weight : 0;
  return weight;
}

// Each output's inputs and each input's outputs, against the oracle's.
template <class Index> void check_axis(const Upsampling& how, std::int64_t inputs, std::int64_t outputs) {
  SCOPED_TRACE(std::string(name(how.mode)) + " " + std::to_string(inputs) + " to " + std::to_string(outputs));
  const Coordinates<Index> axis(axis_of(how, inputs, outputs));
  for (std::int64_t j = 0; j < outputs; ++j) {
    const std::vector<Tap> taps = taps_of(how, inputs, outputs, j);
    if (how.mode != Interpolation::bilinear) {
      ASSERT_EQ(axis.source(static_cast<Index>(j)), taps[0].input) << j;
      continue;
    }
    const auto at = axis.place(static_cast<Index>(j));
    EXPECT_EQ(at.weight * 0x1p24f, std::floor(at.weight * 0x1p24f)) << j;
    EXPECT_EQ((1 - at.weight) + at.weight, 1) << j;
    const std::vector<Tap> found{{axis.before(at), 1.0 - at.weight}, {axis.behind(at), at.weight}};
    for (const Tap& tap : found) ASSERT_NEAR(weight_in(found, tap.input), weight_in(taps, tap.input), 0x1p-22) << j;
    for (const Tap& tap : taps) ASSERT_NEAR(weight_in(found, tap.input), tap.weight, 0x1p-22) << j;
  }
  for (std::int64_t i = 0; i < inputs; ++i) {
    const auto readers = how.mode == Interpolation::bilinear ? axis.bilinear_readers(static_cast<Index>(i))
                                                             : axis.nearest_readers(static_cast<Index>(i));
    for (std::int64_t j = 0; j < outputs; ++j) {
      const double want = weight_in(taps_of(how, inputs, outputs, j), i);
      const bool reads = readers.first <= j && j < readers.last;
      ASSERT_EQ(reads, want > 0) << "input " << i << " in output " << j;
      if (reads && how.mode == Interpolation::bilinear) {
        ASSERT_NEAR(axis.weight(static_cast<Index>(i), static_cast<Index>(j)), want, 0x1p-22) << i << ", " << j;
      }
    }
  }
}

TEST(UpsamplePlaces, AreThoseOfTheOracle) {
  for (const Upsampling& how : {nearest, nearest_exact, bilinear, aligned})
    for (std::int64_t inputs : {1, 2, 3, 5, 7, 16, 33, 50})
      for (std::int64_t outputs : {1, 2, 3, 4, 5, 14, 16, 32, 33, 51, 100, 131}) {
        check_axis<int>(how, inputs, outputs);
        check_axis<std::int64_t>(how, inputs, outputs);
      }
}

TEST(UpsamplePlaces, AreExactAtAnySize) {
  constexpr std::int64_t large = (1 << 30) - 1, other = (1 << 30) - 35;
  for (const Upsampling& how : {nearest, nearest_exact, bilinear, aligned}) {
    EXPECT_FALSE(is_narrow(axis_of(how, large, other)));                          // products of two sizes
    EXPECT_TRUE(is_narrow(axis_of(how, 1 << 28, 1 << 29)) || how.align_corners);  // a factor of 2 has small numbers
    const Wide axis(axis_of(how, other, large));
    for (std::int64_t j : {std::int64_t{0}, std::int64_t{1}, large / 3, large / 2, large - 2, large - 1}) {
      // In float32, products of these would be off by whole pixels.
      const std::vector<Tap> taps = taps_of(how, other, large, j);
      if (how.mode != Interpolation::bilinear) {
        EXPECT_EQ(axis.source(j), taps[0].input) << j;
      } else {
        const auto at = axis.place(j);
        EXPECT_NEAR(
            static_cast<double>(axis.before(at)) * (1 - at.weight) + static_cast<double>(axis.behind(at)) * at.weight,
            static_cast<double>(taps.front().input) + (taps.size() > 1 ? taps.back().weight : 0), 1e-6)
            << j;
      }
    }
  }
}

// ---- plans -------------------------------------------------------------------------------------------------------

UpsampleProblem problem(const Upsampling& how, bool backward = false, DType dtype = bf16, std::int64_t side = 256,
                        std::int64_t outputs = 512) {
  auto p = UpsampleProblem::contiguous(how, dtype, 1, 512, side, side, outputs, outputs);
  p->backward = backward;
  return *p;
}
std::string chosen(const UpsampleProblem& p) {
  auto plan = plan_upsample(p, *device_model("H200"));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}

TEST(UpsamplePlan, TwiceTheSizeHasKernelsOfItsOwn) {
  for (const DType dtype : {f32, f16, bf16})
    for (const Upsampling& how : {nearest, nearest_exact, bilinear}) {
      EXPECT_EQ(chosen(problem(how, false, dtype)), "rows_x2");
      EXPECT_EQ(chosen(problem(how, true, dtype)), "gradient_rows_x2");
      EXPECT_EQ(chosen(problem(nhwc(how), false, dtype)), "channels_x2");
      EXPECT_EQ(chosen(problem(nhwc(how), true, dtype)), "gradient_channels_x2");
    }
  EXPECT_EQ(chosen(problem(nearest, false, u8)), "rows_x2");
}

TEST(UpsamplePlan, OtherSizesAreWalkedThrough) {
  for (const Upsampling& how : {nearest, bilinear, aligned}) {
    EXPECT_EQ(chosen(problem(how, false, f32, 65, 513)), "rows");
    EXPECT_EQ(chosen(problem(how, true, f32, 65, 513)), "gradient_rows");
    EXPECT_EQ(chosen(problem(nhwc(how), false, bf16, 33, 129)), "channels");
    EXPECT_EQ(chosen(problem(nhwc(how), true, bf16, 33, 129)), "gradient_channels");
  }
  EXPECT_EQ(chosen(problem(aligned)), "rows");                         // places a little less than half a pixel apart
  EXPECT_EQ(chosen(problem(nearest, false, bf16, 255, 510)), "rows");  // rows of x do not start on 8 bytes
}

TEST(UpsamplePlan, WhatTheOthersRefuseIsNaive) {
  UpsampleProblem p = problem(bilinear);
  for (std::int64_t& stride : p.x.stride) stride *= 2;
  EXPECT_EQ(chosen(p), "naive");
  p.backward = true;
  EXPECT_EQ(chosen(p), "naive");
  // Places that 31 bits do not hold: 2^16 and a little times 2^16.
  auto large = UpsampleProblem::contiguous(bilinear, f32, 1, 1, 1, 65537, 1, 65536);
  EXPECT_EQ(chosen(*large), "naive");
  // Sums of a row of dy that no shared memory holds.
  large = UpsampleProblem::contiguous(nearest, f32, 1, 1, 1, 100, 1, 100000);
  EXPECT_EQ(chosen(*large), "rows");
  large->backward = true;
  EXPECT_EQ(chosen(*large), "naive");
}

TEST(UpsamplePlan, ARefusalSaysWhy) {
  const DeviceInfo h200 = *device_model("H200");
  const auto refusal = [&](const UpsampleProblem& p, const char* variant = "") {
    return std::string(plan_upsample(p, h200, {.variant = variant}).error().message());
  };
  EXPECT_EQ(refusal(problem(bilinear, false, u8)), "upsample: dtype is u8; it must be one of f32 f16 bf16 for means");
  EXPECT_EQ(refusal(problem(nearest, true, i8)),
            "upsample: dtype is i8; it must be one of f32 f16 bf16 for a gradient");
  EXPECT_EQ(refusal(problem(nearest, false, f64)), "upsample: dtype is f64; it must be one of f32 f16 bf16 i8 u8");
  EXPECT_EQ(refusal(problem({.align_corners = true})), "upsample: align_corners is 1; it must be 0 with mode nearest");
  EXPECT_EQ(refusal(*UpsampleProblem::contiguous(nearest, f32, 1, 2, 0, 4, 3, 4)),
            "upsample: x.shape is 1x2x0x4; it must be of at least one row and column: y has pixels");
  EXPECT_EQ(refusal(*UpsampleProblem::contiguous(nearest, f32, 1, 1, 1, 1, 1, 1 << 30)),
            "upsample: y.shape is 1x1x1x1073741824; it must be of sides below 2^30");
  EXPECT_EQ(refusal(problem(nearest), "gradient_rows"),
            "upsample: variant is gradient_rows; it must be another one here: it computes gradients alone");
  EXPECT_EQ(refusal(problem(nearest, true), "rows"),
            "upsample: variant is rows; it must be another one here: it computes no gradients");
  EXPECT_EQ(refusal(problem(aligned), "rows_x2"),
            "upsample: variant is rows_x2; it must be another one here: y has not twice the rows and columns of x, or "
            "its corners are aligned");
}

TEST(UpsamplePlan, ExplainsItself) {
  const auto plan = plan_upsample(problem(nhwc(aligned), true, f16, 3, 7), *device_model("H200"));
  EXPECT_EQ(plan->explain().problem, "f16 1x512x3x3 to 7x7 bilinear with aligned corners nhwc backward");
}

// ---- runs --------------------------------------------------------------------------------------------------------

TEST(Upsample, OneLine) {
  std::vector<float> x{1, 2, 3, 4}, y(16);
  const TensorView in = view(x.data(), {1, 1, 2, 2}), out = view(y.data(), {1, 1, 4, 4});
  upsample(in, out);
  EXPECT_EQ(y, (std::vector<float>{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}));
  upsample(in, out, bilinear);
  EXPECT_EQ(y, (std::vector<float>{1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4}));
  upsample_gradient(out, in, bilinear);
  EXPECT_EQ(x, (std::vector<float>{6.25, 8.75, 11.25, 13.75}));
}

TEST(Upsample, ViewsThatDoNotFitAreRefused) {
  std::vector<float> x(100);
  const auto why = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "done";
  };
  const TensorView four = view(x.data(), {1, 1, 2, 2}), other = view(x.data() + 50, {1, 2, 4, 4});
  EXPECT_EQ(why([&] { upsample(four, other); }),
            "upsample: y.shape is 1x2x4x4; it must be of as many images and channels as x, 1x1x2x2");
  EXPECT_EQ(why([&] { upsample_gradient(other, four); }),
            "upsample: dx.shape is 1x1x2x2; it must be of as many images and channels as dy, 1x2x4x4");
  EXPECT_EQ(why([&] {
              upsample(view(x.data(), {2, 2}), four);
            }),
            "upsample: x.shape is 2x2; it must be of 4 axes, n c h w");
  EXPECT_NE(why([&] { upsample(four, view(x.data() + 2, {1, 1, 4, 4})); }), "done");  // overlap
}

// Every row that fits, on x, y and a gradient of this size; f(row's name, y or dx).
template <class F> void with_each_row(const UpsampleProblem& p, const std::vector<float>& in, F&& f) {
  const auto view_of = [&](const float* data, const Layout& t) {
    return view(data, {t.shape[0], t.shape[1], t.shape[2], t.shape[3]});
  };
  std::vector<float> out(static_cast<std::size_t>((p.backward ? p.x : p.y).count()));
  int ran = 0;
  for (const auto& row : variants) {
    const auto plan = plan_upsample(p, cpu(), {.variant = std::string(row.name)});
    if (!plan) continue;
    const TensorView x = view_of(p.backward ? out.data() : in.data(), p.x),
                     y = view_of(p.backward ? in.data() : out.data(), p.y);
    const Status done = p.backward ? plan->run_gradient(y, x) : plan->run(x, y);
    ASSERT_TRUE(done.ok()) << done.message();
    f(row.name, out);
    ++ran;
  }
  EXPECT_GE(ran, 2);
}

TEST(Upsample, EqualPixelsStayWhatTheyAre) {
  const float some[] = {0.1f,
                        -7.77777777f,
                        3.0e-45f,
                        std::numeric_limits<float>::max(),
                        -std::numeric_limits<float>::infinity(),
                        std::nextafter(1.0f, 2.0f)};
  for (const float value : some)
    for (const Upsampling& how : {bilinear, aligned})
      for (const std::int64_t side : {12, 16, 23, 61})
        with_each_row(*UpsampleProblem::contiguous(how, f32, 1, 1, 8, 8, side, side), std::vector<float>(64, value),
                      [&](std::string_view row, const std::vector<float>& y) {
                        for (const float pixel : y) ASSERT_EQ(pixel, value) << row << " to " << side;
                      });
}

// The gradient is the transpose: sums of y dy and of x dx are equal.
TEST(Upsample, AGradientIsTheTranspose) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const Upsampling& how : {nearest, nearest_exact, bilinear, aligned})
    for (const std::int64_t side : {5, 16, 21}) {
      UpsampleProblem p = *UpsampleProblem::contiguous(how, f32, 2, 3, 8, 8, side, side);
      std::vector<float> x(384), dy(static_cast<std::size_t>(6 * side * side));
      for (float& e : x) e = normal(random);
      for (float& e : dy) e = normal(random);
      const auto dot = [](const std::vector<float>& a, const std::vector<float>& b) {
        double sum = 0;
        for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
        return sum;
      };
      double forward = 0;
      with_each_row(p, x, [&](std::string_view, const std::vector<float>& y) { forward = dot(y, dy); });
      p.backward = true;
      with_each_row(p, dy, [&](std::string_view row, const std::vector<float>& dx) {
        EXPECT_NEAR(dot(x, dx), forward, 1e-4) << row << " " << name(how.mode) << " from " << side;
      });
    }
}

TEST(Upsample, APixelOfNoWeightIsNotRead) {
  std::vector<float> x(25, 1.0f), y(225);
  x[12] = std::nanf("");  // the middle
  upsample(view(x.data(), {1, 1, 5, 5}), view(y.data(), {1, 1, 15, 15}), bilinear);
  for (int i = 0; i < 15; ++i)
    for (int j = 0; j < 15; ++j) {
      // Pixel 2 lies at output 7, and is a part of those up to two away.
      const bool reads = std::abs(i - 7) <= 2 && std::abs(j - 7) <= 2;
      EXPECT_EQ(std::isnan(y[static_cast<std::size_t>(i * 15 + j)]), reads) << i << ", " << j;
    }
}

}  // namespace
}  // namespace ridge
