// The helpers of NVIDIA's samples that calculate with vectors: operators and functions on float2 to float4, int2 to
// int4 and uint2 to uint4, by components. Written from what the samples expect of them.
#pragma once
#include <cuda_runtime.h>

#include <type_traits>

typedef unsigned int uint;
typedef unsigned short ushort;

// ---- from other vectors and from one number ----------------------------------------------------------------------
#define RIDGE_LAB_MAKE(S, s)                                     \
  inline s##2 make_##s##2(S a) { return {a, a}; }                \
  inline s##2 make_##s##2(s##3 a) { return {a.x, a.y}; }         \
  inline s##3 make_##s##3(S a) { return {a, a, a}; }             \
  inline s##3 make_##s##3(s##2 a) { return {a.x, a.y, 0}; }      \
  inline s##3 make_##s##3(s##2 a, S z) { return {a.x, a.y, z}; } \
  inline s##3 make_##s##3(s##4 a) { return {a.x, a.y, a.z}; }    \
  inline s##4 make_##s##4(S a) { return {a, a, a, a}; }          \
  inline s##4 make_##s##4(s##3 a) { return {a.x, a.y, a.z, 0}; } \
  inline s##4 make_##s##4(s##3 a, S w) { return {a.x, a.y, a.z, w}; }
#define RIDGE_LAB_CONVERT(S, s, from)                                     \
  inline s##2 make_##s##2(from##2 a) { return {S(a.x), S(a.y)}; }         \
  inline s##3 make_##s##3(from##3 a) { return {S(a.x), S(a.y), S(a.z)}; } \
  inline s##4 make_##s##4(from##4 a) { return {S(a.x), S(a.y), S(a.z), S(a.w)}; }
RIDGE_LAB_MAKE(float, float)
RIDGE_LAB_MAKE(int, int)
RIDGE_LAB_MAKE(unsigned, uint)
RIDGE_LAB_CONVERT(float, float, int)
RIDGE_LAB_CONVERT(float, float, uint)
RIDGE_LAB_CONVERT(int, int, float)
RIDGE_LAB_CONVERT(int, int, uint)
RIDGE_LAB_CONVERT(unsigned, uint, int)
#undef RIDGE_LAB_MAKE
#undef RIDGE_LAB_CONVERT

// ---- by components -----------------------------------------------------------------------------------------------
// f of the first components, of the second ones, and so on.
namespace ridge::lab {
#define RIDGE_LAB_EACH(s)                                                                                    \
  template <class F, class... V> s##2 each(F f, s##2 a, V... b) { return {f(a.x, b.x...), f(a.y, b.y...)}; } \
  template <class F, class... V> s##3 each(F f, s##3 a, V... b) {                                            \
    return {f(a.x, b.x...), f(a.y, b.y...), f(a.z, b.z...)};                                                 \
  }                                                                                                          \
  template <class F, class... V> s##4 each(F f, s##4 a, V... b) {                                            \
    return {f(a.x, b.x...), f(a.y, b.y...), f(a.z, b.z...), f(a.w, b.w...)};                                 \
  }
RIDGE_LAB_EACH(float)
RIDGE_LAB_EACH(int)
RIDGE_LAB_EACH(uint)
#undef RIDGE_LAB_EACH
}  // namespace ridge::lab

