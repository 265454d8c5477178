// CUDA's qualifiers, built-in types and built-in variables, for g++.
#pragma once
#include <ridge/core/api.hpp>

// A kernel compiled by g++ and nvcc's host stub of the same text have the same name; internal linkage allows both in
// one library.
#define __global__ __attribute__((unused)) static
#define __device__
#define __host__
#define __constant__ __attribute__((unused)) static
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __forceinline__ inline __attribute__((always_inline))

// A block never leaves its OS thread, so its shared memory is thread_local. The bounds build has a single worker and
// uses plain statics instead, because AddressSanitizer guards those and not thread_local arrays. The trace build aligns
// it to the widest access, so that a kernel's counts do not depend on which others the linker put before it.
#ifdef RIDGE_SIMT_SERIAL
#define __shared__ static
#elif defined(RIDGE_SIMT_TRACED)
#define __shared__ static thread_local __attribute__((aligned(16)))
#else
#define __shared__ static thread_local
#endif

// ---- vector types ----------------------------------------------------------------------------------------------
// clang-format off
struct uint3 { unsigned x, y, z; };
struct int3 { int x, y, z; };
struct float3 { float x, y, z; };
struct alignas(8) int2 { int x, y; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
// clang-format on

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned nx = 1, unsigned ny = 1, unsigned nz = 1) : x(nx), y(ny), z(nz) {}
  constexpr dim3(uint3 n) : x(n.x), y(n.y), z(n.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
constexpr int3 make_int3(int x, int y, int z) { return {x, y, z}; }
constexpr float3 make_float3(float x, float y, float z) { return {x, y, z}; }
constexpr int2 make_int2(int x, int y) { return {x, y}; }
constexpr uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
constexpr float2 make_float2(float x, float y) { return {x, y}; }
constexpr int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
constexpr float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
constexpr double2 make_double2(double x, double y) { return {x, y}; }

// ---- built-in variables: the runtime sets them whenever it switches threads --------------------------------------
// In a namespace, so that libridge exports no name that another library of the program may use.
namespace ridge::simt::builtin {
extern RIDGE_API constinit thread_local uint3 threadIdx;
extern RIDGE_API constinit thread_local uint3 blockIdx;
extern RIDGE_API constinit thread_local dim3 blockDim;
extern RIDGE_API constinit thread_local dim3 gridDim;
extern RIDGE_API constinit thread_local int warpSize;
}  // namespace ridge::simt::builtin
using ridge::simt::builtin::blockDim;
using ridge::simt::builtin::blockIdx;
using ridge::simt::builtin::gridDim;
using ridge::simt::builtin::threadIdx;
using ridge::simt::builtin::warpSize;
