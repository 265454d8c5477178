#include <ridge/attention/attention.hpp>
#include <ridge/attention/variants.hpp>
#include <ridge/check/gtest_cases.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace ridge {
namespace {

using attention_detail::variants;

const check::TestCasesOf cases{"attention"};

std::string chosen(const AttentionProblem& p, const char* device = "H200") {
  auto plan = plan_attention(p, *device_model(device));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}
std::string refusal(const AttentionProblem& p, const PlanOptions& options = {}) {
  return std::string(plan_attention(p, *device_model("H200"), options).error().message());
}

TEST(AttentionPlan, TakesTheRowWithRoomForTheHead) {
  EXPECT_EQ(chosen({.b = 4, .hq = 16, .hkv = 16, .sq = 2048, .sk = 2048, .d = 64}), "register_64");
  EXPECT_EQ(chosen({.b = 4, .hq = 16, .hkv = 16, .sq = 2048, .sk = 2048, .d = 96}), "register_128");
  EXPECT_EQ(chosen({.b = 4, .hq = 16, .hkv = 16, .sq = 2048, .sk = 2048, .d = 192, .dv = 128}), "register_256");
  EXPECT_EQ(chosen({.b = 4, .hq = 16, .hkv = 16, .sq = 2048, .sk = 2048, .d = 64, .dtype = bf16}), "mma_64");
  EXPECT_EQ(chosen({.b = 4, .hq = 16, .hkv = 16, .sq = 2048, .sk = 2048, .d = 100, .dtype = f16}), "mma_128");
  EXPECT_EQ(chosen({.b = 4, .hq = 16, .hkv = 16, .sq = 2048, .sk = 2048, .d = 256, .dtype = f16}), "mma_256");
}

TEST(AttentionPlan, AnOlderDeviceHasNoTensorCoresThatItCouldUse) {
  EXPECT_EQ(chosen({.b = 4, .hq = 16, .hkv = 16, .sq = 2048, .sk = 2048, .d = 64, .dtype = f16}, "V100"), "tiled");
}

TEST(AttentionPlan, RefusalsSayWhy) {
  EXPECT_EQ(refusal({.hq = 33, .hkv = 2, .sq = 8, .sk = 8, .d = 64}),
            "attention: hq is 33; it must be a multiple of hkv, the heads of k and v, 2");
  EXPECT_EQ(refusal({.sq = 8, .sk = 8, .d = 257}), "attention: d is 257; it must be 1 to 256");
  EXPECT_EQ(refusal({.sq = 8, .sk = 8, .d = 8, .dtype = f64}),
            "attention: q.dtype is f64; it must be one of f32 f16 bf16");
  EXPECT_EQ(refusal({.sq = 8, .sk = 8, .d = 8, .rule = {.softcap = -1}}),
            "attention: softcap is -1; it must be above 0, or 0 for none");
  EXPECT_EQ(refusal({.sq = 8, .sk = 8, .d = 65}, {.variant = "register_64"}),
            "attention: variant is register_64; it must be another one here: d is 65, and it has room for 64");
  EXPECT_EQ(refusal({.sq = 1 << 30, .sk = 8, .d = 8}), "attention: sq is 1073741824; it must be less than 2^30");
}

TEST(AttentionPlan, CountsWhatMasksLeave) {
  const AttentionProblem full{.sq = 100, .sk = 100, .d = 64};
  const auto operations = [&](AttentionRule rule, std::int64_t sk = 100) {
    AttentionProblem p = full;
    p.rule = rule;
    p.sk = sk;
    return plan_attention(p, *device_model("H200"))->explain().cost.on(Unit::special);
  };
  EXPECT_EQ(operations({}), 10000);
  EXPECT_EQ(operations(causal_rule), 5050);
  EXPECT_EQ(operations({.left = 2, .right = 1}), 2 + 3 + 97 * 4 + 3);
  EXPECT_EQ(operations({.align = AttentionAlign::lower_right, .right = 0}, 150), 5050 + 100 * 50);
  EXPECT_EQ(operations({.align = AttentionAlign::lower_right, .right = 0}, 50), 50 * 51 / 2);
}

struct Small {  // one head of 2 queries, 3 keys, 2 columns
  std::vector<float> q = {1, 0, 0, 1}, k = {1, 0, 0, 1, 1, 1}, v = {1, 2, 3, 4, 5, 6}, o = std::vector<float>(4),
                     lse = std::vector<float>(2);
  TensorView Q = view(q.data(), {1, 1, 2, 2}), K = view(k.data(), {1, 1, 3, 2}), V = view(v.data(), {1, 1, 3, 2}),
             O = view(o.data(), {1, 1, 2, 2}), L = view(lse.data(), {1, 1, 2});
};

TEST(Attention, OneLine) {
  Small s;
  attention({.q = s.Q, .k = s.K, .v = s.V, .o = s.O, .lse = s.L}, {.scale = 0});  // all keys weigh alike
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(s.o[2 * i], 3, 1e-6);
    EXPECT_NEAR(s.o[2 * i + 1], 4, 1e-6);
    EXPECT_NEAR(s.lse[i], std::log(3.0), 1e-6);
  }
  attention({.q = s.Q, .k = s.K, .v = s.V, .o = s.O}, causal_rule);
  EXPECT_EQ(s.o[0], 1);  // the first query sees the first key alone
  EXPECT_EQ(s.o[1], 2);
}

