// conv3d in C++: the functions by rank, refusals, and what plans choose for volumes.
#include <ridge/conv/families.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace ridge {
namespace {

std::string refusal(auto&& run) {
  try {
    run();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Volumes, InOneLine) {
  std::vector<float> x{1, 2, 3, 4}, w{10, 1}, y(4), bias{5};
  const ConvTensors t{.x = view(x.data(), {1, 1, 2, 1, 2}),
                      .w = view(w.data(), {1, 1, 2, 1, 1}),
                      .y = view(y.data(), {1, 1, 2, 1, 2}),
                      .bias = view(bias.data(), {1})};
  conv3d(t, {.depth = {.front = 1}});  // causal
  EXPECT_EQ(y, (std::vector<float>{5 + 1, 5 + 2, 5 + 13, 5 + 24}));
  EXPECT_EQ(refusal([&] { conv2d(t, {.depth = {.front = 1}}); }), "conv2d: x.shape is 1x1x2x1x2; it must be of 4 axes");
}

TEST(Volumes, GradientsInOneLine) {
  std::vector<float> x{1, 2, 3}, w{10, 1}, dy{1, 2}, dx(3), dw(2);
  conv3d_gradient({.dy = view(dy.data(), {1, 1, 2, 1, 1}),
                   .x = view(x.data(), {1, 1, 3, 1, 1}),
                   .w = view(w.data(), {1, 1, 2, 1, 1}),
                   .dx = view(dx.data(), {1, 1, 3, 1, 1}),
                   .dw = view(dw.data(), {1, 1, 2, 1, 1})});
  EXPECT_EQ(dx, (std::vector<float>{10, 21, 2}));
  EXPECT_EQ(dw, (std::vector<float>{1 * 1 + 2 * 2, 1 * 2 + 2 * 3}));
}

TEST(Volumes, AreRefusedByBothSizes) {
  std::vector<float> x(8), w(27), y(8);
  const auto with = [&](const ConvGeometry& g) {
    return refusal([&] {
      conv3d({.x = view(x.data(), {1, 1, 2, 2, 2}),
              .w = view(w.data(), {1, 1, 3, 3, 3}),
              .y = view(y.data(), {1, 1, 2, 2, 2})},
             g);
    });
  };
  EXPECT_EQ(with({}), "conv3d: filter is of extent 3x3x3; it must be within the padded input, 2x2x2");
  EXPECT_EQ(with({.depth = {.stride = 0}}), "conv3d: stride is 0x1x1; it must be at least 1 and below 2^30");
  EXPECT_EQ(with({.depth = {.back = -1}}), "conv3d: pad is -1x0x0; it must be at least 0 and below 2^30");
  EXPECT_EQ(with({.pad = {1, 1, 1, 1}, .depth = {.front = 1, .back = 1}, .groups = 2}),
            "conv3d: groups is 2; it must be a divisor of the 1 channels and of the 1 filters");
  EXPECT_EQ(
      refusal([&] {
        conv2d(
            {.x = view(x.data(), {1, 2, 2, 2}), .w = view(w.data(), {1, 2, 1, 1}), .y = view(y.data(), {1, 1, 2, 2})},
            {.depth = {.stride = 2}});
      }),
      "conv2d: stride is 2 along d; it must be 1: x has no d");
}

// The row that a plan for an H200 chooses for 16-bit volumes, and those of its nested plans.
std::string chosen(const ConvGeometry& g, std::int64_t d, std::int64_t side, std::int64_t c, bool backward = false,
                   DType dtype = bf16) {
  std::vector<float> none(1);
  const bool last = g.layout == ConvLayout::nhwc;
  const auto volume = [&](std::int64_t n, std::int64_t channels, std::int64_t depth, std::int64_t rows) {
    TensorView v = last ? view(none.data(), {n, depth, rows, rows, channels})
                        : view(none.data(), {n, channels, depth, rows, rows});
    v.dtype = dtype;
    return v;
  };
  const TensorView x = volume(1, c, d, side), w = volume(c, c, 3, 3);
  const std::vector<std::int64_t> shape = *conv2d_shape(g, x.layout, w.layout);
  TensorView y = x;
  y.layout = Layout::contiguous(shape);
  // Plans look at addresses alone, of tensors that do not overlap.
  char* const at = reinterpret_cast<char*>(std::uintptr_t{1} << 40);
  const auto moved = [&](TensorView v, std::uintptr_t by) { return v.data = at + (by << 36), v; };
  auto p = backward
               ? ConvProblem::of_gradient(
                     {.dy = moved(y, 0), .x = moved(x, 1), .w = moved(w, 2), .dx = moved(x, 3), .dw = moved(w, 4)}, g)
               : ConvProblem::of({.x = moved(x, 0), .w = moved(w, 1), .y = moved(y, 2)}, g);
  if (!p) return std::string(p.error().message());
  auto plan = plan_conv2d(*p, *device_model("H200"));
  return plan ? conv_detail::row_of(*plan) : std::string(plan.error().message());
}

TEST(Volumes, RunOnTensorCores) {
  const ConvGeometry same{.pad = {1, 1, 1, 1}, .depth = {.front = 1, .back = 1}, .layout = ConvLayout::nhwc};
  EXPECT_EQ(chosen(same, 5, 64, 128), "wgmma_128_ping_pong");
  ConvGeometry planes = same;
  planes.layout = ConvLayout::nchw;
  EXPECT_EQ(chosen(planes, 5, 64, 128), "channels_last: wgmma_128_ping_pong");
  EXPECT_EQ(chosen(same, 5, 64, 128, true), "each_gradient: flipped: wgmma_128_ping_pong, wgmma_64");
  EXPECT_EQ(chosen(same, 5, 64, 128, false, f32), "fma_64");
}
// Each phase of the stride reads its taps where they lie.
TEST(Volumes, GradientsOfStridesDoToo) {
  ConvGeometry half{.stride = {2, 2}, .pad = {1, 1, 1, 1}, .layout = ConvLayout::nhwc};
  half.depth = {.stride = 2, .front = 1, .back = 1};
  const std::string rows = chosen(half, 16, 64, 256, true);
  EXPECT_EQ(rows.find("implicit"), std::string::npos) << rows;
  EXPECT_EQ(rows.find("naive"), std::string::npos) << rows;
}
// Tensors of 2^31 elements and more are not copied, and so TMA reads them too.
TEST(Volumes, LargeOnesAreReadInPlace) {
  const ConvGeometry same{.pad = {1, 1, 1, 1}, .depth = {.front = 1, .back = 1}, .layout = ConvLayout::nhwc};
  EXPECT_TRUE(chosen(same, 81, 640, 96).starts_with("wgmma")) << chosen(same, 81, 640, 96);
}

}  // namespace
}  // namespace ridge
