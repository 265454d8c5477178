// A thread per element of y, or of dx: any sizes, any strides.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/upsample/functions.cuh>
#include <ridge/upsample/launch.cuh>
#include <ridge/upsample/naive.hpp>

#include <algorithm>

namespace ridge::upsample_detail {

struct NaiveShape {
  Wide rows, columns;
  std::int64_t sizes[4] = {}, in[4] = {}, out[4] = {};  // sizes of what is written, and strides, along n, c, h, w
  bool channels_innermost = false;
};

// This thread's element of what is written, [n, c, h, w]; false: none. Threads are ordered along its innermost axis.
template <int Threads> __device__ __forceinline__ bool element_of_thread(const NaiveShape& p, std::int64_t (&at)[4]) {
  std::uint64_t rest = std::uint64_t{blockIdx.x} * Threads + threadIdx.x;
  const auto take = [&](int axis) {
    const auto size = static_cast<std::uint64_t>(p.sizes[axis]), outer = quotient(rest, size);
    at[axis] = static_cast<std::int64_t>(rest - outer * size);
    rest = outer;
  };
  if (p.channels_innermost) take(1);
  take(3);
  take(2);
  if (!p.channels_innermost) take(1);
  at[0] = static_cast<std::int64_t>(rest);
  return at[0] < p.sizes[0];
}

// y[n, c, i, j] = a pixel of x, or the mean of four    x: [n, c, h, w]  y: [n, c, oh, ow], any strides
// Preconditions: gridDim.x * threads covers y, which has elements; h and w are not 0.
template <class Policy, class M, class T>
__global__ void __launch_bounds__(Policy::config.threads) upsample_naive(const T* x, T* y, NaiveShape p) {
  std::int64_t at[4];
  if (!element_of_thread<Policy::config.threads>(p, at)) return;
  x += at[0] * p.in[0] + at[1] * p.in[1];
  y += at[0] * p.out[0] + at[1] * p.out[1] + at[2] * p.out[2] + at[3] * p.out[3];
  if constexpr (!M::blends) {
    *y = x[p.rows.source(at[2]) * p.in[2] + p.columns.source(at[3]) * p.in[3]];
  } else {
    const auto row = p.rows.place(at[2]), column = p.columns.place(at[3]);
    const std::int64_t left = p.columns.before(column) * p.in[3], right = p.columns.behind(column) * p.in[3];
    const auto mean_of_row = [&](std::int64_t i) {
      const T* in = x + i * p.in[2];
      return blend(column.weight < 1 ? float(in[left]) : 0.0f, column.weight > 0 ? float(in[right]) : 0.0f,
                   column.weight);
    };
    *y = T(blend(row.weight < 1 ? mean_of_row(p.rows.before(row)) : 0.0f,
                 row.weight > 0 ? mean_of_row(p.rows.behind(row)) : 0.0f, row.weight));
  }
}

// dx[n, c, a, b] = the sum of its readers in dy, weighted    dy: [n, c, oh, ow]  dx: [n, c, h, w], any strides
// Precondition: gridDim.x * threads covers dx, which has elements.
template <class Policy, class M, class T>
__global__ void __launch_bounds__(Policy::config.threads) upsample_gradient_naive(const T* dy, T* dx, NaiveShape p) {
  std::int64_t at[4];
  if (!element_of_thread<Policy::config.threads>(p, at)) return;
  dy += at[0] * p.in[0] + at[1] * p.in[1];
  dx += at[0] * p.out[0] + at[1] * p.out[1] + at[2] * p.out[2] + at[3] * p.out[3];
  const auto rows = M::readers(p.rows, at[2]), columns = M::readers(p.columns, at[3]);
  float sum = 0;
  for (std::int64_t i = rows.first; i < rows.last; ++i) {
    float of_row = 0;
    for (std::int64_t j = columns.first; j < columns.last; ++j)
      of_row = fmaf(M::weight(p.columns, at[3], j), float(dy[i * p.in[2] + j * p.in[3]]), of_row);
    sum = fmaf(M::weight(p.rows, at[2], i), of_row, sum);
  }
  *dx = T(sum);
}

namespace naive {

template <class Policy, class M, class T> static Status launch(const Call<T>& call) {
  const UpsampleProblem& p = call.plan.problem;
  const Layout &in = p.backward ? p.y : p.x, &out = written(p);
  NaiveShape s{.rows = Wide(rows_axis(p)),
               .columns = Wide(columns_axis(p)),
               .channels_innermost = p.how.layout == UpsampleLayout::nhwc};
  std::copy_n(out.shape.begin(), 4, s.sizes);
  std::copy_n(in.stride.begin(), 4, s.in);
  std::copy_n(out.stride.begin(), 4, s.out);
  if constexpr (has_gradient<T>) {
    if (p.backward)
      return simt::launch(launch_config(call), upsample_gradient_naive<Policy, M, T>, call.in, call.out, s);
  }
  return simt::launch(launch_config(call), upsample_naive<Policy, M, T>, call.in, call.out, s);
}

}  // namespace naive
}  // namespace ridge::upsample_detail
