// a b + c, rounded once, of floats and of doubles by one name.
#pragma once
#include <ridge/simt/simt.hpp>

namespace ridge::tile {

__device__ __forceinline__ float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double multiply_add(double a, double b, double c) { return ::fma(a, b, c); }

}  // namespace ridge::tile
