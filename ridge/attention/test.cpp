#include <ridge/attention/attention.hpp>
#include <ridge/attention/merge.hpp>
#include <ridge/attention/variants.hpp>
#include <ridge/check/gtest_cases.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace ridge {
namespace {

using attention_detail::variants;
using attention_kernels::Algorithm;
using attention_kernels::Config;

// Rows of the forward pass for every device, and the CPU.
bool runs_everywhere(const Config& c) {
  return c.algorithm == Algorithm::naive || c.algorithm == Algorithm::tiled || c.algorithm == Algorithm::register_tile;
}

const check::TestCasesOf cases{"attention", "attention_merge"};

std::string chosen(const AttentionProblem& p, const char* device = "H200") {
  auto plan = plan_attention(p, *device_model(device));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}
std::string refusal(const AttentionProblem& p, const PlanOptions& options = {}) {
  return std::string(plan_attention(p, *device_model("H200"), options).error().message());
}

TEST(AttentionPlan, TakesTheRowWithRoomForTheHead) {
  EXPECT_EQ(chosen({.b = 4, .hq = 16, .hkv = 16, .sq = 2048, .sk = 2048, .d = 64}), "register_64_square");
  EXPECT_EQ(chosen({.b = 4, .hq = 16, .hkv = 16, .sq = 2048, .sk = 2048, .d = 96}), "register_128");
  EXPECT_EQ(chosen({.b = 4, .hq = 16, .hkv = 16, .sq = 2048, .sk = 2048, .d = 192, .dv = 128}), "register_256");
  EXPECT_EQ(chosen({.b = 4, .hq = 32, .hkv = 32, .sq = 4096, .sk = 4096, .d = 64, .dtype = bf16}), "wgmma_64");
  EXPECT_EQ(chosen({.b = 4, .hq = 32, .hkv = 32, .sq = 4096, .sk = 4096, .d = 64, .dtype = bf16, .rule = {.right = 0}}),
            "wgmma_64_short");
  EXPECT_EQ(chosen({.b = 16, .hq = 32, .hkv = 32, .sq = 1024, .sk = 1024, .d = 64, .dtype = bf16}), "wgmma_64_short");
  EXPECT_EQ(chosen({.b = 4, .hq = 16, .hkv = 16, .sq = 2048, .sk = 2048, .d = 100, .dtype = f16}), "mma_128");
  EXPECT_EQ(chosen({.b = 4, .hq = 16, .hkv = 16, .sq = 2048, .sk = 2048, .d = 256, .dtype = f16}), "wgmma_256");
}

// A window has two edges, and at each of them the row with shorter tiles of keys wastes less (attention_windows.json).
TEST(AttentionPlan, NarrowWindowsTakeShortTilesOfKeys) {
  const DeviceInfo hopper{.name = "of 132 multiprocessors",
                          .id = {DeviceKind::cuda, 0},
                          .cc = 90,
                          .sms = 132,
                          .smem_per_sm = 233472,
                          .smem_optin = 232448,
                          .l2_bytes = 50 << 20,
                          .clock_ghz = 1.98,
                          .memory_gbs = 4600,
                          .l2_gbs = 7000,
                          .fp32_tflops = 66.9,
                          .fp16_tflops = 989.4};
  AttentionProblem p{
      .b = 1, .hq = 32, .hkv = 32, .sq = 16384, .sk = 16384, .d = 64, .dtype = bf16, .rule = {.right = 0}};
  const auto row = [&](std::int64_t left) {
    p.rule.left = left;
    const auto plan = plan_attention(p, hopper);
    return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
  };
  for (const std::int64_t left : {255, 511, 1023, 1024}) EXPECT_EQ(row(left), "wgmma_64_short") << left;
  for (const std::int64_t left : {4095, 8191, -1}) EXPECT_EQ(row(left), "wgmma_64") << left;
  EXPECT_EQ(row(16383), row(-1));  // it excludes no key: there is no second edge
}

TEST(AttentionPlan, StepsOfTheLadderHaveOneType) {
  AttentionProblem p{.b = 4, .hq = 16, .hkv = 16, .sq = 4096, .sk = 4096, .d = 128, .dtype = bf16};
  EXPECT_EQ(chosen(p), "wgmma_128");
  for (const char* step : {"wgmma_alone_128", "wgmma_turns_128"}) {
    EXPECT_EQ(refusal(p, {.variant = step}), "ok");
    p.dtype = f16;
    EXPECT_EQ(refusal(p, {.variant = step}),
              "attention: variant is " + std::string(step) + "; it must be another one here: not instantiated for f16");
    p.dtype = bf16;
  }
}

TEST(AttentionPlan, NoPlanChoosesAStepOfTheLadder) {
  for (const auto& row : variants) {
    if (attention_kernels::is_step(row.config) || !row.config.transposed) {
      EXPECT_EQ(row.role, Role::lesson) << row.name;
    }
  }
}

TEST(AttentionPlan, AnOlderDeviceHasNoTensorCoresThatItCouldUse) {
  EXPECT_EQ(chosen({.b = 4, .hq = 16, .hkv = 16, .sq = 2048, .sk = 2048, .d = 64, .dtype = f16}, "V100"), "tiled");
}

TEST(AttentionPlan, FewQueriesShareOutTheKeys) {
  AttentionProblem p{.b = 1, .hq = 32, .hkv = 8, .sq = 1, .sk = 8192, .d = 128, .dtype = bf16};
  EXPECT_EQ(chosen(p), "decode_one_128");
  EXPECT_EQ(plan_attention(p, *device_model("H200"))->splits, 16);  // with 8 heads, for 132 multiprocessors
  EXPECT_EQ(chosen(p, "A100"), "split_128");
  p.sq = 2;
  EXPECT_EQ(chosen(p), "decode_128");
  p.sq = 1;
  p.b = 64;
  EXPECT_EQ(chosen(p), "decode_one_128");
  EXPECT_EQ(plan_attention(p, *device_model("H200"))->splits, 1);
  EXPECT_EQ(plan_attention(p, *device_model("H200"))->workspace_bytes(), 0);
  p.mask = AttentionMask::boolean;
  EXPECT_EQ(refusal(p, {.variant = "decode_128"}),
            "attention: variant is decode_128; it must be another one here: it takes no mask tensor");
}

TEST(AttentionPlan, OneQueryHasARowOfItsOwn) {
  const AttentionProblem p{.b = 1, .hq = 32, .hkv = 8, .sq = 1, .sk = 8192, .d = 128, .dtype = bf16};
  const auto why_not = [](const AttentionProblem& problem) {
    const std::string sentence = refusal(problem, {.variant = "decode_one_128"});
    const std::string begin = "attention: variant is decode_one_128; it must be another one here: ";
    return sentence.starts_with(begin) ? sentence.substr(begin.size()) : sentence;
  };
  const auto with = [&](auto change) {
    AttentionProblem other = p;
    change(other);
    return other;
  };
  EXPECT_EQ(why_not(with([](auto& x) { x.sq = 2; })), "it takes one query, and there are 2");
  EXPECT_EQ(why_not(with([](auto& x) { x.d = 100; })),
            "it takes columns of Q by 8 and of O by 4, and d is 100, dv 100");
  EXPECT_EQ(why_not(with([](auto& x) { x.sk = 0; })), "its query attends to no key");
  EXPECT_EQ(why_not(with([](auto& x) { x.rule.softcap = 1; })), "it takes no softcap");
  EXPECT_EQ(why_not(with([](auto& x) { x.rule.scale = 0; })), "the scale it takes is positive");
  EXPECT_EQ(why_not(with([](auto& x) { x.mask = AttentionMask::boolean; })), "it takes no mask tensor");
  // Chosen where it fits, except for keys of one head alone, which other rows split further.
  EXPECT_EQ(chosen(with([](auto& x) { x.sk = 65536; })), "decode_one_128");
  EXPECT_EQ(chosen(with([](auto& x) { x.b = 16; })), "decode_one_128");
  EXPECT_EQ(chosen(with([](auto& x) { x.sk = 100; })), "decode_one_128");
  EXPECT_EQ(chosen(with([](auto& x) { x.d = 64; })), "decode_one_64");
  EXPECT_EQ(chosen(with([](auto& x) { x.d = 64, x.sk = 65536, x.dtype = f16; })), "decode_one_64");
  EXPECT_EQ(chosen(with([](auto& x) { x.rule.softcap = 1; })), "decode_128");
  EXPECT_EQ(chosen(with([](auto& x) { x.hq = 72; })), "decode_128");
  EXPECT_EQ(chosen(with([](auto& x) { x.d = 96; })), "decode_one_128");
  EXPECT_EQ(chosen(with([](auto& x) { x.hq = 8, x.hkv = 1, x.sk = 16384; })), "decode_128");
  // Only a window's keys count: at most as many splits as have a tile for each warp, and no more than there is room
  // for.
  const auto parts = [](const AttentionProblem& problem) {
    return plan_attention(problem, *device_model("H200"), {.variant = "decode_one_128"})->splits;
  };
  EXPECT_EQ(parts(with([](auto& x) { x.rule.left = 1023, x.rule.align = AttentionAlign::lower_right; })), 8);
  EXPECT_EQ(parts(with([](auto& x) { x.rule.right = 0; })), 1);  // the first key
  EXPECT_LE(parts(with([](auto& x) { x.hq = x.hkv = 1, x.sk = 1 << 20; })), 45);
}

// Consecutive blocks of 16 rows are no match for tiles of 128 queries: measured 41 us, against 12.
TEST(AttentionPlan, WindowsOfManyQueriesAreNoDecoding) {
  for (const int d : {96, 128})
    for (const int heads : {4, 8, 16}) {
      AttentionProblem p{.b = 1, .hq = heads, .hkv = heads, .sq = 1024, .sk = 1024, .d = d, .dtype = bf16};
      p.rule = {.left = 255, .right = 0};
      EXPECT_TRUE(chosen(p).starts_with("wgmma_")) << chosen(p) << ": " << d << ", " << heads;
    }
  AttentionProblem few{.b = 1, .hq = 8, .hkv = 8, .sq = 128, .sk = 1024, .d = 128, .dtype = bf16};
  EXPECT_EQ(chosen(few), "decode_128");  // measured 13 us, against 17
}

TEST(AttentionPlan, TilesOfQueriesThatAreFewShareOutTheKeysToo) {
  AttentionProblem p{.b = 1, .hq = 12, .hkv = 3, .sq = 304, .sk = 2864, .d = 72, .dtype = f16};
  EXPECT_EQ(chosen(p), "wgmma_split_128");
  EXPECT_EQ(plan_attention(p, *device_model("H200"))->splits, 3);  // of 36 tiles, for 132 multiprocessors
  p.b = 8;
  EXPECT_EQ(chosen(p), "wgmma_96");
  AttentionProblem q{.b = 1, .hq = 12, .hkv = 12, .sq = 197, .sk = 197, .d = 128};
  EXPECT_EQ(chosen(q), "register_split_128");
  EXPECT_EQ(plan_attention(q, *device_model("H200"))->splits, 2);
}

TEST(AttentionPlan, FewQueriesOfFloat32ShareOutTheKeysToo) {
  AttentionProblem p{.b = 1, .hq = 32, .hkv = 8, .sq = 1, .sk = 8192, .d = 128};
  EXPECT_EQ(chosen(p), "tiled_split");
  EXPECT_EQ(plan_attention(p, *device_model("H200"))->splits, 64);
  p.lengths = p.block_table = AttentionIndices{};
  p.page = 16;
  p.pages = 600;
  EXPECT_EQ(chosen(p), "tiled_split");
}

TEST(AttentionPlan, RefusalsSayWhy) {
  EXPECT_EQ(refusal({.hq = 33, .hkv = 2, .sq = 8, .sk = 8, .d = 64}),
            "attention: hq is 33; it must be a multiple of hkv, the heads of k and v, 2");
  EXPECT_EQ(refusal({.sq = 8, .sk = 8, .d = 513}), "attention: d is 513; it must be from 1 to 512");
  EXPECT_EQ(refusal({.sq = 8, .sk = 8, .d = 8, .dtype = f64}),
            "attention: q.dtype is f64; it must be one of f32 f16 bf16");
  EXPECT_EQ(refusal({.sq = 8, .sk = 8, .d = 8, .rule = {.softcap = -1}}),
            "attention: softcap is -1; it must be above 0 and finite in float32, or 0 for none");
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
  attention({.q = s.Q, .k = s.K, .v = s.V, .o = s.O, .lse = s.L}, {.scale = 0});  // all keys have the same weight
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(s.o[2 * i], 3, 1e-6);
    EXPECT_NEAR(s.o[2 * i + 1], 4, 1e-6);
    EXPECT_NEAR(s.lse[i], std::log(3.0), 1e-6);
  }
  attention({.q = s.Q, .k = s.K, .v = s.V, .o = s.O}, causal_rule);
  EXPECT_EQ(s.o[0], 1);  // the first query sees only the first key
  EXPECT_EQ(s.o[1], 2);
}

