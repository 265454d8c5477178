// What launches share: a plan's sums, from its tensors, and the configuration of a launch. The launches of a gradient
// differ in grid and shared memory, so a family's header computes these for each. Functions are static: the .cu files
// are compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#pragma once
#include <ridge/dwconv/launch.hpp>
#include <ridge/dwconv/sum.cuh>
#include <ridge/simt/launch.hpp>

namespace ridge::dwconv_detail {

template <class T, class P> static Signal<T> signal_of(P* data, const Layout& shape) {
  const bool filter = shape.rank == 2;  // [C, L]
  const int last = shape.rank - 1;
  return {static_cast<T*>(data), filter ? 0 : shape.stride[0], shape.stride[last - 1], shape.stride[last],
          shape.shape[last]};
}
template <class T> static Signal<T> reversed(Signal<T> s) {
  if (s.size > 0) s.data += (s.size - 1) * s.step;
  s.step = -s.step;
  return s;
}

template <class T> static Sum<T> output_sum(const Arguments& a) {
  const DwconvProblem& p = a.plan.problem;
  return {signal_of<const T>(a.k, p.k),
          signal_of<const T>(a.w, p.w),
          signal_of<T>(a.y, p.y),
          p.taps - 1,
          p.batch,
          p.channels,
          p.eps};
}
template <class T> static Sum<T> k_gradient_sum(const Arguments& a) {
  const DwconvProblem& p = a.plan.problem;
  return {reversed(signal_of<const T>(a.y_in, p.y)),
          signal_of<const T>(a.w, p.w),
          reversed(signal_of<T>(a.dk, p.dk)),
          p.taps - 1,
          p.batch,
          p.channels,
          0};
}
template <class T> static Sum<T> w_gradient_sum(const Arguments& a) {
  const DwconvProblem& p = a.plan.problem;
  return {signal_of<const T>(a.y_in, p.y),
          signal_of<const T>(a.k, p.k),
          reversed(signal_of<T>(a.dw, p.dw)),
          0,
          p.batch,
          p.channels,
          0};
}

// Calls launch(sum, bool_constant<Summed>) for each of a plan's sums that has outputs.
template <class T, class Launch> static Status launch_sums(const Arguments& a, Launch&& launch) {
  const DwconvProblem& p = a.plan.problem;
  const bool outputs = p.batch > 0 && p.channels > 0 && p.time > 0;
  if (!p.backward) return outputs ? launch(output_sum<T>(a), std::false_type{}) : Status{};
  if (outputs) RIDGE_TRY(launch(k_gradient_sum<T>(a), std::false_type{}));
  return p.channels > 0 && p.taps > 0 ? launch(w_gradient_sum<T>(a), std::true_type{}) : Status{};
}

static inline simt::Config launch_config(const Arguments& args, int threads, std::int64_t grid, int smem = 0) {
  return {.grid = dim3(static_cast<unsigned>(grid)),
          .block = dim3(static_cast<unsigned>(threads)),
          .smem = static_cast<std::size_t>(smem),
          .stream = args.stream.handle,
          .warp = args.plan.device.warp};
}

}  // namespace ridge::dwconv_detail
