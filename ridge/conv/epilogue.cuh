// The epilogue of a sum on its way to y.
#pragma once
#include <ridge/conv/conv.hpp>
#include <ridge/tile/activation.cuh>

namespace ridge::conv_detail {

// act(sum + bias) + residual, or act(sum + bias + residual). All threads take the same branch, once per output.
template <class T> struct Epilogue {
  const T *bias = nullptr, *residual = nullptr;
  std::int64_t bias_stride = 0, residual_strides[5] = {};  // of n, k, i, j, and l of a volume
  Activation activation = Activation::none;
  bool residual_first = false;

  __device__ __forceinline__ T operator()(float sum, std::int64_t n, std::int64_t k, std::int64_t i, std::int64_t j,
                                          std::int64_t l = 0) const {
    float addend = 0;
    if (bias) sum += float(bias[k * bias_stride]);
    if (residual)
      addend = float(residual[n * residual_strides[0] + k * residual_strides[1] + i * residual_strides[2] +
                              j * residual_strides[3] + l * residual_strides[4]]);
    if (residual && residual_first) sum += addend;
    float y = tile::activate<T>(activation, sum);
    if (residual && !residual_first) y += addend;
    return T(y);
  }
};

}  // namespace ridge::conv_detail
