// Sizes of grids.
#pragma once
#include <cstdint>

namespace ridge {

// Blocks of a grid on every device.
inline constexpr std::int64_t max_grid = 0x7fffffff;  // in x
inline constexpr std::int64_t max_grid_y = 65535;

// Of a at least 0 and b above: how many parts of b cover a.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace ridge
