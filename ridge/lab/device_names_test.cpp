// The names that kernels use beyond ridge/simt/cpu: checked against plain loops, wider arithmetic and the processor's
// own rounding modes.
#include <ridge/simt/simt.hpp>

#include <ridge/lab/vector_types.hpp>
// These need the types above:
#include <ridge/lab/bfloat16.hpp>
#include <ridge/lab/device_atomics.hpp>
#include <ridge/lab/device_math.hpp>
#include <ridge/lab/float8.hpp>
#include <ridge/lab/half.hpp>
#include <ridge/lab/random.hpp>
#include <ridge/lab/warp.hpp>

#include <cuda/cmath>

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <random>
#include <string>
#include <vector>

namespace {

using ridge::lab::Quad;
using ridge::lab::Round;

std::mt19937_64 random_bits(1);

// Any number of the type, often with an exponent near 0, sometimes zero, infinite or NaN.
template <class T> T any_number() {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const T number = std::bit_cast<T>(static_cast<Bits>(random_bits()));
  switch (random_bits() % 8) {
    case 0: return number;
    case 1: return std::numeric_limits<T>::denorm_min() * static_cast<T>(static_cast<int>(random_bits() % 9) - 4);
    case 2: return std::numeric_limits<T>::max() * static_cast<T>(random_bits() % 2 ? 1 : -1);
    case 3: return static_cast<T>(static_cast<int>(random_bits() % 7) - 3);
    default: break;
  }
  int exponent = 0;
  return std::ldexp(std::frexp(number, &exponent), static_cast<int>(random_bits() % 60) - 30);
}

template <class T> bool same_number(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

// ---- types -------------------------------------------------------------------------------------------------------
template <class T, std::size_t Size, std::size_t Alignment> void check_layout() {
  static_assert(sizeof(T) == Size && alignof(T) == Alignment && std::is_trivially_copyable_v<T>);
}

TEST(LabNames, VectorTypes) {
  check_layout<char1, 1, 1>(), check_layout<char2, 2, 2>(), check_layout<uchar3, 3, 1>(), check_layout<uchar4, 4, 4>();
  check_layout<short1, 2, 2>(), check_layout<ushort2, 4, 4>(), check_layout<short3, 6, 2>();
  check_layout<ushort4, 8, 8>(), check_layout<int1, 4, 4>(), check_layout<uint1, 4, 4>(), check_layout<long1, 8, 8>();
  check_layout<long2, 16, 16>(), check_layout<ulong3, 24, 8>(), check_layout<longlong4, 32, 16>();
  check_layout<ulonglong2, 16, 16>(), check_layout<float1, 4, 4>(), check_layout<double1, 8, 8>();
  check_layout<double3, 24, 8>(), check_layout<double4, 32, 16>();
  check_layout<half, 2, 2>(), check_layout<half2, 4, 4>(), check_layout<__nv_bfloat162, 4, 4>();
  check_layout<__nv_fp8_e4m3, 1, 1>(), check_layout<__nv_fp8x2_e5m2, 2, 2>(), check_layout<__nv_fp8x4_e4m3, 4, 4>();
  const uchar4 pixel = make_uchar4(1, 2, 3, 255);
  EXPECT_EQ(pixel.x + pixel.y + pixel.z + pixel.w, 261);
  EXPECT_EQ(make_double3(1, 2, 3).z, 3.0);
}

// ---- min and max -------------------------------------------------------------------------------------------------
template <class Result, class A, class B> void check_min_max(A a, B b) {
  using namespace std;  // as users do: std's templates must not make a call ambiguous
  static_assert(is_same_v<decay_t<decltype(min(a, b))>, Result> && is_same_v<decay_t<decltype(max(b, a))>, Result>);
  EXPECT_EQ(min(a, b), static_cast<Result>(a));
  EXPECT_EQ(max(a, b), static_cast<Result>(b));
  EXPECT_EQ(max(b, a), static_cast<Result>(b));
}

TEST(LabNames, MinMax) {
  check_min_max<int>(1, 2), check_min_max<unsigned>(1u, 2), check_min_max<unsigned>(1u, 2u);
  check_min_max<long>(1l, 2l), check_min_max<unsigned long>(1l, 2ul), check_min_max<unsigned long>(1ul, 2ul);
  check_min_max<long long>(1ll, 2ll), check_min_max<unsigned long long>(1ll, 2ull);
  check_min_max<float>(1.0f, 2.0f), check_min_max<double>(1.0f, 2.0), check_min_max<double>(1.0, 2.0f);
  check_min_max<short>(short(1), short(2)), check_min_max<int>(short(1), 2), check_min_max<unsigned>('a', 200u);
  EXPECT_EQ(umin(3u, 4u) + umax(3u, 4u), 7u);
  EXPECT_EQ(llmax(-1, 1ll << 40) + llmin(-1, 5), (1ll << 40) - 1);
  EXPECT_EQ(ullmax(~0ull, 1) - ullmin(~0ull, 1), ~0ull - 1);
}

// ---- integers ----------------------------------------------------------------------------------------------------
TEST(LabNames, Integers) {
  for (int i = 0; i < 100'000; ++i) {
    const auto a = static_cast<unsigned>(random_bits()), b = static_cast<unsigned>(random_bits());
    const auto s = static_cast<int>(a), t = static_cast<int>(b);
    const auto shift = static_cast<unsigned>(random_bits() % 70);
    const std::uint64_t both = std::uint64_t(b) << 32 | a;
    ASSERT_EQ(__funnelshift_l(a, b, shift), static_cast<unsigned>((both << shift % 32) >> 32));
    ASSERT_EQ(__funnelshift_r(a, b, shift), static_cast<unsigned>(both >> shift % 32));
    ASSERT_EQ(__funnelshift_lc(a, b, shift), shift < 32 ? __funnelshift_l(a, b, shift) : a);
    ASSERT_EQ(__funnelshift_rc(a, b, shift), shift < 32 ? __funnelshift_r(a, b, shift) : b);
    ASSERT_EQ(__hadd(s, t), static_cast<int>(std::floor((double(s) + t) / 2)));
    ASSERT_EQ(__rhadd(s, t), static_cast<int>(std::floor((double(s) + t + 1) / 2)));
    ASSERT_EQ(__uhadd(a, b), static_cast<unsigned>(std::floor((double(a) + b) / 2)));
    ASSERT_EQ(__urhadd(a, b), static_cast<unsigned>(std::floor((double(a) + b + 1) / 2)));
    ASSERT_EQ(__sad(s, t, 7), static_cast<unsigned>(std::llabs(std::int64_t(s) - t)) + 7);
    ASSERT_EQ(__usad(a, b, 7), static_cast<unsigned>(std::llabs(std::int64_t(a) - b)) + 7);
    ASSERT_EQ(__umul24(a, b), (a & 0xffffff) * (b & 0xffffff));
    const std::int64_t low_s = std::int64_t(s << 8 >> 8), low_t = std::int64_t(t << 8 >> 8);
    ASSERT_EQ(__mul24(s, t), static_cast<int>(low_s * low_t));
    int dot = 5;
    for (int k = 0; k < 4; ++k) dot += static_cast<signed char>(a >> 8 * k) * static_cast<signed char>(b >> 8 * k);
    ASSERT_EQ(__dp4a(s, t, 5), dot);
    ASSERT_EQ(__dp4a(std::bit_cast<char4>(a), std::bit_cast<char4>(b), 5), dot);
    ASSERT_EQ(__dp2a_hi(a, b, 1u), (a & 0xffff) * (b >> 16 & 0xff) + (a >> 16) * (b >> 24) + 1);
  }
  EXPECT_EQ(__mul64hi(-1, 1), -1);
  EXPECT_EQ(__mul64hi(1ll << 62, -8), -2);
  EXPECT_EQ(__fns(0b10110, 0, 1), 1u);
  EXPECT_EQ(__fns(0b10110, 2, 2), 4u);
  EXPECT_EQ(__fns(0b10110, 3, -2), 1u);
  EXPECT_EQ(__fns(0b10110, 2, 0), 2u);
  EXPECT_EQ(__fns(0b10110, 3, 0), ~0u);
  EXPECT_EQ(__fns(0b10110, 0, 4), ~0u);
}

// One intrinsic against f of each part, in 64 bits; the result modulo the part.
template <class Part, class F> void check_parts(unsigned (*intrinsic)(unsigned, unsigned), F f, const char* name) {
  for (int i = 0; i < 20'000; ++i) {
    unsigned a = static_cast<unsigned>(random_bits()), b = static_cast<unsigned>(random_bits());
    if (i % 4 == 0) b = a ^ (1u << random_bits() % 32);
    if (i % 16 == 0) a = 0x80008000u;
    unsigned expected = 0;
    for (std::size_t at = 0; at < 32; at += 8 * sizeof(Part)) {
      const std::int64_t part = f(std::int64_t(static_cast<Part>(a >> at)), std::int64_t(static_cast<Part>(b >> at)));
      expected |= static_cast<unsigned>(static_cast<std::make_unsigned_t<Part>>(part)) << at;
    }
    ASSERT_EQ(intrinsic(a, b), expected) << name << ' ' << std::hex << a << ' ' << b;
  }
}
template <class Part> std::int64_t clamped(std::int64_t x) {
  return std::clamp<std::int64_t>(x, std::numeric_limits<Part>::min(), std::numeric_limits<Part>::max());
}

TEST(LabNames, PartsOfWords) {
  using I = std::int64_t;
  check_parts<signed char>(
      __vadd4, [](I a, I b) { return a + b; }, "vadd4");
  check_parts<short>(
      __vsub2, [](I a, I b) { return a - b; }, "vsub2");
  check_parts<signed char>(
      __vaddss4, [](I a, I b) { return clamped<signed char>(a + b); }, "vaddss4");
  check_parts<unsigned char>(
      __vaddus4, [](I a, I b) { return clamped<unsigned char>(a + b); }, "vaddus4");
  check_parts<unsigned short>(
      __vsubus2, [](I a, I b) { return clamped<unsigned short>(a - b); }, "vsubus2");
  check_parts<short>(
      __vsubss2, [](I a, I b) { return clamped<short>(a - b); }, "vsubss2");
  check_parts<unsigned char>(
      __vabsdiffu4, [](I a, I b) { return std::llabs(a - b); }, "vabsdiffu4");
  check_parts<short>(
      __vabsdiffs2, [](I a, I b) { return std::llabs(a - b); }, "vabsdiffs2");
  check_parts<short>(
      __vmaxs2, [](I a, I b) { return std::max(a, b); }, "vmaxs2");
  check_parts<unsigned char>(
      __vminu4, [](I a, I b) { return std::min(a, b); }, "vminu4");
  check_parts<unsigned char>(
      __vavgu4, [](I a, I b) { return (a + b + 1) / 2; }, "vavgu4");
  check_parts<unsigned short>(
      __vhaddu2, [](I a, I b) { return (a + b) / 2; }, "vhaddu2");
  check_parts<unsigned char>(
      __vcmpeq4, [](I a, I b) { return a == b ? 255 : 0; }, "vcmpeq4");
  check_parts<signed char>(
      __vcmpgts4, [](I a, I b) { return a > b ? 255 : 0; }, "vcmpgts4");
  check_parts<unsigned short>(
      __vsetltu2, [](I a, I b) { return a < b; }, "vsetltu2");
  EXPECT_EQ(__vabs4(0x80ff017fu), 0x8001017fu);
  EXPECT_EQ(__vabsss4(0x80ff017fu), 0x7f01017fu);
  EXPECT_EQ(__vnegss2(0x80000001u), 0x7fffffffu);
  EXPECT_EQ(__vsadu4(0xff000102u, 0x00ff0201u), 255u + 255 + 1 + 1);
  EXPECT_EQ(__vsads2(0x80007fffu, 0x7fff8000u), 65535u * 2);
  EXPECT_EQ(__vimax3_s32(-3, 5, 4), 5);
  EXPECT_EQ(__vimin3_s32_relu(-3, 5, 4), 0);
  EXPECT_EQ(__viaddmax_s16x2(0x00017fffu, 0x00010001u, 0xffff0000u), 0x00020000u);
}

TEST(LabNames, TheGreaterOfTwoAndWhichItIs) {
  bool is_first = false, high = false, low = false;
  for (const int a : {-5, 0, 7})
    for (const int b : {-5, 0, 7}) {
      const auto u = static_cast<unsigned>(a), v = static_cast<unsigned>(b);
      EXPECT_EQ(__vibmax_s32(a, b, &is_first), std::max(a, b));
      EXPECT_EQ(is_first, a >= b);
      EXPECT_EQ(__vibmin_s32(a, b, &is_first), std::min(a, b));
      EXPECT_EQ(is_first, a <= b);
      EXPECT_EQ(__vibmax_u32(u, v, &is_first), std::max(u, v));
      EXPECT_EQ(is_first, u >= v);
      EXPECT_EQ(__vibmin_u32(u, v, &is_first), std::min(u, v));
      EXPECT_EQ(is_first, u <= v);
    }
  EXPECT_EQ(__vibmax_s16x2(0xffff0003u, 0x00010003u, &high, &low), 0x00010003u);
  EXPECT_TRUE(!high && low);
  EXPECT_EQ(__vibmin_s16x2(0xffff0004u, 0x00010003u, &high, &low), 0xffff0003u);
  EXPECT_TRUE(high && !low);
  EXPECT_EQ(__vibmax_u16x2(0xffff0003u, 0x00010004u, &high, &low), 0xffff0004u);
  EXPECT_TRUE(high && !low);
  EXPECT_EQ(__vibmin_u16x2(0xffff0003u, 0x00010004u, &high, &low), 0x00010003u);
  EXPECT_TRUE(!high && low);
}

// ---- rounding modes ----------------------------------------------------------------------------------------------
// f in the processor's rounding mode. Volatile operands keep the computation between the two changes of the mode.
template <class T, class F> T by_processor(int mode, F f, T a, T b, T c) {
  volatile T x = a, y = b, z = c;
  std::fesetround(mode);
  volatile T result = f(x, y, z);
  std::fesetround(FE_TONEAREST);
  return result;
}

template <class T> struct Modes { T (*zero)(T, T, T), (*down)(T, T, T), (*up)(T, T, T); };

template <class T, class F> void check_modes(const char* name, F f, Modes<T> modes) {
  for (int i = 0; i < 200'000; ++i) {
    const T a = any_number<T>(), b = any_number<T>(), c = i % 3 ? any_number<T>() : -f(a, b, T(0));
    ASSERT_TRUE(same_number(modes.zero(a, b, c), by_processor(FE_TOWARDZERO, f, a, b, c))) << name << a << ' ' << b;
    ASSERT_TRUE(same_number(modes.down(a, b, c), by_processor(FE_DOWNWARD, f, a, b, c))) << name << a << ' ' << b;
    ASSERT_TRUE(same_number(modes.up(a, b, c), by_processor(FE_UPWARD, f, a, b, c))) << name << a << ' ' << b;
  }
}

template <class T>
void check_all_modes(Modes<T> sum, Modes<T> product, Modes<T> quotient, Modes<T> root, Modes<T> fused) {
  check_modes<T>(
      "+ ", [](T a, T b, T) { return a + b; }, sum);
  check_modes<T>(
      "* ", [](T a, T b, T) { return a * b; }, product);
  check_modes<T>(
      "/ ", [](T a, T b, T) { return a / b; }, quotient);
  check_modes<T>(
      "sqrt ", [](T a, T, T) { return std::sqrt(a); }, root);
  check_modes<T>(
      "fma ", [](T a, T b, T c) { return std::fma(a, b, c); }, fused);
}

TEST(LabNames, FloatRoundingModes) {
  using T = float;
  check_all_modes<T>({[](T a, T b, T) { return __fadd_rz(a, b); }, [](T a, T b, T) { return __fsub_rd(a, -b); },
                      [](T a, T b, T) { return __fadd_ru(a, b); }},
                     {[](T a, T b, T) { return __fmul_rz(a, b); }, [](T a, T b, T) { return __fmul_rd(a, b); },
                      [](T a, T b, T) { return __fmul_ru(a, b); }},
                     {[](T a, T b, T) { return __fdiv_rz(a, b); }, [](T a, T b, T) { return __fdiv_rd(a, b); },
                      [](T a, T b, T) { return __fdiv_ru(a, b); }},
                     {[](T a, T, T) { return __fsqrt_rz(a); }, [](T a, T, T) { return __fsqrt_rd(a); },
                      [](T a, T, T) { return __fsqrt_ru(a); }},
                     {__fmaf_rz, __fmaf_rd, __fmaf_ru});
  EXPECT_EQ(__frcp_ru(3.0f), std::nextafter(__frcp_rd(3.0f), 1.0f));
}

TEST(LabNames, DoubleRoundingModes) {
  using T = double;
  check_all_modes<T>({[](T a, T b, T) { return __dadd_rz(a, b); }, [](T a, T b, T) { return __dsub_rd(a, -b); },
                      [](T a, T b, T) { return __dadd_ru(a, b); }},
                     {[](T a, T b, T) { return __dmul_rz(a, b); }, [](T a, T b, T) { return __dmul_rd(a, b); },
                      [](T a, T b, T) { return __dmul_ru(a, b); }},
                     {[](T a, T b, T) { return __ddiv_rz(a, b); }, [](T a, T b, T) { return __ddiv_rd(a, b); },
                      [](T a, T b, T) { return __ddiv_ru(a, b); }},
                     {[](T a, T, T) { return __dsqrt_rz(a); }, [](T a, T, T) { return __dsqrt_rd(a); },
                      [](T a, T, T) { return __dsqrt_ru(a); }},
                     {__fma_rz, __fma_rd, __fma_ru});
}

TEST(LabNames, Conversions) {
  for (int i = 0; i < 200'000; ++i) {
    const auto x = static_cast<long long>(random_bits()) >> random_bits() % 64;
    const double d = any_number<double>();
    volatile long long vx = x;
    volatile double vd = d;
    std::fesetround(FE_UPWARD);
    volatile float up = static_cast<float>(vx), narrow_up = static_cast<float>(vd);
    std::fesetround(FE_TOWARDZERO);
    volatile double zero = static_cast<double>(vx);
    volatile float narrow_zero = static_cast<float>(vd);
    std::fesetround(FE_TONEAREST);
    ASSERT_EQ(__ll2float_ru(x), up);
    ASSERT_EQ(__ll2double_rz(x), zero);
    ASSERT_TRUE(same_number<float>(__double2float_ru(d), narrow_up)) << d;
    ASSERT_TRUE(same_number<float>(__double2float_rz(d), narrow_zero)) << d;
  }
  EXPECT_EQ(__double2int_rn(2.5), 2);
  EXPECT_EQ(__double2int_rz(-1e300), -0x7fffffff - 1);
  EXPECT_EQ(__double2uint_ru(0.1), 1u);
  EXPECT_EQ(__float2uint_rd(-3.5f), 0u);
  EXPECT_EQ(__float2ll_rz(-1.5e12f), -1500000026624ll);
  EXPECT_EQ(__float2ull_rn(3e19f), ~0ull);
  EXPECT_EQ(__double2ll_rd(-0.5), -1);
  EXPECT_EQ(__int2double_rn(-7), -7.0);
  EXPECT_EQ(__hiloint2double(__double2hiint(-1.25), __double2loint(-1.25)), -1.25);
}

// ---- special functions -------------------------------------------------------------------------------------------
TEST(LabNames, SpecialFunctions) {
  const auto near = [](double a, double b) { return std::fabs(a - b) <= 4e-15 * std::fabs(b); };
  for (int i = 0; i < 20'000; ++i) {
    const double x =
        std::ldexp(static_cast<double>(random_bits() >> 11) * 0x1p-53, -static_cast<int>(random_bits() % 30));
    EXPECT_TRUE(near(std::erf(erfinv(x)), x)) << x;
    const double z = erfcinv(x);
    EXPECT_NEAR(std::erfc(z) / x, 1.0, 1e-15 + 4e-16 * z * z) << x;
    EXPECT_NEAR(normcdf(normcdfinv(x)) / x, 1.0, 2e-14) << x;
    EXPECT_EQ(erfinv(-x), -erfinv(x));
  }
  for (double x = -5; x < 30; x += 0.37) {
    const long double wide = x;
    EXPECT_TRUE(near(erfcx(x), static_cast<double>(std::exp(wide * wide) * std::erfc(wide)))) << x;
  }
  EXPECT_EQ(erfinv(1.0), HUGE_VAL);
  EXPECT_TRUE(std::isnan(erfinv(1.5)));
  EXPECT_EQ(erfcinv(2.0), -HUGE_VAL);
  EXPECT_EQ(sinpi(1e15), 0.0);
  EXPECT_EQ(cospif(0.5f), 0.0f);
  EXPECT_EQ(cospi(-3.0), -1.0);
  EXPECT_EQ(sinpif(-0.5f), -1.0f);
  for (double x = -7.3; x < 7; x += 0.113) {
    EXPECT_NEAR(sinpi(x), static_cast<double>(std::sin(3.14159265358979323846264338327950288L * x)), 1e-15);
    EXPECT_NEAR(cospi(x), static_cast<double>(std::cos(3.14159265358979323846264338327950288L * x)), 1e-15);
  }
  const float three[] = {2e30f, 3e30f, 6e30f};
  EXPECT_FLOAT_EQ(normf(3, three), 7e30f);
  EXPECT_FLOAT_EQ(rnorm3df(2, 3, 6), 1 / 7.0f);
  EXPECT_EQ(norm4d(1.0, 1.0, 1.0, 1.0), 2.0);
  EXPECT_EQ(rcbrtf(8.0f), 0.5f);
  EXPECT_EQ(rsqrt(4.0f), 0.5f);
  float sine, cosine;
  sincos(1.0f, &sine, &cosine);
  __sincosf(1.0f, &sine, &cosine);
  EXPECT_EQ(sine, sinf(1.0f));
  EXPECT_NEAR(cyl_bessel_i0f(-1.0f), 1.2660658778, 1e-6);
}

// ---- 16-bit floating point ---------------------------------------------------------------------------------------
// Whether `rounded` is the exact number's nearest neighbour in the format, the even one if two are as near.
template <class Small> bool is_nearest(Small rounded, Quad exact) {
  using Format = typename Small::format;
  const auto magnitude = [](Quad x) { return x < 0 ? -x : x; };
  // The format's numbers by size; where infinity is, stands the number that would follow.
  const auto value = [](unsigned bits) {
    const Quad last = Format::value(Format::greatest), before = Format::value(Format::greatest - 1);
    return bits == Format::infinity ? last + (last - before) : Quad(Format::value(static_cast<std::uint16_t>(bits)));
  };
  const unsigned bits = rounded.bits & 0x7fffu;
  if (exact != 0 && (rounded.bits >> 15) != (exact < 0)) return false;
  const Quad size = magnitude(exact), here = magnitude(size - value(bits));
  if (bits == Format::infinity && size >= value(bits)) return true;
  if (bits > Format::infinity) return false;
  const auto beats = [&](unsigned other) {
    const Quad there = magnitude(size - value(other));
    return there < here || (there == here && bits % 2 == 1);
  };
  return !(bits > 0 && beats(bits - 1)) && !(bits < Format::infinity && beats(bits + 1));
}

template <class Small> class LabSmallFloat : public testing::Test {};
using SmallFloats = testing::Types<__half, __nv_bfloat16>;
TYPED_TEST_SUITE(LabSmallFloat, SmallFloats);

template <class Small> Small any_small() {
  auto bits = static_cast<std::uint16_t>(random_bits());
  if (random_bits() % 2) bits = static_cast<std::uint16_t>((bits & 0x83ff) + Small::format::one - 0x200);  // near 1
  return Small::of_bits(bits);
}

TYPED_TEST(LabSmallFloat, FunctionsOfOneNumber) {
  using Small = TypeParam;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const Small x = Small::of_bits(static_cast<std::uint16_t>(bits));
    const float f = x;
    const double d = f;
    if (std::isnan(f)) {
      ASSERT_TRUE(__hisnan(x) && __hisnan(Small(f)) && __hisnan(x + x) && !(x == x) && x != x);
      continue;
    }
    ASSERT_EQ(Small(f).bits, x.bits);
    ASSERT_EQ(Small(d).bits, x.bits);
    ASSERT_EQ(static_cast<float>(-x), -f);
    ASSERT_EQ(static_cast<float>(__habs(x)), std::fabs(f));
    ASSERT_EQ(static_cast<bool>(x), f != 0);
    ASSERT_EQ(static_cast<int>(x), __float2int_rz(f));
    ASSERT_EQ(__hisinf(x), std::isinf(f) ? (f < 0 ? -1 : 1) : 0);
    const std::pair<Small, double> results[] = {
        {hsqrt(x), std::sqrt(d)}, {hrcp(x), 1 / d},           {hrsqrt(x), 1 / std::sqrt(d)}, {hexp(x), std::exp(d)},
        {hexp2(x), std::exp2(d)}, {hlog(x), std::log(d)},     {hlog2(x), std::log2(d)},      {hlog10(x), std::log10(d)},
        {hsin(x), std::sin(d)},   {hcos(x), std::cos(d)},     {htanh(x), std::tanh(d)},      {hfloor(x), std::floor(d)},
        {hceil(x), std::ceil(d)}, {htrunc(x), std::trunc(d)}, {hrint(x), std::nearbyint(d)}};
    for (const auto& [rounded, exact] : results) {
      const bool right =
          std::isfinite(exact) ? is_nearest(rounded, exact) : same_number<double>(static_cast<float>(rounded), exact);
      ASSERT_TRUE(right) << f << ' ' << exact;
    }
  }
}

TYPED_TEST(LabSmallFloat, Arithmetic) {
  using Small = TypeParam;
  for (int i = 0; i < 300'000; ++i) {
    const Small a = any_small<Small>(), b = any_small<Small>(), c = any_small<Small>();
    const float x = a, y = b, z = c;
    if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z)) continue;
    const Quad p = Quad(x) * y;
    ASSERT_TRUE(is_nearest(a + b, Quad(x) + y)) << x << ' ' << y;
    ASSERT_TRUE(is_nearest(__hsub(a, b), Quad(x) - y)) << x << ' ' << y;
    ASSERT_TRUE(is_nearest(a * b, p)) << x << ' ' << y;
    ASSERT_TRUE(y == 0 || is_nearest(a / b, Quad(x) / y)) << x << ' ' << y;
    const bool exact = ridge::lab::exact_sum<Quad>(p, z).rest == 0;
    ASSERT_TRUE(!exact || is_nearest(__hfma(a, b, c), p + z)) << x << ' ' << y << ' ' << z;
    ASSERT_EQ(a < b, x < y);
    ASSERT_EQ(a == b, x == y);
    ASSERT_EQ(__hge(a, b), x >= y);
    ASSERT_EQ(static_cast<float>(__hmax(a, b)), std::fmax(x, y));
    ASSERT_EQ(static_cast<float>(__hmin(a, b)), std::fmin(x, y));
    Small sum = a;
    sum += b;
    ASSERT_EQ(sum.bits, (a + b).bits);
  }
}

