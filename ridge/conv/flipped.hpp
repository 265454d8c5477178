// The gradient of x is a convolution of dy, with each filter's taps in reverse order and channels in place of filters;
// and of a stride, one for each phase (geometry.hpp), with every stride-th tap. Each runs by a plan of its own, so that
// every forward row serves it, and a transposed convolution. Filters, dy and dx are used where they lie, from the last
// tap back; but the filters of several groups of several channels are copied, and those of 16-bit types, whose rows
// read a filter's channels by vectors.
#pragma once
#include <ridge/conv/channels_last.hpp>
#include <ridge/conv/plan_time.hpp>

#include <vector>

namespace ridge::conv_detail::flipped {

// Whether the filters are used in place: one stride leads from channel to channel of all groups.
constexpr bool is_in_place(const ConvProblem& p) {
  return p.geometry.groups == 1 ? p.dtype == f32 : channels_of_group(p) == 1 && filters_of_group(p) == 1;
}
constexpr std::int64_t filter_bytes(const ConvProblem& p) {
  return is_in_place(p) ? 0 : ceil_div(p.w.count() * static_cast<std::int64_t>(size_of(p.dtype)), 256) * 256;
}

// How a phase meets dy along an axis: rows of dy from `skipped` on, with so much padding before and after them.
struct PhaseAxis {
  AxisMap map;
  std::int64_t skipped = 0, inputs = 0, before = 0, after = 0;
  constexpr std::int64_t last_tap() const { return map.first_tap + (map.taps - 1) * map.tap_pitch; }
};
constexpr PhaseAxis phase_axis(const Axis& a, std::int64_t phase) {
  PhaseAxis of{.map = a.gradient(phase)};
  const std::int64_t first = of.map.shift + of.map.step * (of.map.taps - 1);      // of the first element's last tap
  const std::int64_t reached = of.map.outputs - of.map.step * (of.map.taps - 1);  // rows that a phase meets
  of.skipped = std::max<std::int64_t>(first, 0);
  of.before = std::max<std::int64_t>(-first, 0);
  of.inputs = std::min(a.outputs - of.skipped, reached - of.before);
  of.after = reached - of.before - of.inputs;
  return of;
}

// A phase as a convolution of dy; where its tensors begin in p's, in elements.
struct Phase {
  ConvProblem problem;
  std::int64_t dy = 0, w = 0, dx = 0, residual = 0;
};
// d: of an image's one slice. Precondition: all axes have outputs and taps.
inline Phase phase_of(const ConvProblem& p, const PhaseAxis& h, const PhaseAxis& w, const PhaseAxis& d) {
  Phase phase{.problem = p};
  ConvProblem& q = phase.problem;
  q.backward = q.transposed = false;
  q.dx.reset();
  q.geometry.stride = {};
  q.geometry.dilation = {-h.map.step, -w.map.step};
  q.geometry.pad = {.top = h.before, .left = w.before, .bottom = h.after, .right = w.after};
  q.geometry.depth = {.stride = 1, .dilation = -d.map.step, .front = d.before, .back = d.after};
  const auto part = [](const Layout& t, std::int64_t first_h, std::int64_t first_w, std::int64_t first_d) {
    return first_h * t.stride[2] + first_w * t.stride[3] + first_d * t.stride[4];
  };
  const auto with_sides = [](Layout t, std::int64_t of_h, std::int64_t of_w, std::int64_t of_d) {
    t.shape[2] = of_h;
    t.shape[3] = of_w;
    if (t.rank == 5) t.shape[4] = of_d;
    return t;
  };
  const auto each = [](Layout t, std::int64_t pitch_h, std::int64_t pitch_w, std::int64_t pitch_d) {
    t.stride[2] *= pitch_h;
    t.stride[3] *= pitch_w;
    t.stride[4] *= pitch_d;
    return t;
  };
  q.x = with_sides(p.y, h.inputs, w.inputs, d.inputs);
  phase.dy = part(p.y, h.skipped, w.skipped, d.skipped);
  const auto outputs = [&](const Layout& t) {
    return each(with_sides(t, h.map.outputs, w.map.outputs, d.map.outputs), h.map.output_pitch, w.map.output_pitch,
                d.map.output_pitch);
  };
  q.y = outputs(*p.dx);
  phase.dx = part(*p.dx, h.map.first_output, w.map.first_output, d.map.first_output);
  if (p.residual) {
    q.residual = outputs(*p.residual);
    phase.residual = part(*p.residual, h.map.first_output, w.map.first_output, d.map.first_output);
  }
  if (is_in_place(p)) {
    if (p.geometry.groups == 1) {
      std::swap(q.w.shape[0], q.w.shape[1]);
      std::swap(q.w.stride[0], q.w.stride[1]);
    }
    q.w = each(q.w, -h.map.tap_pitch, -w.map.tap_pitch, -d.map.tap_pitch);
    phase.w = part(p.w, h.last_tap(), w.last_tap(), d.last_tap());
  } else {  // the copy's taps are in reverse order already
    const Layout copy = conversion::innermost(p.x.shape[1], filters_of_group(p), p.w);
    q.w = each(copy, h.map.tap_pitch, w.map.tap_pitch, d.map.tap_pitch);
    phase.w =
        part(copy, p.w.shape[2] - 1 - h.last_tap(), p.w.shape[3] - 1 - w.last_tap(), depth_of(p.w) - 1 - d.last_tap());
  }
  q.w = with_sides(q.w, h.map.taps, w.map.taps, d.map.taps);
  const std::int64_t size = static_cast<std::int64_t>(size_of(p.dtype));
  for (const std::int64_t first : {phase.dy, phase.w, phase.dx, phase.residual})
    while (q.alignment > size && first * size % q.alignment != 0) q.alignment /= 2;
  return phase;
}

// The phases that have elements, in order.
inline std::vector<Phase> phases_of(const ConvProblem& p) {
  std::vector<Phase> phases;
  const Axis h = axis_h(p), w = axis_w(p), d = axis_d(p);
  for (std::int64_t l = 0; l < std::min(d.stride, d.inputs); ++l)
    for (std::int64_t i = 0; i < std::min(h.stride, h.inputs); ++i)
      for (std::int64_t j = 0; j < std::min(w.stride, w.inputs); ++j)
        phases.push_back(phase_of(p, phase_axis(h, i), phase_axis(w, j), phase_axis(d, l)));
  return phases;
}

inline std::string fits(const Variant&, const SplitProblem& s, const DeviceInfo&) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  const ConvProblem& p = s.problem;
  const int most_phases = is_volume(p) ? 8 : 4;
  if (!has_dx(p) || has_dw(p)) return "it is for transposed convolutions, and the gradient of x alone";
  if (phase_count(p) > most_phases)
    return "more than " + std::string(is_volume(p) ? "eight" : "four") + " phases of the stride";
  if (!is_in_place(p) && !are_rows(p.w)) return "slices of the filters do not follow each other";
  constexpr std::int64_t few = 64;  // as many as the rows for few channels take
  if (p.dtype != f32 && p.geometry.groups == 1 && p.w.shape[0] > few && !is_volume(p))
    return "16-bit types have rows for the gradients of many filters";
  if (p.y.count() == 0 || p.w.count() == 0) return no_products;
  if (taps_of(p) == 1) return "filters of one tap are a matrix product either way";
  const Axis axes[] = {axis_h(p), axis_w(p), axis_d(p)};
  bool are_threes = p.dtype == f32 && p.geometry.stride != ConvPair{} && !is_volume(p);
  for (int axis = 0; axis < 3; ++axis) {
    const Axis& a = axes[axis];
    bool is_three = false;
    for (std::int64_t i = 0; i < std::min(a.stride, a.inputs); ++i) {
      const PhaseAxis phase = phase_axis(a, i);
      if (phase.map.taps == 0) return "elements of dx that no tap meets";
      if (phase.inputs < 1) return "elements of dx that meet no element of dy";
      if (std::max(phase.before, phase.after) >= most) return "a phase with padding of 2^30 or more";
      is_three |= phase.map.taps == 3;
    }
    if (axis < 2) are_threes &= is_three;  // an image's
  }
  // Its errors are not those of a plain sum, and the tests have their bound for whole filters alone.
  if (are_threes) return "a phase of 3x3 taps, which Winograd's row would take";
  // The first row of the table takes what is left, so that there are nested plans.
  if (std::max({p.x.count(), p.y.count(), p.w.count(), p.w.span()}) >= most) return "tensors of 2^30 elements or more";
  return {};
}

