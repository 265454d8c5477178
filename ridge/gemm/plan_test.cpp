// What plans choose, predict and refuse; nothing runs.
#include <ridge/core/tuning.hpp>
#include <ridge/gemm/gemm.hpp>
#include <ridge/gemm/variants.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace ridge {
namespace {

using gemm_detail::variants;

std::string chosen(const GemmProblem& p, const char* device = "H200") {
  auto plan = plan_gemm(p, *device_model(device));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}
std::string refusal(const GemmProblem& p, const char* variant) {
  auto plan = plan_gemm(p, *device_model("H200"), {.variant = variant});
  return plan ? "" : std::string(plan.error().message());
}
double predicted(const GemmProblem& p, const char* variant, const char* device = "H200") {
  auto plan = plan_gemm(p, *device_model(device), {.variant = variant});
  return plan ? plan->explain().predicted_us : HUGE_VAL;
}

// ---- the choice ---------------------------------------------------------------------------------------------------

TEST(GemmPlan, LargeMatricesTakeLargeTiles) {
  for (GemmLayout layout : {GemmLayout::nn, GemmLayout::nt, GemmLayout::tn, GemmLayout::tt})
    EXPECT_EQ(chosen({.m = 4096, .n = 4096, .k = 4096, .layout = layout}), "tma_128x128") << name(layout);
  for (GemmLayout layout : {GemmLayout::nn, GemmLayout::nt, GemmLayout::tn, GemmLayout::tt})
    EXPECT_EQ(chosen({.m = 1024, .n = 1024, .k = 1024, .layout = layout}), "tma_128x64") << name(layout);  // 128 tiles
  EXPECT_EQ(chosen({.m = 512, .n = 512, .k = 512}), "tma_128x16");                                         // 128 tiles
}

TEST(GemmPlan, EmptyProductsArePlannedOnEveryDevice) {
  for (const char* device : {"H200", "H100", "A100", "V100"})
    for (DType dtype : {f32, f64, f16, bf16, i8, f8e4m3})
      for (GemmLayout layout : {GemmLayout::nn, GemmLayout::nt, GemmLayout::tn, GemmLayout::tt})
        for (GemmMath math : {GemmMath::exact, GemmMath::tf32, GemmMath::tf32x3})
          for (int empty = 0; empty < 4; ++empty) {
            if (math != GemmMath::exact && dtype != f32) continue;
            GemmProblem p{.m = 64, .n = 72, .k = 64, .dtype = dtype, .layout = layout, .scalars = {.math = math}};
            (empty == 0 ? p.m : empty == 1 ? p.n : empty == 2 ? p.k : p.batch) = 0;
            auto plan = plan_gemm(p, *device_model(device));
            ASSERT_TRUE(plan.ok()) << plan.error().message() << " " << p.text() << " on " << device;
            EXPECT_EQ(plan->tiles == 0, empty != 2) << p.text() << " on " << device;
            EXPECT_FALSE(plan->explain().text().empty());
          }
}

// The launch: tiles of fewer rows, and one more warpgroup where the skinny operand is gathered.
TEST(GemmPlan, AccountsForWhatItLaunches) {
  const auto plan =
      plan_gemm({.m = 5120, .n = 13, .k = 2880, .dtype = bf16}, *device_model("H200"), {.variant = "narrow_16"});
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  const std::string text = plan->explain().text();
  EXPECT_NE(text.find("256 threads"), text.npos) << text;
  EXPECT_EQ(plan->split, 2);
  EXPECT_EQ(plan->explain().analysis.blocks, 5120 / 40 * 2);  // of 40 rows each
  // 512 tiles, by two persistent blocks on each multiprocessor.
  const auto few = plan_gemm({.m = 16, .n = 28672, .k = 4096, .dtype = bf16, .layout = GemmLayout::nt},
                             *device_model("H200"), {.variant = "narrow_16"});
  ASSERT_TRUE(few.ok()) << few.error().message();
  EXPECT_EQ(few->split, 1);
  EXPECT_EQ(few->explain().analysis.blocks, 2 * 132);
}

TEST(GemmPlan, FewTilesOfManyProductsAreCutIntoSlices) {
  const auto plan_of = [](GemmProblem p, const char* device = "H200") { return *plan_gemm(p, *device_model(device)); };
  const auto name = [](const GemmPlan& plan) { return variants[plan.variant].name; };
  const GemmPlan gradient = plan_of({.m = 64, .n = 66, .k = 16384, .layout = GemmLayout::tn});
  EXPECT_GT(gradient.split, 30);
  EXPECT_EQ(gradient.workspace_bytes(), std::size_t(gradient.split) * 64 * 68 * 4);
  EXPECT_GT(plan_of({.m = 128, .n = 128, .k = 65536, .dtype = f64}).split, 20);
  EXPECT_GT(plan_of({.m = 64, .n = 64, .k = 16384, .dtype = bf16}, "A100").split, 20);
  const GemmPlan few_rows = plan_of({.m = 16, .n = 4096, .k = 4096, .layout = GemmLayout::nt});
  EXPECT_EQ(name(few_rows), "tma_128x16");
  EXPECT_TRUE(few_rows.swap_ab);  // the weights, along k, are read in place
  EXPECT_GT(few_rows.split, 2);
  EXPECT_EQ(name(plan_of({.m = 16, .n = 4096, .k = 4096, .layout = GemmLayout::nt}, "A100")), "async_16x128");
  EXPECT_EQ(name(plan_of({.m = 4096, .n = 16, .k = 4096}, "A100")), "async_128x32");
  EXPECT_FALSE(plan_of({.m = 4096, .n = 16, .k = 4096}).swap_ab);
  // Not where tiles fill the device, where there is one step, or where the sums have another type than D.
  for (DType dtype : {f32, f64}) EXPECT_EQ(plan_of({.m = 4096, .n = 4096, .k = 4096, .dtype = dtype}).split, 1);
  EXPECT_EQ(plan_of({.m = 64, .n = 64, .k = 8}).split, 1);
  EXPECT_EQ(plan_of({.m = 64, .n = 64, .k = 16384, .dtype = i8, .out = f32}, "V100").split, 1);
  EXPECT_GT(plan_of({.m = 64, .n = 64, .k = 16384, .dtype = i8}, "V100").split, 1);
  EXPECT_EQ(plan_of({.m = 64, .n = 64, .k = 16384, .scalars = {.alpha = 0}}).split, 1);
}

TEST(GemmPlan, RowsThatStartAnywhereAreCopiedByElements) {
  EXPECT_TRUE(chosen({.m = 4095, .n = 4095, .k = 4096}, "A100").starts_with("async_unaligned"));
  GemmProblem p{.m = 1024, .n = 1024, .k = 1024};
  p.a = GemmOperand{.row_stride = 1024, .alignment_offset = 4};
  EXPECT_TRUE(chosen(p, "A100").starts_with("async_unaligned"));
}

TEST(GemmPlan, StridesThatAreNeighboursNowhereHaveAVariant) {
  GemmProblem p{.m = 4096, .n = 4096, .k = 512};
  p.b = GemmOperand{.row_stride = 8192, .col_stride = 2};
  EXPECT_EQ(chosen(p, "A100"), "thread_8x8");
  EXPECT_EQ(chosen(p), "tma_128x128");  // with a copy
}

TEST(GemmPlan, TilesByTmaCopyWhatTheyCannotReadAndTurnOneOfTwoOperandsAlongK) {
  const auto workspace = [](const GemmProblem& p) {
    return plan_gemm(p, *device_model("H200"), {.variant = "tma_128x128"})->workspace;
  };
  for (GemmLayout layout : {GemmLayout::nn, GemmLayout::tn, GemmLayout::tt})
    EXPECT_EQ(workspace({.m = 512, .n = 256, .k = 64, .layout = layout}), 0u) << name(layout);
  EXPECT_EQ(workspace({.m = 512, .n = 256, .k = 64, .layout = GemmLayout::nt}), 256u * 64 * 4);  // the smaller one
  EXPECT_EQ(workspace({.m = 256, .n = 512, .k = 64, .layout = GemmLayout::nt}), 256u * 64 * 4);
  EXPECT_EQ(workspace({.m = 512, .n = 255, .k = 64}), 256u * 64 * 4);                            // rows of 1020 bytes
  EXPECT_EQ(workspace({.m = 511, .n = 256, .k = 64, .layout = GemmLayout::tt}), 512u * 64 * 4);  // A's
  // Where each element is used often, both.
  constexpr std::size_t a = 4096u * 1024 * 4, b = 3072u * 1024 * 4;
  const auto large = [](GemmLayout layout) { return GemmProblem{.m = 4096, .n = 3072, .k = 1024, .layout = layout}; };
  EXPECT_EQ(workspace(large(GemmLayout::tn)), 0u);
  EXPECT_EQ(workspace(large(GemmLayout::nn)), a);
  EXPECT_EQ(workspace(large(GemmLayout::nt)), a + b);
  EXPECT_EQ(workspace(large(GemmLayout::tt)), b);
  EXPECT_EQ(refusal({.m = 1, .n = 1, .k = 1, .batch = 65536}, "tma_128x128"),
            "gemm: variant is tma_128x128; it must be another one here: it takes batches of at most 65535");
}

TEST(GemmPlan, TheLaddersStepsArePredictedInTheirOrder) {
  const GemmProblem p{.m = 4096, .n = 4096, .k = 4096};
  const char* ladder[] = {"naive", "block_32", "thread_8x8", "vec4", "conflict_free", "double_buffer", "async"};
  for (std::size_t i = 1; i < std::size(ladder); ++i)
    EXPECT_LT(predicted(p, ladder[i]), predicted(p, ladder[i - 1])) << ladder[i];
}

TEST(GemmPlan, ATileMoreThanAWaveCostsAWave) {  // 132 multiprocessors: 132 tiles of 128 x 128 against 133
  const auto of = [](std::int64_t m, DType dtype, const char* variant) {
    return predicted({.m = m, .n = 128, .k = 4096, .dtype = dtype}, variant);
  };
  EXPECT_GT(of(132 * 128 + 1, bf16, "cooperative_128x128"), 1.4 * of(132 * 128, bf16, "cooperative_128x128"));
  // Slices of k even it out.
  EXPECT_LT(of(264 * 128 + 1, f32, "tma_128x64"), 1.3 * of(264 * 128, f32, "tma_128x64"));
}

TEST(GemmPlan, NoPredictionBeatsTheRoof) {
  for (const GemmProblem& p : {GemmProblem{.m = 4096, .n = 4096, .k = 4096},
                               {.m = 5120, .n = 13, .k = 2880},
                               {.m = 64, .n = 64, .k = 64},
                               {.m = 1024, .n = 1024, .k = 1024, .dtype = f64}})
    for (const char* device : {"H200", "A100", "V100", "RTX4090"}) {
      const Explanation e = plan_gemm(p, *device_model(device))->explain();
      EXPECT_GE(e.predicted_us, 0.999 * e.least_us) << p.text() << " on " << device;
      EXPECT_EQ(e.candidates.size(), std::size(variants));
    }
}

// Every row of the table, by its own account: the sum of the terms is the time that the choice compared.
TEST(GemmPlan, TheTermsAddUpToThePrediction) {
  for (const DType dtype : {f64, f32, f16, i8, f8e4m3})
    for (GemmProblem p : {GemmProblem{.m = 8192, .n = 8192, .k = 8192},
                          {.m = 4095, .n = 4095, .k = 4095},
                          {.m = 16, .n = 4096, .k = 4096, .layout = GemmLayout::nt},
                          {.m = 65, .n = 63, .k = 17, .batch = 3},
                          {.m = 2048, .n = 2048, .k = 2048, .gate = true},
                          {.m = 2048, .n = 2048, .k = 2048, .batch = 8, .layout = GemmLayout::nt, .grouped = true},
                          {.m = 64, .n = 64, .k = 0}})
      for (const GemmMath math : {GemmMath::exact, GemmMath::tf32, GemmMath::tf32x3, GemmMath::fast})
        for (const auto& row : variants)
          for (const char* device : {"H200", "A100", "V100"}) {
            p.dtype = dtype;
            p.scalars.math = math;
            const auto plan = plan_gemm(p, *device_model(device), {.variant = std::string(row.name)});
            if (!plan) continue;
            const Explanation e = plan->explain();
            double sum = 0;
            for (const Analysis::Term& term : e.analysis.terms) {
              EXPECT_GT(term.us, 0) << p.text() << " " << row.name << " on " << device << ": " << term.name;
              sum += term.us;
            }
            EXPECT_NEAR(sum, e.predicted_us, 1e-6 * e.predicted_us) << p.text() << " " << row.name << " on " << device;
          }
}

TEST(GemmPlan, TheAccountSaysWhereTheTimeGoes) {
  const auto us_of = [](const Explanation& e, std::string_view term) {
    for (const Analysis::Term& t : e.analysis.terms)
      if (t.name == term) return t.us;
    return 0.0;
  };
  const auto explained = [](const GemmProblem& p, const char* variant) {
    return plan_gemm(p, *device_model("H200"), {.variant = variant})->explain();
  };
  const GemmProblem large{.m = 8192, .n = 8192, .k = 8192, .dtype = bf16, .layout = GemmLayout::nt};
  const Explanation e = explained(large, "ping_pong_128x192");
  EXPECT_NEAR(us_of(e, "products"), 2 * std::pow(8192.0, 3) / 990e6, 1);  // the data sheet's 990 TFLOP/s
  EXPECT_GT(us_of(e, "products"), 0.5 * e.predicted_us);
  EXPECT_EQ(e.analysis.blocks, 132);  // persistent
  EXPECT_EQ(e.analysis.blocks_per_sm, 1);
  EXPECT_NEAR(e.analysis.tile_efficiency, 8192 / (43 * 192.0), 1e-12);
  EXPECT_EQ(us_of(e, "copies"), 0);
  // 133 tiles of 128 x 256 on 132 multiprocessors: half of the products' time is the second wave's.
  const Explanation wave = explained({.m = 133 * 128, .n = 256, .k = 8192, .dtype = bf16}, "persistent");
  EXPECT_NEAR(us_of(wave, "waves"), us_of(wave, "products"), 0.02 * us_of(wave, "products"));
  EXPECT_GT(us_of(explained({.m = 4095, .n = 4095, .k = 4095, .dtype = bf16}, "multicast"), "copies"), 10);
  const GemmProblem few{.m = 16, .n = 8192, .k = 8192, .dtype = bf16, .layout = GemmLayout::nt};
  const Explanation skinny = explained(few, "narrow_16");
  EXPECT_GT(us_of(skinny, "memory"), us_of(skinny, "products"));
}

TEST(GemmPlan, EveryTypeHasAVariant) {
  EXPECT_EQ(chosen({.m = 2048, .n = 2048, .k = 2048, .dtype = f64}, "V100"), "f64_128x64");
  EXPECT_EQ(chosen({.m = 2048, .n = 2048, .k = 2048, .dtype = bf16}, "V100"), "widened");
  EXPECT_EQ(chosen({.m = 2048, .n = 2048, .k = 2048, .dtype = i8}, "A100"), "dp4a");
  EXPECT_EQ(chosen({.m = 2048, .n = 2048, .k = 2048, .dtype = f8e4m3}, "A100"), "thread_8x8");
}

TEST(GemmPlan, DoublesTakeTensorCores) {
  for (const char* device : {"A100", "H200"})
    for (GemmLayout layout : {GemmLayout::nn, GemmLayout::nt, GemmLayout::tn, GemmLayout::tt}) {
      const auto of = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
        return chosen({.m = m, .n = n, .k = k, .dtype = f64, .layout = layout}, device);
      };
      EXPECT_EQ(of(8192, 8192, 8192), "dmma") << device;
      EXPECT_EQ(of(10240, 4096, 4096), "dmma") << device;
      EXPECT_TRUE(of(512, 512, 4096).ends_with("x64")) << device << " " << of(512, 512, 4096);
      EXPECT_EQ(of(4095, 4095, 4095), "dmma_unaligned") << device;
    }
}