TYPED_TEST(LabSmallFloat, RoundingModes) {
  using Small = TypeParam;
  const auto value = [](Small x) { return static_cast<double>(static_cast<float>(x)); };
  for (int i = 0; i < 200'000; ++i) {
    const double d = std::ldexp(any_number<float>(), static_cast<int>(random_bits() % 8));
    if (!std::isfinite(d)) continue;
    const Small nearest(d), zero = Small::of(d, Round::zero), down = Small::of(d, Round::down);
    const Small up = Small::of(d, Round::up);
    ASSERT_TRUE(is_nearest(nearest, d)) << d;
    ASSERT_LE(value(down), d);
    ASSERT_GE(value(up), d);
    // Neighbours, or equal: between 0 and the least number, the signs may differ.
    ASSERT_EQ(std::abs(int(up.bits & 0x7fff) - int(down.bits & 0x7fff)), value(down) != d);
    ASSERT_EQ(value(zero), d < 0 ? value(up) : value(down));
    const auto x = static_cast<long long>(random_bits()) >> random_bits() % 64;
    ASSERT_TRUE(is_nearest(Small(x), x)) << x;
  }
}

TYPED_TEST(LabSmallFloat, NotANumber) {
  using Small = TypeParam;
  const Small nan = Small::of_bits(0x7fff), one = 1, minus_zero = Small::of_bits(0x8000), zero = 0;
  EXPECT_EQ(__hmax(nan, one).bits, one.bits);
  EXPECT_EQ(__hmin(one, nan).bits, one.bits);
  EXPECT_TRUE(__hisnan(__hmax_nan(nan, one)));
  EXPECT_EQ(__hmax(minus_zero, zero).bits, 0);
  EXPECT_EQ(__hmin(zero, minus_zero).bits, 0x8000);
  EXPECT_FALSE(__heq(nan, nan) || __hne(nan, one) || __hlt(nan, one));
  EXPECT_TRUE(__hequ(nan, nan) && __hneu(nan, one) && __hltu(nan, one));
  EXPECT_EQ((nan + one).bits, 0x7fff);
  EXPECT_EQ((zero / zero).bits, 0x7fff);
  EXPECT_EQ((one / minus_zero).bits, Small::format::infinity | 0x8000);
}

