// What the kernels of gradients share. Each input gathers: it looks through the windows that hold it, in row order, so
// that no two threads write one element.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/pool/access.cuh>
#include <ridge/pool/families.hpp>
#include <ridge/pool/functions.cuh>
#include <ridge/simt/launch.hpp>

#include <algorithm>

namespace ridge::pool_detail {

// ---- windows, from the side of the inputs

// Windows at a stride, along one axis. Index: std::int64_t; or int, if inputs with their padding, windows' extents and
// strides are below 2^30.
template <class Of> struct StridedAxis {
  using Index = Of;
  Index inputs, outputs, taps, stride, pad, dilation;
  Index before, counted;  // the mean's divisor counts taps of -before ... counted - before - 1
  Divider by_stride;      // 32 bits

  // n / stride. Precondition: n >= 0.
  __device__ __forceinline__ Index over_stride(Index n) const {
    if constexpr (sizeof(Index) == 8) return static_cast<Index>(quotient(n, stride));
    else return static_cast<Index>(by_stride(static_cast<std::uint32_t>(n)));
  }
  // The first and the last window that reach input i; if there is none, the first is greater.
  __device__ __forceinline__ Index first(Index i) const {
    const Index n = i + pad - (taps - 1) * dilation + stride - 1;
    return n > 0 ? over_stride(n) : 0;
  }
  __device__ __forceinline__ Index last(Index i) const {
    const Index o = over_stride(i + pad);
    return o < outputs ? o : outputs - 1;
  }
  // The input at a tap of window o, and the tap at input i; below 0: it lies between two taps. Precondition of tap():
  // window o reaches i.
  __device__ __forceinline__ Index input(Index o, Index tap) const { return o * stride - pad + tap * dilation; }
  __device__ __forceinline__ Index tap(Index i, Index o) const {
    const Index distance = i - input(o, 0);
    if (dilation == 1) return distance;
    const Index at = distance / dilation;
    return at * dilation == distance ? at : -1;
  }
  __device__ __forceinline__ Index count(Index o) const { return taps_inside(input(o, 0) + before, taps, counted); }
};

// The same of adaptive pooling's windows. Precondition: inputs * outputs below 2^62.
struct AdaptiveAxis {
  using Index = std::int64_t;
  Index inputs, outputs;

  // Window o ends behind input i if (o + 1) inputs > i outputs, and begins before i + 1 if o inputs < (i + 1) outputs.
  __device__ __forceinline__ Index first(Index i) const { return static_cast<Index>(quotient(i * outputs, inputs)); }
  __device__ __forceinline__ Index last(Index i) const {
    return static_cast<Index>(quotient((i + 1) * outputs + inputs - 1, inputs)) - 1;
  }
  __device__ __forceinline__ Index tap(Index, Index) const { return 0; }  // no window has holes
  __device__ __forceinline__ Index count(Index o) const { return AdaptiveSpan(o, inputs, outputs).size(); }
};

// Whether an input is a window's maximum. NaN is that of NaN.
__device__ __forceinline__ bool is_maximum(float x, float y) { return x == y || (x != x && y != y); }

// The share of a window's gradient that each of its inputs gets. of_all: that of all windows; 0: they differ.
template <class Axis>
__device__ __forceinline__ float share_of(float of_all, const Axis& rows, const Axis& cols, typename Axis::Index oi,
                                          typename Axis::Index oj) {
  return of_all > 0 ? of_all : 1.0f / (float(rows.count(oi)) * float(cols.count(oj)));
}

// ---- launch. Functions are static: see launch.cuh.

// x and y: the maximum's.
template <class T> struct GradientTensors {
  const T *dy, *x, *y;
  T* dx;
};
struct GradientStrides {  // along n, c, h, w
  std::int64_t dy[4] = {}, x[4] = {}, y[4] = {}, dx[4] = {};
};
template <class T> struct GradientCall {
  const PoolPlan& plan;
  GradientTensors<T> tensors;
  Stream stream;
};

template <class T> static simt::Config launch_config(const GradientCall<T>& call) {
  const PoolPlan& plan = call.plan;
  const Variant& row = variants[plan.variant];
  const Footprint launch = family_of(row).footprint(row, plan.problem, plan.device);
  return {.grid = dim3(static_cast<unsigned>(launch.grid)),
          .block = dim3(static_cast<unsigned>(launch.threads)),
          .stream = call.stream.handle,
          .warp = plan.device.warp};
}

static inline GradientStrides gradient_strides(const PoolProblem& p) {
  GradientStrides s;
  std::copy_n(p.y.stride.begin(), 4, s.dy);
  std::copy_n(p.x.stride.begin(), 4, s.dx);
  std::copy_n(p.value_x.stride.begin(), 4, s.x);
  std::copy_n(p.value_y.stride.begin(), 4, s.y);
  return s;
}

static inline float share_of_all(const PoolProblem& p) {
  const auto divisor = divisor_of_all(p);
  return divisor ? static_cast<float>(1 / *divisor) : 0.0f;
}

// The windows along rows of a plane (Axis 2) or along columns (3).
template <class Of, int Axis> static StridedAxis<Of> strided_axis(const PoolProblem& p) {
  const PoolWindow& window = p.window;
  const bool rows = Axis == 2, padding = counts_padding(p);
  const auto of = [&](std::int64_t PoolPair::*side, const PoolPair& pair) { return static_cast<Of>(pair.*side); };
  const auto along = rows ? &PoolPair::h : &PoolPair::w;
  const std::int64_t before = rows ? window.pad.top : window.pad.left,
                     after = rows ? window.pad.bottom : window.pad.right, inputs = p.x.shape[Axis];
  StridedAxis<Of> axis{.inputs = static_cast<Of>(inputs),
                       .outputs = static_cast<Of>(p.y.shape[Axis]),
                       .taps = of(along, window.size),
                       .stride = of(along, window.stride),
                       .pad = static_cast<Of>(before),
                       .dilation = of(along, window.dilation),
                       .before = static_cast<Of>(padding ? before : 0),
                       .counted = static_cast<Of>(padding ? inputs + before + after : inputs),
                       .by_stride = {}};
  if constexpr (sizeof(Of) == 4) axis.by_stride = Divider(axis.stride);
  return axis;
}

}  // namespace ridge::pool_detail