TEST(GemmPlan, AmpereTakesItsTensorCores) {
  for (DType dtype : {f16, bf16})
    for (const char* device : {"A100", "RTX4090"})
      for (GemmLayout layout : {GemmLayout::nn, GemmLayout::nt, GemmLayout::tn, GemmLayout::tt}) {
        EXPECT_EQ(chosen({.m = 4096, .n = 4096, .k = 4096, .dtype = dtype, .layout = layout}, device), "mma");
        EXPECT_EQ(chosen({.m = 256, .n = 512, .k = 4096, .dtype = dtype, .layout = layout}, device), "mma_64x64");
        const std::string unaligned =
            chosen({.m = 4095, .n = 4095, .k = 4095, .dtype = dtype, .layout = layout}, device);
        EXPECT_TRUE(unaligned.starts_with("mma_unaligned")) << unaligned;
      }
}

TEST(GemmPlan, WmmaIsAStepAndNeverChosen) {
  for (DType dtype : {f16, bf16})
    for (std::int64_t size : {16, 64, 1024, 4096}) {
      const GemmProblem p{.m = size, .n = size, .k = size, .dtype = dtype};
      EXPECT_GT(predicted(p, "wmma", "A100"), predicted(p, "mma_64x64", "A100")) << size;
      EXPECT_GT(predicted(p, "wmma"), predicted(p, "mma_64x64")) << size;
    }
}

