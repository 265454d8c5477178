// embedding_norm: problem, plan, and the operator by name. Pure, except run().
#include <ridge/core/check_data.hpp>
#include <ridge/core/check_indices.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/op.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/core/rows.hpp>
#include <ridge/core/text.hpp>
#include <ridge/embedding/norm_launch.hpp>
#include <ridge/embedding/norm_variants.hpp>
#include <ridge/roofline/predict.hpp>

#include <algorithm>
#include <cmath>

namespace ridge {

using namespace embedding_norm_detail;

static constexpr std::string_view op = "embedding_norm";

// ---- problem

EmbeddingNormProblem EmbeddingNormProblem::contiguous(DType dtype, std::int64_t rows, std::int64_t cols, std::int64_t n,
                                                      const EmbeddingNormOptions& options) {
  EmbeddingNormProblem p{.rows = rows, .cols = cols, .n = n, .dtype = dtype, .options = options};
  p.table_pitch = rows > 1 ? cols : 0;
  const Layout counted = Layout::contiguous({n});
  Layout merged[] = {counted, counted, counted};
  merged[0].stride[0] = merged[1].stride[0] = std::max<std::int64_t>(cols, 1);
  collapse(merged);
  p.x_rows = merged[0];
  p.y_rows = merged[1];
  p.indices = merged[2];
  return p;
}

namespace {
struct Named {
  std::string_view name;
  const TensorView* view;  // null: not given
};
}  // namespace

static const TensorView* given(const std::optional<TensorView>& view) { return view ? &*view : nullptr; }

// The shape of x and y.
static Layout shape_of_rows(const Layout& indices, std::int64_t cols) {
  std::array<std::int64_t, max_rank> shape = indices.shape;
  shape[static_cast<std::size_t>(indices.rank)] = cols;
  return Layout::contiguous(std::span(shape.data(), static_cast<std::size_t>(indices.rank + 1)));
}

static Status check_ranks(const TensorView& table, const TensorView& indices) {
  if (table.rank() != 2) return Status::invalid(op, "table.shape", table.layout.text(), "of 2 axes");
  if (indices.rank() >= max_rank)
    return Status::invalid(op, "indices.shape", indices.layout.text(),
                           "of at most " + std::to_string(max_rank - 1) + " axes");
  return {};
}

static Status check_like(const EmbeddingNormTensors& t) {
  RIDGE_TRY(check_ranks(t.table, t.indices));
  if (t.indices.dtype != DType::i32 && t.indices.dtype != DType::i64)
    return Status::invalid(op, "indices.dtype", std::string(name(t.indices.dtype)), "i32 or i64");
  const Layout vector = Layout::contiguous({t.table.size(1)}), rows = shape_of_rows(t.indices.layout, t.table.size(1));
  const struct {
    Named tensor;
    const Layout& shape;
  } all[] = {{{"table", &t.table}, t.table.layout},
             {{"gamma", given(t.gamma)}, vector},
             {{"beta", given(t.beta)}, vector},
             {{"x", &t.x}, rows},
             {{"y", &t.y}, rows}};
  for (const auto& [tensor, shape] : all) {
    if (!tensor.view) continue;
    const std::string argument(tensor.name);
    if (tensor.view->dtype != t.table.dtype)
      return Status::invalid(op, argument + ".dtype", std::string(name(tensor.view->dtype)),
                             "that of table, " + std::string(name(t.table.dtype)));
    if (!tensor.view->layout.same_shape(shape))
      return Status::invalid(op, argument + ".shape", tensor.view->layout.text(), shape.text());
  }
  return {};
}

Result<EmbeddingNormProblem> EmbeddingNormProblem::of(const EmbeddingNormTensors& t,
                                                      const EmbeddingNormOptions& options) {
  RIDGE_TRY(check_like(t));
  const TensorView *gamma = given(t.gamma), *beta = given(t.beta);
  const Named all[] = {{"table", &t.table}, {"indices", &t.indices}, {"gamma", gamma}, {"beta", beta}, {"x", &t.x},
                       {"y", &t.y}};
  EmbeddingNormProblem p{.rows = t.table.size(0), .cols = t.table.size(1), .n = t.indices.count()};
  for (const Named* tensor = std::begin(all); tensor != std::end(all); ++tensor) {
    if (!tensor->view) continue;
    const TensorView& view = *tensor->view;
    RIDGE_TRY(check_same_device(op, tensor->name, view.device, "y", t.y.device));
    RIDGE_TRY(check_data(op, tensor->name, view));
    if (&view != &t.indices) p.alignment = std::min(p.alignment, alignment_of(view.data));
    if (&view != &t.x && &view != &t.y) continue;
    for (const Named* before = std::begin(all); before != tensor; ++before)
      if (before->view && share_memory(view, *before->view))
        return Status::invalid(op, std::string(tensor->name), "overlapping " + std::string(before->name),
                               "apart from it");
  }
  p.dtype = t.table.dtype;
  p.index = t.indices.dtype;
  p.options = options;
  p.gamma = gamma != nullptr;
  p.beta = beta != nullptr;
  p.table_pitch = p.rows > 1 ? t.table.stride(0) : 0;
  const auto step = [&](const TensorView* view) { return view && p.cols > 1 ? view->stride(-1) : 1; };
  p.table_step = step(&t.table);
  p.gamma_step = step(gamma);
  p.beta_step = step(beta);
  p.x_step = step(&t.x);
  p.y_step = step(&t.y);
  Layout merged[] = {t.x.layout, t.y.layout, t.indices.layout};
  merged[0].rank = merged[1].rank = t.indices.rank();
  collapse(merged);
  p.x_rows = merged[0];
  p.y_rows = merged[1];
  p.indices = merged[2];
  return p;
}

std::string EmbeddingNormProblem::text() const {
  Text text;
  text << name(dtype) << " " << n << " of " << rows << "x" << cols << (options.mode == Norm::rms ? ", rms" : ", layer");
  return text.str();
}

static Status validate(const EmbeddingNormProblem& p) {
  if (!Types::contains(p.dtype))
    return Status::invalid(op, "table.dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  RIDGE_TRY(check_sizes(op, "table.shape", {p.rows, p.cols}));
  RIDGE_TRY(check_sizes(op, "y.shape", {p.n, p.cols}));
  RIDGE_TRY(check_eps(op, p.options.eps, p.dtype));
  if (!std::isfinite(p.options.scale)) return Status::invalid(op, "scale", number_text(p.options.scale), "finite");
  RIDGE_TRY(check_elements_apart(op, "x", Rows{p.x_rows, p.x_step}.layout(p.cols)));
  return check_elements_apart(op, "y", Rows{p.y_rows, p.y_step}.layout(p.cols));
}

// ---- fits

// Why this row cannot run this problem; empty: it can.
static std::string fits(const Variant& row, const EmbeddingNormProblem& p) {
  const Config& c = row.config;
  if (c.method == Method::streaming) return {};
  const std::int64_t vector = vector_elements(p.dtype);
  if (p.table_step != 1 || p.x_step != 1 || p.y_step != 1) return "a row's elements are not contiguous";
  if (p.gamma_step != 1 || p.beta_step != 1) return "gamma or beta is not contiguous";
  if (p.x_rows.rank > 1) return "rows of x, y or indices are not evenly spaced";
  if (p.cols % vector != 0) return "cols not a multiple of " + std::to_string(vector);
  const auto on_vectors = [&](const Layout& rows) { return rows.rank == 0 || rows.stride[0] % vector == 0; };
  if (p.table_pitch % vector != 0 || !on_vectors(p.x_rows) || !on_vectors(p.y_rows))
    return "rows do not start on 16 bytes";
  if (p.alignment < vector_bytes) return "table, gamma, beta, x or y does not start on 16 bytes";
  if (vectors(p) > capacity(c))
    return "a row has " + std::to_string(vectors(p)) + " vectors of 16 bytes, and " + std::to_string(capacity(c)) +
           " are kept";
  return {};
}

// ---- cost

static double elements(const EmbeddingNormProblem& p) { return static_cast<double>(p.n) * static_cast<double>(p.cols); }

static Cost cost(const EmbeddingNormProblem& p) {
  const double size = static_cast<double>(size_of(p.dtype)), cols = static_cast<double>(p.cols);
  Cost c;
  // Repeated indices may read a row only once, which no plan knows. A table is read at most once.
  c.bytes_read = std::min(elements(p), static_cast<double>(p.rows) * cols) * size +
                 static_cast<double>(p.n) * static_cast<double>(size_of(p.index));
  if (p.n > 0) c.bytes_read += cols * size * (p.gamma + p.beta);
  c.bytes_written = 2 * elements(p) * size;
  // Square, its sum, scale, gamma and beta; for a mean also the distance, its sum, and the deviation.
  c.on(Unit::fp32) = elements(p) * ((p.options.mode == Norm::rms ? 5 : 10) + (p.options.scale != 1));
  return c;
}

static roofline::Kernel kernel_of(const Variant& row, const EmbeddingNormProblem& p) {
  const Config& c = row.config;
  const bool rms = p.options.mode == Norm::rms, is_16_bits = size_of(p.dtype) == 2;
  const double size = static_cast<double>(size_of(p.dtype)), cols = static_cast<double>(p.cols);
  roofline::Kernel k;
  k.cost = cost(p);
  k.blocks = grid_of(c, p);
  k.block = {.threads = c.threads, .registers = registers(c)};
  k.bytes_read = k.cost.bytes_read;
  k.bytes_written = k.cost.bytes_written;
  // Clocks of a multiprocessor for 32 elements: those of a norm, and those of writing x.
  k.clocks = elements(p) / 32 * (is_16_bits ? 5 : 3);
  if (c.method == Method::streaming) {
    // One pass writes x, one or two sum, one writes y; passes after the first read the row from a cache.
    const double passes = rms ? 3 : 4, at_once = 4;
    k.l2_bytes = (passes - 1) * elements(p) * size;
    k.trips = 1 + passes * std::max(std::ceil(cols / lanes(c) / at_once), 1.0);
    k.trip_bytes = std::min(cols * c.rows, at_once * c.threads) * size;
    k.block_us = 0.25;
    k.clocks *= 4;
    return k;
  }
  // Reductions and passes over each vector of a lane cost as much as in norm's resident kernels
  // (ridge/norm/resident.hpp, fitted to an H200); mode layer reduces twice.
  const double of_lane = std::max(std::ceil(static_cast<double>(vectors(p)) / lanes(c)), 1.0);
  const double reduction_us = c.rows > 1 ? 0.2 : 0.6 + 0.01 * c.threads / 32;
  k.trips = 2;  // the index, and the row
  k.trip_bytes = cols * size * c.rows;
  k.block_us = reduction_us * (rms ? 1 : 1.5) + (is_16_bits ? 0.3 : 0.1) * of_lane;
  k.tile_efficiency = static_cast<double>(vectors(p)) / static_cast<double>(capacity(c));
  return k;
}

// ---- choose

static double predict_us(const Variant& row, const EmbeddingNormProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p), device).us;
}

