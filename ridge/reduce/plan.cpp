// validate -> fits -> model -> choose. Pure: no CUDA call, no global.
#include <ridge/core/check_data.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/reduce/families.hpp>
#include <ridge/reduce/launch.hpp>

#include <algorithm>
#include <limits>
#include <numeric>

namespace ridge {

using namespace reduce_detail;

std::string_view name(Reduce f) {
  constexpr std::string_view names[] = {"sum", "mean", "max", "min", "argmax", "argmin", "dot", "trace"};
  return names[static_cast<int>(f)];
}

ReduceProblem ReduceProblem::flat(Reduce f, DType dtype, std::int64_t n) {
  const Layout line = Layout::contiguous({n});
  return {.function = f, .dtype = dtype, .x = line, .z = line, .y = {}};
}

ReduceProblem ReduceProblem::rows(Reduce f, DType dtype, std::int64_t rows, std::int64_t cols) {
  const std::int64_t shape[] = {rows, cols};
  return along(f, dtype, shape, -1);
}

ReduceProblem ReduceProblem::trace(DType dtype, std::int64_t rows, std::int64_t cols) {
  const Layout line = diagonal(Layout::contiguous({rows, cols}));
  return {.function = Reduce::trace, .dtype = dtype, .x = line, .z = line, .y = {}};
}

ReduceProblem ReduceProblem::along(Reduce f, DType dtype, std::span<const std::int64_t> shape, int axis) {
  return along(f, dtype, shape, AxisSet::of({axis < 0 ? axis + static_cast<int>(shape.size()) : axis}));
}

ReduceProblem ReduceProblem::along(Reduce f, DType dtype, std::span<const std::int64_t> shape, AxisSet axes) {
  const Layout x = Layout::contiguous(shape), kept = without(x, axes);
  const Layout y = Layout::contiguous(std::span(kept.shape.data(), static_cast<std::size_t>(kept.rank)));
  return {.function = f, .dtype = dtype, .x = x, .z = x, .y = y, .axes = kept.rank == 0 ? AxisSet{} : axes};
}

// The widest access, in bytes, on which all inputs are co-aligned. One input is so on any.
static int reach(const void* x, const void* z, int element_bytes) {
  const int own = std::min(alignment_of(x), alignment_of(z));
  if (own < element_bytes || x == z) return own < element_bytes ? own : 16;
  const auto apart = reinterpret_cast<std::uintptr_t>(x) - reinterpret_cast<std::uintptr_t>(z);
  return alignment_of(reinterpret_cast<const void*>(apart));
}

Result<ReduceProblem> ReduceProblem::of(Reduce f, const TensorView& x, const TensorView* z, const TensorView& y,
                                        int axis, Accumulate accumulate) {
  if (y.rank() == 0 || x.rank() == 0) return of(f, x, z, y, AxisSet{}, accumulate);
  const std::int64_t given = axis;
  const auto axes = AxisSet::of(name(f), std::span(&given, 1), x.rank());
  if (!axes) return axes.error();
  return of(f, x, z, y, *axes, accumulate);
}

// y without the axes of 1 that stand where x's are reduced, if it has them.
static Layout without_kept_axes(const Layout& y, const Layout& x, AxisSet axes) {
  if (y.rank != x.rank || axes.count() == 0) return y;
  const Layout ones = within(y, axes);
  for (int axis = 0; axis < ones.rank; ++axis)
    if (ones.shape[axis] != 1) return y;
  return without(y, axes);
}

Result<ReduceProblem> ReduceProblem::of(Reduce f, const TensorView& x, const TensorView* z, const TensorView& y,
                                        AxisSet axes, Accumulate accumulate) {
  const std::string_view op = name(f);
  RIDGE_TRY(check_extent(op, "x", x.layout));
  if (z && z->dtype != x.dtype)
    return Status::invalid(op, "z.dtype", std::string(name(z->dtype)), "that of x, " + std::string(name(x.dtype)));
  if (z && !z->layout.same_shape(x.layout))
    return Status::invalid(op, "z.shape", z->layout.text(), "that of x, " + x.layout.text());
  if (y.dtype != result_type(f, x.dtype))
    return Status::invalid(op, "y.dtype", std::string(name(y.dtype)), std::string(name(result_type(f, x.dtype))));
  for (const TensorView* input : {&x, z ? z : &x}) {
    const std::string label = input == z ? "z" : "x";
    RIDGE_TRY(check_same_device(op, "y", y.device, "x", x.device));
    RIDGE_TRY(check_same_device(op, label, input->device, "x", x.device));
    RIDGE_TRY(check_no_overlap(op, "y", y, label, *input));
  }
  RIDGE_TRY(check_data(op, "y", y));
  if (f == Reduce::trace && x.rank() != 2) return Status::invalid(op, "x.shape", x.layout.text(), "of 2 axes");
  const Layout layout = f == Reduce::trace ? diagonal(x.layout) : x.layout;
  const Layout results = without_kept_axes(y.layout, layout, axes);
  return ReduceProblem{.function = f,
                       .dtype = x.dtype,
                       .x = layout,
                       .z = z ? z->layout : layout,
                       .y = results,
                       .alignment = reach(x.data, z ? z->data : x.data, static_cast<int>(size_of(x.dtype))),
                       .start = alignment_of(x.data),
                       .axes = y.rank() == 0 ? AxisSet{} : axes,
                       .accumulate = accumulate};
}

static bool has_identity(Reduce f) {
  return f == Reduce::sum || f == Reduce::mean || f == Reduce::dot || f == Reduce::trace;
}

static bool finds_index(Reduce f) { return f == Reduce::argmax || f == Reduce::argmin; }

static std::string along_text(const ReduceProblem& p) {
  if (p.y.rank == 0) return "";
  if (p.axes == AxisSet::of({p.x.rank - 1})) return ", last axis";
  return (p.axes.count() == 1 ? ", axis " : ", axes ") + p.axes.text();
}

std::string ReduceProblem::text() const {
  return std::string(name(dtype)) + " " + x.text() + along_text(*this) +
         (accumulate == Accumulate::two_float ? ", in two floats" : "");
}

static Status validate(const ReduceProblem& p) {
  const std::string_view op = name(p.function);
  if (!Types::contains(p.dtype)) {
    std::string known;
    for (int i = 0; i < dtype_count; ++i)
      if (Types::contains(static_cast<DType>(i))) known += " " + std::string(name(static_cast<DType>(i)));
    return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of" + known);
  }
  if (p.accumulate == Accumulate::two_float && (p.dtype != f32 || !has_identity(p.function)))
    return Status::invalid(op, "accumulate", "two_float",
                           "left out: it is for sum, mean, dot and trace of f32, and this is " + std::string(op) +
                               " of " + std::string(name(p.dtype)));
  for (const auto& [argument, layout] : {std::pair("x", &p.x), std::pair("z", &p.z), std::pair("y", &p.y)})
    RIDGE_TRY(check_extent(op, argument, *layout));
  if (!p.z.same_shape(p.x)) return Status::invalid(op, "z.shape", p.z.text(), "that of x, " + p.x.text());
  if ((p.function == Reduce::dot || p.function == Reduce::trace) && p.y.rank != 0)
    return Status::invalid(op, "y.shape", p.y.text(), "a scalar");
  if (p.y.rank != 0) {
    if (p.axes.count() == 0 || p.axes.bits >> p.x.rank)
      return Status::invalid(op, "axes", "'" + p.axes.text() + "'",
                             "from 0 to " + std::to_string(p.x.rank - 1) + ", the axes of x");
    if (p.axes.count() > 1 && finds_index(p.function))
      return Status::invalid(op, "axis", p.axes.text(), "one alone, or left out for all axes");
    if (const Layout kept = without(p.x, p.axes); !p.y.same_shape(kept))
      return Status::invalid(op, "y.shape", p.y.text(),
                             std::string("a scalar, or x without its ") + (p.axes.count() == 1 ? "axis " : "axes ") +
                                 p.axes.text() + ", " +
                                 Layout::contiguous(std::span(kept.shape.data(), kept.rank)).text() +
                                 ", or with 1 in their places");
  }
  RIDGE_TRY(check_elements_apart(op, "y", p.y));
  if (!has_identity(p.function) && p.y.count() > 0 && p.x.count() == 0)
    return Status::invalid(op, "x.shape", p.x.text(), "one with an element for each result");
  if (p.alignment < static_cast<int>(size_of(p.dtype)))
    return Status::invalid(op, "alignment", std::to_string(p.alignment) + " bytes",
                           "a multiple of an element's " + std::to_string(size_of(p.dtype)) + " bytes");
  return {};
}

namespace {

// A problem in the kernels' terms.
struct Geometry {
  ReduceAxes axes;
  Extent extent;
};

// Sorts the axes of all layouts by the first one's strides: neighbours last, so that they merge and are read side by
// side; broadcast axes first.
void sort_axes(std::vector<Layout>& views) {
  const Layout first = views[0];
  std::array<int, max_rank> order{};
  std::iota(order.begin(), order.end(), 0);
  const auto distance = [&](int axis) {
    const std::int64_t stride = first.stride[axis];
    return stride == 0 ? std::numeric_limits<std::int64_t>::max() : std::abs(stride);
  };
  std::stable_sort(order.begin(), order.begin() + first.rank, [&](int a, int b) { return distance(a) > distance(b); });
  for (Layout& view : views) {
    const Layout was = view;
    for (int axis = 0; axis < was.rank; ++axis) {
      view.shape[axis] = was.shape[order[axis]];
      view.stride[axis] = was.stride[order[axis]];
    }
  }
}

Geometry geometry_of(const ReduceProblem& p) {
  Geometry g;
  std::vector<Layout> kept{Layout{}, Layout{}}, reduced{p.x, p.z};  // x and y; x and z
  if (p.y.rank != 0) {
    kept = {without(p.x, p.axes), p.y};
    reduced = {within(p.x, p.axes), within(p.z, p.axes)};
  }
  sort_axes(kept);
  if (!finds_index(p.function)) sort_axes(reduced);
  collapse(kept);
  collapse(reduced);
  g.axes.outer = kept[0].rank;
  g.axes.rank = kept[0].rank + reduced[0].rank;
  for (int axis = 0; axis < g.axes.rank; ++axis) {
    const bool is_row = axis < g.axes.outer;
    const auto& views = is_row ? kept : reduced;
    const int from = is_row ? axis : axis - g.axes.outer;
    g.axes.shape[axis] = views[0].shape[from];
    g.axes.x[axis] = views[0].stride[from];
    (is_row ? g.axes.y : g.axes.z)[axis] = views[1].stride[from];
  }
  g.extent = {.rows = kept[0].count(), .cols = reduced[0].count()};
  const int last = g.axes.outer - 1;
  const bool contiguous = has_contiguous_rows(g.axes, g.extent);
  if (last >= 0 && (g.extent.cols == 1 || !contiguous)) {  // lanes on neighbouring rows, if those are nearer
    const std::int64_t across = std::abs(g.axes.x[last]);
    if (g.extent.cols == 1 || (across != 0 && across < std::abs(g.axes.x[g.axes.rank - 1])))
      g.extent.inner = g.axes.shape[last];
  }
  return g;
}

}  // namespace

// ---- choose ------------------------------------------------------------------------------------------------------

// by_name: the variant that is asked for by its name.
static Result<int> choose(const ReducePlan& plan, const PlanOptions& options, std::string_view by_name,
                          std::vector<Candidate>* record = nullptr) {
  const auto request = [&](const Variant& row) {
    return Request{plan.problem, plan.axes, plan.extent, row.name == by_name};
  };
  return select<Variant>(
      name(plan.problem.function), variants, options,
      [&](const Variant& row) { return family_of(row).fits(row, request(row), plan.device); },
      [&](const Variant& row) {
        return roofline::predict(family_of(row).model(row, request(row), plan.device), plan.device).us;
      },
      record);
}

Result<ReducePlan> plan_reduce(const ReduceProblem& problem, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(problem));
  const Geometry g = geometry_of(problem);
  ReducePlan plan{problem, device, g.axes, g.extent};
  const auto chosen = choose(plan, options, options.variant);
  if (!chosen) return chosen.error();
  plan.variant = *chosen;
  if (g.extent.rows == 0) return plan;
  const Variant& row = variants[*chosen];
  const Config c = config_of(row.config, problem.function);
  const Footprint launch = family_of(row).footprint(row, {problem, g.axes, g.extent}, device);
  plan.slices = partition_of(c).slices(c, g.extent, element_bytes(problem), device.sms);
  plan.grid = launch.grid;
  plan.smem = launch.smem;
  plan.workspace = launch.workspace;
  return plan;
}

