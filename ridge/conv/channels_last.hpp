// Channels are strided, or are few: rows that want whole vectors of them, tensor cores above all, refuse such tensors
// or gather them slowly. Here the images that are not so already are copied into the workspace as NHWC, with their
// channels padded by zeros to whole vectors; the problem that is left has a plan of its own; and what that computes in
// the workspace is copied back. Tensors that are suitable as they lie are used in place.
//
// Zeros of a padded channel meet zeros only, those of the filters' padded channel, so that a NaN or an infinity goes
// where it would have gone; what padded filters give is not copied back.
#pragma once
#include <ridge/conv/plan_time.hpp>
#include <ridge/conv/sm90_image.hpp>
#include <ridge/core/text.hpp>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ridge::conv_detail {

namespace conversion {

inline constexpr int copy_threads = 256;
// A tile of a transposing copy: so many pixels by a line of 128 bytes of channels.
inline constexpr int copy_pixels = 64, copy_line = 128;

enum class Operand : std::uint8_t { x, w, y, dx, dw, bias, residual };  // y is dy in a backward problem

constexpr std::string_view name_of(Operand of, bool backward) {
  switch (of) {
    case Operand::x: return "x";
    case Operand::w: return "w";
    case Operand::y: return backward ? "dy" : "y";
    case Operand::dx: return "dx";
    case Operand::dw: return "dw";
    case Operand::bias: return "bias";
    default: return "residual";
  }
}

// A tensor as the user has it, and its copy, which is contiguous with channels innermost. Both are of 4 axes: slices of
// a volume are further rows, or further images; a bias is an image of one pixel.
struct Copy {
  Operand of = Operand::x;
  bool is_output = false;
  Layout given = {}, copied = {};
  std::int64_t at = 0;  // bytes from the workspace's start
};

// The problem whose images are channels-last, and the copies that it takes: those of inputs come first.
struct Conversion {
  ConvProblem problem;
  std::array<Copy, 6> copies = {};
  int count = 0;
  std::int64_t bytes = 0;  // of the copies; the nested plan's workspace follows
  bool folds = true;       // slices of volumes that are copied are further rows or further images

