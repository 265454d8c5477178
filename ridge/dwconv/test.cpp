#include <ridge/check/gtest_cases.hpp>
#include <ridge/dwconv/dwconv.hpp>
#include <ridge/dwconv/oracle.hpp>
#include <ridge/dwconv/variants.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

namespace ridge {
namespace {

using dwconv_detail::variants;

const check::TestCasesOf cases{"dwconv"};

std::string chosen(const DwconvProblem& p, const char* device = "H200") {
  auto plan = plan_dwconv(p, *device_model(device));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}

TEST(DwconvPlan, TensorCoresWhereTheDeviceHasThem) {
  EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 32, 768, 256, 256)), "whole_32");
  EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 32, 768, 256, 256), "A100"), "tensor_32");
  EXPECT_EQ(chosen(DwconvProblem::contiguous(bf16, 32, 768, 256, 256)), "tensor_32");
  EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 8, 2048, 256, 256)), "tensor_8");
  EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 32, 768, 256, 256, true)), "whole_32");
}

TEST(DwconvPlan, TransformsWhereRowsAreLong) {
  for (const bool backward : {false, true}) {
    EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 32, 768, 768, 768, backward)), "fft_row_1024");
    EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 32, 768, 1024, 1024, backward)), "fft_row_1024");
    EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 8, 2048, 2048, 2048, backward)), "fft_row_2048");
    EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 8, 2048, 4096, 4096, backward)), "fft_row_4096");
    EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 8, 2048, 4097, 4097, backward)), "fft_row_8192");
    EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 8, 2048, 8192, 8192, backward)), "fft_row_8192");
    EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 8, 768, 16384, 16384, backward)), "fft_8192");
  }
  EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 8, 768, 16384, 64)), "tensor_8");  // a short filter
  EXPECT_EQ(chosen(DwconvProblem::contiguous(bf16, 32, 768, 768, 768)), "fft_row_1024");
  EXPECT_EQ(chosen(DwconvProblem::contiguous(bf16, 8, 768, 4096, 4096)), "fft_row_4096");
  // A device without tensor cores, and with 96 KB of shared memory.
  EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 32, 768, 768, 768), "V100"), "fft_row_1024");
  EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 8, 768, 4096, 4096), "V100"), "fft_row_4096");
  EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 8, 768, 128, 128), "V100"), "balanced");
}

// A plan with NaN would equal no run's problem, not even itself.
TEST(DwconvPlan, EpsIsFinite) {
  for (const float eps : {NAN, INFINITY}) {
    auto p = DwconvProblem::contiguous(f32, 2, 3, 64, 64);
    p.eps = eps;
    EXPECT_EQ(chosen(p), std::string("dwconv: eps is ") + (std::isnan(eps) ? "nan" : "inf") + "; it must be finite");
  }
}

TEST(DwconvPlan, ARefusalSaysWhy) {
  auto plan =
      plan_dwconv(DwconvProblem::contiguous(f32, 32, 768, 768, 768), *device_model("V100"), {.variant = "tensor_32"});
  EXPECT_EQ(plan.error().message(),
            "dwconv: variant is tensor_32; it must be another one here: the device has no tensor cores of compute "
            "capability 8.0");
  plan = plan_dwconv(DwconvProblem::contiguous(f32, 8, 8, 4096, 4096), *device_model("V100"), {.variant = "fft_8192"});
  EXPECT_EQ(
      plan.error().message(),
      "dwconv: variant is fft_8192; it must be another one here: 152640 bytes of shared memory, and the device has "
      "98304");
  plan = plan_dwconv(DwconvProblem::contiguous(f32, 8, 8, 4097, 9), *device_model("H200"), {.variant = "fft_row_4096"});
  EXPECT_EQ(plan.error().message(),
            "dwconv: variant is fft_row_4096; it must be another one here: rows of 4097 steps, and it takes 4096");
  const auto whole = [](const DwconvProblem& p, const char* device) {
    auto result = plan_dwconv(p, *device_model(device), {.variant = "whole_32"});
    return result ? std::string() : std::string(result.error().message());
  };
  EXPECT_EQ(whole(DwconvProblem::contiguous(f32, 32, 8, 768, 768), "H200"), "");
  EXPECT_EQ(
      whole(DwconvProblem::contiguous(f32, 32, 8, 768, 768), "A100"),
      "dwconv: variant is whole_32; it must be another one here: the device has no wgmma, of compute capability 9.0");
  EXPECT_EQ(whole(DwconvProblem::contiguous(f16, 32, 8, 768, 768), "H200"),
            "dwconv: variant is whole_32; it must be another one here: it takes f32 alone");
  EXPECT_EQ(
      whole(DwconvProblem::contiguous(f32, 32, 8, 4096, 4096), "H200"),
      "dwconv: variant is whole_32; it must be another one here: 583440 bytes of shared memory, and the device has "
      "232448");
  std::vector<float> k(24), w(12), out(24);
  const auto refusal = [&](const TensorView& filter, const TensorView& to) {
    return std::string(DwconvProblem::of(view(k.data(), {2, 3, 4}), filter, to).error().message());
  };
  EXPECT_EQ(refusal(view(w.data(), {2, 6}), view(out.data(), {2, 3, 4})),
            "dwconv: w.shape is 2x6; it must be of 2 axes: k's 3 channels, and the filter's length");
  EXPECT_EQ(refusal(view(w.data(), {3, 4}), view(out.data(), {2, 3, 3})),
            "dwconv: y.shape is 2x3x3; it must be that of k, 2x3x4");
  EXPECT_EQ(refusal(view(w.data(), {3, 4}), view(k.data(), {2, 3, 4})),
            "dwconv: y is overlapping k; it must be apart from it");
}

