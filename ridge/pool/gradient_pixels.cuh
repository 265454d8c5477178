// Gradients, of any windows: an input per thread, or the 16 bytes of a row or of channels.
#pragma once
#include <ridge/pool/gradient.cuh>
#include <ridge/pool/gradient_pixels.hpp>

namespace ridge::pool_detail {

template <class Axis> struct PixelsShape {
  Axis rows, cols;
  std::uint64_t items;
  std::int64_t sizes[4] = {};  // of dx, along n, c, h, w; that of the 16 bytes' axis in vectors
  Divider by[4] = {};          // the same, for 32 bits
  float share;                 // of all windows, or 0
  bool channels_innermost;
  GradientStrides strides;
};

// Bit v: whether element v of x is its window's maximum.
template <int C>
__device__ __forceinline__ unsigned maxima(const simt::vec<float, C>& x, const simt::vec<float, C>& y) {
  unsigned bits = 0;
#pragma unroll
  for (int v = 0; v < C; ++v) bits |= static_cast<unsigned>(is_maximum(x[v], y[v])) << v;
  return bits;
}

// The gradient of input (i, j) of a plane, in C neighbouring channels: x is the input. The tensors' pointers are those
// of the plane.
template <class F, int C, class T, class Axis>
__device__ __forceinline__ simt::vec<float, C> gradient_of_pixel(const GradientTensors<T>& t,
                                                                 const PixelsShape<Axis>& p, typename Axis::Index i,
                                                                 typename Axis::Index j, const simt::vec<float, C>& x) {
  using Index = typename Axis::Index;
  const GradientStrides& s = p.strides;
  simt::vec<float, C> sum = {};
  const Index last_row = p.rows.last(i), first_col = p.cols.first(j), last_col = p.cols.last(j);
  for (Index oi = p.rows.first(i); oi <= last_row; ++oi) {
    const Index a = p.rows.tap(i, oi);
    if (a < 0) continue;
    for (Index oj = first_col; oj <= last_col; ++oj) {
      const Index b = p.cols.tap(j, oj);
      if (b < 0) continue;
      const simt::vec<float, C> g = load_floats<T, C>(t.dy + oi * s.dy[2] + oj * s.dy[3]);
      if constexpr (F::counts) {
        const float share = share_of(p.share, p.rows, p.cols, oi, oj);
#pragma unroll
        for (int v = 0; v < C; ++v) sum[v] = fmaf(g[v], share, sum[v]);
      } else {
        const simt::vec<float, C> y = load_floats<T, C>(t.y + oi * s.y[2] + oj * s.y[3]);
        unsigned ours = maxima(x, y);
        for (Index ta = 0; ta <= a && ours; ++ta) {  // the taps before this one
          const Index row = p.rows.input(oi, ta), taps = ta < a ? p.cols.taps : b;
          if (row < 0) continue;
          for (Index tb = 0; tb < taps && ours; ++tb) {
            const Index col = p.cols.input(oj, tb);
            if (col >= 0 && col < p.cols.inputs)
              ours &= ~maxima(load_floats<T, C>(t.x + row * s.x[2] + col * s.x[3]), y);
          }
        }
#pragma unroll
        for (int v = 0; v < C; ++v) sum[v] += ours >> v & 1 ? g[v] : 0.0f;
      }
    }
  }
  return sum;
}

// dx[n, c, i, j] = sum of what the windows that hold it give of dy     dy, y: [n, c, oh, ow]  dx, x: [n, c, h, w], any
// strides. A thread has an input, or 16 bytes of a row or of channels (Config::vectors).
// Preconditions: gridDim.x * threads covers items; sides as StridedAxis or AdaptiveAxis wants them; not Config::wide:
// items below 2^31; vectors: refuse_rows() or refuse_channels() is empty. Threads are along dx's innermost axis.
template <class Policy, class F, class T, class Axis>
__global__ void __launch_bounds__(Policy::config.threads)
    pool_gradient_pixels(GradientTensors<T> t, PixelsShape<Axis> p) {
  constexpr Vectors vectors = Policy::config.vectors;
  constexpr int V = elements_at_once<T, vectors>;
  constexpr int channels = vectors == Vectors::channels ? V : 1, columns = vectors == Vectors::columns ? V : 1;
  using Index = typename Axis::Index;
  std::uint64_t rest = std::uint64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  if (rest >= p.items) return;
  std::int64_t at[4];  // n, c, i, j
  const auto take = [&](int axis) {
    if constexpr (Policy::config.wide) {
      const std::uint64_t size = p.sizes[axis], outer = quotient(rest, size);
      at[axis] = static_cast<std::int64_t>(rest - outer * size);
      rest = outer;
    } else {
      auto index = static_cast<std::uint32_t>(rest);
      rest = p.by[axis].divide(index);
      at[axis] = index;
    }
  };
  if (p.channels_innermost) take(1);
  take(3);
  take(2);
  if (!p.channels_innermost) take(1);
  at[0] = static_cast<std::int64_t>(rest);
  at[1] *= channels;
  at[3] *= columns;

  const GradientStrides& s = p.strides;
  t.dy += at[0] * s.dy[0] + at[1] * s.dy[1];
  t.dx += at[0] * s.dx[0] + at[1] * s.dx[1] + at[2] * s.dx[2] + at[3] * s.dx[3];
  simt::vec<float, V> x = {};
  if constexpr (!F::counts) {
    t.x += at[0] * s.x[0] + at[1] * s.x[1];
    t.y += at[0] * s.y[0] + at[1] * s.y[1];
    x = load_floats<T, V>(t.x + at[2] * s.x[2] + at[3] * s.x[3]);
  }
  const auto i = static_cast<Index>(at[2]), j = static_cast<Index>(at[3]);
  if constexpr (columns == 1) {
    store_floats<T, V>(t.dx, gradient_of_pixel<F, V>(t, p, i, j, x));
  } else {
    simt::vec<float, V> dx;
#pragma unroll
    for (int v = 0; v < V; ++v) dx[v] = gradient_of_pixel<F, 1>(t, p, i, j + v, simt::vec<float, 1>{{x[v]}})[0];
    store_floats<T, V>(t.dx, dx);
  }
}

namespace gradient_pixels {

template <class Policy, class F, class T, class Axis>
static Status launch(const GradientCall<T>& call, const Axis& rows, const Axis& cols) {
  constexpr Config c = Policy::config;
  const PoolProblem& p = call.plan.problem;
  PixelsShape<Axis> s{.rows = rows,
                      .cols = cols,
                      .items = static_cast<std::uint64_t>(items_of(c, p)),
                      .share = share_of_all(p),
                      .channels_innermost = p.layout == PoolLayout::nhwc,
                      .strides = gradient_strides(p)};
  std::copy_n(p.x.shape.begin(), 4, s.sizes);
  if (c.vectors != Vectors::none) s.sizes[c.vectors == Vectors::channels ? 1 : 3] /= at_once(c, p.dtype);
  if (!c.wide)
    for (int axis = 0; axis < 4; ++axis) s.by[axis] = Divider(s.sizes[axis]);
  return simt::launch(launch_config(call), pool_gradient_pixels<Policy, F, T, Axis>, call.tensors, s);
}

template <class Policy, class F, class T> static Status launch(const GradientCall<T>& call) {
  using Index = std::conditional_t<Policy::config.wide, std::int64_t, int>;
  const PoolProblem& p = call.plan.problem;
  if constexpr (F::counts)
    if (p.uneven)
      return launch<Policy, F>(call, AdaptiveAxis{p.x.shape[2], p.y.shape[2]},
                               AdaptiveAxis{p.x.shape[3], p.y.shape[3]});
  return launch<Policy, F>(call, strided_axis<Index, 2>(p), strided_axis<Index, 3>(p));
}

}  // namespace gradient_pixels
}  // namespace ridge::pool_detail
