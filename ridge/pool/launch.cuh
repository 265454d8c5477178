// Launches the row of variants.hpp that a plan chose. Functions are static: the .cu files are compiled twice, for the
// CPU runtime and for CUDA, and both objects are in one library.
#pragma once
#include <ridge/core/table.hpp>
#include <ridge/pool/launch.hpp>
#include <ridge/pool/tiled.cuh>
#include <ridge/pool/whole.cuh>

#include <algorithm>

namespace ridge::pool_detail {

// Policy of row I of the table, a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

inline int whole(std::int64_t n) { return static_cast<int>(n); }  // fits() has bounded these sizes

template <int I, class F, class T> static Status launch_row(const Arguments& args) {
  constexpr Config c = variants[I].config;
  const PoolProblem& p = args.plan.problem;
  const PoolWindow& window = p.window;
  const Layout &in = p.x, &out = p.y;
  const T* x = static_cast<const T*>(args.x);
  T* y = static_cast<T*>(args.y);
  simt::Config at{.grid = dim3(static_cast<unsigned>(args.plan.grid)),
                  .block = dim3(c.threads),
                  .stream = args.stream.handle,
                  .warp = args.plan.device.warp};
  if constexpr (c.method == Method::naive) {
    Axes axes{.h = in.shape[2], .w = in.shape[3]};
    std::copy_n(out.shape.begin(), 4, axes.outputs);
    std::copy_n(in.stride.begin(), 4, axes.x);
    std::copy_n(out.stride.begin(), 4, axes.y);
    return simt::launch(at, pool_naive<Policy<I>, F, T>, x, y, axes, window, p.layout == PoolLayout::nhwc);
  } else if constexpr (c.method == Method::shared) {
    SharedShape s{.h = whole(in.shape[2]),
                  .w = whole(in.shape[3]),
                  .oh = whole(out.shape[2]),
                  .ow = whole(out.shape[3]),
                  .r = whole(window.size.h),
                  .s = whole(window.size.w),
                  .stride_h = whole(window.stride.h),
                  .stride_w = whole(window.stride.w),
                  .pad_h = whole(window.pad.h),
                  .pad_w = whole(window.pad.w),
                  .dilation_h = whole(window.dilation.h),
                  .dilation_w = whole(window.dilation.w),
                  .rows = whole(inputs_of(c.rows, window.stride.h, window.extent().h)),
                  .cols = whole(inputs_of(shared_columns, window.stride.w, window.extent().w)),
                  .count_include_pad = window.count_include_pad,
                  .tiles_w = Divider(ceil_div(out.shape[3], shared_columns)),
                  .tiles_h = Divider(ceil_div(out.shape[2], c.rows)),
                  .channels = Divider(out.shape[1])};
    std::copy_n(in.stride.begin(), 4, s.x);
    std::copy_n(out.stride.begin(), 4, s.y);
    at.smem = static_cast<std::size_t>(shared_floats(c, window)) * sizeof(float);
    return simt::launch(at, pool_shared<Policy<I>, F, T>, x, y, s);
  } else if constexpr (c.method == Method::column) {
    ColumnShape s{.h = whole(in.shape[2]),
                  .w = whole(in.shape[3]),
                  .oh = whole(out.shape[2]),
                  .ow = whole(out.shape[3]),
                  .pad_h = whole(window.pad.h),
                  .pad_w = whole(window.pad.w),
                  .items = static_cast<unsigned>(items_of(c, p)),
                  .across = Divider(out.shape[3]),
                  .down = Divider(ceil_div(out.shape[2], c.rows)),
                  .channels = Divider(out.shape[1]),
                  .count_include_pad = window.count_include_pad};
    std::copy_n(in.stride.begin(), 4, s.x);
    std::copy_n(out.stride.begin(), 4, s.y);
    return simt::launch(at, pool_column<Policy<I>, F, T>, x, y, s);
  } else if constexpr (c.method == Method::tile) {
    const TileShape s{.h = whole(in.shape[2]),
                      .w = whole(in.shape[3]),
                      .oh = whole(out.shape[2]),
                      .ow = whole(out.shape[3]),
                      .items = static_cast<unsigned>(items_of(c, p)),
                      .across = Divider(ceil_div(out.shape[3], vector_elements(p.dtype))),
                      .down = Divider(ceil_div(out.shape[2], c.rows)),
                      .plane_x = *plane_pitch(in),
                      .row_x = in.stride[2],
                      .plane_y = *plane_pitch(out),
                      .row_y = out.stride[2],
                      .vector_stores = vector_stores(p),
                      .count_include_pad = window.count_include_pad};
    return simt::launch(at, pool_tile<Policy<I>, F, T>, x, y, s);
  } else {
    const ChannelsShape s{.h = whole(in.shape[2]),
                          .w = whole(in.shape[3]),
                          .oh = whole(out.shape[2]),
                          .ow = whole(out.shape[3]),
                          .items = static_cast<unsigned>(items_of(c, p)),
                          .vectors = Divider(out.shape[1] / vector_elements(p.dtype)),
                          .across = Divider(ceil_div(out.shape[3], c.columns)),
                          .down = Divider(ceil_div(out.shape[2], c.rows * below(c, p.dtype))),
                          .r = whole(window.size.h),
                          .s = whole(window.size.w),
                          .stride_h = whole(window.stride.h),
                          .stride_w = whole(window.stride.w),
                          .pad_h = whole(window.pad.h),
                          .pad_w = whole(window.pad.w),
                          .dilation_h = whole(window.dilation.h),
                          .dilation_w = whole(window.dilation.w),
                          .count_include_pad = window.count_include_pad,
                          .x = {in.stride[0], in.stride[2], in.stride[3]},
                          .y = {out.stride[0], out.stride[2], out.stride[3]}};
    return simt::launch(at, pool_channels<Policy<I>, F, T>, x, y, s);
  }
}

template <class T> static Status launch_table(const Arguments& args) {
  return visit_row<variant_count>(args.plan.variant, [&]<int I>() {
    return args.plan.problem.function == Pool::max ? launch_row<I, Max, T>(args) : launch_row<I, Mean, T>(args);
  });
}

}  // namespace ridge::pool_detail