TEST(GemmPlan, WhatTmaCannotReadIsCopiedFirstOnHopper) {
  for (DType dtype : {f16, bf16}) {
    for (std::int64_t size : {64, 128, 256, 512, 1000, 1024, 2048, 4096, 8192})
      for (std::int64_t m : {std::int64_t{8}, size}) {
        const std::string name = chosen({.m = m, .n = size, .k = size, .dtype = dtype, .layout = GemmLayout::nt});
        EXPECT_FALSE(name.starts_with("mma")) << name << " " << m << "x" << size;
      }
    const GemmProblem odd{.m = 4095, .n = 4095, .k = 4095, .dtype = dtype};
    EXPECT_FALSE(chosen(odd).starts_with("mma")) << chosen(odd);
    EXPECT_EQ(plan_gemm(odd, *device_model("H200"))->workspace_bytes(), std::size_t{2} * 4095 * 4096 * 2);
    GemmProblem p{.m = 1000, .n = 1000, .k = 1000, .dtype = dtype};
    EXPECT_EQ(plan_gemm(p, *device_model("H200"))->workspace_bytes(), std::size_t{0});
    for (const GemmOperand& a : {GemmOperand{.dtype = dtype, .row_stride = 1000, .alignment_offset = 2},
                                 {.dtype = dtype, .row_stride = -1000},  // aligned, and bottom up
                                 {.dtype = dtype, .row_stride = 2000, .col_stride = 2}}) {
      p.a = a;
      auto plan = plan_gemm(p, *device_model("H200"), {.variant = "multicast"});
      ASSERT_TRUE(plan.ok());
      EXPECT_EQ(plan->workspace_bytes(), std::size_t{1000} * 1024 * 2);  // a alone, in rows aligned to 128 bytes
      EXPECT_EQ(plan->explain().workspace_bytes, plan->workspace_bytes());
    }
  }
}

