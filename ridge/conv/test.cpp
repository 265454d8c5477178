#include <ridge/check/gtest_cases.hpp>
#include <ridge/conv/conv_transpose.hpp>
#include <ridge/conv/families.hpp>
#include <ridge/conv/geometry.hpp>
#include <ridge/conv/plan_time.hpp>
#include <ridge/conv/winograd.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace ridge {
namespace {

using conv_detail::Axis;
using conv_detail::AxisMap;
using conv_detail::variants;
using conv_detail::winograd_parts;

const check::TestCasesOf cases{"conv2d", "conv1d", "conv3d", "conv_transpose2d", "conv_transpose1d"};

std::string chosen(const Result<ConvProblem>& p, const char* variant = "") {
  if (!p) return std::string(p.error().message());
  auto plan = plan_conv2d(*p, *device_model("H200"), {.variant = variant});
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}
constexpr ConvGeometry padded_by(std::int64_t n) { return {.pad = {n, n, n, n}}; }

// For a named row on tensor cores: its refusal, or the bytes of its workspace for copies.
std::string on_tensor_cores(const ConvProblem& p, const char* variant = "wgmma_128") {
  auto plan = plan_conv2d(p, *device_model("H200"), {.variant = variant});
  return plan ? std::to_string(plan->workspace) : std::string(plan.error().message());
}

// The row that a plan of this problem chooses.
std::string chosen(const ConvProblem& p) { return chosen(Result<ConvProblem>(p)); }

TEST(ConvPlan, FewChannelsAreReadOnce) {
  EXPECT_EQ(chosen(ConvProblem::contiguous(f32, {}, 1, 6, 768, 512, 6, 6, 6)), "direct_6x6");
  EXPECT_EQ(chosen(ConvProblem::contiguous(f32, {}, 8, 6, 768, 512, 6, 6, 6)), "direct_6x6");
  EXPECT_EQ(chosen(ConvProblem::contiguous(f32, padded_by(1), 1, 3, 1080, 1920, 3, 3, 3)), "direct_3x3");
  EXPECT_EQ(chosen(ConvProblem::contiguous(f32, {}, 1, 3, 768, 512, 16, 3, 3)), "direct_3x3_wide");
  ConvGeometry depthwise = padded_by(1);
  depthwise.groups = 128;
  EXPECT_EQ(chosen(ConvProblem::contiguous(f32, depthwise, 32, 128, 56, 56, 128, 3, 3)), "depthwise_3_planes");
}

TEST(ConvPlan, TheHaloIsForStridesOfOneAndWhatSharedMemoryHolds) {
  const auto why = [](const char* variant, const ConvGeometry& g, DType dtype = f32, std::int64_t taps = 3,
                      bool backward = false) {
    return chosen(ConvProblem::contiguous(dtype, g, 1, 4, 140, 140, 4, taps, taps, backward), variant);
  };
  for (const std::string variant : {"halo_8x4", "prefetch_8x4"}) {
    const std::string but = "conv2d: variant is " + variant + "; it must be another one here: ";
    EXPECT_EQ(why(variant.c_str(), {.pad = {1, 2, 0, 3}, .groups = 2}), variant);
    EXPECT_EQ(why(variant.c_str(), {.stride = {1, 2}}), but + "stride or dilation is not 1");
    EXPECT_EQ(why(variant.c_str(), {.dilation = {2, 1}}), but + "stride or dilation is not 1");
    EXPECT_EQ(why(variant.c_str(), {.layout = ConvLayout::nhwc}), but + "channels are innermost");
    EXPECT_EQ(why(variant.c_str(), {}, bf16), but + "it is for f32");
    EXPECT_EQ(why(variant.c_str(), {}, f32, 3, true), but + "it has no gradients");
  }
  // A channel's 191 x 192 inputs and 128 x 128 taps fit once.
  EXPECT_EQ(why("halo_8x4", {}, f32, 128), "halo_8x4");
  EXPECT_EQ(why("prefetch_8x4", {}, f32, 128), "conv2d: variant is prefetch_8x4; it must be another one here: " +
                                                   std::to_string(2 * 4 * (191 * 192 + 128 * 128)) +
                                                   " bytes of shared memory, and the device has 232448");
  EXPECT_EQ(chosen(ConvProblem::contiguous(f32, padded_by(1 << 12), 1, 1, 1, 1, 1, 1 << 12, 1), "halo_8x4"),
            "conv2d: variant is halo_8x4; it must be another one here: filters larger than shared memory");
}

TEST(ConvPlan, RowsOfYBeyond32BitsAreCountedIn64) {
  constexpr std::int64_t most = (std::int64_t{1} << 30) - 1;
  const ConvGeometry tall{.pad = {.top = most, .left = 1, .bottom = most, .right = 1}};
  const auto p = ConvProblem::contiguous(f32, tall, 1, 1, 100, 1, 1, 3, 3);
  const std::string but = "; it must be another one here: images of 2^30 rows or columns";
  for (const char* variant : {"direct_3x3", "winograd"})
    EXPECT_EQ(chosen(p, variant), std::string("conv2d: variant is ") + variant + but);
  EXPECT_FALSE(chosen(p).starts_with("conv2d: ")) << chosen(p);  // other rows take it
}

TEST(ConvPlan, GroupsWithoutChannelsAreCounted) {
  ConvGeometry g;
  g.groups = std::int64_t{1} << 62;
  EXPECT_EQ(chosen(ConvProblem::contiguous(f32, g, 4, 0, 8, 8, 0, 3, 3)),
            "conv2d: groups is of more than 2^60 elements; it must be smaller");
}

TEST(ConvPlan, ManyChannelsAreAMatrixProduct) {
  for (const DType dtype : {f32, bf16}) {
    const bool tensor = dtype == bf16;
    EXPECT_EQ(chosen(ConvProblem::contiguous(dtype, padded_by(1), 32, 64, 56, 56, 64, 3, 3)),
              tensor ? "channels_last" : "winograd");
    EXPECT_EQ(chosen(ConvProblem::contiguous(dtype, padded_by(1), 64, 512, 28, 28, 512, 3, 3)),
              tensor ? "channels_last" : "winograd");
    EXPECT_EQ(chosen(ConvProblem::contiguous(dtype, padded_by(1), 32, 64, 56, 56, 64, 3, 3, true)).substr(0, 8),
              tensor ? "channels" : "each_gra");
  }
  EXPECT_EQ(chosen(ConvProblem::contiguous(f32, padded_by(1), 32, 256, 14, 14, 256, 3, 3)), "winograd");
  EXPECT_EQ(chosen(ConvProblem::contiguous(f32, {}, 32, 1024, 14, 14, 256, 1, 1)), "product");
  EXPECT_EQ(chosen(ConvProblem::contiguous(f32, {.stride = {2, 2}, .pad = {3, 3, 3, 3}}, 32, 3, 224, 224, 64, 7, 7)),
            "fma_64");
}

TEST(ConvPlan, Tf32IsForThoseWhoAskForIt) {
  ConvGeometry g = padded_by(1);
  g.layout = ConvLayout::nhwc;
  const auto asking = [&](DType dtype, std::int64_t c, std::int64_t h, std::int64_t k, std::int64_t r = 3) {
    ConvProblem p = *ConvProblem::contiguous(dtype, g, 32, c, h, h, k, r, r);
    p.math = ConvMath::tf32;
    return p;
  };
  EXPECT_EQ(chosen(asking(f32, 64, 56, 64)), "tf32_64");
  EXPECT_EQ(chosen(asking(f32, 256, 14, 256)), "tf32_128");
  EXPECT_EQ(chosen(asking(f32, 512, 56, 512)), "tf32_256");
  ConvProblem exact = asking(f32, 64, 56, 64);
  exact.math = ConvMath::exact;
  EXPECT_EQ(on_tensor_cores(exact, "tf32_64"),
            "conv2d: variant is tf32_64; it must be another one here: computes as math=tf32, which was not asked for");
  EXPECT_EQ(on_tensor_cores(asking(bf16, 64, 56, 64), "wgmma_64"),
            "conv2d: math is tf32; it must be exact, as x is bf16: tf32 is for f32");
}

TEST(ConvPlan, ImagesArePartedWhereWinogradsSumsAreMany) {
  const auto parts = [](std::int64_t n) {
    return winograd_parts(*ConvProblem::contiguous(f32, padded_by(1), n, 512, 28, 28, 512, 3, 3));
  };
  EXPECT_EQ(parts(41).parts, 1);  // 12.8 MB per image; the limit is 512 MiB
  EXPECT_EQ(parts(42).parts, 2);
  EXPECT_EQ(parts(42).images, 21);
  EXPECT_EQ(parts(83).parts, 3);
  EXPECT_EQ(parts(83).images, 28);
}

TEST(ConvPlan, StemsAreReadWhereTheyLie) {
  ConvGeometry g{.stride = {2, 2}, .pad = {3, 3, 3, 3}, .layout = ConvLayout::nhwc};
  const auto stem = [&](std::int64_t w, std::int64_t channels = 3, std::int64_t s = 7) {
    return *ConvProblem::contiguous(f16, g, 32, channels, 224, w, 64, 7, s);
  };
  EXPECT_EQ(chosen(stem(224)), "stem_7");
  EXPECT_EQ(on_tensor_cores(stem(224), "stem_7"), "0");
  const std::string but = "conv2d: variant is stem_7; it must be another one here: ";
  EXPECT_EQ(on_tensor_cores(stem(225), "stem_7"), but + "x is not [n, h, w, c] whose rows start on 16 bytes");
  EXPECT_EQ(on_tensor_cores(stem(224, 4), "stem_7"),
            but + "a window's row is not of 17 to 24 elements, or one less where padding is an odd number of them");
  EXPECT_EQ(on_tensor_cores(stem(224, 3, 5), "stem_7"),
            but + "a window's row is not of 17 to 24 elements, or one less where padding is an odd number of them");
  g.stride = {2, 1};
  EXPECT_EQ(on_tensor_cores(stem(224), "stem_7"),
            but + "it is for strides of at most 2, and an even number of elements from window to window");
}

TEST(ConvPlan, GradientsOnTensorCores) {
  ConvGeometry g = padded_by(1);
  g.layout = ConvLayout::nhwc;
  const auto problem = [&](std::int64_t c, std::int64_t h, std::int64_t k) {
    return *ConvProblem::contiguous(bf16, g, 32, c, h, h, k, 3, 3, true);
  };
  for (const ConvProblem& p : {problem(64, 56, 64), problem(256, 14, 256), problem(512, 28, 512)})
    EXPECT_EQ(chosen(p).substr(0, 6), "wgmma_");
  EXPECT_EQ(chosen(problem(60, 14, 64)), "channels_last");
  const std::string but = "conv2d: variant is wgmma_128; it must be another one here: ";
  EXPECT_EQ(on_tensor_cores(problem(64, 14, 60)),
            but + "its gradients are for dy with filters innermost, whose pixels start on 16 bytes");
  g.pad = {130, 0, 0, 0};
  EXPECT_EQ(
      on_tensor_cores(problem(64, 14, 64)),
      but + "its gradients are for x with channels innermost, whose pixels start on 16 bytes, and for less padding");
}

ConvGeometry last_by(std::int64_t stride, std::int64_t pad) {
  return {.stride = {stride, stride}, .pad = {pad, pad, pad, pad}, .layout = ConvLayout::nhwc};
}
// Of x [n, h, h, c] and filters [c, r, r, k], channels last.
Result<ConvProblem> transposed(DType dtype, const ConvGeometry& g, std::int64_t n, std::int64_t c, std::int64_t h,
                               std::int64_t k, std::int64_t r, std::int64_t output_pad = 0) {
  const auto of = [&](std::vector<std::int64_t> shape) {
    return TensorView{nullptr, dtype, Layout::contiguous(shape), Device{}};
  };
  const TensorView x = of({n, h, h, c}), w = of({c, r, r, k});
  const auto shape = conv_transpose2d_shape(g, {output_pad, output_pad}, x.layout, w.layout);
  if (!shape) return shape.error();
  return ConvProblem::of_transposed({.x = x, .w = w, .y = of(*shape)}, g);
}

TEST(ConvPlan, TransposedOnesAreShuffledWhereWindowsLieSideBySide) {
  EXPECT_EQ(chosen(transposed(bf16, last_by(2, 0), 1, 1024, 28, 512, 2)), "shuffle_128");
  EXPECT_EQ(chosen(transposed(f16, last_by(14, 0), 8, 256, 14, 64, 14)), "shuffle_128");
  EXPECT_EQ(chosen(transposed(bf16, last_by(2, 1), 64, 512, 8, 256, 4)).substr(0, 6), "wgmma_");
  EXPECT_EQ(chosen(transposed(bf16, last_by(2, 1), 1, 64, 28, 64, 3, 1)).substr(0, 6), "wgmma_");
  EXPECT_EQ(chosen(transposed(f32, last_by(2, 0), 1, 1024, 28, 512, 2)), "flipped");
  const std::string but = "conv_transpose2d: variant is shuffle_128; it must be another one here: ";
  const auto why = [](const Result<ConvProblem>& p) { return chosen(p, "shuffle_128"); };
  EXPECT_EQ(why(transposed(bf16, last_by(2, 0), 1, 64, 28, 64, 3)), but + "windows do not lie side by side");
  EXPECT_EQ(why(transposed(bf16, last_by(3, 0), 1, 64, 28, 64, 3, 1)), but + "windows do not lie side by side");
  EXPECT_EQ(why(transposed(bf16, last_by(2, 0), 1, 60, 28, 64, 2)),
            but + "its input's channels are not innermost, or pixels do not start on 16 bytes");
  EXPECT_EQ(why(transposed(bf16, last_by(2, 0), 1, 64, 28, 60, 2)),
            but + "filters are not [c, r, s, k] whose pieces of 16 bytes are aligned");
  // The gradient of an image that was cut into patches; not where the filters' is asked for too.
  ConvProblem patches = *ConvProblem::contiguous(bf16, last_by(16, 0), 8, 8, 224, 224, 768, 16, 16, true);
  EXPECT_EQ(why(patches),
            "conv2d: variant is shuffle_128; it must be another one here: it is for transposed "
            "convolutions, and the gradient of x alone");
  patches.dw.reset();
  EXPECT_EQ(chosen(patches), "shuffle_128");
}

TEST(ConvPlan, RowsWithGradientsAreThoseThatTakeOne) {
  for (const auto& row : variants) {
    using conv_detail::Algorithm;
    const Algorithm algorithm = row.config.algorithm;
    const bool depthwise = algorithm == Algorithm::depthwise_gradient;
    ConvGeometry g = last_by(algorithm == Algorithm::product ? 1 : 2, 0);
    if (depthwise) g.groups = 64;
    const auto p = transposed(bf16, g, 2, 64, 14,
                              depthwise                               ? 1
                              : algorithm == Algorithm::channels_last ? 60
                                                                      : 64,
                              depthwise                         ? row.config.size
                              : algorithm == Algorithm::product ? 1
                                                                : 2);
    ASSERT_TRUE(p) << p.error().message();
    const bool of_filters = algorithm == Algorithm::few_gradient || algorithm == Algorithm::windows;
    if (of_filters || algorithm == Algorithm::each_gradient) continue;  // of a convolution alone
    const std::string why = conv_detail::family_of(row).fits(row, {*p}, *device_model("H200"));
    EXPECT_EQ(conv_detail::has_gradients(row.config), why.empty()) << row.name << ": " << why;
  }
}

// The row that a plan for an H200 chooses, and those of its nested plans.
std::string rows_of(const Result<ConvProblem>& p, const char* variant = "") {
  if (!p) return std::string(p.error().message());
  auto plan = plan_conv2d(*p, *device_model("H200"), {.variant = variant});
  return plan ? conv_detail::row_of(*plan) : std::string(plan.error().message());
}

TEST(ConvPlan, WhatIsNotChannelsLastIsCopied) {
  const auto geometry = [](std::int64_t stride, std::int64_t pad, std::int64_t groups = 1) {
    return ConvGeometry{.stride = {stride, stride}, .pad = {pad, pad, pad, pad}, .groups = groups};
  };
  const auto rows = [](DType dtype, const ConvGeometry& g, std::int64_t n, std::int64_t c, std::int64_t h,
                       std::int64_t k, std::int64_t r, bool backward) {
    return rows_of(ConvProblem::contiguous(dtype, g, n, c, h, h, k, r, r, backward));
  };
  EXPECT_EQ(rows(bf16, geometry(1, 1, 96), 4, 96, 128, 96, 3, false), "depthwise_3_planes");
  EXPECT_EQ(rows(bf16, geometry(1, 3, 192), 32, 192, 56, 192, 7, false), "channels_last: depthwise_7_last");
  EXPECT_EQ(rows(bf16, geometry(1, 1, 96), 8, 96, 28, 96, 3, true), "channels_last: depthwise_3_gradient");
  EXPECT_EQ(rows(bf16, geometry(1, 1, 90), 8, 90, 28, 90, 3, true), "channels_last: depthwise_3_gradient");
  EXPECT_EQ(rows(f16, geometry(1, 1, 32), 32, 128, 56, 128, 3, false), "channels_last: grouped_16");
  for (const auto& text :
       {rows(bf16, geometry(2, 1), 1, 288, 80, 328, 3, true), rows(bf16, geometry(2, 0), 24, 32, 112, 64, 2, true)})
    EXPECT_EQ(text.substr(0, 21), "channels_last: wgmma_");
  ConvGeometry last = geometry(1, 3);
  last.layout = ConvLayout::nhwc;
  EXPECT_EQ(rows(f16, last, 6, 3, 224, 64, 7, true), "channels_last: each_gradient: flipped: few_16, wgmma_64");
}

TEST(ConvPlan, CopiesAreOfWhatIsNotSuitable) {
  const auto bytes = [](const ConvProblem& p) {
    auto plan = plan_conv2d(p, *device_model("H200"), {.variant = "channels_last"});
    if (!plan) return std::string(plan.error().message());
    EXPECT_EQ(plan->nested.size(), 1u);
    return std::to_string(plan->workspace - plan->nested[0].workspace);
  };
  const auto problem = [](const ConvGeometry& g, std::int64_t c, std::int64_t k, bool backward = false) {
    return *ConvProblem::contiguous(f16, g, 2, c, 8, 8, k, 3, 3, backward);
  };
  const std::string but = "conv2d: variant is channels_last; it must be another one here: ";
  EXPECT_EQ(bytes(problem(last_by(1, 1), 64, 32)), but + "its images are channels-last already");
  EXPECT_EQ(bytes(problem(last_by(1, 1), 64, 32, true)), but + "its images are channels-last already");
  constexpr int pixels = 2 * 8 * 8 * 2, taps = 9 * 2;  // bytes of a channel
  EXPECT_EQ(bytes(problem(padded_by(1), 64, 32)), std::to_string(pixels * (64 + 32) + taps * 64 * 32));
  EXPECT_EQ(bytes(problem(last_by(1, 1), 60, 32)), std::to_string(pixels * 64 + taps * 64 * 32));
  EXPECT_EQ(bytes(problem(last_by(1, 1), 64, 30)), std::to_string(pixels * 32 + taps * 64 * 32));
  // Gradients leave filters as they are: dy, x and dx.
  EXPECT_EQ(bytes(problem(padded_by(1), 64, 32, true)), std::to_string(pixels * (64 + 64 + 32)));
  ConvProblem misaligned = problem(last_by(1, 1), 64, 32);
  misaligned.alignment = 2;
  EXPECT_EQ(bytes(misaligned), std::to_string(pixels * (64 + 32) + taps * 64 * 32));
  ConvGeometry groups = padded_by(1);
  groups.groups = 2;
  EXPECT_EQ(bytes(problem(groups, 64, 32)), std::to_string(pixels * (64 + 32) + taps * 32 * 32));
  EXPECT_EQ(bytes(problem(groups, 60, 32)),
            but + "channels or filters of several groups are not whole pieces of 16 bytes");
  EXPECT_EQ(bytes(*ConvProblem::contiguous(f16, {}, 0, 4, 8, 8, 4, 3, 3)), but + "there are no products");
  EXPECT_EQ(bytes(*ConvProblem::contiguous(f16, {}, 1 << 16, 3, 256, 256, 4, 3, 3)),
            but + "images of 2^30 pixels, channels or pieces of 16 bytes, or more");
}

TEST(ConvPlan, EachGradientHasAPlanWhereOneIsNotForBoth) {
  const auto patches = ConvProblem::contiguous(bf16, last_by(16, 0), 1, 3, 224, 224, 1024, 16, 16, true);
  EXPECT_EQ(rows_of(patches).substr(0, 41), "each_gradient: channels_last: shuffle_128");
  EXPECT_EQ(rows_of(ConvProblem::contiguous(f16, {}, 64, 160, 64, 64, 16, 1, 1, true)),
            "each_gradient: product, channels_last: product");
  ConvProblem one = *patches;
  one.dx.reset();
  EXPECT_EQ(rows_of(one, "each_gradient"),
            "conv2d: variant is each_gradient; it must be another one here: it is for both gradients");
}

// x and dx need not lie alike: here dx has gaps between its pixels.
TEST(ConvPlan, EachImageOfAProductHasItsOwnStrides) {
  constexpr std::int64_t pixels = 6, c = 8, k = 4, pitch = 12;
  std::vector<float> x(pixels * c), w(k * c), dy(pixels * k);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 5);
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i % 3);
  const auto gradients_by = [&](const char* variant) {
    std::vector<float> dx(pixels * pitch, -1), dw(k * c, -1);
    TensorView gaps = view(dx.data(), {1, 2, 3, c});
    gaps.layout.stride = {pixels * pitch, 3 * pitch, pitch, 1};
    const ConvGradientTensors t{.dy = view(dy.data(), {1, 2, 3, k}),
                                .x = view(x.data(), {1, 2, 3, c}),
                                .w = view(w.data(), {k, 1, 1, c}),
                                .dx = gaps,
                                .dw = view(dw.data(), {k, 1, 1, c})};
    const ConvGeometry geometry{.layout = ConvLayout::nhwc};
    auto plan = plan_conv2d(*ConvProblem::of_gradient(t, geometry), cpu(), {.variant = variant});
    EXPECT_TRUE(plan.ok()) << variant;
    alignas(16) static unsigned char workspace[1 << 16];
    EXPECT_TRUE(plan && plan->run_gradient(t, {workspace, sizeof workspace}).ok()) << variant;
    dx.insert(dx.end(), dw.begin(), dw.end());
    return dx;
  };
  const auto wanted = gradients_by("naive");
  for (const char* variant : {"product", "each_gradient"}) EXPECT_EQ(gradients_by(variant), wanted) << variant;
}