TEST(Dwconv, TheLastTapIsThePresent) {
  std::vector<float> k{1, 2, 3, 4}, w{100, 10, 1}, out(4);
  dwconv(view(k.data(), {1, 1, 4}), view(w.data(), {1, 3}), view(out.data(), {1, 1, 4}), 0.5f);
  EXPECT_EQ(out, (std::vector<float>{1.5f, 12.5f, 123.5f, 234.5f}));
}

TEST(Dwconv, GradientsGoBackInTimeAndAddUpTheBatch) {
  std::vector<float> dy{1, 0, 2, 0, 0, 1}, k{1, 2, 3, 4, 5, 6}, w{10, 1}, dk(6), dw(2);
  dwconv_gradient(view(dy.data(), {2, 1, 3}), view(k.data(), {2, 1, 3}), view(w.data(), {1, 2}),
                  view(dk.data(), {2, 1, 3}), view(dw.data(), {1, 2}));
  EXPECT_EQ(dk, (std::vector<float>{1, 20, 2, 0, 10, 1}));
  EXPECT_EQ(dw, (std::vector<float>{2 * 2 + 1 * 5, 1 * 1 + 2 * 3 + 1 * 6}));
}

// Tensors of floats on a device.
struct OnDevice {
  Buffer buffer;
  TensorView seen;
  OnDevice(const std::vector<float>& values, std::initializer_list<std::int64_t> shape, Device device) {
    auto made = Buffer::allocate(device, values.size() * sizeof(float));
    throw_if(made.error());
    buffer = std::move(*made);
    throw_if(copy_bytes(buffer.data(), device, values.data(), {}, values.size() * sizeof(float)));
    seen = view(static_cast<float*>(buffer.data()), shape, device);
  }
  std::vector<float> values() const {
    std::vector<float> host(static_cast<std::size_t>(seen.count()));
    throw_if(copy_bytes(host.data(), {}, buffer.data(), seen.device, host.size() * sizeof(float)));
    return host;
  }
};

struct Errors {
  double most = 0, squares = 0;
  void add(float got, double want) {
    most = std::max(most, std::fabs(got - want));
    squares += (got - want) * (got - want);
  }
};

// Checks that a variant's errors are at most twice those of float32 multiply-adds, in y and both gradients: the
// maximum, and the root of the sum of squares.
void expect_float32(const DeviceInfo& on, std::int64_t B, std::int64_t C, std::int64_t T,
                    std::initializer_list<const char*> names) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const auto numbers = [&](std::int64_t n) {
    std::vector<float> x(static_cast<std::size_t>(n));
    for (float& v : x) v = normal(random);
    return x;
  };
  const std::vector<float> k = numbers(B * C * T), dy = numbers(B * C * T), w = numbers(C * T);
  const std::vector<double> kd(k.begin(), k.end()), dyd(dy.begin(), dy.end()), wd(w.begin(), w.end());
  std::vector<double> want[3];
  for (std::int64_t row = 0; row < B * C; ++row)
    for (std::int64_t t = 0; t < T; ++t) {
      const double* filter = wd.data() + row % C * T;
      want[0].push_back(dwconv_detail::output_oracle(kd.data() + row * T, filter, T, t).sum);
      want[1].push_back(dwconv_detail::k_gradient_oracle(dyd.data() + row * T, filter, T, T, t).sum);
    }
  for (std::int64_t c = 0; c < C; ++c)
    for (std::int64_t i = 0; i < T; ++i) {
      dwconv_detail::Term sum;
      for (std::int64_t b = 0; b < B; ++b)
        dwconv_detail::add_w_gradient_oracle(sum, dyd.data() + (b * C + c) * T, kd.data() + (b * C + c) * T, T,
                                             T - 1 - i);
      want[2].push_back(sum.sum);
    }
  const OnDevice on_k(k, {B, C, T}, on.id), on_dy(dy, {B, C, T}, on.id), on_w(w, {C, T}, on.id);
  const OnDevice y(k, {B, C, T}, on.id), dk(k, {B, C, T}, on.id), dw(w, {C, T}, on.id);
  const auto errors = [&](const char* variant) {
    auto forward = plan_dwconv(*DwconvProblem::of(on_k.seen, on_w.seen, y.seen), on, {.variant = variant});
    throw_if(forward.error());
    throw_if(forward->run(on_k.seen, on_w.seen, y.seen));
    auto backward = plan_dwconv(*DwconvProblem::of_gradient(on_dy.seen, on_k.seen, on_w.seen, dk.seen, dw.seen), on,
                                {.variant = variant});
    throw_if(backward.error());
    throw_if(backward->run_gradient(on_dy.seen, on_k.seen, on_w.seen, dk.seen, dw.seen));
    const std::vector<float> got[3] = {y.values(), dk.values(), dw.values()};
    std::vector<Errors> e(3);
    for (int i = 0; i < 3; ++i)
      for (std::size_t at = 0; at < want[i].size(); ++at) e[i].add(got[i][at], want[i][at]);
    return e;
  };
  const auto direct = errors("naive");
  for (const char* variant : names) {
    const auto ours = errors(variant);
    for (int i = 0; i < 3; ++i) {
      std::printf("%s, output %d: greatest error %.3g, of multiply-adds %.3g; root of squares %.3g, %.3g\n", variant, i,
                  ours[i].most, direct[i].most, std::sqrt(ours[i].squares), std::sqrt(direct[i].squares));
      EXPECT_LE(ours[i].most, 2 * direct[i].most);
      EXPECT_LE(ours[i].squares, 4 * direct[i].squares);
    }
  }
}