TEST(GemmPlan, FewRowsOrColumnsSplitTheProductsOfATile) {
  const auto plan_of = [](std::int64_t m, std::int64_t n, std::int64_t k, GemmLayout layout = GemmLayout::nt) {
    return *plan_gemm({.m = m, .n = n, .k = k, .dtype = bf16, .layout = layout}, *device_model("H200"));
  };
  struct Expected {
    std::int64_t m, n, k;
    const char* variant;
    int split;
    bool swap_ab;
  };
  for (const Expected& e : {Expected{16, 4096, 4096, "narrow_16", 2, true},
                            {16, 8192, 8192, "narrow_16", 2, true},
                            {32, 4096, 4096, "narrow_32", 2, true},
                            {64, 4096, 4096, "narrow_64", 2, true},
                            {64, 8192, 8192, "wgmma_64x64", 1, false},
                            {16, 6144, 4096, "narrow_16", 2, true},
                            {64, 28672, 4096, "wgmma_64x128", 1, false},
                            {128, 10240, 8192, "wgmma_64x192", 1, false},
                            {128, 4096, 4096, "wgmma_64x64", 1, false},
                            {128, 1024, 4096, "split_64x128", 4, true},
                            {4096, 16, 4096, "narrow_16", 2, false}}) {
    const GemmPlan plan = plan_of(e.m, e.n, e.k);
    EXPECT_EQ(variants[plan.variant].name, e.variant) << e.m << "x" << e.n << "x" << e.k;
    EXPECT_EQ(plan.split, e.split) << e.m << "x" << e.n << "x" << e.k;
    EXPECT_EQ(plan.swap_ab, e.swap_ab) << e.m << "x" << e.n << "x" << e.k;
    EXPECT_EQ(plan.workspace_bytes(), 0u);
  }
  // Rows of 13 are gathered; those of 2880 are read in place.
  const GemmPlan ragged = plan_of(5120, 13, 2880, GemmLayout::nn);
  EXPECT_EQ(variants[ragged.variant].name, "narrow_16");
  EXPECT_FALSE(ragged.swap_ab);
  EXPECT_EQ(ragged.workspace_bytes(), 0u);
  EXPECT_GT(plan_of(16, 512, 8192).split, 4);
  EXPECT_EQ(plan_of(16, 4096, 64).split, 1);  // one step
}

