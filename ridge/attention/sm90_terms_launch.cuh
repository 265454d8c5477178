// Launches of the rows of Family::wgmma_terms.
#pragma once
#include <ridge/attention/sm90_launch.cuh>
#include <ridge/attention/sm90_terms.cuh>

namespace ridge::attention_detail {
namespace {

struct WgmmaTermsRows : RowsOf<Family::wgmma_terms, float> {
  template <int I> static Status launch(const Call& call) {
    constexpr Config c = variants[I].config;
    const WgmmaOrder order = order_of(c, call.problem, call.plan.device);
    return tile::sm90::launch_clusters(
        grid_of(c, call, order.blocks), 1,
        has_lengths(call.problem) ? attention_wgmma_terms<Row<I>, true> : attention_wgmma_terms<Row<I>, false>,
        arguments_of<float>(call), order);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
