// batch norm's cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/batch_norm/batch_norm.hpp>
#include <ridge/batch_norm/oracle.hpp>
#include <ridge/check/activation_oracle.hpp>
#include <ridge/check/case_book.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ridge::batch_norm_detail {

inline bool is_backward(const check::Case& c) { return *c.options.flag(c.op, "backward"); }

inline Activation activation_of(const check::Case& c) {
  return *parse_activation(c.options.text("activation", "none"));
}

// plain=1: without gamma and beta; narrow=1: parameters of x's type; added=1: with a residual. Given as sizes, which
// the operator does not see. Of a gradient: dy, x, mean, var and gamma; with an activation beta, and the residual.
inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  const std::int64_t n = c.dim("n"), channels = c.dim("c"), h = c.dim("h"), w = c.dim("w");
  auto backward = c.options.flag(c.op, "backward");
  if (!backward) return backward.error();
  const bool nhwc = c.options.text("layout") == "nhwc", plain = c.dim("plain", 0), added = c.dim("added", 0);
  const TensorType x{c.dtype, nhwc ? std::vector{n, h, w, channels} : std::vector{n, channels, h, w}};
  const TensorType parameter{c.dim("narrow", 0) ? c.dtype : f32, {channels}};
  std::vector<TensorType> types{x};
  if (*backward) types.push_back(x);
  if (*backward || c.op == "batch_norm") types.insert(types.end(), 2, parameter);
  if (c.op != "batch_norm_stats" && !plain)
    types.insert(types.end(), *backward && !c.options.has("activation") ? 1 : 2, parameter);
  if (added) types.push_back(x);
  return types;
}

// gamma, beta and the residual of a case, null where it has none. affine: the first input behind the statistics.
struct Given {
  const double *gamma = nullptr, *beta = nullptr, *residual = nullptr;

  Given(const check::Case& c, const std::vector<check::HostTensor>& in, std::size_t affine) {
    const bool plain = c.dim("plain", 0), added = c.dim("added", 0);
    const std::size_t end = in.size() - (added ? 1 : 0);
    if (!plain && affine < end) gamma = in[affine].values.data();
    if (!plain && affine + 1 < end) beta = in[affine + 1].values.data();
    if (added) residual = in[end].values.data();
  }
};

// The places of channels' elements in x.
struct ChannelsCase {
  bool nhwc;
  std::int64_t channels, space, elements;  // elements: of a channel

  ChannelsCase(const check::Case& c, const std::vector<std::int64_t>& shape)
      : nhwc(c.options.text("layout") == "nhwc"),
        channels(shape[nhwc ? 3 : 1]),
        space(nhwc ? shape[1] * shape[2] : shape[2] * shape[3]),
        elements(shape[0] * space) {}
  std::size_t index(std::int64_t channel, std::int64_t i) const {
    return static_cast<std::size_t>(nhwc ? i * channels + channel
                                         : (i / space * channels + channel) * space + i % space);
  }
  std::vector<double> values(const check::HostTensor& x, std::int64_t channel) const {
    std::vector<double> of;
    for (std::int64_t i = 0; i < elements; ++i) of.push_back(x.values[index(channel, i)]);
    return of;
  }
};

// Variances are not negative. hard=1 puts all values of every channel around 10,000, hard=2 only the first one. The
// gradient of batch_norm_train is given x's own statistics.
inline void case_adjust(const check::Case& c, std::vector<check::HostTensor>& in) {
  const bool backward = is_backward(c);
  check::HostTensor& x = in[backward ? 1 : 0];
  const std::size_t var = backward ? 3 : 2;
  if (c.op == "batch_norm")
    for (double& v : in[var].values) v = std::fabs(v);
  if (c.dim("hard", 0) == 1)
    for (double& v : x.values) v = 1e4 + v * 1e-2;
  if (c.dim("hard", 0) == 2 && !x.values.empty()) {
    const bool nhwc = c.options.text("layout") == "nhwc";
    const std::int64_t space = c.dim("h") * c.dim("w");
    for (std::int64_t channel = 0; channel < c.dim("c"); ++channel) x.values[channel * (nhwc ? 1 : space)] = 1e4;
  }
  if (!backward || c.op == "batch_norm") return;
  const ChannelsCase of(c, x.type.shape);
  for (std::int64_t channel = 0; channel < of.channels; ++channel) {
    std::vector<double> values = of.values(x, channel);
    for (double& v : values) v = check::round_to(c.dtype, v);
    const ChannelOracle o(values);
    in[2].values[channel] = check::round_to(in[2].type.dtype, o.mean);
    in[3].values[channel] = check::round_to(in[3].type.dtype, o.var);
  }
}

