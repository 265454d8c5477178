// Launches the row for Hopper that a plan chose, by its family.
#pragma once
#include <ridge/conv/sm90_fma.cuh>
#include <ridge/conv/sm90_stem.cuh>
#include <ridge/conv/sm90_wgmma.cuh>

#include <utility>

namespace ridge::conv_detail {

using Launcher = Status (*)(const Arguments&);

template <int I> constexpr Launcher fma_launcher() {
  if constexpr (variants[I].config.method == Method::fma) return fma::launch<Row<I>>;
  else return nullptr;  // launched elsewhere
}

template <int... I>
[[nodiscard]] static Status launch_fma_table(const Arguments& args, std::integer_sequence<int, I...>) {
  static constexpr Launcher launchers[] = {fma_launcher<I>()...};
  return launchers[args.plan.variant](args);
}

template <class T, int I> constexpr Launcher wgmma_launcher() {
  constexpr Config c = variants[I].config;
  if constexpr (c.method == Method::wgmma && wgmma::is_compiled(c, dtype_of<T>)) return wgmma::launch<I, T>;
  else if constexpr (c.method == Method::stem && dtype_of<T> != f32) return stem::launch<Row<I>, T>;
  else return nullptr;  // launched elsewhere
}

template <class T, int... I>
[[nodiscard]] static Status launch_wgmma_table(const Arguments& args, std::integer_sequence<int, I...>) {
  static constexpr Launcher launchers[] = {wgmma_launcher<T, I>()...};
  return launchers[args.plan.variant](args);
}

}  // namespace ridge::conv_detail
