// Split-K: a plan that is told to split gives the same y. Plans do not split where there are few terms, nor on the CPU.
#include <ridge/check/each_device.hpp>
#include <ridge/conv/conv.hpp>
#include <ridge/conv/families.hpp>
#include <ridge/core/memory.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace ridge {
namespace {

using namespace conv_detail;

std::string chosen(const ConvProblem& p, int& slices) {
  auto plan = plan_conv2d(p, *device_model("H200"));
  slices = plan->split;
  return std::string(variants[plan->variant].name);
}

TEST(ConvSlicesOfTerms, AreTakenWhereTilesAreFew) {
  const auto problem = [](DType dtype, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t k, std::int64_t r,
                          ConvLayout layout) {
    const std::int64_t pad = r / 2;
    return *ConvProblem::contiguous(dtype, {.pad = {pad, pad, pad, pad}, .layout = layout}, n, c, h, h, k, r, r);
  };
  int slices = 0;
  for (const DType dtype : {f32, bf16}) {
    const auto row = chosen(problem(dtype, 1, 512, 7, 512, 3, ConvLayout::nhwc), slices);
    EXPECT_EQ(row.substr(0, 4), dtype == f32 ? "fma_" : "wgmm");
    EXPECT_GE(slices, 8) << row;
  }
  (void)chosen(problem(bf16, 64, 512, 28, 512, 3, ConvLayout::nhwc), slices);
  EXPECT_EQ(slices, 1);
  const auto on_cpu = plan_conv2d(problem(f32, 1, 512, 7, 512, 3, ConvLayout::nhwc), cpu());
  EXPECT_EQ(on_cpu->split, 1);
}

// Whole numbers: their sums are the same in any order.
template <class T> struct Numbers {
  Buffer memory;
  TensorView view;
  std::size_t count = 1;
  Numbers(Device device, std::vector<std::int64_t> shape, unsigned seed) {
    for (const std::int64_t n : shape) count *= static_cast<std::size_t>(n);
    std::mt19937 bits(seed);
    std::vector<T> x(count);
    for (T& v : x) v = T(static_cast<float>(static_cast<int>(bits() % 5) - 2));
    memory = std::move(*Buffer::allocate(device, count * sizeof(T)));
    EXPECT_TRUE(copy_bytes(memory.data(), device, x.data(), cpu().id, count * sizeof(T)).ok());
    view.data = memory.data();
    view.dtype = dtype_of<T>;
    view.layout = Layout::contiguous(shape);
    view.device = device;
  }
  std::vector<T> values() const {
    std::vector<T> x(count);
    EXPECT_TRUE(copy_bytes(x.data(), cpu().id, memory.data(), memory.device(), count * sizeof(T)).ok());
    return x;
  }
};

struct Sizes {
  std::int64_t n, c, h, w, k, r, s;
  ConvGeometry geometry;
};

class ConvSlices : public check::EachDevice {
 protected:
  // Every row with split-K: few slices, more than are read at a time, and as many as there are steps.
  template <class T> void check(ConvMath math = ConvMath::exact) {
    int rows = 0;
    for (const ConvLayout layout : {ConvLayout::nchw, ConvLayout::nhwc})
      for (Sizes t : {Sizes{2, 72, 9, 10, 71, 3, 2, {.stride = {2, 1}, .dilation = {1, 2}, .pad = {0, 3, 2, 1}}},
                      Sizes{1, 136, 7, 7, 72, 3, 3, {.pad = {1, 1, 1, 1}}},
                      Sizes{2, 24, 6, 5, 20, 3, 3, {.pad = {1, 0, 0, 1}, .groups = 4}},
                      Sizes{1, 3, 19, 22, 24, 7, 7, {.stride = {2, 2}, .pad = {3, 3, 3, 3}}}}) {
        t.geometry.layout = layout;
        for (const auto& row : variants) rows += check_row<T>(row, t, math);
      }
    EXPECT_GT(rows, 0);
  }

 private:
  // Returns whether the row takes the problem. y also gets a bias and a residual.
  template <class T> bool check_row(const Variant& row, const Sizes& t, ConvMath math) {
    const Device at = device.id;
    const std::int64_t c = t.c / t.geometry.groups;
    const bool last = t.geometry.layout == ConvLayout::nhwc;
    using Shape = std::vector<std::int64_t>;
    const Numbers<T> x(at, last ? Shape{t.n, t.h, t.w, t.c} : Shape{t.n, t.c, t.h, t.w}, 1),
        w(at, last ? Shape{t.k, t.r, t.s, c} : Shape{t.k, c, t.r, t.s}, 2), bias(at, {t.k}, 3);
    const Shape of_y = *conv2d_shape(t.geometry, x.view.layout, w.view.layout);
    const Numbers<T> residual(at, of_y, 4);
    const auto run = [&](int wanted) -> std::vector<T> {
      const Numbers<T> y(at, of_y, 5);
      const ConvTensors tensors{.x = x.view, .w = w.view, .y = y.view, .bias = bias.view, .residual = residual.view};
      const auto problem = ConvProblem::of(tensors, t.geometry, {.activation = Activation::relu}, math);
      EXPECT_TRUE(problem.ok());
      auto plan = plan_conv2d(*problem, device, {.variant = std::string(row.name)});
      if (!plan || !has_slices(row.config, plan->problem)) return {};
      take_slices(*plan, wanted);
      const Buffer workspace = std::move(*Buffer::allocate(at, plan->workspace));
      EXPECT_TRUE(fill_bytes(workspace.data(), at, 0xff, plan->workspace).ok());
      const Status status = plan->run(tensors, workspace.workspace());
      EXPECT_TRUE(status.ok()) << status.message();
      return y.values();
    };
    const auto whole = run(1);
    if (whole.empty()) return false;
    for (const int wanted : {2, 5, 100}) {
      const auto cut = run(wanted);
      for (std::size_t i = 0; i < whole.size(); ++i)
        if (static_cast<float>(whole[i]) != static_cast<float>(cut[i])) {
          ADD_FAILURE() << row.name << " in " << wanted << " slices, element " << i;
          return true;
        }
    }
    return true;
  }
};

TEST_P(ConvSlices, GiveTheSameY) {
  check<float>();
  check<bfloat16>();
  if (on_gpu()) check<half>();
  if (on_gpu()) check<float>(ConvMath::tf32);
}
INSTANTIATE_TEST_SUITE_P(cpu, ConvSlices, testing::Values(DeviceKind::cpu));
INSTANTIATE_TEST_SUITE_P(cuda, ConvSlices, testing::Values(DeviceKind::cuda));

}  // namespace
}  // namespace ridge
