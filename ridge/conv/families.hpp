// The families of kernels, by Config::algorithm.
#pragma once
#include <ridge/conv/channels_last.hpp>
#include <ridge/conv/coarse.hpp>
#include <ridge/conv/depthwise.hpp>
#include <ridge/conv/depthwise_gradient.hpp>
#include <ridge/conv/depthwise_planes.hpp>
#include <ridge/conv/direct.hpp>
#include <ridge/conv/each_gradient.hpp>
#include <ridge/conv/flipped.hpp>
#include <ridge/conv/grouped.hpp>
#include <ridge/conv/halo.hpp>
#include <ridge/conv/implicit.hpp>
#include <ridge/conv/naive.hpp>
#include <ridge/conv/product.hpp>
#include <ridge/conv/sm80_filter_gradient.hpp>
#include <ridge/conv/sm80_grouped.hpp>
#include <ridge/conv/sm90_fma.hpp>
#include <ridge/conv/sm90_shuffle.hpp>
#include <ridge/conv/sm90_stem.hpp>
#include <ridge/conv/sm90_wgmma.hpp>
#include <ridge/conv/windows.hpp>
#include <ridge/conv/winograd.hpp>

#include <iterator>

namespace ridge::conv_detail {

inline constexpr const Family* families[] = {
    &naive::family,
    &product::family,
    &conversion::family,
    &each_gradient::family,
    &flipped::family,
    &windows::family,
    &coarse::family,
    &halo::family,
    &direct::family,
    &grouped::family,
    &grouped_mma::family,
    &grouped_mma::family,
    &few_gradient::family,
    &depthwise::family,
    &depthwise_planes::family,
    &depthwise_gradient::family,
    &implicit::family,
    &winograd::family,
    &fma::family,
    &wgmma::family,
    &stem::family,
    &shuffle::family,
};
static_assert(std::size(families) == algorithm_count);
inline const Family& family_of(const Variant& row) { return *families[static_cast<int>(row.config.algorithm)]; }

// Whether a row computes gradients, and so transposed convolutions: the others refuse them.
constexpr bool has_gradients(const Config& c) {
  return c.algorithm == Algorithm::naive || c.algorithm == Algorithm::implicit || c.algorithm == Algorithm::shuffle ||
         c.algorithm == Algorithm::product || c.algorithm == Algorithm::channels_last ||
         c.algorithm == Algorithm::each_gradient || c.algorithm == Algorithm::flipped ||
         c.algorithm == Algorithm::windows || c.algorithm == Algorithm::few_gradient ||
         c.algorithm == Algorithm::depthwise_gradient || (c.algorithm == Algorithm::wgmma && wgmma::has_gradient(c));
}

// Whether a row takes volumes; what the others say of images they would say of one slice.
constexpr bool takes_volumes(const Config& c) {
  return c.algorithm == Algorithm::naive || c.algorithm == Algorithm::product ||
         c.algorithm == Algorithm::channels_last || c.algorithm == Algorithm::each_gradient ||
         c.algorithm == Algorithm::flipped || c.algorithm == Algorithm::implicit || c.algorithm == Algorithm::fma ||
         (c.algorithm == Algorithm::wgmma && wgmma::takes_volumes(c));
}

// How a row's family does split-K; null: it does not.
inline const Slicing* slicing_of(const Config& c) {
  switch (c.algorithm) {
    case Algorithm::implicit: return &implicit::slicing;
    case Algorithm::fma: return &fma::slicing;
    case Algorithm::wgmma: return &wgmma::slicing;
    default: return nullptr;
  }
}

// Whether a row may use split-K.
inline bool has_slices(const Config& c, const ConvProblem& p) {
  return slicing_of(c) && !p.backward && p.y.count() > 0 && terms_of(p) > 0;
}

// Nested plans are not made again, as footprint() would.
inline std::size_t workspace_of(const ConvPlan& plan) {
  const Variant& row = variants[plan.variant];
  switch (row.config.algorithm) {
    case Algorithm::product: return product::workspace_of(plan.products);
    case Algorithm::channels_last: return conversion::workspace_of(plan.problem, plan.nested[0]);
    case Algorithm::each_gradient: return each_gradient::workspace_of(plan.nested);
    case Algorithm::flipped: return flipped::workspace_of(plan.problem, plan.nested);
    case Algorithm::windows: return windows::workspace_of(plan.problem, plan.nested[0]);
    default: return family_of(row).footprint(row, {plan.problem, plan.split}, plan.device).workspace;
  }
}

// Sets a plan to at most `wanted` slices, with the workspace that they take.
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
  plan.workspace = workspace_of(plan);
}

}  // namespace ridge::conv_detail
