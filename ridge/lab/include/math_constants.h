// CUDA's names for constants, of those that programs use.
#pragma once
#include <limits>

constexpr float CUDART_INF_F = std::numeric_limits<float>::infinity();
constexpr float CUDART_NAN_F = std::numeric_limits<float>::quiet_NaN();
constexpr float CUDART_MIN_DENORM_F = std::numeric_limits<float>::denorm_min();
constexpr float CUDART_MAX_NORMAL_F = std::numeric_limits<float>::max();
constexpr float CUDART_NORM_HUGE_F = std::numeric_limits<float>::max();
constexpr float CUDART_NEG_ZERO_F = -0.0f;
constexpr float CUDART_ZERO_F = 0.0f;
constexpr float CUDART_ONE_F = 1.0f;
constexpr float CUDART_THIRD_F = 0.333333333f;
constexpr float CUDART_SQRT_HALF_F = 0.707106781f;
constexpr float CUDART_SQRT_TWO_F = 1.414213562f;
constexpr float CUDART_PI_F = 3.141592654f;
constexpr float CUDART_PIO2_F = 1.570796327f;
constexpr float CUDART_PIO4_F = 0.785398163f;
constexpr float CUDART_3PIO4_F = 2.356194490f;
constexpr float CUDART_2_OVER_PI_F = 0.636619772f;
constexpr float CUDART_SQRT_2_OVER_PI_F = 0.797884561f;
constexpr float CUDART_L2E_F = 1.442695041f;
constexpr float CUDART_L2T_F = 3.321928094f;
constexpr float CUDART_LG2_F = 0.301029996f;
constexpr float CUDART_LGE_F = 0.434294482f;
constexpr float CUDART_LN2_F = 0.693147181f;
constexpr float CUDART_LNT_F = 2.302585093f;
constexpr float CUDART_LNPI_F = 1.144729886f;

constexpr double CUDART_INF = std::numeric_limits<double>::infinity();
constexpr double CUDART_NAN = std::numeric_limits<double>::quiet_NaN();
constexpr double CUDART_MIN_DENORM = std::numeric_limits<double>::denorm_min();
constexpr double CUDART_NEG_ZERO = -0.0;
constexpr double CUDART_ZERO = 0.0;
constexpr double CUDART_ONE = 1.0;
constexpr double CUDART_THIRD = 0.33333333333333333;
constexpr double CUDART_SQRT_TWO = 1.4142135623730951;
constexpr double CUDART_SQRT_HALF = 0.70710678118654752;
constexpr double CUDART_PI = 3.1415926535897932;
constexpr double CUDART_PIO2 = 1.5707963267948966;
constexpr double CUDART_PIO4 = 0.78539816339744831;
constexpr double CUDART_3PIO4 = 2.3561944901923449;
constexpr double CUDART_2_OVER_PI = 0.63661977236758134;
constexpr double CUDART_SQRT_2PI = 2.5066282746310005;
constexpr double CUDART_SQRT_2_OVER_PI = 0.79788456080286536;
constexpr double CUDART_L2E = 1.4426950408889634;
constexpr double CUDART_L2T = 3.3219280948873623;
constexpr double CUDART_LG2 = 0.30102999566398120;
constexpr double CUDART_LGE = 0.43429448190325183;
constexpr double CUDART_LN2 = 0.69314718055994531;
constexpr double CUDART_LNT = 2.3025850929940457;
constexpr double CUDART_LNPI = 1.1447298858494002;
