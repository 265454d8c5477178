// Inline PTX, as the translator writes it: each group of instructions against plain C++.
#include <ridge/lab/bfloat16.hpp>
#include <ridge/lab/half.hpp>
#include <ridge/lab/ptx.hpp>
#include <ridge/lab/warp.hpp>
#include <ridge/simt/test/support.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace simt_test {
namespace {

using ridge::lab::given;
using ridge::lab::ptx;
using ridge::lab::PtxSite;
using ridge::lab::written;

template <class T> constexpr const char* letter(bool is_output) {
  if (std::is_same_v<T, float>) return is_output ? "=f" : "f";
  if (std::is_same_v<T, double>) return is_output ? "=d" : "d";
  if (sizeof(T) == 8) return is_output ? "=l" : "l";
  return sizeof(T) == 4 ? is_output ? "=r" : "r" : is_output ? "=h" : "h";
}
PtxSite site(const char* instructions) { return {instructions, "a.cu", 12}; }

// %0, where the operands from %1 on are given.
template <class R, class... A> R result(const char* instructions, A... given_values) {
  R r{};
  ptx(site(instructions), written(letter<R>(true), r), given(letter<A>(false), given_values)...);
  return r;
}

template <class F> __global__ void call(F f) { f(); }
template <class F> Status run(const Config& config, F f) { return launch(config, call<F>, f); }

// The sentence of a kernel of one thread that runs these instructions.
std::string refusal(const char* instructions) {
  return text(run(one_block(1), [=] {
    unsigned x = 0;
    ptx(site(instructions), written("+r", x));
  }));
}

constexpr unsigned words[] = {0, 1, 2, 31, 0x7fffffff, 0x80000000, 0xffffffff, 0x12345678, 0xdeadbeef, 0x00ff00ff};
constexpr unsigned long long longs[] = {0, 1, 0x7fffffffffffffff, 0x8000000000000000, ~0ull, 0x123456789abcdef0};

// ---- integers -------------------------------------------------------------------------------------------------------
TEST(LabPtx, SumsAndProductsOfWords) {
  for (const unsigned a : words)
    for (const unsigned b : words) {
      const int x = static_cast<int>(a), y = static_cast<int>(b);
      const long long wide = static_cast<long long>(x) * y;
      const unsigned long long long_product = static_cast<unsigned long long>(a) * b;
      EXPECT_EQ(result<unsigned>("add.u32 %0, %1, %2;", a, b), a + b);
      EXPECT_EQ(result<unsigned>("sub.s32 %0, %1, %2;", a, b), a - b);
      EXPECT_EQ(result<unsigned>("mul.lo.u32 %0, %1, %2;", a, b), a * b);
      EXPECT_EQ(result<unsigned>("mul.hi.u32 %0, %1, %2;", a, b), long_product >> 32);
      EXPECT_EQ(result<int>("mul.hi.s32 %0, %1, %2;", x, y), wide >> 32);
      EXPECT_EQ(result<unsigned long long>("mul.wide.u32 %0, %1, %2;", a, b), long_product);
      EXPECT_EQ(result<long long>("mul.wide.s32 %0, %1, %2;", x, y), wide);
      EXPECT_EQ(result<unsigned>("mad.lo.s32 %0, %1, %2, %3;", a, b, 7u), a * b + 7);
      EXPECT_EQ(result<unsigned>("mad.hi.u32 %0, %1, %2, 5;", a, b), static_cast<unsigned>((long_product >> 32) + 5));
      EXPECT_EQ(result<long long>("mad.wide.s32 %0, %1, %2, %3;", x, y, -3ll), wide - 3);
      EXPECT_EQ(result<int>("min.s32 %0, %1, %2;", x, y), std::min(x, y));
      EXPECT_EQ(result<unsigned>("max.u32 %0, %1, %2;", a, b), std::max(a, b));
      EXPECT_EQ(result<unsigned>("sad.u32 %0, %1, %2, 1;", a, b), (a < b ? b - a : a - b) + 1);
      if (b && y != -1) {
        EXPECT_EQ(result<int>("div.s32 %0, %1, %2;", x, y), x / y);
        EXPECT_EQ(result<unsigned>("rem.u32 %0, %1, %2;", a, b), a % b);
      }
      const long long sum = static_cast<long long>(x) + y;
      EXPECT_EQ(result<int>("add.sat.s32 %0, %1, %2;", x, y), std::max(-2147483648ll, std::min(2147483647ll, sum)));
    }
  EXPECT_EQ(result<int>("abs.s32 %0, %1;", -5), 5);
  EXPECT_EQ(result<int>("neg.s32 %0, %1;", 5), -5);
  EXPECT_EQ(result<unsigned>("mul24.lo.u32 %0, %1, %2;", 0xff000003u, 4u), 12u);
}

TEST(LabPtx, SumsAndProductsOfOtherWidths) {
  for (const unsigned long long a : longs)
    for (const unsigned long long b : longs) {
      EXPECT_EQ(result<unsigned long long>("add.s64 %0, %1, %2;", a, b), a + b);
      EXPECT_EQ(result<unsigned long long>("mul.lo.u64 %0, %1, %2;", a, b), a * b);
      EXPECT_EQ(result<unsigned long long>("mul.hi.u64 %0, %1, %2;", a, b), __umul64hi(a, b));
      EXPECT_EQ(result<long long>("max.s64 %0, %1, %2;", a, b), std::max<long long>(a, b));
    }
  EXPECT_EQ(
      result<unsigned short>("add.u16 %0, %1, %2;", static_cast<unsigned short>(65535), static_cast<unsigned short>(3)),
      2);
  EXPECT_EQ(result<int>("mul.wide.s16 %0, %1, %2;", static_cast<short>(-300), static_cast<short>(300)), -90000);
}

TEST(LabPtx, CarriesGoOnInTheNextStatement) {
  unsigned a[] = {0xffffffff, 0xffffffff, 1}, b[] = {1, 0, 5}, sum[3], difference[3];
  ptx(site("add.cc.u32 %0, %1, %2;"), written("=r", sum[0]), given("r", a[0]), given("r", b[0]));
  ptx(site("addc.cc.u32 %0, %1, %2;"), written("=r", sum[1]), given("r", a[1]), given("r", b[1]));
  ptx(site("addc.u32 %0, %1, %2;"), written("=r", sum[2]), given("r", a[2]), given("r", b[2]));
  EXPECT_EQ(sum[0], 0u);
  EXPECT_EQ(sum[1], 0u);
  EXPECT_EQ(sum[2], 7u);
  ptx(site("sub.cc.u32 %0, %3, %6; subc.cc.u32 %1, %4, %7; subc.u32 %2, %5, %8;"), written("=r", difference[0]),
      written("=r", difference[1]), written("=r", difference[2]), given("r", sum[0]), given("r", sum[1]),
      given("r", sum[2]), given("r", b[0]), given("r", b[1]), given("r", b[2]));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(difference[i], a[i]) << i;
  // 0xffffffff * 0xffffffff + 0xffffffff, in two words.
  unsigned low, high;
  ptx(site("mad.lo.cc.u32 %0, %2, %2, %2; madc.hi.u32 %1, %2, %2, 0;"), written("=r", low), written("=r", high),
      given("r", 0xffffffffu));
  EXPECT_EQ(low, 0u);
  EXPECT_EQ(high, 0xffffffffu);
}

TEST(LabPtx, Bits) {
  for (const unsigned a : words) {
    for (const unsigned b : words) {
      EXPECT_EQ(result<unsigned>("and.b32 %0, %1, %2;", a, b), a & b);
      EXPECT_EQ(result<unsigned>("or.b32 %0, %1, %2;", a, b), a | b);
      EXPECT_EQ(result<unsigned>("xor.b32 %0, %1, %2;", a, b), a ^ b);
      EXPECT_EQ(result<unsigned>("lop3.b32 %0, %1, %2, %3, 0xd8;", a, b, 0x0f0f1234u), ((a ^ b) & 0x0f0f1234u) ^ a);
      EXPECT_EQ(result<unsigned>("prmt.b32 %0, %1, %2, 0x5410;", a, b), __byte_perm(a, b, 0x5410));
      const unsigned by = b & 31;
      const unsigned long long pair = static_cast<unsigned long long>(b) << 32 | a;
      EXPECT_EQ(result<unsigned>("shf.l.wrap.b32 %0, %1, %2, %3;", a, b, by + 32),
                static_cast<unsigned>(pair << by >> 32));
      EXPECT_EQ(result<unsigned>("shf.r.wrap.b32 %0, %1, %2, %3;", a, b, by), static_cast<unsigned>(pair >> by));
      EXPECT_EQ(result<unsigned>("shf.r.clamp.b32 %0, %1, %2, 40;", a, b), b);
      EXPECT_EQ(result<unsigned>("shf.l.clamp.b32 %0, %1, %2, 40;", a, b), a);
    }
    const int x = static_cast<int>(a);
    EXPECT_EQ(result<unsigned>("not.b32 %0, %1;", a), ~a);
    EXPECT_EQ(result<unsigned>("shl.b32 %0, %1, 5;", a), a << 5);
    EXPECT_EQ(result<unsigned>("shl.b32 %0, %1, 32;", a), 0u);
    EXPECT_EQ(result<unsigned>("shr.u32 %0, %1, 5;", a), a >> 5);
    EXPECT_EQ(result<int>("shr.s32 %0, %1, 5;", x), x >> 5);
    EXPECT_EQ(result<int>("shr.s32 %0, %1, 99;", x), x < 0 ? -1 : 0);
    EXPECT_EQ(result<unsigned>("bfe.u32 %0, %1, 4, 8;", a), a >> 4 & 0xff);
    EXPECT_EQ(result<int>("bfe.s32 %0, %1, 4, 8;", x), static_cast<signed char>(a >> 4));
    EXPECT_EQ(result<unsigned>("bfe.u32 %0, %1, 28, 9;", a), a >> 28);
    EXPECT_EQ(result<unsigned>("bfe.u32 %0, %1, 0, 0;", a), 0u);
    EXPECT_EQ(result<unsigned>("bfi.b32 %0, %1, %2, 8, 4;", a, 0xffffffffu), 0xfffff0ff | (a & 15) << 8);
    EXPECT_EQ(result<unsigned>("bfi.b32 %0, %1, %2, 0, 32;", a, 7u), a);
    EXPECT_EQ(result<unsigned>("brev.b32 %0, %1;", a), __brev(a));
    EXPECT_EQ(result<int>("popc.b32 %0, %1;", a), __popc(a));
    EXPECT_EQ(result<int>("clz.b32 %0, %1;", a), __clz(x));
    EXPECT_EQ(result<int>("bfind.u32 %0, %1;", a), 31 - __clz(x));
  }
  EXPECT_EQ(result<unsigned>("prmt.b32 %0, %1, 0, 0xba98;", 0x80017f02u), 0xff000000u);
  for (const unsigned long long a : longs) {
    EXPECT_EQ(result<int>("popc.b64 %0, %1;", a), __popcll(a));
    EXPECT_EQ(result<int>("clz.b64 %0, %1;", a), __clzll(a));
    EXPECT_EQ(result<unsigned long long>("brev.b64 %0, %1;", a), __brevll(a));
    EXPECT_EQ(result<unsigned long long>("shr.u64 %0, %1, 7;", a), a >> 7);
    EXPECT_EQ(result<unsigned long long>("bfe.u64 %0, %1, 40, 12;", a), a >> 40 & 0xfff);
  }
}

TEST(LabPtx, FourBytesAtATime) {
  EXPECT_EQ(result<int>("dp4a.s32.s32 %0, %1, %2, %3;", 0x01ff7f80u, 0x02020202u, 100), 100 + 2 * (1 - 1 + 127 - 128));
  EXPECT_EQ(result<int>("dp4a.u32.s32 %0, %1, %2, %3;", 0x01ff0000u, 0x01ff0000u, 0), 1 - 255);
  EXPECT_EQ(result<unsigned>("vabsdiff4.u32.u32.u32 %0, %1, %2, %3;", 0x01020304u, 0x04030201u, 0u), 0x03010103u);
  EXPECT_EQ(result<unsigned>("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;", 0x01020304u, 0x04030201u, 10u), 18u);
}

// ---- floating point -------------------------------------------------------------------------------------------------
constexpr float infinity = std::numeric_limits<float>::infinity();
bool same(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

TEST(LabPtx, FloatsAndDoubles) {
  const float third = 1.0f / 3, tiny = 0x1p-130f;
  EXPECT_EQ(result<float>("add.f32 %0, %1, %2;", third, 1.0f), third + 1);
  EXPECT_EQ(result<float>("sub.rn.ftz.f32 %0, %1, %2;", third, 1.0f), third - 1);
  EXPECT_EQ(result<float>("mul.rz.f32 %0, %1, %2;", third, third),
            ridge::lab::multiply<ridge::lab::Round::zero>(third, third));
  EXPECT_EQ(result<float>("fma.rn.f32 %0, %1, %2, %3;", third, third, -1.0f), std::fma(third, third, -1.0f));
  EXPECT_EQ(result<float>("fma.rn.f32 %0, %1, 0f40000000, 1.5;", third), std::fma(third, 2.0f, 1.5f));
  EXPECT_EQ(result<float>("add.sat.f32 %0, %1, %2;", third, 1.0f), 1.0f);
  EXPECT_EQ(result<float>("add.sat.f32 %0, %1, %2;", NAN, 1.0f), 0.0f);
  EXPECT_EQ(result<float>("add.f32 %0, %1, %2;", tiny, 0.0f), tiny);
  EXPECT_TRUE(same(result<float>("mul.ftz.f32 %0, %1, %2;", -tiny, 1.0f), -0.0f));
  EXPECT_EQ(result<float>("min.f32 %0, %1, %2;", NAN, 1.0f), 1.0f);
  EXPECT_TRUE(std::isnan(result<float>("max.NaN.f32 %0, %1, %2;", NAN, 1.0f)));
  EXPECT_TRUE(same(result<float>("max.f32 %0, %1, %2;", -0.0f, 0.0f), 0.0f));
  EXPECT_TRUE(same(result<float>("abs.f32 %0, %1;", -infinity), infinity));
  EXPECT_TRUE(same(result<float>("neg.f32 %0, %1;", 0.0f), -0.0f));
  EXPECT_EQ(result<float>("div.rn.f32 %0, %1, %2;", 1.0f, 3.0f), third);
  EXPECT_EQ(result<double>("fma.rn.f64 %0, %1, %2, %3;", 1.0 / 3, 3.0, -1.0), std::fma(1.0 / 3, 3.0, -1.0));
  EXPECT_EQ(result<double>("add.rp.f64 %0, %1, %2;", 1.0, 1e-30), std::nextafter(1.0, 2.0));
  EXPECT_EQ(result<double>("mul.f64 %0, %1, 0d4000000000000000;", 1.25), 2.5);
}

TEST(LabPtx, FunctionsOfFloats) {
  for (const float x : {0.25f, 0.7f, 3.5f}) {
    const double d = x;
    EXPECT_FLOAT_EQ(result<float>("rcp.approx.ftz.f32 %0, %1;", x), static_cast<float>(1 / d));
    EXPECT_FLOAT_EQ(result<float>("sqrt.rn.f32 %0, %1;", x), static_cast<float>(std::sqrt(d)));
    EXPECT_FLOAT_EQ(result<float>("rsqrt.approx.f32 %0, %1;", x), static_cast<float>(1 / std::sqrt(d)));
    EXPECT_FLOAT_EQ(result<float>("ex2.approx.ftz.f32 %0, %1;", x), static_cast<float>(std::exp2(d)));
    EXPECT_FLOAT_EQ(result<float>("lg2.approx.f32 %0, %1;", x), static_cast<float>(std::log2(d)));
    EXPECT_FLOAT_EQ(result<float>("sin.approx.f32 %0, %1;", x), static_cast<float>(std::sin(d)));
    EXPECT_FLOAT_EQ(result<float>("cos.approx.f32 %0, %1;", x), static_cast<float>(std::cos(d)));
    EXPECT_FLOAT_EQ(result<float>("tanh.approx.f32 %0, %1;", x), static_cast<float>(std::tanh(d)));
  }
  EXPECT_EQ(result<float>("ex2.approx.ftz.f32 %0, %1;", -infinity), 0.0f);
}

TEST(LabPtx, HalvesAndPairs) {
  const __half a = 1.5f, b = -0.333f, c = 1024.5f;
  const __half2 x(a, b), y(b, c), z(c, a);
  const auto word = [](__half2 h) { return std::bit_cast<unsigned>(h); };
  EXPECT_EQ(result<unsigned short>("add.f16 %0, %1, %2;", a.bits, b.bits), (a + b).bits);
  EXPECT_EQ(result<unsigned short>("fma.rn.f16 %0, %1, %2, %3;", a.bits, b.bits, c.bits), __hfma(a, b, c).bits);
  EXPECT_EQ(result<unsigned>("add.f16x2 %0, %1, %2;", word(x), word(y)), word({a + b, b + c}));
  EXPECT_EQ(result<unsigned>("mul.rn.f16x2 %0, %1, %2;", word(x), word(y)), word({a * b, b * c}));
  EXPECT_EQ(result<unsigned>("fma.rn.f16x2 %0, %1, %2, %3;", word(x), word(y), word(z)),
            word({__hfma(a, b, c), __hfma(b, c, a)}));
  EXPECT_EQ(result<unsigned>("max.f16x2 %0, %1, %2;", word(x), word(y)), word({a, c}));
  EXPECT_EQ(result<unsigned>("neg.f16x2 %0, %1;", word(x)), word(x) ^ 0x80008000);
  const __nv_bfloat16 p = 1.5f, q = -0.333f;
  EXPECT_EQ(result<unsigned short>("fma.rn.bf16 %0, %1, %2, %1;", p.bits, q.bits), __hfma(p, q, p).bits);
  EXPECT_EQ(result<unsigned>("fma.rn.relu.bf16x2 %0, %1, %2, %3;", 0x3fc03fc0u, 0xbfc03fc0u, 0u), 0x4010u);
}

TEST(LabPtx, Conversions) {
  EXPECT_EQ(result<int>("cvt.rzi.s32.f32 %0, %1;", -2.7f), -2);
  EXPECT_EQ(result<int>("cvt.rni.s32.f32 %0, %1;", 2.5f), 2);
  EXPECT_EQ(result<int>("cvt.rmi.s32.f32 %0, %1;", -2.1f), -3);
  EXPECT_EQ(result<unsigned>("cvt.rzi.u32.f32 %0, %1;", 1e20f), 0xffffffffu);
  EXPECT_EQ(result<unsigned>("cvt.rni.sat.u8.f32 %0, %1;", 300.0f), 255u);
  EXPECT_EQ(result<int>("cvt.rni.s8.f32 %0, %1;", -300.0f), -128);
  EXPECT_EQ(result<float>("cvt.rn.f32.s32 %0, %1;", 16777217), 16777216.0f);
  EXPECT_EQ(result<float>("cvt.rp.f32.s32 %0, %1;", 16777217), 16777218.0f);
  EXPECT_EQ(result<double>("cvt.rn.f64.u32 %0, %1;", 0xffffffffu), 4294967295.0);
  EXPECT_EQ(result<float>("cvt.rni.f32.f32 %0, %1;", 2.5f), 2.0f);
  EXPECT_EQ(result<float>("cvt.sat.f32.f32 %0, %1;", 2.5f), 1.0f);
  EXPECT_EQ(result<float>("cvt.rn.f32.f64 %0, %1;", 1.0 / 3), 1.0f / 3);
  EXPECT_EQ(result<double>("cvt.f64.f32 %0, %1;", 0.1f), static_cast<double>(0.1f));
  EXPECT_EQ(result<long long>("cvt.s64.s32 %0, %1;", -5), -5);
  EXPECT_EQ(result<unsigned long long>("cvt.u64.u32 %0, %1;", -5), 0xfffffffbull);
  EXPECT_EQ(result<unsigned>("cvt.u32.u64 %0, %1;", 0x123456789ull), 0x23456789u);
  EXPECT_EQ(result<int>("cvt.sat.s8.s32 %0, %1;", 1000), 127);
  EXPECT_EQ(result<int>("cvt.s32.s8 %0, %1;", 0xffu), -1);
  EXPECT_EQ(result<unsigned short>("cvt.rn.f16.f32 %0, %1;", 0.1f), __half(0.1f).bits);
  EXPECT_EQ(result<unsigned short>("cvt.rz.bf16.f32 %0, %1;", 0.1f), 0x3dcc);
  EXPECT_EQ(result<float>("cvt.f32.f16 %0, %1;", __half(0.1f).bits), static_cast<float>(__half(0.1f)));
  EXPECT_EQ(result<unsigned>("cvt.rn.f16x2.f32 %0, %1, %2;", 2.0f, 1.0f), 0x40003c00u);
  EXPECT_EQ(result<unsigned>("cvt.rn.bf16x2.f32 %0, %1, %2;", 2.0f, 1.0f), 0x40003f80u);
  EXPECT_EQ(result<unsigned>("cvt.rn.relu.bf16x2.f32 %0, %1, %2;", -2.0f, 1.0f), 0x00003f80u);
  EXPECT_EQ(result<unsigned>("cvt.rna.tf32.f32 %0, %1;", std::bit_cast<float>(0x3f801000u)), 0x3f802000u);
}

// ---- registers, predicates, choices ---------------------------------------------------------------------------------
TEST(LabPtx, ComparisonsAndPredicates) {
  for (const float a : {1.0f, 2.0f, NAN})
    for (const float b : {1.0f, 2.0f}) {
      EXPECT_EQ(result<int>("{ .reg .pred p; setp.lt.f32 p, %1, %2; selp.b32 %0, 1, 0, p; }", a, b), a < b);
      EXPECT_EQ(result<int>("{ .reg .pred p; setp.geu.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }", a, b), !(a < b));
    }
  EXPECT_EQ(result<int>("{\n\t.reg .pred %p<3>;\n\tsetp.ne.u32 %p1, %1, 0; // not zero\n\t"
                        "setp.gt.and.s32 %p2|%p0, %1, 5, %p1;\n\tmov.u32 %0, 0;\n\t@%p1 add.u32 %0, %0, 1;\n\t"
                        "@%p2 add.u32 %0, %0, 10;\n\t@!%p0 add.u32 %0, %0, 100;\n\t}",
                        7),
            111);
  EXPECT_EQ(result<int>(
                "{ .reg .pred p, q; setp.eq.s32 p, %1, 1; not.pred q, p; xor.pred p, p, q; selp.b32 %0, 3, 4, p; }", 1),
            3);
  EXPECT_EQ(result<unsigned>("set.lt.u32.f32 %0, %1, %2;", 1.0f, 2.0f), 0xffffffffu);
  EXPECT_EQ(result<int>("slct.s32.s32 %0, %1, %2, %3;", 1, 2, -1), 2);
  EXPECT_EQ(result<float>("{ .reg .pred p; setp.hi.u32 p, %1, 3; selp.f32 %0, 1.5, 2.5, p; }", 4u), 1.5f);
}

TEST(LabPtx, RegistersAreTheStatementsOwn) {
  EXPECT_EQ(result<unsigned>("{ .reg .b32 t<2>; .reg .u64 %%wide; mul.wide.u32 %%wide, %1, 4; cvt.u32.u64 t1, %%wide;\n"
                             "  { .reg .b32 t1; mov.b32 t1, 99; }  /* another t1 */ mov.b32 %0, t1; }",
                             5u),
            20u);
  unsigned low = 0, high = 0;
  ptx(site("mov.b64 {%0, %1}, %2;"), written("=r", low), written("=r", high), given("l", 0x123456789abcdef0ull));
  EXPECT_EQ(low, 0x9abcdef0u);
  EXPECT_EQ(high, 0x12345678u);
  EXPECT_EQ(result<unsigned long long>("mov.b64 %0, {%1, %2};", 1u, 2u), 0x200000001ull);
  EXPECT_EQ(result<unsigned>("mov.b32 %0, {%1, %2};", static_cast<unsigned short>(1), static_cast<unsigned short>(2)),
            0x20001u);
  EXPECT_EQ(result<unsigned>("mov.b32 %0, 0x1F;"), 31u);
  EXPECT_EQ(result<int>("mov.s32 %0, -7;"), -7);
  EXPECT_EQ(result<float>("mov.f32 %0, 0f3F800000;"), 1.0f);
  EXPECT_EQ(result<unsigned>("mov.b32 %0, %1;", 1.0f), 0x3f800000u);
}

TEST(LabPtx, OperandsMayBeReadAndWrittenAndHaveNames) {
  unsigned x = 5, y = 0;
  ptx(site("add.u32 %0, %0, %1;"), written("+r", x), given("n", 3));
  EXPECT_EQ(x, 8u);
  ptx(site("sub.u32 %[to], %[a], %[b];"), written("=r", y, "to"), given("r", 10u, "a"), given("r", 4u, "b"));
  EXPECT_EQ(y, 6u);
  ptx(site("add.u32 %0, %0, 1;"), written("=r", y), given("0", 41u));
  EXPECT_EQ(y, 42u);
  ptx(site(""));
  for (const bool exchanged : {false, true}) {  // one literal, two orders of names
    const PtxSite same_literal = site("sub.u32 %[c], %[a], %[b];");
    ptx(same_literal, written("=r", y, "c"), given("r", 10u, exchanged ? "b" : "a"),
        given("r", 4u, exchanged ? "a" : "b"));
    EXPECT_EQ(static_cast<int>(y), exchanged ? -6 : 6);
  }
}

TEST(LabPtx, SpecialRegisters) {
  std::vector<unsigned> seen(2 * 96 * 6);
  unsigned* const to = seen.data();
  ASSERT_RUNS(run({.grid = dim3(2), .block = dim3(32, 3)}, [=] {
    unsigned* mine = to + (blockIdx.x * 96 + threadIdx.y * 32 + threadIdx.x) * 6;
    ptx(site("mov.u32 %0, %%laneid;"), written("=r", mine[0]));
    ptx(site("mov.u32 %0, %%warpid; mov.u32 %1, %%ctaid.x;"), written("=r", mine[1]), written("=r", mine[2]));
    ptx(site("mov.u32 %0, %tid.y;\nmad.lo.u32 %0, %0, %ntid.x, %tid.x;"), written("=r", mine[3]));
    ptx(site("mov.u32 %0, %%lanemask_lt; mov.u32 %1, %%lanemask_ge;"), written("=r", mine[4]), written("=r", mine[5]));
    unsigned long long before, after;
    ptx(site("mov.u64 %0, %%clock64; mov.u64 %1, %%globaltimer;"), written("=l", before), written("=l", after));
    if (after < before) throw std::runtime_error("time goes back");
  }));
  for (unsigned i = 0; i < 192; ++i) {
    const unsigned* mine = to + i * 6;
    EXPECT_EQ(mine[0], i % 32);
    EXPECT_EQ(mine[1], i % 96 / 32);
    EXPECT_EQ(mine[2], i / 96);
    EXPECT_EQ(mine[3], i % 96);
    EXPECT_EQ(mine[4], (1u << i % 32) - 1);
    EXPECT_EQ(mine[5], ~mine[4]);
  }
}

// ---- memory ---------------------------------------------------------------------------------------------------------
TEST(LabPtx, LoadsAndStores) {
  alignas(16) unsigned from[8] = {0x80018283, 2, 3, 4, 5, 6, 7, 8};
  alignas(16) unsigned to[8] = {};
  ASSERT_RUNS(run(one_block(1), [&] {
    unsigned a, b, c, d;
    ptx(site("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"), written("=r", a),
        written("=r", b), written("=r", c), written("=r", d), given("l", from + 4));
    ptx(site("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};"), given("l", to), given("r", d), given("r", c),
        given("r", b), given("r", a));
    int byte, half;
    ptx(site("ld.global.s8 %0, [%1];"), written("=r", byte), given("l", from));
    ptx(site("ld.global.ca.u16 %0, [%1 + 2];"), written("=r", half), given("l", from));
    ptx(site("st.v2.u32 [%0+16], {%1, %2};"), given("l", to), given("r", byte), given("r", half));
    ptx(site("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p st.global.u8 [%0 + %1], 7; @!p st.global.u8 [%0], 9; }"),
        given("l", to), given("n", 24), given("r", 1));
    ptx(site("prefetch.global.L2 [%0]; ld.volatile.global.f32 %1, [%0];"), given("l", from), written("=f", to[7]));
  }));
  const unsigned expected[] = {8, 7, 6, 5, 0xffffff83, 0x8001, 7, 0x80018283};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(to[i], expected[i]) << i;
}

TEST(LabPtx, SharedAddressesOf32Bits) {
  std::vector<int> out(64, -1);
  int* const to = out.data();
  ASSERT_RUNS(run({.grid = dim3(1), .block = dim3(64), .smem = 256}, [=] {
    __shared__ int fixed[64];
    int* const dynamic = simt::dynamic_shared<int>();
    const int i = static_cast<int>(threadIdx.x);
    const auto a = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(fixed));
    unsigned b;
    ptx(site("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }"), written("=r", b), given("l", dynamic));
    ptx(site("st.shared.s32 [%0], %1;"), given("r", a + 4 * i), given("r", i * 2));
    ptx(site("st.shared.s32 [%0], %1;"), given("r", b + 4 * i), given("r", i * 3));
    ptx(site("bar.sync 0;"));
    int x, y;
    ptx(site("ld.shared.s32 %0, [%1];"), written("=r", x), given("r", a + 4 * (63 - i)));
    ptx(site("ld.shared.s32 %0, [%1];"), written("=r", y), given("r", b + 4 * (63 - i)));
    int in_shared;
    ptx(site("{ .reg .pred p; isspacep.shared p, %1; selp.s32 %0, 1, 0, p; }"), written("=r", in_shared),
        given("l", fixed + i));
    if (!in_shared) throw std::runtime_error("a shared array is not in shared memory");
    if (dynamic[63 - i] != y) throw std::runtime_error("another place");
    to[i] = x + y;
  }));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(to[i], 5 * (63 - i));
}

TEST(LabPtx, Atomics) {
  int counter = 0, least = 100, flag = 0;
  float sum = 0;
  unsigned long long bits = 0;
  unsigned pair = 0;
  ASSERT_RUNS(run({.grid = dim3(4), .block = dim3(64)}, [&] {
    int old;
    ptx(site("atom.global.add.s32 %0, [%1], 1;"), written("=r", old), given("l", &counter));
    ptx(site("red.global.min.s32 [%0], %1;"), given("l", &least), given("r", old - 5));
    ptx(site("red.relaxed.gpu.global.add.f32 [%0], %1;"), given("l", &sum), given("f", 0.5f));
    ptx(site("atom.or.b64 %0, [%1], %2;"), written("=l", *std::make_unique<long long>()), given("l", &bits),
        given("l", 1ull << threadIdx.x));
    ptx(site("atom.global.add.noftz.f16x2 %0, [%1], %2;"), written("=r", old), given("l", &pair),
        given("r", 0x40003c00));
    ptx(site("atom.acq_rel.gpu.cas.b32 %0, [%1], 0, 1;"), written("=r", old), given("l", &flag));
    if (old == 0) ptx(site("atom.exch.b32 %0, [%1], 77;"), written("=r", old), given("l", &flag));
  }));
  EXPECT_EQ(counter, 256);
  EXPECT_EQ(least, -5);
  EXPECT_EQ(sum, 128.0f);
  EXPECT_EQ(bits, ~0ull);
  EXPECT_EQ(pair, 0x60005c00u);
  EXPECT_EQ(flag, 77);
}

TEST(LabPtx, AThreadThatWaitsLetsTheOthersRun) {
  int flag = 0, data = 0, seen = 0;
  ASSERT_RUNS(run(one_block(64), [&] {
    if (threadIdx.x == 0) {
      int there = 0;
      while (!there) ptx(site("ld.acquire.gpu.global.s32 %0, [%1];"), written("=r", there), given("l", &flag));
      ptx(site("ld.relaxed.gpu.global.s32 %0, [%1];"), written("=r", seen), given("l", &data));
    }
    if (threadIdx.x == 63) {
      ptx(site("st.relaxed.gpu.global.s32 [%0], 5; fence.acq_rel.gpu;"), given("l", &data));
      ptx(site("st.release.gpu.global.s32 [%0], 1; membar.gl;"), given("l", &flag));
    }
  }));
  EXPECT_EQ(seen, 5);
}

TEST(LabPtx, AsynchronousCopies) {
  alignas(16) float from[64 * 4];
  for (int i = 0; i < 256; ++i) from[i] = static_cast<float>(i);
  std::vector<float> out(256, -1);
  float* const to = out.data();
  const float* const source = from;
  ASSERT_RUNS(run(one_block(64), [=] {
    alignas(16) __shared__ float tile[256];
    const unsigned i = threadIdx.x;
    tile[4 * i] = -2;
    const auto at = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(tile + 4 * i));
    ptx(site("cp.async.cg.shared.global.L2::128B [%0], [%1], %2, %3;"), given("r", at), given("l", source + 4 * i),
        given("n", 16), given("r", i < 60 ? 16 : 4));
    ptx(site("cp.async.commit_group;"));
    ptx(site("cp.async.wait_group %0;"), given("n", 1));
    if (tile[4 * i] != -2) throw std::runtime_error("a copy that nobody waited for was done");
    ptx(site("cp.async.wait_group 0;"));
    __syncthreads();
    const unsigned other = 63 - i;
    for (unsigned k = 0; k < 4; ++k) to[4 * other + k] = tile[4 * other + k];
    __syncthreads();
    ptx(site("cp.async.ca.shared.global [%0], [%1], 4;\n\tcp.async.wait_all;\n"), given("r", at), given("l", source));
    if (tile[4 * i] != 0) throw std::runtime_error("wait_all");
  }));
  for (int i = 0; i < 256; ++i) EXPECT_EQ(to[i], i < 240 || i % 4 == 0 ? from[i] : 0) << i;
}

