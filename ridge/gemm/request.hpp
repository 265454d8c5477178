// A request by name: the options of the command line and of cases, and the tensors that they imply.
#pragma once
#include <ridge/core/options.hpp>
#include <ridge/gemm/gemm.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ridge::gemm_detail {

struct Request {
  GemmLayout layout = GemmLayout::nn;
  GemmScalars scalars;
  GemmBias bias = GemmBias::none;
  bool residual = false, gate = false, gate_bias = false;
  bool grouped = false;    // grouped_gemm
  bool ignores_c = false;  // c is given although beta is given as 0; it is not read
  std::optional<DType> out;

  bool transposed_a() const { return layout == GemmLayout::tn || layout == GemmLayout::tt; }
  bool transposed_b() const { return layout == GemmLayout::nt || layout == GemmLayout::tt; }
  bool has_c() const { return scalars.beta != 0; }
  DType out_of(DType dtype) const { return out ? *out : gemm_default_out(dtype); }
  std::vector<std::string_view> inputs() const {
    std::vector<std::string_view> names{"a", "b"};
    if (grouped) names.push_back("offsets");
    if (has_c() || ignores_c) names.push_back("c");
    if (bias != GemmBias::none) names.push_back("bias");
    if (residual) names.push_back("residual");
    if (gate) names.push_back("gate");
    if (gate_bias) names.push_back("gate_bias");
    return names;
  }
};

// math=tf32|tf32x3|fast
inline Result<GemmMath> math_of(std::string_view op, const Options& options) {
  const std::string_view math = options.text("math", "exact");
  if (math == "exact") return GemmMath::exact;
  if (math == "tf32") return GemmMath::tf32;
  if (math == "tf32x3" || math == "3xtf32") return GemmMath::tf32x3;
  if (math == "fast") return GemmMath::fast;
  return Status::invalid(op, "math", "'" + std::string(math) + "'", "one of exact tf32 3xtf32 fast");
}

// out=DTYPE
inline Result<std::optional<DType>> out_of(std::string_view op, const Options& options) {
  if (!options.has("out")) return std::optional<DType>();
  const auto out = parse_dtype(options.text("out"));
  if (!out) return Status::invalid(op, "out", "'" + std::string(options.text("out")) + "'", "a dtype");
  return std::optional(*out);
}

// layout=nn|nt|tn|tt  epilogue=bias|bias_m+ACTIVATION+gate+gate_bias+residual  alpha= beta= scale=
//                     math=tf32|tf32x3|fast  accumulate=two_float  out=DTYPE
// given: the number of inputs, where known. One more than the options imply is c, if beta is given.
inline Result<Request> request_of(const Options& options, bool grouped = false, std::size_t given = 0) {
  const std::string_view op = grouped ? "grouped_gemm" : "gemm";
  Request r;
  r.grouped = grouped;
  const auto wrong = [&](const char* key, std::string_view value, const char* allowed) {
    return Status::invalid(op, key, "'" + std::string(value) + "'", allowed);
  };
  const std::string_view layout = options.text("layout", "nn");
  if (layout != "nn" && layout != "nt" && layout != "tn" && layout != "tt")
    return wrong("layout", layout, "one of nn nt tn tt");
  r.layout = static_cast<GemmLayout>(2 * (layout[0] == 't') + (layout[1] == 't'));
  auto alpha = options.real(op, "alpha", 1), beta = options.real(op, "beta", 0), scale = options.real(op, "scale", 1);
  if (!alpha) return alpha.error();
  if (!beta) return beta.error();
  if (!scale) return scale.error();
  r.scalars.alpha = *alpha;
  r.scalars.beta = *beta;
  r.scalars.scale = *scale;
  auto math = math_of(op, options);
  if (!math) return math.error();
  r.scalars.math = *math;
  auto accumulate = accumulate_option(op, options);
  if (!accumulate) return accumulate.error();
  r.scalars.accumulate = *accumulate;
  auto out = out_of(op, options);
  if (!out) return out.error();
  r.out = *out;
  std::string_view rest = options.text("epilogue");
  while (!rest.empty()) {
    const std::size_t plus = rest.find('+');
    const std::string_view part = rest.substr(0, plus);
    rest = plus == std::string_view::npos ? std::string_view{} : rest.substr(plus + 1);
    const auto activation = parse_activation(part);
    if (part == "bias" && r.bias == GemmBias::none) r.bias = GemmBias::along_n;
    else if (part == "bias_m" && !grouped && r.bias == GemmBias::none) r.bias = GemmBias::along_m;
    else if (part == "residual" && !r.residual) r.residual = true;
    else if (part == "gate" && !r.gate && !grouped) r.gate = true;
    else if (part == "gate_bias" && r.gate && !r.gate_bias) r.gate_bias = true;
    else if (activation && r.scalars.activation == Activation::none) r.scalars.activation = *activation;
    else
      return wrong("epilogue", options.text("epilogue"),
                   grouped ? "made of bias, one of relu, gelu, gelu_tanh, silu, sigmoid, relu6, hardswish and "
                             "hardsigmoid, and residual, each at most once and "
                             "joined by +"
                           : "made of bias or bias_m, one of relu, gelu, gelu_tanh, silu, sigmoid, relu6, hardswish "
                             "and hardsigmoid, gate, gate_bias behind it, and residual, each "
                             "at most once and joined by +");
  }
  r.ignores_c = !r.has_c() && options.has("beta") && given == r.inputs().size() + 1;
  return r;
}

// gemm's plain sentence, in the name of the requested operator.
inline Status in_name_of(std::string_view op, const Status& status) {
  constexpr std::string_view ours = "gemm:";
  if (!status.message().starts_with(ours)) return status;
  return Status::error(status.code(), std::string(op) + ":" + std::string(status.message().substr(ours.size())));
}

}  // namespace ridge::gemm_detail
