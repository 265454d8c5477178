// The copy of windows side by side (windows.hpp).
#pragma once
#include <ridge/conv/pixels.cuh>
#include <ridge/conv/windows.hpp>

namespace ridge::conv_detail {
namespace windows {

//                                              x: [n, c, h, w] by strides   to: [pixels of y][taps and channels]
// Innermost: the order of a window's elements, channels last or columns of taps. V neighbouring elements of a window
// are neighbours in x. Precondition: gridDim.x * copy_threads covers the pieces, fewer than 2^31.
template <class T, int V, bool Innermost>
__global__ void __launch_bounds__(copy_threads) copy_windows(const T* x, T* to, unsigned pieces, Divider of_window,
                                                             Pixels pixels, Taps taps, int height, int width) {
  const unsigned index = blockIdx.x * copy_threads + threadIdx.x;
  if (index >= pieces) return;
  unsigned element = index;
  const Index pixel = pixels.at(of_window.divide(element)), tap = taps.at<Innermost>(element * V);
  simt::vec<T, V> values{};  // zeros outside of the image
  if (static_cast<unsigned>(pixel.i + tap.i) < static_cast<unsigned>(height) &&
      static_cast<unsigned>(pixel.j + tap.j) < static_cast<unsigned>(width))
    values = simt::load<V>(x + pixel.gathered + tap.gathered);
  simt::store(to + std::int64_t{index} * V, values);
}

// ---- launch

template <class T> static Status launch(const Arguments& args) {
  const ConvPlan& plan = args.plan;
  const ConvProblem& p = plan.problem;
  const AxisMap h = axis_h(p).forward(), w = axis_w(p).forward();
  const std::int64_t channels = channels_of_group(p), terms = terms_of(p), elements = pixels_of(p) * terms;
  T* const to = static_cast<T*>(args.workspace);
  const Pixels pixels = conv_detail::pixels_of(h, w, p.x, p.y);
  const auto copy = [&]<int V, bool Innermost>() {
    return simt::launch(launch_config(args, copy_threads, ceil_div(elements / V, copy_threads)),
                        copy_windows<T, V, Innermost>, static_cast<const T*>(args.x), to,
                        static_cast<unsigned>(elements / V), Divider(terms / V), pixels,
                        taps_of<Innermost>(h, w, p.x, p.w, channels, p.x.stride[1]), whole(h.inputs), whole(w.inputs));
  };
  RIDGE_TRY((vector_of(p) == 4 ? copy.template operator()<4, true>()
             : is_innermost(p) ? copy.template operator()<1, true>()
                               : copy.template operator()<1, false>()));
  return launch_plan({.plan = plan.nested[0],
                      .x = to,
                      .dy = args.dy,
                      .dw = args.dw,
                      .workspace = static_cast<char*>(args.workspace) + ceil_div(bytes_of(p), 256) * 256,
                      .stream = args.stream});
}

}  // namespace windows
}  // namespace ridge::conv_detail