// ---- warps and blocks -----------------------------------------------------------------------------------------------
TEST(LabPtx, ShufflesVotesAndReductions) {
  ASSERT_RUNS(run(one_block(64), [] {
    const auto expect = [](unsigned got, unsigned wanted, const char* what) {
      if (got != wanted) throw std::runtime_error(std::string(what) + ": " + std::to_string(got));
    };
    const unsigned lane = threadIdx.x % 32, mine = lane * lane;
    unsigned x, p, y;
    ptx(site("shfl.sync.bfly.b32 %0, %1, 3, 0x1f, 0xffffffff;"), written("=r", x), given("r", mine));
    expect(x, __shfl_xor_sync(~0u, mine, 3), "bfly");
    ptx(site("{ .reg .pred p; shfl.sync.down.b32 %0|p, %2, 5, %3, -1; selp.u32 %1, 1, 0, p; }"), written("=r", x),
        written("=r", p), given("r", mine), given("n", (32 - 8) << 8 | 31));
    expect(x, __shfl_down_sync(~0u, mine, 5, 8), "down");
    expect(p, lane % 8 + 5 < 8, "down's predicate");
    ptx(site("shfl.sync.up.b32 %0, %1, 2, 0, 0xffffffff;"), written("=r", x), given("r", mine));
    expect(x, __shfl_up_sync(~0u, mine, 2), "up");
    ptx(site("shfl.sync.idx.b32 %0, %1, %2, 0x181f, 0xffffffff;"), written("=r", x), given("r", mine), given("r", 9));
    expect(x, __shfl_sync(~0u, mine, 9, 8), "idx");
    ptx(site("{ .reg .pred p; setp.lt.u32 p, %1, 7; vote.sync.ballot.b32 %0, p, 0xffffffff; }"), written("=r", x),
        given("r", lane));
    expect(x, 0x7f, "ballot");
    ptx(site("{ .reg .pred p, q; setp.lt.u32 p, %2, 7; vote.sync.any.pred q, !p, -1; selp.u32 %0, 1, 0, q; "
             "vote.sync.all.pred q, p, -1; selp.u32 %1, 1, 0, q; }"),
        written("=r", x), written("=r", y), given("r", lane));
    expect(x * 2 + y, 2, "any and all");
    ptx(site("redux.sync.add.u32 %0, %1, 0xffffffff; redux.sync.max.s32 %2, %3, 0xffffffff;"), written("=r", x),
        given("r", lane), written("=r", y), given("r", static_cast<int>(lane) - 40));
    expect(x, 496, "redux.add");
    expect(y, static_cast<unsigned>(-9), "redux.max");
    ptx(site("match.any.sync.b32 %0, %1, 0xffffffff; activemask.b32 %2;"), written("=r", x), given("r", lane % 4),
        written("=r", y));
    expect(x, 0x11111111u << lane % 4, "match");
    expect(y, ~0u, "activemask");
  }));
}

