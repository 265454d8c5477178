// Arguments of the launches. Everything here is internal to its translation unit: g++ and nvcc both compile this text,
// and the linker must not merge the results.
#pragma once
#include <ridge/attention/arguments.cuh>
#include <ridge/attention/launch.hpp>
#include <ridge/attention/scores.hpp>
#include <ridge/simt/launch.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

namespace ridge::attention_detail {
namespace {

// Policy of row I of the table: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

// Launch configuration of the row's kernel, from the plan's footprint. blocks: per split of the keys; without blocks
// nothing is launched.
[[maybe_unused]] simt::Config launch_config(const Call& call, std::int64_t blocks) {
  const AttentionPlan& plan = call.plan;
  return {.grid = dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(plan.splits)),
          .block = dim3(static_cast<unsigned>(variants[plan.variant].config.threads)),
          .smem = static_cast<std::size_t>(plan.smem),
          .stream = call.stream.handle,
          .warp = plan.device.warp};
}
// Launch configuration of an auxiliary kernel.
[[maybe_unused]] simt::Config launch_config(const Call& call, std::int64_t blocks, int threads) {
  return {.grid = dim3(static_cast<unsigned>(blocks)),
          .block = dim3(static_cast<unsigned>(threads)),
          .smem = 0,
          .stream = call.stream.handle,
          .warp = call.plan.device.warp};
}

// most: the contents are clamped to 0 .. most.
[[maybe_unused]] Indices indices_of(const std::optional<TensorView>& v, const std::optional<AttentionIndices>& at,
                                    std::int64_t most) {
  if (!v) return {};
  return {v->data, at->row, at->element, static_cast<int>(std::min<std::int64_t>(most, 0x7fffffff)),
          at->dtype == DType::i64};
}

[[maybe_unused]] Sequences sequences_of(const AttentionProblem& p, const AttentionTensors& t) {
  Sequences s{};
  s.from_q = indices_of(t.cu_q, p.cu_q, p.total_q);
  s.from_k = indices_of(t.cu_k, p.cu_k, p.total_k);
  // Without pages there are no keys, whatever lengths hold.
  s.lengths = indices_of(t.lengths, p.lengths, p.block_table && p.pages == 0 ? 0 : p.sk);
  s.pages = indices_of(t.block_table, p.block_table, p.pages - 1);
  if (p.block_table) {
    s.page_bits = std::countr_zero(static_cast<std::uint64_t>(p.page));
    s.page_k = p.k->batch;
    s.page_v = p.v->batch;
  }
  s.lower_right = has_lengths(p) && p.rule.align == AttentionAlign::lower_right;
  return s;
}

template <class T> Arguments<T> arguments_of(const Call& call) {
  const AttentionProblem& p = call.problem;
  const AttentionTensors& t = call.tensors;
  const auto strides = [](const std::optional<AttentionOperand>& o) {
    return o ? Strides{o->batch, o->head, o->row, o->element} : Strides{};
  };
  // No bound becomes a bound beyond every key.
  const auto bound = [](std::int64_t keys) {
    constexpr std::int64_t all = (1 << 30) - 1;
    return static_cast<int>(keys < 0 ? all : std::min(keys, all));
  };
  Strides at_k = strides(p.k), at_v = strides(p.v);
  if (p.block_table) at_k.batch = at_v.batch = 0;  // page strides are passed apart
  const bool end = p.rule.align == AttentionAlign::lower_right;
  const std::int64_t queries = query_rows(p);
  float* const parts = static_cast<float*>(call.workspace.data);
  const Strides at_row{p.cu_q ? 0 : p.hq * p.sq, p.cu_q ? queries : p.sq, 1, 0};
  return {.q = static_cast<const T*>(t.q.data),
          .k = static_cast<const T*>(t.k.data),
          .v = static_cast<const T*>(t.v.data),
          .o = static_cast<T*>(t.o.data),
          .lse = t.lse ? static_cast<float*>(t.lse->data) : nullptr,
          .mask = t.mask ? t.mask->data : nullptr,
          .at_q = strides(p.q),
          .at_k = at_k,
          .at_v = at_v,
          .at_o = strides(p.o),
          .at_lse = strides(p.lse_layout),
          .at_mask = strides(p.mask_layout),
          .batch = static_cast<int>(p.b),
          .heads = static_cast<int>(p.hq),
          .group = static_cast<int>(p.hkv == 0 ? 1 : p.hq / p.hkv),
          .sq = static_cast<int>(p.sq),
          .sk = static_cast<int>(p.sk),
          .d = static_cast<int>(p.d),
          .dv = static_cast<int>(p.dv),
          .shift = end ? static_cast<int>(p.sk - p.sq) : 0,
          .left = bound(p.rule.left),
          .right = bound(p.rule.right),
          .scale = static_cast<float>(scale_of(p)),
          .softcap = static_cast<float>(p.rule.softcap),
          .mask_dtype = p.mask_dtype,
          .vectors = has_vectors(*p.q, p.dtype) && has_vectors(*p.k, p.dtype) && has_vectors(*p.v, p.dtype) &&
                     has_vectors(*p.o, p.dtype),
          .pack = static_cast<int>(pack_of(variants[call.plan.variant].config, p)),
          .splits = call.plan.splits,
          .partial_o = parts,
          .partial_log = parts ? parts + call.plan.splits * p.hq * queries * p.dv : nullptr,
          .partial_sum = parts ? parts + call.plan.splits * p.hq * queries * (p.dv + 1) : nullptr,
          .rows = p.hq * queries,
          .at_row = at_row,
          .sequences = sequences_of(p, t)};
}

}  // namespace
}  // namespace ridge::attention_detail
