// The distribution of gemm, linear and grouped_gemm in models, from which `ridge bench --sweep` draws. Weights are
// those of transformers from 100 million to 400 billion parameters, and of classifiers' heads; rows are the tokens of a
// step.
#pragma once
#include <ridge/check/case.hpp>
#include <ridge/check/draw.hpp>
#include <ridge/core/dtype.hpp>

#include <algorithm>
#include <string>

namespace ridge::gemm_detail {

using check::Draw;

struct Product {
  std::int64_t m, n, k, batch = 1;
};

// Decoding has one token per sequence; training and prefill have the whole sequence.
inline std::int64_t drawn_tokens(Draw& d) {
  if (d.chance(50)) return d.log_uniform(1, 128);
  return d.chance(70) ? d.size(128, 16384) : d.log_uniform(128, 16384);
}

// The inner width of a feed-forward layer: four times the model's, or with a gate 8/3 of it, rounded up.
inline std::int64_t drawn_inner(Draw& d, std::int64_t width) {
  const std::int64_t step = d.pick<std::int64_t>({{40, 0}, {20, 64}, {40, 256}});
  return step == 0 ? 4 * width : (width * 8 / 3 + step - 1) / step * step;
}

// y [m, n] of x [m, k] by one layer's weights.
inline Product drawn_layer(Draw& d) {
  enum Layer { projection, queries_keys_values, up, down, vocabulary, router, to_low_rank, from_low_rank };
  const std::int64_t width = d.size(512, 8192), m = drawn_tokens(d);
  switch (d.pick<Layer>({{24, projection},           // of attention's result
                         {14, queries_keys_values},  // in one
                         {22, up},
                         {22, down},
                         {6, vocabulary},  // 32,000 to 256,000 words, also 50,257
                         {6, router},      // of experts; classes, boxes
                         {3, to_low_rank},
                         {3, from_low_rank}})) {
    case projection: return {m, width, width};
    case queries_keys_values: {
      const std::int64_t heads_per_key = d.pick<std::int64_t>({{40, 1}, {40, 4}, {20, 8}});
      return {m, width + 2 * (width / heads_per_key), width};
    }
    case up: return {m, drawn_inner(d, width), width};
    case down: return {m, width, drawn_inner(d, width)};
    case vocabulary: return {m, d.size(32000, 256000), width};
    case router: return {m, d.size(8, 256), width};
    case to_low_rank: return {m, d.size(8, 128), width};
    case from_low_rank: return {m, width, d.size(8, 128)};
  }
  return {};
}

// A batch of products of two activations: scores of heads and their sums of values, with unfused attention.
inline Product drawn_heads(Draw& d) {
  const std::int64_t rows = d.size(16, 2048), keys = d.size(16, 2048), columns = d.size(32, 256);
  const std::int64_t batch = d.log_uniform(2, 256);
  return d.chance(50) ? Product{rows, keys, columns, batch} : Product{rows, columns, keys, batch};
}

struct Kind {
  DType dtype;
  const char *math = "", *out = "";
  bool tensor_cores() const { return dtype != f64 && (dtype != f32 || *math); }
};
inline Kind drawn_kind(Draw& d) {
  switch (d.pick<DType>({{60, bf16}, {14, f16}, {14, f32}, {4, f8e4m3}, {1, f8e5m2}, {5, i8}, {2, f64}})) {
    case f32: return {f32, d.pick<const char*>({{45, ""}, {40, "tf32"}, {15, "3xtf32"}})};
    case f8e4m3:
      return {f8e4m3, d.pick<const char*>({{70, ""}, {30, "fast"}}),
              d.pick<const char*>({{70, "bf16"}, {15, "f16"}, {5, ""}, {5, "f8e4m3"}, {5, "f8e5m2"}})};
    case f8e5m2: return {f8e5m2, "", "bf16"};
    case i8: return {i8, "", d.pick<const char*>({{40, ""}, {30, "bf16"}, {10, "f16"}, {10, "f32"}, {10, "i8"}})};
    case f16: return {f16, "", d.chance(6) ? "f32" : ""};
    case f64: return {f64};
    default: return {bf16, "", d.chance(6) ? "f32" : ""};
  }
}

inline const char* drawn_activation(Draw& d) {
  return d.pick<const char*>({{20, "relu"}, {25, "gelu"}, {20, "gelu_tanh"}, {30, "silu"}, {5, "sigmoid"}});
}

// Views into wider tensors, sometimes with rows that end off a vector.
inline const char* drawn_place(Draw& d) {
  return d.pick<const char*>({{90, ""}, {6, "packed"}, {2, "offset"}, {2, "padded"}});
}

// Common to the three: sizes that fit the memory, types, and placement of the tensors. There are `tensors` of m n
// elements, y among them, and `weights` of n k.
inline check::Case drawn_case(Draw& d, Product p, const Kind& kind, std::int64_t tensors, std::int64_t weights) {
  const char* place = drawn_place(d);
  const double spread = place == std::string_view("packed") ? 3 : 1;
  const auto fits = [&] {
    const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k),
                 all = static_cast<double>(p.batch), size = static_cast<double>(size_of(kind.dtype));
    const double elements = m * k + n * k * static_cast<double>(weights) + m * n * static_cast<double>(tensors);
    return d.fits(elements * all * size * spread, 2 * m * n * k * all * static_cast<double>(weights),
                  kind.tensor_cores());
  };
  d.shrink({&p.batch}, 1, fits);
  d.shrink({&p.m, &p.n, &p.k}, 64, fits);
  check::Case c{.op = {}, .dtype = kind.dtype, .dims = {{"m", p.m}, {"n", p.n}, {"k", p.k}}, .options = {}};
  if (p.batch > 1) c.dims.emplace_back("batch", p.batch);
  if (*kind.math) c.options.set("math", kind.math);
  if (*kind.out) c.options.set("out", kind.out);
  if (*place) c.options.set("place", place);
  return c;
}

