// Rotation of one pair by definition, in double; shares nothing with the kernels.
#pragma once
#include <cmath>

namespace ridge::rope_detail {

struct PairOracle {
  double first, second;

  PairOracle(double a, double b, double cos, double sin) : first(a * cos - b * sin), second(b * cos + a * sin) {}
};

inline double angle_oracle(double position, double pair, double rotary_dim, double base) {
  return position * std::pow(base, -2 * pair / rotary_dim);
}

}  // namespace ridge::rope_detail