TEST(Attention, RefusesWhatDoesNotFitTogether) {
  Small s;
  const auto why = [](const AttentionTensors& t) { return std::string(AttentionProblem::of(t).error().message()); };
  EXPECT_EQ(why({.q = s.Q, .k = s.K, .v = s.K, .o = s.V}), "attention: o.shape is 1x1x3x2; it must be of 2 rows");
  EXPECT_EQ(why({.q = s.Q, .k = s.K, .v = s.Q, .o = s.O}), "attention: v.shape is 1x1x2x2; it must be of 3 rows");
  EXPECT_EQ(why({.q = s.Q, .k = s.K, .v = s.V, .o = s.Q}), "attention: o is overlapping q; it must be apart from it");
  EXPECT_EQ(why({.q = s.L, .k = s.K, .v = s.V, .o = s.O}),
            "attention: q.shape is 1x1x2; it must be of 4 axes: batch, heads, rows and columns");
  std::vector<float> more(6);
  EXPECT_EQ(why({.q = s.Q, .k = s.K, .v = s.V, .o = s.O, .mask = view(more.data(), {2, 2})}),
            "attention: mask.shape is 2x2; it must be one that broadcasts to 1x1x2x3");
}

TEST(Attention, APlanRunsWhatItWasMadeFor) {
  Small s;
  const auto problem = AttentionProblem::of({.q = s.Q, .k = s.K, .v = s.V, .o = s.O});
  const auto plan = plan_attention(*problem, cpu());
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->run({.q = s.Q, .k = s.K, .v = s.V, .o = s.O}).ok());
  EXPECT_EQ(plan->run({.q = s.Q, .k = s.Q, .v = s.Q, .o = s.O}).code(), Code::invalid_argument);
  EXPECT_EQ(plan->run({.q = s.Q, .k = s.K, .v = s.V, .o = s.O, .lse = s.L}).code(), Code::invalid_argument);
  const auto packed = plan_attention({.sq = 2, .sk = 3, .d = 2}, cpu());  // written by hand, without views
  ASSERT_TRUE(packed.ok()) << packed.error().message();
  EXPECT_TRUE(packed->run({.q = s.Q, .k = s.K, .v = s.V, .o = s.O}).ok());
}

