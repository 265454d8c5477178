// validate -> fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/core/as_given.hpp>
#include <ridge/core/check_data.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/core/text.hpp>
#include <ridge/norm/launch.hpp>
#include <ridge/norm/model.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace ridge {

using namespace norm_detail;

static std::string_view op_name(Norm norm, bool added) {
  if (norm == Norm::layer) return added ? "add_layer_norm" : "layer_norm";
  return added ? "add_rms_norm" : "rms_norm";
}
static std::string_view op_name(const NormProblem& p) { return op_name(p.norm, p.added); }

// ---- what views need

namespace {
struct Named {
  std::string_view name;
  const TensorView* view;  // null: not given
};
using NamedViews = std::initializer_list<Named>;
}  // namespace

static const TensorView* given(const std::optional<TensorView>& view) { return view ? &*view : nullptr; }

static Status check_like(std::string_view op, const TensorView& x, NamedViews rows, NamedViews vectors) {
  if (x.rank() < 1) return Status::invalid(op, "x.shape", "scalar", "of at least one axis");
  const Layout vector = Layout::contiguous({x.size(-1)});
  for (const NamedViews& group : {rows, vectors})
    for (const auto& [name, view] : group) {
      if (!view) continue;
      const Layout& shape = std::data(group) == std::data(rows) ? x.layout : vector;
      const std::string argument(name);
      if (view->dtype != x.dtype)
        return Status::invalid(op, argument + ".dtype", std::string(ridge::name(view->dtype)),
                               "that of x, " + std::string(ridge::name(x.dtype)));
      if (!view->layout.same_shape(shape))
        return Status::invalid(op, argument + ".shape", view->layout.text(), shape.text());
      RIDGE_TRY(check_same_device(op, argument, view->device, "x", x.device));
      RIDGE_TRY(check_data(op, argument, *view));
    }
  return {};
}

// Outputs may overlap no input, but for those that they may be, and not each other.
static Status check_overlap(std::string_view op, NamedViews outputs, NamedViews replaceable, NamedViews others) {
  for (const auto* out = outputs.begin(); out != outputs.end(); ++out) {
    if (!out->view) continue;
    const auto refuse = [&](std::string_view other, const char* must) {
      return Status::invalid(op, std::string(out->name), "overlapping " + std::string(other), must);
    };
    for (const auto& [name, in] : replaceable)
      if (in && share_memory(*out->view, *in) && !same_elements(*out->view, *in))
        return refuse(name, "apart from it, or the same elements");
    for (const auto& [name, in] : others)
      if (in && share_memory(*out->view, *in)) return refuse(name, "apart from it");
    for (const auto* before = outputs.begin(); before != out; ++before)
      if (before->view && share_memory(*out->view, *before->view)) return refuse(before->name, "apart from it");
  }
  return {};
}

static NormProblem problem_of(Norm norm, double eps, const TensorView& x, const TensorView* (&&rows)[3],
                              NamedViews vectors) {
  NormProblem p{.norm = norm, .cols = x.size(-1), .dtype = x.dtype, .eps = eps};
  p.rows = rows_in(x.layout);
  const TensorView views[] = {x, rows[0] ? *rows[0] : x, rows[1] ? *rows[1] : x, rows[2] ? *rows[2] : x};
  rows_of(views, p.rows_lie.emplace());
  for (const auto& [name, view] : vectors)
    p.vectors_contiguous = p.vectors_contiguous && (!view || view->size(0) <= 1 || view->stride(0) == 1);
  return p;
}

Result<NormProblem> NormProblem::of(Norm norm, double eps, const NormTensors& t, Accumulate accumulate) {
  const bool added = t.residual || t.sum;
  const std::string_view op = op_name(norm, added);
  if (t.residual.has_value() != t.sum.has_value())
    return Status::invalid(op, t.sum ? "residual" : "sum", "missing", "given, as the other of the two is");
  const TensorView *residual = given(t.residual), *sum = given(t.sum), *gamma = given(t.gamma), *beta = given(t.beta);
  RIDGE_TRY(check_like(op, t.x, {{"y", &t.y}, {"x", &t.x}, {"residual", residual}, {"sum", sum}},
                       {{"gamma", gamma}, {"beta", beta}}));
  RIDGE_TRY(check_overlap(op, {{"y", &t.y}, {"sum", sum}}, {{"x", &t.x}, {"residual", residual}},
                          {{"gamma", gamma}, {"beta", beta}}));
  NormProblem p = problem_of(norm, eps, t.x, {&t.y, residual, sum}, {{"gamma", gamma}, {"beta", beta}});
  p.added = added;
  p.gamma = gamma != nullptr;
  p.beta = beta != nullptr;
  p.accumulate = accumulate;
  return p;
}

