// validate -> fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/batch_norm/launch.hpp>
#include <ridge/batch_norm/variants.hpp>
#include <ridge/core/check_data.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/core/text.hpp>
#include <ridge/roofline/predict.hpp>

#include <algorithm>
#include <cmath>

namespace ridge {

using namespace batch_norm_detail;

std::string_view name(BatchNorm function) {
  constexpr std::string_view names[] = {"batch_norm", "batch_norm_stats", "batch_norm_train"};
  return names[static_cast<int>(function)];
}

// x and y as [n, c, h, w], their spatial axes merged as far as both allow.
static Status canonical(std::string_view op, BatchNormLayout layout, Layout& x, Layout& y) {
  const bool last = layout == BatchNormLayout::nhwc;
  if (x.rank < 2) return Status::invalid(op, "x.shape", x.text(), "of 2 axes or more");
  const Layout given[] = {x, y};
  Layout space[2];
  for (int i = 0; i < 2; ++i) {
    const Layout& t = given[i];
    space[i].rank = t.rank - 2;
    for (int axis = 0; axis + 2 < t.rank; ++axis) {
      space[i].shape[axis] = t.shape[axis + (last ? 1 : 2)];
      space[i].stride[axis] = t.stride[axis + (last ? 1 : 2)];
    }
  }
  collapse(space);
  if (space[0].rank > 2)
    return Status::invalid(op, "strides", x.text() + " and " + y.text(), "such that spatial axes merge into two");
  Layout* out[] = {&x, &y};
  for (int i = 0; i < 2; ++i) {
    const Layout& t = given[i];
    const int channel = last ? t.rank - 1 : 1;
    Layout four;
    four.rank = 4;
    four.shape = {t.shape[0], t.shape[channel], 1, 1};
    four.stride = {t.stride[0], t.stride[channel], 1, 1};
    for (int axis = 0; axis < space[i].rank; ++axis) {
      const int to = 4 - space[i].rank + axis;
      four.shape[to] = space[i].shape[axis];
      four.stride[to] = space[i].stride[axis];
    }
    *out[i] = four;
  }
  return {};
}

BatchNormProblem BatchNormProblem::contiguous(BatchNorm function, DType dtype, BatchNormLayout layout, std::int64_t n,
                                              std::int64_t c, std::int64_t spatial) {
  BatchNormProblem p{.function = function, .layout = layout, .dtype = dtype};
  p.x = layout == BatchNormLayout::nchw ? Layout::contiguous({n, c, spatial}) : Layout::contiguous({n, spatial, c});
  p.y = p.x;
  if (function == BatchNorm::stats) p.eps = 0, p.gamma = p.beta = false;
  (void)canonical(name(function), layout, p.x, p.y);  // three contiguous axes always merge
  return p;
}

Result<BatchNormProblem> BatchNormProblem::of(BatchNorm function, BatchNormLayout layout, const BatchNormTensors& t,
                                              float eps) {
  const std::string_view op = name(function);
  const TensorView &x = t.x, &y = function == BatchNorm::stats ? t.x : t.y;
  if (y.dtype != x.dtype)
    return Status::invalid(op, "y.dtype", std::string(name(y.dtype)), "that of x, " + std::string(name(x.dtype)));
  if (!y.layout.same_shape(x.layout))
    return Status::invalid(op, "y.shape", y.layout.text(), "that of x, " + x.layout.text());
  RIDGE_TRY(check_data(op, "x", x));
  BatchNormProblem p{.function = function, .layout = layout, .eps = eps, .dtype = x.dtype};
  if (function == BatchNorm::stats) p.eps = 0;
  p.x = x.layout;
  p.y = y.layout;
  RIDGE_TRY(canonical(op, layout, p.x, p.y));
  const std::int64_t channels = p.x.shape[1];
  const auto parameter = [&](const TensorView& view, const char* label, bool output) -> Status {
    if (view.rank() != 1 || view.size(0) != channels)
      return Status::invalid(op, std::string(label) + ".shape", view.layout.text(), std::to_string(channels));
    if (view.dtype != DType::f32 && (output || view.dtype != x.dtype))
      return Status::invalid(
          op, std::string(label) + ".dtype", std::string(name(view.dtype)),
          output || x.dtype == DType::f32 ? "f32" : "f32 or that of x, " + std::string(name(x.dtype)));
    RIDGE_TRY(check_same_device(op, label, view.device, "x", x.device));
    RIDGE_TRY(check_data(op, label, view));
    if (output) RIDGE_TRY(check_elements_apart(op, label, view.layout));
    p.aligned_parameters = p.aligned_parameters && view.dtype == DType::f32 && (channels == 1 || view.stride(0) == 1) &&
                           alignment_of(view.data) >= vector_bytes;
    return {};
  };
  const bool computed = function != BatchNorm::inference;
  RIDGE_TRY(parameter(t.mean, "mean", computed));
  RIDGE_TRY(parameter(t.var, "var", computed));
  p.gamma = p.beta = false;
  if (function != BatchNorm::stats) {
    p.gamma = t.gamma.has_value();
    p.beta = t.beta.has_value();
    if (t.gamma) RIDGE_TRY(parameter(*t.gamma, "gamma", false));
    if (t.beta) RIDGE_TRY(parameter(*t.beta, "beta", false));
    RIDGE_TRY(check_same_device(op, "y", y.device, "x", x.device));
    RIDGE_TRY(check_data(op, "y", y));
    RIDGE_TRY(check_no_partial_overlap(op, "y", y, "x", x));
  }
  // Outputs may overlap nothing else.
  struct Named {
    const TensorView* view;
    const char* label;
  };
  std::vector<Named> written, others{{&t.mean, "mean"}, {&t.var, "var"}};
  if (t.gamma && p.gamma) others.push_back({&*t.gamma, "gamma"});
  if (t.beta && p.beta) others.push_back({&*t.beta, "beta"});
  if (function != BatchNorm::stats) written.push_back({&y, "y"});
  if (computed) {
    others.push_back({&x, "x"});
    written.push_back({&t.mean, "mean"});
    written.push_back({&t.var, "var"});
  }
  for (const Named& out : written)
    for (const Named& other : others)
      if (out.view != other.view && !(out.view == &y && other.view == &x) && share_memory(*out.view, *other.view))
        return Status::invalid(op, out.label, std::string("overlapping ") + other.label, "apart from it");
  p.align_x = alignment_of(x.data);
  p.align_y = alignment_of(y.data);
  return p;
}

std::string BatchNormProblem::text() const {
  return std::string(name(dtype)) + " " + Layout::contiguous(std::span(x.shape.data(), 4)).text() +
         (layout == BatchNormLayout::nhwc ? " nhwc" : "");
}

static Status validate(const BatchNormProblem& p) {
  const std::string_view op = name(p.function);
  if (!Types::contains(p.dtype)) return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  if (!std::isfinite(p.eps)) return Status::invalid(op, "eps", number_text(p.eps), "finite");
  RIDGE_TRY(check_extent(op, "x", p.x));
  RIDGE_TRY(check_extent(op, "y", p.y));
  if (p.function != BatchNorm::stats) RIDGE_TRY(check_elements_apart(op, "y", p.y));
  if (p.function != BatchNorm::inference && per_channel(p.x) >= Divider::limit)
    return Status::invalid(op, "x.shape", Layout::contiguous(std::span(p.x.shape.data(), 4)).text(),
                           "of fewer than 2^31 elements per channel");
  return {};
}

// Why this variant cannot run this problem; empty: it can.
static std::string fits(const ApplyVariant& row, const BatchNormProblem& p) {
  const ApplyConfig& c = row.config;
  if (c.method == Apply::element) return {};
  // Threads of `planes` have several vectors, which are numbered too.
  const std::int64_t vectors = c.method == Apply::planes ? ceil_div(p.x.count(), vector_elements(p.dtype)) : 0;
  if (std::max(apply_items(c, p), vectors) >= Divider::limit) return "more than 2^31 pieces of work";
  if (c.method == Apply::channels) {
    if (!channels_on_vectors(p.x, p.dtype, p.align_x) || !channels_on_vectors(p.y, p.dtype, p.align_y))
      return "channels are not contiguous, or not whole vectors of 16 bytes on 16-byte addresses";
    return {};
  }
  if (!p.x.is_contiguous() || !p.y.is_contiguous()) return "a tensor is not contiguous in the order n c h w";
  if (std::min(p.align_x, p.align_y) < vector_bytes) return "a tensor does not start on 16 bytes";
  if (!whole_planes(p) && p.x.count() >= Divider::limit)
    return "planes are not whole vectors of 16 bytes, and elements more than 2^31";
  return {};
}
static std::string fits(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  if (stats_grid(c, p, device).blocks() > max_grid) return "more than 2^31 blocks";
  if (c.method != Stats::serial && p.x.shape[1] > max_grid) return "more than 2^31 channels";
  if (c.method == Stats::serial || !c.vectorized) return {};
  if (c.method == Stats::channels && !channels_on_vectors(p.x, p.dtype, p.align_x))
    return "channels are not contiguous, or not whole vectors of 16 bytes on 16-byte addresses";
  if (c.method == Stats::images && spatial(p.x) > c.threads)
    return "a plane has more than " + std::to_string(c.threads) + " elements";
  if (c.method == Stats::images && !images_on_vectors(p.x, p.dtype, p.align_x))
    return "images are not contiguous, or not whole vectors of 16 bytes on 16-byte addresses";
  if (c.method == Stats::planes && !planes_on_vectors(p.x, p.dtype, p.align_x))
    return "planes are not contiguous, or not whole vectors of 16 bytes on 16-byte addresses";
  return {};
}

static Cost cost(const BatchNormProblem& p) {
  const double n = static_cast<double>(p.x.count()), size = static_cast<double>(size_of(p.dtype));
  const double channels = static_cast<double>(p.x.shape[1]);
  const bool stats = p.function != BatchNorm::inference, apply = p.function != BatchNorm::stats;
  Cost c;
  c.bytes_read = n * size + 4 * channels * ((stats ? 0 : 2) + (p.gamma ? 1 : 0) + (p.beta ? 1 : 0));
  c.bytes_written = (apply ? n * size : 0) + (stats ? 8 * channels : 0);
  c.on(Unit::fp32) = n * ((stats ? 4 : 0) + (apply ? 3 : 0));
  return c;
}

static roofline::Kernel kernel_of(const ApplyVariant& row, const BatchNormProblem& p) {
  const ApplyConfig& c = row.config;
  const double n = static_cast<double>(p.x.count()), size = static_cast<double>(size_of(p.dtype));
  roofline::Kernel k;
  k.cost = cost(p);
  k.blocks = apply_grid(c, p);
  k.block = {.threads = c.threads, .registers = registers(c)};
  k.bytes_read = k.bytes_written = n * size;
  const double per_thread = c.method == Apply::element ? size : static_cast<double>(vector_bytes * c.vectors);
  k.trip_bytes = c.threads * per_thread;
  // Instructions per element, counted in the source: a position and a channel's parameters for each thread.
  const double elements = per_thread / size;
  k.clocks = n / 32 / 4 * (c.method == Apply::element ? 200 : 60 / elements + (size == 2 ? 5 : 3));
  // Planes of less than a vector: parameters for each plane in a vector.
  if (const std::int64_t of_vector = vector_elements(p.dtype), plane = spatial(p.x);
      c.method == Apply::planes && plane > 0 && plane < of_vector)
    k.clocks += n / 32 / 4 * 160 *
                (1 / static_cast<double>(plane) + (of_vector % plane != 0 ? 1 / static_cast<double>(of_vector) : 0.0));
  if (c.vectors > 1) k.overlap = 6;
  return k;
}

static roofline::Kernel kernel_of(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  const StatsGrid g = stats_grid(c, p, device);
  const double n = static_cast<double>(p.x.count()), size = static_cast<double>(size_of(p.dtype));
  const double of_vector = c.vectorized ? static_cast<double>(vector_elements(p.dtype)) : 1;
  roofline::Kernel k;
  k.cost = cost(p);
  k.launches = g.slices == 1 ? 1 : 2;
  k.blocks = g.blocks();
  k.block = {.threads = c.threads, .registers = registers(c), .smem = stats_smem_bytes(c, p.dtype)};
  k.bytes_read = n * size;
  k.bytes_written = static_cast<double>(p.x.shape[1]) * 8;
  k.serial_us = g.slices == 1 ? 0 : 2;                       // the second kernel's trip to memory
  const bool last = p.x.stride[1] == 1 && p.x.shape[1] > 1;  // channels are innermost
  if (c.method == Stats::serial) {
    k.trips = 2 * static_cast<double>(g.items) / 4;
    k.bytes_read *= 2;
    k.trip_bytes = 4 * size * c.threads;
    if (!last) k.memory_share = size / 32;
    return k;
  }
  k.trips = std::max(1.0, static_cast<double>(ceil_div(g.items, g.step * std::max<std::int64_t>(g.slices, 1))));
  k.trip_bytes = c.threads * c.loads * of_vector * size;
  k.block_us = 1;  // barriers
  k.clocks = n / 32 / 4 * (5 + 20 / (c.loads * (c.method == Stats::planes ? of_vector : 1)) + (c.vectorized ? 0 : 8));
  if (c.method == Stats::images) k.block_us = 3;  // it combines as many sums as the planes have elements
  // Lanes are along an axis whose elements are not neighbours.
  const bool gathers = c.method == Stats::images   ? false
                       : c.method == Stats::planes ? p.x.stride[3] != 1 && spatial(p.x) > 1
                                                   : !last && p.x.shape[1] > 1;
  if (gathers) k.memory_share = size / 32;
  return k;
}

// Both kernels, one after the other, if the function has both.
static roofline::Kernel kernel_of(const BatchNormProblem& p, const DeviceInfo& device, int stats, int apply) {
  if (p.function == BatchNorm::inference) return kernel_of(apply_variants[apply], p);
  roofline::Kernel k = kernel_of(stats_variants[stats], p, device);
  if (p.function == BatchNorm::train) k.serial_us += roofline::predict(kernel_of(apply_variants[apply], p), device).us;
  return k;
}

static Result<int> choose_stats(const BatchNormProblem& p, const DeviceInfo& device, const PlanOptions& options,
                                std::vector<Candidate>* record = nullptr) {
  return select<StatsVariant>(
      name(p.function), stats_variants, options, [&](const StatsVariant& row) { return fits(row, p, device); },
      [&](const StatsVariant& row) { return roofline::predict(kernel_of(row, p, device), device).us; }, record);
}
static Result<int> choose_apply(const BatchNormProblem& p, const DeviceInfo& device, const PlanOptions& options,
                                std::vector<Candidate>* record = nullptr) {
  return select<ApplyVariant>(
      name(p.function), apply_variants, options, [&](const ApplyVariant& row) { return fits(row, p); },
      [&](const ApplyVariant& row) { return roofline::predict(kernel_of(row, p), device).us; }, record);
}

Result<BatchNormPlan> plan_batch_norm(const BatchNormProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  BatchNormPlan plan{p, device};
  if (p.function != BatchNorm::inference) {
    auto stats = choose_stats(p, device, options);
    if (!stats) return stats.error();
    plan.stats_variant = *stats;
  }
  if (p.function != BatchNorm::stats) {
    auto apply = choose_apply(p, device, p.function == BatchNorm::inference ? options : PlanOptions{});
    if (!apply) return apply.error();
    plan.apply_variant = *apply;
    const ApplyConfig& c = apply_variants[*apply].config;
    if (apply_grid(c, p) > max_grid)
      return Status::invalid(name(p.function), "x.shape", Layout::contiguous(std::span(p.x.shape.data(), 4)).text(),
                             "of at most " + std::to_string(max_grid * c.threads) + " elements for this variant");
  }
  return plan;
}

std::size_t BatchNormPlan::workspace_bytes() const {
  if (problem.function == BatchNorm::inference) return 0;
  const StatsGrid g = stats_grid(stats_variants[stats_variant].config, problem, device);
  return g.slices == 1 ? 0 : static_cast<std::size_t>(problem.x.shape[1] * g.slices) * partial_bytes;
}

Explanation BatchNormPlan::explain() const {
  Explanation e;
  e.op = name(problem.function);
  e.problem = problem.text();
  e.workspace_bytes = workspace_bytes();
  const bool inference = problem.function == BatchNorm::inference;
  e.variant = inference ? apply_variants[apply_variant].name : stats_variants[stats_variant].name;
  roofline::account(e, kernel_of(problem, device, stats_variant, apply_variant), device);
  if (inference) (void)choose_apply(problem, device, {}, &e.candidates);
  else (void)choose_stats(problem, device, {}, &e.candidates);
  return e;
}

Status BatchNormPlan::run(const BatchNormTensors& t, Workspace workspace, Stream stream) const {
  const std::string_view op = name(problem.function);
  auto given = BatchNormProblem::of(problem.function, problem.layout, t, problem.eps);
  if (!given) return given.error();
  // Tensors may be aligned better than planned.
  given->align_x = std::min(given->align_x, problem.align_x);
  given->align_y = std::min(given->align_y, problem.align_y);
  given->aligned_parameters = given->aligned_parameters && problem.aligned_parameters;
  if (*given != problem) return not_as_planned(op, given->text(), problem.text());
  RIDGE_TRY(check_device(op, t.x.device, device));
  RIDGE_TRY(check_workspace(op, workspace, workspace_bytes()));
  if (problem.x.shape[1] == 0) return {};
  const Arguments args{*this, t, workspace.data, stream};
  return on_backend(device.id, [&](auto backend) {
    using Backend = decltype(backend);
    switch (problem.dtype) {
      case DType::f16: return launch_f16<Backend>(args);
      case DType::bf16: return launch_bf16<Backend>(args);
      default: return launch_f32<Backend>(args);
    }
  });
}

static void plan_and_run(BatchNorm function, const BatchNormTensors& t, float eps, BatchNormLayout layout,
                         Stream stream) {
  run_cached(
      BatchNormProblem::of(function, layout, t, eps), [](auto& p, auto& d) { return plan_batch_norm(p, d); },
      t.x.device, stream,
      [&](const BatchNormPlan& plan, Workspace workspace) { return plan.run(t, workspace, stream); });
}

void batch_norm(const BatchNormTensors& t, float eps, BatchNormLayout layout, Stream stream) {
  plan_and_run(BatchNorm::inference, t, eps, layout, stream);
}
void batch_norm_stats(const BatchNormTensors& t, BatchNormLayout layout, Stream stream) {
  plan_and_run(BatchNorm::stats, t, 0, layout, stream);
}
void batch_norm_train(const BatchNormTensors& t, float eps, BatchNormLayout layout, Stream stream) {
  plan_and_run(BatchNorm::train, t, eps, layout, stream);
}

}  // namespace ridge