#define RIDGE_LAB_OPERATOR(S, V, op)                                     \
  inline V operator op(V a, V b) {                                       \
    return ridge::lab::each([](S x, S y) -> S { return x op y; }, a, b); \
  }                                                                      \
  inline V operator op(V a, S b) { return a op make_##V(b); }            \
  inline V operator op(S a, V b) { return make_##V(a) op b; }            \
  inline void operator op##=(V& a, V b) { a = a op b; }                  \
  inline void operator op##=(V& a, S b) { a = a op b; }
#define RIDGE_LAB_MINUS(S, V)                                \
  inline V operator-(const V& a) {                           \
    return ridge::lab::each([](S x) -> S { return -x; }, a); \
  }
#define RIDGE_LAB_FUNCTION_OF_TWO(S, V, name, f)                    \
  inline V name(V a, V b) {                                         \
    return ridge::lab::each([](S x, S y) -> S { return f; }, a, b); \
  }

#define RIDGE_LAB_INTEGERS(S, V)                      \
  RIDGE_LAB_OPERATOR(S, V, +)                         \
  RIDGE_LAB_OPERATOR(S, V, -)                         \
  RIDGE_LAB_OPERATOR(S, V, *)                         \
  RIDGE_LAB_FUNCTION_OF_TWO(S, V, min, x < y ? x : y) \
  RIDGE_LAB_FUNCTION_OF_TWO(S, V, max, x < y ? y : x)
#define RIDGE_LAB_SIGNED(V)                                           \
  RIDGE_LAB_MINUS(int, V)                                             \
  inline V abs(V a) {                                                 \
    return ridge::lab::each([](int x) { return x < 0 ? -x : x; }, a); \
  }
#define RIDGE_LAB_FLOATS(V)                                              \
  RIDGE_LAB_OPERATOR(float, V, +)                                        \
  RIDGE_LAB_OPERATOR(float, V, -)                                        \
  RIDGE_LAB_OPERATOR(float, V, *)                                        \
  RIDGE_LAB_OPERATOR(float, V, /)                                        \
  RIDGE_LAB_MINUS(float, V)                                              \
  RIDGE_LAB_FUNCTION_OF_TWO(float, V, fminf, ::fminf(x, y))              \
  RIDGE_LAB_FUNCTION_OF_TWO(float, V, fmaxf, ::fmaxf(x, y))              \
  RIDGE_LAB_FUNCTION_OF_TWO(float, V, fmodf, ::fmodf(x, y))              \
  inline V fabs(V a) {                                                   \
    return ridge::lab::each([](float x) { return ::fabsf(x); }, a);      \
  }                                                                      \
  inline V floorf(V a) {                                                 \
    return ridge::lab::each([](float x) { return ::floorf(x); }, a);     \
  }                                                                      \
  inline V fracf(V a) {                                                  \
    return ridge::lab::each([](float x) { return x - ::floorf(x); }, a); \
  }                                                                      \
  inline V lerp(V a, V b, float t) { return a + t * (b - a); }
RIDGE_LAB_INTEGERS(int, int2)
RIDGE_LAB_INTEGERS(int, int3)
RIDGE_LAB_INTEGERS(int, int4)
RIDGE_LAB_INTEGERS(unsigned, uint2)
RIDGE_LAB_INTEGERS(unsigned, uint3)
RIDGE_LAB_INTEGERS(unsigned, uint4)
RIDGE_LAB_SIGNED(int2)
RIDGE_LAB_SIGNED(int3)
RIDGE_LAB_SIGNED(int4)
RIDGE_LAB_FLOATS(float2)
RIDGE_LAB_FLOATS(float3)
RIDGE_LAB_FLOATS(float4)
#undef RIDGE_LAB_OPERATOR
#undef RIDGE_LAB_MINUS
#undef RIDGE_LAB_FUNCTION_OF_TWO
#undef RIDGE_LAB_INTEGERS
#undef RIDGE_LAB_SIGNED
#undef RIDGE_LAB_FLOATS

// ---- of numbers --------------------------------------------------------------------------------------------------
// A template, after which C++'s own std::lerp is taken where a program has named that too.
template <class T>
requires std::is_arithmetic_v<T>
float lerp(T a, std::type_identity_t<float> b, std::type_identity_t<float> t) { return float(a) + t * (b - float(a)); }
inline float fracf(float x) { return x - floorf(x); }

#define RIDGE_LAB_CLAMP(S) \
  inline S clamp(S x, S least, S most) { return x < least ? least : most < x ? most : x; }
RIDGE_LAB_CLAMP(float)
RIDGE_LAB_CLAMP(int)
RIDGE_LAB_CLAMP(unsigned)
#undef RIDGE_LAB_CLAMP

inline float smoothstep(float a, float b, float x) {
  const float t = clamp((x - a) / (b - a), 0.0f, 1.0f);
  return t * t * (3.0f - 2.0f * t);
}

#define RIDGE_LAB_CLAMP(S, V)                                                                   \
  inline V clamp(V a, V least, V most) {                                                        \
    return ridge::lab::each([](S x, S y, S z) -> S { return clamp(x, y, z); }, a, least, most); \
  }                                                                                             \
  inline V clamp(V a, S least, S most) { return clamp(a, make_##V(least), make_##V(most)); }
RIDGE_LAB_CLAMP(float, float2)
RIDGE_LAB_CLAMP(float, float3)
RIDGE_LAB_CLAMP(float, float4)
RIDGE_LAB_CLAMP(int, int2)
RIDGE_LAB_CLAMP(int, int3)
RIDGE_LAB_CLAMP(int, int4)
RIDGE_LAB_CLAMP(unsigned, uint2)
RIDGE_LAB_CLAMP(unsigned, uint3)
RIDGE_LAB_CLAMP(unsigned, uint4)
#undef RIDGE_LAB_CLAMP

// ---- of whole vectors --------------------------------------------------------------------------------------------
#define RIDGE_LAB_DOT(S, s)                                                  \
  inline S dot(s##2 a, s##2 b) { return a.x * b.x + a.y * b.y; }             \
  inline S dot(s##3 a, s##3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; } \
  inline S dot(s##4 a, s##4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
RIDGE_LAB_DOT(float, float)
RIDGE_LAB_DOT(int, int)
RIDGE_LAB_DOT(unsigned, uint)
#undef RIDGE_LAB_DOT

#define RIDGE_LAB_GEOMETRY(V)                                                                        \
  inline float length(V a) { return sqrtf(dot(a, a)); }                                              \
  inline V normalize(V a) { return a * rsqrtf(dot(a, a)); }                                          \
  inline V smoothstep(V a, V b, V x) {                                                               \
    return ridge::lab::each([](float p, float q, float r) { return smoothstep(p, q, r); }, a, b, x); \
  }
RIDGE_LAB_GEOMETRY(float2)
RIDGE_LAB_GEOMETRY(float3)
RIDGE_LAB_GEOMETRY(float4)
#undef RIDGE_LAB_GEOMETRY

inline float3 cross(float3 a, float3 b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
// What comes in from a direction, at a surface with a normal of length 1.
inline float3 reflect(float3 from, float3 normal) { return from - 2.0f * normal * dot(normal, from); }