Result<NormProblem> NormProblem::of(Norm norm, double eps, const NormGradientTensors& t) {
  const std::string_view op = op_name(norm, t.dsum.has_value());
  const TensorView *gamma = given(t.gamma), *dsum = given(t.dsum), *dgamma = given(t.dgamma), *dbeta = given(t.dbeta);
  const NamedViews vectors = {{"gamma", gamma}, {"dgamma", dgamma}, {"dbeta", dbeta}};
  RIDGE_TRY(check_like(op, t.x, {{"dy", &t.dy}, {"x", &t.x}, {"dsum", dsum}, {"dx", &t.dx}}, vectors));
  RIDGE_TRY(check_overlap(op, {{"dx", &t.dx}, {"dgamma", dgamma}, {"dbeta", dbeta}}, {},
                          {{"dy", &t.dy}, {"x", &t.x}, {"gamma", gamma}, {"dsum", dsum}}));
  for (const auto& [name, view] : NamedViews{{"dgamma", dgamma}, {"dbeta", dbeta}})
    if (view) RIDGE_TRY(check_elements_apart(op, name, view->layout));
  NormProblem p = problem_of(norm, eps, t.x, {&t.dx, &t.dy, dsum}, vectors);
  p.backward = true;
  p.added = dsum != nullptr;
  p.gamma = gamma != nullptr;
  p.beta = false;
  p.dgamma = dgamma != nullptr;
  p.dbeta = dbeta != nullptr;
  return p;
}

static NormProblem with_layouts(NormProblem p) {
  const Rows rows = Rows::contiguous(p.rows, p.cols);
  if (!p.rows_lie) p.rows_lie = {rows, rows, rows, rows};
  return p;
}

std::string NormProblem::text() const {
  return std::string(name(dtype)) + " " + std::to_string(rows) + "x" + std::to_string(cols) +
         (backward ? " backward" : "") + (is_two_float(*this) ? ", in two floats" : "");
}

static Status validate(const NormProblem& p) {
  const std::string_view op = op_name(p);
  if (!Types::contains(p.dtype))
    return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of f32 f16 bf16 f64");
  if (p.accumulate == Accumulate::two_float && (p.dtype != f32 || p.backward))
    return Status::invalid(op, "accumulate", "two_float",
                           "left away: it is for rows of f32, forward, and " +
                               (p.backward ? "these are gradients" : "these are of " + std::string(name(p.dtype))));
  RIDGE_TRY(check_sizes(op, "shape", {p.rows, p.cols}));
  if (!(p.eps >= 0) || !std::isfinite(p.eps))
    return Status::invalid(op, "eps", number_text(p.eps), "finite and not negative");
  for (int i : {1, 3}) {
    const Rows& rows = (*p.rows_lie)[i];
    if (i == 3 && (p.backward || !p.added)) continue;  // an input, or none
    RIDGE_TRY(check_elements_apart(op, i == 3 ? "sum" : p.backward ? "dx" : "y", rows.layout(p.cols)));
  }
  return {};
}

// ---- which rows of the table take it

// And of the shortest, one that starts behind a boundary; and what of it is left for a cluster's last block.
static std::int64_t least_units(const NormProblem& p) {
  const std::int64_t of_unit = unit_bytes / element_bytes(p);
  return phases_of(p) > 1 || (*p.rows_lie)[0].phase != 0 ? std::max<std::int64_t>(p.cols - of_unit + 1, 0) / of_unit
                                                         : units(p);
}
static std::int64_t last_slice(const Config& c, const NormProblem& p) {
  const std::int64_t slice = (units(p) + c.cluster - 1) / c.cluster;
  return least_units(p) - (c.cluster - 1) * slice;
}