TEST(ConvPlan, AMisalignedWorkspaceIsRefused) {
  alignas(16) static float at[4096];
  const TensorView x = view(at, {1, 3, 4, 4}), w = view(at + 64, {8, 3, 3, 3}), y = view(at + 512, {1, 8, 2, 2});
  auto plan = plan_conv2d(*ConvProblem::of({x, w, y}), cpu(), {.variant = "channels_last"});
  ASSERT_TRUE(plan.ok());
  const Status status = plan->run({x, w, y}, {at + 1025, 8192});
  EXPECT_EQ(status.message(), "conv2d: workspace.data is misaligned; it must be aligned to 16 bytes");
}

TEST(ConvPlan, PhasesOfAStrideAreLaunchesAndSoAreFew) {
  const auto p = transposed(bf16, last_by(2048, 0), 1, 8, 1, 1, 2048);
  for (const char* variant : {"wgmma_64", "implicit_64"})
    EXPECT_EQ(chosen(p, variant), std::string("conv_transpose2d: variant is ") + variant +
                                      "; it must be another one here: the gradient of x takes more than 64 launches "
                                      "with these strides");
}

TEST(ConvPlan, AThreadForEachElementIsNotForLongSums) {
  ConvProblem filters = *ConvProblem::contiguous(f32, padded_by(1), 32, 1, 224, 224, 8, 3, 3, true);
  filters.dx.reset();
  EXPECT_EQ(rows_of(filters), "channels_last: windows: product");
  EXPECT_EQ(chosen(transposed(f32, last_by(1, 0), 1, 4096, 4, 8, 1)), "product");
  EXPECT_EQ(
      chosen(ConvProblem::contiguous(f32, {.stride = {2, 2}, .pad = {3, 3, 3, 3}}, 64, 3, 224, 224, 64, 7, 7, true))
          .substr(0, 8),
      "each_gra");
}

