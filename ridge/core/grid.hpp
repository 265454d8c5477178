// Grid sizes.
#pragma once
#include <cstdint>

namespace ridge {

// The most blocks of a grid, the same on every device.
inline constexpr std::int64_t max_grid = 0x7fffffff;  // in x
inline constexpr std::int64_t max_grid_y = 65535, max_grid_z = 65535;

// a / b, rounded up. Precondition: a >= 0, b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace ridge