// Why 16-byte units do not lie alike in every row of every tensor; empty: they do.
static std::string units_differ(const NormProblem& p) {
  const Rows& x = (*p.rows_lie)[0];
  for (const Rows& rows : *p.rows_lie) {
    if (rows.step != 1) return "a row's elements are not contiguous";
    if (rows.outer.rank > 1) return "rows are not evenly spaced";
    if (rows.phase != x.phase || (rows.pitch() - x.pitch()) * element_bytes(p) % unit_bytes != 0)
      return "rows of the tensors start at different distances from 16-byte boundaries";
  }
  return p.vectors_contiguous ? "" : "gamma, beta or a gradient of them is not contiguous";
}

// Why this row cannot run this problem; empty: it can.
static std::string fits(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (is_two_float(p) && !c.two_float) return "it has no sums in two floats";
  if (c.method == Method::streaming) return {};
  if (c.method == Method::vector && p.backward) return "it has no gradient";
  if (keeps_sums(c) && !wants_sums(p) && c.method != Method::span_sums) return "it is for gradients of gamma and beta";
  if (c.overlaps && p.backward) return "it has no gradient";
  if (c.overlaps && p.rows > device.sms) return "it is for no more rows than there are multiprocessors";
  if (c.plain && use_of(p) != Use::plain) return "it has rows alone: no sum, no gradient";
  if (c.added && use_of(p) != Use::added) return "it is for rows with a residual";
  if (c.method == Method::span || c.method == Method::span_sums) {
    if (p.backward != (c.method == Method::span_sums)) return p.backward ? "it has no gradient" : "it is for gradients";
    if (p.cols > tile::span_most_cols)
      return "a row has " + std::to_string(p.cols) + " elements, and a thread keeps " +
             std::to_string(tile::span_most_cols);
    const Rows& x = (*p.rows_lie)[0];
    for (const Rows& rows : *p.rows_lie) {
      if (rows.step != 1) return "a row's elements are not contiguous";
      if (rows.outer.rank > 1 || (p.rows > 1 && rows.pitch() != p.cols)) return "there are gaps between rows";
      if (rows.phase != x.phase) return "the tensors start at different distances from 16-byte boundaries";
    }
    if (const int smem = span_shape(c, p, device).smem; smem > device.smem_optin)
      return std::to_string(smem) + " bytes of shared memory, and the device has " + std::to_string(device.smem_optin);
    return {};
  }
  if (p.dtype == f64) return "f64 has no 16-byte row of this kind";
  if (std::string why = units_differ(p); !why.empty()) return why;
  if (c.method == Method::vector) return {};
  if (c.method == Method::split) {
    if (slices_of(c, p, device).of_row < 2) return "rows are too short to be split, or as many as hold all blocks";
    return {};
  }
  if (c.four_bytes && element_bytes(p) != 4) return "it is for elements of 4 bytes";
  if (c.method == Method::short_rows || c.method == Method::short_sums || c.method == Method::even) {
    if (p.backward && c.method != Method::short_sums) return "it has no gradient";
    if (p.cols % (unit_bytes / element_bytes(p)) != 0 || (*p.rows_lie)[0].phase != 0 || phases_of(p) > 1)
      return "rows are not of whole 16-byte units, from a boundary on";
  }
  if (c.method == Method::short_rows || c.method == Method::short_sums) {
    if (units(p) > lanes(c))
      return "a row has " + std::to_string(units(p)) + " units of 16 bytes, and " + std::to_string(lanes(c)) +
             " are kept";
    return {};
  }
  // A cluster lies within a GPC. More than 8 blocks, of a multiprocessor each, are promised by none; those of an H100
  // and of an H200 have 16 and more, and those of smaller parts may not.
  constexpr int portable_cluster = 8, wide_clusters_from_sms = 100;
  if (c.cluster > portable_cluster && device.sms < wide_clusters_from_sms)
    return "clusters of " + std::to_string(c.cluster) + " blocks are for devices of " +
           std::to_string(wide_clusters_from_sms) + " multiprocessors and more";
  if (is_ring(c)) {
    if (device.cc != 90) return "the copy engine and clusters are of compute capability 9.0";
    if (p.backward) return "it has no gradient";
    const tile::RowRing ring = ring_of(c, p, device.smem_optin);
    if (ring.slice_units > ring_units(c) || ring.stages == 0)
      return "a row's slice has " + std::to_string(ring.slice_units) + " units of 16 bytes; " +
             std::to_string(ring_units(c)) + " are kept, and rows must fit in " + std::to_string(device.smem_optin) +
             " bytes of shared memory";
    return {};
  }
  if (c.cluster > 1 && device.cc != 90) return "clusters are of compute capability 9.0";
  if (c.cluster > 1 && units(p) < c.cluster)
    return "a row has " + std::to_string(units(p)) + " units of 16 bytes for " + std::to_string(c.cluster) + " blocks";
  if (const std::int64_t most = capacity(c, use_of(p)); units(p) > most)
    return "a row has " + std::to_string(units(p)) + " units of 16 bytes, and " + std::to_string(most) + " are kept";
  if (c.method == Method::fused) {
    if (p.rows >= std::int64_t{1} << 31) return "it counts rows in 31 bits";
    if (has_roles(c)) {
      if (element_bytes(p) != 2) return "it is for elements of 2 bytes";
      if (p.added) return "it has no dsum";
      if (const std::int64_t least = c.summing * c.cluster; least_units(p) < least || last_slice(c, p) < c.summing)
        return "a row has " + std::to_string(least_units(p)) + " units of 16 bytes for " + std::to_string(least) +
               " threads that sum it up";
      if (role_rows(c, p, device.smem_optin).stages == 0)
        return "three rows do not fit in " + std::to_string(device.smem_optin) + " bytes of shared memory";
      return {};
    }
    if (fused_rows(c, p, device.smem_optin).stages == 0)
      return "two rows for each that is worked on do not fit in " + std::to_string(device.smem_optin) +
             " bytes of shared memory";
    return {};
  }
  if (const int smem = smem_bytes(c, use_of(p)); smem > device.smem_optin)
    return std::to_string(smem) + " bytes of shared memory, and the device has " + std::to_string(device.smem_optin);
  return {};
}

