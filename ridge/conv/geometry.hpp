// How inputs, filters and outputs meet along one axis, h or w. Plain arithmetic, tested on the host.
#pragma once
#include <cstdint>
#include <numeric>

namespace ridge::conv_detail {

// Output i and tap t meet input `scale` i + `shift` + `step` t, which may be outside. Outputs and taps are every
// pitch-th of the tensor's (output_pitch, tap_pitch), from the first on (first_output, first_tap).
struct AxisMap {
  std::int64_t outputs = 0, first_output = 0, output_pitch = 1;
  std::int64_t taps = 0, first_tap = 0, tap_pitch = 1;
  std::int64_t scale = 1, shift = 0, step = 1;
  std::int64_t inputs = 0;  // along this axis
};

struct Axis {
  std::int64_t inputs = 0, outputs = 0, taps = 0;  // of x, of y, of w
  std::int64_t stride = 1, pad = 0, dilation = 1;

  constexpr AxisMap forward() const {
    return {.outputs = outputs, .taps = taps, .scale = stride, .shift = -pad, .step = dilation, .inputs = inputs};
  }
  // The gradient of x, a transposed convolution. Elements of x whose positions differ by a multiple of the stride meet
  // the same taps; each phase of the stride is a sum of its own, over every (stride / gcd(stride, dilation))-th tap and
  // without holes. A phase that no tap meets has no taps.
  constexpr AxisMap gradient(std::int64_t phase) const {
    AxisMap m{.outputs = phase < inputs ? (inputs - phase - 1) / stride + 1 : 0,
              .first_output = phase,
              .output_pitch = stride,
              .inputs = outputs};
    m.tap_pitch = stride / std::gcd(stride, dilation);
    m.step = -(m.tap_pitch * dilation / stride);
    for (std::int64_t tap = 0; tap < taps && tap < m.tap_pitch; ++tap)
      if ((phase + pad - tap * dilation) % stride == 0) {
        m.first_tap = tap;
        m.taps = (taps - tap - 1) / m.tap_pitch + 1;
        m.shift = (phase + pad - tap * dilation) / stride;
        break;
      }
    return m;
  }
};

}  // namespace ridge::conv_detail