TEST(AttentionPlan, GradientsHaveRowsOfTheirOwn) {
  AttentionProblem p{.b = 4, .hq = 16, .hkv = 4, .sq = 2048, .sk = 2048, .d = 64, .backward = true};
  EXPECT_EQ(chosen(p), "gradient_64");
  p.dtype = bf16;
  EXPECT_EQ(chosen(p), "wgmma_gradient_64");
  EXPECT_EQ(chosen(p, "A100"), "mma_gradient_64");
  EXPECT_EQ(chosen(p, "V100"), "gradient_64");
  for (const std::int64_t d : {72, 80, 96}) {
    p.d = d;
    EXPECT_EQ(chosen(p), "wgmma_gradient_96");
  }
  p.d = 104;
  EXPECT_EQ(chosen(p), "wgmma_gradient_128");
  p.d = 65;
  EXPECT_EQ(chosen(p), "mma_gradient_128");
  EXPECT_EQ(chosen(p, "V100"), "naive");  // without tensor cores, wider rows are only for float32
  for (std::int64_t d : {136, 192, 256}) {
    p.d = d;
    EXPECT_EQ(chosen(p), "wgmma_gradient_256");
    EXPECT_EQ(chosen(p, "A100"), "mma_gradient_256");
  }
  p.d = 129;
  EXPECT_EQ(chosen(p), "mma_gradient_256");
  EXPECT_EQ(refusal(p, {.variant = "mma_64"}),
            "attention: variant is mma_64; it must be another one here: it has no gradient");
  p.backward = false;
  EXPECT_EQ(refusal(p, {.variant = "gradient_128"}),
            "attention: variant is gradient_128; it must be another one here: it computes gradients");
  EXPECT_EQ(refusal(p, {.variant = "wgmma_gradient_128"}),
            "attention: variant is wgmma_gradient_128; it must be another one here: it computes gradients");
}

