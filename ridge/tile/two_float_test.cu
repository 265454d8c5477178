// Double-float arithmetic, on the CPU runtime.
#include <ridge/tile/two_float_exponential.cuh>

#include <gtest/gtest.h>

#include <cmath>

namespace ridge::tile {
namespace {

TEST(TwoFloat, SumsAndProductsAreExact) {
  // In double, the sum of two floats whose exponents differ by less than 29 is exact, and so is their product.
  float x = 1.2345678f, z = -3.7182817f;
  for (int i = 0; i < 500; ++i) {
    x = x * 1.1f + 0.1f, z = -z * 1.07f - 0.3f;
    if (std::fabs(x) > 1e6f) x *= 1e-6f;
    if (std::fabs(z) > 1e6f) z *= 1e-6f;
    const TwoFloat sum = two_sum(x, z), product = two_product(x, z);
    EXPECT_EQ(sum.high, x + z);
    EXPECT_EQ(double{sum.high} + sum.low, double{x} + z);
    EXPECT_EQ(product.high, x * z);
    EXPECT_EQ(double{product.high} + product.low, double{x} * z);
  }
}

TEST(TwoFloat, WhatIsNotFiniteStaysAsItIs) {
  const float inf = INFINITY, most = 3.4e38f;
  EXPECT_EQ(to_float(add(TwoFloat{inf, 0}, 1.0f)), inf);
  EXPECT_EQ(to_float(add(add(TwoFloat{0, 0}, -inf), 1.0f)), -inf);
  EXPECT_EQ(to_float(add(add(TwoFloat{0, 0}, most), most)), inf);
  EXPECT_TRUE(std::isnan(to_float(add(TwoFloat{inf, 0}, TwoFloat{-inf, 0}))));
  EXPECT_TRUE(std::isnan(to_float(add(TwoFloat{1, 0}, float(NAN)))));
  EXPECT_EQ(to_float(add(TwoFloat{1, 0x1p-30f}, TwoFloat{-1, 0})), 0x1p-30f);
}

TEST(TwoFloat, ProductsAndExponentialsKeepWhatAFloatLacks) {
  const auto exact = [](TwoFloat a) { return static_cast<long double>(a.high) + a.low; };
  TwoFloat x{1.2345678f, 3e-8f};
  for (int i = 0; i < 300; ++i) {
    const TwoFloat z = two_sum(-0.3f * static_cast<float>(i % 270), 1e-6f * static_cast<float>(i % 7));
    x = normalised(multiply(x, i % 2 ? 0.7123457f : -1.4f));
    EXPECT_EQ(x.high, static_cast<float>(exact(x)));
    if (z.high != 0) {
      EXPECT_NEAR(static_cast<double>(exact(multiply(x, z)) / (exact(x) * exact(z))), 1, 0x1p-44);
      EXPECT_EQ(quotient(x, z), static_cast<float>(exact(x) / exact(z))) << x.high << " " << z.high;
    }
    if (const long double want = std::exp(exact(z)); want > 0x1p-125L) {  // the low part may be subnormal
      EXPECT_NEAR(static_cast<double>(exact(exponential(z)) / want), 1, 0x1p-35 + 0x1p-148 / static_cast<double>(want))
          << z.high;
    }
  }
  EXPECT_EQ(exponential(TwoFloat{0, 0}).high, 1);
  EXPECT_EQ(exponential(TwoFloat{0, 0}).low, 0);
  EXPECT_EQ(exponential(two_sum(-INFINITY, 1)).high, 0);
  EXPECT_EQ(exponential(two_sum(-3e38f, -3e38f)).high, 0);
  EXPECT_EQ(exponential(TwoFloat{-90, 0}).high, static_cast<float>(std::exp(-90.0)));  // subnormal
  EXPECT_EQ(exponential(TwoFloat{-104.5f, 0}).high, 0);
  for (const float large : {90.0f, 199.0f, 1000.0f, INFINITY}) EXPECT_GT(exponential(TwoFloat{large, 0}).high, 1e38f);
  EXPECT_TRUE(std::isnan(exponential(TwoFloat{NAN, 0}).high) &&
              std::isnan(exponential(two_sum(INFINITY, -INFINITY)).high));
  for (const TwoFloat of :
       {TwoFloat{1, 0}, TwoFloat{1, 3e-8f}, two_sum(1, 1e-9f), TwoFloat{1.5f, -4e-8f}, TwoFloat{3e7f, 1}}) {
    const long double want = std::log(exact(of));
    EXPECT_NEAR(static_cast<double>(exact(logarithm(of)) - want), 0, 0x1p-22 * std::fabs(static_cast<double>(want)))
        << of.high;
  }
  EXPECT_EQ(logarithm(TwoFloat{0, 0}).high, -INFINITY);
  EXPECT_EQ(to_float(logarithm(TwoFloat{INFINITY, NAN})), INFINITY);
  EXPECT_EQ(quotient(two_sum(INFINITY, 1), TwoFloat{2, 0}), INFINITY);
  EXPECT_EQ(quotient(TwoFloat{0, 0}, TwoFloat{2, 0}), 0);
  EXPECT_TRUE(std::isnan(quotient(TwoFloat{0, 0}, TwoFloat{0, 0})));
  EXPECT_EQ(normalised(two_sum(INFINITY, 1)).high, INFINITY);
  EXPECT_EQ(normalised(two_sum(INFINITY, 1)).low, 0);
}

}  // namespace
}  // namespace ridge::tile