// The parts of an epilogue: a third of the products have none, the others any combination.
struct Epilogue {
  std::string bias, activation;
  bool gate = false, gate_bias = false, residual = false;

  Epilogue(Draw& d, const Kind& kind, bool gates) {
    if (d.chance(33)) return;
    const bool whole = kind.dtype == i8 && !*kind.out;  // i32, which allows no other activation
    if (d.chance(60)) bias = "bias";
    if (d.chance(45)) activation = whole ? "relu" : drawn_activation(d);
    if (gates && d.chance(20)) gate = kind.dtype == bf16 || kind.dtype == f16 || kind.dtype == f32 || kind.dtype == f64;
    gate_bias = gate && !bias.empty() && d.chance(70);
    residual = d.chance(30);
  }
  std::string text() const {
    std::string parts;
    for (const std::string& part : {bias, activation, std::string(gate ? "gate" : ""),
                                    std::string(gate_bias ? "gate_bias" : ""), std::string(residual ? "residual" : "")})
      if (!part.empty()) parts += (parts.empty() ? "" : "+") + part;
    return parts;
  }
};

inline std::string draw_gemm(Draw& d) {
  enum Use { layer, gradient_of_weights, heads };
  const Use use = d.pick<Use>({{80, layer}, {10, gradient_of_weights}, {10, heads}});
  Product p = use == heads ? drawn_heads(d) : drawn_layer(d);
  if (use == gradient_of_weights) p = {p.n, p.k, p.m};  // a sum over tokens
  const Kind kind = drawn_kind(d);
  // A layer's weights are stored [n, k]; in the backward pass, and in some models, [k, n].
  const char* layout = use == gradient_of_weights ? "tn"
                       : use == heads             ? d.pick<const char*>({{45, "nt"}, {45, "nn"}, {5, "tn"}, {5, "tt"}})
                                                  : d.pick<const char*>({{75, "nt"}, {18, "nn"}, {4, "tn"}, {3, "tt"}});
  Epilogue epilogue(d, kind, use == layer);
  if (!epilogue.bias.empty() && d.chance(5)) epilogue.bias = "bias_m";
  const bool adds_c = d.chance(use == gradient_of_weights ? 30 : 4);  // gradients of several steps add up
  const bool whole = kind.dtype == i8 && !*kind.out;
  check::Case c = drawn_case(d, p, kind, 1 + adds_c + epilogue.residual, 1 + epilogue.gate);
  if (layout != std::string_view("nn")) c.options.set("layout", layout);
  if (const std::string parts = epilogue.text(); !parts.empty()) c.options.set("epilogue", parts);
  if (kind.dtype == i8 && !whole) c.options.set("alpha", kind.out == std::string_view("i8") ? "0.001" : "0.01");
  else if (d.chance(use == heads ? 30 : 3)) c.options.set("alpha", whole ? "2" : "0.125");
  if (adds_c) c.options.set("beta", "1");
  if (d.chance(2)) c.options.set("scale", whole ? "2" : "0.5");
  return c.text();
}

