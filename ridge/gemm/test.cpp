#include <ridge/check/gtest_cases.hpp>
#include <ridge/core/tuning.hpp>
#include <ridge/gemm/gemm.hpp>
#include <ridge/gemm/linear.hpp>
#include <ridge/gemm/raster.hpp>
#include <ridge/gemm/variants.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

namespace ridge {
namespace {

using gemm_detail::variants;

const check::TestCasesOf cases{"gemm", "grouped_gemm", "linear"};

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
  EXPECT_EQ(chosen({.m = 512, .n = 512, .k = 512}), "tma_64x64");
  EXPECT_EQ(chosen({.m = 256, .n = 256, .k = 4096}), "tma_64x64");
}

TEST(GemmPlan, RowsThatStartAnywhereAreCopiedByElements) {
  EXPECT_TRUE(chosen({.m = 4095, .n = 4095, .k = 4096}, "A100").starts_with("async_unaligned"));
  GemmProblem p{.m = 1024, .n = 1024, .k = 1024};
  p.a = GemmOperand{.row_stride = 1024, .phase = 4};
  EXPECT_TRUE(chosen(p, "A100").starts_with("async_unaligned"));
}

TEST(GemmPlan, StridesThatAreNeighboursNowhereHaveAVariant) {
  GemmProblem p{.m = 4096, .n = 4096, .k = 512};
  p.b = GemmOperand{.row_stride = 8192, .col_stride = 2};
  EXPECT_EQ(chosen(p, "A100"), "thread_8x8");
  EXPECT_EQ(chosen(p), "tma_128x128");  // of a copy
}

TEST(GemmPlan, TilesByTmaCopyWhatTheyCannotReadAndTurnOneOfTwoOperandsAlongK) {
  const auto workspace = [](const GemmProblem& p) {
    return plan_gemm(p, *device_model("H200"), {.variant = "tma_128x128"})->workspace;
  };
  for (GemmLayout layout : {GemmLayout::nn, GemmLayout::tn, GemmLayout::tt})
    EXPECT_EQ(workspace({.m = 512, .n = 256, .k = 1024, .layout = layout}), 0u) << name(layout);
  EXPECT_EQ(workspace({.m = 512, .n = 256, .k = 1024, .layout = GemmLayout::nt}), 256u * 1024 * 4);
  EXPECT_EQ(workspace({.m = 512, .n = 255, .k = 1024}), 256u * 1024 * 4);  // rows of 1020 bytes
  EXPECT_EQ(workspace({.m = 511, .n = 256, .k = 1024, .layout = GemmLayout::tt}), 512u * 1024 * 4);  // A's
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
  const double one = predicted({.m = 132 * 128, .n = 128, .k = 4096}, "async"),
               two = predicted({.m = 132 * 128 + 1, .n = 128, .k = 4096}, "async");
  EXPECT_GT(two, 1.4 * one);
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
      EXPECT_EQ(of(512, 512, 4096), "dmma_64x64") << device;
      EXPECT_EQ(of(4095, 4095, 4095), "dmma_unaligned") << device;
    }
}