TEST(LabPtx, BarriersOfAPartOfTheBlock) {
  std::vector<int> order(256, -1);
  int* const to = order.data();
  ASSERT_RUNS(run(one_block(128), [=] {
    __shared__ int stage;
    if (threadIdx.x == 0) stage = 0;
    ptx(site("barrier.sync.aligned 0, 128;"));
    if (threadIdx.x < 64) {  // a producer, and two warps that wait for it
      if (threadIdx.x == 5) stage = 1;
      ptx(site("bar.sync 1, 64;"));
      to[threadIdx.x] = stage;
      ptx(site("bar.arrive %0, %1;"), given("n", 2), given("r", 128));
    } else {
      ptx(site("bar.sync 2, 128;"));
      to[threadIdx.x] = stage;
    }
    unsigned count;
    ptx(site("{ .reg .pred p; setp.lt.u32 p, %1, 100; bar.red.popc.u32 %0, 0, p; }"), written("=r", count),
        given("r", threadIdx.x));
    to[128 + threadIdx.x] = static_cast<int>(count);
  }));
  for (int i = 0; i < 128; ++i) {
    EXPECT_EQ(to[i], 1) << i;
    EXPECT_EQ(to[128 + i], 100) << i;
  }
}

// ---- matrices -------------------------------------------------------------------------------------------------------
TEST(LabPtx, MatricesFromAndToSharedMemory) {
  ASSERT_RUNS(run(one_block(64), [] {
    alignas(16) __shared__ unsigned short all[2][4][8][8];
    auto& matrix = all[threadIdx.x / 32];
    const unsigned lane = threadIdx.x % 32, g = lane / 4, q = lane % 4;
    const auto address = [](const void* p) { return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(p)); };
    const auto value = [](unsigned m, unsigned r, unsigned c) { return m * 64 + r * 8 + c; };
    const auto expect = [&](unsigned got, unsigned m, bool transposed, const char* what) {
      const unsigned low = transposed ? value(m, 2 * q, g) : value(m, g, 2 * q);
      const unsigned high = transposed ? value(m, 2 * q + 1, g) : value(m, g, 2 * q + 1);
      if (got != (high << 16 | low)) throw std::runtime_error(what);
    };
    for (unsigned c = 0; c < 8; ++c)
      matrix[lane / 8][lane % 8][c] = static_cast<unsigned short>(value(lane / 8, lane % 8, c));
    __syncwarp();
    unsigned r[4], t[4], u;
    const unsigned row = address(matrix[lane / 8][lane % 8]);
    ptx(site("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"), written("=r", r[0]), written("=r", r[1]),
        written("=r", r[2]), written("=r", r[3]), given("r", row));
    ptx(site("ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%0, %1}, [%2];"), written("=r", t[0]),
        written("=r", t[1]), given("r", row));
    ptx(site("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"), written("=r", u), given("r", row));
    for (unsigned m = 0; m < 4; ++m) expect(r[m], m, false, "x4");
    for (unsigned m = 0; m < 2; ++m) expect(t[m], m, true, "x2.trans");
    expect(u, 0, false, "x1");
    ptx(site("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"), written("=r", u), given("r", r[3]));
    expect(u, 3, true, "movmatrix");
    __syncwarp();
    // Back, transposed: then a transposing load gives what there was.
    ptx(site("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};"), given("r", row), given("r", r[0]),
        given("r", r[1]), given("r", r[2]), given("r", r[3]));
    __syncwarp();
    ptx(site("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"), written("=r", t[0]),
        written("=r", t[1]), written("=r", t[2]), written("=r", t[3]), given("r", row));
    for (unsigned m = 0; m < 4; ++m) expect(t[m], m, false, "stmatrix.trans");
  }));
}

