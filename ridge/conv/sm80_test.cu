// Groups on tensor cores by mma.sync, on the CPU runtime, which emulates its instructions.
#include <ridge/conv/sm80_filter_gradient.cuh>
#include <ridge/conv/sm90_testing.cuh>

namespace ridge::conv_detail {
namespace {

constexpr int grouped_16 = first_of(Algorithm::grouped_mma), grouped_32 = grouped_16 + 1, grouped_48 = grouped_16 + 2,
              grouped_64 = grouped_16 + 3;
constexpr int few_16 = first_of(Algorithm::few_channels), few_32 = few_16 + 1, few_64 = few_16 + 2;

// Case::c and k are those of a group.
template <int I, class T> void check(Case t, std::int64_t groups = 1) {
  SCOPED_TRACE(t.about);
  std::mt19937 bits(5);
  t.geometry.groups = groups;
  const std::int64_t of_group = t.c;
  t.c = of_group * groups;
  if (groups > 1) t.k = t.c;
  const std::int64_t pitch = t.c + t.gap;
  std::vector<T> x = filled<T>(bits, t.n * t.h * t.w * pitch), w = filled<T>(bits, t.k * t.r * t.s * of_group);
  TensorView vx = view(x.data(), {t.n, t.h, t.w, t.c});
  vx.layout.stride = {t.h * t.w * pitch, t.w * pitch, pitch, 1};
  const TensorView vw = view(w.data(), {t.k, t.r, t.s, of_group});
  const auto shape = conv2d_shape(t.geometry, vx.layout, vw.layout);
  ASSERT_TRUE(shape.ok()) << shape.error().message();
  Output<T> out(bits, t, *shape);
  ConvTensors tensors{.x = vx, .w = vw, .y = {}};
  out.enter(tensors);
  auto problem = ConvProblem::of(tensors, t.geometry, t.epilogue);
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  problem->alignment = 16;  // of the pointers below, as vectors' allocations are
  DeviceInfo hopper = *device_model("H200");
  ASSERT_EQ(grouped_mma::fits(variants[I], {*problem}, hopper), "");
  if (t.special_values) {
    at(x.data(), problem->x, 0, t.c - 1, 0, 0) = T(INFINITY);
    at(x.data(), problem->x, t.n - 1, 0, t.h - 1, t.w - 1) = T(NAN);
    at(w.data(), problem->w, 0, of_group - 1, t.r - 1, t.s - 1) = T(INFINITY);
    at(w.data(), problem->w, t.k - 1, 0, 0, 0) = T(NAN);
  }
  const ConvPlan plan = plan_of(*problem, I);
  const Arguments args{.plan = plan,
                       .x = vx.data,
                       .w = vw.data,
                       .bias = tensors.bias ? tensors.bias->data : nullptr,
                       .residual = tensors.residual ? tensors.residual->data : nullptr,
                       .y = out.y.data()};
  const Status status = grouped_mma::launch<Policy<I>, T>(args, launch_config(args));
  ASSERT_TRUE(status.ok()) << status.message();
  const ConvOracle oracle = oracle_of<T>(*problem, x.data(), w.data());
  expect("y", out.y, problem->y, [&](auto... at) { return out.want(*problem, oracle.output(at...).sum, at...); });
  ASSERT_TRUE(out.has_gaps());
}

TEST(ConvGroups, OfAsManyChannelsAsAFragmentHas) {
  check<grouped_16, half>({.about = "a tile", .c = 16, .h = 8, .w = 16, .geometry = padded(1)}, 4);
  check<grouped_16, bfloat16>(
      {.about = "tiles of several images", .n = 5, .c = 16, .h = 7, .w = 7, .geometry = padded(1)}, 5);
}
TEST(ConvGroups, OfFewerChannelsShareABundle) {
  for (const std::int64_t group : {2, 4, 8}) {
    check<grouped_16, half>({.about = "4x4", .n = 2, .c = group, .h = 9, .w = 11, .geometry = padded(1)}, 64 / group);
    check<grouped_16, bfloat16>(
        {.about = "special values", .n = 2, .c = group, .h = 5, .w = 9, .geometry = padded(1), .special_values = true},
        24 / group);
  }
}
TEST(ConvGroups, OfMoreChannels) {
  const Case t{.about = "32 and fewer", .n = 2, .c = 32, .h = 6, .w = 19, .geometry = padded(1)};
  check<grouped_32, half>(t, 3);
  Case fewer = t;
  fewer.special_values = true;
  fewer.c = 24;
  check<grouped_32, bfloat16>(fewer, 3);
  for (const std::int64_t group : {40, 48}) {
    fewer.c = group;
    check<grouped_48, half>(fewer, 2);
  }
  for (const std::int64_t group : {56, 64}) {
    fewer.c = group;
    check<grouped_64, bfloat16>(fewer, 2);
  }
}
TEST(ConvGroups, StridesDilationsAsymmetricPadding) {
  check<grouped_16, half>({.about = "stride 2", .n = 3, .c = 8, .h = 15, .w = 14, .geometry = stride_of(2, 1)}, 4);
  const ConvGeometry all{.stride = {2, 3}, .dilation = {2, 3}, .pad = {0, 3, 4, 1}, .layout = ConvLayout::nhwc};
  check<grouped_32, half>({.about = "all", .n = 3, .c = 32, .h = 17, .w = 20, .r = 3, .s = 2, .geometry = all}, 2);
  check<grouped_16, half>({.about = "one tap", .n = 2, .c = 16, .h = 4, .w = 5, .r = 1, .s = 1}, 2);
  check<grouped_16, half>({.about = "padding alone", .n = 3, .c = 4, .h = 1, .w = 1, .geometry = padded(4)}, 4);
  check<grouped_16, half>({.about = "as large as the image", .n = 3, .c = 8, .h = 5, .w = 4, .r = 5, .s = 4}, 3);
  check<grouped_16, half>({.about = "many tiles", .n = 2, .c = 4, .h = 33, .w = 40, .geometry = padded(1)}, 2);
}
TEST(ConvFewChannels, OfOneGroup) {
  for (const std::int64_t channels : {8, 16, 24, 48, 64})
    for (const std::int64_t filters : {8, 40, 72}) {
      Case t{.about = "3x3", .n = 2, .c = channels, .h = 9, .w = 11, .k = filters, .geometry = padded(1)};
      t.special_values = channels == 24;
      check<few_16, half>(t);
      check<few_32, bfloat16>(t);
      check<few_64, half>(t);
    }
  check<few_16, half>(
      {.about = "7x7", .n = 2, .c = 16, .h = 12, .w = 12, .k = 8, .r = 7, .s = 7, .geometry = padded(3)});
  check<few_32, half>({.about = "stride 2", .n = 2, .c = 48, .h = 13, .w = 12, .k = 32, .geometry = stride_of(2, 1)});
  check<few_64, bfloat16>({.about = "one tap", .n = 3, .c = 64, .h = 5, .w = 7, .k = 64, .r = 1, .s = 1});
}
TEST(ConvGroups, Epilogues) {
  Case t{.about = "bias and relu", .n = 2, .c = 8, .h = 7, .w = 9, .geometry = padded(1), .bias = true};
  t.epilogue.activation = Activation::relu;
  check<grouped_16, half>(t, 8);
  t.residual = true;
  check<grouped_16, bfloat16>(t, 8);
  t.epilogue.residual_first = true;
  check<grouped_16, half>(t, 8);
  t.gap = t.y_gap = 8, t.residual_gap = 3;
  check<grouped_16, half>(t, 8);
  t.c = 64;
  check<grouped_64, half>(t, 2);
  t.k = 24;
  check<few_32, half>(t);
}

// dw; as check().
template <class T> void check_filters(Case t, std::int64_t groups = 1) {
  constexpr int I = first_of(Algorithm::few_gradient);
  SCOPED_TRACE(t.about);
  std::mt19937 bits(8);
  t.geometry.groups = groups;
  const std::int64_t of_group = t.c;
  t.c = of_group * groups;
  if (groups > 1) t.k = t.c;
  std::vector<T> x = filled<T>(bits, t.n * t.h * t.w * t.c), w = filled<T>(bits, t.k * t.r * t.s * of_group);
  std::vector<T> dw(w.size() + behind, T(untouched));
  const TensorView vx = view(x.data(), {t.n, t.h, t.w, t.c}), vw = view(w.data(), {t.k, t.r, t.s, of_group});
  const auto shape = conv2d_shape(t.geometry, vx.layout, vw.layout);
  ASSERT_TRUE(shape.ok()) << shape.error().message();
  std::vector<T> dy = filled<T>(bits, t.n * (*shape)[1] * (*shape)[2] * t.k);
  const ConvGradientTensors tensors{.dy = view(dy.data(), {t.n, (*shape)[1], (*shape)[2], t.k}),
                                    .x = vx,
                                    .w = vw,
                                    .dw = view(dw.data(), {t.k, t.r, t.s, of_group})};
  auto problem = ConvProblem::of_gradient(tensors, t.geometry);
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  problem->alignment = 16;  // as vectors' allocations are
  ASSERT_EQ(few_gradient::fits(variants[I], {*problem}, *device_model("H200")), "");
  if (t.special_values) {
    at(x.data(), problem->x, 0, t.c - 1, 0, 0) = T(INFINITY);
    at(x.data(), problem->x, t.n - 1, 0, t.h - 1, t.w - 1) = T(NAN);
    at(dy.data(), problem->y, t.n - 1, t.k - 1, 0, 0) = T(INFINITY);
  }
  ConvPlan plan = plan_of(*problem, I);
  plan.workspace = few_gradient::footprint(variants[I], {*problem}, plan.device).workspace;
  Bench bench(plan);
  const Arguments args{
      .plan = bench.plan, .x = x.data(), .dy = dy.data(), .dw = dw.data(), .workspace = bench.workspace()};
  const Status status = few_gradient::launch<Policy<I>, T>(args, launch_config(args));
  ASSERT_TRUE(status.ok()) << status.message();
  const ConvOracle oracle = oracle_of<T>(*problem, x.data(), w.data(), dy.data());
  expect("dw", dw, *problem->dw, [&](auto... at) { return oracle.filter_gradient(at...).sum; });
  ASSERT_TRUE(bench.is_intact());
}

TEST(ConvFewChannels, FiltersOfOneGroup) {
  check_filters<half>(
      {.about = "7x7", .n = 3, .c = 8, .h = 12, .w = 19, .k = 16, .r = 7, .s = 7, .geometry = padded(3)});
  for (const std::int64_t channels : {8, 24, 64})
    for (const std::int64_t filters : {8, 40, 136})
      check_filters<bfloat16>({.about = "3x3",
                               .n = 2,
                               .c = channels,
                               .h = 9,
                               .w = 10,
                               .k = filters,
                               .geometry = padded(1),
                               .special_values = channels == 24});
  check_filters<half>({.about = "stride 2",
                       .n = 2,
                       .c = 16,
                       .h = 13,
                       .w = 12,
                       .k = 32,
                       .geometry = stride_of(2, 1),
                       .special_values = true});
  // Real pixels beyond the last window, which no sum has.
  check_filters<half>({.about = "pixels that no window meets",
                       .n = 2,
                       .c = 8,
                       .h = 10,
                       .w = 12,
                       .k = 8,
                       .geometry = stride_of(4, 0),
                       .special_values = true});
}
TEST(ConvGroups, Filters) {
  for (const std::int64_t group : {2, 4, 8, 16, 24, 48})
    check_filters<half>(
        {.about = "3x3", .n = 2, .c = group, .h = 9, .w = 11, .geometry = padded(1), .special_values = true},
        3 * (group < 8 ? 16 / group : 1));
  const ConvGeometry all{.stride = {2, 3}, .dilation = {2, 3}, .pad = {0, 3, 4, 1}, .layout = ConvLayout::nhwc};
  check_filters<bfloat16>({.about = "all", .n = 3, .c = 32, .h = 17, .w = 20, .r = 3, .s = 2, .geometry = all}, 3);
}

}  // namespace
}  // namespace ridge::conv_detail