inline std::string draw_linear(Draw& d) {
  Product p = drawn_layer(d);
  const Kind kind = drawn_kind(d);
  if (d.chance(30)) {  // [batch, m, k], of the same number of tokens
    p.batch = d.log_uniform(1, std::min<std::int64_t>(p.m, 64));
    p.m = std::max<std::int64_t>(p.m / p.batch, 1);
  }
  const Epilogue epilogue(d, kind, false);
  check::Case c = drawn_case(d, p, kind, 1 + epilogue.residual, 1);
  std::string inputs = "x,w";
  if (!epilogue.bias.empty()) inputs += ",bias";
  if (epilogue.residual) inputs += ",residual";
  if (inputs != "x,w") c.options.set("inputs", inputs);
  if (!epilogue.activation.empty()) c.options.set("activation", epilogue.activation);
  return c.text();
}

// Experts: each token is a row of each group that it is routed to; experts are smaller than a dense layer.
inline std::string draw_grouped(Draw& d) {
  const std::int64_t groups = d.pick<std::int64_t>({{30, 8}, {15, 16}, {25, 64}, {20, 128}, {10, 256}});
  const std::int64_t width = d.size(512, 7168), inner = d.size(512, 14336), tokens = drawn_tokens(d);
  const std::int64_t m = tokens * d.pick<std::int64_t>({{40, 2}, {30, 4}, {30, 8}});
  Product p = d.chance(50) ? Product{m, inner, width} : Product{m, width, inner};
  const DType dtype = d.pick<DType>({{75, bf16}, {15, f16}, {8, f32}, {2, f64}});
  const Kind kind{dtype, dtype == f32 ? d.pick<const char*>({{60, ""}, {40, "tf32"}}) : ""};
  const char* layout = d.pick<const char*>({{75, "nt"}, {20, "nn"}, {3, "tn"}, {2, "tt"}});
  const Epilogue epilogue(d, kind, false);
  std::int64_t experts = groups;
  const auto fits = [&] {  // for the weights alone; drawn_case() checks the rest
    return d.fits(static_cast<double>(experts * p.n * p.k * static_cast<std::int64_t>(size_of(dtype))), 0);
  };
  d.shrink({&p.n, &p.k}, 64, fits);
  d.shrink({&experts}, 1, fits);
  check::Case c = drawn_case(d, p, kind, 1 + epilogue.residual, 1);
  c.dims.emplace_back("groups", experts);
  if (layout != std::string_view("nn")) c.options.set("layout", layout);
  if (const std::string parts = epilogue.text(); !parts.empty()) c.options.set("epilogue", parts);
  return c.text();
}

}  // namespace ridge::gemm_detail
