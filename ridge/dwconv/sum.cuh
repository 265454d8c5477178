// The one sum that expresses the convolution and both gradients.
//
//   y[b, c, o] = eps + sum over x of p[b, c, x] q[b, c, x - o + shift]
//
// over those x that p and q both have.            p            q            shift   y
//   the convolution                               k            w            L - 1   y
//   k's gradient                                  dy, from the last step to the first          dk, likewise
//                                                              w            L - 1
//   w's gradient, summed over b too               dy           k            0       dw, from the last tap to the first
#pragma once
#include <ridge/simt/simt.hpp>

namespace ridge::dwconv_detail {

// [batch, channels, size] in any strides; a filter's batch stride is 0. Reversed: data is the last element,
// step below 0.
template <class T> struct Signal {
  T* data;
  std::int64_t batch, channel, step, size;
  RIDGE_HD T& at(std::int64_t b, std::int64_t c, std::int64_t i) const {
    return data[b * batch + c * channel + i * step];
  }
};

template <class T> struct Sum {
  Signal<const T> p, q;
  Signal<T> y;
  std::int64_t shift, batch, channels;
  float eps;

  // The first x of output o, and one past the last.
  RIDGE_HD std::int64_t first(std::int64_t o) const { return o > shift ? o - shift : 0; }
  RIDGE_HD std::int64_t end(std::int64_t o) const {
    const std::int64_t of_q = o - shift + q.size;
    return of_q < p.size ? of_q : p.size;
  }
  // Output o from rows b of p and q, term by term.
  __device__ __forceinline__ float direct(std::int64_t b, std::int64_t c, std::int64_t o) const {
    float sum = 0;
    for (std::int64_t x = first(o), last = end(o); x < last; ++x)
      sum += float(p.at(b, c, x)) * float(q.at(b, c, x - o + shift));
    return sum;
  }
};

}  // namespace ridge::dwconv_detail