TEST(DwconvAccuracy, TransformsOfLongRowsAreFloat32) {
  expect_float32(cpu(), 3, 1, 1600, {"fft_1024", "fft_8192", "fft_row_2048", "fft_row_4096"});
  expect_float32(cpu(), 5, 1, 1000, {"fft_row_1024"});
  expect_float32(cpu(), 3, 1, 4100, {"fft_row_8192"});
}

// The tensor cores' sums are as accurate as those of multiply-adds in float32.
TEST(DwconvAccuracy, cudaTensorCoresAreFloat32) {
  auto gpu = device(0);
  if (!gpu || gpu->cc < 80) {
    std::puts("skipped: no GPU on this machine");
    GTEST_SKIP() << "no GPU of compute capability 8.0";
  }
  expect_float32(*gpu, 32, 2, 768, {"tensor_8", "tensor_32"});
  if (gpu->cc == 90) expect_float32(*gpu, 32, 2, 768, {"whole_32"});
  expect_float32(*gpu, 3, 1, 2500, {"fft_1024", "fft_8192", "fft_row_4096", "fft_row_8192"});
  expect_float32(*gpu, 35, 1, 1000, {"fft_row_1024", "fft_row_2048"});
}

// Two rows share one transform: neither a larger neighbour nor one with a NaN may affect a row.
TEST(DwconvAccuracy, RowsOfAPairDoNotMeet) {
  constexpr std::int64_t T = 700;
  std::vector<float> k(4 * T), w(T), alone(T), together(4 * T);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (float& x : w) x = normal(random);
  for (float& x : k) x = normal(random);
  for (std::int64_t t = 0; t < T; ++t) k[t] *= 1e-9f;         // beside a row of 1
  for (std::int64_t t = 0; t < T; ++t) k[2 * T + t] *= 1e9f;  // beside a row with a NaN
  k[3 * T + 200] = NAN;
  for (const char* variant : {"fft_1024", "fft_8192", "fft_row_1024", "fft_row_2048", "fft_row_4096", "fft_row_8192"}) {
    const auto run = [&](float* from, std::int64_t rows, float* to) {
      const TensorView x = view(from, {rows, 1, T}), filter = view(w.data(), {1, T}), y = view(to, {rows, 1, T});
      auto plan = plan_dwconv(*DwconvProblem::of(x, filter, y), cpu(), {.variant = variant});
      throw_if(plan.error());
      throw_if(plan->run(x, filter, y));
    };
    run(k.data(), 4, together.data());
    for (int row : {0, 2}) {
      run(k.data() + row * T, 1, alone.data());
      double difference = 0, size = 0;
      for (std::int64_t t = 0; t < T; ++t) {
        difference = std::max(difference, std::fabs(static_cast<double>(together[row * T + t]) - alone[t]));
        size = std::max(size, std::fabs(static_cast<double>(alone[t])));
      }
      EXPECT_LT(difference, 1e-6 * size) << variant << ", row " << row;
    }
    for (std::int64_t t = 0; t < T; ++t)
      EXPECT_EQ(std::isnan(together[3 * T + t]), t >= 200) << variant << ", step " << t;
  }
}

}  // namespace
}  // namespace ridge