TEST(ConvPlan, GroupsAndFewChannelsAreOnTensorCores) {
  const auto groups_of = [](std::int64_t group, std::int64_t stride, bool backward) {
    ConvGeometry g = last_by(stride, 1);
    g.groups = 256 / group;
    return rows_of(ConvProblem::contiguous(bf16, g, 16, 256, 28, 28, 256, 3, 3, backward));
  };
  for (const std::int64_t group : {2, 4, 8, 16}) EXPECT_EQ(groups_of(group, 1, false), "grouped_16");
  EXPECT_EQ(groups_of(32, 2, false), "grouped_32");
  EXPECT_EQ(groups_of(64, 1, false), "grouped_64");
  EXPECT_EQ(groups_of(32, 1, true), "each_gradient: flipped: grouped_32, few_gradient");
  EXPECT_EQ(groups_of(8, 2, true),
            "each_gradient: flipped: grouped_16, grouped_16, grouped_16, grouped_16, few_gradient");
  const auto why = [](DType dtype, std::int64_t c, std::int64_t k, std::int64_t groups, const char* variant) {
    ConvGeometry g = last_by(1, 1);
    g.groups = groups;
    return rows_of(ConvProblem::contiguous(dtype, g, 2, c, 9, 9, k, 3, 3), variant);
  };
  const std::string but16 = "conv2d: variant is grouped_16; it must be another one here: ";
  EXPECT_EQ(why(bf16, 64, 64, 1, "grouped_16"), but16 + "it is for groups of as many channels as filters");
  EXPECT_EQ(why(bf16, 64, 128, 4, "grouped_16"), but16 + "it is for groups of as many channels as filters");
  EXPECT_EQ(why(bf16, 96, 96, 8, "grouped_16"), but16 + "groups are not of 2, 4 or 8 channels, or 16 to 64 by eights");
  EXPECT_EQ(why(bf16, 128, 128, 4, "grouped_16"), but16 + "groups, or several together, are not of 16 channels");
  EXPECT_EQ(why(f32, 64, 64, 16, "grouped_16"), but16 + "it is for 16-bit types");
  EXPECT_EQ(why(bf16, 72, 64, 1, "few_16"),
            "conv2d: variant is few_16; it must be another one here: it is for at most 64 channels");
}

