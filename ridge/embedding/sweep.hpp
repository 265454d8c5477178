// The distribution of embedding and embedding_norm in models, from which `ridge bench --sweep` draws: words of texts,
// positions and types of tokens, and the large tables with short rows of recommendation.
#pragma once
#include <ridge/check/case.hpp>
#include <ridge/check/draw.hpp>
#include <ridge/core/dtype.hpp>

#include <string>

namespace ridge::embedding_detail {

using check::Draw;

inline std::string draw(Draw& d) {
  enum Use { words, places, recommendation };
  const Use use = d.pick<Use>({{60, words}, {15, places}, {25, recommendation}});
  std::int64_t rows = use == words    ? d.size(30000, 260000)
                      : use == places ? d.pick<std::int64_t>({{1, 2}, {2, 197}, {3, 512}, {3, 1024}, {1, 8192}})
                                      : d.log_uniform(1000, 50'000'000);
  std::int64_t cols = use == recommendation ? d.size(8, 256) : d.size(512, 8192);
  std::int64_t n = d.chance(40) ? d.log_uniform(1, 128) : d.size(128, use == recommendation ? 1 << 20 : 65536);
  std::int64_t b = d.chance(50) ? d.log_uniform(1, 64) : 1;  // indices [b, n]
  const DType dtype = d.pick<DType>({{60, bf16}, {12, f16}, {28, f32}});
  const auto fits = [&] {
    const double of_table = static_cast<double>(rows) * static_cast<double>(cols),
                 of_result = static_cast<double>(b) * static_cast<double>(n) * static_cast<double>(cols);
    return d.fits((of_table + of_result) * static_cast<double>(size_of(dtype)), 0);
  };
  d.shrink({&b}, 1, fits);
  d.shrink({&rows, &cols, &n}, 64, fits);

  check::Case c{.op = {}, .dtype = dtype, .dims = {{"rows", rows}, {"cols", cols}, {"n", n}}, .options = {}};
  if (b > 1) c.dims.emplace_back("b", b);
  if (d.chance(70)) c.dims.emplace_back("wide", 1);   // PyTorch's indices have 64 bits
  if (d.chance(10)) c.options.set("scale", "45.25");  // the root of the width, as in some models
  if (d.chance(5)) c.options.set("place", d.chance(50) ? "offset" : "padded");
  return c.text();
}

// embedding_norm: the words of a prompt or of the next step, and the norm of a model's first layer, with beta only in
// mode layer.
inline std::string draw_norm(Draw& d) {
  std::int64_t rows = d.size(30000, 260000), cols = d.size(512, 8192);
  std::int64_t n = d.chance(60) ? d.log_uniform(1, 128) : d.size(128, 65536);
  const DType dtype = d.pick<DType>({{75, bf16}, {13, f16}, {12, f32}});
  const auto fits = [&] {
    const double elements = (static_cast<double>(rows) + 2 * static_cast<double>(n)) * static_cast<double>(cols);
    return d.fits(elements * static_cast<double>(size_of(dtype)), 0);
  };
  d.shrink({&rows, &cols, &n}, 64, fits);

  check::Case c{.op = {}, .dtype = dtype, .dims = {{"rows", rows}, {"cols", cols}, {"n", n}}, .options = {}};
  if (d.chance(70)) c.dims.emplace_back("wide", 1);
  const bool layer = d.chance(20);
  c.options.set("inputs", layer ? "table,indices,gamma,beta" : "table,indices,gamma");
  if (layer) c.options.set("mode", "layer");
  if (d.chance(40)) c.options.set("eps", layer ? "1e-12" : "1e-6");
  if (d.chance(15)) c.options.set("scale", "45.25");
  if (d.chance(5)) c.options.set("place", d.chance(50) ? "offset" : "padded");
  return c.text();
}

}  // namespace ridge::embedding_detail
