// simt: one kernel source for nvcc, hipcc and plain g++ (no GPU).
//
// Kernels are ordinary CUDA C++: __global__, __shared__, threadIdx, __syncthreads, shuffles, atomics. With a GPU
// compiler these headers add only what vendors spell differently:
//
//   launch(Config, kernel, args...)    tile<N>: N lanes of a warp        vec<T, N>, load<N>, store
//   dynamic_shared<T>()                thread_rank()                     with_warp(width, f)
//
// With g++ they also provide CUDA's own names, and libridge runs the blocks on a pool of OS threads, with the threads
// of a block as fibers on one of them. README.md says what a kernel may use and what the CPU runtime checks.
#pragma once

#include <ridge/core/float16.hpp>
#include <ridge/core/status.hpp>
#include <ridge/simt/backend.hpp>

#if RIDGE_SIMT_ON_CPU
#include <ridge/simt/cpu/names.hpp>
// These need the names above:
#include <ridge/simt/cpu/atomics.hpp>
#include <ridge/simt/cpu/lanes.hpp>
#include <ridge/simt/cpu/math.hpp>
#else
#include <ridge/simt/gpu/lanes.hpp>
#endif

#include <ridge/simt/launch.hpp>
#include <ridge/simt/tile.hpp>
#include <ridge/simt/vec.hpp>