// Precondition of what follows: the row fits.
inline std::vector<ConvPlan> plans_of(const ConvProblem& p, const DeviceInfo& device) {
  std::vector<ConvPlan> plans;
  for (const Phase& phase : phases_of(p)) plans.push_back(*plan_conv2d(phase.problem, device));
  return plans;
}

// Plans run one after the other.
inline std::size_t workspace_of(const ConvProblem& p, const std::vector<ConvPlan>& nested) {
  std::size_t most = 0;
  for (const ConvPlan& plan : nested) most = std::max(most, plan.workspace);
  return static_cast<std::size_t>(filter_bytes(p)) + most;
}

// The first launch, and the workspace of all.
inline Footprint footprint(const Variant&, const SplitProblem& s, const DeviceInfo& device) {
  const std::vector<ConvPlan> plans = plans_of(s.problem, device);
  const roofline::Kernel kernel = kernel_of(plans[0]);
  return {kernel.blocks, kernel.block.threads, kernel.block.registers, kernel.block.smem,
          workspace_of(s.problem, plans)};
}

// The copy of the filters, which are few.
inline double copy_us(const ConvProblem& p, const DeviceInfo& device) {
  constexpr double copy_start_us = 1;
  return is_in_place(p) ? 0 : device.launch_us + copy_start_us;
}

inline roofline::Kernel model(const Variant&, const SplitProblem& s, const DeviceInfo& device) {
  roofline::Kernel k;
  k.cost = cost(s.problem);
  k.blocks = k.launches = 0;
  k.serial_us = copy_us(s.problem, device);
  for (const ConvPlan& plan : plans_of(s.problem, device)) k.serial_us += predicted_us(plan);
  return k;
}

inline std::string_view lesson(const Variant&) { return {}; }

inline constexpr Family family{fits, footprint, model, lesson};

// Fills an explanation: a term for the filters' copy, and one for each nested plan, whose row it names.
inline void account(Explanation& e, const ConvPlan& plan) {
  double us = copy_us(plan.problem, plan.device);
  std::vector<Analysis::Term> terms;
  if (us > 0) terms.push_back({"copy", us, "of the filters, a launch"});
  for (const ConvPlan& nested : plan.nested) {
    terms.push_back({"nested", predicted_us(nested), nested.problem.text() + " by " + row_of(nested)});
    us += terms.back().us;
  }
  roofline::Kernel kernel = kernel_of(plan.nested[0]);
  kernel.cost = cost(plan.problem);
  roofline::account(e, kernel, us, std::move(terms), plan.device);
}

}  // namespace ridge::conv_detail::flipped
