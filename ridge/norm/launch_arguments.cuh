// What kernels are given, from a plan and its operands. Functions are static, because each is compiled twice, for the
// CPU runtime and for CUDA, into one library.
#pragma once
#include <ridge/norm/arguments.cuh>
#include <ridge/norm/launch.hpp>
#include <ridge/norm/variants.hpp>

#include <algorithm>
#include <limits>

namespace ridge::norm_detail {

// A row of the table as a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Row { static constexpr Config config = variants[I].config; };

struct Arguments {
  const NormPlan& plan;
  const Operands& operands;
  SumsPlan sums;
  Stream stream;
};

template <class P> static RowTensor<P> rows_at(void* data, const Rows& lie) {
  return {static_cast<P*>(data), RowOffsets::of(lie.outer), lie.step};
}

// In the type that is computed in; what is not 0 stays so, for a constant row has no other divisor.
template <class X> static X narrowed_eps(double eps) {
  using Limits = std::numeric_limits<X>;
  return eps > 0 ? static_cast<X>(std::clamp<double>(eps, Limits::min(), Limits::max())) : X(0);
}

template <class T> static Forward<T> forward_of(const Arguments& args) {
  const NormProblem& p = args.plan.problem;
  const Operands& o = args.operands;
  const auto& lie = *p.rows_lie;
  return {.x = rows_at<const T>(o.x, lie[0]),
          .residual = rows_at<const T>(o.other, lie[2]),
          .y = rows_at<T>(o.y, lie[1]),
          .sum = rows_at<T>(o.added, lie[3]),
          .gamma = {static_cast<const T*>(o.gamma.data), o.gamma.step},
          .beta = {static_cast<const T*>(o.beta.data), o.beta.step},
          .rows = p.rows,
          .cols = p.cols,
          .eps = narrowed_eps<Compute<T>>(p.eps),
          .rms = p.norm == Norm::rms,
          .ahead = rows_ahead(variants[args.plan.variant].config, p, args.plan.device)};
}

template <class T> static Backward<T> backward_of(const Arguments& args) {
  const NormProblem& p = args.plan.problem;
  const Operands& o = args.operands;
  const auto& lie = *p.rows_lie;
  const bool keeps_statistics = args.sums.statistics_bytes > 0;
  return {.dy = rows_at<const T>(o.other, lie[2]),
          .x = rows_at<const T>(o.x, lie[0]),
          .dsum = rows_at<const T>(o.added, lie[3]),
          .dx = rows_at<T>(o.y, lie[1]),
          .gamma = {static_cast<const T*>(o.gamma.data), o.gamma.step},
          .rows = p.rows,
          .cols = p.cols,
          .eps = narrowed_eps<Compute<T>>(p.eps),
          .rms = p.norm == Norm::rms,
          .statistics = keeps_statistics ? static_cast<Compute<T>*>(o.workspace) : nullptr};
}

}  // namespace ridge::norm_detail
