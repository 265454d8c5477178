// What outputs are made of: a pixel (Nearest), or means of two pixels along each axis (Bilinear).
#pragma once
#include <ridge/simt/simt.hpp>
#include <ridge/upsample/axis.hpp>

namespace ridge::upsample_detail {

struct Nearest {
  static constexpr bool blends = false;
  template <class Index>
  static __device__ __forceinline__ Range<Index> readers(const Coordinates<Index>& axis, Index input) {
    return axis.nearest_readers(input);
  }
  template <class Index> static __device__ __forceinline__ float weight(const Coordinates<Index>&, Index, Index) {
    return 1;
  }
};

struct Bilinear {
  static constexpr bool blends = true;
  template <class Index>
  static __device__ __forceinline__ Range<Index> readers(const Coordinates<Index>& axis, Index input) {
    return axis.bilinear_readers(input);
  }
  template <class Index>
  static __device__ __forceinline__ float weight(const Coordinates<Index>& axis, Index input, Index output) {
    return axis.weight(input, output);
  }
};

// before (1 - weight_behind) + behind weight_behind. Where both are equal, so is the result: 1 - weight_behind is
// exact, and the product's error, of half a unit in its last place, is rounded off. No difference of the two is taken,
// which might overflow, or be NaN for infinities. Precondition: a number whose weight is 0 is finite.
__device__ __forceinline__ float blend(float before, float behind, float weight_behind) {
  return fmaf(weight_behind, behind, (1 - weight_behind) * before);
}

}  // namespace ridge::upsample_detail
