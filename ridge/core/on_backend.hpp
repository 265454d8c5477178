// on_backend: selects the compiled form of the kernels for a device. For plans only: kernels are the same text whether
// the build has CUDA or not, so that a compiler's cache serves both builds.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/core/gpu.hpp>
#include <ridge/core/status.hpp>
#include <ridge/core/tensor.hpp>

#ifndef RIDGE_HAS_CUDA
#define RIDGE_HAS_CUDA 0
#endif

namespace ridge {

// Calls f(simt::Cpu{}) or f(simt::Cuda{}) with the device made current.
template <class F> Status on_backend(Device device, F&& f) {
  if (device.kind == DeviceKind::cpu) return f(simt::Cpu{});
  if constexpr (RIDGE_HAS_CUDA) {
    gpu::Guard current(device);
    return f(simt::Cuda{});
  } else {
    return Status::error(Code::no_device, "a GPU was asked for, and this build of Ridge has no CUDA; use device cpu");
  }
}

}  // namespace ridge
