// Angles of a rotation, from positions and tables, and the rotation of a pair.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/rope/rotation.hpp>
#include <ridge/simt/simt.hpp>

#include <algorithm>
#include <cmath>

namespace ridge::rope_detail {

struct SinCos {
  float cos, sin;
};

// Cosine and sine of an angle in revolutions / 2^64: reduced to the nearest quarter revolution, then polynomials within
// an eighth.
__device__ __forceinline__ SinCos sincos_of(std::uint64_t part) {
  const std::uint64_t shifted = part + (std::uint64_t{1} << 61);
  const unsigned quarter = static_cast<unsigned>(shifted >> 62);
  const std::int32_t rest = static_cast<std::int32_t>((shifted << 2 >> 32) ^ 0x80000000u);  // quarters * 2^32
  const float angle = float(rest) * 3.6572951e-10f, z = angle * angle;                      // pi / 2 / 2^32
  const float s = fmaf(fmaf(fmaf(-1.9515295891e-4f, z, 8.3321608736e-3f), z, -1.6666654611e-1f) * z, angle, angle);
  const float c =
      fmaf(fmaf(fmaf(2.4433157118e-5f, z, -1.3887316255e-3f), z, 4.1666645683e-2f) * z, z, fmaf(-0.5f, z, 1));
  const float cosine = quarter & 1 ? s : c, sine = quarter & 1 ? c : s;
  return {quarter == 1 || quarter == 2 ? -cosine : cosine, quarter >= 2 ? -sine : sine};
}

// The source of the angles.
struct Angles {
  const void* positions = nullptr;  // null: the index along s
  bool wide_positions = false;      // i64
  std::int64_t stride_b = 0, stride_s = 0;
  const void *cos = nullptr, *sin = nullptr;  // null: computed
  DType table_dtype = DType::f32;
  std::int64_t rows = 0, cos_stride[2] = {}, sin_stride[2] = {};  // shape and strides of the tables
  std::uint64_t revolutions[most_angles] = {};                    // angle of pair i per position, in revolutions / 2^64

  __device__ __forceinline__ std::int64_t position(std::int64_t b, std::int64_t s) const {
    if (!positions) return s;
    const std::int64_t at = b * stride_b + s * stride_s;
    return wide_positions ? static_cast<const std::int64_t*>(positions)[at]
                          : static_cast<const std::int32_t*>(positions)[at];
  }
  __device__ __forceinline__ SinCos operator()(std::int64_t position, int i) const {
    if (cos) {
      if (position < 0 || position >= rows) return {NAN, NAN};
      return {table(cos, position * cos_stride[0] + i * cos_stride[1]),
              table(sin, position * sin_stride[0] + i * sin_stride[1])};
    }
    return sincos_of(static_cast<std::uint64_t>(position) * revolutions[i]);  // whole revolutions overflow
  }

 private:
  __device__ __forceinline__ float table(const void* data, std::int64_t at) const {
    if (table_dtype == DType::f16) return static_cast<const half*>(data)[at];
    if (table_dtype == DType::bf16) return static_cast<const bfloat16*>(data)[at];
    return static_cast<const float*>(data)[at];
  }
};

__device__ __forceinline__ void rotate(const SinCos& t, float& a, float& b) {
  const float first = a * t.cos - b * t.sin;
  b = b * t.cos + a * t.sin;
  a = first;
}

// The angles of a request, for heads with `rotary_dim` rotated elements.
static inline Angles angles_of(const RopeOptions& options, std::int64_t rotary_dim, const AngleTensors& t) {
  Angles a;
  if (t.positions) {
    const TensorView& v = *t.positions;
    a.positions = v.data;
    a.wide_positions = v.dtype == DType::i64;
    a.stride_b = v.rank() == 2 && v.size(0) > 1 ? v.stride(0) : 0;
    a.stride_s = v.stride(-1);
  }
  if (t.cos) {
    a.cos = t.cos->data;
    a.sin = t.sin->data;
    a.table_dtype = t.cos->dtype;
    a.rows = t.cos->size(0);
    std::copy_n(t.cos->layout.stride.begin(), 2, a.cos_stride);
    std::copy_n(t.sin->layout.stride.begin(), 2, a.sin_stride);
    return a;
  }
  const long double two_pi = 2 * std::acos(-1.0L);
  for (std::int64_t i = 0; i < rotary_dim / 2; ++i) {
    const long double part = std::pow(static_cast<long double>(options.base), -2.0L * i / rotary_dim) / two_pi;
    const long double nearest = (part - std::floor(part)) * 0x1p64L + 0.5L;
    a.revolutions[i] = nearest < 0x1p64L ? static_cast<std::uint64_t>(nearest) : 0;
  }
  return a;
}

}  // namespace ridge::rope_detail
