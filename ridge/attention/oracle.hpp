// One query by definition, serial and in double; shares no code with the kernels.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace ridge::attention_detail {

struct Score {
  double value;         // -inf: not attended to
  double magnitude;     // sum of absolute terms
  bool decided = true;  // independent of the order of additions in float32
};

// Whether a sum has one value in every order: `up` is the sum of positive terms, `down` of the others' absolute values.
// A partial sum may be any part of both. If no part overflows float32, the sum does not. If the sum overflows, and
// terms of the other sign alone do not, it is that infinity. Otherwise one part overflows in some orders and is
// cancelled in others, or both overflow and give NaN. Infinite terms are infinite in any order.
inline bool is_decided(double up, double down) {
  constexpr double most = std::numeric_limits<float>::max();
  if (std::isnan(up) || std::isnan(down) || (std::isinf(up) && std::isinf(down))) return true;
  const double less = std::fmin(up, down), more = std::fmax(up, down);
  return more <= most || (less <= most && more - less > most);
}

// The score of a query and a key of d columns: cap * tanh(scale * q k / cap) + mask.
inline Score score_oracle(const double* q, const double* k, std::int64_t d, double scale, double softcap, double mask) {
  if (mask == -std::numeric_limits<double>::infinity()) return {mask, 0};
  // Of each sum four parts, which do not wait for one another: most of a test's time is spent here.
  constexpr int parts = 4;
  double sums[parts] = {}, ups[parts] = {}, downs[parts] = {};
  const auto add = [&](std::int64_t i, int part) {
    const double term = q[i] * k[i];
    sums[part] += term;
    ups[part] += term < 0 ? 0 : term;
    downs[part] += term < 0 ? -term : 0;
  };
  std::int64_t i = 0;
  for (; i + parts <= d; i += parts)
    for (int part = 0; part < parts; ++part) add(i + part, part);
  for (; i < d; ++i) add(i, 0);
  const auto total = [](const double(&x)[parts]) { return (x[0] + x[1]) + (x[2] + x[3]); };
  const double sum = total(sums), up = total(ups), down = total(downs), size = up + down;
  const auto as_float32 = [](double x) {  // scores are float32: infinite beyond its range
    return std::fabs(x) > std::numeric_limits<float>::max() ? std::copysign(HUGE_VAL, x) : x;
  };
  const double plain = as_float32(scale * as_float32(sum)),
               score = softcap > 0 ? softcap * std::tanh(plain / softcap) : plain;
  return {score + mask, std::fabs(scale) * size, is_decided(up, down)};
}

// Weights exp(score - max) / sum, and the log of the sum. Without keys, no weights and -inf.
struct WeightsOracle {
  std::vector<double> weights;
  double max = -std::numeric_limits<double>::infinity(), log_sum = max;

  explicit WeightsOracle(const std::vector<Score>& scores) : weights(scores.size(), 0.0) {
    bool nan = false;
    for (const Score& s : scores) {
      nan = nan || std::isnan(s.value);
      if (s.value > max) max = s.value;
    }
    if (nan || max == std::numeric_limits<double>::infinity()) {
      log_sum = std::numeric_limits<double>::quiet_NaN();
      for (std::size_t j = 0; j < scores.size(); ++j)
        if (scores[j].value != -std::numeric_limits<double>::infinity()) weights[j] = log_sum;
      return;
    }
    if (std::isinf(max)) return;
    double sum = 0;
    for (const Score& s : scores) sum += std::exp(s.value - max);
    for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(scores[j].value - max) / sum;
    log_sum = max + std::log(sum);
  }
};

}  // namespace ridge::attention_detail
