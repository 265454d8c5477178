// A filter of one tap multiplies the channels of each pixel by one matrix: such a convolution is a matrix product, and
// so are its gradients. They run by gemm's own plans, whose kernels have no image to gather.
#pragma once
#include <ridge/conv/launch.hpp>
#include <ridge/conv/problem.hpp>
#include <ridge/gemm/plan_time.hpp>

#include <optional>
#include <string>
#include <vector>

namespace ridge::conv_detail {

namespace product {

// The passes of a problem, a product each.
inline std::vector<Pass> passes_of(const ConvProblem& p) {
  if (!p.backward) return {Pass::output};
  std::vector<Pass> passes;
  if (has_dx(p)) passes.push_back(Pass::inputs);
  if (has_dw(p)) passes.push_back(Pass::filters);
  return passes;
}

// The images that a problem's passes read and write, as matrices: pixels are one axis, behind a batch axis where images
// do not follow each other like rows. Strides are in elements; those of images that no pass has are 0.
struct Pixels {
  std::int64_t batch = 1, count = 0;
  struct Strides {
    std::int64_t batch = 0, pixel = 0, channel = 0;
  } x, y, dx, residual;
};

// Empty: pixels do not merge. A problem of one tap, stride 1 and no padding: all images have the same pixels.
inline std::optional<Pixels> pixels_as_rows(const ConvProblem& p) {
  Pixels pixels;
  struct Image {
    const Layout* given;
    Pixels::Strides* strides;
  };
  std::vector<Image> images{{&p.y, &pixels.y}};
  if (!p.backward || has_dw(p)) images.push_back({&p.x, &pixels.x});
  if (has_dx(p)) images.push_back({&*p.dx, &pixels.dx});
  if (p.residual) images.push_back({&*p.residual, &pixels.residual});
  std::vector<Layout> merged;
  for (const Image& image : images) {
    const Layout& t = *image.given;
    merged.push_back({.rank = 4,
                      .shape = {t.shape[0], depth_of(t), t.shape[2], t.shape[3]},
                      .stride = {t.stride[0], t.stride[4], t.stride[2], t.stride[3]}});
  }
  collapse(merged);
  const int axes = merged[0].rank;
  if (axes > 2) return {};
  pixels.count = axes == 0 ? 1 : merged[0].shape[axes - 1];
  if (axes == 2) pixels.batch = merged[0].shape[0];
  for (std::size_t i = 0; i < images.size(); ++i)
    *images[i].strides = {axes == 2 ? merged[i].stride[0] : 0, axes == 0 ? 0 : merged[i].stride[axes - 1],
                          images[i].given->stride[1]};
  return pixels;
}

// The addresses of a pass's product: of its two factors in the order of the pass's formula (x w, dy w, dy x), of what
// it writes, and of the epilogue's tensors.
struct Pointers {
  const void *left = nullptr, *right = nullptr, *bias = nullptr, *residual = nullptr;
  void* out = nullptr;
};

// The product of a pass as gemm takes it. Precondition: pixels_as_rows(p).
inline GemmTensors tensors_of(const ConvProblem& p, Pass pass, Device device, const Pointers& at = {}) {
  const Pixels pixels = *pixels_as_rows(p);
  const auto view = [&](const void* data, std::initializer_list<std::int64_t> shape,
                        std::initializer_list<std::int64_t> stride) {
    TensorView v{const_cast<void*>(data), p.dtype, {.rank = static_cast<int>(shape.size())}, device};
    std::ranges::copy(shape, v.layout.shape.begin());
    std::ranges::copy(stride, v.layout.stride.begin());
    return v;
  };
  const auto image = [&](const void* data, const Pixels::Strides& s, std::int64_t channels) {
    return view(data, {pixels.batch, pixels.count, channels}, {s.batch, s.pixel, s.channel});
  };
  const auto filters = [&](const void* data, const Layout& w) {  // all of the batch shares them
    return view(data, {pixels.batch, w.shape[0], w.shape[1]}, {0, w.stride[0], w.stride[1]});
  };
  const std::int64_t channels = p.x.shape[1], outputs = p.y.shape[1];

  GemmTensors t;
  switch (pass) {
    case Pass::output:  // y [pixels, filters] = x [pixels, channels] w^T
      t.a = image(at.left, pixels.x, channels);
      t.b = transposed(filters(at.right, p.w));
      t.d = image(at.out, pixels.y, outputs);
      break;
    case Pass::inputs:  // dx [pixels, channels] = dy [pixels, filters] w
      t.a = image(at.left, pixels.y, outputs);
      t.b = filters(at.right, p.w);
      t.d = image(at.out, pixels.dx, channels);
      break;
    case Pass::filters:  // dw [filters, channels] = dy^T x
      t.a = transposed(image(at.left, pixels.y, outputs));
      t.b = image(at.right, pixels.x, channels);
      t.d = filters(at.out, *p.dw);
      break;
  }
  if (p.bias) t.bias = view(at.bias, {p.bias->shape[0]}, {p.bias->stride[0]});
  if (p.residual) (p.epilogue.residual_first ? t.c : t.residual) = image(at.residual, pixels.residual, t.d.size(-1));
  if (t.d.stride(-2) != 1 || t.d.stride(-1) == 1) return t;

  // D's rows lie side by side: what gemm computes is D^T = B^T A^T, with a bias along its rows.
  std::swap(t.a, t.b);
  for (TensorView* v : {&t.a, &t.b, &t.d}) *v = transposed(*v);
  for (std::optional<TensorView>* v : {&t.c, &t.residual})
    if (*v) *v = transposed(**v);
  if (p.bias) t.bias = view(at.bias, {p.bias->shape[0], 1}, {p.bias->stride[0], 0});
  return t;
}

// The same as a problem. Precondition: all addresses are aligned to 16 bytes.
inline GemmProblem problem_of(const ConvProblem& p, Pass pass) {
  const GemmTensors t = tensors_of(p, pass, {});
  const auto operand = [](const std::optional<TensorView>& v) -> std::optional<GemmOperand> {
    if (!v) return {};
    return GemmOperand{v->dtype, v->stride(-2), v->stride(-1), v->stride(0), 0};
  };
  GemmProblem product{.m = t.d.size(-2), .n = t.d.size(-1), .k = t.a.size(-1), .batch = t.d.size(0), .dtype = p.dtype};
  product.scalars.activation = p.epilogue.activation;
  product.scalars.beta = t.c ? 1 : 0;
  if (p.math == ConvMath::tf32) product.scalars.math = GemmMath::tf32;
  product.a = operand(t.a);
  product.b = operand(t.b);
  product.c = operand(t.c);
  product.d = operand(t.d);
  product.residual = t.residual.has_value();
  product.residual_layout = operand(t.residual);
  if (t.bias) {
    const bool along_n = t.bias->rank() == 1;
    product.bias = along_n ? GemmBias::along_n : GemmBias::along_m;
    product.bias_layout = GemmOperand{p.dtype, along_n ? 0 : t.bias->stride(0), along_n ? t.bias->stride(0) : 0, 0, 0};
  }
  return product;
}

inline std::string refuse_taps(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  if (g.groups != 1) return one_group;
  if (taps_of(p) != 1) return "it is for filters of one tap";
  if (g.stride != ConvPair{} || g.pad != ConvPad{} || g.depth.stride != 1 || g.depth.front + g.depth.back > 0)
    return "it is for stride 1 without padding";
  return {};
}

inline std::string fits(const Variant&, const SplitProblem& s, const DeviceInfo& device) {
  const ConvProblem& p = s.problem;
  if (std::string why = refuse_taps(p); !why.empty()) return why;
  if (p.x.count() == 0 || p.y.count() == 0) return no_products;
  if (p.alignment < 16) return "addresses are not aligned to 16 bytes";
  const std::optional<Pixels> pixels = pixels_as_rows(p);
  if (!pixels) return "images, rows and columns merge into no matrices at even distances";
  if (has_dw(p) && pixels->batch > 1) return "pixels of several images are not the terms of one sum";
  for (const Pass pass : passes_of(p))
    if (auto plan = plan_gemm(problem_of(p, pass), device); !plan) return std::string(plan.error().message());
  return {};
}

// The plans of all passes, which run one after the other. Precondition of this and the functions below: the row fits.
inline std::vector<GemmPlan> plans_of(const ConvProblem& p, const DeviceInfo& device) {
  std::vector<GemmPlan> plans;
  for (const Pass pass : passes_of(p)) plans.push_back(*plan_gemm(problem_of(p, pass), device));
  return plans;
}

inline std::size_t workspace_of(const std::vector<GemmPlan>& plans) {
  std::size_t most = 0;
  for (const GemmPlan& plan : plans) most = std::max(most, plan.workspace_bytes());
  return most;
}

// The first pass's launch, and the workspace of all.
inline Footprint footprint(const Variant&, const SplitProblem& s, const DeviceInfo& device) {
  const std::vector<GemmPlan> plans = plans_of(s.problem, device);
  const roofline::Kernel first = gemm_detail::kernel_of(plans[0]);
  return {first.blocks, first.block.threads, first.block.registers, first.block.smem, workspace_of(plans)};
}

// gemm's prediction, whole.
inline roofline::Kernel model(const Variant&, const SplitProblem& s, const DeviceInfo& device) {
  roofline::Kernel k;
  k.cost = cost(s.problem);
  k.blocks = k.launches = 0;
  for (const GemmPlan& plan : plans_of(s.problem, device)) k.serial_us += gemm_detail::predicted_us(plan);
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{fits, footprint, model, lesson};

// Fills an explanation: a term for each pass, which names gemm's row.
inline void account(Explanation& e, const ConvPlan& plan) {
  double us = 0;
  std::vector<Analysis::Term> terms;
  for (const GemmPlan& product : plan.products) {
    const double term_us = gemm_detail::predicted_us(product);
    us += term_us;
    terms.push_back({"product", term_us, "gemm " + product.problem.text() + " by " + gemm_detail::row_of(product)});
  }
  roofline::Kernel first = gemm_detail::kernel_of(plan.products[0]);
  first.cost = cost(plan.problem);
  roofline::account(e, first, us, std::move(terms), plan.device);
}

inline Status run(const Arguments& args) {
  const ConvPlan& plan = args.plan;
  const ConvProblem& p = plan.problem;
  const std::vector<Pass> passes = passes_of(p);
  for (std::size_t i = 0; i < passes.size(); ++i) {
    Pointers at{.bias = args.bias, .residual = args.residual};
    switch (passes[i]) {
      case Pass::output: at.left = args.x, at.right = args.w, at.out = args.y; break;
      case Pass::inputs: at.left = args.dy, at.right = args.w, at.out = args.dx; break;
      case Pass::filters: at.left = args.dy, at.right = args.x, at.out = args.dw; break;
    }
    RIDGE_TRY(plan.products[i].run(tensors_of(p, passes[i], plan.device.id, at), {args.workspace, plan.workspace},
                                   args.stream));
  }
  return {};
}

}  // namespace product
}  // namespace ridge::conv_detail
