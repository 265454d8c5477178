// wgmma: a warpgroup multiplies tiles in shared memory, swizzled as swizzle.hpp says; the sums stay in registers.
//
// The sums of 64 x N are N / 2 registers of each thread. Thread t of the warpgroup has, of the 8 columns from 8 j on,
//   sums[4 j], sums[4 j + 1]      row t / 32 * 16 + t % 32 / 4,      columns 2 (t % 4) and its neighbour
//   sums[4 j + 2], sums[4 j + 3]  the same, 8 rows further down
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/tile/sm90/arch.cuh>
#include <ridge/tile/sm90/swizzle.hpp>

namespace ridge::tile::sm90 {

// Sums are float, for int8 int. An instruction multiplies 32 bytes along k of either operand.
template <class T> using Sum = std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t, float>;
template <class T> inline constexpr int product_k = 32 / static_cast<int>(sizeof(T));

}  // namespace ridge::tile::sm90

#if !RIDGE_SIMT_ON_CUDA
#include <ridge/tile/sm90/cpu/wgmma.hpp>
#else
namespace ridge::tile::sm90 {

// To be called before the first product, and after anything else has touched the sums.
__device__ __forceinline__ void fence_sums() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// Ends a group: the products issued since the group before.
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until at most `Pending` groups are under way.
template <int Pending> __device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}
// To be called after all products have been waited for: the compiler keeps what reads the sums after it, and so need
// not serialize the products before it.
template <int N> __device__ __forceinline__ void take_sums(float (&sums)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}
template <int N> __device__ __forceinline__ void take_sums(std::int32_t (&sums)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+r"(sums[i])::"memory");
}

// The instruction lists its registers one by one: the first `S` operands of the statement are the sums, then come the
// descriptors a and b, whether to accumulate, and for 16-bit types whether a and b are transposed. An operand a in
// registers is four of them, and not transposed.

// clang-format off
#define RIDGE_NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define RIDGE_NAMES_16 RIDGE_NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define RIDGE_NAMES_32 RIDGE_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define RIDGE_NAMES_48 RIDGE_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define RIDGE_NAMES_64 RIDGE_NAMES_48 \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define RIDGE_NAMES_80 RIDGE_NAMES_64 \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define RIDGE_NAMES_96 RIDGE_NAMES_80 \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define RIDGE_NAMES_112 RIDGE_NAMES_96 \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define RIDGE_NAMES_128 RIDGE_NAMES_112 \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define RIDGE_OPERANDS_8 "%8", "%9", "%10", "%11", "%12", "%13", "%14"
#define RIDGE_OPERANDS_16 "%16", "%17", "%18", "%19", "%20", "%21", "%22"
#define RIDGE_OPERANDS_32 "%32", "%33", "%34", "%35", "%36", "%37", "%38"
#define RIDGE_OPERANDS_48 "%48", "%49", "%50", "%51", "%52", "%53", "%54"
#define RIDGE_OPERANDS_64 "%64", "%65", "%66", "%67", "%68", "%69", "%70"
#define RIDGE_OPERANDS_80 "%80", "%81", "%82", "%83", "%84", "%85", "%86"
#define RIDGE_OPERANDS_96 "%96", "%97", "%98", "%99", "%100", "%101", "%102"
#define RIDGE_OPERANDS_112 "%112", "%113", "%114", "%115", "%116", "%117", "%118"
#define RIDGE_OPERANDS_128 "%128", "%129", "%130", "%131", "%132", "%133", "%134"
#define RIDGE_SUMS_4(C, I) C(d[I]), C(d[I + 1]), C(d[I + 2]), C(d[I + 3])
#define RIDGE_SUMS_8(C, I) RIDGE_SUMS_4(C, I), RIDGE_SUMS_4(C, I + 4)
#define RIDGE_SUMS_16(C, I) RIDGE_SUMS_8(C, I), RIDGE_SUMS_8(C, I + 8)
#define RIDGE_SUMS_32(C, I) RIDGE_SUMS_16(C, I), RIDGE_SUMS_16(C, I + 16)
#define RIDGE_SUMS_48(C, I) RIDGE_SUMS_32(C, I), RIDGE_SUMS_16(C, I + 32)
#define RIDGE_SUMS_64(C, I) RIDGE_SUMS_32(C, I), RIDGE_SUMS_32(C, I + 32)
#define RIDGE_SUMS_80(C, I) RIDGE_SUMS_64(C, I), RIDGE_SUMS_16(C, I + 64)
#define RIDGE_SUMS_96(C, I) RIDGE_SUMS_64(C, I), RIDGE_SUMS_32(C, I + 64)
#define RIDGE_SUMS_112(C, I) RIDGE_SUMS_96(C, I), RIDGE_SUMS_16(C, I + 96)
#define RIDGE_SUMS_128(C, I) RIDGE_SUMS_64(C, I), RIDGE_SUMS_64(C, I + 64)
// What follows the predicate: signs, and transpositions; signs; nothing.
#define RIDGE_FLAGS_16_BIT(TA, TB) ", 1, 1, " TA ", " TB
#define RIDGE_FLAGS_FLOAT(TA, TB) ", 1, 1"
#define RIDGE_FLAGS_INTEGER(TA, TB) ""

