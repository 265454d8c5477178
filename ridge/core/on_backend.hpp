// on_backend: selects the compiled form of the kernels for a device. For plans only: kernels are the same text whether
// the build has a GPU's compiler or not, so that a compiler's cache serves both builds.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/core/gpu.hpp>
#include <ridge/core/status.hpp>
#include <ridge/core/tensor.hpp>

namespace ridge {

// The tag of this build's GPU; Cpu: it has none.
#if RIDGE_HAS_CUDA
using GpuBackend = simt::Cuda;
#elif RIDGE_HAS_HIP
using GpuBackend = simt::Hip;
#elif RIDGE_HAS_MUSA
using GpuBackend = simt::Musa;
#elif RIDGE_HAS_MACA
using GpuBackend = simt::Maca;
#elif RIDGE_HAS_ILUVATAR
using GpuBackend = simt::Iluvatar;
#else
using GpuBackend = simt::Cpu;
#endif

// Calls f(simt::Cpu{}), or f() with the tag of the GPU and the device made current.
template <class F> Status on_backend(Device device, F&& f) {
  if (device.kind == DeviceKind::cpu) return f(simt::Cpu{});
  if constexpr (!std::is_same_v<GpuBackend, simt::Cpu>) {
    gpu::Guard current(device);
    return f(GpuBackend{});
  } else {
    return Status::error(Code::no_device, "a GPU was asked for, and this build of Ridge has none; use device cpu");
  }
}

}  // namespace ridge