TEST(AttentionPlan, GradientsOnHopperSayWhatTheyTake) {
  AttentionProblem p{.b = 2, .hq = 4, .hkv = 2, .sq = 300, .sk = 200, .d = 64, .dtype = bf16, .backward = true};
  const auto plan = plan_attention(p, *device_model("H200"), {.variant = "wgmma_gradient_64"});
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  // Three tiles of 128 queries of 8 heads: dQ in float32, three floats per query, a word per tile; and one more word.
  // dK and dV in float32, of each part of the 4 key heads: of a query head, or of some of its queries.
  EXPECT_EQ(plan->splits % 2, 0);
  const auto partial = [](const AttentionPlan& of, std::size_t columns) {
    return 4 * static_cast<std::size_t>(of.splits) * 200 * columns * 4;
  };
  EXPECT_EQ(plan->workspace_bytes(), 3u * 8 * (128 * 64 * 4 + 128 * 12 + 4) + 4 + partial(*plan, 64 + 64));
  AttentionProblem wide = p;
  wide.d = 200;
  const auto widest = plan_attention(wide, *device_model("H200"));
  ASSERT_TRUE(widest.ok()) << widest.error().message();
  EXPECT_EQ(widest->workspace_bytes(), 5u * 8 * (64 * 256 * 4 + 64 * 12 + 2 * 4) + 4 + partial(*widest, 256 + 256));
  const auto why = [&](AttentionProblem of, const char* device = "H200") {
    const auto refused = plan_attention(of, *device_model(device), {.variant = "wgmma_gradient_64"});
    return std::string(refused.error().message());
  };
  const std::string not_here = "attention: variant is wgmma_gradient_64; it must be another one here: ";
  AttentionProblem odd = p, masked = p;
  odd.dv = 36;
  masked.mask = AttentionMask::boolean;
  EXPECT_EQ(why(odd), not_here + "TMA stores rows whose bytes are a multiple of 16, and d is 64, dv 36");
  EXPECT_EQ(why(masked), not_here + "it takes no mask tensor");
  EXPECT_NE(why(p, "A100").find("compute capability 9.0"), std::string::npos);
  p.rule.nondeterministic = true;
  EXPECT_NE(p.text().find("backward in any order"), std::string::npos);
}

