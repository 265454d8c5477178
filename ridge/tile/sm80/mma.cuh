// mma.sync and ldmatrix: a warp multiplies fragments that its lanes have in registers. fragment.hpp says which lane has
// which elements.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/tile/sm80/arch.cuh>
#include <ridge/tile/sm80/fragment.hpp>

namespace ridge::tile::sm80 {

template <class T> inline constexpr bool is_fp8 = std::is_same_v<T, float8_e4m3> || std::is_same_v<T, float8_e5m2>;

// Whether multiply<T>() is there, of the types that it takes. A kernel puts its body behind this.
template <class T> inline constexpr bool multiplies = is_fp8<T> ? has_fp8 : available;

}  // namespace ridge::tile::sm80

#if !RIDGE_SIMT_ON_CUDA
#include <ridge/tile/sm80/cpu/mma.hpp>
#else
namespace ridge::tile::sm80 {

__device__ __forceinline__ void load_single(double& value, unsigned from) {
  asm volatile("ld.shared.f64 %0, [%1];" : "=d"(value) : "r"(from) : "memory");
}
__device__ __forceinline__ void load_single(unsigned& value, unsigned from) {  // a float
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
}
__device__ __forceinline__ void load_single(unsigned short& value, unsigned from) {
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(from) : "memory");
}

// Prepares a float for multiply(), which truncates it to TF32, so that it is rounded to the nearest instead: adds half
// a unit of TF32's last place, 2^-11 of the float's power of two. Infinity and NaN stay; a subnormal is truncated. Two
// instructions of common pipes, where cvt.rna.tf32.f32 waits for the one that has a quarter of their rate or less.
__device__ __forceinline__ void round_to_tf32(unsigned& x) {
  constexpr unsigned sign_and_exponent = 0xff800000;
  x = __float_as_uint(__fmaf_rn(__uint_as_float(x & sign_and_exponent), 0x1p-11f, __uint_as_float(x)));
}

// Loads four 8 x 8 matrices of 16-bit elements; the lane's row starts at `from`, a multiple of 16.
template <bool Transposed> __device__ __forceinline__ void load_matrices(unsigned (&fragment)[4], unsigned from) {
  if constexpr (Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
                 : "r"(from)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
                 : "r"(from)
                 : "memory");
}

// Transposes an 8 x 8 matrix of 16-bit elements. A lane has the elements 2 (lane % 4) and the next one of row lane / 4,
// before and after.
__device__ __forceinline__ unsigned transpose_matrix(unsigned pair) {
  unsigned transposed;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(pair));
  return transposed;
}

// sums += a b, 16 x 8, by the columns 8 half to 8 half + 7 of b's fragment; half is 0 or 1. float: as TF32. Of 8-bit
// floats the tensor cores keep fewer bits of a sum than float32 has: a long one leaves them now and then.
template <class T>
__device__ __forceinline__ void multiply(float (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[4], int half) {
  static_assert(std::is_same_v<T, ridge::half> || std::is_same_v<T, bfloat16> || std::is_same_v<T, float> || is_fp8<T>);
  if constexpr (std::is_same_v<T, ridge::half>)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[half]), "r"(b[half + 2]));
  else if constexpr (std::is_same_v<T, float>)
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[half]), "r"(b[half + 2]));
  else if constexpr (std::is_same_v<T, float8_e4m3>)
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[half]), "r"(b[half + 2]));
  else if constexpr (std::is_same_v<T, float8_e5m2>)
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[half]), "r"(b[half + 2]));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[half]), "r"(b[half + 2]));
}

template <class T>
__device__ __forceinline__ void multiply(std::int32_t (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[4],
                                         int half) {
  static_assert(std::is_same_v<T, std::int8_t>);
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[half]), "r"(b[half + 2]));
}

template <class T, int N>
__device__ __forceinline__ void multiply(double (&sums)[4], const double (&a)[N], const double (&b)[N], int half) {
  static_assert(std::is_same_v<T, double> && (N == 2 || N == 4));
  if constexpr (!has_large_f64) {
    const auto small = [](double& sum0, double& sum1, double x, double y) {  // 8 x 8 x 4
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(sum0), "+d"(sum1)
                   : "d"(x), "d"(y));
    };
#pragma unroll
    for (int i = 0; i < N; i += 2) {
      small(sums[0], sums[1], a[i], b[half + i]);
      small(sums[2], sums[3], a[i + 1], b[half + i]);
    }
  } else if constexpr (N == 2) {
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
                 : "d"(a[0]), "d"(a[1]), "d"(b[half]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[half]), "d"(b[half + 2]));
  }
}

}  // namespace ridge::tile::sm80
#endif