// N: columns, S = N / 2: sums; C: their constraint; TYPES: from k on, of d, a and b.
#define RIDGE_WGMMA_WITH(N, S, C, TYPES, FLAGS, A_, B_, P_, TA_, TB_, ...) \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " P_ ", 0;\n" \
      "wgmma.mma_async.sync.aligned.m64n" #N TYPES " {" RIDGE_NAMES_##S "}, " A_ ", " B_ ", p" FLAGS(TA_, TB_) ";\n}" : \
      RIDGE_SUMS_##S(C, 0) : \
      "l"(a), "l"(b), "r"(static_cast<int>(accumulate)), "n"(A == Axis::outer), "n"(B == Axis::outer))
#define RIDGE_WGMMA_OF(...) RIDGE_WGMMA_WITH(__VA_ARGS__)
#define RIDGE_WGMMA(N, S, C, TYPES, FLAGS) RIDGE_WGMMA_OF(N, S, C, TYPES, FLAGS, RIDGE_OPERANDS_##S)
#define RIDGE_WGMMA_WIDTHS(C, TYPES, FLAGS) \
  if constexpr (N == 16) RIDGE_WGMMA(16, 8, C, TYPES, FLAGS); \
  else if constexpr (N == 32) RIDGE_WGMMA(32, 16, C, TYPES, FLAGS); \
  else if constexpr (N == 64) RIDGE_WGMMA(64, 32, C, TYPES, FLAGS); \
  else if constexpr (N == 96) RIDGE_WGMMA(96, 48, C, TYPES, FLAGS); \
  else if constexpr (N == 128) RIDGE_WGMMA(128, 64, C, TYPES, FLAGS); \
  else if constexpr (N == 160) RIDGE_WGMMA(160, 80, C, TYPES, FLAGS); \
  else if constexpr (N == 192) RIDGE_WGMMA(192, 96, C, TYPES, FLAGS); \
  else if constexpr (N == 224) RIDGE_WGMMA(224, 112, C, TYPES, FLAGS); \
  else if constexpr (N == 256) RIDGE_WGMMA(256, 128, C, TYPES, FLAGS)
#define RIDGE_WGMMA_KEPT_WITH(N, S, TYPES, A0, A1, A2, A3, B_, P_, TB_) \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " P_ ", 0;\n" \
      "wgmma.mma_async.sync.aligned.m64n" #N TYPES " {" RIDGE_NAMES_##S "}, {" A0 ", " A1 ", " A2 ", " A3 "}, " B_ \
      ", p, 1, 1, " TB_ ";\n}" : \
      RIDGE_SUMS_##S("+f", 0) : \
      "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)), "n"(B == Axis::outer))
#define RIDGE_WGMMA_KEPT_OF(...) RIDGE_WGMMA_KEPT_WITH(__VA_ARGS__)
#define RIDGE_WGMMA_KEPT(N, S, TYPES) RIDGE_WGMMA_KEPT_OF(N, S, TYPES, RIDGE_OPERANDS_##S)
#define RIDGE_WGMMA_KEPT_WIDTHS(TYPES) \
  if constexpr (N == 32) RIDGE_WGMMA_KEPT(32, 16, TYPES); \
  else if constexpr (N == 64) RIDGE_WGMMA_KEPT(64, 32, TYPES); \
  else if constexpr (N == 96) RIDGE_WGMMA_KEPT(96, 48, TYPES); \
  else if constexpr (N == 128) RIDGE_WGMMA_KEPT(128, 64, TYPES); \
  else if constexpr (N == 192) RIDGE_WGMMA_KEPT(192, 96, TYPES); \
  else RIDGE_WGMMA_KEPT(256, 128, TYPES)
// clang-format on

