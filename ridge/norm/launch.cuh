// A variant's launch: its configuration and its kernel's arguments. Functions are static, because each is compiled
// twice, for the CPU runtime and for CUDA, into one library.
#pragma once
#include <ridge/norm/arguments.cuh>
#include <ridge/norm/families.hpp>
#include <ridge/norm/launch.hpp>
#include <ridge/simt/launch.hpp>
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/tile/row_lanes.cuh>

#include <algorithm>
#include <limits>

namespace ridge::norm_detail {

struct Call {
  const NormPlan& plan;
  const Operands& operands;
  SumsPlan sums;
  Stream stream;
};
[[maybe_unused]] static Call call_of(const NormPlan& plan, const Operands& operands, Stream stream) {
  const Config& c = variants[plan.variant].config;
  return {plan, operands, sums_plan(c, plan.problem, plan.device, plan.grid), stream};
}

// The lanes that share a row.
template <class Policy, int Warp> using TeamOf = tile::BlockRows<Policy::config.threads, Policy::config.rows, Warp>;

[[maybe_unused]] static simt::Config launch_config(const Call& call, int warp) {
  const NormPlan& plan = call.plan;
  const Variant& row = variants[plan.variant];
  const Footprint launch = family_of(row).footprint(row, plan.problem, plan.device);
  return {.grid = dim3(static_cast<unsigned>(plan.grid)),
          .block = dim3(static_cast<unsigned>(launch.threads)),
          .smem = static_cast<std::size_t>(launch.smem),
          .stream = call.stream.handle,
          .warp = warp};
}

// For instantiations that fits() of the family refuses.
[[maybe_unused]] static Status no_kernel() {
  return Status::error(Code::unsupported, "norm: this variant has no such kernel");
}

// ---- kernels' arguments

template <class P> static RowTensor<P> rows_at(void* data, const Rows& layout) {
  return {static_cast<P*>(data), RowOffsets::of(layout.outer), layout.step};
}

// eps in the type that is computed in. An eps above 0 stays above 0, as a constant row has no other divisor.
template <class X> static X narrowed_eps(double eps) {
  using Limits = std::numeric_limits<X>;
  return eps > 0 ? static_cast<X>(std::clamp<double>(eps, Limits::min(), Limits::max())) : X(0);
}

template <class T> static Forward<T> forward_of(const Call& call) {
  const NormProblem& p = call.plan.problem;
  const Operands& o = call.operands;
  const auto& layouts = *p.row_layouts;
  return {.x = rows_at<const T>(o.x, layouts[0]),
          .residual = rows_at<const T>(o.other, layouts[2]),
          .y = rows_at<T>(o.y, layouts[1]),
          .sum = rows_at<T>(o.added, layouts[3]),
          .gamma = {static_cast<const T*>(o.gamma.data), o.gamma.step},
          .beta = {static_cast<const T*>(o.beta.data), o.beta.step},
          .rows = p.rows,
          .cols = p.cols,
          .eps = narrowed_eps<Compute<T>>(p.eps),
          .rms = p.norm == Norm::rms,
          .prefetch_distance = prefetch_distance(variants[call.plan.variant].config, p, call.plan.device)};
}

template <class T> static Backward<T> backward_of(const Call& call) {
  const NormProblem& p = call.plan.problem;
  const Operands& o = call.operands;
  const auto& layouts = *p.row_layouts;
  const bool keeps_statistics = call.sums.statistics_bytes > 0;
  return {.dy = rows_at<const T>(o.other, layouts[2]),
          .x = rows_at<const T>(o.x, layouts[0]),
          .dsum = rows_at<const T>(o.added, layouts[3]),
          .dx = rows_at<T>(o.y, layouts[1]),
          .gamma = {static_cast<const T*>(o.gamma.data), o.gamma.step},
          .rows = p.rows,
          .cols = p.cols,
          .eps = narrowed_eps<Compute<T>>(p.eps),
          .rms = p.norm == Norm::rms,
          .statistics = keeps_statistics ? static_cast<Compute<T>*>(o.workspace) : nullptr};
}

// The workspace for the sums of kernels that keep them (keeps_sums()).
template <class T> static Compute<T>* slices_of_sums(const Call& call) {
  return call.sums.slices > 0 ? static_cast<Compute<T>*>(call.operands.workspace) : nullptr;
}

// The same for kernels that write dgamma and dbeta themselves where they have all rows (SumsPlan::direct).
template <class T> static SumsOutput<T> sums_output(const Call& call) {
  const Operands& o = call.operands;
  if (!call.sums.direct) return {.slices = slices_of_sums<T>(call)};
  return {.dgamma = static_cast<T*>(o.dgamma.data), .dbeta = static_cast<T*>(o.dbeta.data)};
}

}  // namespace ridge::norm_detail