// The product lies between two numbers and the sum just below it; in double, the sum would lie between them too.
TEST(LabNames, FusedMultiplyAddRoundsOnce) {
  const __nv_bfloat16 a = 7, b = 37 / 256.0f, c = -0x1p-100f;
  EXPECT_EQ(static_cast<float>(a * b), 260 / 256.0f);
  EXPECT_EQ(static_cast<float>(__hfma(a, b, c)), 258 / 256.0f);
}

TEST(LabNames, HalfNames) {
  const half2 pair = __floats2half2_rn(1.5f, -2.0f);
  EXPECT_EQ(__low2float(pair), 1.5f);
  EXPECT_EQ(__high2float(pair), -2.0f);
  EXPECT_EQ(__half22float2(__hfma2(pair, pair, __half2half2(__float2half(1)))).y, 5.0f);
  EXPECT_EQ(std::bit_cast<unsigned>(pair), 0xc0003e00u);
  EXPECT_EQ(__heq2_mask(pair, __half2(1.5f, 2.0f)), 0x0000ffffu);
  EXPECT_TRUE(__hbge2(pair, pair) && pair == pair && !(pair != pair));
  EXPECT_EQ(__half_as_ushort(__float2half(1.0f)), 0x3c00);
  EXPECT_EQ(__half2float(__ushort_as_half(0x3555)), 0x1.554p-2f);
  EXPECT_EQ(__half2int_rn(__float2half(2.5f)), 2);
  EXPECT_EQ(__half2float(__int2half_rn(2049)), 2048.0f);
  EXPECT_EQ(__half2float(__int2half_ru(2049)), 2050.0f);
  EXPECT_EQ(__half2float(__float2half_rz(1e9f)), 65504.0f);
  EXPECT_EQ(__half2float(__hmul(pair.x, 2.0f)), 3.0f);  // as nvcc, converts the float
  EXPECT_EQ(__bfloat162float(__float2bfloat16(3.14159f)), 3.140625f);
  EXPECT_EQ(__bfloat1622float2(__floats2bfloat162_rn(1, 2)).y, 2.0f);
  half h = 3;
  h = h * h - half(1.0);
  EXPECT_EQ(static_cast<int>(h++), 8);
  EXPECT_EQ(static_cast<float>(h), 9.0f);
  EXPECT_EQ(h2sqrt(__half2(h, h)).y, half(3));
}