TEST(GemmPlan, OfOtherTypesToo) {
  const auto plan_of = [](std::int64_t m, std::int64_t n, std::int64_t k, DType dtype,
                          GemmMath math = GemmMath::exact) {
    return *plan_gemm({.m = m, .n = n, .k = k, .dtype = dtype, .layout = GemmLayout::nt, .scalars = {.math = math}},
                      *device_model("H200"));
  };
  const auto name = [](const GemmPlan& plan) { return variants[plan.variant].name; };
  EXPECT_EQ(name(plan_of(16, 4096, 4096, f8e4m3)), "fp8_narrow_16");
  EXPECT_EQ(name(plan_of(16, 4096, 4096, f8e5m2, GemmMath::fast)), "fp8_narrow_16");
  EXPECT_EQ(name(plan_of(16, 4096, 4096, i8)), "i8_narrow_16");
  EXPECT_EQ(name(plan_of(4096, 16, 4096, f32, GemmMath::tf32)), "tf32_narrow_16");
  EXPECT_EQ(name(plan_of(1024, 1024, 8192, f32, GemmMath::tf32)), "tf32_split");
  EXPECT_EQ(name(plan_of(1024, 1024, 8192, i8)), "i8_64x128");  // 17.9 us on an H200, and 25.7 by i8_split
  EXPECT_GT(plan_of(1024, 1024, 8192, f8e4m3).split, 1);
}

TEST(GemmPlan, FewRowsOfUnalignedWeightsAreReadWhereTheyLie) {
  GemmProblem p{.m = 2, .n = 6260, .k = 6260, .dtype = bf16, .layout = GemmLayout::nt};
  EXPECT_EQ(chosen(p), "direct_8");  // 34.6 us on an H200, and 52.4 by mma_unaligned_32x128
  p.m = 9;
  EXPECT_NE(refusal(p, "direct_8").find("9 rows"), std::string::npos) << refusal(p, "direct_8");
  p.m = 2, p.k = p.n = 6272;
  EXPECT_EQ(chosen(p), "narrow_16");
}

TEST(GemmPlan, ALongKIsCutIntoABatch) {
  GemmProblem p{.m = 224, .n = 32, .k = 870400, .dtype = bf16, .layout = GemmLayout::tn};
  const auto plan = plan_gemm(p, *device_model("H200"));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(variants[plan->variant].name, "sliced");
  ASSERT_NE(plan->nested, nullptr);
  EXPECT_EQ(plan->nested->problem.batch, plan->split);
  EXPECT_EQ(plan->nested->problem.k * plan->split, p.k);
  EXPECT_GE(plan->workspace, static_cast<std::size_t>(plan->split) * 224 * 32 * 4);
  p.k = 870403;  // a prime
  EXPECT_NE(refusal(p, "sliced").find("870403"), std::string::npos) << refusal(p, "sliced");
  p.k = 870400, p.m = 4096, p.n = 4096;
  EXPECT_NE(refusal(p, "sliced").find("tiles"), std::string::npos) << refusal(p, "sliced");
}

TEST(GemmPlan, WhereRowsStartDecidesTheTile) {
  const auto chosen = [](std::int64_t size) {
    const auto plan = plan_gemm({.m = size, .n = size, .k = size, .dtype = f16}, *device_model("H200"));
    return std::string(variants[plan->variant].name);
  };
  EXPECT_EQ(chosen(1024), "wgmma_64x128");
  EXPECT_EQ(chosen(1008), "wgmma_64x128_pairs");  // aligned to 32 bytes and not to 128
  EXPECT_EQ(chosen(1000), "wgmma_64x128_pairs");  // to 16
  EXPECT_EQ(chosen(2048), "multicast");
  EXPECT_EQ(chosen(2000), "multicast");  // with fewer lines per product
  EXPECT_EQ(chosen(4096), "multicast");
  EXPECT_EQ(chosen(4095), "ping_pong");  // 212 us for bf16 nt on an H200, and 230 by multicast
}