TEST(AttentionPlan, GradientsOfShortSequencesTakeOneKernel) {
  AttentionProblem p{.b = 46, .hq = 32, .hkv = 32, .sq = 29, .sk = 77, .d = 64, .dtype = f16, .backward = true};
  EXPECT_EQ(chosen(p), "short_gradient_64");
  EXPECT_EQ(chosen(p, "A100"), "short_gradient_64");
  EXPECT_EQ(plan_attention(p, *device_model("H200"))->workspace_bytes(), 0u);
  p.mask = AttentionMask::additive;
  p.mask_dtype = f16;
  EXPECT_EQ(chosen(p), "short_gradient_64");
  p.d = 80;
  const auto why = [&] { return refusal(p, {.variant = "short_gradient_128"}); };
  EXPECT_EQ(chosen(p, "V100"), "naive");
  p.sq = 129;
  EXPECT_NE(why().find("a block has room for 128 queries and 128 keys"), std::string::npos) << why();
  p.sq = p.sk = 128;
  EXPECT_NE(why().find("bytes of shared memory"), std::string::npos) << why();  // with a mask
  p.sq = 96;
  EXPECT_TRUE(plan_attention(p, *device_model("H200"), {.variant = "short_gradient_128"}).ok());
}

// In blocks that each have all query heads of a key head, few key heads leave multiprocessors idle.
TEST(AttentionPlan, GradientsOfFewKeyHeadsShareOutTheirGroups) {
  const auto plan_of = [](const AttentionProblem& problem) {
    auto plan = plan_attention(problem, *device_model("H200"));
    EXPECT_TRUE(plan.ok()) << plan.error().message();
    return *plan;
  };
  AttentionProblem p{.b = 1, .hq = 12, .hkv = 3, .sq = 3072, .sk = 3072, .d = 64, .dtype = bf16, .backward = true};
  AttentionProblem qwen{.b = 1, .hq = 28, .hkv = 4, .sq = 4096, .sk = 4096, .d = 128, .dtype = bf16, .backward = true};
  AttentionProblem many{.b = 8, .hq = 32, .hkv = 8, .sq = 4096, .sk = 4096, .d = 128, .dtype = bf16, .backward = true};
  EXPECT_EQ(plan_of(many).splits, 1);
  p.rule.right = qwen.rule.right = many.rule.right = 0;  // causal
  EXPECT_EQ(plan_of(p).splits, 4);
  EXPECT_EQ(plan_of(p).blocks, 72);  // of each part
  EXPECT_EQ(plan_of(qwen).splits, 7);
  EXPECT_EQ(plan_of(many).splits, 1);
  DeviceInfo unknown = *device_model("H200");
  unknown.fp16_tflops = 0;
  EXPECT_EQ(plan_attention(p, unknown, {.variant = "wgmma_gradient_64"})->splits, 1);
  for (auto size : {&AttentionProblem::b, &AttentionProblem::sq, &AttentionProblem::sk, &AttentionProblem::hq}) {
    AttentionProblem empty = p;
    empty.*size = 0;
    EXPECT_EQ(plan_of(empty).splits, 1);
  }
  for (const std::int64_t heads : {0, 12, 64}) {
    p.hq = p.hkv = heads;
    EXPECT_EQ(plan_of(p).splits, 1);
  }
  p.hq = p.hkv = 1;  // 24 blocks, and in parts for each of several ranges of queries
  EXPECT_GT(plan_of(p).splits, 1);
  // The 77 tokens of a prompt: a block for each head, which are too few; in a large batch they are not.
  AttentionProblem cross{.b = 2, .hq = 16, .hkv = 16, .sq = 2048, .sk = 77, .d = 64, .dtype = bf16, .backward = true};
  EXPECT_GT(plan_of(cross).splits, 1);
  EXPECT_LE(plan_of(cross).splits, 16);  // tiles of queries
  cross.b = 32;
  EXPECT_EQ(plan_of(cross).splits, 1);
}