TEST(LabNames, Float8) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    const __half four = __nv_cvt_fp8_to_halfraw(static_cast<unsigned char>(bits), __NV_E4M3);
    const __half five = __nv_cvt_fp8_to_halfraw(static_cast<unsigned char>(bits), __NV_E5M2);
    EXPECT_TRUE(__hisnan(four) || __nv_fp8_e4m3(four).__x == bits);
    EXPECT_TRUE(__hisnan(five) || __hisinf(five) || __nv_fp8_e5m2(five).__x == bits);
  }
  EXPECT_EQ(static_cast<float>(__nv_fp8_e4m3(1e9f)), 448.0f);
  EXPECT_EQ(static_cast<float>(__nv_fp8_e5m2(-HUGE_VALF)), -57344.0f);
  EXPECT_EQ(__nv_cvt_float_to_fp8(1e9f, __NV_NOSAT, __NV_E4M3), 0x7f);
  EXPECT_EQ(__nv_cvt_float_to_fp8(-1e9f, __NV_NOSAT, __NV_E5M2), 0xfc);
  EXPECT_EQ(static_cast<float>(__nv_fp8_e4m3(1.0625 + 1e-12)), 1.125f);  // rounded once
  EXPECT_EQ(static_cast<float2>(__nv_fp8x2_e4m3(float2{2, -3})).y, -3.0f);
  EXPECT_EQ(static_cast<float4>(__nv_fp8x4_e5m2(float4{1, 2, 3, 4})).w, 4.0f);
}

