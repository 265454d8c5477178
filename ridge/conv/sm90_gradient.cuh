// Gradients on Hopper's tensor cores, by gemm's kernel (gemm/sm90_wgmma.cuh).
//
//   dx  for each class of places of x (geometry.hpp) a convolution of dy: the loader of images (sm90_image.cuh) meets
//       the filters' taps in reverse order, in a copy [taps, channels, filters]
//   dw  [filters, taps x channels] = the sum over pixels of dy [pixels, filters] and of x gathered there. Both lie with
//       neighbours across the sum. The pixels are cut into parts, whose sums stay in float32 and are added in order.
#pragma once
#include <ridge/conv/sm90_image.cuh>

namespace ridge::conv_detail {

// A: a step is 64 pixels of dy. B: of the same pixels x where a tap meets them, 64 channels of one tap after the other.
struct FilterGradientLoader {
  tile::sm90::TensorMap dy, image;
  Divider columns, rows;                               // of a plane of y
  Divider groups, across;                              // of 64 channels, for each tap; taps of a row
  int taps, channels, part;                            // part: pixels of a part of the sum
  int step_h, step_w, first_h, first_w, tap_h, tap_w;  // Walk

  static constexpr int of_tile = filter_gradient_tile().bn / gradient_group;
  struct Place {
    int filter, pixel;
    // Of each group: its first channel, past the last where there is no column of dw; and where its tap is.
    int channel[of_tile], tap_w[of_tile], tap_h[of_tile];
  };
  __device__ __forceinline__ void prefetch() const {
    tile::sm90::prefetch(&dy);
    tile::sm90::prefetch(&image);
  }
  __device__ __forceinline__ Place at(const gemm_kernels::WgmmaTile& tile) const {
    Place to{.filter = tile.row, .pixel = tile.batch * part, .channel = {}, .tap_w = {}, .tap_h = {}};
#pragma unroll
    for (int g = 0; g < of_tile; ++g) {
      unsigned group = static_cast<unsigned>(tile.col / gradient_group + g), b = groups.divide(group);
      const bool there = b < static_cast<unsigned>(taps);
      const unsigned a = across.divide(b);
      to.channel[g] = there ? static_cast<int>(group) * gradient_group : channels;
      to.tap_w[g] = there ? static_cast<int>(b) * tap_w : 0;
      to.tap_h[g] = there ? static_cast<int>(a) * tap_h : 0;
    }
    return to;
  }
  // Pixels past the last are zeros in both.
  template <class K>
  __device__ __forceinline__ void load_next(Place& at, unsigned char* to_a, unsigned char* to_b,
                                            tile::sm90::Barrier* full, int /*rank*/) const {
    namespace sm90 = tile::sm90;
    static_assert(K::c.bk == gradient_group && K::c.bn == of_tile * gradient_group && K::axis_a == sm90::Axis::outer &&
                  K::axis_b == sm90::Axis::outer);
    sm90::arrive_expecting(full, K::bytes_a + K::bytes_b);
    for (int f = 0; f < K::c.bm; f += gradient_group)
      sm90::load(&dy, to_a + sm90::outer_offset(f), full, at.filter + f, at.pixel, 0);
    unsigned j = static_cast<unsigned>(at.pixel), i = columns.divide(j);
    const int n = static_cast<int>(rows.divide(i));
    const int h = static_cast<int>(i) * step_h + first_h, w = static_cast<int>(j) * step_w + first_w;
#pragma unroll
    for (int g = 0; g < of_tile; ++g)
      sm90::load_image(&image, to_b + sm90::outer_offset(g * gradient_group), full, at.channel[g], w, h, n, at.tap_w[g],
                       at.tap_h[g]);
    at.pixel += gradient_group;
  }
};

// Sums of one part on their way to [part][filters][taps][channels]. Precondition: channels are whole vectors.
struct FilterGradientPartial {
  float* partial;
  Divider groups;
  std::int64_t filters, taps;
  int channels;

  template <int V> __device__ __forceinline__ void operator()(simt::vec<float, V> sums, gemm_kernels::At at) const {
    unsigned group = static_cast<unsigned>(at.col / gradient_group);
    const std::int64_t tap = groups.divide(group);
    const int channel = static_cast<int>(group) * gradient_group + static_cast<int>(at.col % gradient_group);
    if (channel < channels)
      simt::store(partial + ((at.batch * filters + at.row) * taps + tap) * channels + channel, sums);
  }
};

}  // namespace ridge::conv_detail
