// group_norm's cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/activation_oracle.hpp>
#include <ridge/check/case_book.hpp>
#include <ridge/group_norm/oracle.hpp>
#include <ridge/group_norm/request.hpp>
#include <ridge/group_norm/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace ridge::group_norm_detail {

// The names in a list such as "x,beta"; all names if there is no list.
inline Names listed(const check::Case& c, std::string_view option, Names all) {
  if (!c.options.has(option)) return all;
  std::erase_if(all, [list = "," + std::string(c.options.text(option)) + ","](std::string_view name) {
    return list.find("," + std::string(name) + ",") == std::string::npos;
  });
  return all;
}

// narrow=1: parameters of x's type. Given as a size, which the operator does not see.
inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  auto request = request_of(c.operator_options());
  if (!request) return request.error();
  const std::int64_t n = c.dim("n"), channels = c.dim("c"), h = c.dim("h"), w = c.dim("w");
  const bool nhwc = request->options.layout == GroupNormLayout::nhwc;
  const TensorType image{c.dtype, nhwc ? std::vector{n, h, w, channels} : std::vector{n, channels, h, w}};
  const TensorType parameter{c.dim("narrow", 0) ? c.dtype : f32, {channels}};
  std::vector<TensorType> types;
  for (std::string_view name : listed(c, "inputs", inputs_of(request->backward)))
    types.push_back(name == "gamma" || name == "beta" ? parameter : image);
  return types;
}

// The elements of x, as the groups of its samples have them. Element i of a channel is the i-th pixel.
struct Images {
  std::int64_t n, c, pixels, groups;
  bool nhwc;
  Images(const check::HostTensor& x, const GroupNormOptions& o)
      : groups(o.groups), nhwc(o.layout == GroupNormLayout::nhwc) {
    const auto& shape = x.type.shape;
    n = shape[0];
    c = shape[nhwc ? 3 : 1];
    pixels = nhwc ? shape[1] * shape[2] : shape[2] * shape[3];
  }
  std::int64_t of_group() const { return c / groups; }
  std::size_t at(std::int64_t sample, std::int64_t channel, std::int64_t i) const {
    return static_cast<std::size_t>(nhwc ? (sample * pixels + i) * c + channel : (sample * c + channel) * pixels + i);
  }
  // Calls f(channel, index) for each element of a group.
  template <class F> void each(std::int64_t sample, std::int64_t group, F&& f) const {
    for (std::int64_t channel = group * of_group(); channel < (group + 1) * of_group(); ++channel)
      for (std::int64_t i = 0; i < pixels; ++i) f(channel, at(sample, channel, i));
  }
};

// hard=1 puts all values around 10,000, hard=2 only the first one of each group.
inline void case_adjust(const check::Case& c, std::vector<check::HostTensor>& in) {
  const std::int64_t hard = c.dim("hard", 0);
  const auto request = request_of(c.operator_options());
  if (!hard || !request) return;
  check::HostTensor& x = in[request->backward ? 1 : 0];
  if (hard == 1)
    for (double& value : x.values) value = 1e4 + value * 1e-2;
  const Images images(x, request->options);
  if (hard != 2 || images.pixels == 0) return;
  for (std::int64_t sample = 0; sample < images.n; ++sample)
    for (std::int64_t channel = 0; channel < images.c; channel += std::max<std::int64_t>(images.of_group(), 1))
      x.values[images.at(sample, channel, 0)] = 1e4;
}

// ---- errors, in units of float32's roundoff u

inline constexpr double u = 0x1p-24, least_normal = 0x1p-126, greatest = std::numeric_limits<float>::max();

// The most roundings on a term's way into a sum of n: a thread adds up a part of a group, several elements at a time,
// and a tree follows. Of the last sums of gradients each eighth row is of one thread.
inline double additions(double n) { return std::min(n, 64 + 8 * std::sqrt(n)) + 8; }
inline double additions_of_rows(double n) { return std::min(n, 64 + std::max(8 * std::sqrt(n), n / 8)) + 16; }