// Compares with finite differences of the sum of dO O, by definition and in double: the source of the oracle's
// formulas.
TEST(AttentionGradients, AreWhatTheLossChangesBy) {
  constexpr std::int64_t S = 3, K = 4, D = 2;
  const double softcap = 1.5, scale = 0.8;
  std::vector<double> x[3];  // q, k, v
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (int t = 0; t < 3; ++t)
    for (std::int64_t n = 0; n < (t == 0 ? S : K) * D; ++n) x[t].push_back(static_cast<float>(normal(random)));
  std::vector<float> grad_o;
  for (std::int64_t n = 0; n < S * D; ++n) grad_o.push_back(static_cast<float>(normal(random)));
  const auto loss = [&] {  // query i sees keys up to i + 1
    double sum = 0;
    for (std::int64_t i = 0; i < S; ++i) {
      double weights = 0, weighted[D] = {};
      for (std::int64_t j = 0; j <= i + 1; ++j) {
        double product = 0;
        for (std::int64_t c = 0; c < D; ++c) product += x[0][i * D + c] * x[1][j * D + c];
        const double weight = std::exp(softcap * std::tanh(scale * product / softcap));
        weights += weight;
        for (std::int64_t c = 0; c < D; ++c) weighted[c] += weight * x[2][j * D + c];
      }
      for (std::int64_t c = 0; c < D; ++c) sum += grad_o[i * D + c] * weighted[c] / weights;
    }
    return sum;
  };
  std::vector<float> given[3], got[3], o(S * D), lse(S);
  for (int t = 0; t < 3; ++t) {
    given[t].assign(x[t].begin(), x[t].end());
    got[t].resize(x[t].size());
  }
  const auto tensor = [](std::vector<float>& of) {
    return view(of.data(), {1, 1, static_cast<std::int64_t>(of.size()) / D, D});
  };
  const TensorView L = view(lse.data(), {1, 1, S});
  const AttentionRule rule{.scale = scale, .softcap = softcap, .right = 1};
  attention({.q = tensor(given[0]), .k = tensor(given[1]), .v = tensor(given[2]), .o = tensor(o), .lse = L}, rule);
  attention_gradients({.q = tensor(given[0]),
                       .k = tensor(given[1]),
                       .v = tensor(given[2]),
                       .o = tensor(o),
                       .lse = L,
                       .grad_o = tensor(grad_o),
                       .grad_q = tensor(got[0]),
                       .grad_k = tensor(got[1]),
                       .grad_v = tensor(got[2])},
                      rule);
  for (int t = 0; t < 3; ++t)
    for (std::size_t n = 0; n < x[t].size(); ++n) {
      const double at = x[t][n], step = 1e-4;
      x[t][n] = at + step;
      const double above = loss();
      x[t][n] = at - step;
      const double below = loss();
      x[t][n] = at;
      EXPECT_NEAR(got[t][n], (above - below) / (2 * step), 1e-5) << "tensor " << t << ", element " << n;
    }
}

// Attention to all keys equals the merge of attention to the first two and to the third.
TEST(AttentionMerge, OfPartsIsTheWhole) {
  Small whole, first, rest;
  const TensorView two_k = view(first.k.data(), {1, 1, 2, 2}), two_v = view(first.v.data(), {1, 1, 2, 2});
  const TensorView one_k = view(rest.k.data() + 4, {1, 1, 1, 2}), one_v = view(rest.v.data() + 4, {1, 1, 1, 2});
  attention({.q = whole.Q, .k = whole.K, .v = whole.V, .o = whole.O, .lse = whole.L});
  attention({.q = first.Q, .k = two_k, .v = two_v, .o = first.O, .lse = first.L});
  attention({.q = rest.Q, .k = one_k, .v = one_v, .o = rest.O, .lse = rest.L});
  Small merged;
  attention_merge({.o_a = first.O, .lse_a = first.L, .o_b = rest.O, .lse_b = rest.L, .o = merged.O, .lse = merged.L});
  for (int n = 0; n < 4; ++n) EXPECT_NEAR(merged.o[n], whole.o[n], 1e-6);
  for (int n = 0; n < 2; ++n) EXPECT_NEAR(merged.lse[n], whole.lse[n], 1e-6);
  const auto refused = AttentionMergeProblem::of(
      {.o_a = first.O, .lse_a = first.L, .o_b = rest.O, .lse_b = rest.L, .o = first.O, .lse = merged.L});
  EXPECT_EQ(refused.error().message(), "attention_merge: o is overlapping o_a; it must be apart from it");
}