// dz of an element and its error. z: the difference (1 rounding), the scale (4), the product and sum (1), the residual
// (1). The slope changes by less than the argument, but for corners'; it errs by 32 roundings of 1.
struct DzOracle {
  double value, error = 0;

  DzOracle(Activation activation, double dy, double away, double scale, double beta, double residual) : value(dy) {
    if (activation == Activation::none) return;
    const double u = check::roundoff(f32), z = away * scale + beta + residual;
    const double z_error = 8 * u * (std::fabs(away * scale) + std::fabs(beta) + std::fabs(residual)) + 0x1p-126;
    const auto beside = [&](double corner) { return std::fabs(z - corner) <= z_error; };
    const bool at_corner = activation == Activation::relu          ? beside(0)
                           : activation == Activation::relu6       ? beside(0) || beside(6)
                           : activation == Activation::hardsigmoid ? beside(-3) || beside(3)
                           : activation == Activation::hardswish   ? beside(-3) || beside(3)
                                                                   : false;
    value = dy * static_cast<double>(check::slope_oracle(activation, z));
    const bool steps = activation == Activation::relu || activation == Activation::relu6;
    error = std::fabs(dy) * (at_corner ? 1.5 : steps ? 0 : z_error + 32 * u) + u * std::fabs(value) + 0x1p-126;
  }
};