// With A additions, a group's mean relative to its first value is off by at most A u times the spread s. The variance
// is off by that squared, by twice that times the deviation, or times what the center's rounding left, u |mean|, where
// distances are taken from that, and by A roundings of its own.
struct GroupErrors {
  double mean = 0, scale = NAN, most_scale = NAN;  // scale: the right one; most: with all errors
  bool is_unknown = false;                         // group_norm.hpp promises nothing

  GroupErrors(const GroupOracle& group, double n, double eps) {
    if (!group.is_finite) return;
    const double a = additions(n), rest = u * std::fabs(group.mean());
    mean = a * u * group.spread + 0x1p-149;
    const double var =
        2 * (std::sqrt(group.var) + rest) * mean + mean * mean + a * u * (group.var + rest * rest) + least_normal;
    scale = 1 / std::sqrt(group.var + eps);
    most_scale = (1 + 4 * u) / std::sqrt(std::max(group.var - var, 0.0) + eps);
    is_unknown = 4 * group.squares > greatest || n * group.spread > greatest || !(most_scale <= greatest);
  }
  // Of x normalised: the difference, the mean, the scale, what the center's rounding left.
  double of(const GroupOracle& group, double x) const {
    const double d = std::fabs(group.distance(x));
    return most_scale * (2 * u * d + mean + 4 * u * u * std::fabs(group.mean())) + d * (most_scale - scale) +
           2 * u * d * scale + least_normal * (1 + most_scale);
  }
};

// An element's right value, and how far from it one may be.
struct Wanted {
  double value, tolerance;
};

// An element within `error` before it is rounded into its type. Beyond the type's range it is the infinity.
inline Wanted within(DType dtype, double want, double error) {
  if (!std::isfinite(want)) return {want, 0};
  if (const double stored = check::round_to(dtype, want); std::isinf(stored)) {
    const bool may_be_finite = std::isfinite(check::round_to(dtype, want - std::copysign(error, want)));
    return {stored, may_be_finite ? HUGE_VAL : 0};
  }
  return {want, error + check::rounding_error(dtype, std::fabs(want) + error)};
}
inline constexpr Wanted anything{0, HUGE_VAL};  // group_norm.hpp promises nothing

// The elements of a tensor, each put at its place.
struct WantedTensor {
  check::Expected expected;
  explicit WantedTensor(std::size_t elements)
      : expected{std::vector<double>(elements), std::vector<double>(elements)} {}
  void put(std::size_t at, const Wanted& wanted) {
    expected.value[at] = wanted.value;
    expected.tolerance[at] = wanted.tolerance;
  }
};

// An activation of z, which errs by `error`.
inline Wanted activated(DType dtype, Activation activation, double z, double error) {
  const std::string_view f = name(activation);
  return within(dtype, static_cast<double>(check::activation_oracle(f, z)), check::activated_error(dtype, f, z, error));
}

// ---- oracles

inline const double* values_of(const Names& names, const std::vector<check::HostTensor>& in, std::string_view name) {
  const auto at = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  return at < names.size() ? in[at].values.data() : nullptr;
}

inline std::vector<check::Expected> forward_oracle(const check::Case& c, const Request& request,
                                                   const std::vector<check::HostTensor>& in) {
  const Names names = listed(c, "inputs", inputs_of(false));
  const double *gamma = values_of(names, in, "gamma"), *beta = values_of(names, in, "beta");
  const std::vector<double>& x = in[0].values;
  const Images images(in[0], request.options);
  WantedTensor y(x.size());
  for (std::int64_t sample = 0; sample < images.n; ++sample)
    for (std::int64_t g = 0; g < images.groups && images.c > 0; ++g) {
      std::vector<double> values;
      images.each(sample, g, [&](std::int64_t, std::size_t at) { values.push_back(x[at]); });
      const GroupOracle group(values);
      const GroupErrors errors(group, static_cast<double>(values.size()), request.options.eps);
      images.each(sample, g, [&](std::int64_t channel, std::size_t at) {
        const double scale = gamma ? gamma[channel] : 1, shift = beta ? beta[channel] : 0;
        if (!group.is_finite) return y.put(at, {NAN, 0});
        if (errors.is_unknown || std::isinf(scale) || std::fabs(scale) * errors.most_scale > greatest)
          return y.put(at, anything);
        const double n = group.distance(x[at]) * errors.scale;
        const double error = std::fabs(scale) * errors.of(group, x[at]) +
                             4 * u * (std::fabs(n * scale) + std::fabs(shift)) + least_normal;
        y.put(at, activated(c.dtype, request.options.activation, n * scale + shift, error));
      });
    }
  return {y.expected};
}