TEST(AttentionGradients, RefuseWhatDoesNotFitTogether) {
  Small s;
  std::vector<float> dq(4), dk(6), dv(6);
  AttentionGradientTensors t{.q = s.Q, .k = s.K, .v = s.V, .o = s.O, .lse = s.L, .grad_o = s.O};
  t.grad_q = view(dq.data(), {1, 1, 2, 2});
  t.grad_k = view(dk.data(), {1, 1, 3, 2});
  t.grad_v = view(dv.data(), {1, 1, 3, 2});
  const auto why = [&] { return std::string(AttentionProblem::of_gradient(t).error().message()); };
  EXPECT_TRUE(AttentionProblem::of_gradient(t).ok());
  t.grad_k = t.grad_q;
  EXPECT_EQ(why(), "attention: dk.shape is 1x1x2x2; it must be that of k, 1x1x3x2");
  t.grad_k = t.grad_v;
  EXPECT_EQ(why(), "attention: dk is overlapping dv; it must be apart from it");
  t.grad_k = t.k;
  EXPECT_EQ(why(), "attention: dk is overlapping k; it must be apart from it");
}

// Three sequences of 3, 0 and 3 queries, and as many keys, with rows before and after them that belong to none.
struct Ragged {
  static constexpr std::int64_t heads = 2, d = 4;
  std::vector<int> cu_q{2, 5, 5, 8};
  std::vector<std::int64_t> cu_k{1, 4, 4, 7};
  std::vector<float> q = std::vector<float>(9 * heads * d), k = std::vector<float>(8 * heads * d), v = k,
                     o = std::vector<float>(q.size(), 7), lse = std::vector<float>(9 * heads, 7);
  Ragged() {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (auto* x : {&q, &k, &v})
      for (float& value : *x) value = normal(random);
    for (auto* x : {&k, &v})
      for (std::size_t at = 0; at < heads * d; ++at) (*x)[at] = x->end()[-1 - static_cast<long>(at)] = NAN;
  }
  AttentionTensors tensors() {
    return {.q = view(q.data(), {9, heads, d}),
            .k = view(k.data(), {8, heads, d}),
            .v = view(v.data(), {8, heads, d}),
            .o = view(o.data(), {9, heads, d}),
            .lse = view(lse.data(), {heads, 9}),
            .cu_q = view(cu_q.data(), {4}),
            .cu_k = view(cu_k.data(), {4}),
            .max_q = 3,
            .max_k = 3};
  }
  // Sequence b alone, as a batch of one.
  static TensorView part(const TensorView& all, std::int64_t first, std::int64_t count) {
    TensorView v = all;
    v.data = static_cast<float*>(v.data) + first * v.stride(0);
    v.layout = {4, {1, heads, count, d}, {0, v.stride(1), v.stride(0), v.stride(2)}};
    return v;
  }
};

TEST(AttentionLengths, EachSequenceIsAsAloneAndRowsOfNoneStay) {
  const AttentionRule rule{.align = AttentionAlign::lower_right, .right = 0};
  for (const auto& row : variants) {
    if (!row.f32 || !runs_everywhere(row.config)) continue;
    Ragged r;
    const AttentionTensors t = r.tensors();
    const auto plan = plan_attention(*AttentionProblem::of(t, rule), cpu(), {.variant = std::string(row.name)});
    ASSERT_TRUE(plan.ok()) << plan.error().message();
    ASSERT_TRUE(plan->run(t).ok());
    for (int b : {0, 2}) {
      const std::int64_t queries = r.cu_q[b + 1] - r.cu_q[b], keys = r.cu_k[b + 1] - r.cu_k[b];
      std::vector<float> o(static_cast<std::size_t>(queries * r.heads * r.d)), lse(queries * r.heads);
      attention({.q = r.part(t.q, r.cu_q[b], queries),
                 .k = r.part(t.k, r.cu_k[b], keys),
                 .v = r.part(t.v, r.cu_k[b], keys),
                 .o = heads_first(view(o.data(), {1, queries, r.heads, r.d})),
                 .lse = view(lse.data(), {1, r.heads, queries})},
                rule);
      for (std::int64_t n = 0; n < queries * r.heads * r.d; ++n)
        EXPECT_NEAR(r.o[r.cu_q[b] * r.heads * r.d + n], o[n], 1e-6) << row.name;
      for (std::int64_t h = 0; h < r.heads; ++h)
        for (std::int64_t i = 0; i < queries; ++i)
          EXPECT_NEAR(r.lse[h * 9 + r.cu_q[b] + i], lse[h * queries + i], 1e-6) << row.name;
    }
    for (std::int64_t i : {0, 1, 8})
      for (std::int64_t n = 0; n < r.heads * r.d; ++n) EXPECT_EQ(r.o[i * r.heads * r.d + n], 7) << row.name;
    for (std::int64_t h = 0; h < r.heads; ++h)
      for (std::int64_t i : {0, 1, 8}) EXPECT_EQ(r.lse[h * 9 + i], 7) << row.name;
  }
}

