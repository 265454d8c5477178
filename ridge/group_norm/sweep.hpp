// The distribution of problems that `ridge bench --sweep` draws from: group norm as in models of images, before the
// convolutions of U-Nets and autoencoders, and before their attention.
#pragma once
#include <ridge/check/case.hpp>
#include <ridge/check/draw.hpp>
#include <ridge/core/dtype.hpp>

#include <string>

namespace ridge::group_norm_detail {

using check::Draw;

inline std::string draw(Draw& d) {
  // Nearly all models have 32 groups; few have as many as channels (instance norm), or one.
  const std::int64_t groups = d.pick<std::int64_t>({{85, 32}, {6, 8}, {5, 16}, {4, 1}});
  const bool instance = groups == 1 && d.chance(50);
  const std::int64_t of_group =
      d.pick<std::int64_t>({{15, 4}, {10, 8}, {20, 10}, {15, 16}, {15, 20}, {20, 40}, {5, 60}});
  const std::int64_t c = groups * of_group;
  std::int64_t n = d.log_uniform(1, 64), h = 0, w = 0;
  if (d.chance(80)) h = w = std::int64_t{8} << d.below(5);  // 8 to 128
  else h = d.size(6, 256), w = d.size(6, 256);
  const DType dtype = d.pick<DType>({{60, bf16}, {20, f16}, {20, f32}});
  const bool backward = d.chance(25), narrow = dtype != f32 && d.chance(50);
  const char* place = backward ? "" : d.pick<const char*>({{85, ""}, {10, "inplace"}, {5, "padded"}});
  const auto fits = [&] {
    const double elements = static_cast<double>(n) * static_cast<double>(c) * static_cast<double>(h * w);
    return d.fits(elements * (backward ? 3 : 2) * static_cast<double>(size_of(dtype)), 0);
  };
  d.shrink({&n, &h, &w}, 1, fits);
  check::Case drawn{.op = {}, .dtype = dtype, .dims = {{"n", n}, {"c", c}, {"h", h}, {"w", w}}, .options = {}};
  if (narrow) drawn.dims.emplace_back("narrow", 1);
  drawn.options.set("groups", std::to_string(instance ? c : groups));
  if (d.chance(60)) drawn.options.set("layout", "nhwc");
  if (const char* activation = d.pick<const char*>({{65, "silu"}, {30, ""}, {5, "relu"}}); *activation)
    drawn.options.set("activation", activation);
  if (d.chance(40)) drawn.options.set("eps", "1e-6");
  if (*place) drawn.options.set("place", place);
  if (backward) drawn.options.set("backward", "1");
  return drawn.text();
}

}  // namespace ridge::group_norm_detail
