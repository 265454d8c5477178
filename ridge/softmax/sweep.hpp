// The distribution of problems that `ridge bench --sweep` draws from: softmax and log_softmax as in models, over scores
// of unfused attention, vocabularies, experts and classes.
#pragma once
#include <ridge/check/case.hpp>
#include <ridge/check/draw.hpp>
#include <ridge/core/dtype.hpp>

#include <string>

namespace ridge::softmax_detail {

using check::Draw;

// The size of a vocabulary: of a well-known model, or any.
inline std::int64_t drawn_words(Draw& d) {
  return d.pick<std::int64_t>(
      {{15, 32000}, {15, 50257}, {10, 50304}, {20, 128256}, {10, 151936}, {5, 256000}, {25, d.size(30000, 260000)}});
}

inline std::string draw(Draw& d) {
  enum Use { scores, words, choices };
  std::int64_t rows = 0, cols = 0;
  switch (d.pick<Use>({{45, scores}, {35, words}, {20, choices}})) {
    case scores:  // rows are sequences, heads and queries; columns are keys, as many as a sequence has
      rows = d.log_uniform(1, 1 << 20);
      cols = d.chance(70) ? d.size(16, 16384) : d.log_uniform(1, 16384);
      break;
    case words:
      rows = d.chance(50) ? d.log_uniform(1, 128) : d.size(128, 16384);
      cols = drawn_words(d);
      break;
    case choices:  // of an expert for each token, or of a class for each image or point
      rows = d.log_uniform(1, 1 << 20);
      cols = d.chance(50) ? d.pick<std::int64_t>({{1, 8}, {1, 64}, {1, 128}, {1, 256}, {1, 1000}}) : 2 + d.below(254);
      break;
  }
  const DType dtype = d.pick<DType>({{45, bf16}, {15, f16}, {38, f32}, {2, f64}});  // often float32
  const bool backward = d.chance(30);
  const char* place =
      backward ? "" : d.pick<const char*>({{82, ""}, {8, "inplace"}, {6, "packed"}, {2, "offset"}, {2, "padded"}});
  const int tensors = (backward ? 3 : 2) + (place == std::string_view("packed") ? 2 : 0);
  const auto fits = [&] {
    const double elements = static_cast<double>(rows) * static_cast<double>(cols);
    return d.fits(elements * tensors * static_cast<double>(size_of(dtype)), 0);
  };
  d.shrink({&rows, &cols}, 64, fits);
  check::Case c{.op = {}, .dtype = dtype, .dims = {{"rows", rows}, {"cols", cols}}, .options = {}};
  if (*place) c.options.set("place", place);
  if (backward) c.options.set("backward", "1");
  return c.text();
}

}  // namespace ridge::softmax_detail