TEST(GemmPlan, OtherTypesTakeHoppersTensorCoresWhereTheyAreAskedFor) {
  const auto of = [](DType dtype, GemmMath math, GemmLayout layout, const char* device = "H200") {
    return chosen({.m = 8192, .n = 8192, .k = 8192, .dtype = dtype, .layout = layout, .scalars = {.math = math}},
                  device);
  };
  for (GemmLayout layout : {GemmLayout::nn, GemmLayout::nt, GemmLayout::tn, GemmLayout::tt}) {
    EXPECT_EQ(of(f32, GemmMath::exact, layout), "tma_128x128");
    EXPECT_TRUE(of(f32, GemmMath::tf32, layout).starts_with("tf32"));
    EXPECT_EQ(of(f32, GemmMath::tf32x3, layout), "tf32x3");
    EXPECT_EQ(of(f8e4m3, GemmMath::exact, layout), "fp8");
    EXPECT_TRUE(of(f8e5m2, GemmMath::fast, layout).starts_with("fp8_fast"));
    EXPECT_TRUE(of(i8, GemmMath::exact, layout).starts_with("i8_"));
  }
  EXPECT_TRUE(of(f32, GemmMath::tf32, GemmLayout::tn, "A100").starts_with("tf32_mma"));
  EXPECT_EQ(of(i8, GemmMath::exact, GemmLayout::nt, "A100"), "i8_mma");
  EXPECT_EQ(of(i8, GemmMath::exact, GemmLayout::nn, "A100"), "dp4a");  // bytes are not transposed
  // 8-bit floats by mma.sync from Ada on, also on later GPUs without Hopper's own instructions.
  for (const char* device : {"L4", "L40S", "RTX4090", "RTX5090", "B200"})
    for (const DType dtype : {f8e4m3, f8e5m2})
      EXPECT_TRUE(of(dtype, GemmMath::exact, GemmLayout::nt, device).starts_with("fp8_mma")) << device;
  EXPECT_EQ(of(f8e4m3, GemmMath::exact, GemmLayout::nt, "A10"), "thread_8x8");
  EXPECT_EQ(of(f8e4m3, GemmMath::exact, GemmLayout::nn, "L40S"), "thread_8x8");  // bytes are not transposed
  // Where there are no tensor cores, in float32.
  EXPECT_TRUE(of(f32, GemmMath::tf32, GemmLayout::nt, "V100").starts_with("double"));
  EXPECT_TRUE(of(f32, GemmMath::tf32x3, GemmLayout::nt, "A100").starts_with("async"));
  EXPECT_EQ(refusal({.m = 8, .n = 8, .k = 8}, "tf32"),
            "gemm: variant is tf32; it must be another one here: computes as math=tf32, which was not asked for");
  // K-major operands are read in place; others are transposed first, and for three products split into two parts.
  const auto workspace = [](DType dtype, GemmMath math, GemmLayout layout) {
    return plan_gemm({.m = 512, .n = 256, .k = 1024, .dtype = dtype, .layout = layout, .scalars = {.math = math}},
                     *device_model("H200"),
                     {.variant = math == GemmMath::tf32     ? "tf32"
                                 : math == GemmMath::tf32x3 ? "tf32x3"
                                                            : "i8_ping_pong"})
        ->workspace_bytes();
  };
  EXPECT_EQ(workspace(f32, GemmMath::tf32, GemmLayout::nt), 0u);
  EXPECT_EQ(workspace(f32, GemmMath::tf32, GemmLayout::nn), std::size_t{256} * 1024 * 4);
  EXPECT_EQ(workspace(i8, GemmMath::exact, GemmLayout::tt), std::size_t{512} * 1024);
  EXPECT_EQ(workspace(f32, GemmMath::tf32x3, GemmLayout::nt), std::size_t{512 + 256} * 1024 * 2 * 4);
}

TEST(GemmPlan, InstructionsThatADeviceLacksAreRefused) {
  for (const char* device : {"V100", "MI250X"}) {
    auto plan = plan_gemm({.m = 512, .n = 512, .k = 512, .dtype = f16}, *device_model(device), {.variant = "mma"});
    ASSERT_FALSE(plan.ok());
    EXPECT_NE(std::string(plan.error().message()).find("compute capability 8.0 and later"), std::string::npos);
  }
  auto plan = plan_gemm({.m = 512, .n = 512, .k = 512, .dtype = f64}, cpu(), {.variant = "dmma"});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(refusal({.m = 512, .n = 512, .k = 511, .dtype = f64}, "dmma"),
            "gemm: variant is dmma; it must be another one here: rows of a do not all start on 16 bytes");
}

TEST(GemmPlan, HopperTakesItsTensorCores) {
  const auto of = [](std::int64_t m, std::int64_t n, std::int64_t k, Activation activation = Activation::none) {
    return chosen(
        {.m = m, .n = n, .k = k, .dtype = bf16, .layout = GemmLayout::nt, .scalars = {.activation = activation}});
  };
  EXPECT_EQ(of(2048, 2048, 2048), "multicast");
  EXPECT_EQ(of(4096, 4096, 4096), "multicast");
  EXPECT_EQ(of(4096, 4096, 14336), "multicast");
  EXPECT_EQ(of(8192, 8192, 8192), "ping_pong_128x192");  // 20.8 waves of 21
  EXPECT_EQ(of(4096, 28672, 4096), "ping_pong_128x192");
  EXPECT_EQ(of(4096, 4096, 4096, Activation::gelu), "multicast");
  EXPECT_EQ(of(16, 4096, 4096), "narrow_16");
}

TEST(GemmPlan, HoppersRowsTakeWhatHasProducts) {
  GemmProblem p{.m = 512, .n = 512, .k = 512, .dtype = f16};
  const auto why = [&] {
    const std::string sentence = refusal(p, "multicast"),
                      start = "gemm: variant is multicast; it must be another one here: ";
    return sentence.starts_with(start) ? sentence.substr(start.size()) : sentence;
  };
  EXPECT_EQ(why(), "");
  p.a = GemmOperand{.dtype = f16, .row_stride = 516};
  EXPECT_EQ(why(), "");
  p.batch = 70000;
  EXPECT_EQ(why(), "it copies batches of at most 65535 first");
  p.batch = 1;
  p.a = {};
  p.scalars.alpha = 0;
  EXPECT_EQ(why(), "there are no products");
  p.scalars.alpha = 1;
  EXPECT_TRUE(
      plan_gemm(p, *device_model("A100"), {.variant = "multicast"}).error().message().find("Hopper's instructions") !=
      std::string::npos);
  EXPECT_FALSE(chosen(p, "A100").empty());
}

