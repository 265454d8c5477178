// The distribution of problems that `ridge bench --sweep` draws from: norms as in models, of a row of the model's width
// for each token, of the heads of queries and keys, and of the channels of images.
#pragma once
#include <ridge/check/case.hpp>
#include <ridge/check/draw.hpp>
#include <ridge/core/dtype.hpp>

#include <string>

namespace ridge::norm_detail {

using check::Draw;

// `Added`: of x + residual. `Layer`: layer_norm, which mostly has a beta, where rms_norm has none.
template <bool Added, bool Layer> std::string draw(Draw& d) {
  enum Use { tokens, heads, channels };
  std::int64_t rows = 0, cols = 0;
  switch (d.pick<Use>({{65, tokens}, {Added ? 0 : 20, heads}, {15, channels}})) {
    case tokens:
      rows = d.chance(40) ? d.log_uniform(1, 128) : d.size(128, 65536);
      cols = d.size(512, 16384);
      break;
    case heads:
      rows = d.log_uniform(1, 1 << 21);
      cols = d.chance(70) ? d.pick<std::int64_t>({{3, 64}, {6, 128}, {1, 256}}) : d.size(32, 256);
      break;
    case channels:
      rows = d.log_uniform(49, 1 << 20);
      cols = d.chance(50) ? 96 << d.below(4) : d.size(32, 2048);
      break;
  }
  const bool backward = d.chance(30);
  const DType dtype = d.pick<DType>({{65, bf16}, {13, f16}, {20, f32}, {2, f64}});
  const char* place =
      backward ? "" : d.pick<const char*>({{80, ""}, {8, "inplace"}, {8, "packed"}, {2, "offset"}, {2, "padded"}});
  const int tensors = (Added ? 4 : 3) + (place == std::string_view("packed") ? 4 : 0);
  const auto fits = [&] {
    const double elements = static_cast<double>(rows) * static_cast<double>(cols);
    return d.fits(elements * tensors * static_cast<double>(size_of(dtype)), 0);
  };
  d.shrink({&rows, &cols}, 64, fits);

  const std::string x = backward ? Added ? "dy,sum" : "dy,x" : Added ? "x,residual" : "x";
  enum Parameters { both, gamma, neither };
  const Parameters parameters = Layer ? d.pick<Parameters>({{80, both}, {10, gamma}, {10, neither}})
                                      : d.pick<Parameters>({{5, both}, {85, gamma}, {10, neither}});
  std::string inputs = x + (parameters == neither ? "" : ",gamma"), outputs = "dx";
  if (!backward && parameters == both) inputs += ",beta";
  if (backward && Added && d.chance(80)) inputs += ",dsum";
  if (parameters != neither) outputs += ",dgamma";
  if (parameters == both) outputs += ",dbeta";

  check::Case c{.op = {}, .dtype = dtype, .dims = {{"rows", rows}, {"cols", cols}}, .options = {}};
  c.options.set("inputs", inputs);
  if (backward) c.options.set("outputs", outputs);
  if (d.chance(40)) c.options.set("eps", Layer ? "1e-12" : "1e-6");
  if (dtype == f32 && !backward && d.chance(20)) c.options.set("accumulate", "two_float");
  if (*place) c.options.set("place", place);
  if (backward) c.options.set("backward", "1");
  return c.text();
}

}  // namespace ridge::norm_detail