// A sum of terms that have errors of their own.
struct SumOracle {
  double value = 0, size = 0, error = 0;  // size: sum of the terms' absolute values
  bool is_nan = false, is_unknown = false;
  void add(double term, double term_error) {
    value += term;
    size += std::fabs(term);
    error += term_error;
  }
  double error_of(double roundings) const { return error + roundings * u * size; }
};

// An element of a gradient: n is x normalised, dz the gradient of what the activation was given, g is dz gamma.
struct ElementOracle {
  double n, dz, g, n_error, dz_error, g_error;
  ElementOracle(const GroupOracle& group, const GroupErrors& errors, Activation activation, double x, double dy,
                double gamma, double beta) {
    n = group.distance(x) * errors.scale;
    n_error = errors.of(group, x);
    const double z = n * gamma + beta,
                 z_error = std::fabs(gamma) * n_error + 4 * u * (std::fabs(n * gamma) + std::fabs(beta)) + least_normal;
    // The slope changes by less than the argument, but for relu's; it errs by 32 roundings of 1.
    const double slope = static_cast<double>(check::slope_oracle(activation, z));
    const double slope_error = activation == Activation::none   ? 0
                               : activation == Activation::relu ? (std::fabs(z) <= z_error ? 1 : 0)
                                                                : z_error + 32 * u;
    dz = dy * slope;
    dz_error = std::fabs(dy) * slope_error + u * std::fabs(dz) + least_normal;
    g = dz * gamma;
    g_error = std::fabs(gamma) * dz_error + u * std::fabs(g) + least_normal;
  }
};