// Gradients, of the statistics given. With A additions on a term's way, a channel's sums are off by A u times the sum
// of the terms' magnitudes; each dy (x - mean) by 2 roundings more, and by what underflows. A is the channel's length
// if one thread adds it up (`serial`): roundings of equal values fall to the same side. Else at least eight threads
// share it (kernels have as many lanes to a channel), each adds a few vectors, and trees follow: fewer than
// length / 8 + 64.
//   dbeta    the first sum's error
//   dgamma   the second's, times the reciprocal root (4.5 roundings), and one product
//   dx       scale (6 roundings) times dy; of batch statistics times dy - shift - (x - mean) slope, with shift the mean
//            of dy, and slope that of dy (x - mean) times the reciprocal root twice (12 roundings): the errors of both,
//            and a rounding each of the differences, the product and the sum
// Then one rounding into the type.
inline std::vector<check::Expected> gradient_oracle(const check::Case& c, const std::vector<check::HostTensor>& in,
                                                    bool serial) {
  const check::HostTensor &dy = in[0], &x = in[1];
  const Activation activation = activation_of(c);
  const Given given(c, in, 4);
  const ChannelsCase of(c, x.type.shape);
  const double u = check::roundoff(f32), eps = static_cast<float>(*c.options.real(c.op, "eps", 1e-5));
  const auto length = static_cast<double>(of.elements);
  const double additions = serial ? length : length / 8 + 64;
  const std::string_view outputs = c.options.text("outputs", "dx,dgamma,dbeta");
  const auto is_wanted = [&](std::string_view name) { return outputs.find(name) != outputs.npos; };
  check::Expected dx, dgamma, dbeta;
  dx.value.resize(x.values.size());
  dx.tolerance.resize(x.values.size());
  check::Expected dresidual = dx;
  const auto put = [](check::Expected& e, double want, double tolerance) {
    e.value.push_back(want);
    e.tolerance.push_back(std::isfinite(want) ? tolerance + check::rounding_error(f32, want) + 0x1p-126 : 0);
  };
  for (std::int64_t ch = 0; ch < of.channels; ++ch) {
    const double mean = in[2].values[ch], inverse = 1 / std::sqrt(in[3].values[ch] + eps);
    const double scale = (given.gamma ? given.gamma[ch] : 1) * inverse, beta = given.beta ? given.beta[ch] : 0;
    const auto dz_at = [&](std::size_t at) {
      return DzOracle(activation, dy.values[at], x.values[at] - mean, scale, beta,
                      given.residual ? given.residual[at] : 0);
    };
    std::vector<double> gradients;
    double dz_error = 0, dzx_error = 0;  // that the terms bring into the sums
    for (std::int64_t i = 0; i < of.elements; ++i) {
      const std::size_t at = of.index(ch, i);
      const DzOracle dz = dz_at(at);
      gradients.push_back(dz.value);
      dz_error += dz.error;
      dzx_error += dz.error * std::fabs(x.values[at] - mean);
    }
    const GradientOracle sums(gradients, of.values(x, ch), mean);
    dz_error += additions * u * sums.dy_size;
    dzx_error += (additions + 2) * u * sums.dyx_size + length * 0x1p-149;
    const double of_gamma = of.elements > 0 ? sums.dyx * inverse : 0;  // statistics of no elements are NaN
    put(dbeta, sums.dy, dz_error);
    put(dgamma, of_gamma, of.elements > 0 ? dzx_error * inverse + 8 * u * std::fabs(of_gamma) : 0);
    const double shift = sums.dy / length, slope = sums.dyx / length * inverse * inverse;
    const double shift_error = dz_error / length + 2 * u * std::fabs(shift);
    const double slope_error = dzx_error / length * inverse * inverse + 12 * u * std::fabs(slope);
    for (std::int64_t i = 0; i < of.elements; ++i) {
      const std::size_t at = of.index(ch, i);
      const DzOracle dz = dz_at(at);
      const double stored = dz.error + check::rounding_error(c.dtype, std::fabs(dz.value) + dz.error);
      dresidual.value[at] = dz.value;
      if (std::isfinite(dz.value)) dresidual.tolerance[at] = stored;
      const double g_error =
          is_wanted("dresidual") ? stored : dz.error;  // batch_norm.hpp: dx follows from what is stored
      const double g = dz.value, away = x.values[at] - mean, moved = std::fabs(away * slope);
      double want = scale * g, tolerance = std::fabs(scale) * g_error;
      if (c.op != "batch_norm") {
        want = scale * (g - shift - away * slope);
        tolerance += std::fabs(scale) * (shift_error + std::fabs(away) * slope_error + 2 * u * moved +
                                         3 * u * (std::fabs(g) + std::fabs(shift) + moved));
      }
      tolerance += 8 * u * std::fabs(want) + 0x1p-126;
      dx.value[at] = want;
      if (std::isfinite(want))
        dx.tolerance[at] = tolerance + check::rounding_error(c.dtype, std::fabs(want) + tolerance);
      if (std::fabs(scale) > std::numeric_limits<float>::max()) dx.tolerance[at] = HUGE_VAL;  // batch_norm.hpp
    }
  }
  std::vector<check::Expected> all{dx};
  if (is_wanted("dgamma")) all.push_back(dgamma);
  if (is_wanted("dbeta")) all.push_back(dbeta);
  if (is_wanted("dresidual")) all.push_back(dresidual);
  return all;
}

