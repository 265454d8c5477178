// Hopper's rows: gradients, and transposed convolutions, which are the gradient of x with an epilogue.
#include <ridge/conv/conv_transpose.hpp>
#include <ridge/conv/sm90_testing.cuh>

namespace ridge::conv_detail {
namespace {

struct Wanted {
  bool dx = true, dw = true;
};
// What a gradient that is not wanted would need is null.
template <int I, class T> void check_gradient(const Case& t, int parts = 1, Wanted wanted = {}) {
  SCOPED_TRACE(t.about);
  std::mt19937 bits(4);
  const std::int64_t pitch = t.c + t.gap;  // of pixels
  std::vector<T> x = filled<T>(bits, t.n * t.h * t.w * pitch), w = filled<T>(bits, t.k * t.r * t.s * t.c);
  TensorView vx = view(x.data(), {t.n, t.h, t.w, t.c}), vw = view(w.data(), {t.k, t.r, t.s, t.c});
  vx.layout.stride = {t.h * t.w * pitch, t.w * pitch, pitch, 1};
  ConvGeometry last = t.geometry;
  last.layout = ConvLayout::nhwc;
  const auto shape = conv2d_shape(last, vx.layout, vw.layout);
  ASSERT_TRUE(shape.ok()) << shape.error().message();
  const std::int64_t oh = (*shape)[1], ow = (*shape)[2];
  std::vector<T> dy = filled<T>(bits, t.n * oh * ow * t.k);
  std::vector<T> dx(x.size() + behind, T(untouched)), dw(w.size() + behind, T(untouched));
  const TensorView vdy = view(dy.data(), {t.n, oh, ow, t.k});
  TensorView vdx = view(dx.data(), {t.n, t.h, t.w, t.c});
  vdx.layout = vx.layout;
  const TensorView vdw = view(dw.data(), {t.k, t.r, t.s, t.c});
  // The same elements, with their axes in the layout's order.
  const auto named = [&](TensorView v) {
    const Layout from = v.layout;
    constexpr int axes[] = {0, 3, 1, 2};
    for (int i = 0; i < 4 && t.geometry.layout == ConvLayout::nchw; ++i) {
      v.layout.shape[i] = from.shape[axes[i]];
      v.layout.stride[i] = from.stride[axes[i]];
    }
    return v;
  };
  ConvGradientTensors tensors{.dy = named(vdy), .x = named(vx), .w = named(vw)};
  if (wanted.dx) tensors.dx = named(vdx);
  if (wanted.dw) tensors.dw = named(vdw);
  const auto problem = ConvProblem::of_gradient(tensors, t.geometry);
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  if (t.special_values) {
    at(x.data(), problem->x, 0, t.c - 1, 0, 0) = T(INFINITY);
    at(dy.data(), problem->y, t.n - 1, 0, oh - 1, ow - 1) = T(NAN);
    at(dy.data(), problem->y, 0, t.k - 1, 0, 0) = T(INFINITY);
    at(w.data(), problem->w, t.k - 1, 0, 0, t.s - 1) = T(NAN);
  }

  ConvPlan plan = plan_of(*problem, I);
  plan.split = parts;
  plan.workspace =
      static_cast<std::size_t>(transposed_filter_bytes(*problem) + (wanted.dw ? parts * problem->w.count() * 4 : 0));
  Bench bench(plan);
  const Status status = wgmma::launch_gradient<Emulated<I>, T>({.plan = bench.plan,
                                                                .x = wanted.dw ? x.data() : nullptr,
                                                                .w = wanted.dx ? w.data() : nullptr,
                                                                .dy = dy.data(),
                                                                .dx = wanted.dx ? dx.data() : nullptr,
                                                                .dw = wanted.dw ? dw.data() : nullptr,
                                                                .workspace = bench.workspace()});
  ASSERT_TRUE(status.ok()) << status.message();
  const ConvOracle oracle = oracle_of<T>(*problem, x.data(), w.data(), dy.data());
  if (wanted.dx) expect("dx", dx, *problem->dx, [&](auto... at) { return oracle.input_gradient(at...).sum; });
  if (wanted.dw) expect("dw", dw, *problem->dw, [&](auto... at) { return oracle.filter_gradient(at...).sum; });
  ASSERT_TRUE(bench.is_intact());
}

TEST(ConvOnHopperGradient, TilesAndParts) {
  check_gradient<wgmma_64, half>({.about = "a tile", .h = 8, .w = 8, .geometry = padded(1)});
  const Case t{.about = "144 pixels, 2x2", .n = 3, .c = 72, .h = 9, .w = 7, .k = 136, .r = 2, .s = 2};
  for (const int parts : {1, 2, 5}) check_gradient<wgmma_128, bfloat16>(t, parts);
  check_gradient<wgmma_256, half>({.about = "many channels", .c = 264, .h = 3, .w = 5, .k = 8, .r = 1, .s = 1});
  check_gradient<wgmma_128_ping_pong, half>(
      {.about = "few", .n = 2, .c = 8, .h = 5, .w = 6, .k = 8, .geometry = padded(1)}, 2);
}
TEST(ConvOnHopperGradient, StridesDilationsAsymmetricPadding) {
  check_gradient<wgmma_64, half>(
      {.about = "stride 2", .n = 2, .c = 16, .h = 11, .w = 12, .k = 24, .geometry = stride_of(2, 1)}, 2);
  check_gradient<wgmma_64, half>({.about = "places that no tap meets",
                                  .n = 2,
                                  .c = 16,
                                  .h = 9,
                                  .w = 10,
                                  .k = 8,
                                  .r = 1,
                                  .s = 1,
                                  .geometry = stride_of(2, 0)});
  check_gradient<wgmma_64, half>({.about = "such places, and more filters than a step",
                                  .c = 8,
                                  .h = 7,
                                  .w = 8,
                                  .k = 136,
                                  .r = 2,
                                  .s = 2,
                                  .geometry = stride_of(3, 0),
                                  .special_values = true});
  check_gradient<wgmma_128, bfloat16>(
      {.about = "all of it",
       .n = 2,
       .c = 72,
       .h = 17,
       .w = 20,
       .k = 24,
       .r = 3,
       .s = 2,
       .geometry = {.stride = {2, 3}, .dilation = {2, 3}, .pad = {0, 3, 4, 1}, .layout = ConvLayout::nhwc}});
  check_gradient<wgmma_64, half>(
      {.about = "more padding than taps", .c = 8, .h = 4, .w = 5, .k = 8, .r = 2, .s = 1, .geometry = padded(3)});
  check_gradient<wgmma_64, half>(
      {.about = "gaps of a vector", .h = 5, .w = 6, .k = 16, .geometry = padded(1), .gap = 8});
}
TEST(ConvOnHopperGradient, ChannelsLieInnermostByStrides) {
  check_gradient<wgmma_64, half>({.about = "nchw in name",
                                  .n = 2,
                                  .c = 72,
                                  .h = 6,
                                  .w = 5,
                                  .k = 16,
                                  .r = 3,
                                  .s = 2,
                                  .geometry = {.pad = {1, 1, 1, 1}}});
}
TEST(ConvOnHopperGradient, NaNAndInfinityAreWhereTheyBelong) {
  for (const std::int64_t stride : {1, 2})
    check_gradient<wgmma_64, half>({.about = "72 channels",
                                    .n = 2,
                                    .c = 72,
                                    .h = 8,
                                    .w = 8,
                                    .k = 24,
                                    .geometry = stride_of(stride, 1),
                                    .special_values = true},
                                   2);
}

TEST(ConvOnHopperGradient, OneOfThem) {
  const Case t{.about = "one", .n = 2, .c = 16, .h = 5, .w = 6, .k = 24, .geometry = padded(1)};
  check_gradient<wgmma_64, half>(t, 1, {.dw = false});
  check_gradient<wgmma_64, half>(t, 2, {.dx = false});
}

// ---- transposed

// Takes images of t.h x t.w and t.c channels to t.k; output_pad: what y is larger.
template <int I, class T> void check_transposed(const Case& t, ConvPair output_pad = {0, 0}) {
  SCOPED_TRACE(t.about);
  std::mt19937 bits(6);
  std::vector<T> x = filled<T>(bits, t.n * t.h * t.w * t.c), w = filled<T>(bits, t.c * t.r * t.s * t.k);
  ConvTensors tensors{.x = view(x.data(), {t.n, t.h, t.w, t.c}), .w = view(w.data(), {t.c, t.r, t.s, t.k}), .y = {}};
  const auto shape = conv_transpose2d_shape(t.geometry, output_pad, tensors.x.layout, tensors.w.layout);
  ASSERT_TRUE(shape.ok()) << shape.error().message();
  Output<T> out(bits, t, *shape);
  out.enter(tensors);
  const auto problem = ConvProblem::of_transposed(tensors, t.geometry, t.epilogue);
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  constexpr bool shuffles = variants[I].config.algorithm == Algorithm::shuffle;
  ConvPlan plan = plan_of(*problem, I);
  plan.workspace = shuffles ? 0 : static_cast<std::size_t>(transposed_filter_bytes(*problem));
  Bench bench(plan);
  const Arguments args{.plan = bench.plan,
                       .w = w.data(),
                       .bias = tensors.bias ? tensors.bias->data : nullptr,
                       .residual = tensors.residual ? tensors.residual->data : nullptr,
                       .dy = x.data(),
                       .dx = out.y.data(),
                       .workspace = bench.workspace()};
  const Status status = [&] {
    if constexpr (shuffles) return shuffle::launch<Emulated<I>, T>(args);
    else return wgmma::launch_gradient<Emulated<I>, T>(args);
  }();
  ASSERT_TRUE(status.ok()) << status.message();
  const ConvOracle oracle = oracle_of<T>(*problem, nullptr, w.data(), x.data());
  expect("y", out.y, *problem->dx,
         [&](auto... at) { return out.want(*problem, oracle.input_gradient(at...).sum, at...); });
  ASSERT_TRUE(out.has_gaps());
  ASSERT_TRUE(bench.is_intact());
}

TEST(ConvTransposeOnHopper, StridesAndOutputPadding) {
  check_transposed<wgmma_64, half>(
      {.about = "2x2", .n = 2, .c = 72, .h = 5, .w = 6, .k = 16, .r = 2, .s = 2, .geometry = stride_of(2, 0)});
  check_transposed<wgmma_128, bfloat16>(
      {.about = "4x4", .n = 2, .c = 16, .h = 5, .w = 7, .k = 72, .r = 4, .s = 4, .geometry = stride_of(2, 1)});
  check_transposed<wgmma_64, half>({.about = "3x3", .c = 24, .h = 6, .w = 4, .k = 8, .geometry = stride_of(2, 1)},
                                   {1, 1});
  check_transposed<wgmma_64, half>({.about = "places that no tap meets",
                                    .c = 8,
                                    .h = 5,
                                    .w = 4,
                                    .k = 8,
                                    .r = 1,
                                    .s = 2,
                                    .geometry = stride_of(3, 0)},
                                   {2, 1});
  check_transposed<wgmma_256, half>(
      {.about = "stride 1", .n = 2, .c = 72, .h = 9, .w = 8, .k = 264, .geometry = padded(1)});
}
TEST(ConvTransposeOnHopper, PhasesThatAreAlikeAreOneLaunch) {
  // 198 pixels a phase: two tiles, of which the second is not full.
  Case t{.about = "4x4", .n = 2, .c = 72, .h = 9, .w = 11, .k = 72, .r = 4, .s = 4, .geometry = stride_of(2, 1)};
  check_transposed<wgmma_64, half>(t);
  t.residual = t.bias = true;
  t.epilogue.activation = Activation::relu;
  check_transposed<wgmma_128, bfloat16>(t);
  t.k = 264, t.c = 8;
  t.epilogue.residual_first = true;
  check_transposed<wgmma_192, half>(t);
  check_transposed<wgmma_256, half>(t);
  t = {.about = "gaps of vectors",
       .n = 2,
       .c = 16,
       .h = 5,
       .w = 6,
       .k = 40,
       .r = 2,
       .s = 4,
       .y_gap = 8,
       .residual_gap = 16};
  t.geometry = {.stride = {2, 2}, .pad = {0, 1, 0, 1}, .layout = ConvLayout::nhwc};
  t.residual = true;
  check_transposed<wgmma_128_ping_pong, half>(t);
  t.about = "pixels start anywhere", t.y_gap = 3;
  check_transposed<wgmma_128_ping_pong, half>(t);
  check_transposed<wgmma_64, half>({.about = "8 phases",
                                    .c = 24,
                                    .h = 1,
                                    .w = 13,
                                    .k = 16,
                                    .r = 1,
                                    .s = 16,
                                    .geometry = {.stride = {1, 8}, .pad = {0, 4, 0, 4}, .layout = ConvLayout::nhwc}});
  check_gradient<wgmma_64, half>({.about = "dx of even windows",
                                  .n = 2,
                                  .c = 16,
                                  .h = 10,
                                  .w = 12,
                                  .k = 24,
                                  .r = 4,
                                  .s = 2,
                                  .geometry = stride_of(2, 1),
                                  .special_values = true},
                                 2);
}
TEST(ConvTransposeOnHopper, WindowsSideBySideAreShuffled) {
  const ConvGeometry two = stride_of(2, 0);
  check_transposed<shuffle_128, half>(
      {.about = "2x2", .n = 2, .c = 72, .h = 5, .w = 6, .k = 16, .r = 2, .s = 2, .geometry = two});
  check_transposed<shuffle_128, bfloat16>(
      {.about = "more pixels than a tile", .n = 3, .c = 8, .h = 9, .w = 11, .k = 72, .r = 2, .s = 2, .geometry = two});
  check_transposed<shuffle_128, half>({.about = "3x4",
                                       .n = 2,
                                       .c = 136,
                                       .h = 4,
                                       .w = 3,
                                       .k = 24,
                                       .r = 3,
                                       .s = 4,
                                       .geometry = {.stride = {3, 4}, .layout = ConvLayout::nhwc}});
  for (const bool first : {false, true})
    check_transposed<shuffle_128, bfloat16>({.about = "bias, relu and a residual",
                                             .n = 2,
                                             .c = 16,
                                             .h = 5,
                                             .w = 6,
                                             .k = 40,
                                             .r = 2,
                                             .s = 2,
                                             .geometry = two,
                                             .epilogue = {.activation = Activation::relu, .residual_first = first},
                                             .bias = true,
                                             .residual = true});
}
TEST(ConvTransposeOnHopper, ShuffledByVectorsOrByElements) {
  // 198 pixels: the second tile is not full, and rows of images end anywhere in a warp's.
  Case t{.about = "sums", .n = 2, .c = 72, .h = 9, .w = 11, .r = 2, .s = 2, .geometry = stride_of(2, 0)};
  for (const std::int64_t channels : {8, 24, 64, 72, 128, 136}) {
    t.k = channels;
    t.about = "sums";
    t.epilogue = {};
    t.bias = t.residual = false;
    check_transposed<shuffle_128, half>(t);
    t.about = "bias";
    t.bias = true;
    check_transposed<shuffle_128, bfloat16>(t);
    t.about = "bias, relu and a residual";
    t.residual = true;
    for (const bool first : {false, true}) {
      t.epilogue = {.activation = Activation::relu, .residual_first = first};
      check_transposed<shuffle_128, half>(t);
    }
  }
  t.k = 40;
  const auto with = [&](const char* about, int y_gap, int residual_gap, bool planes = false) {
    Case of = t;
    of.about = about;
    of.y_gap = y_gap;
    of.residual_gap = residual_gap;
    of.y_planes = planes;
    check_transposed<shuffle_128, half>(of);
    of.bias = of.residual = false;
    of.epilogue = {};
    check_transposed<shuffle_128, bfloat16>(of);
  };
  with("gaps of vectors", 8, 16);
  with("pixels of y start anywhere", 3, 0);
  with("pixels of the residual start anywhere", 0, 4);
  with("channels lie apart", 0, 0, true);
  t.bias = false;
  with("a residual alone", 0, 8);
}
TEST(ConvTransposeOnHopper, Epilogues) {
  for (const std::int64_t stride : {1, 2})  // stored by TMA, and by threads in phases
    for (const bool first : {false, true})
      for (const bool residual : {false, true}) {
        const Case t{.about = "bias, relu and a residual",
                     .n = 2,
                     .c = 16,
                     .h = 5,
                     .w = 6,
                     .k = 72,
                     .geometry = stride_of(stride, 1),
                     .epilogue = {.activation = Activation::relu, .residual_first = first},
                     .bias = true,
                     .residual = residual};
        check_transposed<wgmma_64, half>(t);
        check_transposed<wgmma_128, bfloat16>(t);
      }
}

}  // namespace
}  // namespace ridge::conv_detail