// dx = scale (g - mean of g - n mean of (g n)); dgamma and dbeta are sums of dz n and of dz over samples and pixels.
inline std::vector<check::Expected> backward_oracle(const check::Case& c, const Request& request,
                                                    const std::vector<check::HostTensor>& in) {
  const Names names = listed(c, "inputs", inputs_of(true));
  const double *gamma = values_of(names, in, "gamma"), *beta = values_of(names, in, "beta");
  const std::vector<double>&dy = in[0].values, &x = in[1].values;
  const Activation activation = request.options.activation;
  const bool is_activated = activation != Activation::none;
  const Images images(in[1], request.options);
  WantedTensor dx(x.size());
  std::vector<SumOracle> to_gamma(static_cast<std::size_t>(images.c)), to_beta(to_gamma.size());
  for (std::int64_t sample = 0; sample < images.n; ++sample)
    for (std::int64_t g = 0; g < images.groups && images.c > 0; ++g) {
      std::vector<double> values;
      images.each(sample, g, [&](std::int64_t, std::size_t at) { values.push_back(x[at]); });
      const GroupOracle group(values);
      const auto count = static_cast<double>(values.size());
      const GroupErrors errors(group, count, request.options.eps);
      const auto element = [&](std::int64_t channel, std::size_t at) {
        return ElementOracle(group, errors, activation, x[at], dy[at], gamma ? gamma[channel] : 1,
                             beta ? beta[channel] : 0);
      };
      SumOracle of_g, of_gn;
      images.each(sample, g, [&](std::int64_t channel, std::size_t at) {
        const double parameters[] = {gamma ? gamma[channel] : 0, beta && is_activated ? beta[channel] : 0};
        const auto any = [&](auto&& f) { return f(parameters[0]) || f(parameters[1]); };
        const auto is_nan = [](double value) { return std::isnan(value); };
        const auto is_inf = [](double value) { return std::isinf(value); };
        const bool dz_is_nan = is_nan(dy[at]) || (is_activated && (!group.is_finite || any(is_nan)));
        const bool dz_is_unknown = is_inf(dy[at]) || (is_activated && (errors.is_unknown || any(is_inf)));
        of_g.is_nan |= dz_is_nan || !group.is_finite || is_nan(parameters[0]);
        of_g.is_unknown |= dz_is_unknown || errors.is_unknown || is_inf(parameters[0]);
        SumOracle &gamma_sum = to_gamma[channel], &beta_sum = to_beta[channel];
        gamma_sum.is_nan |= dz_is_nan || !group.is_finite;
        gamma_sum.is_unknown |= dz_is_unknown || errors.is_unknown;
        beta_sum.is_nan |= dz_is_nan;
        beta_sum.is_unknown |= dz_is_unknown;
        if (!group.is_finite) {
          if (!is_activated) beta_sum.add(dy[at], 0);
          return;
        }
        const ElementOracle e = element(channel, at);
        of_g.add(e.g, e.g_error);
        of_gn.add(e.g * e.n, e.g_error * (std::fabs(e.n) + e.n_error) + std::fabs(e.g) * e.n_error);
        gamma_sum.add(e.dz * e.n, e.dz_error * (std::fabs(e.n) + e.n_error) + std::fabs(e.dz) * e.n_error);
        beta_sum.add(e.dz, is_activated ? e.dz_error : 0);
      });
      const double roundings = additions_of_rows(count), mean_g = of_g.value / count, mean_gn = of_gn.value / count,
                   g_error = of_g.error_of(roundings) / count, gn_error = of_gn.error_of(roundings) / count;
      images.each(sample, g, [&](std::int64_t channel, std::size_t at) {
        if (of_g.is_nan) return dx.put(at, {NAN, 0});
        if (of_g.is_unknown || of_g.size > greatest || of_gn.size > greatest) return dx.put(at, anything);
        const ElementOracle e = element(channel, at);
        const double inner = e.g - mean_g - e.n * mean_gn;
        const double size = std::fabs(e.g) + std::fabs(mean_g) + std::fabs(e.n * mean_gn);
        const double error = errors.most_scale * (e.g_error + g_error + (std::fabs(e.n) + e.n_error) * gn_error +
                                                  std::fabs(mean_gn) * e.n_error + 4 * u * size + 4 * least_normal) +
                             (errors.most_scale - errors.scale + 4 * u * errors.scale) * std::fabs(inner) +
                             least_normal;
        dx.put(at, within(c.dtype, errors.scale * inner, error));
      });
    }
  std::vector<check::Expected> all;
  for (std::string_view name : listed(c, "outputs", outputs_of(true))) {
    if (name == "dx") {
      all.push_back(dx.expected);
      continue;
    }
    // As op.cpp types them: of the parameter, or of the other one, or f32.
    const DType dtype = c.dim("narrow", 0) && (gamma || beta) ? c.dtype : f32;
    const double terms = static_cast<double>(images.n) * static_cast<double>(images.pixels);
    const std::vector<SumOracle>& sums = name == "dgamma" ? to_gamma : to_beta;
    WantedTensor gradient(sums.size());
    for (std::size_t channel = 0; channel < sums.size(); ++channel) {
      const SumOracle& sum = sums[channel];
      gradient.put(channel, sum.is_nan ? Wanted{NAN, 0}
                            : sum.is_unknown || sum.size > greatest
                                ? anything
                                : within(dtype, sum.value, sum.error_of(additions_of_rows(terms)) + least_normal));
    }
    all.push_back(gradient.expected);
  }
  return all;
}

inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const Request request = *request_of(c.operator_options());
  return request.backward ? backward_oracle(c, request, in) : forward_oracle(c, request, in);
}

// ---- the book