// Statistics: with A roundings on a value's way, each difference from the first value is off by at most A u times the
// channel's spread s. A is the channel's length if one thread adds it up (`serial`): roundings of equal values fall to
// the same side, and add up. Else a thread has a share of the channel and adds several elements together before it
// updates its mean, and a tree follows: fewer than 64 + 8 sqrt(length).
//   mean   A u s, its own rounding, and one to a multiple of 2^-149
//   var    2 sqrt(var) A u s + (A u s)^2, and A roundings of itself
// y: the difference (1 rounding), the scale (4), the product and sum (1), the residual (1), of f32; if mean and var are
// computed, the effect of their errors on the difference and, by half of the relative error, on the scale; the
// activation's; one rounding to the type.
inline std::vector<check::Expected> oracle_of(const check::Case& c, const std::vector<check::HostTensor>& in,
                                              bool serial) {
  if (is_backward(c)) return gradient_oracle(c, in, serial);
  const bool given = c.op == "batch_norm";
  const ChannelsCase of(c, in[0].type.shape);
  const std::int64_t channels = of.channels, elements = of.elements;
  const double u = check::roundoff(f32), eps = static_cast<float>(*c.options.real(c.op, "eps", 1e-5));
  const auto length = static_cast<double>(elements);
  const double roundings = (serial ? length : std::min(length, 64 + 8 * std::sqrt(length))) + 8;
  const std::string_view activation = c.options.text("activation", "none");
  const Given of_case(c, in, given ? 3 : 1);
  check::Expected y, mean, var;
  y.value.resize(in[0].values.size());
  y.tolerance.resize(in[0].values.size());
  for (std::int64_t ch = 0; ch < channels; ++ch) {
    double m, v, m_error = 0, v_error = 0;
    if (given) {
      m = in[1].values[ch];
      v = in[2].values[ch];
    } else {
      const ChannelOracle o(of.values(in[0], ch));
      m = o.mean;
      v = o.var;
      const double moved = roundings * u * o.spread;
      m_error = moved + 2 * check::rounding_error(f32, m) + 0x1p-149;
      v_error = 2 * std::sqrt(v) * moved + moved * moved + roundings * u * v + 0x1p-126;
      mean.value.push_back(m);
      mean.tolerance.push_back(std::isfinite(m) ? m_error : 0);
      var.value.push_back(v);
      var.tolerance.push_back(std::isfinite(v) ? v_error : 0);
    }
    const double gamma = of_case.gamma ? of_case.gamma[ch] : 1, beta = of_case.beta ? of_case.beta[ch] : 0;
    const double scale = gamma / std::sqrt(v + eps);
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::size_t at = of.index(ch, i);
      const double x = in[0].values[at], difference = std::fabs(x - m);
      const double added = of_case.residual ? of_case.residual[at] : 0, z = (x - m) * scale + beta + added;
      auto want = static_cast<double>(check::activation_oracle(activation, z));
      if (std::isfinite(want) && std::isinf(check::round_to(c.dtype, want))) want = check::round_to(c.dtype, want);
      y.value[at] = want;
      // With an error in the variance, the scale is at most that of the least possible variance.
      const double worst = std::fabs(gamma) / std::sqrt(std::max(v - v_error, 0.0) + eps) - std::fabs(scale);
      const double z_error = 8 * u * (difference * std::fabs(scale) + std::fabs(beta) + std::fabs(added)) +
                             m_error * (std::fabs(scale) + worst) + difference * worst + 0x1p-126;
      const double tolerance = check::activated_error(c.dtype, activation, z, z_error);
      y.tolerance[at] =
          std::isfinite(want) ? tolerance + check::rounding_error(f32, want) + check::rounding_error(c.dtype, want) : 0;
      if (std::fabs(scale) + worst > std::numeric_limits<float>::max()) y.tolerance[at] = HUGE_VAL;  // batch_norm.hpp
    }
  }
  if (given) return {y};
  if (c.op == "batch_norm_stats") return {mean, var};
  return {y, mean, var};
}
inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  return oracle_of(c, in, false);
}
inline void case_tolerances(const check::Case& c, const std::vector<check::HostTensor>& in, std::string_view variant,
                            std::vector<check::Expected>& expected) {
  if (variant == "naive" && c.op != "batch_norm") expected = oracle_of(c, in, true);
}

// What follows the norm: every activation, residuals, and tensors each in a place of its own.
template <class F> void add_epilogue_cases(F&& test) {
  const std::string nchw = "n=2,c=3,h=4,w=8", nhwc = "n=2,c=8,h=3,w=4";
  for (int i = 1; i < activation_count; ++i) {
    const std::string activation = ":activation=" + std::string(name(static_cast<Activation>(i)));
    for (const char* type : {"f32:", "f16:", "bf16:"}) {
      test(type + nchw + activation);
      test(type + nhwc + ",added=1:layout=nhwc" + activation);
    }
  }
  for (const char* type : {"f32:", "f16:", "bf16:"}) {
    // Vectors in several planes, small planes, planes of more than a block's step, positions that fill no step.
    for (const char* size : {"n=2,c=3,h=1,w=3", "n=2,c=5,h=1,w=4", "n=2,c=3,h=1,w=9", "n=3,c=4,h=7,w=7",
                             "n=7,c=20,h=3,w=2", "n=2,c=2,h=40,w=41", "n=450,c=9,h=7,w=4"})
      test(type + std::string(size) + ",added=1:activation=relu");
    for (const char* size : {"n=1,c=8,h=1,w=1", "n=3,c=16,h=3,w=3", "n=2,c=3,h=4,w=5", "n=2,c=8,h=40,w=40"})
      test(type + std::string(size) + ",added=1:layout=nhwc:activation=relu");
    for (const std::string& size : {nchw, nhwc + ":layout=nhwc"}) {
      for (const char* place : {"offset", "padded", "strided", "reversed"}) {
        std::string text = size;
        text.insert(std::min(text.find(':'), text.size()), ",added=1");
        test(type + text + ":activation=silu:place=" + place);
      }
      for (const char* seed : {"1", "2", "3", "4"}) {
        std::string text = size;
        text.insert(std::min(text.find(':'), text.size()), ",added=1");
        test(type + text + ":activation=relu:place=mixed:seed=" + seed);
      }
      for (const char* fill : {"nan", "denormal", "ones", "constant,-100"})
        test(type + size + ":activation=relu:fill=" + fill);
    }
    test(type + nhwc + ",narrow=1,added=1:layout=nhwc:activation=hardswish");
  }
  test("f32:n=2,c=3,h=8,w=9,added=1:warp=64:activation=relu");
  for (const char* size : {"n=0,c=3,h=4,w=4", "n=2,c=0,h=4,w=4", "n=2,c=3,h=0,w=4"})
    test("f32:" + std::string(size) + ",added=1:activation=relu");
}

