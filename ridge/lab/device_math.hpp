// CUDA's functions for kernels that ridge/simt/cpu/math.hpp lacks, and the C headers that nvcc includes for every file.
#pragma once
#include <ridge/lab/device_conversions.hpp>
#include <ridge/lab/device_integers.hpp>
#include <ridge/lab/device_simd.hpp>
#include <ridge/lab/device_special.hpp>
#include <ridge/lab/ptx/shared.hpp>
#include <ridge/lab/vector_types.hpp>
#include <ridge/simt/cpu/math.hpp>

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <chrono>

// ---- clocks ------------------------------------------------------------------------------------------------------
// A counter that goes up, by one a nanosecond: not the device's cycles. clock() is the C library's.
inline long long clock64() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// ---- control -----------------------------------------------------------------------------------------------------
inline void __trap() { __builtin_trap(); }
inline void __brkpt() {}  // without a debugger, nothing
inline void __prof_trigger(int) {}
inline void __assume(bool holds) {
  if (!holds) __builtin_unreachable();
}
inline void __builtin_assume(bool holds) { __assume(holds); }

// ---- access with a hint to the caches: plain here ----------------------------------------------------------------
template <class T> T __ldlu(const T* p) { return *p; }
template <class T> T __ldcv(const T* p) { return *p; }
template <class T> void __stwb(T* p, std::type_identity_t<T> value) { *p = value; }

// ---- address spaces: there is one --------------------------------------------------------------------------------
inline std::size_t __cvta_generic_to_global(const void* p) { return reinterpret_cast<std::size_t>(p); }
inline std::size_t __cvta_generic_to_shared(const void* p) { return reinterpret_cast<std::size_t>(p); }
inline std::size_t __cvta_generic_to_constant(const void* p) { return reinterpret_cast<std::size_t>(p); }
inline std::size_t __cvta_generic_to_local(const void* p) { return reinterpret_cast<std::size_t>(p); }
inline void* __cvta_global_to_generic(std::size_t p) { return reinterpret_cast<void*>(p); }
inline void* __cvta_shared_to_generic(std::size_t p) { return ridge::lab::shared_pointer(p); }
inline void* __cvta_constant_to_generic(std::size_t p) { return reinterpret_cast<void*>(p); }
inline void* __cvta_local_to_generic(std::size_t p) { return reinterpret_cast<void*>(p); }
