// What plan.cpp asks of the files beside it, and slices of terms. All of it is pure: no CUDA call, no global.
#pragma once
#include <ridge/conv/slices.hpp>
#include <ridge/conv/sm90_image.hpp>
#include <ridge/roofline/predict.hpp>

#include <string>

namespace ridge::conv_detail {

// problem.cpp: whether the contract takes it.
Status validate(const ConvProblem&);

// fits.cpp: why this row cannot run this problem on this device; empty: it can. Precondition: validate().
std::string fits(const Variant&, const ConvProblem&, const DeviceInfo&);

// cost.cpp: the row's kernels as the model of their time sees them, and into how many slices it cuts its products in
// the least time. Precondition: it fits.
roofline::Kernel kernel_of(const Variant&, const ConvProblem&, const DeviceInfo&, int slices);
int slices_of(const Variant&, const ConvProblem&, const DeviceInfo&);

// Whether a row goes along a sum's terms in steps, and whether it may work in slices of them.
inline bool steps_along_terms(const Config& c) { return c.method == Method::implicit || gathers(c); }
inline bool has_slices(const Config& c, const ConvProblem& p) {
  return steps_along_terms(c) && !p.backward && p.y.count() > 0 && terms_of(p) > 0;
}

// A group's product in at most `wanted` slices.
inline gemm_kernels::Shape shape_in_slices(const Config& c, const ConvProblem& p, int wanted) {
  const std::int64_t steps =
      c.method == Method::implicit ? ceil_div(terms_of(p), implicit_step) : gathering_of(p, c).steps(c.step);
  return shape_of_product(c, p, steps, gemm_kernels::slices_of(1, steps, wanted));
}

// Makes a forward plan one of at most `wanted` slices, with the workspace that these and copies take.
// Precondition: steps_along_terms().
inline void take_slices(ConvPlan& plan, int wanted) {
  const Config& c = variants[plan.variant].config;
  const gemm_kernels::Shape shape = shape_in_slices(c, plan.problem, wanted);
  const std::int64_t copies = gathers(c) ? gathering_of(plan.problem, c).bytes() : 0, sums = slice_bytes(shape);
  plan.split = static_cast<int>(shape.slices);
  plan.steps = shape.k;
  plan.slice_steps = shape.slice_k;
  plan.slices_at = static_cast<std::size_t>(sums == 0 ? copies : ceil_div(copies, 128) * 128);  // on whole cache lines
  plan.workspace = plan.slices_at + static_cast<std::size_t>(sums);
}

constexpr double real(std::int64_t n) { return static_cast<double>(n); }

}  // namespace ridge::conv_detail
