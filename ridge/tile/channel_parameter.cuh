// A number for each channel, such as gamma or beta, as kernels read it.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::tile {

// [c], of f32, f16 or bf16, any stride; null: not given.
struct ChannelParameter {
  const void* data = nullptr;
  std::int64_t stride = 1;
  DType dtype = DType::f32;

  __device__ __forceinline__ float operator()(std::int64_t c, float otherwise) const {
    if (!data) return otherwise;
    if (dtype == DType::f16) return static_cast<const half*>(data)[c * stride];
    if (dtype == DType::bf16) return static_cast<const bfloat16*>(data)[c * stride];
    return static_cast<const float*>(data)[c * stride];
  }
  // Loads channels c to c + N - 1. It branches on the type once: once per channel would take the compiler seconds.
  template <int N> __device__ __forceinline__ void gather(std::int64_t c, float (&values)[N]) const {
    const auto take = [&](const auto* from) {
#pragma unroll
      for (int i = 0; i < N; ++i) values[i] = float(from[(c + i) * stride]);
    };
    if (dtype == DType::f16) take(static_cast<const half*>(data));
    else if (dtype == DType::bf16) take(static_cast<const bfloat16*>(data));
    else take(static_cast<const float*>(data));
  }
  // The same for contiguous f32 on 16 bytes.
  template <int N> __device__ __forceinline__ void gather_vectors(std::int64_t c, float (&values)[N]) const {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const simt::vec<float, 4> four = simt::load<4>(static_cast<const float*>(data) + c + i);
#pragma unroll
      for (int k = 0; k < 4; ++k) values[i + k] = four[k];
    }
  }
  // The same, with `otherwise` for each channel if it is not given. vectorized: if it is given, it is contiguous f32 on
  // 16 bytes.
  template <int N>
  __device__ __forceinline__ void gather_or(float otherwise, std::int64_t c, bool vectorized,
                                            float (&values)[N]) const {
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = otherwise;
    if (data && vectorized) gather_vectors(c, values);
    else if (data) gather(c, values);
  }
};

}  // namespace ridge::tile