TEST(GemmPlan, AmpereTakesItsTensorCores) {
  for (DType dtype : {f16, bf16})
    for (const char* device : {"A100", "RTX4090"})
      for (GemmLayout layout : {GemmLayout::nn, GemmLayout::nt, GemmLayout::tn, GemmLayout::tt}) {
        EXPECT_EQ(chosen({.m = 4096, .n = 4096, .k = 4096, .dtype = dtype, .layout = layout}, device), "mma");
        EXPECT_EQ(chosen({.m = 256, .n = 512, .k = 4096, .dtype = dtype, .layout = layout}, device), "mma_64x64");
        EXPECT_EQ(chosen({.m = 4095, .n = 4095, .k = 4095, .dtype = dtype, .layout = layout}, device), "mma_unaligned");
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
    for (const GemmOperand& a : {GemmOperand{.dtype = dtype, .row_stride = 1000, .phase = 2},
                                 {.dtype = dtype, .row_stride = -1000},  // aligned, and bottom up
                                 {.dtype = dtype, .row_stride = 2000, .col_stride = 2}}) {
      p.a = a;
      auto plan = plan_gemm(p, *device_model("H200"), {.variant = "multicast"});
      ASSERT_TRUE(plan.ok());
      EXPECT_EQ(plan->workspace_bytes(), std::size_t{1000} * 1024 * 2);  // a alone, rows on 128 bytes
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
    bool swapped;
  };
  for (const Expected& e : {Expected{16, 4096, 4096, "narrow_16", 2, true},
                            {16, 8192, 8192, "narrow_16", 1, true},
                            {32, 4096, 4096, "narrow_32", 2, true},
                            {64, 4096, 4096, "narrow_64", 2, true},
                            {64, 8192, 8192, "narrow_64", 1, true},
                            {128, 4096, 4096, "split_64x128", 2, true},
                            {4096, 16, 4096, "narrow_16", 2, false}}) {
    const GemmPlan plan = plan_of(e.m, e.n, e.k);
    EXPECT_EQ(variants[plan.variant].name, e.variant) << e.m << "x" << e.n << "x" << e.k;
    EXPECT_EQ(plan.split, e.split) << e.m << "x" << e.n << "x" << e.k;
    EXPECT_EQ(plan.swapped, e.swapped) << e.m << "x" << e.n << "x" << e.k;
    EXPECT_EQ(plan.workspace_bytes(), 0u);
  }
  // Rows of 13 are copied along k, a matrix of 75 KB; those of 2880 are read where they are.
  const GemmPlan ragged = plan_of(5120, 13, 2880, GemmLayout::nn);
  EXPECT_EQ(variants[ragged.variant].name, "narrow_16");
  EXPECT_FALSE(ragged.swapped);
  EXPECT_EQ(ragged.workspace_bytes(), std::size_t{13} * 2880 * 2);
  EXPECT_GT(plan_of(16, 512, 8192).split, 4);
  EXPECT_EQ(plan_of(16, 4096, 64).split, 1);  // one step
}

TEST(GemmPlan, RowsThatTheCopyEngineIsSlowToReadAreLoadedForTwoBlocks) {
  const auto chosen = [](std::int64_t size) {
    const auto plan = plan_gemm({.m = size, .n = size, .k = size, .dtype = f16}, *device_model("H200"));
    return std::string(variants[plan->variant].name);
  };
  EXPECT_EQ(chosen(1024), "wgmma_64x128");
  EXPECT_EQ(chosen(1008), "wgmma_64x128");
  EXPECT_EQ(chosen(1000), "wgmma_64x128_pairs");  // on 16 bytes and not on 32
}

TEST(GemmConfig, EachRowOfASplitTileIsAddedUpByOneBlock) {
  using namespace gemm_kernels;
  for (const int rows : {16, 32, 64, 128})
    for (int split = 1; split <= max_split; split *= 2) {
      const int log2 = split_share_log2(rows, split);
      EXPECT_GE(1 << log2, 8) << "a thread's pairs of rows are one block's";
      EXPECT_GE(split << log2, rows) << rows << " " << split;
      EXPECT_LT((rows - 1) >> log2, split) << rows << " " << split;
    }
  for (const auto& row : variants) {
    const Config& c = row.config;
    if (c.family != Family::wgmma_split) continue;
    for (const bool swapped : {false, true})
      for (int split = 1; split <= max_split; split *= 2)
        EXPECT_LE(4 * split * split_pitch(c, swapped) << split_share_log2(swapped ? c.bn : c.bm, split),
                  split_sums_bytes(c))
            << row.name << " " << split;
    EXPECT_LE(split_sums_at(c) + split_sums_bytes(c), split_barriers_at(c)) << row.name;
    EXPECT_LE(split_smem_bytes(c), 232448 / c.blocks_per_sm) << row.name;
  }
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
  // Where there are none, in float32.
  EXPECT_TRUE(of(f32, GemmMath::tf32, GemmLayout::nt, "A100").starts_with("async"));
  EXPECT_TRUE(of(f32, GemmMath::tf32x3, GemmLayout::nt, "A100").starts_with("async"));
  EXPECT_EQ(refusal({.m = 8, .n = 8, .k = 8}, "tf32"),
            "gemm: variant is tf32; it must be another one here: computes as math=tf32, which was not asked for");
  // Along k they are read where they are; else turned, and for three products kept in two parts.
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
  EXPECT_EQ(of(2048, 2048, 2048), "ping_pong");  // a wave of 128x256 would wait for its first loads and its stores
  EXPECT_EQ(of(4096, 4096, 4096), "multicast");
  EXPECT_EQ(of(4096, 4096, 14336), "multicast");
  EXPECT_EQ(of(8192, 8192, 8192), "ping_pong_128x192");  // 20.8 waves of 21
  EXPECT_EQ(of(4096, 28672, 4096), "ping_pong_128x192");
  EXPECT_EQ(of(4096, 4096, 4096, Activation::gelu), "ping_pong");  // hides what the epilogue computes
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
            "gemm: math is tf32; it must be left away: it is for f32, and a is bf16");
  EXPECT_EQ(error({.m = 8, .n = 8, .k = 8, .scalars = {.math = GemmMath::fast}}),
            "gemm: math is fast; it must be left away: it is for f8e4m3 and f8e5m2, and a is f32");
  EXPECT_EQ(error({.m = 8, .n = 8, .k = 8, .scalars = {.alpha = NAN}}), "gemm: alpha is nan; it must be finite");
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
  EXPECT_EQ(with(p, tuning, {.variant = "multicast"}), "multicast");  // who names one has it
  GemmProblem other = p;
  other.b = GemmOperand{.dtype = bf16, .row_stride = 1, .col_stride = 5000};  // not as it was measured
  EXPECT_EQ(with(other, tuning), chosen(other));
  tuning.set("another device", "gemm", p.text(), {"naive", 1});
  EXPECT_EQ(with(p, tuning), "ping_pong");
  tuning.set(device.name, "gemm", p.text(), {"vec4", 180});  // not for bf16
  EXPECT_EQ(with(p, tuning), chosen(p));
  tuning.set(device.name, "gemm", p.text(), {"no_such_row", 180});
  EXPECT_EQ(
      with(p, tuning),
      "gemm: tuning is 'no_such_row' for bf16 4096x4096x4096 nt; it must be a variant that there is; the file is of "
      "another version");
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
  EXPECT_EQ(of("ridge tuning 1\n"), "read");
  EXPECT_EQ(of("{\"device\": 1}\n"), "does not begin with 'ridge tuning 1'");
  for (const char* line : {"x", "d\tgemm\tp\tasync", "d\tgemm\tp\tasync\tx\n", "d\tgemm\tp\tasync\t-1\n",
                           "d\tgemm\tp\t\t1\n", "d\tgemm\tp\tasync\tnan\n", "d\tgemm\tasync\t1\n",
                           "d\tgemm\tp\tasync\t12", "\t1\n", "d\tg\te\tmm\tp\tasync\t1\n"})
    EXPECT_EQ(of(std::string("ridge tuning 1\nd\tgemm\tq\tasync\t1\n") + line), "is corrupt in line 3") << line;
  std::filesystem::remove(path);
  EXPECT_EQ(std::string(Tuning::read(path).error().message()), name + "cannot be read");
  EXPECT_EQ(std::string(tuning.write("/no/such/folder/x").message()),
            "tuning file '/no/such/folder/x' cannot be written");
}