TEST(ConvPlan, GradientsOfFloatsAreForwardProblems) {
  const auto p = [](std::int64_t stride, std::int64_t r, bool dx, bool dw) {
    auto q = ConvProblem::contiguous(f32, last_by(stride, r / 2), 6, 192, 48, 28, 192, r, r, true);
    if (!dx) q->dx.reset();
    if (!dw) q->dw.reset();
    return q;
  };
  EXPECT_EQ(rows_of(p(1, 3, true, false)), "flipped: winograd");
  EXPECT_EQ(rows_of(p(1, 3, false, true)), "windows: product");
  EXPECT_EQ(rows_of(p(2, 3, true, false)).substr(0, 9), "flipped: ");
  const std::string but = "conv2d: variant is flipped; it must be another one here: ";
  EXPECT_EQ(rows_of(p(2, 5, true, false), "flipped"), but + "a phase of 3x3 taps, which Winograd's row would take");
  EXPECT_EQ(rows_of(p(4, 3, true, false), "flipped"), but + "more than four phases of the stride");
  EXPECT_EQ(rows_of(p(1, 3, true, true), "flipped"),
            but + "it is for transposed convolutions, and the gradient of x alone");
  EXPECT_EQ(rows_of(p(2, 1, true, false), "flipped"), but + "filters of one tap are a matrix product either way");
}

