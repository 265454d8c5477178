// The definition: a thread per output, of the convolution or of its gradients.
#pragma once
#include <ridge/conv/strided.cuh>

namespace ridge::conv_detail {

__device__ __forceinline__ bool is_inside(std::int64_t at, std::int64_t size) { return at >= 0 && at < size; }
// So many strides lift an output that meets an element through any tap to 0 or more.
__device__ __forceinline__ std::int64_t lift_of(const Axis& a) {
  return whole_quotient((a.taps - 1) * a.dilation, a.stride) + 1;
}

// y = epilogue(conv(x, w)); dx = epilogue(sum of dy w); dw from x and dy     StridedShape has the tensors' layouts
// Precondition: gridDim.x * threads covers the outputs; null pointers are inputs that the pass does not read.
template <class Policy, class T, Pass P, bool Volume>
__global__ void __launch_bounds__(Policy::config.threads)
    conv_naive(const T* x, const T* w, const T* dy, T* out, StridedShape p, Epilogue<T> epilogue,
               bool channels_innermost) {
  std::uint64_t rest = std::uint64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  const std::int64_t channels = p.channels * p.groups, filters = p.filters * p.groups;
  const Axis d = Volume ? p.d : Axis{.inputs = 1, .outputs = 1, .taps = 1};  // constants where it is an image
  const std::int64_t sizes[5] = {P == Pass::filters ? filters : p.images,
                                 P == Pass::filters  ? p.channels
                                 : P == Pass::inputs ? channels
                                                     : filters,
                                 P == Pass::filters  ? p.h.taps
                                 : P == Pass::inputs ? p.h.inputs
                                                     : p.h.outputs,
                                 P == Pass::filters  ? p.w.taps
                                 : P == Pass::inputs ? p.w.inputs
                                                     : p.w.outputs,
                                 P == Pass::filters  ? d.taps
                                 : P == Pass::inputs ? d.inputs
                                                     : d.outputs};
  std::int64_t at[5] = {};
  const auto take = [&](int axis) {
    const std::uint64_t size = static_cast<std::uint64_t>(sizes[axis]), outer = quotient(rest, size);
    at[axis] = static_cast<std::int64_t>(rest - outer * size);
    rest = outer;
  };
  // Neighbouring threads are neighbours along the output's innermost axis.
  if (channels_innermost) take(1);
  take(3);
  take(2);
  if constexpr (Volume) take(4);
  if (!channels_innermost) take(1);
  at[0] = static_cast<std::int64_t>(rest);
  if (at[0] >= sizes[0]) return;

  float sum = 0;
  if constexpr (P == Pass::output) {
    const std::int64_t group = whole_quotient(at[1], p.filters);
    for (std::int64_t c = 0; c < p.channels; ++c)
      for (std::int64_t t = 0; t < d.taps; ++t)
        for (std::int64_t a = 0; a < p.h.taps; ++a)
          for (std::int64_t b = 0; b < p.w.taps; ++b) {
            const std::int64_t i = at[2] * p.h.stride - p.h.pad + a * p.h.dilation;
            const std::int64_t j = at[3] * p.w.stride - p.w.pad + b * p.w.dilation;
            const std::int64_t l = at[4] * d.stride - d.pad + t * d.dilation;
            const bool inside = is_inside(i, p.h.inputs) && is_inside(j, p.w.inputs) && is_inside(l, d.inputs);
            sum += or_zero(x, p.x_at(at[0], group * p.channels + c, i, j, l), inside) *
                   float(w[p.f_at(at[1], c, a, b, t)]);
          }
    out[p.y_at(at[0], at[1], at[2], at[3], at[4])] = epilogue(sum, at[0], at[1], at[2], at[3], at[4]);
  } else if constexpr (P == Pass::inputs) {
    // The output that meets this element through tap 0, lifted by whole strides so that dividends are not negative.
    const std::int64_t group = whole_quotient(at[1], p.channels), c = at[1] - group * p.channels;
    const std::int64_t lift_h = lift_of(p.h), lift_w = lift_of(p.w), lift_d = lift_of(d);
    for (std::int64_t t = 0; t < d.taps; ++t) {
      const std::int64_t from_l = at[4] + d.pad - t * d.dilation + lift_d * d.stride;
      const std::int64_t l = whole_quotient(from_l, d.stride);
      if (l * d.stride != from_l) continue;
      for (std::int64_t a = 0; a < p.h.taps; ++a) {
        const std::int64_t from_i = at[2] + p.h.pad - a * p.h.dilation + lift_h * p.h.stride;
        const std::int64_t i = whole_quotient(from_i, p.h.stride);
        if (i * p.h.stride != from_i) continue;
        for (std::int64_t b = 0; b < p.w.taps; ++b) {
          const std::int64_t from_j = at[3] + p.w.pad - b * p.w.dilation + lift_w * p.w.stride;
          const std::int64_t j = whole_quotient(from_j, p.w.stride);
          if (j * p.w.stride != from_j) continue;
          const bool inside = is_inside(i - lift_h, p.h.outputs) && is_inside(j - lift_w, p.w.outputs) &&
                              is_inside(l - lift_d, d.outputs);
          for (std::int64_t k = group * p.filters; k < (group + 1) * p.filters; ++k)
            sum += or_zero(dy, p.y_at(at[0], k, i - lift_h, j - lift_w, l - lift_d), inside) *
                   float(w[p.f_at(k, c, a, b, t)]);
        }
      }
    }
    out[p.x_at(at[0], at[1], at[2], at[3], at[4])] = epilogue(sum, at[0], at[1], at[2], at[3], at[4]);
  } else {
    const std::int64_t c = whole_quotient(at[0], p.filters) * p.channels + at[1];
    for (std::int64_t n = 0; n < p.images; ++n)
      for (std::int64_t l = 0; l < d.outputs; ++l)
        for (std::int64_t i = 0; i < p.h.outputs; ++i)
          for (std::int64_t j = 0; j < p.w.outputs; ++j) {
            const std::int64_t row = i * p.h.stride - p.h.pad + at[2] * p.h.dilation;
            const std::int64_t col = j * p.w.stride - p.w.pad + at[3] * p.w.dilation;
            const std::int64_t slice = l * d.stride - d.pad + at[4] * d.dilation;
            const bool inside = is_inside(row, p.h.inputs) && is_inside(col, p.w.inputs) && is_inside(slice, d.inputs);
            sum += float(dy[p.y_at(n, at[0], i, j, l)]) * or_zero(x, p.x_at(n, c, row, col, slice), inside);
          }
    out[p.f_at(at[0], at[1], at[2], at[3], at[4])] = T(sum);
  }
}

namespace naive {

template <int I, class T, bool Volume> static Status launch_passes(const Arguments& args) {
  constexpr Config c = Policy<I>::config;
  const ConvProblem& p = args.plan.problem;
  const T *x = static_cast<const T*>(args.x), *w = static_cast<const T*>(args.w), *dy = static_cast<const T*>(args.dy);
  const auto at = [&](const Layout& out) { return launch_config(args, c.threads, blocks_of(c, out.count())); };
  const bool last = channels_last(p);
  if (!p.backward)
    return simt::launch(at(p.y), conv_naive<Policy<I>, T, Pass::output, Volume>, x, w, dy, static_cast<T*>(args.y),
                        strided_shape(p, p.x, p.w), epilogue_of<T>(args), last);
  if (has_dx(p))
    RIDGE_TRY(simt::launch(at(*p.dx), conv_naive<Policy<I>, T, Pass::inputs, Volume>, x, w, dy,
                           static_cast<T*>(args.dx), strided_shape(p, *p.dx, p.w), epilogue_of<T>(args), last));
  if (!has_dw(p)) return {};
  return simt::launch(at(*p.dw), conv_naive<Policy<I>, T, Pass::filters, Volume>, x, w, dy, static_cast<T*>(args.dw),
                      strided_shape(p, p.x, *p.dw), Epilogue<T>{}, last);
}
template <int I, class T> static Status launch(const Arguments& args) {
  return is_volume(args.plan.problem) ? launch_passes<I, T, true>(args) : launch_passes<I, T, false>(args);
}

}  // namespace naive
}  // namespace ridge::conv_detail