// ---- random numbers ----------------------------------------------------------------------------------------------
TEST(LabNames, RandomBits) {
  const uint4 zeros = ridge::lab::philox({0, 0, 0, 0}, {0, 0});  // the paper's test vectors
  EXPECT_EQ((std::vector{zeros.x, zeros.y, zeros.z, zeros.w}),
            (std::vector{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  const uint4 ones = ridge::lab::philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u});
  EXPECT_EQ((std::vector{ones.x, ones.y, ones.z, ones.w}),
            (std::vector{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
}

template <class State> void check_jumps() {
  State walked, jumped;
  curand_init(1234, 7, 0, &walked);
  for (int i = 0; i < 1001; ++i) curand(&walked);
  curand_init(1234, 7, 1001, &jumped);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(curand(&walked), curand(&jumped));
  double sum = 0, squares = 0, normals = 0;
  constexpr int count = 200'000;
  for (int i = 0; i < count; ++i) {
    const float x = curand_uniform(&walked);
    ASSERT_TRUE(x > 0 && x <= 1);
    const double d = curand_uniform_double(&walked), n = curand_normal(&walked);
    sum += x + d;
    squares += n * n;
    normals += n + curand_normal_double(&walked);
  }
  EXPECT_NEAR(sum / count, 1, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.02);
  EXPECT_NEAR(normals / count, 0, 0.02);
}

TEST(LabNames, RandomJumps) {
  check_jumps<curandState>();
  check_jumps<curandStatePhilox4_32_10_t>();
  curandState sequence, offset;  // a sequence is 2^67 = 16 * 2^63 numbers
  curand_init(5, 3, 0, &sequence);
  curand_init(5, 2, 0, &offset);
  for (int i = 0; i < 16; ++i) skipahead(1ull << 63, &offset);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(curand(&sequence), curand(&offset));
}

// ---- in kernels --------------------------------------------------------------------------------------------------
#define ASSERT_RUNS(...)                                 \
  do {                                                   \
    const ridge::Status ran = (__VA_ARGS__);             \
    ASSERT_TRUE(ran.ok()) << std::string(ran.message()); \
  } while (false)

__global__ void lanes(int* out) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const unsigned all = 0xffffffffu;
  int ok = __match_any_sync(all, lane / 8) == 0xffu << (lane / 8 * 8);
  int equal = 0;
  ok += __match_all_sync(all, 2.5, &equal) == all && equal == 1;
  ok += __match_all_sync(all, lane, &equal) == 0 && equal == 0;
  ok += __reduce_add_sync(all, lane) == 31 * 16;
  ok += __reduce_min_sync(all, lane - 5) == -5;
  ok += __reduce_max_sync(all, static_cast<unsigned>(lane)) == 31u;
  ok += __reduce_or_sync(all, 1u << lane) == all;
  ok += __reduce_xor_sync(all, static_cast<unsigned>(lane)) == 0;
  ok += __half2float(__shfl_xor_sync(all, __float2half(static_cast<float>(lane)), 1)) == static_cast<float>(lane ^ 1);
  ok += __high2float(__shfl_sync(all, __floats2half2_rn(0, static_cast<float>(lane)), 7)) == 7.0f;
  ok += __bfloat162float(__shfl_down_sync(all, __nv_bfloat16(lane), 1u, 2)) == static_cast<float>(lane | 1);
  ok += __shfl_up_sync(all, static_cast<signed char>(-lane), 1u, 2) == -(lane & ~1);
  if (lane < 12) {  // part of the warp
    ok += __reduce_add_sync(0xfffu, 2u) == 24;
    ok += __match_any_sync(0xfffu, lane == 3) == (lane == 3 ? 8u : 0xff7u);
  } else {
    ok += 2;
  }
  out[threadIdx.x] = ok;
}

TEST(LabNames, Lanes) {
  std::vector<int> out(64);
  ASSERT_RUNS(ridge::simt::launch({.grid = dim3(1), .block = dim3(64)}, lanes, out.data()));
  EXPECT_EQ(out, std::vector<int>(64, 14));
}

// The usual aggregation of a warp's atomics: the lanes of a branch elect one of them.
__global__ void active(unsigned* masks, int* counter, int* places) {
  const int i = static_cast<int>(threadIdx.x), lane = i % 32;
  masks[i] = __activemask();
  if (lane % 3 == 0) {
    const unsigned mask = __activemask();
    masks[i] ^= mask;
    const int leader = __ffs(static_cast<int>(mask)) - 1;
    int first = 0;
    if (lane == leader) first = atomicAdd(counter, __popc(mask));
    first = __shfl_sync(mask, first, leader);
    places[i] = first + __popc(mask & ((1u << lane) - 1));
  } else if (lane == 4) {
    return;
  }
  __syncwarp();
}

TEST(LabNames, ActiveLanes) {
  for (const char* seed : {"0", "1", "2"}) {
    setenv("RIDGE_SEED", seed, 1);
    std::vector<unsigned> masks(80);
    std::vector<int> places(80, -1);
    int counter = 0;
    ASSERT_RUNS(
        ridge::simt::launch({.grid = dim3(1), .block = dim3(80)}, active, masks.data(), &counter, places.data()));
    EXPECT_EQ(counter, 11 + 11 + 6);
    EXPECT_EQ(masks[1], ~0u);
    EXPECT_EQ(masks[3], ~0u ^ 0x49249249u);
    EXPECT_EQ(masks[71], 0xffffu);
    std::erase(places, -1);
    std::sort(places.begin(), places.end());
    for (int i = 0; i < counter; ++i) EXPECT_EQ(places[static_cast<std::size_t>(i)], i);
    unsetenv("RIDGE_SEED");
  }
}

__global__ void add_small(half* sum, half2* pair, __nv_bfloat16* brain, float2* two, unsigned* wrapped) {
  atomicAdd(sum, __float2half(1));
  atomicAdd(pair, __floats2half2_rn(1, 2));
  atomicAdd_system(brain, __nv_bfloat16(2));
  atomicAdd(two, float2{1, -1});
  atomicInc_block(wrapped, 9);
}

TEST(LabNames, Atomics) {
  half sum = 0;
  half2 pair(0, 0);
  __nv_bfloat16 brain = 0;
  float2 two = {0, 0};
  unsigned wrapped = 0;
  ASSERT_RUNS(
      ridge::simt::launch({.grid = dim3(4), .block = dim3(32)}, add_small, &sum, &pair, &brain, &two, &wrapped));
  EXPECT_EQ(static_cast<float>(sum), 128.0f);
  EXPECT_EQ(__high2float(pair), 256.0f);
  EXPECT_EQ(static_cast<float>(brain), 256.0f);
  EXPECT_EQ(two.y, -128.0f);
  EXPECT_EQ(wrapped, 128u % 10);
}

// ---- <cuda/cmath> --------------------------------------------------------------------------------------------------
TEST(LabNames, FunctionsOfWholeNumbers) {
  static_assert(cuda::ceil_div(7, 4) == 2 && cuda::ceil_div(8, 4) == 2 && cuda::ceil_div(0, 4) == 0);
  static_assert(cuda::ceil_div(0xffffffffu, 2u) == 0x80000000u && cuda::ceil_div(std::size_t{10}, 3) == 4);
  static_assert(cuda::round_up(9, 8) == 16 && cuda::round_up(16, 8) == 16 && cuda::round_down(15, 8) == 8);
  static_assert(cuda::is_power_of_two(64) && !cuda::is_power_of_two(0) && !cuda::is_power_of_two(-8));
  static_assert(cuda::next_power_of_two(33) == 64 && cuda::prev_power_of_two(33) == 32);
  static_assert(cuda::ilog2(1) == 0 && cuda::ilog2(1023) == 9 && cuda::ceil_ilog2(1023) == 10 &&
                cuda::ceil_ilog2(1024) == 10 && cuda::ilog10(999) == 2 && cuda::ilog10(1000) == 3);
  static_assert(cuda::ipow(3, 4) == 81 && cuda::ipow(5, 0) == 1);
  static_assert(cuda::uabs(std::numeric_limits<int>::min()) == 0x80000000u && cuda::neg(7) == -7);
  for (unsigned x : {0u, 1u, 3u, 4u, 99u, 100u, 65535u, 65536u, 0xfffe0000u, 0xfffe0001u, 0xffffffffu}) {
    const std::uint64_t root = cuda::isqrt(x);
    EXPECT_TRUE(root * root <= x && (root + 1) * (root + 1) > x) << x;
  }
}

}  // namespace