TEST(ConvPlan, DepthwiseGradientsAreTheirOwnRows) {
  for (const int size : {3, 5, 7}) {
    ConvGeometry g = last_by(1, size / 2);
    g.groups = 96;
    const std::string name = "depthwise_" + std::to_string(size) + "_gradient";
    EXPECT_EQ(chosen(ConvProblem::contiguous(bf16, g, 32, 96, 56, 56, 96, size, size, true)), name);
    EXPECT_EQ(chosen(ConvProblem::contiguous(f32, g, 32, 96, 56, 56, 96, size, size, true)), name);
  }
}

TEST(ConvPlan, ATransposedOnesRefusalSaysWhy) {
  const auto why = [](const Result<ConvProblem>& p) { return std::string(p.error().message()); };
  EXPECT_EQ(why(transposed(f32, last_by(2, 0), 1, 4, 5, 4, 3, 2)),
            "conv_transpose2d: output_pad is 2x2; it must be at least 0 and below the stride, 2x2");
  EXPECT_EQ(why(transposed(f32, last_by(1, 3), 1, 4, 2, 4, 3)),
            "conv_transpose2d: pad is so much that y is -2x-2; it must be less: y has a pixel at least");
  EXPECT_EQ(why(transposed(f32, last_by(0, 0), 1, 4, 2, 4, 3)),
            "conv_transpose2d: stride is 0x0; it must be at least 1 and below 2^30");
  ConvGeometry hostile = last_by(1, 0);
  hostile.stride.w = hostile.dilation.h = std::int64_t{1} << 62;
  EXPECT_EQ(why(transposed(f32, hostile, 1, 4, 2, 4, 3)),
            "conv_transpose2d: stride is 1x4611686018427387904; it must be at least 1 and below 2^30");
  EXPECT_EQ(why(transposed(f32, last_by(1, 0), 1, 4, 0, 4, 3)),
            "conv_transpose2d: image is 0x0; it must be at least 1 and below 2^30");
  ConvGeometry g = last_by(1, 0);
  g.groups = 3;
  EXPECT_EQ(why(transposed(f32, g, 1, 4, 5, 4, 3)),
            "conv_transpose2d: groups is 3; it must be a divisor of the 4 channels of x");
  std::vector<float> x(64), w(64), y(256);
  const auto refusal = [](const ConvTensors& t, const ConvGeometry& geometry) {
    return std::string(ConvProblem::of_transposed(t, geometry).error().message());
  };
  const TensorView image = view(x.data(), {1, 2, 3, 3}), filters = view(w.data(), {2, 3, 2, 2});
  const ConvGeometry two{.stride = {2, 2}};
  EXPECT_EQ(
      refusal({.x = image, .w = filters, .y = view(y.data(), {1, 3, 8, 6})}, two),
      "conv_transpose2d: output_pad is 2x0; it must be at least 0 and below the stride, 2x2: y is 8x6, and without "
      "it 6x6");
  EXPECT_EQ(refusal({.x = image, .w = filters, .y = view(y.data(), {1, 4, 6, 6})}, two),
            "conv_transpose2d: y.shape is 1x4x6x6; it must be 1x3x6x6");
  EXPECT_EQ(refusal({.x = image, .w = view(w.data(), {3, 3, 2, 2}), .y = view(y.data(), {1, 3, 6, 6})}, two),
            "conv_transpose2d: w.shape is of 3 input channels; it must be of as many as x has, 2");
  EXPECT_EQ(refusal({.x = image, .w = view(w.data(), {2, 3, 2}), .y = view(y.data(), {1, 3, 6, 6})}, two),
            "conv_transpose2d: w.shape is 2x3x2; it must be of 4 axes, c k r s");
  EXPECT_EQ(
      refusal({.x = view(x.data(), {1, 2, 3}), .w = view(w.data(), {2, 3, 2}), .y = view(y.data(), {1, 3, 6})}, two),
      "conv_transpose1d: stride is 2 along h; it must be 1: x has no h");
}

