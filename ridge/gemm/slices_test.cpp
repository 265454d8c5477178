// Split-K slices, which no plan uses with short k or on the CPU: a plan that is told to gives the same D.
#include <ridge/check/each_device.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/gemm/families.hpp>
#include <ridge/gemm/gemm.hpp>

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

namespace ridge {
namespace {

using namespace gemm_detail;

TEST(GemmSlicesOfK, AreWholeStepsAndAllOfK) {
  const Config c{.bk = 16};
  for (std::int64_t k : {1, 15, 16, 17, 100, 1000, 4096})
    for (int wanted : {1, 2, 3, 7, 64, max_slices}) {
      const Slices s = slices_of(c, k, wanted);
      EXPECT_LE(s.count, wanted);
      EXPECT_GT(k, (s.count - 1) * s.k) << "the last has some";
      EXPECT_LE(k, s.count * s.k);
      EXPECT_TRUE(s.count == 1 || s.k % c.bk == 0);
    }
}

// A matrix [batch, rows, cols] of whole numbers on a device, whose sums are the same in any order; stored by columns if
// `by_columns`.
template <class T> struct Numbers {
  Buffer memory;
  TensorView view;
  std::int64_t count;
  Numbers(Device device, std::int64_t batch, std::int64_t rows, std::int64_t cols, bool by_columns, unsigned seed)
      : count(batch * rows * cols) {
    std::mt19937 bits(seed);
    std::vector<T> x(static_cast<std::size_t>(count));
    for (T& v : x) v = T(static_cast<float>(static_cast<int>(bits() % 7) - 3));
    memory = std::move(*Buffer::allocate(device, x.size() * sizeof(T)));
    EXPECT_TRUE(copy_bytes(memory.data(), device, x.data(), cpu().id, x.size() * sizeof(T)).ok());
    auto* data = static_cast<T*>(memory.data());
    view = by_columns ? transposed(ridge::view(data, {batch, cols, rows}, device))
                      : ridge::view(data, {batch, rows, cols}, device);
  }
  std::vector<T> values() const {
    std::vector<T> x(static_cast<std::size_t>(count));
    EXPECT_TRUE(copy_bytes(x.data(), cpu().id, memory.data(), memory.device(), x.size() * sizeof(T)).ok());
    return x;
  }
};

class GemmSlices : public check::EachDevice {
 protected:
  // Every row that may use slices: few of them, more than are read at a time, and one per step.
  template <class T, class Out = T> void check(GemmMath math = GemmMath::exact) {
    int rows = 0;
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{48, 80, 208}, {33, 37, 131}})
      for (const bool transposed_a : {false, true})
        for (const bool transposed_b : {false, true})
          for (const auto& row : variants)
            if (row.math == math && row.types.contains(dtype_of<T>))
              rows += check_row<T, Out>(row, {m, n, k}, transposed_a, transposed_b, math);
    EXPECT_GT(rows, 0);
  }

 private:
  // Whether the row fits. D also gets C, a bias and a residual, and a gate with a bias if the row is for one.
  template <class T, class Out>
  bool check_row(const Variant& row, std::array<std::int64_t, 3> size, bool transposed_a, bool transposed_b,
                 GemmMath math) {
    const auto [m, n, k] = size;
    constexpr std::int64_t batch = 2;
    const Device at = device.id;
    const Numbers<T> a(at, batch, m, k, transposed_a, 1), b(at, batch, k, n, transposed_b, 2);
    const Numbers<T> gate(at, batch, k, n, transposed_b, 7);
    const Numbers<Out> c(at, batch, m, n, false, 3), bias(at, 1, 1, n, false, 4), residual(at, batch, m, n, false, 5);
    const TensorView bias_of_gate = ridge::view(static_cast<Out*>(bias.memory.data()), {n}, at);
    const auto run = [&](int wanted) {
      const Numbers<Out> d(at, batch, m, n, false, 6);
      const GemmTensors tensors{.a = a.view,
                                .b = b.view,
                                .d = d.view,
                                .c = c.view,
                                .bias = ridge::view(static_cast<Out*>(bias.memory.data()), {n}, at),
                                .residual = residual.view,
                                .gate = row.config.gated ? std::optional(gate.view) : std::nullopt,
                                .gate_bias = row.config.gated ? std::optional(bias_of_gate) : std::nullopt};
      auto problem = GemmProblem::of(tensors, {.alpha = 2, .beta = 3, .activation = Activation::relu, .math = math});
      EXPECT_TRUE(problem.ok());
      auto plan = plan_gemm(*problem, device, {.variant = std::string(row.name)});
      if (!plan || !has_slices(row.config, plan->problem)) return std::vector<Out>();
      plan->split = slices_of(row.config, k, wanted).count;
      plan->workspace = family_of(row)
                            .footprint(row, plan->problem, device, {.split = plan->split, .swap_ab = plan->swap_ab})
                            .launch.workspace;
      const Buffer workspace = std::move(*Buffer::allocate(at, plan->workspace));
      EXPECT_TRUE(fill_bytes(workspace.data(), at, 0xff, plan->workspace).ok());
      const Status status = plan->run(tensors, workspace.workspace());
      EXPECT_TRUE(status.ok()) << status.message();
      return d.values();
    };
    const auto whole = run(1);
    if (whole.empty()) return false;
    for (const int wanted : {2, 5, 100}) {
      const auto cut = run(wanted);
      for (std::size_t i = 0; i < whole.size(); ++i)
        if (static_cast<double>(whole[i]) != static_cast<double>(cut[i])) {
          ADD_FAILURE() << row.name << " in " << wanted << " slices, element " << i;
          return true;
        }
    }
    return true;
  }
};

TEST_P(GemmSlices, GiveTheSameD) {
  check<float>();
  check<double>();
  check<bfloat16>();
  check<std::int8_t, std::int32_t>();
  if (on_gpu()) check<float>(GemmMath::tf32);
}
INSTANTIATE_TEST_SUITE_P(cpu, GemmSlices, testing::Values(DeviceKind::cpu));
INSTANTIATE_TEST_SUITE_P(cuda, GemmSlices, testing::Values(DeviceKind::cuda));

}  // namespace
}  // namespace ridge
