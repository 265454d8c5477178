// Slices of k, which no plan takes on the CPU: a plan that is told to gives the same D.
#include <ridge/gemm/gemm.hpp>
#include <ridge/gemm/slices.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace ridge {
namespace {

using namespace gemm_detail;

TEST(GemmSlices, AreWholeStepsAndAllOfK) {
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

template <class T> std::vector<T> small_numbers(std::int64_t count, unsigned seed) {
  std::mt19937 bits(seed);
  std::vector<T> x(static_cast<std::size_t>(count));
  for (T& v : x) v = T(static_cast<float>(static_cast<int>(bits() % 7) - 3));
  return x;
}

// Whole numbers, whose sums are the same in any order. D also gets C, a bias and a residual; nothing is written beside it.
template <class T, class Out>
void check(const char* variant, std::int64_t m, std::int64_t n, std::int64_t k, int wanted) {
  constexpr std::int64_t batch = 2;
  auto a = small_numbers<T>(batch * m * k, 1), b = small_numbers<T>(batch * k * n, 2);
  auto c = small_numbers<Out>(batch * m * n, 3), bias = small_numbers<Out>(n, 4),
       residual = small_numbers<Out>(batch * m * n, 5);
  const auto run = [&](int split) {
    const std::size_t beyond = 9;
    std::vector<Out> d(static_cast<std::size_t>(batch * m * n) + beyond, Out(77.0f));
    const GemmTensors tensors{.a = view(a.data(), {batch, m, k}),
                              .b = view(b.data(), {batch, k, n}),
                              .d = view(d.data(), {batch, m, n}),
                              .c = view(c.data(), {batch, m, n}),
                              .bias = view(bias.data(), {n}),
                              .residual = view(residual.data(), {batch, m, n})};
    const GemmScalars scalars{.alpha = 2, .beta = 3, .activation = Activation::relu};
    auto plan = plan_gemm(*GemmProblem::of(tensors, scalars), cpu(), {.variant = variant});
    EXPECT_TRUE(plan.ok()) << variant;
    EXPECT_EQ(plan->split, 1);
    plan->split = slices_of(variants[plan->variant].config, k, split).count;
    plan->workspace = slice_bytes(plan->problem, plan->split);
    std::vector<double> workspace(plan->workspace / 8 + 1, NAN);
    const Status status = plan->run(tensors, {workspace.data(), plan->workspace});
    EXPECT_TRUE(status.ok()) << status.message();
    return d;
  };
  const auto whole = run(1), cut = run(wanted);
  for (std::size_t i = 0; i < whole.size(); ++i)
    ASSERT_EQ(static_cast<double>(whole[i]), static_cast<double>(cut[i])) << variant << " element " << i;
}

TEST(GemmSlices, GiveTheSameD) {
  for (const int wanted : {2, 5, 100}) {  // fewer than what is read at a time, more, and as many as there are steps
    check<float, float>("async", 70, 36, 328, wanted);
    check<float, float>("async_16x128", 17, 132, 200, wanted);
    check<float, float>("async_128x32", 130, 36, 200, wanted);
    check<float, float>("thread_8x8", 5, 3, 90, wanted);
    check<double, double>("f64_128x64", 33, 66, 130, wanted);
    check<std::int8_t, std::int32_t>("dp4a", 20, 48, 208, wanted);
  }
  check<bfloat16, bfloat16>("widened", 20, 40, 72, 3);
}

}  // namespace
}  // namespace ridge