// Sizes for both directions: of one element, planes around 16 bytes and below, groups of whole vectors or not, as many
// groups as channels; of channels whose groups are vectors, parts of them, or neither.
inline constexpr const char* sizes[] = {"n=1,c=1,h=1,w=1:groups=1",
                                        "n=2,c=3,h=1,w=1:groups=3",
                                        "n=2,c=4,h=1,w=3:groups=2",
                                        "n=2,c=6,h=3,w=4:groups=3",
                                        "n=3,c=4,h=4,w=4:groups=2",
                                        "n=2,c=10,h=8,w=8:groups=2",
                                        "n=2,c=32,h=4,w=4:groups=32",
                                        "n=2,c=8,h=5,w=8:groups=1",
                                        "n=2,c=8,h=7,w=7:groups=4",
                                        "n=1,c=8,h=1,w=1:groups=2:layout=nhwc",
                                        "n=2,c=8,h=3,w=4:groups=1:layout=nhwc",
                                        "n=2,c=40,h=4,w=5:groups=4:layout=nhwc",
                                        "n=2,c=80,h=3,w=3:groups=4:layout=nhwc",
                                        "n=2,c=64,h=5,w=4:groups=4:layout=nhwc",
                                        "n=3,c=24,h=7,w=3:groups=24:layout=nhwc",
                                        "n=2,c=48,h=2,w=9:groups=16:layout=nhwc",
                                        "n=2,c=12,h=4,w=4:groups=3:layout=nhwc",
                                        "n=1,c=96,h=3,w=5:groups=2:layout=nhwc"};