TEST(Attention, RefusesWhatDoesNotFitTogether) {
  Small s;
  const auto why = [](const AttentionTensors& t) { return std::string(AttentionProblem::of(t).error().message()); };
  EXPECT_EQ(why({.q = s.Q, .k = s.K, .v = s.K, .o = s.V}), "attention: o.shape is 1x1x3x2; it must be of rows 2");
  EXPECT_EQ(why({.q = s.Q, .k = s.K, .v = s.Q, .o = s.O}), "attention: v.shape is 1x1x2x2; it must be of rows 3");
  EXPECT_EQ(why({.q = s.Q, .k = s.K, .v = s.V, .o = s.Q}), "attention: o is overlapping q; it must be apart from it");
  EXPECT_EQ(why({.q = s.L, .k = s.K, .v = s.V, .o = s.O}),
            "attention: q.shape is 1x1x2; it must be of 4 axes: batch, heads, rows and columns");
  std::vector<float> more(6);
  EXPECT_EQ(why({.q = s.Q, .k = s.K, .v = s.V, .o = s.O, .mask = view(more.data(), {2, 2})}),
            "attention: mask.shape is 2x2; it must be such that it stretches to 1x1x2x3");
}

TEST(Attention, APlanRunsWhatItWasMadeFor) {
  Small s;
  const auto problem = AttentionProblem::of({.q = s.Q, .k = s.K, .v = s.V, .o = s.O});
  const auto plan = plan_attention(*problem, cpu());
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->run({.q = s.Q, .k = s.K, .v = s.V, .o = s.O}).ok());
  EXPECT_EQ(plan->run({.q = s.Q, .k = s.Q, .v = s.Q, .o = s.O}).code(), Code::invalid_argument);
  EXPECT_EQ(plan->run({.q = s.Q, .k = s.K, .v = s.V, .o = s.O, .lse = s.L}).code(), Code::invalid_argument);
  const auto packed = plan_attention({.sq = 2, .sk = 3, .d = 2}, cpu());  // by hand, without views
  ASSERT_TRUE(packed.ok()) << packed.error().message();
  EXPECT_TRUE(packed->run({.q = s.Q, .k = s.K, .v = s.V, .o = s.O}).ok());
}

// Inputs of up to 10: scores of some hundreds, where a rounded product or exponent would show. Every portable row.
TEST(Attention, Float32StaysFloat32) {
  const std::int64_t sq = 5, sk = 2048, d = 64;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-10, 10);
  std::vector<float> q(sq * d), k(sk * d), v(sk * d), o(sq * d);
  for (auto* x : {&q, &k, &v})
    for (float& value : *x) value = uniform(random);
  for (const auto& row : variants) {
    if (!row.f32) continue;
    const AttentionTensors t{.q = view(q.data(), {1, 1, sq, d}),
                             .k = view(k.data(), {1, 1, sk, d}),
                             .v = view(v.data(), {1, 1, sk, d}),
                             .o = view(o.data(), {1, 1, sq, d})};
    auto plan = plan_attention(*AttentionProblem::of(t), cpu(), {.variant = std::string(row.name)});
    ASSERT_TRUE(plan.ok()) << plan.error().message();
    ASSERT_TRUE(plan->run(t).ok());
    for (std::int64_t i = 0; i < sq; ++i) {
      std::vector<double> weights(sk);
      double greatest = -INFINITY, sum = 0;
      for (std::int64_t j = 0; j < sk; ++j) {
        for (std::int64_t c = 0; c < d; ++c) weights[j] += double{q[i * d + c]} * k[j * d + c] / 8;
        greatest = std::max(greatest, weights[j]);
      }
      for (double& w : weights) sum += w = std::exp(w - greatest);
      for (std::int64_t c = 0; c < d; ++c) {
        double want = 0;
        for (std::int64_t j = 0; j < sk; ++j) want += weights[j] / sum * v[j * d + c];
        EXPECT_NEAR(o[i * d + c], want, 5e-5 + 5e-4 * std::fabs(want)) << row.name;
      }
    }
  }
}

}  // namespace
}  // namespace ridge