TEST(GemmPlan, ARefusalSaysWhy) {
  EXPECT_EQ(refusal({.m = 8, .n = 8, .k = 8, .layout = GemmLayout::nt}, "vec4"),
            "gemm: variant is vec4; it must be another one here: shown in layout nn, and this is nt");
  EXPECT_EQ(refusal({.m = 8, .n = 8, .k = 7}, "async"),
            "gemm: variant is async; it must be another one here: rows of a do not all start on 16 bytes");
  EXPECT_EQ(refusal({.m = 8, .n = 8, .k = 8, .dtype = i8}, "async"),
            "gemm: variant is async; it must be another one here: not instantiated for i8");
  const GemmProblem tf32{.m = 8, .n = 8, .k = 8, .scalars = {.math = GemmMath::tf32}};
  EXPECT_EQ(refusal(tf32, "naive"), "");  // in float32, which is more exact
}

TEST(GemmPlan, TheContractIsKeptBeforeAnythingRuns) {
  const auto error = [](const GemmProblem& p) {
    auto plan = plan_gemm(p, *device_model("H200"));
    return plan ? std::string() : std::string(plan.error().message());
  };
  EXPECT_EQ(error({.m = 8, .n = 8, .k = 8, .dtype = i32}),
            "gemm: a.dtype is i32; it must be one of f64 f32 f16 bf16 f8e4m3 f8e5m2 i8");
  EXPECT_EQ(error({.m = 8, .n = 8, .k = 8, .out = f64}),
            "gemm: d.dtype is f64; it must be one of f32 f16 bf16 f8e4m3 f8e5m2 where a is f32");
  EXPECT_EQ(error({.m = 8, .n = 8, .k = 8, .dtype = i8, .scalars = {.alpha = 0.5}}),
            "gemm: alpha is 0.5; it must be a whole number below 2^31 where d is i32");
  EXPECT_EQ(error({.m = 8, .n = 8, .k = 8, .dtype = bf16, .scalars = {.math = GemmMath::tf32}}),
            "gemm: math is tf32; it must be left out: it is for f32, and a is bf16");
  EXPECT_EQ(error({.m = 8, .n = 8, .k = 8, .scalars = {.math = GemmMath::fast}}),
            "gemm: math is fast; it must be left out: it is for f8e4m3 and f8e5m2, and a is f32");
  EXPECT_EQ(error({.m = 8, .n = 8, .k = 8, .scalars = {.alpha = NAN}}), "gemm: alpha is nan; it must be finite");
  const GemmScalars in_two{.accumulate = Accumulate::two_float};
  EXPECT_EQ(error({.m = 8, .n = 8, .k = 8, .dtype = bf16, .scalars = in_two}),
            "gemm: accumulate is two_float; it must be left out: it is for f32, and a is bf16");
  EXPECT_EQ(error({.m = 8, .n = 8, .k = 8, .scalars = {.math = GemmMath::tf32, .accumulate = Accumulate::two_float}}),
            "gemm: accumulate is two_float; it must be left out where math is tf32");
  EXPECT_EQ(error({.m = 8, .n = 8, .k = 8, .scalars = in_two, .gate = true}),
            "gemm: accumulate is two_float; it must be left out with a gate");
}

TEST(GemmPlan, SumsInTwoFloatsHaveRowsOfTheirOwn) {
  GemmProblem p{.m = 512, .n = 512, .k = 512, .scalars = {.accumulate = Accumulate::two_float}};
  EXPECT_EQ(chosen(p), "async_two_float");
  EXPECT_EQ(refusal(p, "async"), "gemm: variant is async; it must be another one here: it has no sums in two floats");
  p.k = 511;  // rows start anywhere
  EXPECT_EQ(chosen(p), "naive_two_float");
  p.scalars.accumulate = Accumulate::plain;
  EXPECT_EQ(refusal(p, "naive_two_float"),
            "gemm: variant is naive_two_float; it must be another one here: its sums are in "
            "two floats, which was not asked for");
}

// ---- a gate, and groups ---------------------------------------------------------------------------------------------

TEST(GemmPlan, AGateAndGroupsHaveTheirRows) {
  GemmProblem p{.m = 4096, .n = 4096, .k = 4096, .gate = true};
  EXPECT_EQ(chosen(p), "gate_async");
  p.dtype = bf16;
  EXPECT_EQ(chosen(p), "gate_wgmma");
  EXPECT_EQ(chosen(p, "A100"), "gate_mma");
  EXPECT_EQ(chosen(p, "V100"), "gate_widened");
  p.k = 4095;
  EXPECT_EQ(chosen(p, "V100"), "gate_8x8");
  EXPECT_EQ(chosen(p), "gate_wgmma");  // a is copied first
  EXPECT_EQ(plan_gemm(p, *device_model("H200"))->workspace_bytes(), std::size_t{4096} * 4096 * 2);
  p.gate_layout =
      GemmOperand{.dtype = bf16, .row_stride = 1, .col_stride = 4096};  // and the gate is transposed, as b is
  EXPECT_EQ(plan_gemm(p, *device_model("H200"))->workspace_bytes(), std::size_t{4096 + 4095} * 4096 * 2);
  p.gate_layout.reset();
  EXPECT_EQ(
      refusal(p, "multicast"),
      "gemm: variant is multicast; it must be another one here: it multiplies by one operand B, and not by a gate "
      "too");
  EXPECT_EQ(chosen({.m = 8, .n = 8, .k = 8, .dtype = i8, .gate = true}),
            "gemm: gate is given; it must be left out where a is i8: it is for f64 f32 f16 bf16");
  GemmProblem groups{.m = 4096, .n = 4096, .k = 2048, .batch = 8, .layout = GemmLayout::nt, .grouped = true};
  EXPECT_TRUE(chosen(groups).starts_with("grouped_async")) << chosen(groups);
  groups.dtype = bf16;
  EXPECT_EQ(chosen(groups), "grouped_wgmma");
  EXPECT_EQ(chosen(groups, "A100"), "grouped_mma");
  EXPECT_EQ(chosen(groups, "V100"), "grouped_widened");
  groups.layout = GemmLayout::tt;
  EXPECT_EQ(plan_gemm(groups, *device_model("H200"))->workspace_bytes(), std::size_t{4096} * 2048 * 2);  // a
  groups.layout = GemmLayout::nt;
  groups.dtype = f32;
  groups.m = 512;
  EXPECT_EQ(chosen(groups), "grouped_async_64x64");
  groups.layout = GemmLayout::tt;
  EXPECT_EQ(chosen(groups), "grouped_8x8");
  EXPECT_EQ(refusal(groups, "grouped_async"),
            "gemm: variant is grouped_async; it must be another one here: a's elements are not neighbours along k");
  EXPECT_EQ(refusal(groups, "async"),
            "gemm: variant is async; it must be another one here: it multiplies by one operand B, or by one for each "
            "matrix of a batch, and not by groups of rows");
  EXPECT_EQ(refusal({.m = 8, .n = 8, .k = 8}, "grouped_8x8"),
            "gemm: variant is grouped_8x8; it must be another one here: it is for groups of rows");
}