TEST(AttentionLengths, RefusalsSayWhy) {
  Ragged r;
  const auto why = [](const AttentionTensors& t) {
    auto problem = AttentionProblem::of(t);
    return std::string(!problem ? problem.error().message() : plan_attention(*problem, cpu()).error().message());
  };
  AttentionTensors t = r.tensors();
  t.cu_k->layout = Layout::contiguous({3});
  EXPECT_EQ(why(t), "attention: cu_k.shape is 3; it must be of 4 elements");
  t = r.tensors();
  t.cu_q->dtype = f32;
  EXPECT_EQ(why(t), "attention: cu_q.dtype is f32; it must be i32 or i64");
  t = r.tensors();
  t.lengths = view(r.cu_q.data(), {3});
  EXPECT_EQ(why(t),
            "attention: lengths is given with cu_k; it must be left out: cu_k says how many keys a sequence has");
  t = r.tensors();
  bool mask = true;
  t.mask = view(&mask, {1});
  EXPECT_EQ(why(t), "attention: mask is given with sequences of uneven lengths; it must be left out");
  t = r.tensors();
  t.cu_q.reset();
  EXPECT_EQ(why(t), "attention: q.shape is 9x2x4; it must be of 4 axes: batch, heads, rows and columns");

  Small s;
  EXPECT_EQ(why({.q = s.Q, .k = s.K, .v = s.V, .o = s.O, .max_q = 2}),
            "attention: max_q is 2; it must be left out where all sequences are of one length");
  const auto paged = [](std::int64_t page) {
    return AttentionProblem{.b = 2,
                            .hq = 4,
                            .hkv = 2,
                            .sq = 1,
                            .sk = 256 * page,
                            .d = 64,
                            .dtype = bf16,
                            .lengths = AttentionIndices{},
                            .block_table = AttentionIndices{},
                            .page = page,
                            .pages = 9};
  };
  EXPECT_EQ(refusal(paged(24)),
            "attention: the number of rows of a page is 24; it must be a power of two, at least 16");
  EXPECT_EQ(chosen(paged(16)), "decode_64");
  EXPECT_EQ(chosen(paged(16), "A100"), "split_64");
  EXPECT_EQ(refusal(paged(16), {.variant = "tiled"}),
            "attention: variant is tiled; it must be another one here: it finds no keys in pages");
  AttentionProblem p = paged(16);
  p.sk = 0;
  EXPECT_EQ(chosen(p), "decode_64");  // no keys
  p = paged(16);
  p.lengths.reset();
  EXPECT_EQ(refusal(p), "attention: lengths is missing; it must be given with block_table");
}

TEST(AttentionPlan, TwoFloatsAreForFloat32Forward) {
  AttentionProblem p{
      .b = 4, .hq = 16, .hkv = 16, .sq = 512, .sk = 512, .d = 64, .rule = {.accumulate = Accumulate::two_float}};
  EXPECT_EQ(chosen(p), "two_float_32");
  p.d = 200;
  EXPECT_EQ(chosen(p), "two_float");
  EXPECT_EQ(refusal(p, {.variant = "tiled"}),
            "attention: variant is tiled; it must be another one here: it has no sums in two floats");
  p.rule.softcap = 2;
  EXPECT_EQ(refusal(p), "attention: accumulate is two_float; it must be left out with a softcap");
  p.rule.softcap = 0;
  p.backward = true;
  EXPECT_EQ(refusal(p),
            "attention: accumulate is two_float; it must be left out with backward: it is for the forward pass");
  p.backward = false;
  p.dtype = bf16;
  EXPECT_EQ(refusal(p), "attention: accumulate is two_float; it must be left out: it is for f32, and q is bf16");
  p.rule.accumulate = Accumulate::plain;
  p.dtype = f32;
  EXPECT_EQ(refusal(p, {.variant = "two_float"}),
            "attention: variant is two_float; it must be another one here: its sums "
            "are in two floats, which was not asked for");
}

}  // namespace
}  // namespace ridge
