// One query by definition, serial and in double; shares nothing with the kernels.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace ridge::attention_detail {

struct Score {
  double value;      // -inf: not attended to
  double magnitude;  // of what was added up to it
};

// The score of a query and a key: cap * tanh(scale * q k / cap) + mask.
inline Score score_oracle(const double* q, std::int64_t q_step, const double* k, std::int64_t k_step, std::int64_t d,
                          double scale, double softcap, double mask) {
  if (mask == -std::numeric_limits<double>::infinity()) return {mask, 0};
  double sum = 0, size = 0;
  for (std::int64_t i = 0; i < d; ++i) {
    sum += q[i * q_step] * k[i * k_step];
    size += std::fabs(q[i * q_step] * k[i * k_step]);
  }
  const auto as_float32 = [](double x) {  // what scores are computed in: beyond its range they are infinite
    return std::fabs(x) > std::numeric_limits<float>::max() ? std::copysign(HUGE_VAL, x) : x;
  };
  const double plain = as_float32(scale * as_float32(sum)),
               score = softcap > 0 ? softcap * std::tanh(plain / softcap) : plain;
  return {score + mask, std::fabs(scale) * size};
}

// Weights exp(score - max) / sum, and log of the sum. Without a key, no weights and -inf.
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
