// What tests of rows for tensor cores share. They run on the CPU runtime, which emulates their instructions, against
// sums in double. Elements are small whole numbers, so that sums are exact and a result has one rounding.
#pragma once
#include <ridge/conv/oracle.hpp>
#include <ridge/conv/sm90_dispatch.cuh>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace ridge::conv_detail {
namespace {

struct Case {
  const char* about;
  std::int64_t n = 1, c = 64, h = 8, w = 8, k = 64, r = 3, s = 3;
  ConvGeometry geometry = {.layout = ConvLayout::nhwc};
  ConvEpilogue epilogue = {};
  bool bias = false, residual = false;
  bool special_values = false;
  int offset = 0;  // alignment offset of x from 16 bytes, in elements
  int gap = 0;     // elements between pixels of x
  // The same of y and of a residual, where the layout is nhwc; or their channels lie apart, as planes.
  int y_gap = 0, residual_gap = 0;
  bool y_planes = false;
};

// The table's policies without clusters, which are not emulated.
template <int I> struct Emulated {
  static constexpr gemm_kernels::Config config = [] {
    gemm_kernels::Config c = wgmma_tile(variants[I].config);
    c.cluster = 1;
    return c;
  }();
};
constexpr int first_of(Algorithm algorithm) {
  int i = 0;
  while (variants[i].config.algorithm != algorithm) ++i;
  return i;
}
constexpr int fma_64 = first_of(Algorithm::fma), fma_128 = fma_64 + 1, fma_256 = fma_64 + 2, fma_32 = fma_64 + 3;
constexpr int first_row = first_of(Algorithm::wgmma);
constexpr int wgmma_64 = first_row, wgmma_64_thin = first_row + 1, wgmma_96 = first_row + 2,
              wgmma_96_thin = first_row + 3, wgmma_128 = first_row + 4, wgmma_128_ping_pong = first_row + 5,
              wgmma_160 = first_row + 6, wgmma_192 = first_row + 7, wgmma_256 = first_row + 8;

constexpr int stem_7 = first_of(Algorithm::stem), shuffle_128 = first_of(Algorithm::shuffle);
constexpr int tf32_64 = stem_7 + 1, tf32_128 = stem_7 + 2, tf32_256 = stem_7 + 3;
static_assert(variants[tf32_64].config.tf32 && variants[tf32_256].config.tf32);

constexpr float untouched = 7;
constexpr std::size_t behind = 16;  // canary elements after each output

// Small whole numbers.
template <class T> std::vector<T> filled(std::mt19937& bits, std::int64_t count) {
  std::uniform_int_distribution<int> small(-2, 2);
  std::vector<T> v(static_cast<std::size_t>(count));
  for (T& e : v) e = T(static_cast<float>(small(bits)));
  return v;
}

// An element of a tensor in a problem's layout, by n, c, h, w or k, c, r, s; e: of a volume's depth.
template <class T>
T& at(T* data, const Layout& t, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d, std::int64_t e = 0) {
  return data[a * t.stride[0] + b * t.stride[1] + c * t.stride[2] + d * t.stride[3] + e * t.stride[4]];
}

// dy: null in a forward problem.
template <class T> ConvOracle oracle_of(const ConvProblem& p, const T* x, const T* w, const T* dy = nullptr) {
  const auto reader = [](const T* data, const Layout& t) {
    return [=](auto... place) { return double{float(at(data, t, place...))}; };
  };
  const ConvGeometry& g = p.geometry;
  ConvOracle oracle{.n = p.x.shape[0],
                    .c = p.x.shape[1],
                    .h = p.x.shape[2],
                    .w = p.x.shape[3],
                    .k = p.w.shape[0],
                    .r = p.w.shape[2],
                    .s = p.w.shape[3],
                    .oh = p.y.shape[2],
                    .ow = p.y.shape[3],
                    .stride_h = g.stride.h,
                    .stride_w = g.stride.w,
                    .top = g.pad.top,
                    .left = g.pad.left,
                    .dilation_h = g.dilation.h,
                    .dilation_w = g.dilation.w,
                    .groups = p.geometry.groups,
                    .d = depth_of(p.x),
                    .t = depth_of(p.w),
                    .od = depth_of(p.y),
                    .stride_d = g.depth.stride,
                    .front = g.depth.front,
                    .dilation_d = g.depth.dilation,
                    .x = reader(x, p.x),
                    .filter = reader(w, p.w),
                    .dy = {}};
  if (dy) oracle.dy = reader(dy, p.y);
  return oracle;
}

// Expects that every element is what want(a, b, c, d, e) rounds to, and that nothing was written after them.
template <class T, class Want> void expect(const char* name, const std::vector<T>& got, const Layout& t, Want&& want) {
  SCOPED_TRACE(name);
  for (std::int64_t a = 0; a < t.shape[0]; ++a)
    for (std::int64_t b = 0; b < t.shape[1]; ++b)
      for (std::int64_t c = 0; c < t.shape[2]; ++c)
        for (std::int64_t d = 0; d < t.shape[3]; ++d)
          for (std::int64_t e = 0; e < depth_of(t); ++e) {
            const double wanted = want(a, b, c, d, e);
            const float rounded = float(T(static_cast<float>(wanted))),
                        element = float(at(got.data(), t, a, b, c, d, e));
            if (std::isnan(wanted))
              ASSERT_TRUE(std::isnan(element)) << a << " " << b << " " << c << " " << d << " " << e;
            else ASSERT_EQ(element, rounded) << a << " " << b << " " << c << " " << d << " " << e;
          }
  for (std::size_t i = got.size() - behind; i < got.size(); ++i) ASSERT_EQ(float(got[i]), untouched);
}

// The plan of a row for two multiprocessors, so that a block has several tiles if there are more.
ConvPlan plan_of(const ConvProblem& problem, int row) {
  DeviceInfo device;
  device.sms = 2;
  return {problem, device, row};
}

// A plan and its workspace, aligned to 128 bytes as in the library: filled with NaN, and followed by a canary.
struct Bench {
  ConvPlan plan;
  std::size_t bytes;
  std::vector<unsigned char> memory;
  explicit Bench(const ConvPlan& p) : plan(p), bytes(p.workspace), memory(bytes + 256, 0xff) {}
  unsigned char* workspace() {
    return memory.data() + (128 - reinterpret_cast<std::uintptr_t>(memory.data()) % 128) % 128;
  }
  bool is_intact() {
    return std::all_of(workspace() + bytes, memory.data() + memory.size(), [](unsigned char c) { return c == 0xff; });
  }
};

// A case's output, and what its epilogue reads.
template <class T> struct Output {
  const Case& t;
  std::vector<std::int64_t> shape;  // as it is stored
  std::vector<T> y, bias, residual;

  Output(std::mt19937& bits, const Case& of, std::vector<std::int64_t> stored) : t(of), shape(std::move(stored)) {
    const std::int64_t pixels = shape[0] * shape[1] * shape[2];
    y.assign(static_cast<std::size_t>(pixels * (shape[3] + t.y_gap)) + behind, T(untouched));
    bias = filled<T>(bits, t.k);
    residual = filled<T>(bits, pixels * (shape[3] + t.residual_gap));
  }
  TensorView like_y(std::vector<T>& v, int gap) {
    TensorView of = view(v.data(), {shape[0], shape[1], shape[2], shape[3]});
    const std::int64_t pitch = shape[3] + gap, row = shape[2] * pitch, plane = shape[1] * shape[2];
    if (gap > 0) of.layout.stride = {shape[1] * row, row, pitch, 1};
    if (t.y_planes) of.layout.stride = {shape[3] * plane, shape[2], 1, plane};
    return of;
  }
  void enter(ConvTensors& tensors) {
    tensors.y = like_y(y, t.y_gap);
    if (t.bias) tensors.bias = view(bias.data(), {t.k});
    if (t.residual) tensors.residual = like_y(residual, t.residual_gap);
  }
  // Nothing was written between pixels.
  bool has_gaps() const {
    const std::int64_t pitch = shape[3] + t.y_gap, end = shape[0] * shape[1] * shape[2] * pitch;
    for (std::int64_t i = 0; i < end; ++i)
      if (i % pitch >= shape[3] && float(y[static_cast<std::size_t>(i)]) != untouched) return false;
    return true;
  }
  // The element (n, k, i, j), of its sum: act(sum + bias) + addend, or act(sum + bias + addend). relu, relu6 or none.
  double want(const ConvProblem& p, double sum, std::int64_t n, std::int64_t k, std::int64_t i, std::int64_t j,
              std::int64_t /*of a volume*/) const {
    const double addend = t.residual ? double{float(at(residual.data(), *p.residual, n, k, i, j))} : 0;
    if (t.bias) sum += double{float(bias[static_cast<std::size_t>(k)])};
    if (t.epilogue.residual_first) sum += addend;
    if (t.epilogue.activation == Activation::relu && sum < 0) sum = 0;
    if (t.epilogue.activation == Activation::relu6) sum = std::clamp(sum, 0.0, 6.0);
    return t.epilogue.residual_first ? sum : sum + addend;
  }
};

constexpr ConvGeometry padded(std::int64_t n) { return {.pad = {n, n, n, n}, .layout = ConvLayout::nhwc}; }
constexpr ConvGeometry stride_of(std::int64_t stride, std::int64_t pad) {
  return {.stride = {stride, stride}, .pad = {pad, pad, pad, pad}, .layout = ConvLayout::nhwc};
}

}  // namespace
}  // namespace ridge::conv_detail