inline check::CaseBook book() {
  check::CaseBook book{.op = "group_norm",
                       .keys = {"n", "c", "h", "w"},
                       .optional_keys = {"narrow", "hard"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = case_adjust,
                       .tests = {},
                       .benches = {},
                       .may_leave_range = true,
                       .draw = draw};
  const auto test = [&](std::string rest) { book.tests.push_back("group_norm:" + rest); };
  const auto bench = [&](std::string rest) { book.benches.push_back("group_norm:" + rest); };
  const std::string planes = "n=2,c=6,h=4,w=8:groups=3", pixels = "n=2,c=40,h=3,w=4:groups=4:layout=nhwc",
                    vectors = "n=2,c=32,h=3,w=5:groups=2:layout=nhwc";
  for (const std::string type : {"f32:", "f16:", "bf16:"})
    for (const std::string direction : {"", ":backward"}) {
      for (const char* size : sizes) test(type + size + direction);
      for (const char* place : {"offset", "padded", "strided", "reversed"})
        for (const std::string& size : {planes, pixels}) test(type + size + direction + ":place=" + place);
      for (const char* fill : {"nan", "inf", "denormal", "ones", "constant,-100"})
        for (const std::string& size : {planes, vectors}) test(type + size + direction + ":fill=" + fill);
      for (const char* activation :
           {"relu", "gelu", "gelu_tanh", "silu", "sigmoid", "relu6", "hardswish", "hardsigmoid"})
        for (const std::string& size : {planes, pixels, vectors})
          test(type + size + direction + ":activation=" + activation);
      for (const std::string& size : {planes, pixels}) test(type + size + direction + ":eps=0.5");
    }
  // Parameters of x's type, and some of them.
  for (const std::string type : {"f32:", "f16:", "bf16:"}) {
    for (const std::string rest :
         {"n=2,c=6,h=4,w=8,narrow=1:groups=3", "n=2,c=40,h=3,w=4,narrow=1:groups=4:layout=nhwc"})
      for (const char* direction : {"", ":backward", ":backward:activation=silu"}) test(type + rest + direction);
    for (const char* inputs : {"x", "x,gamma", "x,beta"})
      for (const std::string& size : {planes, pixels}) test(type + size + ":inputs=" + inputs);
    for (const std::string& size : {planes, pixels}) test(type + size + ":place=inplace");
  }
  for (const char* inputs : {"dy,x", "dy,x,gamma", "dy,x,beta"})
    for (const std::string& size : {planes, pixels})
      for (const char* activation : {"", ":activation=silu"})
        test("bf16:" + size + ":backward:inputs=" + inputs + activation);
  for (const char* outputs : {"dx", "dx,dgamma", "dx,dbeta"})
    for (const std::string& size : {planes, pixels}) test("f32:" + size + ":backward:outputs=" + outputs);
  test("f32:" + planes + ":backward:inputs=dy,x:outputs=dx,dgamma");
  for (const char* fill : {"nan", "inf"})
    for (const char* activation : {"silu", "relu", "gelu"})
      for (const char* direction : {"", ":backward"})
        test("f32:" + planes + ":fill=" + fill + ":activation=" + activation + direction);
  // A mean far from 0, and a first value far from all others; many values of one sign.
  for (const char* size :
       {"n=2,c=6,h=16,w=20,hard=1:groups=3", "n=2,c=6,h=16,w=20,hard=2:groups=3",
        "n=2,c=40,h=9,w=8,hard=1:groups=4:layout=nhwc", "n=2,c=40,h=9,w=8,hard=2:groups=4:layout=nhwc",
        "n=1,c=32,h=9,w=8,hard=1:groups=2:layout=nhwc"})
    for (const char* direction : {"", ":backward"}) {
      test(std::string("f32:") + size + direction);
      if (std::string_view(size).find("hard=2") != std::string_view::npos)
        test(std::string("bf16:") + size + direction);
    }
  test("f32:" + planes + ":fill=shifted,1e4");
  test("f32:" + pixels + ":fill=shifted,-3e4");
  test("f16:n=1,c=2,h=377,w=8:groups=1:fill=uniform");
  test("f16:" + planes + ":fill=overflow");
  test("f16:" + planes + ":fill=constant,60000");
  for (const char* fill : {"greatest", "lowest"}) test("f32:" + planes + ":fill=" + fill);
  test("f32:" + planes + ":eps=0:fill=ones");
  // Groups of more vectors than a thread has in registers, as many, and one more; several slices.
  for (const std::string type : {"f32:", "bf16:"})
    for (const char* direction : {"", ":backward"})
      for (const char* size : {"n=1,c=1,h=32,w=64:groups=1", "n=1,c=1,h=32,w=128:groups=1",
                               "n=1,c=1,h=1,w=4104:groups=1", "n=1,c=8,h=40,w=41:groups=2",
                               "n=1,c=8,h=60,w=44:groups=2:layout=nhwc", "n=2,c=40,h=24,w=20:groups=4:layout=nhwc",
                               "n=1,c=24,h=40,w=33:groups=3:layout=nhwc", "n=1,c=2048,h=2,w=3:groups=1:layout=nhwc"})
        test(type + size + direction);
  test("bf16:n=1,c=4,h=64,w=97:groups=2:activation=silu");
  for (const char* direction : {"", ":backward"})
    for (const char* size : {"n=2,c=6,h=8,w=9:groups=3:warp=64", "n=2,c=40,h=5,w=7:groups=4:layout=nhwc:warp=64",
                             "n=2,c=32,h=5,w=7:groups=2:layout=nhwc:warp=64"})
      test(std::string("f32:") + size + direction);
  for (const char* direction : {"", ":backward"})
    for (const char* size : {"n=0,c=4,h=4,w=4:groups=2", "n=2,c=0,h=4,w=4:groups=2", "n=2,c=4,h=0,w=4:groups=2",
                             "n=2,c=8,h=4,w=0:groups=2:layout=nhwc"})
      test(std::string("f32:") + size + direction);
  // Of latent diffusion's U-Net, and of its decoder.
  for (const char* type : {"bf16:", "f32:"})
    for (const char* layout : {":layout=nhwc", ""}) {
      for (const char* size : {"n=2,c=320,h=64,w=64", "n=2,c=640,h=32,w=32", "n=2,c=1280,h=16,w=16",
                               "n=2,c=1280,h=8,w=8", "n=32,c=512,h=64,w=64"})
        bench(std::string(type) + size + ":groups=32:activation=silu" + layout);
      bench(std::string(type) + "n=32,c=512,h=64,w=64:groups=32" + layout);
      for (const char* size : {"n=2,c=320,h=64,w=64", "n=32,c=512,h=64,w=64"})
        bench(std::string(type) + size + ":groups=32:activation=silu:backward" + layout);
    }
  return book;
}

}  // namespace ridge::group_norm_detail
