// Which vendor's GPU a unit is for. A GPU's compiler says so itself; the host's is told by the build.
#pragma once

#if defined(__HIPCC__) || RIDGE_HAS_HIP
#define RIDGE_VENDOR_IS_HIP 1
#elif defined(__MUSACC__) || RIDGE_HAS_MUSA
#define RIDGE_VENDOR_IS_MUSA 1
#elif defined(__MACACC__) || RIDGE_HAS_MACA
#define RIDGE_VENDOR_IS_MACA 1
#elif defined(__ILUVATAR__) || RIDGE_HAS_ILUVATAR
#define RIDGE_VENDOR_IS_ILUVATAR 1
#else
#define RIDGE_VENDOR_IS_NVIDIA 1
#endif
#ifndef RIDGE_VENDOR_IS_NVIDIA
#define RIDGE_VENDOR_IS_NVIDIA 0
#endif

// 1: kernels are compiled here for that GPU, and not for the CPU runtime.
#if defined(__CUDACC__) || defined(__HIPCC__) || defined(__MUSACC__) || defined(__MACACC__) || defined(__ILUVATAR__)
#define RIDGE_GPU_COMPILER 1
#else
#define RIDGE_GPU_COMPILER 0
#endif

// NVIDIA's architecture that a kernel is compiled for, 900 for compute capability 9.0; 0 on the host and elsewhere.
// Other vendors' compilers may define __CUDA_ARCH__ too, and have none of its instructions.
#if defined(__CUDA_ARCH__) && RIDGE_VENDOR_IS_NVIDIA
#define RIDGE_CUDA_ARCH __CUDA_ARCH__
#else
#define RIDGE_CUDA_ARCH 0
#endif
