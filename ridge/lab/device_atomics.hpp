// CUDA's atomics that ridge/simt/cpu/atomics.hpp lacks: of float2 and float4, and the system-scoped forms. Those of
// 16-bit floating point come with cuda_fp16.h and cuda_bf16.h.
#pragma once
#include <ridge/simt/simt.hpp>

// Each component is added atomically; the whole is not.
inline float2 atomicAdd(float2* p, float2 value) { return {atomicAdd(&p->x, value.x), atomicAdd(&p->y, value.y)}; }
inline float4 atomicAdd(float4* p, float4 value) {
  return {atomicAdd(&p->x, value.x), atomicAdd(&p->y, value.y), atomicAdd(&p->z, value.z), atomicAdd(&p->w, value.w)};
}

inline unsigned atomicInc_block(unsigned* p, unsigned limit) { return atomicInc(p, limit); }
inline unsigned atomicDec_block(unsigned* p, unsigned limit) { return atomicDec(p, limit); }

// The scope is the whole system for all of them here.
inline unsigned atomicInc_system(unsigned* p, unsigned limit) { return atomicInc(p, limit); }
inline unsigned atomicDec_system(unsigned* p, unsigned limit) { return atomicDec(p, limit); }
template <class T> T atomicAdd_system(T* p, std::type_identity_t<T> value) { return atomicAdd(p, value); }
template <class T> T atomicSub_system(T* p, std::type_identity_t<T> value) { return atomicSub(p, value); }
template <class T> T atomicExch_system(T* p, std::type_identity_t<T> value) { return atomicExch(p, value); }
template <class T> T atomicMin_system(T* p, std::type_identity_t<T> value) { return atomicMin(p, value); }
template <class T> T atomicMax_system(T* p, std::type_identity_t<T> value) { return atomicMax(p, value); }
template <class T> T atomicAnd_system(T* p, std::type_identity_t<T> value) { return atomicAnd(p, value); }
template <class T> T atomicOr_system(T* p, std::type_identity_t<T> value) { return atomicOr(p, value); }
template <class T> T atomicXor_system(T* p, std::type_identity_t<T> value) { return atomicXor(p, value); }
template <class T> T atomicCAS_system(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return atomicCAS(p, expected, value);
}
