// RIDGE_API marks what libridge exports; everything else in the shared library is hidden.
#pragma once
#include <ridge/core/vendor/compiler.hpp>

#if defined(RIDGE_STATIC) || defined(_WIN32)
#define RIDGE_API
#else
#define RIDGE_API __attribute__((visibility("default")))
#endif

// RIDGE_HD: callable from host code and from kernels, under every compiler.
#if RIDGE_GPU_COMPILER
#define RIDGE_HD __host__ __device__
#else
#define RIDGE_HD
#endif