// Some of ResNet-50's, of 64 images.
inline constexpr const char* resnet_sizes[] = {"n=64,c=64,h=112,w=112", "n=64,c=256,h=56,w=56", "n=64,c=512,h=28,w=28",
                                               "n=64,c=1024,h=14,w=14", "n=64,c=2048,h=7,w=7"};

// Gradients: the sizes of the forward pass, whose kernels go through memory in the same ways; each choice of results.
inline void add_gradient_cases(check::CaseBook& book, BatchNorm f) {
  const auto test = [&](const std::string& rest) { book.tests.push_back(book.op + ":" + rest + ":backward"); };
  for (const char* dtype : {"f32", "f16", "bf16"}) {
    const std::string type = std::string(dtype) + ":";
    for (const char* size : {"n=1,c=1,h=1,w=1", "n=2,c=3,h=1,w=1", "n=2,c=3,h=1,w=3", "n=2,c=5,h=1,w=4",
                             "n=2,c=3,h=1,w=9", "n=3,c=4,h=7,w=7", "n=2,c=3,h=8,w=8", "n=5,c=1,h=4,w=4",
                             "n=2,c=3,h=4,w=8,plain=1", "n=2,c=3,h=4,w=9,narrow=1"})
      test(type + size);
    for (const char* size :
         {"n=1,c=8,h=1,w=1", "n=2,c=8,h=1,w=4", "n=3,c=16,h=3,w=3", "n=1,c=24,h=5,w=8", "n=2,c=3,h=4,w=5",
          "n=2,c=8,h=16,w=17", "n=2,c=8,h=3,w=4,plain=1", "n=2,c=8,h=3,w=4,narrow=1"})
      test(type + size + ":layout=nhwc");
    for (const char* outputs : {"dx", "dx,dgamma", "dx,dbeta"})
      for (const char* size : {"n=2,c=3,h=4,w=8", "n=2,c=8,h=3,w=4:layout=nhwc"})
        for (const char* activation : {"", ":activation=relu"}) test(type + size + activation + ":outputs=" + outputs);
    for (const char* place : {"offset", "padded", "strided", "reversed"})
      for (const char* size : {"n=2,c=3,h=4,w=8", "n=2,c=8,h=3,w=4:layout=nhwc"}) test(type + size + ":place=" + place);
    for (const char* fill : {"nan", "inf", "denormal", "ones", "constant,-100"})
      for (const char* size : {"n=2,c=3,h=4,w=8", "n=2,c=8,h=3,w=4:layout=nhwc"}) test(type + size + ":fill=" + fill);
    test(type + "n=2,c=3,h=4,w=8:eps=0.5");
    // dz stored by the sums' kernel for itself, or computed again in dx's.
    for (const char* outputs : {"dx,dresidual", "dx,dgamma,dbeta"})
      for (const char* size : {"n=3,c=4,h=7,w=7", "n=2,c=3,h=4,w=8", "n=2,c=3,h=1,w=9"})
        test(type + size + std::string(",added=1:activation=relu:outputs=") + outputs);
    for (const char* size : {"n=2,c=8,h=3,w=4", "n=2,c=3,h=4,w=5"})
      test(type + size + std::string(",added=1:layout=nhwc:activation=relu:outputs=dx,dgamma,dbeta"));
    // Several rounds of a thread, on a few cores, and an end within the last.
    test(type + "n=8,c=64,h=20,w=21:layout=nhwc");
    test(type + "n=2,c=3,h=4,w=8,plain=1,added=1:activation=relu:inputs=dy,x,mean,var,residual");
  }
  add_epilogue_cases([&](const std::string& rest) {
    const bool added = rest.find("added=1") != rest.npos;
    test(rest + (added ? ":outputs=dx,dgamma,dbeta,dresidual" : ""));
  });
  for (const char* size : {"n=2,c=2,h=40,w=41", "n=1,c=2,h=96,w=96", "n=1,c=130,h=2,w=2",
                           "n=1,c=272,h=2,w=2:layout=nhwc", "n=450,c=9,h=7,w=4", "n=3,c=12,h=1,w=256",
                           "n=90,c=8,h=5,w=5", "n=2,c=8,h=40,w=40:layout=nhwc", "n=2,c=5,h=40,w=40:layout=nhwc"})
    test("f32:" + std::string(size));
  for (const char* size :
       {"n=44,c=16,h=7,w=7", "n=7,c=20,h=3,w=2", "n=2,c=8,h=1,w=257", "n=5,c=19,h=1,w=7", "n=70,c=40,h=2,w=2"})
    test("bf16:" + std::string(size));
  for (const char* size : {"n=2,c=3,h=8,w=9", "n=2,c=16,h=5,w=7:layout=nhwc"})
    test("f32:" + std::string(size) + ":warp=64");
  for (const char* size :
       {"n=0,c=3,h=4,w=4", "n=2,c=0,h=4,w=4", "n=2,c=3,h=0,w=4", "n=2,c=1,h=0,w=4", "n=2,c=8,h=0,w=4:layout=nhwc"})
    test("f32:" + std::string(size));
  // Many values of one sign, which one thread adds up.
  test("f16:n=5,c=1,h=377,w=7:fill=uniform");
  test("f32:n=9,c=2,h=60,w=41:fill=uniform:layout=nhwc");
  if (f == BatchNorm::train)
    for (const char* hard : {"1", "2"}) test("f32:n=2,c=3,h=16,w=40,hard=" + std::string(hard));
  for (const char* type : {"f32", "bf16"})
    for (const char* size : {"n=32,c=64,h=112,w=112", "n=32,c=64,h=112,w=112:layout=nhwc", "n=32,c=2048,h=7,w=7"})
      book.benches.push_back(book.op + ":" + type + ":" + size + ":backward");
  const char* all = ":outputs=dx,dgamma,dbeta,dresidual";
  for (const char* size : resnet_sizes) {
    book.benches.push_back(book.op + ":bf16:" + size + ":layout=nhwc:activation=relu:backward");
    book.benches.push_back(book.op + ":bf16:" + size + ",added=1:layout=nhwc:activation=relu:backward" + all);
  }
}

