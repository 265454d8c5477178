// Which compiled form of the kernels serves a device. Every operator's .cu file is compiled once for the CPU runtime
// and, where there is nvcc, once for CUDA; both define launch<Backend>() for their own tag.
#pragma once
#include <ridge/core/gpu.hpp>
#include <ridge/core/status.hpp>
#include <ridge/core/tensor.hpp>

#ifndef RIDGE_HAS_CUDA
#define RIDGE_HAS_CUDA 0
#endif

namespace ridge {

namespace simt {
struct Cpu {};
struct Cuda {};
struct Hip {};
}  // namespace simt

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