// ---- facts --------------------------------------------------------------------------------------------------------

TEST(GemmTable, KernelsForHopperFitAMultiprocessor) {
  using namespace gemm_kernels;
  for (const auto& row : variants)
    if (is_hopper(row.config)) {
      const DeviceInfo h200 = *device_model("H200");
      const int bytes = smem_bytes(row.config, f16);
      EXPECT_LE(bytes, h200.smem_optin) << row.name;
      EXPECT_LE(row.config.blocks_per_sm * (bytes + h200.smem_reserved), h200.smem_per_sm) << row.name;
      EXPECT_EQ(wgmma_stage_bytes(row.config) % 1024, 0) << row.name;  // swizzled tiles
    }
}

TEST(GemmTable, KernelsOfMmaSyncFitAMultiprocessor) {
  using namespace gemm_kernels;
  for (const auto& row : variants) {
    const Config& c = row.config;
    if (c.family != Family::mma_sync) continue;
    const DType dtype = row.types.contains(f64) ? f64 : f16;
    const DeviceInfo a100 = *device_model("A100");
    EXPECT_LE(mma_smem_bytes(c, dtype), a100.smem_optin) << row.name;
    EXPECT_LE(c.blocks_per_sm * (mma_smem_bytes(c, dtype) + a100.smem_reserved), a100.smem_per_sm) << row.name;
    EXPECT_LE(c.wm * c.wn / 32 * staged_bytes(dtype) / 4, 128) << row.name;  // registers of sums
  }
}

TEST(GemmTable, NamesAreUniqueAndLastResortsTakeEverything) {
  std::set<std::string_view> names;
  for (const auto& row : variants) EXPECT_TRUE(names.insert(row.name).second) << row.name;
  EXPECT_EQ(variants[0].types.bits, gemm_detail::any_type.bits);
}