TEST(ConvPlan, TensorCoresReadWhereTheyCanAndCopyWhereNot) {
  ConvGeometry g = padded_by(1);
  g.layout = ConvLayout::nhwc;
  const auto problem = [&](std::int64_t c, std::int64_t h, std::int64_t r, std::int64_t k = 64) {
    return *ConvProblem::contiguous(f16, g, 2, c, h, h, k, r, r);
  };
  EXPECT_EQ(on_tensor_cores(problem(64, 56, 3)), "0");
  EXPECT_EQ(on_tensor_cores(problem(8, 6, 3)), "0");  // too small for a copy to pay
  // Channels are padded to 72, for 2 x 58 x 58 pixels and 64 x 9 filter taps.
  EXPECT_EQ(on_tensor_cores(problem(67, 56, 3)), std::to_string((2 * 58 * 58 + 64 * 9) * 72 * 2));
  ConvProblem misaligned = problem(64, 56, 3);
  misaligned.alignment = 2;
  EXPECT_EQ(on_tensor_cores(misaligned), std::to_string((2 * 56 * 56 + 64 * 9) * 64 * 2));
  // Windows: channels are padded to 4, 229 rows of 230 pixels; 7 taps of 28 channels, which start on 16 bytes.
  g = {.stride = {2, 2}, .pad = {3, 3, 3, 3}, .layout = ConvLayout::nhwc};
  EXPECT_EQ(on_tensor_cores(*ConvProblem::contiguous(f16, g, 32, 3, 224, 224, 64, 7, 7)),
            std::to_string(32 * 229 * (230 * 4) * 2 + 64 * 7 * 32 * 2));
}

