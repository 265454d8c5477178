// Launches the row of Family::wgmma_terms that a plan chose.
#pragma once
#include <ridge/attention/sm90_launch.cuh>
#include <ridge/attention/sm90_terms.cuh>

namespace ridge::attention_detail {
namespace {

template <int I> Status launch_wgmma_terms_row(const Call& call) {
  constexpr Config c = variants[I].config;
  simt::Config at = grid_of(c, call, simt::native_warp);
  const WgmmaOrder order = order_of(c, call.problem, call.plan.device);
  at.grid.x = order.blocks;
  return tile::sm90::launch_clusters(
      at, 1, has_lengths(call.problem) ? attention_wgmma_terms<Row<I>, true> : attention_wgmma_terms<Row<I>, false>,
      arguments_of<float>(call), order);
}

template <int I> constexpr auto wgmma_terms_launcher() -> Status (*)(const Call&) {
  if constexpr (variants[I].config.family == Family::wgmma_terms) return launch_wgmma_terms_row<I>;
  else return nullptr;  // refused by fits(), or launched elsewhere
}

template <int... I> Status launch_wgmma_terms_table(const Call& call, std::integer_sequence<int, I...>) {
  static constexpr Status (*launchers[])(const Call&) = {wgmma_terms_launcher<I>()...};
  return launchers[call.plan.variant](call);
}

}  // namespace
}  // namespace ridge::attention_detail
