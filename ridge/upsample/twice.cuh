// What kernels for twice the size share.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/upsample/functions.cuh>
#include <ridge/upsample/launch.cuh>

namespace ridge::upsample_detail {

struct TwiceShape {
  int h, w;  // of x, or of dx
  unsigned items;
  Divider across, down, channels;  // by threads along a row, by threads down a plane, by channels
  std::int64_t x[3], y[3];         // strides of n, c, h of x and y, or of dx and dy
};

// Weights of the nearer pixel and of the farther one, a quarter and three quarters away.
inline constexpr float near = 0.75f, far = 0.25f;

// What a pixel of dx gets along an axis: each of its two pixels of dy, or four around it, weighted. The first term is
// of pixel 2 i or 2 i - 1.
template <class M> struct TermsOfTwice {
  static constexpr int halo = M::blends ? 1 : 0, count = 2 + 2 * halo;
  static __device__ __forceinline__ constexpr float weight(int term) {
    return !M::blends ? 1.0f : term == 0 || term == 3 ? float(far) : float(near);
  }
};

// columns: of x, or of dx, per thread.
inline TwiceShape twice_shape(const UpsampleProblem& p, std::int64_t columns, std::int64_t rows, std::int64_t items) {
  const Layout &x = p.x, &y = p.y;
  return {.h = whole(x.shape[2]),
          .w = whole(x.shape[3]),
          .items = static_cast<unsigned>(items),
          .across = Divider(x.shape[3] / columns),
          .down = Divider(ceil_div(x.shape[2], rows)),
          .channels = Divider(x.shape[1]),
          .x = {x.stride[0], x.stride[1], x.stride[2]},
          .y = {y.stride[0], y.stride[1], y.stride[2]}};
}

// This thread's tile: the first row and column of x, or of dx, and its plane. Threads are ordered along rows, down
// planes, over channels and images.
struct TileOfTwice {
  int row, column;
  unsigned image, channel;
  // H columns and R rows. Precondition: item < p.items.
  template <int H, int R> static __device__ __forceinline__ TileOfTwice of(const TwiceShape& p, unsigned item) {
    TileOfTwice t;
    unsigned down = p.across.divide(item);
    t.column = static_cast<int>(item) * H;
    t.channel = p.down.divide(down);
    t.row = static_cast<int>(down) * R;
    t.image = p.channels.divide(t.channel);
    return t;
  }
  __device__ __forceinline__ std::int64_t plane(const std::int64_t (&strides)[3]) const {
    return image * strides[0] + channel * strides[1];
  }
};

}  // namespace ridge::upsample_detail