TEST(ConvPlan, TensorCoresRefuseWithASentence) {
  const std::string but = "conv2d: variant is wgmma_128; it must be another one here: ";
  const auto why = [](DType dtype, const ConvGeometry& g, bool backward = false, std::int64_t w = 64) {
    return on_tensor_cores(*ConvProblem::contiguous(dtype, g, 1, 64, 64, w, 64, 3, 3, backward));
  };
  EXPECT_EQ(why(f32, {}), but + "it is for 16-bit types");
  EXPECT_EQ(
      why(f16, {}, true),
      but + "its gradients are for x with channels innermost, whose pixels start on 16 bytes, and for less padding");
  EXPECT_EQ(why(f16, {.groups = 2}), but + "it takes all channels as one group");
  EXPECT_EQ(why(f16, {.stride = {9, 1}}), but + "it is for strides of at most 8");
  EXPECT_EQ(why(f16, {.dilation = {1, 64}, .pad = {0, 70, 0, 70}}),
            but + "it is for filters of an extent of at most 128");
  EXPECT_EQ(why(f16, {}, false, 1 << 20), but + "images or filters of 2^31 elements or more");
  const auto a100 = plan_conv2d(*ConvProblem::contiguous(f16, {}, 1, 64, 64, 64, 64, 3, 3), *device_model("A100"),
                                {.variant = "wgmma_128"});
  EXPECT_EQ(a100.error().message(),
            but + "Hopper's instructions, of compute capability 9.0, and A100 is another device");
}

TEST(ConvPlan, WhatIntsDoNotCountIsLeftToTheFirstRow) {
  EXPECT_EQ(chosen(ConvProblem::contiguous(bf16, padded_by(1), 1 << 14, 64, 128, 128, 64, 3, 3)), "naive");
}

TEST(ConvPlan, ARefusalSaysWhy) {
  const auto why = [](const ConvGeometry& g, std::int64_t c = 4, std::int64_t h = 4, std::int64_t k = 6) {
    return std::string(ConvProblem::contiguous(f32, g, 1, c, h, 8, k, 5, 3).error().message());
  };
  EXPECT_EQ(why({}), "conv2d: filter is of extent 5x3; it must be within the padded input, 4x8");
  EXPECT_EQ(why({.dilation = {2, 1}, .pad = {2, 0, 1, 0}}),
            "conv2d: filter is of extent 9x3; it must be within the padded input, 7x8");
  EXPECT_EQ(why({.stride = {1, 0}}), "conv2d: stride is 1x0; it must be at least 1 and below 2^30");
  EXPECT_EQ(why({.dilation = {0, 1}}), "conv2d: dilation is 0x1; it must be at least 1 and below 2^30");
  EXPECT_EQ(why({.pad = {0, -1, 0, 0}}), "conv2d: pad is 0x-1; it must be at least 0 and below 2^30");
  EXPECT_EQ(why({.groups = 4}, 4, 8),
            "conv2d: groups is 4; it must be a divisor of the 4 channels and of the 6 filters");
  const auto huge = ConvProblem::contiguous(f32, {}, 1 << 20, 1, 1 << 10, 1 << 10, 1 << 29, 1, 1);
  EXPECT_EQ(huge.error().message(), "conv2d: y is of more than 2^60 elements; it must be smaller");
  EXPECT_EQ(chosen(ConvProblem::contiguous(f32, {.stride = {2, 2}}, 1, 3, 9, 9, 3, 3, 3), "direct_3x3"),
            "conv2d: variant is direct_3x3; it must be another one here: stride or dilation is not 1");
  EXPECT_EQ(chosen(ConvProblem::contiguous(bf16, {}, 1, 3, 9, 9, 3, 3, 3), "direct_3x3"),
            "conv2d: variant is direct_3x3; it must be another one here: it is for f32");
  EXPECT_EQ(chosen(ConvProblem::contiguous(i32, {}, 1, 3, 9, 9, 3, 3, 3)),
            "conv2d: x.dtype is i32; it must be one of f32 f16 bf16");

  std::vector<float> x(64), w(9), y(64);
  const auto refusal = [](const ConvTensors& t) {
    return std::string(ConvProblem::of(t, padded_by(1)).error().message());
  };
  const TensorView image = view(x.data(), {1, 1, 8, 8}), filter = view(w.data(), {1, 1, 3, 3});
  EXPECT_EQ(refusal({.x = image, .w = filter, .y = view(y.data(), {1, 1, 8, 7})}),
            "conv2d: y.shape is 1x1x8x7; it must be 1x1x8x8");
  EXPECT_EQ(refusal({.x = image, .w = filter, .y = image}), "conv2d: y is overlapping x; it must be apart from it");
  EXPECT_EQ(refusal({.x = image, .w = view(w.data(), {1, 3, 3}), .y = view(y.data(), {1, 1, 8, 8})}),
            "conv2d: w.shape is 1x3x3; it must be of 4 axes, k c r s");
}

TEST(Conv, OneLine) {
  std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8, 9}, w{1, 0, 0, -1}, y(4), bias{5};
  conv2d({.x = view(x.data(), {1, 1, 3, 3}),
          .w = view(w.data(), {1, 1, 2, 2}),
          .y = view(y.data(), {1, 1, 2, 2}),
          .bias = view(bias.data(), {1})});
  EXPECT_EQ(y, (std::vector<float>{1, 1, 1, 1}));  // x[i][j] - x[i + 1][j + 1] is -4
}

TEST(Conv, TheResidualMayBeTheOutput) {
  std::vector<float> x{1, -2, 3}, w{-1}, y{10, 1, 2};
  const TensorView out = view(y.data(), {1, 1, 1, 3});
  conv2d({.x = view(x.data(), {1, 1, 1, 3}), .w = view(w.data(), {1, 1, 1, 1}), .y = out, .residual = out}, {},
         {.activation = Activation::relu, .residual_first = true});
  EXPECT_EQ(y, (std::vector<float>{9, 3, 0}));
}

