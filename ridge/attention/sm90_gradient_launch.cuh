// Launches of the rows of Family::wgmma_gradient.
#pragma once
#include <ridge/attention/gradient_launch.cuh>
#include <ridge/attention/sm90_gradient.cuh>
#include <ridge/attention/sm90_gradient_ends.cuh>
#include <ridge/attention/sm90_gradient_wide.cuh>
#include <ridge/attention/sm90_launch.cuh>

namespace ridge::attention_detail {
namespace {

// Of heads whose later tiles of keys meet fewer queries, those that fall (GradientWalk): as many as have a block for
// each multiprocessor, but never most of them; none where each block has a multiprocessor.
constexpr std::int64_t falling_heads(std::int64_t heads, std::int64_t key_tiles, std::int64_t sms) {
  if (heads * key_tiles <= sms) return 0;
  return std::min((sms + key_tiles / 2) / key_tiles, heads / 2);
}

inline GradientWork gradient_work_of(const Config& c, const Call& call) {
  const WgmmaGradientParts parts = wgmma_gradient_parts(c, call.problem);
  char* at = static_cast<char*>(call.workspace.data);
  GradientWork work{};
  work.sums = reinterpret_cast<float*>(at);
  work.facts = reinterpret_cast<TileFacts*>(at += parts.sums);
  work.bases = reinterpret_cast<float*>(at += parts.facts);
  work.next = reinterpret_cast<unsigned*>(at += parts.bases + parts.mask);
  work.turns = work.next + 1;
  work.tiles = static_cast<int>(parts.tiles);
  work.in_order = !call.problem.rule.nondeterministic;
  // Half of the L2 cache holds what the blocks of heads that take turns meet: Q, dO and dQ. Where an addition and its
  // turn take longer than a tile's products, the more of a head run at a time the longer they wait, and the last heads
  // longest: two thirds, and groups of heads alike. More than the cache holds was measured: slower behind causal masks.
  const bool waits = work.in_order && has_gradient_roles(c);
  const AttentionProblem& p = call.problem;
  const std::int64_t of_keys = std::max<std::int64_t>(1, p.b * p.hkv);
  if (work.in_order && p.rule.right >= 0 && p.rule.left < 0)
    work.falling = static_cast<unsigned>(falling_heads(of_keys, (p.sk + c.bm - 1) / c.bm, call.plan.device.sms));
  const std::int64_t heads = of_keys - work.falling;
  const std::int64_t bytes = p.b * p.hq / of_keys * parts.tiles * c.bn * (2 * c.d + 2 * c.dv + 4 * c.d);
  const std::int64_t part = call.plan.device.l2_bytes / 6 * (waits ? 4 : 3);
  const std::int64_t fit = std::clamp<std::int64_t>(part / std::max<std::int64_t>(1, bytes), 1, heads);
  const std::int64_t groups = waits ? (heads + fit - 1) / fit : 1;
  work.together = static_cast<unsigned>(waits ? (heads + groups - 1) / groups : fit);
  return work;
}

// The mask's map; where it has to be copied, after that has been started.
template <class T>
Status make_mask(GradientMaskMap* map, const Config& c, const Call& call, const GradientArguments<T>& a) {
  const AttentionProblem& p = call.problem;
  const GradientMaskShape shape = gradient_mask_shape(c, p);
  *map = {{}, shape.batch > 1, shape.heads > 1, p.mask_lies->row != 0};
  const auto map_of = [&](const void* data, const AttentionOperand& at) {
    return make_map<T>(&map->map, data, at, p.sk, shape.rows, shape.heads, shape.batch, c.bn);
  };
  if (!shape.is_copied) return map_of(call.tensors.mask->data, *p.mask_lies);
  const WgmmaGradientParts parts = wgmma_gradient_parts(c, p);
  T* to = reinterpret_cast<T*>(static_cast<char*>(call.workspace.data) + parts.sums + parts.facts + parts.bases);
  const std::int64_t units = shape.elements() / mask_copy_unit;
  RIDGE_TRY(simt::launch({.grid = dim3(static_cast<unsigned>((units + mask_copy_threads - 1) / mask_copy_threads)),
                          .block = dim3(mask_copy_threads),
                          .smem = 0,
                          .stream = call.stream.handle,
                          .warp = call.plan.device.warp},
                         attention_mask_copy<T>, a, to, static_cast<int>(shape.batch), static_cast<int>(shape.heads),
                         static_cast<int>(shape.rows), static_cast<int>(shape.columns)));
  return map_of(to, {.batch = shape.heads * shape.rows * shape.columns,
                     .head = shape.rows * shape.columns,
                     .row = shape.columns,
                     .element = 1,
                     .phase = 0});
}

template <class T> struct WgmmaGradientRows : RowsOf<Family::wgmma_gradient, T> {
  template <int I, bool AsIs> static constexpr auto kernel() {
    if constexpr (has_gradient_roles(variants[I].config)) return attention_wide_gradient<Row<I>, T, AsIs>;
    else return attention_wgmma_gradient<Row<I>, T, AsIs>;
  }
  template <int I> static Status launch(const Call& call) {
    constexpr Config c = variants[I].config;
    const AttentionProblem& p = call.problem;
    const AttentionGradientTensors& t = *call.gradient;
    const auto a = gradient_arguments_of<T>(call);
    const GradientWork work = gradient_work_of(c, call);
    const bool as_is = a.softcap == 0 && a.scale > 0;
    const auto blocks_of = [&](std::int64_t threads, std::int64_t count, std::size_t smem) {
      return simt::Config{.grid = dim3(static_cast<unsigned>(count)),
                          .block = dim3(static_cast<unsigned>(threads)),
                          .smem = smem,
                          .stream = call.stream.handle,
                          .warp = call.plan.device.warp};
    };
    constexpr std::int64_t starts = gradient_start_threads / (c.dv / tile::unit_elements<T>);  // rows of a block
    const std::int64_t rows = p.b * p.hq * work.tiles * c.bn;
    const std::int64_t start_blocks = std::max<std::int64_t>(1, (rows + starts - 1) / starts);
    RIDGE_TRY(simt::launch(blocks_of(gradient_start_threads, start_blocks, 0),
                           attention_wgmma_gradient_start<Row<I>, T>, a, work));
    if (const std::int64_t blocks = key_blocks(c, p); blocks > 0) {
      WgmmaGradientMaps maps;
      RIDGE_TRY(make_map<T>(&maps.k, t.k.data, *p.k, p.d, p.sk, p.hkv, p.b, c.bm));
      RIDGE_TRY(make_map<T>(&maps.v, t.v.data, *p.v, p.dv, p.sk, p.hkv, p.b, c.bm));
      RIDGE_TRY(make_map<T>(&maps.grad_k, t.grad_k.data, *p.grad_k, p.d, p.sk, p.hkv, p.b, 64));  // a multiplier's rows
      RIDGE_TRY(make_map<T>(&maps.grad_v, t.grad_v.data, *p.grad_v, p.dv, p.sk, p.hkv, p.b, 64));
      maps.q = maps.k;  // of no queries there is no map
      maps.grad_o = maps.v;
      if (rows > 0) {
        RIDGE_TRY(make_map<T>(&maps.q, t.q.data, *p.q, p.d, p.sq, p.hq, p.b, c.bn));
        RIDGE_TRY(make_map<T>(&maps.grad_o, t.grad_o.data, *p.grad_o, p.dv, p.sq, p.hq, p.b, c.bn));
      }
      const auto at = blocks_of(c.threads, blocks, static_cast<std::size_t>(smem_bytes(c, c.d, c.dv)));
      GradientMaskOf<Row<I>> mask;
      if constexpr (c.masks)
        if (rows > 0) RIDGE_TRY(make_mask<T>(&mask, c, call, a));
      RIDGE_TRY(
          tile::sm90::launch_clusters(at, 1, as_is ? kernel<I, true>() : kernel<I, false>(), maps, a, work, mask));
    }
    const std::int64_t units = p.b * p.hq * p.sq * (c.d / 8);
    if (units == 0) return {};
    return simt::launch(blocks_of(gradient_end_threads, (units + gradient_end_threads - 1) / gradient_end_threads, 0),
                        attention_wgmma_gradient_end<Row<I>, T>, a, work);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
