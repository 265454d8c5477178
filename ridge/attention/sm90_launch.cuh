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

// Whether TMA brings the mask: rows of the tensors' type that start on 16 bytes, of which each query has its own.
bool is_brought(const AttentionProblem& p, const TensorView& mask) {
  return p.mask_dtype == p.dtype && p.mask_lies->row != 0 && has_vectors(*p.mask_lies, p.mask_dtype) &&
         reinterpret_cast<std::uintptr_t>(mask.data) % 16 == 0;
}

template <class Row, class T>
Status launch_masked(const simt::Config& at, const WgmmaMaps& maps, const Call& call, const WgmmaOrder& order) {
  constexpr Config c = Row::config;
  const AttentionProblem& p = call.problem;
  if constexpr (brings_masks(c)) {
    if (is_brought(p, *call.tensors.mask)) {
      const AttentionOperand& lies = *p.mask_lies;
      WgmmaMaskMap mask{{}, lies.batch != 0, lies.head != 0};
      RIDGE_TRY(make_map<T>(&mask.map, call.tensors.mask->data, lies, p.sk, p.sq, mask.per_head ? p.hq : 1,
                            mask.per_batch ? p.b : 1, 64));
      simt::Config wider = at;
      wider.smem += wgmma_mask_bytes(c);
      return tile::sm90::launch_clusters(wider, 1, attention_wgmma<Row, T, false, MaskBy::copies>, maps,
                                         arguments_of<T>(call), order, mask);
    }
  }
  return tile::sm90::launch_clusters(at, 1, attention_wgmma<Row, T, false, MaskBy::threads>, maps,
                                     arguments_of<T>(call), order, NoWgmmaMask{});
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
                                             order, NoWgmmaMask{});
      if constexpr (takes_masks(c))
        if (p.mask != AttentionMask::none) return launch_masked<Row<I>, T>(at, maps, call, order);
      return tile::sm90::launch_clusters(at, 1, attention_wgmma<Row<I>, T>, maps, arguments_of<T>(call), order,
                                         NoWgmmaMask{});
    }
  }
};

}  // namespace
}  // namespace ridge::attention_detail