// ---- a tuning -----------------------------------------------------------------------------------------------------

TEST(GemmPlan, ATuningIsAnInputLikeAnyOther) {
  const GemmProblem p{.m = 4096, .n = 4096, .k = 4096, .dtype = bf16, .layout = GemmLayout::nt};
  const DeviceInfo device = *device_model("H200");
  const auto with = [&](const GemmProblem& problem, const Tuning& tuning, const PlanOptions& options = {}) {
    auto plan = plan_gemm(problem, device, options, &tuning);
    return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
  };
  Tuning tuning;
  EXPECT_EQ(with(p, tuning), chosen(p));
  tuning.set(device.name, "gemm", p.text(), {"ping_pong", 180});
  EXPECT_EQ(with(p, tuning), "ping_pong");
  EXPECT_EQ(with(p, tuning, {.variant = "multicast"}), "multicast");  // a named variant wins
  GemmProblem other = p;
  other.b = GemmOperand{.dtype = bf16, .row_stride = 1, .col_stride = 5000};  // not the measured layout
  EXPECT_EQ(with(other, tuning), chosen(other));
  tuning.set("another device", "gemm", p.text(), {"naive", 1});
  EXPECT_EQ(with(p, tuning), "ping_pong");
  tuning.set(device.name, "gemm", p.text(), {"vec4", 180});  // not for bf16
  EXPECT_EQ(with(p, tuning), chosen(p));
  tuning.set(device.name, "gemm", p.text(), {"no_such_row", 180});
  EXPECT_EQ(
      with(p, tuning),
      "gemm: tuning is 'no_such_row' for bf16 4096x4096x4096 nt; it must be a variant of this version: the file is of "
      "another one");
}

TEST(Tuning, AFileIsReadBackOrRefused) {
  const auto path = std::filesystem::temp_directory_path() / ("ridge-tuning-" + std::to_string(getpid()));
  Tuning tuning;
  tuning.set("NVIDIA H200", "gemm", "f32 8x8x8 nn", {"async", 12.5});
  tuning.set("NVIDIA H200", "gemm", "f32 9x8x8 nn", {"async_unaligned", 13});
  ASSERT_TRUE(tuning.write(path).ok());
  auto read = Tuning::read(path);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->size(), 2u);
  ASSERT_NE(read->find("NVIDIA H200", "gemm", "f32 8x8x8 nn"), nullptr);
  EXPECT_EQ(*read->find("NVIDIA H200", "gemm", "f32 8x8x8 nn"), (Tuning::Entry{"async", 12.5}));
  EXPECT_EQ(read->find("NVIDIA H100", "gemm", "f32 8x8x8 nn"), nullptr);

  const std::string name = "tuning file '" + path.string() + "' ";
  const auto of = [&](const std::string& text) {
    std::ofstream(path) << text;
    auto result = Tuning::read(path);
    return result ? std::string("read") : std::string(result.error().message()).substr(name.size());
  };
  EXPECT_EQ(of("ridge tuning 2\n"), "read");
  EXPECT_EQ(of("{\"device\": 1}\n"), "does not begin with 'ridge tuning 2'");
  for (const char* line : {"x", "v\td\tgemm\tp\tasync", "v\td\tgemm\tp\tasync\tx\n", "v\td\tgemm\tp\tasync\t-1\n",
                           "v\td\tgemm\tp\t\t1\n", "v\td\tgemm\tp\tasync\tnan\n", "v\td\tgemm\tasync\t1\n",
                           "v\td\tgemm\tp\tasync\t12", "\t1\n", "v\td\tg\te\tmm\tp\tasync\t1\n"})
    EXPECT_EQ(of(std::string("ridge tuning 2\nv\td\tgemm\tq\tasync\t1\n") + line), "is corrupt in line 3") << line;
  std::filesystem::remove(path);
  EXPECT_EQ(std::string(Tuning::read(path).error().message()), name + "cannot be read");
  EXPECT_EQ(std::string(tuning.write("/no/such/folder/x").message()),
            "tuning file '/no/such/folder/x' cannot be written");
}

}  // namespace
}  // namespace ridge