// A product of small integers in one of the types, against double. The layout is written down from PTX's own tables.
struct Product {
  int rows, k, bits;           // of an element
  unsigned (*encode)(double);  // to its bits
  void (*multiply)(unsigned* d, const unsigned* a, const unsigned* b, const unsigned* c);
  double (*sum)(const unsigned* d, int i);  // the i-th of a lane's sums
  void (*start)(unsigned* c, int i, double);
};

double small(int i) { return i * 7 % 11 % 5 - 2; }

void check(const Product& p) {
  ASSERT_RUNS(run(one_block(32), [&p] {
    const int lane = static_cast<int>(threadIdx.x), g = lane / 4, q = lane % 4, each = 32 / p.bits;
    const int blocks = p.rows / 8, deep = p.k / (4 * each);
    const auto a_at = [](int row, int k) { return small(row * 5 + k * 3); };
    const auto b_at = [](int k, int col) { return small(k * 13 + col); };
    const auto c_at = [](int row, int col) { return small(row + col * 3) * 3; };
    unsigned a[4] = {}, b[2] = {}, c[4] = {}, d[4] = {};
    const unsigned mask = p.bits == 32 ? ~0u : (1u << p.bits) - 1;
    for (int e = 0; e < each; ++e)
      for (int depth = 0; depth < deep; ++depth) {
        const int k = depth * 4 * each + q * each + e;
        for (int block = 0; block < blocks; ++block)
          a[depth * blocks + block] |= (p.encode(a_at(g + 8 * block, k)) & mask) << p.bits % 32 * e;
        b[depth] |= (p.encode(b_at(k, g)) & mask) << p.bits % 32 * e;
      }
    for (int i = 0; i < 2 * blocks; ++i) p.start(c, i, c_at(g + i / 2 * 8, 2 * q + i % 2));
    p.multiply(d, a, b, c);
    for (int i = 0; i < 2 * blocks; ++i) {
      const int row = g + i / 2 * 8, col = 2 * q + i % 2;
      double wanted = c_at(row, col);
      for (int k = 0; k < p.k; ++k) wanted += a_at(row, k) * b_at(k, col);
      if (p.sum(d, i) != wanted)
        throw std::runtime_error("row " + std::to_string(row) + ", column " + std::to_string(col) + ": " +
                                 std::to_string(p.sum(d, i)) + ", and not " + std::to_string(wanted));
    }
  }));
}

