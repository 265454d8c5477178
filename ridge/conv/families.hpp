// The families of conv2d's kernels, by Config::method.
#pragma once
#include <ridge/conv/coarse.hpp>
#include <ridge/conv/direct.hpp>
#include <ridge/conv/grouped.hpp>
#include <ridge/conv/implicit.hpp>
#include <ridge/conv/naive.hpp>
#include <ridge/conv/sm90_fma.hpp>
#include <ridge/conv/sm90_stem.hpp>
#include <ridge/conv/sm90_wgmma.hpp>
#include <ridge/conv/winograd.hpp>

namespace ridge::conv_detail {

inline constexpr const Family* families[method_count] = {
    &naive::family,    &coarse::family, &direct::family, &grouped::family, &implicit::family,
    &winograd::family, &fma::family,    &wgmma::family,  &stem::family,
};
inline const Family& family_of(const Variant& row) { return *families[static_cast<int>(row.config.method)]; }

// How each has blocks share a sum's terms, in the same order; null: it does not.
inline constexpr const Slicing* slicings[method_count] = {
    nullptr, nullptr, nullptr, nullptr, &implicit::slicing, nullptr, &fma::slicing, &wgmma::slicing, nullptr,
};
inline const Slicing* slicing_of(const Config& c) { return slicings[static_cast<int>(c.method)]; }

// Whether a row may work in slices of a sum's terms.
inline bool has_slices(const Config& c, const ConvProblem& p) {
  return slicing_of(c) && !p.backward && p.y.count() > 0 && terms_of(p) > 0;
}

// Makes a plan one of at most `wanted` slices, with the workspace that these take.
inline void take_slices(ConvPlan& plan, int wanted) {
  const Variant& row = variants[plan.variant];
  const ConvProblem& p = plan.problem;
  plan.split = wanted;
  if (const Slicing* slicing = slicing_of(row.config); slicing && !p.backward) {
    const gemm_kernels::Shape shape = slicing->shape(row.config, p, wanted);
    plan.split = static_cast<int>(shape.slices);
    plan.steps = shape.k;
    plan.slice_steps = shape.slice_k;
    plan.slices_at = static_cast<std::size_t>(slices_at(slicing->copies(row.config, p), shape));
  }
  plan.workspace = family_of(row).footprint(row, {p, plan.split}, plan.device).workspace;
}

}  // namespace ridge::conv_detail