Explanation ReducePlan::explain() const {
  const Variant& row = variants[variant];
  Explanation e;
  e.op = name(problem.function);
  e.problem = problem.text();
  e.variant = row.name;
  e.workspace_bytes = workspace;
  roofline::account(e, family_of(row).model(row, {problem, axes, extent}, device), device);
  (void)choose(*this, {}, row.name, &e.candidates);
  return e;
}

// ---- run ---------------------------------------------------------------------------------------------------------

// Tensors may start at other alignments than planned if the variant takes them.
static Status check_planned(const ReducePlan& plan, ReduceProblem given) {
  const ReduceProblem& planned = plan.problem;
  const std::string_view op = name(planned.function);
  const Variant& row = variants[plan.variant];
  const int access = row.config.access_bytes;
  if (given.alignment < std::min(planned.alignment, std::max(access, element_bytes(planned))))
    return Status::invalid(op, "alignment", std::to_string(given.alignment) + " bytes",
                           "as planned, " + std::to_string(planned.alignment) + " bytes");
  if (given.start < planned.start) {
    ReduceProblem moved = planned;
    moved.start = given.start;
    if (!family_of(row).fits(row, {moved, plan.axes, plan.extent}, plan.device).empty())
      return Status::invalid(op, "x.data", "at an address that is not a multiple of " + std::to_string(access),
                             "as planned, a multiple of " + std::to_string(planned.start));
  }
  given.alignment = planned.alignment;
  given.start = planned.start;
  if (given.y.rank == 0) given.axes = planned.axes;  // a scalar, or kept axes of 1: the same element
  return given == planned ? Status{} : not_as_planned(op, given.text(), planned.text());
}