unsigned half_of(double x) { return __half(x).bits; }
unsigned brain_of(double x) { return __nv_bfloat16(x).bits; }
unsigned float_of(double x) { return std::bit_cast<unsigned>(static_cast<float>(x)); }
unsigned integer_of(double x) { return static_cast<unsigned>(static_cast<int>(x)); }
double float_sum(const unsigned* d, int i) { return std::bit_cast<float>(d[i]); }
double half_sum(const unsigned* d, int i) {
  return static_cast<float>(__half::of_bits(static_cast<unsigned short>(d[i / 2] >> 16 * (i % 2))));
}
double integer_sum(const unsigned* d, int i) { return static_cast<int>(d[i]); }
void start_float(unsigned* c, int i, double x) { c[i] = float_of(x); }
void start_half(unsigned* c, int i, double x) { c[i / 2] |= half_of(x) << 16 * (i % 2); }
void start_integer(unsigned* c, int i, double x) { c[i] = integer_of(x); }

// The statement of a product of 16 rows, with four registers of a, two of b; the other shapes have fewer.
#define RIDGE_TEST_PRODUCT_4_2(name, sums)                                                                             \
  [](unsigned* d, const unsigned* a, const unsigned* b, const unsigned* c) {                                           \
    ptx(site(name " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"), written("=" sums, d[0]),              \
        written("=" sums, d[1]), written("=" sums, d[2]), written("=" sums, d[3]), given("r", a[0]), given("r", a[1]), \
        given("r", a[2]), given("r", a[3]), given("r", b[0]), given("r", b[1]), given("r", c[0]), given("r", c[1]),    \
        given("r", c[2]), given("r", c[3]));                                                                           \
  }