TEST(GemmRaster, EveryTileOnceAndBandsInOrder) {
  for (const auto& [rows, cols] : {std::pair{1, 1}, {8, 5}, {9, 3}, {23, 7}, {3, 40}}) {
    const gemm_kernels::Raster raster{rows, cols, 8};
    std::set<std::pair<std::int64_t, std::int64_t>> seen;
    for (std::int64_t i = 0; i < raster.tiles(); ++i) {
      const auto at = raster.at(i);
      EXPECT_TRUE(at.row >= 0 && at.row < rows && at.col >= 0 && at.col < cols);
      EXPECT_EQ(at.row / 8, i / (8 * cols));
      seen.insert({at.row, at.col});
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(rows * cols));
  }
}

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

// ---- a gate, and groups ----------------------------------------------------------------------------------------------

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
  p.gate_lies = GemmOperand{.dtype = bf16, .row_stride = 1, .col_stride = 4096};  // and the gate is turned as b lies
  EXPECT_EQ(plan_gemm(p, *device_model("H200"))->workspace_bytes(), std::size_t{4096 + 4095} * 4096 * 2);
  p.gate_lies.reset();
  EXPECT_EQ(
      refusal(p, "multicast"),
      "gemm: variant is multicast; it must be another one here: it multiplies by one operand B, and not by a gate "
      "too");
  EXPECT_EQ(chosen({.m = 8, .n = 8, .k = 8, .dtype = i8, .gate = true}),
            "gemm: gate is given; it must be left away where a is i8: it is for f64 f32 f16 bf16");
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

// Every tile of every group once, whatever the offsets, and no slot beyond those that there are.
TEST(GemmGroups, EveryTileOnce) {
  using namespace gemm_kernels;
  for (const std::vector<std::int32_t>& offsets : {std::vector<std::int32_t>{0, 5},
                                                   {0, 0, 0, 7, 7},
                                                   {3, 4, 4, 130, 131, 131, 200},
                                                   {0, 128, 256, 256},
                                                   {127, 128, 129},
                                                   {10, 10, 10},
                                                   {0, 1, 2, 3, 4, 5, 6}})
    for (const int bm : {1, 3, 16, 128}) {
      const auto count = static_cast<std::int64_t>(offsets.size()) - 1;
      const Groups groups{offsets.data(), count, 300};
      std::set<std::pair<std::int64_t, std::int64_t>> seen;
      for (std::int64_t slot = 0; slot < group_slots(300, count, bm); ++slot) {
        const GroupTile at = group_tile(groups, bm, slot);
        if (at.rows == 0) continue;
        EXPECT_EQ(at.first, offsets[at.group]);
        EXPECT_EQ(at.first + at.rows, offsets[at.group + 1]);
        EXPECT_LT(at.tile * bm, at.rows);
        EXPECT_TRUE(seen.insert({at.group, at.tile}).second);
      }
      std::size_t tiles = 0;
      for (std::int64_t g = 0; g < count; ++g) tiles += (offsets[g + 1] - offsets[g] + bm - 1) / bm;
      EXPECT_EQ(seen.size(), tiles);
    }
}

TEST(GemmGroups, OffsetsOutsideStayInside) {
  using namespace gemm_kernels;
  const std::vector<std::int32_t> wild{-7, 2000000000, 3, -2000000000, 40};
  const Groups groups{wild.data(), 4, 30};
  for (std::int64_t slot = 0; slot < group_slots(30, 4, 8); ++slot) {
    const GroupTile at = group_tile(groups, 8, slot);
    EXPECT_GE(at.first, 0);
    EXPECT_LE(at.first + at.rows, 30);
  }
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
            "gemm: offsets.shape is 3; it must be 4, one more than b has matrices, without gaps");
  EXPECT_EQ(why({.a = s.A, .b = s.B, .d = s.D, .offsets = view(s.a.data(), {4})}),
            "gemm: offsets.dtype is f32; it must be i32");
  EXPECT_EQ(why({.a = s.A, .b = s.B, .d = s.D, .bias = view(s.b.data(), {2}), .offsets = s.O}),
            "gemm: bias.shape is 2; it must be 3x2, one for each group");
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
  std::vector<float> x(2 * 4 * 3), y(8, -1), residual{1, 2, 3, 4, 5, 6, 7, 8};  // x [2, 2, 3], of every other row
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
              "linear: x.shape is 2x2x2x3 strides 1,7,3,1; it must be with leading axes that lie, together with those "
              "of y and residual, as one or two axes");
  }
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
            "linear: y is overlapping a; it must be apart from it");
  TensorView half_w = w;
  half_w.dtype = f16;
  EXPECT_EQ(why({.x = s.A, .w = half_w, .y = s.D}), "linear: w.dtype is f16; it must be that of a, f32");
}

}  // namespace
}  // namespace ridge
