// The gradient of the filters as one matrix product: the windows of x are copied side by side (im2col), [pixels of
// y, taps and channels], and what is left is the gradient of filters of one tap, with a plan of its own, gemm's mostly.
// The copy is as many times x as filters have taps, but its product runs at the rate of gemm's kernels.
#pragma once
#include <ridge/conv/channels_last.hpp>
#include <ridge/conv/plan_time.hpp>

namespace ridge::conv_detail::windows {

inline constexpr int copy_threads = 256;
inline constexpr std::int64_t most_bytes = std::int64_t{1} << 30;  // of the copy

// Whether an axis has this stride, as far as it has one.
constexpr bool has_stride(const Layout& t, int axis, std::int64_t stride) {
  return t.shape[axis] == 1 || t.stride[axis] == stride;
}
// The order of a window's elements is that of a filter's in dw, so that a row of the result is a filter: channels are
// innermost, or outermost.
constexpr bool is_innermost(const ConvProblem& p) {
  const Layout& dw = *p.dw;
  return has_stride(dw, 1, 1) && has_stride(dw, 3, dw.shape[1]) && has_stride(dw, 2, dw.shape[1] * dw.shape[3]);
}
constexpr bool is_outermost(const ConvProblem& p) {
  const Layout& dw = *p.dw;
  return has_stride(dw, 3, 1) && has_stride(dw, 2, dw.shape[3]) && has_stride(dw, 1, dw.shape[2] * dw.shape[3]);
}
constexpr std::int64_t bytes_of(const ConvProblem& p) {
  return pixels_of(p) * terms_of(p) * static_cast<std::int64_t>(size_of(p.dtype));
}
// Elements of a row that a thread copies: four neighbouring channels, or one.
inline int vector_of(const ConvProblem& p) {
  const Layout& x = p.x;
  const bool whole = x.stride[0] % 4 == 0 && x.stride[2] % 4 == 0 && x.stride[3] % 4 == 0 && x.shape[1] % 4 == 0;
  return is_innermost(p) && p.alignment >= 16 && x.stride[1] == 1 && whole ? 4 : 1;
}

// Whether pixels of dy follow each other.
constexpr bool is_one_axis(const Layout& y) {
  return (y.shape[3] <= 1 || y.stride[3] > 0) && has_stride(y, 2, y.shape[3] * y.stride[3]) &&
         has_stride(y, 0, y.shape[2] * y.shape[3] * y.stride[3]);
}

// The gradient of filters of one tap and as many channels as a window has elements. Precondition: the row fits.
inline ConvProblem problem_of(const ConvProblem& p) {
  const std::int64_t pixels = pixels_of(p), terms = terms_of(p), filters = p.w.shape[0];
  ConvProblem q = p;
  q.axes = 2;
  q.geometry = {.layout = ConvLayout::nhwc};
  q.x = conversion::innermost(1, terms, 1, pixels);
  q.w = conversion::innermost(filters, terms, 1, 1);
  q.y = conversion::innermost(1, filters, 1, pixels);
  q.y.stride[1] = p.y.stride[1];
  q.y.stride[3] = p.y.stride[3];
  q.y.stride[2] = q.y.stride[0] = pixels * p.y.stride[3];
  q.dw = q.w;
  q.dw->stride[0] = p.dw->stride[0];
  return q;
}

inline std::string fits(const Variant&, const SplitProblem& s, const DeviceInfo&) {
  const ConvProblem& p = s.problem;
  if (p.dtype != f32) return only_f32;
  if (has_dx(p) || !has_dw(p)) return "it is for the gradient of the filters alone";
  if (p.geometry.groups != 1) return one_group;
  if (p.y.count() == 0 || p.x.count() == 0) return no_products;
  if (taps_of(p) == 1 && p.geometry.stride == ConvPair{}) return "filters of one tap are a matrix product as they are";
  if (!is_innermost(p) && !is_outermost(p)) return "a filter's elements do not follow each other in dw";
  if (!is_one_axis(p.y)) return "pixels of dy do not follow each other";
  if (real(pixels_of(p)) * real(terms_of(p)) * 4 > real(most_bytes)) return "windows of more than 1 GiB";
  if (reach(p.x, p) >= int_range || p.w.span() >= max_grid) return "offsets of 2^31 or more";
  return {};
}

// Precondition of what follows: the row fits.
inline ConvPlan plan_of(const ConvProblem& p, const DeviceInfo& device) { return *plan_conv2d(problem_of(p), device); }

inline std::size_t workspace_of(const ConvProblem& p, const ConvPlan& nested) {
  return static_cast<std::size_t>(ceil_div(bytes_of(p), 256) * 256) + nested.workspace;
}

// The nested plan's launch, and the workspace of all.
inline Footprint footprint(const Variant&, const SplitProblem& s, const DeviceInfo& device) {
  const ConvPlan plan = plan_of(s.problem, device);
  const roofline::Kernel kernel = kernel_of(plan);
  return {kernel.blocks, kernel.block.threads, kernel.block.registers, kernel.block.smem,
          workspace_of(s.problem, plan)};
}

// Single elements are as many accesses as four are. Not fitted.
inline double copy_us(const ConvProblem& p, const DeviceInfo& device) {
  constexpr double copy_start_us = 1, share_of_vectors = 0.7, share_of_singles = 0.35;
  const double share = vector_of(p) > 1 ? share_of_vectors : share_of_singles;
  return device.launch_us + copy_start_us + real(bytes_of(p)) / (share * std::max(1.0, device.memory_gbs) * 1e3);
}

inline roofline::Kernel model(const Variant&, const SplitProblem& s, const DeviceInfo& device) {
  roofline::Kernel k;
  k.cost = cost(s.problem);
  k.blocks = k.launches = 0;
  k.serial_us = predicted_us(plan_of(s.problem, device)) + copy_us(s.problem, device);
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{fits, footprint, model, lesson};

// Fills an explanation: a term for the copy, and one for the nested plan, whose row it names.
inline void account(Explanation& e, const ConvPlan& plan) {
  const ConvPlan& nested = plan.nested[0];
  const double copied = copy_us(plan.problem, plan.device), us = predicted_us(nested);
  std::vector<Analysis::Term> terms{
      {"copy", copied, format("of the windows, %.3g MB written", real(bytes_of(plan.problem)) * 1e-6)},
      {"nested", us, nested.problem.text() + " by " + row_of(nested)}};
  roofline::Kernel kernel = kernel_of(nested);
  kernel.cost = cost(plan.problem);
  roofline::account(e, kernel, us + copied, std::move(terms), plan.device);
}

}  // namespace ridge::conv_detail::windows