inline check::CaseBook book_of(BatchNorm f) {
  const std::string op(name(f));
  check::CaseBook book{.op = op,
                       .keys = {"n", "c", "h", "w"},
                       .optional_keys = {"plain", "narrow", "hard", "added"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = case_adjust,
                       .tolerances = case_tolerances,
                       .tests = {},
                       .benches = {},
                       .may_leave_range = true};
  const auto test = [&](std::string rest) { book.tests.push_back(op + ":" + rest); };
  const std::vector<std::string> types{"f32", "f16", "bf16"};
  // Planes around 16 bytes and below, of whole vectors or not, one channel and more than a block has; positions around
  // the 4 of a thread; slices of several steps.
  for (const std::string& type : types) {
    for (const char* size : {"n=1,c=1,h=1,w=1", "n=2,c=3,h=1,w=1", "n=2,c=3,h=1,w=3", "n=2,c=5,h=1,w=4",
                             "n=2,c=3,h=1,w=9", "n=3,c=4,h=7,w=7", "n=2,c=3,h=8,w=8", "n=5,c=1,h=4,w=4"})
      test(type + ":" + size);
    for (const char* size : {"n=1,c=8,h=1,w=1", "n=2,c=8,h=1,w=4", "n=3,c=16,h=3,w=3", "n=1,c=24,h=5,w=8",
                             "n=2,c=3,h=4,w=5", "n=2,c=8,h=16,w=17"})
      test(type + ":" + size + ":layout=nhwc");
    for (const char* place : {"offset", "padded", "strided", "reversed"}) {
      test(type + ":n=2,c=3,h=4,w=8:place=" + place);
      test(type + ":n=2,c=8,h=3,w=4:layout=nhwc:place=" + place);
    }
    for (const char* fill : {"nan", "inf", "denormal", "ones", "constant,-100"})
      for (const char* size : {"n=2,c=3,h=4,w=8", "n=2,c=8,h=3,w=4:layout=nhwc"})
        test(type + ":" + size + ":fill=" + fill);
  }
  for (const char* size : {"n=2,c=2,h=40,w=41", "n=1,c=2,h=96,w=96", "n=1,c=130,h=2,w=2",
                           "n=1,c=272,h=2,w=2:layout=nhwc", "n=450,c=9,h=7,w=4", "n=3,c=12,h=1,w=256",
                           "n=90,c=8,h=5,w=5", "n=2,c=8,h=40,w=40:layout=nhwc", "n=2,c=5,h=40,w=40:layout=nhwc"})
    test("f32:" + std::string(size));
  for (const char* size :
       {"n=44,c=16,h=7,w=7", "n=7,c=20,h=3,w=2", "n=2,c=8,h=1,w=257", "n=5,c=19,h=1,w=7", "n=70,c=40,h=2,w=2"})
    test("bf16:" + std::string(size));
  test("f16:n=2,c=3,h=4,w=8:fill=overflow");
  for (const char* fill : {"greatest", "lowest"}) test(std::string("f32:n=4,c=3,h=5,w=5:fill=") + fill);
  for (const char* size : {"n=2,c=3,h=8,w=9", "n=2,c=16,h=5,w=7:layout=nhwc"})
    test("f32:" + std::string(size) + ":warp=64");
  for (const char* size :
       {"n=0,c=3,h=4,w=4", "n=2,c=0,h=4,w=4", "n=2,c=3,h=0,w=4", "n=2,c=1,h=0,w=4", "n=2,c=8,h=0,w=4:layout=nhwc"})
    test("f32:" + std::string(size));
  if (f != BatchNorm::stats) {
    add_epilogue_cases(test);
    for (const std::string& type : types) {
      test(type + ":n=2,c=3,h=4,w=8,plain=1");
      test(type + ":n=2,c=8,h=3,w=4,plain=1:layout=nhwc");
      test(type + ":n=2,c=3,h=4,w=8:eps=0.5");
      test(type + ":n=2,c=3,h=4,w=9,narrow=1");
      test(type + ":n=2,c=8,h=3,w=4,narrow=1:layout=nhwc");
      test(type + ":n=2,c=3,h=5,w=8:place=inplace");
      test(type + ":n=2,c=3,h=5,w=8,added=1:activation=relu:place=inplace");
      test(type + ":n=2,c=3,h=4,w=8,plain=1,added=1:activation=relu:inputs=x," +
           (f == BatchNorm::inference ? "mean,var," : "") + "residual");
      test(type + ":n=2,c=8,h=3,w=4:layout=nhwc:place=inplace");
    }
  }
  // Many values of one sign, which one thread adds up.
  test("f16:n=5,c=1,h=377,w=7:fill=uniform");
  test("f32:n=9,c=2,h=60,w=41:fill=uniform:layout=nhwc");
  if (f != BatchNorm::inference)
    for (const char* size : {"n=2,c=3,h=16,w=40", "n=3,c=8,h=16,w=17:layout=nhwc", "n=2,c=5,h=16,w=17"})
      for (const char* kind : {",hard=1", ",hard=2"}) {
        std::string text = size;
        text.insert(std::min(text.find(':'), text.size()), kind);
        test("f32:" + text);
        if (std::string_view(kind) == ",hard=2") test("bf16:" + text);
      }
  for (const char* type : {"f32", "bf16"})
    for (const char* size : {"n=32,c=64,h=112,w=112", "n=32,c=64,h=112,w=112:layout=nhwc", "n=32,c=2048,h=7,w=7"})
      book.benches.push_back(op + ":" + type + ":" + size);
  if (f != BatchNorm::stats)
    for (const char* size : resnet_sizes)
      for (const char* added : {"", ",added=1"})
        book.benches.push_back(op + ":bf16:" + size + added + ":layout=nhwc:activation=relu");
  if (f != BatchNorm::stats) add_gradient_cases(book, f);
  return book;
}

}  // namespace ridge::batch_norm_detail
