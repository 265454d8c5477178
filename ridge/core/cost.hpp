// Cost: the least work of an operator, counted before anything runs. roofline turns it into a bound.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace ridge {

// The execution units of arithmetic. Operations are counted as data sheets count them: a fused multiply-add is 2.
enum class Unit : std::uint8_t { fp32, fp64, int32, special, tf32, fp16_tensor, fp8_tensor, int8_tensor };
inline constexpr int unit_count = 8;

constexpr std::string_view name(Unit unit) {
  constexpr std::string_view names[unit_count] = {"fp32", "fp64", "int32", "special", "tf32", "fp16", "fp8", "int8"};
  return names[static_cast<int>(unit)];
}

struct Cost {
  double bytes_read = 0, bytes_written = 0;     // each input element once, each output element once
  std::array<double, unit_count> operations{};  // by Unit

  double bytes() const { return bytes_read + bytes_written; }
  double& on(Unit unit) { return operations[static_cast<int>(unit)]; }
  double on(Unit unit) const { return operations[static_cast<int>(unit)]; }
  double all_operations() const {
    double sum = 0;
    for (double n : operations) sum += n;
    return sum;
  }
};

}  // namespace ridge