static Status check_scratch(const ReducePlan& plan, const Workspace& scratch) {
  const std::string_view op = name(plan.problem.function);
  RIDGE_TRY(check_workspace(op, scratch, plan.workspace));
  if (plan.workspace && alignment_of(scratch.data) < 16)
    return Status::invalid(op, "workspace", "at an address that is not a multiple of 16", "aligned to 256 bytes");
  return {};
}

template <class Backend> static Status launch_on(const Arguments& args) {
  if (args.plan.problem.accumulate == Accumulate::two_float) return launch_two_float<Backend>(args);
  switch (args.plan.problem.function) {
    case Reduce::sum:
    case Reduce::trace:
    case Reduce::mean: return launch_sum<Backend>(args);
    case Reduce::max:
    case Reduce::min: return launch_extreme<Backend>(args);
    case Reduce::argmax:
    case Reduce::argmin: return launch_arg<Backend>(args);
    case Reduce::dot: return launch_dot<Backend>(args);
  }
  return {};
}

Status ReducePlan::run(const TensorView& x, const TensorView& z, const TensorView& y, Workspace scratch,
                       Stream stream) const {
  const bool two = arity(problem.function) == 2;
  const auto given = ReduceProblem::of(problem.function, x, two ? &z : nullptr, y, problem.axes, problem.accumulate);
  if (!given) return given.error();
  RIDGE_TRY(check_planned(*this, *given));
  RIDGE_TRY(check_device(name(problem.function), x.device, device));
  RIDGE_TRY(check_scratch(*this, scratch));
  if (extent.rows == 0) return {};
  const Arguments args{*this, x.data, two ? z.data : nullptr, y.data, scratch.data, stream};
  return on_backend(device.id, [&](auto backend) { return launch_on<decltype(backend)>(args); });
}

