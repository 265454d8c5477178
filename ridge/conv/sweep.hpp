// The distribution of problems that `ridge bench --sweep conv2d` draws from: the convolutions of networks that classify
// images, find objects in them, cut them up and make them, forward and backward.
#pragma once
#include <ridge/check/case.hpp>
#include <ridge/check/draw.hpp>
#include <ridge/core/dtype.hpp>

#include <algorithm>
#include <string>

namespace ridge::conv_detail {

using check::Draw;

inline std::string draw(Draw& d) {
  enum Kind { one_tap, window, depthwise, grouped, stem, patches };
  const Kind kind = d.pick<Kind>({{38, one_tap}, {32, window}, {16, depthwise}, {3, grouped}, {7, stem}, {4, patches}});
  // Channels as networks have them: multiples of 8, mostly of 16 or 32, up to 2048 where images are small.
  const auto channels = [&](std::int64_t most) {
    const std::int64_t step = d.pick<std::int64_t>({{50, 32}, {30, 16}, {20, 8}});
    return std::max<std::int64_t>(1, d.log_uniform(16, most) / step) * step;
  };
  std::int64_t n = d.chance(35) ? 1 : d.log_uniform(2, 64), h = 0, w = 0, c = 0, k = 0, r = 1, stride = 1, pad = 0,
               groups = 1;
  // Sides after each halving of 224, of 640 (detectors), and of the powers of two of generators.
  const std::int64_t level = d.below(5);
  h = w = d.pick<std::int64_t>({{55, 7 << level}, {25, 20 << level}, {20, 8 << level}});
  if (d.chance(10)) h = d.size(6, 200), w = d.size(6, 200);
  const std::int64_t widest = std::max<std::int64_t>(64, 4096 >> level);  // the larger images, the fewer channels
  c = channels(widest / 2);
  switch (kind) {
    case one_tap:
      k = channels(widest / 2);
      if (d.chance(8)) stride = 2;
      break;
    case window:
      k = d.chance(60) ? c : channels(widest / 2);
      r = d.pick<std::int64_t>({{92, 3}, {5, 5}, {3, 7}});
      if (d.chance(20)) stride = 2;
      pad = r / 2;
      break;
    case depthwise:
      c = k = groups = channels(widest / 2);
      r = d.pick<std::int64_t>({{55, 3}, {25, 5}, {20, 7}});
      if (d.chance(25)) stride = 2;
      pad = r / 2;
      break;
    case grouped:
      groups = d.pick<std::int64_t>({{70, 32}, {15, 8}, {15, 2}});
      c = k = groups * d.pick<std::int64_t>({{40, 4}, {30, 8}, {20, 16}, {10, 32}});
      r = 3, pad = 1;
      if (d.chance(25)) stride = 2;
      break;
    case stem:
      c = d.pick<std::int64_t>({{80, 3}, {10, 1}, {10, 4}});
      h = w = d.pick<std::int64_t>({{60, 224}, {20, 640}, {20, 512}});
      r = d.pick<std::int64_t>({{60, 3}, {30, 7}, {10, 6}});
      stride = d.chance(80) ? 2 : 1;
      pad = r / 2;
      k = d.pick<std::int64_t>({{30, 16}, {30, 32}, {40, 64}});
      break;
    case patches:
      r = stride = d.pick<std::int64_t>({{40, 16}, {20, 14}, {25, 4}, {15, 2}});
      c = r > 2 ? 3 : c;
      h = w = c == 3 ? 224 : h / 2 * 2;
      k = r == 16 || r == 14 ? d.pick<std::int64_t>({{60, 768}, {40, 1024}}) : r == 4 ? 96 : 2 * c;
      break;
  }
  const DType dtype = d.pick<DType>({{60, bf16}, {17, f16}, {23, f32}});
  const bool backward = d.chance(25), nhwc = d.chance(70), tf32 = dtype == f32 && !backward && d.chance(40);
  const char* epilogue = backward ? ""
                         : kind == window || kind == one_tap
                             ? d.pick<const char*>({{22, "bias+relu"},
                                                    {18, "bias+silu"},
                                                    {6, "bias+gelu"},
                                                    {20, "bias"},
                                                    {12, ""},
                                                    {12, "bias+residual+relu"},
                                                    {10, "bias+residual"}})
                             : d.pick<const char*>({{30, "bias+relu"}, {25, "bias+silu"}, {30, "bias"}, {15, ""}});
  const auto fits = [&] {
    const double pixels = static_cast<double>(n) * static_cast<double>(h * w), out = pixels / (stride * stride);
    const double elements = pixels * static_cast<double>(c) + out * static_cast<double>(k);
    const double products = out * static_cast<double>(k) * static_cast<double>(c / groups * r * r);
    return d.fits(elements * static_cast<double>(size_of(dtype)), 2 * products * (backward ? 2 : 1), dtype != f32);
  };
  d.shrink({&n}, 1, fits);
  while (!fits() && h > 2 * r && w > 2 * r) h = h / 2, w = w / 2;
  if (kind == one_tap || kind == window) d.shrink({&c, &k}, 8, fits);
  if (kind == stem || kind == patches) d.shrink({&k}, 8, fits);
  while (kind == depthwise && !fits() && c > 8) c = k = groups = c / 16 * 8;

  check::Case drawn{
      .op = {}, .dtype = dtype, .dims = {{"n", n}, {"c", c}, {"h", h}, {"w", w}, {"k", k}, {"r", r}}, .options = {}};
  if (stride > 1) drawn.options.set("stride", std::to_string(stride));
  if (pad) drawn.options.set("pad", std::to_string(pad));
  if (groups > 1) drawn.options.set("groups", std::to_string(groups));
  if (nhwc) drawn.options.set("layout", "nhwc");
  if (*epilogue) drawn.options.set("epilogue", epilogue);
  if (tf32) drawn.options.set("math", "tf32");
  if (backward) drawn.options.set("backward", "1");
  return drawn.text();
}

}  // namespace ridge::conv_detail
