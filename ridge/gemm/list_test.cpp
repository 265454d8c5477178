// Lists of products against sums in double; whole numbers, so that bits are compared.
#include <ridge/check/each_device.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/gemm/list.hpp>

#include <algorithm>
#include <random>
#include <vector>

namespace ridge {
namespace {

struct Size {
  std::int64_t m, n, k;
};
// Nothing, one of everything, no products, around the edges of a tile, tall, wide and long.
const std::vector<Size> uneven{{0, 5, 3},   {1, 1, 1},     {5, 0, 3},    {7, 9, 0},    {127, 3, 8},
                               {128, 1, 7}, {129, 129, 9}, {300, 17, 1}, {2, 270, 33}, {-4, 3, 3}};

// One item's matrices, with gaps between rows and unaligned.
template <class T, class Out> struct Item {
  static constexpr float gap = 77;
  Size size;
  bool ta, tb;
  std::int64_t pitch_a, pitch_b, pitch_d;
  std::vector<T> a, b;
  std::vector<Out> d, before;

  Item(Size s, GemmLayout layout, std::mt19937& bits)
      : size{std::max<std::int64_t>(s.m, 0), s.n, s.k},
        ta(layout == GemmLayout::tn || layout == GemmLayout::tt),
        tb(layout == GemmLayout::nt || layout == GemmLayout::tt),
        pitch_a((ta ? size.m : size.k) + 3),
        pitch_b((tb ? size.k : size.n) + 1),
        pitch_d(size.n + 5) {
    const auto fill = [&](auto& x, std::int64_t rows, std::int64_t pitch) {
      x.resize(static_cast<std::size_t>(rows * pitch + 1));
      for (auto& v : x) v = std::decay_t<decltype(v)>(static_cast<float>(static_cast<int>(bits() % 5) - 2));
    };
    fill(a, ta ? size.k : size.m, pitch_a);
    fill(b, tb ? size.n : size.k, pitch_b);
    fill(d, size.m, pitch_d);
    for (std::int64_t i = 0; i < size.m; ++i)
      for (std::int64_t j = size.n; j < pitch_d; ++j) d[1 + i * pitch_d + j] = Out(gap);
    before = d;
  }
  // With these pointers to the matrices.
  GemmListItem item(std::int64_t m, const T* a_at, const T* b_at, Out* d_at) const {
    return {a_at + 1, b_at + 1, d_at + 1, m, size.n, size.k, pitch_a, pitch_b, pitch_d};
  }
  double want(std::int64_t i, std::int64_t j, const GemmScalars& s) const {
    double sum = 0;
    for (std::int64_t k = 0; k < size.k; ++k)
      sum += static_cast<double>(a[1 + (ta ? k * pitch_a + i : i * pitch_a + k)]) *
             static_cast<double>(b[1 + (tb ? j * pitch_b + k : k * pitch_b + j)]);
    double x = s.alpha * sum + s.beta * static_cast<double>(before[1 + i * pitch_d + j]);
    if (s.activation == Activation::relu) x = std::max(x, 0.0);
    return s.scale * x;
  }
};

// Device memory with a copy of some numbers.
template <class X> struct Copy {
  Buffer memory;
  X* data = nullptr;
  Copy(Device device, const std::vector<X>& x) : memory(std::move(*Buffer::allocate(device, x.size() * sizeof(X)))) {
    data = static_cast<X*>(memory.data());
    EXPECT_TRUE(copy_bytes(data, device, x.data(), cpu().id, x.size() * sizeof(X)).ok());
  }
  void to(std::vector<X>& x) const {
    EXPECT_TRUE(copy_bytes(x.data(), cpu().id, data, memory.device(), x.size() * sizeof(X)).ok());
  }
};

class GemmLists : public check::EachDevice {
 protected:
  // By every variant that takes them.
  template <class T, class Out = T>
  void check(GemmLayout layout, const GemmScalars& scalars = {}, const std::vector<Size>& sizes = uneven,
             int warp = 32) const {
    const bool by_tensor_cores =
        device.id.kind == DeviceKind::cuda && sizeof(T) == 2 && (layout == GemmLayout::nn || layout == GemmLayout::nt);
    check_variant<T, Out>("list_8x8", layout, scalars, sizes, warp);
    if (by_tensor_cores) check_variant<T, Out>("list_mma", layout, scalars, sizes, warp);
  }
  template <class T, class Out>
  void check_variant(const char* variant, GemmLayout layout, const GemmScalars& scalars, const std::vector<Size>& sizes,
                     int warp) const {
    std::mt19937 bits(3);
    std::vector<Item<T, Out>> matrices;
    std::vector<Copy<T>> factors;
    std::vector<Copy<Out>> results;
    std::vector<GemmListItem> items;
    for (const Size& s : sizes) {
      const auto& x = matrices.emplace_back(s, layout, bits);
      const T* a = factors.emplace_back(device.id, x.a).data;
      const T* b = factors.emplace_back(device.id, x.b).data;
      items.push_back(x.item(s.m, a, b, results.emplace_back(device.id, x.d).data));
    }
    const Copy<GemmListItem> list(device.id, items);
    DeviceInfo of_warp = device;
    if (device.id.kind == DeviceKind::cpu) of_warp.warp = warp;
    const auto plan = plan_gemm_list({.count = static_cast<std::int64_t>(items.size()),
                                      .dtype = dtype_of<T>,
                                      .out = dtype_of<Out>,
                                      .layout = layout,
                                      .scalars = scalars},
                                     of_warp, {.variant = variant});
    ASSERT_TRUE(plan.ok()) << plan.error().message();
    EXPECT_EQ(plan->variant_name(), variant);
    const Status status = plan->run(list.data);
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::size_t at = 0; at < matrices.size(); ++at) {
      auto& x = matrices[at];
      results[at].to(x.d);
      ASSERT_EQ(static_cast<double>(x.d[0]), static_cast<double>(x.before[0]));
      for (std::int64_t i = 0; i < x.size.m; ++i)
        for (std::int64_t j = 0; j < x.pitch_d; ++j) {
          const double want = j < x.size.n ? x.want(i, j, scalars) : double{Item<T, Out>::gap};
          ASSERT_EQ(static_cast<double>(x.d[1 + i * x.pitch_d + j]), want) << "item " << at << " " << i << " " << j;
        }
    }
  }
};

TEST_P(GemmLists, SizesOfAnyKindInEachLayout) {
  for (const GemmLayout layout : {GemmLayout::nn, GemmLayout::nt, GemmLayout::tn, GemmLayout::tt}) check<float>(layout);
}
TEST_P(GemmLists, Types) {
  check<double>(GemmLayout::nt);
  check<half, float>(GemmLayout::nn);
  check<bfloat16, float>(GemmLayout::tt);
  check<bfloat16, float>(GemmLayout::nt);
}
TEST_P(GemmLists, Epilogue) {
  check<float>(GemmLayout::nn, {.alpha = 2, .beta = 3, .scale = 0.5, .activation = Activation::relu});
  check<double>(GemmLayout::tn, {.beta = -1});
  check<float>(GemmLayout::nt, {.alpha = 0, .beta = 1});
  check<half, float>(GemmLayout::nt, {.alpha = 2, .beta = 3, .scale = 0.5, .activation = Activation::relu});
}
TEST_P(GemmLists, MoreItemsThanLanes) {
  std::vector<Size> sizes;
  for (int i = 0; i < 75; ++i) sizes.push_back({i % 3 == 1 ? 0 : i % 7, 1 + i % 5, 4});
  check<float>(GemmLayout::nt, {}, sizes);
  check<float>(GemmLayout::nn, {}, sizes, 64);
  check<float>(GemmLayout::nn, {}, std::vector<Size>(70, {0, 3, 3}));
}
INSTANTIATE_TEST_SUITE_P(cpu, GemmLists, testing::Values(DeviceKind::cpu));
INSTANTIATE_TEST_SUITE_P(cuda, GemmLists, testing::Values(DeviceKind::cuda));

TEST(GemmList, AlphaOfNothingReadsNeitherOperand) {
  std::vector<float> d(6, 2);
  const std::vector<GemmListItem> items{{nullptr, nullptr, d.data(), 2, 3, 5, 5, 3, 3}};
  const auto plan = plan_gemm_list({.count = 1, .scalars = {.alpha = 0, .beta = 2}}, cpu());
  ASSERT_TRUE(plan->run(items.data()).ok());
  EXPECT_EQ(d, std::vector<float>(6, 4));
}
TEST(GemmList, ItemsMayChangeBetweenRuns) {
  std::vector<float> a{1, 2, 3, 4}, b{1, 0, 0, 1}, d(4);
  std::vector<GemmListItem> items{{a.data(), b.data(), d.data(), 2, 2, 2, 2, 2, 2}};
  const auto plan = plan_gemm_list({.count = 1}, cpu());
  ASSERT_TRUE(plan->run(items.data()).ok());
  EXPECT_EQ(d, a);
  items[0].m = 1;
  a[0] = 9;
  ASSERT_TRUE(plan->run(items.data()).ok());
  EXPECT_EQ(d, (std::vector<float>{9, 2, 3, 4}));
}
TEST(GemmList, Refusals) {
  const auto why = [](const GemmListProblem& p, const PlanOptions& options = {}) {
    return std::string(plan_gemm_list(p, cpu(), options).error().message());
  };
  EXPECT_EQ(why({.count = -1}), "gemm_list: count is -1; it must be 0 or more");
  EXPECT_EQ(why({.count = 1, .dtype = i8}), "gemm_list: dtype is i8; it must be one of f64 f32 f16 bf16");
  EXPECT_EQ(why({.count = 1, .dtype = f64, .out = f32}),
            "gemm_list: d.dtype is f32; it must be one of f64 where a is f64");
  EXPECT_EQ(why({.count = 1}, {.variant = "fast"}), "gemm_list: variant is fast; it must be one of list_8x8 list_mma");
  EXPECT_EQ(why({.count = 1}, {.variant = "list_mma"}),
            "gemm_list: variant is list_mma; it must be another one here: not instantiated for f32");
  const auto plan = plan_gemm_list({.count = 2}, cpu());
  EXPECT_EQ(std::string(plan->run(nullptr).message()), "gemm_list: items is null; it must be an array of 2 items");
  EXPECT_TRUE(plan_gemm_list({.count = 0}, cpu())->run(nullptr).ok());
}
TEST(GemmList, TensorCoresWhereThereAreAny) {
  const auto chosen = [](DType dtype, GemmLayout layout, const char* device) {
    return std::string(
        plan_gemm_list({.count = 8, .dtype = dtype, .layout = layout}, *device_model(device))->variant_name());
  };
  EXPECT_EQ(chosen(bf16, GemmLayout::nt, "H200"), "list_mma");
  EXPECT_EQ(chosen(f16, GemmLayout::nn, "A100"), "list_mma");
  EXPECT_EQ(chosen(f16, GemmLayout::tn, "A100"), "list_8x8");
  EXPECT_EQ(chosen(f16, GemmLayout::nn, "V100"), "list_8x8");
  EXPECT_EQ(chosen(f32, GemmLayout::nn, "H200"), "list_8x8");
}

}  // namespace
}  // namespace ridge
