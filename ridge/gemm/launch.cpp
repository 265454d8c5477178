// Dispatches a plan's row to the file that has its kernels.
#include <ridge/core/on_backend.hpp>
#include <ridge/gemm/launch.hpp>
#include <ridge/gemm/variants.hpp>

#include <type_traits>

namespace ridge::gemm_detail {

template <class Backend> static Status launch_portable(const Arguments& args) {
  if (variants[args.plan.variant].config.family == Family::sliced) return launch_sliced<Backend>(args);
  switch (args.problem.dtype) {
    case f64: return launch_f64<Backend>(args);
    case f32: return launch_f32<Backend>(args);
    case i8: return launch_i8<Backend>(args);
    case f8e4m3:
    case f8e5m2: return launch_fp8<Backend>(args);
    default: return launch_16bit<Backend>(args);
  }
}

Status launch(const Arguments& args) {
  return on_backend(args.plan.device.id, [&](auto backend) {
    using B = decltype(backend);
    if constexpr (std::is_same_v<B, simt::Cuda>) {
      switch (variants[args.plan.variant].config.family) {
        case Family::tma_tile: return launch_tma_tile_f32(args);
        case Family::wgmma_split:
          switch (args.problem.dtype) {
            case f16: return launch_split_f16(args);
            case f32: return launch_split_tf32(args);
            case i8: return launch_split_i8(args);
            case f8e4m3:
            case f8e5m2: return launch_split_fp8(args);
            default: return launch_split_bf16(args);
          }
        case Family::wgmma:
          switch (args.problem.dtype) {
            case f16: return launch_wgmma_f16(args);
            case f32: return launch_wgmma_tf32(args);
            case i8: return launch_wgmma_i8(args);
            case f8e4m3:
            case f8e5m2: return launch_wgmma_fp8(args);
            default: return launch_wgmma_bf16(args);
          }
        case Family::mma_sync:
        case Family::mma_stream:
        case Family::mma_direct:
        case Family::wmma:
          switch (args.problem.dtype) {
            case f64: return launch_mma_f64(args);
            case f32: return launch_mma_tf32(args);
            case f16: return launch_mma_f16(args);
            case i8: return launch_mma_i8(args);
            case f8e4m3:
            case f8e5m2: return launch_mma_fp8(args);
            default: return launch_mma_bf16(args);
          }
        default: break;  // portable
      }
    }
    return launch_portable<B>(args);
  });
}

}  // namespace ridge::gemm_detail
