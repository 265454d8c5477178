// Dispatches a plan's row to the file that has its kernels.
#include <ridge/attention/launch.hpp>
#include <ridge/attention/variants.hpp>
#include <ridge/core/on_backend.hpp>

#include <type_traits>

namespace ridge::attention_detail {

template <class Backend> static Status launch_portable(const Call& call) {
  const bool wide = call.problem.dtype == f32;
  if (call.gradient) return wide ? launch_gradient_f32<Backend>(call) : launch_gradient_16bit<Backend>(call);
  return wide ? launch_f32<Backend>(call) : launch_16bit<Backend>(call);
}

Status launch(const Call& call) {
  return on_backend(call.plan.device.id, [&](auto backend) {
    using B = decltype(backend);
    const bool is_f16 = call.problem.dtype == f16;
    if constexpr (std::is_same_v<B, simt::Cuda>) {
      switch (variants[call.plan.variant].config.algorithm) {
        case Algorithm::mma_sync: return is_f16 ? launch_mma_f16(call) : launch_mma_bf16(call);
        case Algorithm::mma_gradient: return is_f16 ? launch_mma_gradient_f16(call) : launch_mma_gradient_bf16(call);
        case Algorithm::short_gradient: return launch_short_gradient(call);
        case Algorithm::wgmma: return is_f16 ? launch_wgmma_f16(call) : launch_wgmma_bf16(call);
        case Algorithm::wgmma_terms: return launch_wgmma_terms(call);
        case Algorithm::decode: return launch_decode(call);
        case Algorithm::decode_one: return launch_decode_one(call);
        case Algorithm::wgmma_gradient: return launch_wgmma_gradient(call);
        default: break;  // portable
      }
    }
    return launch_portable<B>(call);
  });
}

}  // namespace ridge::attention_detail
