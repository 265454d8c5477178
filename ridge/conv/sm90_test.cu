// Hopper's rows, forward.
#include <ridge/conv/sm90_testing.cuh>

namespace ridge::conv_detail {
namespace {

// slices: at most.
template <int I, class T> void check(const Case& t, int slices = 1) {
  SCOPED_TRACE(t.about);
  std::mt19937 bits(3);
  const bool nhwc = t.geometry.layout == ConvLayout::nhwc;
  const std::int64_t pitch = t.c + t.gap;  // of pixels, channels last
  std::vector<T> x = filled<T>(bits, t.offset + t.n * t.h * t.w * pitch), w = filled<T>(bits, t.k * t.r * t.s * t.c);
  T* const image = x.data() + t.offset;
  TensorView vx = nhwc ? view(image, {t.n, t.h, t.w, t.c}) : view(image, {t.n, t.c, t.h, t.w});
  if (nhwc) vx.layout.stride = {t.h * t.w * pitch, t.w * pitch, pitch, 1};
  const TensorView vw = nhwc ? view(w.data(), {t.k, t.r, t.s, t.c}) : view(w.data(), {t.k, t.c, t.r, t.s});
  const auto shape = conv2d_shape(t.geometry, vx.layout, vw.layout);
  ASSERT_TRUE(shape.ok()) << shape.error().message();
  Output<T> out(bits, t, *shape);
  ConvTensors tensors{.x = vx, .w = vw, .y = {}};
  out.enter(tensors);
  const auto problem = ConvProblem::of(tensors, t.geometry, t.epilogue);
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  if (t.special_values) {
    at(image, problem->x, 0, t.c - 1, 0, 0) = T(INFINITY);
    at(image, problem->x, t.n - 1, 0, t.h - 1, t.w - 1) = T(NAN);
    at(w.data(), problem->w, 0, t.c - 1, t.r - 1, t.s - 1) = T(INFINITY);
    at(w.data(), problem->w, t.k - 1, 0, 0, 0) = T(NAN);
  }

  constexpr Config row = variants[I].config;
  ConvPlan plan = plan_of(*problem, I);
  take_slices(plan, slices);
  Bench bench(plan);
  const Arguments args{.plan = bench.plan,
                       .x = vx.data,
                       .w = vw.data,
                       .bias = tensors.bias ? tensors.bias->data : nullptr,
                       .residual = tensors.residual ? tensors.residual->data : nullptr,
                       .y = out.y.data(),
                       .workspace = bench.workspace()};
  const Status status = [&] {
    if constexpr (row.algorithm == Algorithm::fma) return fma::launch<Policy<I>>(args);
    else if constexpr (row.algorithm == Algorithm::stem) return stem::launch<Policy<I>, T>(args);
    else return wgmma::launch_forward<Emulated<I>, T>(args);
  }();
  ASSERT_TRUE(status.ok()) << status.message();

  const ConvOracle oracle = oracle_of<T>(*problem, image, w.data());
  expect("y", out.y, problem->y, [&](auto... at) { return out.want(*problem, oracle.output(at...).sum, at...); });
  ASSERT_TRUE(bench.is_intact());  // copies are whole vectors
}

TEST(ConvOnHopper, OneTile) {
  check<wgmma_64, half>({.about = "a product", .h = 8, .w = 16, .r = 1, .s = 1});
  check<wgmma_64, half>({.about = "3x3", .h = 8, .w = 16, .geometry = padded(1)});
}
TEST(ConvOnHopper, TilesCrossRowsAndImages) {
  const Case t{.about = "144 pixels", .n = 3, .c = 72, .h = 9, .w = 7, .k = 72, .r = 2, .s = 2};
  check<wgmma_64, bfloat16>(t);
  check<wgmma_64_thin, half>(t);
  check<wgmma_128, half>(t);
  check<wgmma_128_ping_pong, half>(t);
  check<wgmma_160, half>(t);
  check<wgmma_192, bfloat16>(t);
  check<wgmma_256, bfloat16>(t);
}
TEST(ConvOnHopper, AroundTheTilesEdges) {
  for (const std::int64_t k : {80, 96, 104, 200}) {
    check<wgmma_96, half>({.about = "filters", .c = 80, .h = 9, .w = 16, .k = k, .geometry = padded(1)});
    check<wgmma_96_thin, bfloat16>({.about = "filters", .c = 80, .h = 9, .w = 16, .k = k, .r = 1, .s = 1});
  }
  for (const std::int64_t k : {152, 168, 328})  // all copies of a tile's columns, and a part of the next tile's
    check<wgmma_160, half>({.about = "filters", .h = 9, .w = 16, .k = k, .r = 1, .s = 1});
  for (const std::int64_t k : {184, 200, 392})
    check<wgmma_192, half>({.about = "filters", .h = 9, .w = 16, .k = k, .r = 1, .s = 1});
  for (const std::int64_t pixels : {127, 129, 257})
    check<wgmma_128, half>({.about = "pixels", .h = 1, .w = pixels, .k = 128, .r = 1, .s = 1});
  for (const std::int64_t k : {8, 120, 136})
    check<wgmma_128, half>({.about = "filters", .h = 3, .w = 5, .k = k, .r = 1, .s = 1});
  for (const std::int64_t k : {1, 63, 65})
    check<wgmma_64, half>({.about = "filters that no copy stores", .h = 3, .w = 5, .k = k, .r = 1, .s = 1});
  for (const std::int64_t c : {8, 56, 136})
    check<wgmma_64, half>({.about = "channels", .c = c, .h = 5, .w = 5, .k = 16, .geometry = padded(1)});
}
TEST(ConvOnHopper, StridesDilationsAsymmetricPadding) {
  check<wgmma_64, half>({.about = "stride 2",
                         .n = 2,
                         .h = 15,
                         .w = 12,
                         .geometry = {.stride = {2, 2}, .pad = {1, 1, 1, 1}, .layout = ConvLayout::nhwc}});
  check<wgmma_64, half>(
      {.about = "all of it",
       .n = 2,
       .c = 72,
       .h = 17,
       .w = 20,
       .k = 24,
       .r = 3,
       .s = 2,
       .geometry = {.stride = {2, 3}, .dilation = {2, 3}, .pad = {0, 3, 4, 1}, .layout = ConvLayout::nhwc}});
  check<wgmma_128, bfloat16>({.about = "steps over the last pixels",
                              .n = 2,
                              .h = 9,
                              .w = 10,
                              .r = 1,
                              .s = 1,
                              .geometry = {.stride = {4, 8}, .layout = ConvLayout::nhwc}});
  check<wgmma_64, half>(
      {.about = "padding alone", .n = 2, .h = 1, .w = 1, .k = 8, .r = 1, .s = 1, .geometry = padded(2)});
}
TEST(ConvOnHopper, FewChannelsAreWindows) {
  const ConvGeometry stem{.stride = {2, 2}, .pad = {3, 3, 3, 3}, .layout = ConvLayout::nhwc};
  check<wgmma_64, half>({.about = "7x7", .n = 2, .c = 3, .h = 19, .w = 22, .r = 7, .s = 7, .geometry = stem});
  check<wgmma_64_thin, bfloat16>(
      {.about = "7x7, thin", .n = 2, .c = 3, .h = 19, .w = 22, .r = 7, .s = 7, .geometry = stem});
  check<wgmma_64, half>({.about = "infinities stay",
                         .n = 2,
                         .c = 3,
                         .h = 13,
                         .w = 11,
                         .r = 7,
                         .s = 7,
                         .geometry = stem,
                         .special_values = true});
  check<wgmma_128, bfloat16>({.about = "a channel", .n = 1, .c = 1, .h = 9, .w = 30, .k = 16, .r = 2, .s = 5});
  check<wgmma_64, half>({.about = "nchw", .c = 3, .h = 9, .w = 30, .k = 8, .geometry = {.pad = {1, 0, 0, 2}}});
}
// Windows that follow each other without a gap, of any stride: window rows, image rows and filter rows of several
// steps, images whose last rows no window meets, and a NaN in the next window.
TEST(ConvOnHopper, PatchesAreReadWhereTheyLie) {
  const ConvGeometry of_16{.stride = {16, 16}, .layout = ConvLayout::nhwc};
  check<wgmma_64, half>(
      {.about = "16x16", .n = 3, .c = 3, .h = 48, .w = 112, .k = 72, .r = 16, .s = 16, .geometry = of_16});
  check<wgmma_128, bfloat16>({.about = "16x16, special values",
                              .n = 1,
                              .c = 3,
                              .h = 50,
                              .w = 56,
                              .k = 136,
                              .r = 16,
                              .s = 16,
                              .geometry = of_16,
                              .special_values = true});
  check<wgmma_64, half>({.about = "of several steps",
                         .n = 2,
                         .c = 24,
                         .h = 12,
                         .w = 8,
                         .k = 16,
                         .r = 4,
                         .s = 4,
                         .geometry = {.stride = {4, 4}, .layout = ConvLayout::nhwc}},
                        3);
  check<wgmma_64, half>({.about = "images that end between windows are copied, or read pixel by pixel",
                         .n = 2,
                         .c = 8,
                         .h = 9,
                         .w = 9,
                         .k = 16,
                         .r = 2,
                         .s = 2,
                         .geometry = {.stride = {2, 2}, .layout = ConvLayout::nhwc}});
}
TEST(ConvOnHopper, WhatStartsAnywhereIsCopied) {
  check<wgmma_64, half>(
      {.about = "nchw", .n = 2, .c = 24, .h = 9, .w = 10, .k = 40, .geometry = {.pad = {1, 1, 1, 1}}});
  check<wgmma_64, half>({.about = "odd channels", .n = 2, .c = 67, .h = 5, .w = 6, .k = 16, .geometry = padded(1)});
  check<wgmma_64, half>({.about = "misaligned", .h = 5, .w = 6, .k = 16, .geometry = padded(1), .offset = 1});
  check<wgmma_64, half>({.about = "gaps of a vector", .h = 5, .w = 6, .k = 16, .geometry = padded(1), .gap = 8});
  check<wgmma_64, half>({.about = "gaps", .h = 5, .w = 6, .k = 16, .geometry = padded(1), .gap = 3});
  check<wgmma_64, half>({.about = "far padding",
                         .h = 2,
                         .w = 2,
                         .k = 8,
                         .r = 1,
                         .s = 1,
                         .geometry = {.stride = {8, 8}, .pad = {130, 0, 0, 1}, .layout = ConvLayout::nhwc}});
  check<wgmma_64, half>({.about = "no pixels", .h = 0, .w = 3, .k = 8, .r = 2, .s = 2, .geometry = padded(2)});
}
TEST(ConvOnHopper, NaNAndInfinityAreWhereTheyBelong) {
  check<wgmma_64, half>({.about = "72 channels",
                         .n = 2,
                         .c = 72,
                         .h = 6,
                         .w = 6,
                         .k = 24,
                         .geometry = padded(1),
                         .special_values = true});
}
TEST(ConvOnHopper, Epilogues) {
  const Case t{.about = "bias, relu", .n = 2, .h = 9, .w = 9, .k = 72, .r = 1, .s = 1, .bias = true};
  Case c = t;
  check<wgmma_64, half>(c);
  c.epilogue.activation = Activation::relu;
  check<wgmma_64, bfloat16>(c);
  check<wgmma_256, half>(c);
  c.residual = true;
  check<wgmma_64, half>(c);
  c.epilogue.residual_first = true;
  check<wgmma_128, half>(c);
  c.about = "nchw, 71 filters";
  c.geometry.layout = ConvLayout::nchw;
  c.k = 71;
  check<wgmma_64, half>(c);
}

// ---- split-K slices -------------------------------------------------------------------------------------------------

template <int I, class T> void check_slices() {
  const ConvGeometry apart{.stride = {2, 1}, .dilation = {2, 3}, .pad = {0, 3, 4, 1}, .layout = ConvLayout::nhwc};
  check<I, T>({.about = "asymmetric", .n = 2, .c = 72, .h = 9, .w = 8, .k = 72, .s = 2, .geometry = apart}, 3);
  Case t{.about = "nchw, a slice for each step",
         .c = 72,
         .h = 5,
         .w = 6,
         .k = 71,
         .r = 2,
         .s = 2,
         .geometry = {.pad = {1, 0, 0, 1}},
         .bias = true,
         .residual = true};
  t.epilogue.activation = Activation::relu;
  check<I, T>(t, 100);
  // Slices have the same number of steps, and the last may have fewer: missing steps add no product.
  check<I, T>({.about = "NaN", .c = 72, .h = 4, .w = 4, .k = 8, .geometry = padded(1), .special_values = true}, 5);
}
TEST(ConvOnHopperSlices, GiveTheSameSums) {
  check_slices<wgmma_64, half>();
  check_slices<wgmma_256, bfloat16>();
  check_slices<tf32_64, float>();
  check_slices<fma_32, float>();
  check_slices<fma_64, float>();
  check_slices<fma_128, float>();
}
TEST(ConvOnHopperSlices, OfWindows) {
  const Case t{.about = "7x7", .c = 3, .h = 13, .w = 11, .k = 8, .r = 7, .s = 7, .geometry = stride_of(2, 3)};
  check<wgmma_64_thin, half>(t, 3);
  check<fma_256, float>(t, 2);
}

// ---- float32 as TF32, which is exact for small whole numbers --------------------------------------------------------

TEST(ConvOnHopperTf32, TilesCrossRowsAndImages) {
  const Case t{.about = "144 pixels", .n = 3, .c = 36, .h = 9, .w = 7, .k = 72, .r = 2, .s = 2};
  check<tf32_64, float>(t);
  check<tf32_128, float>(t);
  check<tf32_256, float>(t);
}
TEST(ConvOnHopperTf32, AroundTheTilesEdges) {
  for (const std::int64_t pixels : {127, 129, 257})
    check<tf32_64, float>({.about = "pixels", .h = 1, .w = pixels, .k = 64, .r = 1, .s = 1});
  for (const std::int64_t k : {4, 124, 132})
    check<tf32_128, float>({.about = "filters", .h = 3, .w = 5, .k = k, .r = 1, .s = 1});
  for (const std::int64_t c : {4, 28, 68})
    check<tf32_64, float>({.about = "channels", .c = c, .h = 5, .w = 5, .k = 16, .geometry = padded(1)});
}
TEST(ConvOnHopperTf32, WhatStartsAnywhereIsCopied) {
  check<tf32_64, float>(
      {.about = "nchw", .n = 2, .c = 24, .h = 9, .w = 10, .k = 41, .geometry = {.pad = {1, 1, 1, 1}}});
  check<tf32_128, float>({.about = "odd channels", .n = 2, .c = 35, .h = 5, .w = 6, .k = 17, .geometry = padded(1)});
  check<tf32_64, float>({.about = "windows",
                         .n = 2,
                         .c = 3,
                         .h = 13,
                         .w = 11,
                         .r = 7,
                         .s = 7,
                         .geometry = stride_of(2, 3),
                         .special_values = true});
  check<tf32_64, float>({.about = "gaps", .h = 5, .w = 6, .k = 16, .geometry = padded(1), .gap = 3});
}
TEST(ConvOnHopperTf32, Epilogues) {
  Case c{.about = "bias, relu", .n = 2, .h = 9, .w = 9, .k = 72, .r = 1, .s = 1, .bias = true};
  c.epilogue.activation = Activation::relu;
  check<tf32_64, float>(c);
  c.residual = true;
  check<tf32_128, float>(c);
}

// ---- few channels ---------------------------------------------------------------------------------------------------

// An image of 32 columns has rows of whole 16-byte vectors for any number of channels.
TEST(ConvOnHopperStem, PatchesAndTheirEdges) {
  check<stem_7, half>(
      {.about = "a patch", .c = 3, .h = 13, .w = 40, .k = 64, .r = 7, .s = 7, .geometry = stride_of(2, 0)});
  for (const std::int64_t h : {7, 14, 15, 16, 23})
    check<stem_7, bfloat16>(
        {.about = "rows", .n = 3, .c = 3, .h = h, .w = 40, .k = 64, .r = 7, .s = 7, .geometry = stride_of(2, 3)});
  for (const std::int64_t w : {8, 32, 64, 72})
    check<stem_7, half>(
        {.about = "columns", .n = 2, .c = 3, .h = 9, .w = w, .k = 64, .r = 7, .s = 7, .geometry = stride_of(2, 3)});
  for (const std::int64_t k : {8, 56, 72, 136})
    check<stem_7, half>(
        {.about = "filters", .n = 2, .c = 3, .h = 9, .w = 32, .k = k, .r = 7, .s = 7, .geometry = stride_of(2, 3)});
  check<stem_7, half>({.about = "more patches than blocks",
                       .n = 7,
                       .c = 3,
                       .h = 33,
                       .w = 64,
                       .k = 8,
                       .r = 7,
                       .s = 7,
                       .geometry = stride_of(2, 3)});
}
TEST(ConvOnHopperStem, OtherWindows) {
  check<stem_7, half>({.about = "four channels",
                       .n = 2,
                       .c = 4,
                       .h = 9,
                       .w = 34,
                       .k = 16,
                       .r = 7,
                       .s = 5,
                       .geometry = stride_of(2, 3)});
  check<stem_7, bfloat16>(
      {.about = "a channel", .n = 2, .c = 1, .h = 11, .w = 40, .k = 16, .r = 7, .s = 17, .geometry = stride_of(2, 3)});
  check<stem_7, half>(
      {.about = "stride 1", .n = 2, .c = 4, .h = 11, .w = 22, .k = 16, .r = 7, .s = 6, .geometry = stride_of(1, 1)});
  check<stem_7, half>({.about = "asymmetric",
                       .n = 2,
                       .c = 2,
                       .h = 12,
                       .w = 36,
                       .k = 16,
                       .r = 7,
                       .s = 11,
                       .geometry = {.stride = {1, 3}, .pad = {0, 5, 130, 1}, .layout = ConvLayout::nhwc}});
}
TEST(ConvOnHopperStem, NaNAndInfinityAreWhereTheyBelong) {
  check<stem_7, half>({.about = "3 channels",
                       .n = 2,
                       .c = 3,
                       .h = 13,
                       .w = 48,
                       .k = 24,
                       .r = 7,
                       .s = 7,
                       .geometry = stride_of(2, 3),
                       .special_values = true});
}
TEST(ConvOnHopperStem, Epilogues) {
  Case c{.about = "bias",
         .n = 2,
         .c = 3,
         .h = 13,
         .w = 48,
         .k = 72,
         .r = 7,
         .s = 7,
         .geometry = stride_of(2, 3),
         .bias = true};
  check<stem_7, half>(c);
  c.epilogue.activation = Activation::relu;
  check<stem_7, bfloat16>(c);
}

// The warpgroups take turns with tiles of one step: in any order of threads none misses its turn.
TEST(ConvOnHopper, TurnsOfOneStepInAnyOrder) {
  for (const char* seed : {"1", "2", "3"}) {
    setenv("RIDGE_SEED", seed, 1);
    check<wgmma_64, half>({.about = "of one step", .n = 2, .c = 40, .h = 30, .w = 30, .k = 72, .r = 1, .s = 1});
  }
  unsetenv("RIDGE_SEED");
}

// ---- multiply-adds of what TMA gathers ------------------------------------------------------------------------------

constexpr ConvGeometry nchw(std::int64_t n) { return {.pad = {n, n, n, n}}; }

TEST(ConvOnHopperFma, TilesCrossRowsAndImages) {
  const Case t{.about = "144 pixels", .n = 3, .c = 36, .h = 9, .w = 7, .k = 72, .r = 2, .s = 2};
  Case u = t;
  u.about = "nchw";
  u.geometry = nchw(1);
  check<fma_32, float>(t), check<fma_32, float>(u);
  check<fma_64, float>(t), check<fma_64, float>(u);
  check<fma_128, float>(t), check<fma_128, float>(u);
  check<fma_256, float>(t), check<fma_256, float>(u);
}
TEST(ConvOnHopperFma, AroundTheTilesEdges) {
  for (const std::int64_t pixels : {47, 49, 63, 65, 127, 129, 255, 257}) {
    const Case t{.about = "pixels", .c = 5, .h = 1, .w = pixels, .k = 7, .r = 1, .s = 1, .geometry = nchw(0)};
    check<fma_32, float>(t), check<fma_64, float>(t), check<fma_128, float>(t), check<fma_256, float>(t);
  }
  for (const std::int64_t k : {1, 31, 33, 63, 65, 129, 257}) {
    const Case t{.about = "filters", .c = 4, .h = 3, .w = 5, .k = k, .r = 1, .s = 1, .geometry = nchw(0)};
    check<fma_32, float>(t), check<fma_64, float>(t), check<fma_128, float>(t), check<fma_256, float>(t);
  }
  for (const std::int64_t c : {1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 65})
    check<fma_64, float>({.about = "channels", .n = 2, .c = c, .h = 5, .w = 13, .k = 9, .geometry = nchw(1)});
}
TEST(ConvOnHopperFma, StridesDilationsAsymmetricPadding) {
  const ConvGeometry g{.stride = {2, 3}, .dilation = {2, 3}, .pad = {0, 3, 4, 1}};
  ConvGeometry last = g;
  last.layout = ConvLayout::nhwc;
  check<fma_64, float>({.about = "nchw", .n = 2, .c = 18, .h = 17, .w = 20, .k = 24, .r = 3, .s = 2, .geometry = g});
  check<fma_256, float>(
      {.about = "nhwc", .n = 2, .c = 18, .h = 17, .w = 20, .k = 24, .r = 3, .s = 2, .geometry = last});
  check<fma_256, float>(
      {.about = "padding alone", .n = 2, .h = 1, .w = 1, .k = 8, .r = 1, .s = 1, .geometry = nchw(2)});
  check<fma_64, float>({.about = "far padding",
                        .h = 2,
                        .w = 2,
                        .k = 8,
                        .r = 1,
                        .s = 1,
                        .geometry = {.stride = {8, 8}, .pad = {130, 0, 0, 1}}});
  check<fma_64, float>({.about = "no pixels", .h = 0, .w = 3, .k = 8, .r = 2, .s = 2, .geometry = nchw(2)});
}
TEST(ConvOnHopperFma, FewChannelsAreWindows) {
  const ConvGeometry stem{.stride = {2, 2}, .pad = {3, 3, 3, 3}};
  for (const std::int64_t c : {1, 2, 3, 4})
    check<fma_64, float>({.about = "7x7", .n = 2, .c = c, .h = 19, .w = 22, .k = 20, .r = 7, .s = 7, .geometry = stem});
  check<fma_256, float>({.about = "infinities stay",
                         .n = 2,
                         .c = 3,
                         .h = 13,
                         .w = 11,
                         .r = 7,
                         .s = 7,
                         .geometry = stem,
                         .special_values = true});
}
TEST(ConvOnHopperFma, WhatStartsAnywhere) {
  check<fma_64, float>({.about = "misaligned", .h = 5, .w = 6, .k = 16, .geometry = padded(1), .offset = 1});
  check<fma_64, float>({.about = "gaps of a vector", .h = 5, .w = 6, .k = 16, .geometry = padded(1), .gap = 4});
  check<fma_64, float>({.about = "gaps", .h = 5, .w = 6, .k = 16, .geometry = padded(1), .gap = 3});
}
TEST(ConvOnHopperFma, NaNAndInfinityAreWhereTheyBelong) {
  check<fma_64, float>(
      {.about = "33 channels", .n = 2, .c = 33, .h = 6, .w = 6, .k = 24, .geometry = nchw(1), .special_values = true});
}
TEST(ConvOnHopperFma, Epilogues) {
  Case c{.about = "bias", .n = 2, .c = 20, .h = 9, .w = 9, .k = 71, .r = 1, .s = 1, .geometry = nchw(0), .bias = true};
  check<fma_64, float>(c);
  c.epilogue.activation = Activation::relu;
  check<fma_256, float>(c);
  c.residual = true;
  check<fma_64, float>(c);
  c.epilogue.residual_first = true;
  check<fma_256, float>(c);
  c.epilogue.activation = Activation::relu6;
  check<fma_256, float>(c), check<fma_32, float>(c);
  c.epilogue.residual_first = false;
  check<fma_256, float>(c), check<fma_64, float>(c);
  c.residual = c.bias = false;
  check<fma_256, float>(c), check<fma_32, float>(c);
}

}  // namespace
}  // namespace ridge::conv_detail
