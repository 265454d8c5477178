// The gradient of x as a convolution of dy (flipped.hpp), and the copy of groups' filters for it.
#pragma once
#include <ridge/conv/flipped.hpp>
#include <ridge/conv/launch.cuh>
#include <ridge/core/divider.hpp>

namespace ridge::conv_detail {
namespace flipped {

inline constexpr int flip_threads = 256;

struct FlipShape {
  Divider filters, columns, rows, channels;  // of a group; of taps; of a group
  int of_group, taps_h, taps_w;              // of_group: filters; slices of a volume's filter are further rows
  unsigned count;
  std::int64_t k, c, r, s;  // strides of w
};

//                          w: [groups, k, c, r, s] by strides   to: [groups, c, r, s, k], each filter's taps in reverse
// Precondition: gridDim.x * flip_threads covers the elements, fewer than 2^31.
template <class T> __global__ void __launch_bounds__(flip_threads) flip_filters(const T* w, T* to, FlipShape p) {
  const unsigned index = blockIdx.x * flip_threads + threadIdx.x;
  if (index >= p.count) return;
  unsigned k = index, b = p.filters.divide(k), a = p.columns.divide(b), c = p.rows.divide(a);
  const unsigned group = p.channels.divide(c);
  const std::int64_t filter = std::int64_t{group} * p.of_group + k;
  to[index] = w[filter * p.k + c * p.c + (p.taps_h - 1 - static_cast<int>(a)) * p.r +
                (p.taps_w - 1 - static_cast<int>(b)) * p.s];
}

// ---- launch

template <class T> static Status launch(const Arguments& args) {
  const ConvPlan& plan = args.plan;
  const ConvProblem& p = plan.problem;
  const T* w = static_cast<const T*>(args.w);
  char* const workspace = static_cast<char*>(args.workspace);
  if (!is_in_place(p)) {
    const Layout filters = as_images(p.w, p.w);
    const FlipShape shape{.filters = Divider(filters_of_group(p)),
                          .columns = Divider(filters.shape[3]),
                          .rows = Divider(filters.shape[2]),
                          .channels = Divider(channels_of_group(p)),
                          .of_group = whole(filters_of_group(p)),
                          .taps_h = whole(filters.shape[2]),
                          .taps_w = whole(filters.shape[3]),
                          .count = static_cast<unsigned>(p.w.count()),
                          .k = filters.stride[0],
                          .c = filters.stride[1],
                          .r = filters.stride[2],
                          .s = filters.stride[3]};
    T* const to = reinterpret_cast<T*>(workspace);
    RIDGE_TRY(simt::launch(launch_config(args, flip_threads, ceil_div(p.w.count(), flip_threads)), flip_filters<T>, w,
                           to, shape));
    w = to;
  }
  const std::vector<Phase> phases = phases_of(p);
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const Phase& phase = phases[i];
    RIDGE_TRY(launch_plan({.plan = plan.nested[i],
                           .x = static_cast<const T*>(args.dy) + phase.dy,
                           .w = w + phase.w,
                           .bias = args.bias,
                           .residual = args.residual ? static_cast<const T*>(args.residual) + phase.residual : nullptr,
                           .y = static_cast<T*>(args.dx) + phase.dx,
                           .workspace = workspace + filter_bytes(p),
                           .stream = args.stream}));
  }
  return {};
}

}  // namespace flipped
}  // namespace ridge::conv_detail