  std::span<const Copy> all() const { return {copies.data(), static_cast<std::size_t>(count)}; }
  // Where an operand's copy is; none: it is used in place.
  std::optional<std::int64_t> place_of(Operand of) const {
    for (const Copy& copy : all())
      if (copy.of == of) return copy.at;
    return {};
  }
};

// [n, h, w, c] or [n, d, h, w, c] with the sides of `like`, in the order n, c, h, w, d.
inline Layout innermost(std::int64_t n, std::int64_t c, const Layout& like) {
  Layout t{.rank = like.rank};
  const std::int64_t h = like.shape[2], w = like.shape[3], d = depth_of(like);
  const std::int64_t shape[] = {n, c, h, w, d}, stride[] = {d * h * w * c, 1, w * c, c, h * w * c};
  std::copy_n(shape, t.rank, t.shape.begin());
  std::copy_n(stride, t.rank, t.stride.begin());
  return t;
}

inline Layout innermost(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  return innermost(n, c, Layout::contiguous({1, 1, h, w}));
}

// Whether pixels are whole vectors of channels. A gradient of y must be a matrix of them too (sm90_gradient.hpp).
inline bool is_suitable(const ConvProblem& p, const Layout& t, bool as_matrix) {
  if (p.alignment < 16 || t.stride[1] != 1 || t.shape[1] % vector_elements(p.dtype) != 0) return false;
  if (as_matrix) return is_matrix(p, t);
  for (const int axis : {0, 2, 3, 4})
    if (!is_regular(t.shape[axis], t.stride[axis], p.dtype)) return false;
  return true;
}
// Whether filters that are not padded can stay. Gradients ask for little, and depthwise filters may lie in any way; the
// rows for other groups on tensor cores read pieces of a group's channels.
inline bool are_filters_suitable(const ConvProblem& p) {
  if (p.backward || (p.geometry.groups > 1 && channels_of_group(p) == 1)) return p.alignment >= 16;
  if (p.geometry.groups > 1) return p.alignment >= 16 && p.w.stride[1] == 1;
  return are_filters_regular(p);
}

// Groups of one channel and one filter are padded by further such groups. Other groups are not padded.
constexpr bool is_depthwise(const ConvProblem& p) { return channels_of_group(p) == 1 && filters_of_group(p) == 1; }
constexpr bool is_padded(const ConvProblem& p) { return p.geometry.groups == 1 || is_depthwise(p); }

struct Channels {
  std::int64_t of_x, of_y, of_filters;
};
constexpr Channels channels_of_copies(const ConvProblem& p) {
  if (!is_padded(p)) return {p.x.shape[1], p.y.shape[1], p.w.shape[1]};
  const std::int64_t c = to_vectors(p.x.shape[1], p.dtype), k = to_vectors(p.y.shape[1], p.dtype);
  return {c, k, p.geometry.groups == 1 ? c : 1};
}

// Precondition: refuse_sizes(p) is empty.
inline Conversion conversion_of(const ConvProblem& p) {
  const Channels channels = channels_of_copies(p);
  Conversion to{.problem = p};
  ConvProblem& q = to.problem;
  q.geometry.layout = ConvLayout::nhwc;
  if (p.geometry.groups > 1) q.geometry.groups = is_depthwise(p) ? channels.of_x : p.geometry.groups;
  q.alignment = 16;
  const auto add = [&](Operand of, bool is_output, const Layout& given, const Layout& copied) {
    to.folds &= are_rows(given) || are_images(given);
    to.copies[static_cast<std::size_t>(to.count++)] = {of, is_output, as_images(given, given), as_images(copied, given),
                                                       to.bytes};
    to.bytes += ceil_div(copied.count() * static_cast<std::int64_t>(size_of(p.dtype)), 256) * 256;
  };
  const auto image = [&](Operand of, Layout& t, std::int64_t of_pixel, bool is_output = false) {
    const Layout given = t;
    if (of_pixel == t.shape[1] && is_suitable(p, t, p.backward && of == Operand::y)) return;
    t = innermost(given.shape[0], of_pixel, given);
    add(of, is_output, given, t);
  };
  const auto filters = [&](Operand of, Layout& t, bool is_output = false) {
    const Layout given = t;
    const bool same = channels.of_y == t.shape[0] && channels.of_filters == t.shape[1];
    if (same && (is_output ? p.alignment >= 16 : are_filters_suitable(p))) return;
    t = innermost(channels.of_y, channels.of_filters, given);
    add(of, is_output, given, t);
  };
  // Layouts of tensors that the pass does not read, or that say the same as another: shapes alone.
  const auto shape_x = [&] { q.x = innermost(p.x.shape[0], channels.of_x, p.x); };
  const auto shape_w = [&] { q.w = innermost(channels.of_y, channels.of_filters, p.w); };

  if (p.backward) image(Operand::y, q.y, channels.of_y);
  if (!p.backward || has_dw(p)) image(Operand::x, q.x, channels.of_x);
  else shape_x();
  if (!p.backward || has_dx(p)) filters(Operand::w, q.w);
  else shape_w();
  const std::int64_t outputs = p.transposed ? channels.of_x : channels.of_y;
  if (p.residual) image(Operand::residual, *q.residual, outputs);
  if (p.bias && (p.alignment < 16 || p.bias->shape[0] != outputs)) {
    const Layout copied = innermost(1, outputs, 1, 1);
    Layout given = innermost(1, p.bias->shape[0], 1, 1);
    given.stride[1] = p.bias->stride[0];
    add(Operand::bias, false, given, copied);
    q.bias = Layout::contiguous({outputs});
  }

  if (!p.backward) image(Operand::y, q.y, channels.of_y, true);
  if (p.dx) image(Operand::dx, *q.dx, channels.of_x, true);
  if (p.dw) filters(Operand::dw, *q.dw, true);
  if (p.transposed) q.x = *q.dx;
  return to;
}

// ---- fits

// Copies count in 32 bits. The first row of the table takes what is left, so that there is a nested plan. In double: a
// size may be any number.
inline std::string refuse_sizes(const ConvProblem& p) {
  const Channels channels = channels_of_copies(p);
  const auto is_large = [&](const Layout& t, std::int64_t first, std::int64_t of_pixel, std::int64_t of_piece) {
    const double pixels = real(first) * real(t.shape[2]) * real(t.shape[3]) * real(depth_of(t));
    const double elements = pixels * real(of_pixel);
    return std::max({pixels, real(of_pixel), elements / real(of_piece)}) >= int_range / 2;
  };
  const std::int64_t vector = vector_elements(p.dtype);
  if (is_large(p.x, p.x.shape[0], channels.of_x, vector) || is_large(p.y, p.y.shape[0], channels.of_y, vector))
    return "images of 2^30 pixels, channels or pieces of 16 bytes, or more";
  return is_large(p.w, channels.of_y, channels.of_filters, 1) ? "filters of 2^30 elements or more" : "";
}

// No plan is made here: the nested problem has one, if only of the first row.
inline std::string fits(const Variant&, const SplitProblem& s, const DeviceInfo&) {
  const ConvProblem& p = s.problem;
  if (p.x.count() == 0 || p.y.count() == 0 || p.w.count() == 0) return no_products;
  const std::int64_t vector = vector_elements(p.dtype);
  if (!is_padded(p) && (p.x.shape[1] % vector != 0 || p.y.shape[1] % vector != 0))
    return "channels or filters of several groups are not whole pieces of 16 bytes";
  if (std::string why = refuse_sizes(p); !why.empty()) return why;
  const Conversion to = conversion_of(p);
  if (!to.folds) return "slices of volumes are neither further rows nor further images";
  for (const Copy& copy : to.all())
    if (copy.of != Operand::w && copy.of != Operand::dw && copy.of != Operand::bias) return {};
  return "its images are channels-last already";  // so is a nested problem's: plans do not nest twice
}

// ---- footprint and model. Precondition of what follows: the row fits.

inline ConvPlan plan_of(const ConvProblem& nested, const DeviceInfo& device) { return *plan_conv2d(nested, device); }

inline std::size_t workspace_of(const ConvProblem& p, const ConvPlan& nested) {
  return static_cast<std::size_t>(conversion_of(p).bytes) + nested.workspace;
}

// The nested plan's launch, and the workspace of all.
inline Footprint footprint(const Variant&, const SplitProblem& s, const DeviceInfo& device) {
  const Conversion to = conversion_of(s.problem);
  const ConvPlan plan = plan_of(to.problem, device);
  const roofline::Kernel kernel = kernel_of(plan);
  return {kernel.blocks, kernel.block.threads, kernel.block.registers, kernel.block.smem,
          static_cast<std::size_t>(to.bytes) + plan.workspace};
}

inline double bytes_of(const ConvProblem& p, const Copy& copy) {
  return real(copy.given.count() + copy.copied.count()) * real(static_cast<std::int64_t>(size_of(p.dtype)));
}
// Launches of copies: of inputs, and of outputs.
inline int launches_of(const Conversion& to) {
  const auto outputs = std::ranges::count_if(to.all(), &Copy::is_output);
  return (outputs < to.count ? 1 : 0) + (outputs > 0 ? 1 : 0);
}
// Copies are short, and reach so much of the memory bandwidth. Not fitted.
inline double launch_of_copies_us(const DeviceInfo& device) {
  constexpr double copies_start_us = 1;
  return device.launch_us + copies_start_us;
}
inline double copy_us(const ConvProblem& p, const Copy& copy, const DeviceInfo& device) {
  constexpr double copy_share = 0.7;
  return bytes_of(p, copy) / (copy_share * std::max(1.0, device.memory_gbs) * 1e3);
}

// The nested plan's prediction and the copies', whole.
inline roofline::Kernel model(const Variant&, const SplitProblem& s, const DeviceInfo& device) {
  const Conversion to = conversion_of(s.problem);
  roofline::Kernel k;
  k.cost = cost(s.problem);
  k.blocks = k.launches = 0;
  k.serial_us = predicted_us(plan_of(to.problem, device)) + launches_of(to) * launch_of_copies_us(device);
  for (const Copy& copy : to.all()) k.serial_us += copy_us(s.problem, copy, device);
  return k;
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

// Fills an explanation: a term for each copy, for the launches, and for the nested plan, whose row it names.
inline void account(Explanation& e, const ConvPlan& plan) {
  const ConvProblem& p = plan.problem;
  const ConvPlan& nested = plan.nested[0];
  const Conversion to = conversion_of(p);
  std::vector<Analysis::Term> terms;
  for (const Copy& copy : to.all()) {
    const std::string name(name_of(copy.of, p.backward));
    terms.push_back({"copy", copy_us(p, copy, plan.device),
                     (copy.is_output ? "channels-last " + name + " to the given one: "
                                     : "the given " + name + " to a channels-last one: ") +
                         format("%.3g MB read and written", bytes_of(p, copy) * 1e-6)});
  }
  terms.push_back({"launch", launches_of(to) * launch_of_copies_us(plan.device), "of the copies"});
  terms.push_back({"nested", predicted_us(nested), nested.problem.text() + " by " + row_of(nested)});
  double us = 0;
  for (const Analysis::Term& term : terms) us += term.us;
  roofline::Kernel kernel = kernel_of(nested);
  kernel.cost = cost(p);
  roofline::account(e, kernel, us, std::move(terms), plan.device);
}

}  // namespace conversion
}  // namespace ridge::conv_detail
