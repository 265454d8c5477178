// Launches the table row that a plan chose, through its family.
#pragma once
#include <ridge/conv/channels_last.cuh>
#include <ridge/conv/coarse.cuh>
#include <ridge/conv/depthwise.cuh>
#include <ridge/conv/depthwise_gradient.cuh>
#include <ridge/conv/depthwise_planes.cuh>
#include <ridge/conv/direct.cuh>
#include <ridge/conv/flipped.cuh>
#include <ridge/conv/grouped.cuh>
#include <ridge/conv/halo.cuh>
#include <ridge/conv/implicit.cuh>
#include <ridge/conv/naive.cuh>
#include <ridge/conv/windows.cuh>
#include <ridge/conv/winograd.cuh>
#include <ridge/core/table.hpp>

#include <type_traits>

namespace ridge::conv_detail {

// CUDA only: rows by mma.sync.
template <class T> static Status launch_ampere(const Arguments& args) {
  return std::is_same_v<T, half> ? launch_mma_f16(args) : launch_mma_bf16(args);
}

// CUDA only: the rows for Hopper.
template <class T> static Status launch_hopper(const Arguments& args) {
  const bool volume = is_volume(args.plan.problem);
  if constexpr (std::is_same_v<T, half>) return volume ? launch_volume_f16(args) : launch_wgmma_f16(args);
  else if constexpr (std::is_same_v<T, bfloat16>) return volume ? launch_volume_bf16(args) : launch_wgmma_bf16(args);
  else if (volume) return launch_volume_f32(args);
  else if (variants[args.plan.variant].config.tf32) return launch_wgmma_tf32(args);
  else return launch_fma(args);
}

template <int I, class T> static Status launch_row(const Arguments& args) {
  constexpr Algorithm algorithm = Policy<I>::config.algorithm;
  if constexpr (algorithm == Algorithm::naive) return naive::launch<I, T>(args);
  else if constexpr (algorithm == Algorithm::channels_last) return conversion::launch<T>(args);
  else if constexpr (algorithm == Algorithm::flipped) return flipped::launch<T>(args);
  else if constexpr (algorithm == Algorithm::windows && std::is_same_v<T, float>) return windows::launch<T>(args);
  else if constexpr (algorithm == Algorithm::coarse) return coarse::launch<I, T>(args);
  else if constexpr (algorithm == Algorithm::grouped) return grouped::launch<I, T>(args);
  else if constexpr (algorithm == Algorithm::depthwise) return depthwise::launch<I, T>(args);
  else if constexpr (algorithm == Algorithm::depthwise_planes) return depthwise_planes::launch<I, T>(args);
  else if constexpr (algorithm == Algorithm::depthwise_gradient) return depthwise_gradient::launch<I, T>(args);
  else if constexpr (algorithm == Algorithm::implicit) return implicit::launch<I, T>(args);
  else if constexpr (algorithm == Algorithm::halo && std::is_same_v<T, float>) return halo::launch<I>(args);
  else if constexpr (algorithm == Algorithm::direct && std::is_same_v<T, float>) return direct::launch<I>(args);
  else if constexpr (algorithm == Algorithm::winograd && std::is_same_v<T, float>) return winograd::launch<I>(args);
  else if constexpr (algorithm == Algorithm::halo || algorithm == Algorithm::direct ||
                     algorithm == Algorithm::winograd || algorithm == Algorithm::windows ||
                     (is_by_mma(algorithm) && std::is_same_v<T, float>))  // refused by fits()
    return Status::error(Code::unsupported, "conv2d: this variant is not compiled for the type");
  else if constexpr (RIDGE_SIMT_ON_CUDA && is_by_mma(algorithm)) return launch_ampere<T>(args);
  else if constexpr (RIDGE_SIMT_ON_CUDA) return launch_hopper<T>(args);
  else return Status::error(Code::unsupported, "conv2d: this variant is compiled for CUDA only");  // refused by fits()
}

template <class T> static Status launch_table(const Arguments& args) {
  return visit_row<variant_count>(args.plan.variant, [&]<int I>() { return launch_row<I, T>(args); });
}

}  // namespace ridge::conv_detail
