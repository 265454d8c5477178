// Launches the row of the table that a plan chose, by its family.
#pragma once
#include <ridge/conv/coarse.cuh>
#include <ridge/conv/direct.cuh>
#include <ridge/conv/grouped.cuh>
#include <ridge/conv/implicit.cuh>
#include <ridge/conv/naive.cuh>
#include <ridge/conv/winograd.cuh>

#include <type_traits>
#include <utility>

namespace ridge::conv_detail {

// Of CUDA alone: the rows for Hopper.
template <class T> static Status launch_hopper(const Arguments& args) {
  if constexpr (std::is_same_v<T, half>) return launch_wgmma_f16(args);
  else if constexpr (std::is_same_v<T, bfloat16>) return launch_wgmma_bf16(args);
  else if (variants[args.plan.variant].config.tf32) return launch_wgmma_tf32(args);
  else return launch_fma(args);
}

template <int I, class T> static Status launch_row(const Arguments& args) {
  constexpr Method method = Row<I>::config.method;
  if constexpr (method == Method::naive) return naive::launch<I, T>(args);
  else if constexpr (method == Method::coarse) return coarse::launch<I, T>(args);
  else if constexpr (method == Method::grouped) return grouped::launch<I, T>(args);
  else if constexpr (method == Method::implicit) return implicit::launch<I, T>(args);
  else if constexpr (method == Method::direct && std::is_same_v<T, float>) return direct::launch<I>(args);
  else if constexpr (method == Method::winograd && std::is_same_v<T, float>) return winograd::launch<I>(args);
  else if constexpr (method == Method::direct || method == Method::winograd)  // refused by fits()
    return Status::error(Code::unsupported, "conv2d: this variant is not compiled for the type");
  else if constexpr (RIDGE_SIMT_ON_CUDA) return launch_hopper<T>(args);
  else return Status::error(Code::unsupported, "conv2d: a row for CUDA");  // refused by fits()
}

template <class T, int... I> static Status launch_variant(const Arguments& args, std::integer_sequence<int, I...>) {
  Status status;
  ((args.plan.variant == I ? void(status = launch_row<I, T>(args)) : void()), ...);
  return status;
}

template <class T> static Status launch_table(const Arguments& args) {
  return launch_variant<T>(args, std::make_integer_sequence<int, variant_count>{});
}

}  // namespace ridge::conv_detail