TEST(Conv, GradientsInOneLine) {
  std::vector<float> x{1, 2, 3}, w{10, 1}, dy{1, 2}, dx(3), dw(2);
  conv2d_gradient({.dy = view(dy.data(), {1, 1, 1, 2}),
                   .x = view(x.data(), {1, 1, 1, 3}),
                   .w = view(w.data(), {1, 1, 1, 2}),
                   .dx = view(dx.data(), {1, 1, 1, 3}),
                   .dw = view(dw.data(), {1, 1, 1, 2})});
  EXPECT_EQ(dx, (std::vector<float>{10, 21, 2}));
  EXPECT_EQ(dw, (std::vector<float>{1 * 1 + 2 * 2, 1 * 2 + 2 * 3}));
}

TEST(Conv, OneGradientInOneLine) {
  std::vector<float> x{1, 2, 3}, w{10, 1}, dy{1, 2}, dw(2);
  ConvGradientTensors t{
      .dy = view(dy.data(), {1, 1, 2}), .x = view(x.data(), {1, 1, 3}), .w = view(w.data(), {1, 1, 2})};
  EXPECT_EQ(ConvProblem::of_gradient(t).error().message(), "conv1d: outputs is none; it must be dx, dw or both");
  t.dw = view(dw.data(), {1, 1, 2});
  conv1d_gradient(t);
  EXPECT_EQ(dw, (std::vector<float>{1 * 1 + 2 * 2, 1 * 2 + 2 * 3}));
}

TEST(Conv, SignalsInOneLine) {
  std::vector<float> x{1, 2, 3}, w{10, 1}, y(2);
  const ConvTensors signal{
      .x = view(x.data(), {1, 1, 3}), .w = view(w.data(), {1, 1, 2}), .y = view(y.data(), {1, 1, 2})};
  conv1d(signal);
  EXPECT_EQ(y, (std::vector<float>{12, 23}));
  const auto refusal = [](auto&& run) -> std::string {
    try {
      run();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(refusal([&] { conv2d(signal); }), "conv2d: x.shape is 1x1x3; it must be of 4 axes");
  EXPECT_EQ(
      refusal([&] {
        conv1d(
            {.x = view(x.data(), {1, 1, 1, 3}), .w = view(w.data(), {1, 1, 1, 2}), .y = view(y.data(), {1, 1, 1, 2})});
      }),
      "conv1d: x.shape is 1x1x1x3; it must be of 3 axes");
}

TEST(Conv, TransposedInOneLine) {
  std::vector<float> x{1, 2}, w{1, 10, 100}, y(6), bias{3};
  // With an element that no window reaches: 5 without output padding, and one more.
  conv_transpose1d({.x = view(x.data(), {1, 1, 2}),
                    .w = view(w.data(), {1, 1, 3}),
                    .y = view(y.data(), {1, 1, 6}),
                    .bias = view(bias.data(), {1})},
                   {.stride = {1, 2}});
  EXPECT_EQ(y, (std::vector<float>{4, 13, 105, 23, 203, 3}));
  std::vector<float> image(4);
  conv_transpose2d(
      {.x = view(x.data(), {1, 1, 1, 2}), .w = view(w.data(), {1, 1, 2, 1}), .y = view(image.data(), {1, 1, 2, 2})});
  EXPECT_EQ(image, (std::vector<float>{1, 2, 10, 20}));
}

TEST(Conv, AnImageThatIsRepeated) {  // stride 0 along the batch
  std::vector<float> x{1, 2, 3, 4}, w{2}, y(8);
  TensorView repeated = view(x.data(), {2, 1, 2, 2});
  repeated.layout.stride[0] = 0;
  conv2d({.x = repeated, .w = view(w.data(), {1, 1, 1, 1}), .y = view(y.data(), {2, 1, 2, 2})});
  EXPECT_EQ(y, (std::vector<float>{2, 4, 6, 8, 2, 4, 6, 8}));
}

// The phases of the gradient have every pair of an element and a tap that meet exactly once, at the right output.
TEST(ConvGeometry, ClassesOfTheGradientAreAllOfIt) {
  for (std::int64_t stride : {1, 2, 3, 4, 6})
    for (std::int64_t dilation : {1, 2, 3, 4})
      for (std::int64_t taps : {1, 2, 3, 5})
        for (std::int64_t pad : {0, 1, 4}) {
          const std::int64_t inputs = 17, extent = (taps - 1) * dilation + 1;
          const Axis axis{inputs, (inputs + 2 * pad - extent) / stride + 1, taps, stride, pad, dilation};
          std::int64_t met = 0, want = 0;
          for (std::int64_t phase = 0; phase < stride; ++phase) {
            const AxisMap m = axis.gradient(phase);
            EXPECT_EQ(m.inputs, axis.outputs);
            for (std::int64_t i = 0; i < m.outputs; ++i)
              for (std::int64_t t = 0; t < m.taps; ++t, ++met) {
                const std::int64_t place = m.first_output + i * m.output_pitch, tap = m.first_tap + t * m.tap_pitch;
                EXPECT_LT(place, inputs);
                EXPECT_LT(tap, taps);
                EXPECT_EQ((m.scale * i + m.shift + m.step * t) * stride - pad + tap * dilation, place);
              }
          }
          for (std::int64_t place = 0; place < inputs; ++place)
            for (std::int64_t tap = 0; tap < taps; ++tap) want += (place + pad - tap * dilation) % stride == 0;
          EXPECT_EQ(met, want) << stride << " " << dilation << " " << taps << " " << pad;
        }
}

}  // namespace
}  // namespace ridge