std::size_t NormPlan::workspace_bytes() const {
  const SumsPlan sums = sums_plan(*this);
  if (variants[variant].config.method != Method::split || grid == 0) return sums.bytes;
  return partials_at(sums) + static_cast<std::size_t>(grid) * partial_floats * sizeof(float);
}

// ---- choose

static double predict_us(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p, device), device).us;
}

static Result<int> choose(const NormProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      op_name(p), variants, options, [&](const Variant& row) { return fits(row, p, device); },
      [&](const Variant& row) { return predict_us(row, p, device); }, record);
}

Result<NormPlan> plan_norm(const NormProblem& problem, const DeviceInfo& device, const PlanOptions& options) {
  const NormProblem p = with_layouts(problem);
  RIDGE_TRY(validate(p));
  const auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  const Config& c = variants[*chosen].config;
  const std::int64_t grid = grid_of(c, p, device);
  if (grid > max_grid)
    return Status::invalid(op_name(p), "rows", std::to_string(p.rows),
                           "at most " + std::to_string(max_grid / c.cluster * rows_per_block(c)));
  return NormPlan{p, device, *chosen, grid};
}

Explanation NormPlan::explain() const {
  Explanation e;
  e.op = op_name(problem);
  e.problem = problem.text();
  e.variant = variants[variant].name;
  e.workspace_bytes = workspace_bytes();
  roofline::account(e, kernel_of(variants[variant], problem, device), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

// ---- run

static Status check_planned(const NormPlan& plan, const Result<NormProblem>& views, const TensorView& x,
                            const Workspace& workspace) {
  if (!views) return views.error();
  const std::string_view op = op_name(plan.problem);
  if (*views != plan.problem) {
    // Tensors may start elsewhere than was planned for where the row takes them so.
    NormProblem planned = plan.problem;
    for (int i = 0; i < 4; ++i) (*planned.rows_lie)[i].phase = (*views->rows_lie)[i].phase;
    if (*views != planned || !fits(variants[plan.variant], *views, plan.device).empty())
      return not_as_planned(op, views->text(), planned.text());
  }
  RIDGE_TRY(check_device(op, x.device, plan.device));
  RIDGE_TRY(check_workspace(op, workspace, plan.workspace_bytes()));
  return {};
}

static Vector vector_of(const std::optional<TensorView>& v) {
  return v ? Vector{v->data, v->layout.stride[0]} : Vector{};
}
static void* data_of(const std::optional<TensorView>& v) { return v ? v->data : nullptr; }

// given: the problem of the tensors. Rings have more room for those off the units that were planned for.
static Status start(const NormPlan& planned, const NormProblem& given, const Operands& operands, Stream stream) {
  if (given.cols == 0 || (planned.grid == 0 && !wants_sums(given))) return {};
  return as_given(planned, given, [&](const NormPlan& plan) {
    return on_backend(plan.device.id, [&](auto backend) {
      if (is_two_float(given)) return launch_two_float<decltype(backend)>(plan, operands, stream);
      return Types::visit(given.dtype, Status{},
                          [&]<class T>() { return launch<decltype(backend), T>(plan, operands, stream); });
    });
  });
}

Status NormPlan::run(const NormTensors& t, Workspace workspace, Stream stream) const {
  const auto given = NormProblem::of(problem.norm, problem.eps, t, problem.accumulate);
  RIDGE_TRY(check_planned(*this, given, t.x, workspace));
  return start(*this, *given,
               {.x = t.x.data,
                .y = t.y.data,
                .other = data_of(t.residual),
                .added = data_of(t.sum),
                .gamma = vector_of(t.gamma),
                .beta = vector_of(t.beta),
                .workspace = workspace.data},
               stream);
}

Status NormPlan::run(const NormGradientTensors& t, Workspace workspace, Stream stream) const {
  const auto given = NormProblem::of(problem.norm, problem.eps, t);
  RIDGE_TRY(check_planned(*this, given, t.x, workspace));
  return start(*this, *given,
               {.x = t.x.data,
                .y = t.dx.data,
                .other = t.dy.data,
                .added = data_of(t.dsum),
                .gamma = vector_of(t.gamma),
                .dgamma = vector_of(t.dgamma),
                .dbeta = vector_of(t.dbeta),
                .workspace = workspace.data},
               stream);
}

// ---- one line

template <class Tensors>
static void plan_and_run(const Result<NormProblem>& problem, const Tensors& tensors, Stream stream) {
  run_cached(
      problem, [](auto& p, auto& d) { return plan_norm(p, d); }, tensors.x.device, stream,
      [&](const NormPlan& plan, Workspace workspace) { return plan.run(tensors, workspace, stream); });
}
static void run_forward(Norm norm, const NormTensors& tensors, const NormOptions& o, Stream stream) {
  plan_and_run(NormProblem::of(norm, o.eps, tensors, o.accumulate), tensors, stream);
}

void layer_norm(const TensorView& x, const TensorView& y, const NormOptions& o, Stream stream) {
  run_forward(Norm::layer, {.x = x, .gamma = o.gamma, .beta = o.beta, .y = y}, o, stream);
}
void rms_norm(const TensorView& x, const TensorView& y, const NormOptions& o, Stream stream) {
  run_forward(Norm::rms, {.x = x, .gamma = o.gamma, .beta = o.beta, .y = y}, o, stream);
}
void add_layer_norm(const TensorView& x, const TensorView& residual, const TensorView& y, const TensorView& sum,
                    const NormOptions& o, Stream stream) {
  run_forward(Norm::layer, {.x = x, .residual = residual, .gamma = o.gamma, .beta = o.beta, .y = y, .sum = sum}, o,
              stream);
}
void add_rms_norm(const TensorView& x, const TensorView& residual, const TensorView& y, const TensorView& sum,
                  const NormOptions& o, Stream stream) {
  run_forward(Norm::rms, {.x = x, .residual = residual, .gamma = o.gamma, .beta = o.beta, .y = y, .sum = sum}, o,
              stream);
}
void norm_gradients(Norm norm, const NormGradientTensors& t, double eps, Stream stream) {
  plan_and_run(NormProblem::of(norm, eps, t), t, stream);
}

}  // namespace ridge