static Result<int> choose(const EmbeddingNormProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      op, variants, options, [&](const Variant& row) { return fits(row, p); },
      [&](const Variant& row) { return predict_us(row, p, device); }, record);
}

Result<EmbeddingNormPlan> plan_embedding_norm(const EmbeddingNormProblem& p, const DeviceInfo& device,
                                              const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  const auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  const Config& c = variants[*chosen].config;
  const std::int64_t grid = grid_of(c, p);
  if (grid > max_grid)
    return Status::invalid(op, "the number of indices", std::to_string(p.n),
                           "at most " + std::to_string(max_grid * c.rows) + " for this variant");
  return EmbeddingNormPlan{p, device, *chosen, grid, options.checked.value_or(false)};
}

Explanation EmbeddingNormPlan::explain() const {
  Explanation e;
  e.op = op;
  e.problem = problem.text();
  e.variant = variants[variant].name;
  roofline::account(e, kernel_of(variants[variant], problem), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

// ---- run

Status EmbeddingNormPlan::run(const EmbeddingNormTensors& t, Stream stream) const {
  auto views = EmbeddingNormProblem::of(t, problem.options);
  if (!views) return views.error();
  // Tensors may have a higher alignment than planned.
  views->alignment = std::min(views->alignment, problem.alignment);
  if (*views != problem) return not_as_planned(op, views->text(), problem.text());
  RIDGE_TRY(check_device(op, t.y.device, device));
  if (grid == 0) return {};
  if (checked) RIDGE_TRY(check_indices(op, "indices", t.indices, problem.rows, "the rows of table", stream));
  return on_backend(device.id, [&](auto backend) { return launch<decltype(backend)>(*this, t, stream); });
}

void embedding_norm(const EmbeddingNormTensors& t, const EmbeddingNormOptions& options, Stream stream) {
  run_cached(
      EmbeddingNormProblem::of(t, options), [](auto& p, auto& d) { return plan_embedding_norm(p, d); }, t.y.device,
      stream, [&](const EmbeddingNormPlan& plan, Workspace) { return plan.run(t, stream); });
}

// ---- by name --------------------------------------------------------------------------------------------------------

static const OpInfo& info();

// The checklist item of a table row.
static std::string_view checklist_item(const Variant& row) {
  if (row.config.method == Method::streaming) return {};
  return row.name == "warp_128" ? "coarsening" : "tiling";
}

static Result<EmbeddingNormOptions> options_of(const Options& options) {
  const std::string_view mode = options.text("mode", "rms");
  if (mode != "rms" && mode != "layer")
    return Status::invalid(op, "mode", "'" + std::string(mode) + "'", "rms or layer");
  EmbeddingNormOptions o{.mode = mode == "rms" ? Norm::rms : Norm::layer};
  auto eps = options.real(op, "eps", o.eps);
  if (!eps) return eps.error();
  auto scale = options.real32(op, "scale", o.scale);
  if (!scale) return scale.error();
  o.eps = *eps;
  o.scale = *scale;
  return o;
}

static EmbeddingNormTensors tensors_of(std::span<const std::string_view> names, Views in, Views out) {
  const auto view_if = [&](std::string_view wanted) {
    const TensorView* found = find_view(in, names, wanted);
    return found ? std::optional(*found) : std::nullopt;
  };
  return {
      .table = in[0], .indices = in[1], .gamma = view_if("gamma"), .beta = view_if("beta"), .x = out[0], .y = out[1]};
}

static Result<std::vector<TensorType>> infer(Views in, const Options&) {
  RIDGE_TRY(check_ranks(in[0], in[1]));
  const Layout rows = shape_of_rows(in[1].layout, in[0].size(1));
  const TensorType type{in[0].dtype, {rows.shape.begin(), rows.shape.begin() + rows.rank}};
  return std::vector<TensorType>{type, type};
}

static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto asked = options_of(options);
  if (!asked) return asked.error();
  auto names = input_names(info(), options, in.size());
  if (!names) return names.error();
  auto problem = EmbeddingNormProblem::of(tensors_of(*names, in, out), *asked);
  if (!problem) return problem.error();
  auto checked = options.flag_if_given(op, "checked");
  if (!checked) return checked.error();
  auto plan =
      plan_embedding_norm(*problem, device, {.variant = std::string(options.text("variant")), .checked = *checked});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [n = *names](const EmbeddingNormPlan& p, Views x, Views y, const Workspace&,
                                                     Stream stream) { return p.run(tensors_of(n, x, y), stream); });
}

static const OpInfo& info() {
  static const OpInfo instance{
      .name = op,
      .family = "embedding",
      .summary = "x = rows of a table by index, zeros where there is no such row; y = their norm",
      .inputs = {"table", "indices", "gamma", "beta"},
      .outputs = {"x", "y"},
      .dtypes = {f32, f16, bf16},
      .options = {{"mode", "rms|layer", "which norm", "rms"},
                  {"eps", "float", "added inside the root", "1e-5"},
                  {"scale", "number", "of x, before the norm", "1"},
                  {"checked", "0|1", "indices of no row are refused, for which a GPU is waited for", "0"}},
      .variants = variant_infos(variants, checklist_item),
      .infer = infer,
      .plan = plan_by_name,
      .optional = {"gamma", "beta"}};
  return instance;
}

static const RegisterOp registered(info());

}  // namespace ridge