static void plan_and_run(const Result<ReduceProblem>& problem, const TensorView& x, const TensorView* z,
                         const TensorView& y, Stream stream) {
  run_cached(
      problem, [](auto& p, auto& d) { return plan_reduce(p, d); }, y.device, stream,
      [&](const ReducePlan& plan, Workspace w) { return plan.run(x, z ? *z : x, y, w, stream); });
}

template <class Axis>
static void reduce_one(Reduce f, const TensorView& x, Axis axis, const TensorView& y, Stream stream,
                       Accumulate accumulate) {
  if (arity(f) != 1) throw Error(Status::invalid(name(f), "the number of inputs", "1", "2"));
  plan_and_run(ReduceProblem::of(f, x, nullptr, y, axis, accumulate), x, nullptr, y, stream);
}
void reduce(Reduce f, const TensorView& x, int axis, const TensorView& y, Stream stream, Accumulate accumulate) {
  reduce_one(f, x, axis, y, stream, accumulate);
}
void reduce(Reduce f, const TensorView& x, AxisSet axes, const TensorView& y, Stream stream, Accumulate accumulate) {
  reduce_one(f, x, axes, y, stream, accumulate);
}

void reduce(Reduce f, const TensorView& x, const TensorView& y, Stream stream) { reduce(f, x, -1, y, stream); }

void dot(const TensorView& x, const TensorView& z, const TensorView& y, Stream stream, Accumulate accumulate) {
  plan_and_run(ReduceProblem::of(Reduce::dot, x, &z, y, AxisSet{}, accumulate), x, &z, y, stream);
}

}  // namespace ridge