// d = a b + (accumulate ? d : 0), of a [64, k] and b [N, k] of T by their descriptors; k: product_k. Asynchronous.
// float: as TF32, whose last 13 bits are not read. Types other than those of 16 bits lie along k.
template <class T, Axis A, Axis B, int N>
__device__ __forceinline__ void multiply(Sum<T> (&d)[N / 2], std::uint64_t a, std::uint64_t b, bool accumulate) {
  static_assert(N == 16 || N == 32 || N == 64 || N == 96 || N == 128 || N == 160 || N == 192 || N == 224 || N == 256,
                "the widths that are written out");
  static_assert(sizeof(T) == 2 || (A == Axis::k && B == Axis::k), "wgmma transposes 16-bit types alone");
  if constexpr (std::is_same_v<T, half>) {
    RIDGE_WGMMA_WIDTHS("+f", "k16.f32.f16.f16", RIDGE_FLAGS_16_BIT);
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    RIDGE_WGMMA_WIDTHS("+f", "k16.f32.bf16.bf16", RIDGE_FLAGS_16_BIT);
  } else if constexpr (std::is_same_v<T, float>) {
    RIDGE_WGMMA_WIDTHS("+f", "k8.f32.tf32.tf32", RIDGE_FLAGS_FLOAT);
  } else if constexpr (std::is_same_v<T, float8_e4m3>) {
    RIDGE_WGMMA_WIDTHS("+f", "k32.f32.e4m3.e4m3", RIDGE_FLAGS_FLOAT);
  } else if constexpr (std::is_same_v<T, float8_e5m2>) {
    RIDGE_WGMMA_WIDTHS("+f", "k32.f32.e5m2.e5m2", RIDGE_FLAGS_FLOAT);
  } else {
    static_assert(std::is_same_v<T, std::int8_t>);
    RIDGE_WGMMA_WIDTHS("+r", "k32.s32.s8.s8", RIDGE_FLAGS_INTEGER);
  }
}

// The same with `a` of 16 bits in registers: thread t has the elements k 2 (t % 4) and its neighbour of row
// t / 32 * 16 + t % 32 / 4 in a[0], of the row 8 further down in a[1], and those 8 further along k in a[2] and a[3].
// That is how the sums of 16 columns lie. They must stay as they are until the product has been waited for.
template <class T, Axis B, int N>
__device__ __forceinline__ void multiply_kept(float (&d)[N / 2], const unsigned (&a)[4], std::uint64_t b,
                                              bool accumulate) {
  static_assert(N == 32 || N == 64 || N == 96 || N == 128 || N == 192 || N == 256, "the widths that are written out");
  if constexpr (std::is_same_v<T, half>) {
    RIDGE_WGMMA_KEPT_WIDTHS("k16.f32.f16.f16");
  } else {
    static_assert(std::is_same_v<T, bfloat16>);
    RIDGE_WGMMA_KEPT_WIDTHS("k16.f32.bf16.bf16");
  }
}

#undef RIDGE_NAMES_8
#undef RIDGE_NAMES_16
#undef RIDGE_NAMES_32
#undef RIDGE_NAMES_48
#undef RIDGE_NAMES_64
#undef RIDGE_NAMES_96
#undef RIDGE_NAMES_112
#undef RIDGE_NAMES_128
#undef RIDGE_OPERANDS_8
#undef RIDGE_OPERANDS_16
#undef RIDGE_OPERANDS_32
#undef RIDGE_OPERANDS_48
#undef RIDGE_OPERANDS_64
#undef RIDGE_OPERANDS_96
#undef RIDGE_OPERANDS_112
#undef RIDGE_OPERANDS_128
#undef RIDGE_SUMS_4
#undef RIDGE_SUMS_8
#undef RIDGE_SUMS_16
#undef RIDGE_SUMS_32
#undef RIDGE_SUMS_48
#undef RIDGE_SUMS_64
#undef RIDGE_SUMS_96
#undef RIDGE_SUMS_112
#undef RIDGE_SUMS_128
#undef RIDGE_FLAGS_16_BIT
#undef RIDGE_FLAGS_FLOAT
#undef RIDGE_FLAGS_INTEGER
#undef RIDGE_WGMMA_WITH
#undef RIDGE_WGMMA_OF
#undef RIDGE_WGMMA
#undef RIDGE_WGMMA_WIDTHS
#undef RIDGE_WGMMA_KEPT_WITH
#undef RIDGE_WGMMA_KEPT_OF
#undef RIDGE_WGMMA_KEPT
#undef RIDGE_WGMMA_KEPT_WIDTHS

}  // namespace ridge::tile::sm90
#endif
