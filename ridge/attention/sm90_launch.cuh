// Launches of the rows of Family::wgmma.
#pragma once
#include <ridge/attention/launch_table.cuh>
#include <ridge/attention/sm90_steps.cuh>

namespace ridge::attention_detail {
namespace {

// A tensor [batch, heads, rows, columns] as TMA reads it, `box` rows at a time.
template <class T>
Status make_map(tile::sm90::TensorMap* map, const void* data, const AttentionOperand& at, std::int64_t columns,
                std::int64_t rows, std::int64_t heads, std::int64_t batch, int box) {
  return tile::sm90::make_tensor_map(map, data, dtype_of<T>, columns,
                                     {{rows, at.row}, {heads, at.head}, {batch, at.batch}}, box);
}

// Of blocks that stay.
WgmmaOrder order_of(const Config& c, const AttentionProblem& p, const DeviceInfo& device) {
  return WgmmaOrder::of(static_cast<unsigned>((p.sq + c.bm - 1) / c.bm), static_cast<unsigned>(p.b * p.hq),
                        static_cast<unsigned>(p.hq), static_cast<unsigned>(p.hq / std::max<std::int64_t>(1, p.hkv)),
                        p.rule.right >= 0 && p.rule.left < 0, static_cast<unsigned>(device.sms));
}

template <class T> struct WgmmaRows : RowsOf<Family::wgmma, T> {
  template <int I> static Status launch(const Call& call) {
    constexpr Config c = variants[I].config;
    const AttentionProblem& p = call.problem;
    const AttentionTensors& t = call.tensors;
    WgmmaMaps maps;
    // Sequences that follow each other are one batch.
    const std::int64_t sq = p.cu_q ? p.total_q : p.sq, b_q = p.cu_q ? 1 : p.b;
    const std::int64_t sk = p.cu_k ? p.total_k : p.sk, b_k = p.cu_k ? 1 : p.b;
    RIDGE_TRY(make_map<T>(&maps.q, t.q.data, *p.q, p.d, sq, p.hq, b_q, 64));
    RIDGE_TRY(make_map<T>(&maps.k, t.k.data, *p.k, p.d, sk, p.hkv, b_k, c.bn));
    RIDGE_TRY(make_map<T>(&maps.v, t.v.data, *p.v, p.dv, sk, p.hkv, b_k, c.bn));
    RIDGE_TRY(make_map<T>(&maps.o, t.o.data, *p.o, p.dv, sq, p.hq, b_q, 64));  // a multiplier's rows
    if constexpr (c.schedule == Schedule::alone) {
      return tile::sm90::launch_clusters(grid_of(c, call, call.plan.blocks), 1, attention_wgmma_alone<Row<I>, T>, maps,
                                         arguments_of<T>(call));
    } else {
      const WgmmaOrder order = order_of(c, p, call.plan.device);
      const simt::Config at = grid_of(c, call, order.blocks);
      if constexpr (takes_lengths(c))
        if (has_lengths(p))
          return tile::sm90::launch_clusters(at, 1, attention_wgmma<Row<I>, T, true>, maps, arguments_of<T>(call),
                                             order);
      if constexpr (takes_masks(c))
        if (p.mask != AttentionMask::none)
          return tile::sm90::launch_clusters(at, 1, attention_wgmma<Row<I>, T, false, true>, maps,
                                             arguments_of<T>(call), order);
      return tile::sm90::launch_clusters(at, 1, attention_wgmma<Row<I>, T>, maps, arguments_of<T>(call), order);
    }
  }
};

}  // namespace
}  // namespace ridge::attention_detail