#define RIDGE_TEST_PRODUCT_2_1(name, sums)                                                                             \
  [](unsigned* d, const unsigned* a, const unsigned* b, const unsigned* c) {                                           \
    ptx(site(name " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"), written("=" sums, d[0]), written("=" sums, d[1]), \
        written("=" sums, d[2]), written("=" sums, d[3]), given("r", a[0]), given("r", a[1]), given("r", b[0]),        \
        given("r", c[0]), given("r", c[1]), given("r", c[2]), given("r", c[3]));                                       \
  }

TEST(LabPtx, ProductsOfMatrices) {
  check({16, 16, 16, half_of, RIDGE_TEST_PRODUCT_4_2("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "r"),
         float_sum, start_float});
  check({16, 8, 16, half_of, RIDGE_TEST_PRODUCT_2_1("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "r"), float_sum,
         start_float});
  check({16, 16, 16, brain_of, RIDGE_TEST_PRODUCT_4_2("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "r"),
         float_sum, start_float});
  check({16, 8, 32, float_of, RIDGE_TEST_PRODUCT_4_2("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "r"),
         float_sum, start_float});
  check({16, 4, 32, float_of, RIDGE_TEST_PRODUCT_2_1("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "r"),
         float_sum, start_float});
  check({16, 32, 8, integer_of, RIDGE_TEST_PRODUCT_4_2("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "r"),
         integer_sum, start_integer});
  check({16, 16, 8, integer_of,
         RIDGE_TEST_PRODUCT_2_1("mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.s8.s32", "r"), integer_sum,
         start_integer});
  check({16, 64, 4, integer_of, RIDGE_TEST_PRODUCT_4_2("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "r"),
         integer_sum, start_integer});
  check({16, 16, 16, half_of,
         [](unsigned* d, const unsigned* a, const unsigned* b, const unsigned* c) {
           ptx(site("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9};\n"),
               written("=r", d[0]), written("=r", d[1]), given("r", a[0]), given("r", a[1]), given("r", a[2]),
               given("r", a[3]), given("r", b[0]), given("r", b[1]), given("r", c[0]), given("r", c[1]));
         },
         half_sum, start_half});
  check({8, 16, 8, integer_of,
         [](unsigned* d, const unsigned* a, const unsigned* b, const unsigned* c) {
           ptx(site("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%4,%5};"),
               written("=r", d[0]), written("=r", d[1]), given("r", a[0]), given("r", b[0]), given("r", c[0]),
               given("r", c[1]));
         },
         integer_sum, start_integer});
}

TEST(LabPtx, ProductsAddToWhatTheirRegistersHave) {
  ASSERT_RUNS(run(one_block(32), [] {
    float sums[4] = {1, 2, 3, 4};
    const unsigned ones = 0x3c003c00;
    for (int times = 0; times < 3; ++times)
      ptx(site("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, "
               "{%0,%1,%2,%3};"),
          written("+f", sums[0]), written("+f", sums[1]), written("+f", sums[2]), written("+f", sums[3]),
          given("r", ones));
    for (int i = 0; i < 4; ++i)
      if (sums[i] != static_cast<float>(i + 1 + 48)) throw std::runtime_error(std::to_string(sums[i]));
    double d[2] = {1, 2};
    ptx(site("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"), written("+d", d[0]),
        written("+d", d[1]), given("d", 0.5 + threadIdx.x % 4), given("d", 2.0));
    if (d[0] != 17 || d[1] != 18) throw std::runtime_error("doubles");
  }));
}

// ---- what ends the kernel -------------------------------------------------------------------------------------------
TEST(LabPtx, WhatIsNotEmulatedIsNamed) {
  const std::string begin = "PTX is not emulated: ";
  const auto expect = [&](const char* instructions, const std::string& sentence) {
    EXPECT_NE(refusal(instructions).find(begin + sentence), std::string::npos) << refusal(instructions);
  };
  expect("add.u32 %0, %0, 1;\nwgmma.fence.sync.aligned;", "\"wgmma.fence.sync.aligned\" at a.cu:12");
  expect("mov.u32   %0,\n  %%envreg1;", "\"mov.u32 %0, %%envreg1\" at a.cu:12: a name that it does not declare");
  expect("add.bf8 %0, %0, 1;", "\"add.bf8 %0, %0, 1\" at a.cu:12");
  expect("add.u32 %0, %7, 1;", "\"add.u32 %0, %7, 1\" at a.cu:12: an operand that the statement does not have");
  expect("loop: add.u32 %0, %0, 1;", "\"loop: add.u32 %0, %0, 1\" at a.cu:12: a label");
  expect("{ .reg .pred p; setp.eq.u32 p, %0, 0; @p bra DONE; DONE: }", "\"@p bra DONE\" at a.cu:12: a branch");
  expect("exit;", "\"exit\" at a.cu:12: it ends the thread");
  expect("shfl.up.b32 %0, %0, 1, 0;", "\"shfl.up.b32 %0, %0, 1, 0\" at a.cu:12: removed for compute capability 7.0");
  EXPECT_NE(refusal("trap;").find("PTX: trap at a.cu:12"), std::string::npos);
  EXPECT_NE(refusal("bar.sync 1, 48;").find("no multiple of 32"), std::string::npos);
}

TEST(LabPtx, AddressesAreChecked) {
  alignas(16) unsigned x[8] = {};
  const auto loaded = [&](std::uintptr_t at) {
    return text(run(one_block(1), [=] {
      unsigned a, b;
      ptx(site("ld.global.v2.u32 {%0, %1}, [%2];"), written("=r", a), written("=r", b), given("l", at));
    }));
  };
  EXPECT_EQ(loaded(reinterpret_cast<std::uintptr_t>(x)), text(Status()));
  EXPECT_NE(loaded(reinterpret_cast<std::uintptr_t>(x + 1)).find("is not a multiple of 8"), std::string::npos);
  const std::string nowhere = text(run(one_block(1), [] {
    unsigned a;
    ptx(site("ld.shared.u32 %0, [%1];"), written("=r", a), given("r", 16));
  }));
  EXPECT_NE(nowhere.find("is no address of shared memory"), std::string::npos) << nowhere;
}

}  // namespace
}  // namespace simt_test
