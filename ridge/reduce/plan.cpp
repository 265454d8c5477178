// validate -> fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/core/plan_cache.hpp>
#include <ridge/reduce/launch.hpp>
#include <ridge/reduce/variants.hpp>
#include <ridge/roofline/predict.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ridge {

using namespace reduce_detail;

std::string_view name(Reduce f) {
  constexpr std::string_view names[] = {"sum", "mean", "max", "min", "argmax", "argmin", "dot"};
  return names[static_cast<int>(f)];
}

ReduceProblem ReduceProblem::flat(Reduce f, DType dtype, std::int64_t n) {
  const Layout line = Layout::contiguous({n});
  return {f, dtype, line, line, Layout{}, 16};
}

ReduceProblem ReduceProblem::rows(Reduce f, DType dtype, std::int64_t rows, std::int64_t cols) {
  const Layout matrix = Layout::contiguous({rows, cols});
  return {f, dtype, matrix, matrix, Layout::contiguous({rows}), 16};
}

// The widest access, in bytes, that every input meets after the same few elements. One input meets any.
static int reach(const void* x, const void* z, int element_bytes) {
  const int own = std::min(alignment_of(x), alignment_of(z));
  if (own < element_bytes || x == z) return own < element_bytes ? own : 16;
  const auto apart = reinterpret_cast<std::uintptr_t>(x) - reinterpret_cast<std::uintptr_t>(z);
  return alignment_of(reinterpret_cast<const void*>(apart));
}

Result<ReduceProblem> ReduceProblem::of(Reduce f, const TensorView& x, const TensorView* z, const TensorView& y) {
  const std::string_view op = name(f);
  if (z && z->dtype != x.dtype)
    return Status::invalid(op, "z.dtype", std::string(name(z->dtype)), "that of x, " + std::string(name(x.dtype)));
  if (z && !z->layout.same_shape(x.layout))
    return Status::invalid(op, "z.shape", z->layout.text(), "that of x, " + x.layout.text());
  if (y.dtype != result_type(f, x.dtype))
    return Status::invalid(op, "y.dtype", std::string(name(y.dtype)), std::string(name(result_type(f, x.dtype))));
  for (const TensorView* input : {&x, z ? z : &x}) {
    const std::string label = input == z ? "z" : "x";
    if (input->device != x.device || y.device != x.device)
      return Status::invalid(op, y.device != x.device ? "y.device" : label + ".device", "another", "that of x");
    if (overlap(*input, y)) return Status::invalid(op, "y", "overlapping " + label, "apart from it");
  }
  const int y_bytes = static_cast<int>(size_of(y.dtype));
  if (alignment_of(y.data) < y_bytes)
    return Status::invalid(op, "y.data", "at an address that is no multiple of " + std::to_string(y_bytes),
                           "aligned to an element");
  return ReduceProblem{f,        x.dtype,
                       x.layout, z ? z->layout : x.layout,
                       y.layout, reach(x.data, z ? z->data : x.data, static_cast<int>(size_of(x.dtype)))};
}

static bool takes(Reduce f, DType dtype) {
  return f == Reduce::dot ? DotTypes::contains(dtype) : Types::contains(dtype);
}

static bool has_identity(Reduce f) { return f == Reduce::sum || f == Reduce::mean || f == Reduce::dot; }

static Status validate(const ReduceProblem& p) {
  const std::string_view op = name(p.function);
  if (!takes(p.function, p.dtype)) {
    std::string known;
    for (int i = 0; i < dtype_count; ++i)
      if (takes(p.function, static_cast<DType>(i))) known += " " + std::string(name(static_cast<DType>(i)));
    return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of" + known);
  }
  if (!p.z.same_shape(p.x)) return Status::invalid(op, "z.shape", p.z.text(), "that of x, " + p.x.text());
  Layout kept = p.x;
  if (kept.rank > 0) --kept.rank;
  const bool last_axis = p.function != Reduce::dot && p.y.same_shape(kept);
  if (p.y.rank != 0 && !last_axis)
    return Status::invalid(
        op, "y.shape", p.y.text(),
        p.function == Reduce::dot ? "a scalar" : "a scalar, or x without its last axis, " + Layout(kept).text());
  for (int axis = 0; axis < p.y.rank; ++axis)
    if (p.y.stride[axis] == 0 && p.y.shape[axis] > 1)
      return Status::invalid(op, "y.strides", "0 in an axis of " + std::to_string(p.y.shape[axis]),
                             "such that elements are apart");
  if (!has_identity(p.function) && p.y.count() > 0 && p.x.count() == 0)
    return Status::invalid(op, "x.shape", p.x.text(), "one with an element for each result");
  if (p.alignment < static_cast<int>(size_of(p.dtype)))
    return Status::invalid(op, "alignment", std::to_string(p.alignment) + " bytes",
                           "a multiple of an element's " + std::to_string(size_of(p.dtype)));
  return {};
}

namespace {

// A problem in the kernels' terms.
struct Geometry {
  ReduceAxes axes;
  std::int64_t rows = 1, cols = 1;
  bool neighbours = false;  // the elements of a row
};

Geometry geometry_of(const ReduceProblem& p) {
  Geometry g;
  const int outer = p.y.rank;
  // The layouts of the axes [first, last), without those that merge with another.
  const auto part = [&](int first, int last, std::initializer_list<const Layout*> whole) {
    std::vector<Layout> views;
    for (const Layout* layout : whole) {
      Layout& v = views.emplace_back();
      v.rank = last - first;
      for (int axis = 0; axis < v.rank; ++axis) {
        v.shape[axis] = layout->shape[first + axis];
        v.stride[axis] = layout->stride[first + axis];
      }
    }
    collapse(views);
    return views;
  };
  const auto kept = part(0, outer, {&p.x, &p.y}), reduced = part(outer, p.x.rank, {&p.x, &p.z});
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
  g.rows = kept[0].count();
  g.cols = reduced[0].count();
  g.neighbours = g.cols <= 1 || (reduced[0].rank == 1 && reduced[0].stride[0] == 1 && reduced[1].stride[0] == 1);
  return g;
}

int index_of(const Variant& row) { return static_cast<int>(&row - variants); }

// Why this row cannot run this problem; empty: it can.
std::string fits(const Variant& row, const ReduceProblem& p, const Geometry& g, bool named) {
  const Config c = config_of(index_of(row), p.function);
  const int size = static_cast<int>(size_of(p.dtype));
  if (!instantiated(c, p.function, p.dtype)) {
    if (c.kernel == Kernel::atomic) return "an atomic instruction does sums of f32 and i32, and max and min of i32";
    if (is_textbook(c)) return "a step of the textbook: sum, mean, max and min of f32 and i32 (vec4: dot too)";
    if (c.lanes == 8 && p.function != Reduce::dot) return "eight lanes per row are for f32, f16 and bf16";
    return p.function == Reduce::dot ? "dot has one row" : "one input is read by 16 bytes wherever it starts";
  }
  if (c.kernel == Kernel::atomic && is_floating(p.dtype) && !named)
    return "the order of its additions changes from run to run: only by name";
  if (is_textbook(c) && g.rows != 1) return "there is not one row";
  if (row.name == "best" && g.rows != 1) return "there is not one row";
  if (row.name == "row_split" && g.rows < 2) return "there are no several rows";
  if (!c.strided && !g.neighbours) return "the elements of a row are not neighbours";
  if (arity(p.function) == 2 && access_elements(c, size) > 1 && c.access_bytes > p.alignment)
    return "the inputs are not equally far from a boundary of " + std::to_string(c.access_bytes) + " bytes";
  if ((c.kernel == Kernel::rows || c.cut == Cut::whole) && c.kernel != Kernel::atomic &&
      g.cols > longest_slice(c, size))
    return "more than " + std::to_string(longest_slice(c, size)) + " columns: sums would lose digits";
  if (is_textbook(c) && c.kernel != Kernel::slices && ceil_div(g.cols, c.threads) > max_grid)
    return "more than " + std::to_string(max_grid * c.threads) + " elements, one per thread";
  return {};
}

Cost cost(const ReduceProblem& p) {
  const auto distinct = [&](const Layout& layout) {  // a broadcast axis is read once
    double count = layout.count() == 0 ? 0 : 1;
    for (int axis = 0; axis < layout.rank; ++axis)
      count *= layout.stride[axis] == 0 ? 1.0 : static_cast<double>(layout.shape[axis]);
    return count;
  };
  Cost c;
  c.bytes_read = (distinct(p.x) + (arity(p.function) == 2 ? distinct(p.z) : 0)) * static_cast<double>(size_of(p.dtype));
  c.bytes_written = static_cast<double>(p.y.count()) * static_cast<double>(size_of(result_type(p.function, p.dtype)));
  const Unit unit = p.dtype == DType::f64 ? Unit::fp64 : is_floating(p.dtype) ? Unit::fp32 : Unit::int32;
  c.on(unit) = static_cast<double>(p.x.count()) * arity(p.function);
  return c;
}

// Clocks of a multiprocessor for 32 elements beyond what loads hide, measured on an H200 (bench/results/h200).
double clocks(const ReduceProblem& p) {
  switch (p.function) {
    case Reduce::argmax:
    case Reduce::argmin: return 4.5;
    case Reduce::max:
    case Reduce::min: return size_of(p.dtype) == 2 ? 2.5 : 2;
    default: return 2;
  }
}

// What nvcc 13 makes of the kernels for sm_90a, to the unit in which registers are handed out.
int registers(const Config& c, int element_bytes) {
  if (c.kernel != Kernel::slices && c.kernel != Kernel::rows) return 24;
  return c.strided ? 40 : c.vectors == 1 ? 32 : element_bytes <= 2 ? 56 : 40;
}

roofline::Kernel kernel_of(const Variant& row, const ReduceProblem& p, const Geometry& g, const DeviceInfo& device) {
  // Measured on an H200: what a block does before its first load, at a barrier, and in an iteration with offsets.
  constexpr double barrier_us = 0.057, offsets_us = 0.13;
  // One addition after another on one address: float, and integer.
  const double atomic_us = is_floating(p.dtype) ? 1.757e-3 : 0.73e-3;
  const Config c = config_of(index_of(row), p.function);
  const double prologue_us = c.lanes == 0 ? 0.45 : c.lanes < device.warp ? 0.65 : 0.35;
  const int size = static_cast<int>(size_of(p.dtype)), inputs = arity(p.function);
  const std::int64_t cut = slices(c, g.rows, g.cols, size, device.sms);
  const std::int64_t tile = tile_elements(c, size), in_slice = ceil_div(g.cols, cut);
  const Cost least = cost(p);
  roofline::Kernel k;
  k.cost = least;
  k.blocks = g.cols > 0 ? grid_of(c, g.rows, g.cols, cut).blocks() : 0;
  k.block = {.threads = c.threads, .registers = registers(c, size)};
  k.launches = launches(c, cut);
  k.bytes_read = least.bytes_read;
  k.bytes_written = least.bytes_written;
  k.trip_bytes = static_cast<double>(std::min(tile, std::max<std::int64_t>(g.cols, 1))) * size * inputs *
                 (c.threads / row_threads(c));
  // Groups of fewer than a block's threads read rows that lie apart: less than the whole rate.
  k.memory_share = c.lanes == 0 ? 1 : c.lanes < device.warp ? 0.92 : 0.96;
  k.clocks = static_cast<double>(g.rows) * static_cast<double>(g.cols) / 32 * clocks(p) *
             (access_elements(c, size) > 1 ? 1 : 2);  // an instruction for each load
  k.tile_efficiency = roofline::tile_efficiency(in_slice, tile);
  constexpr double barriers_of_shuffle = 2;
  if (c.kernel == Kernel::slices || c.kernel == Kernel::rows) {
    // A tile that is not whole is read access by access.
    const std::int64_t whole = in_slice / tile, rest = in_slice % tile;
    k.trips = static_cast<double>(whole + ceil_div(rest, std::int64_t{row_threads(c)} * access_elements(c, size)));
    if (g.cols > tile) k.trips = static_cast<double>(ceil_div(in_slice, tile));
    k.block_us = prologue_us + (c.kernel == Kernel::slices ? barriers_of_shuffle * barrier_us : 0);
    if (c.strided) k.block_us += k.trips * offsets_us;
    // Where the grid is shorter than rows and slices, blocks go on to further ones.
    const std::int64_t groups = k.blocks * (c.threads / row_threads(c));
    const double in_turn = static_cast<double>(ceil_div(g.rows * cut, std::max<std::int64_t>(groups, 1)));
    k.trips *= in_turn;
    k.block_us *= in_turn;
  } else {
    const double barriers = c.kernel == Kernel::shuffle ? barriers_of_shuffle : 1 + std::log2(c.threads);
    k.block_us = c.kernel == Kernel::atomic ? 0 : barriers * barrier_us;
  }
  if (c.kernel == Kernel::atomic) k.serial_us = static_cast<double>(g.cols) * atomic_us;
  if (has_partials(c, cut)) {  // few blocks, a trip or some: the latency of each pass
    constexpr double pass_us = 0.9;
    k.serial_us += pass_us * (launches(c, cut) - 1);
  }
  return k;
}

double predict_us(const Variant& row, const ReduceProblem& p, const Geometry& g, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p, g, device), device).us;
}

}  // namespace

Result<ReducePlan> plan_reduce(const ReduceProblem& problem, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(problem));
  const Geometry g = geometry_of(problem);
  ReducePlan plan{problem, device, g.axes, g.rows, g.cols};
  auto chosen = select<Variant>(
      name(problem.function), variants, options,
      [&](const Variant& row) { return fits(row, problem, g, options.variant == row.name); },
      [&](const Variant& row) {
        // The textbook's steps teach, and run by name; what reads element by element is for what nothing else takes.
        const Config c = config_of(index_of(row), problem.function);
        if (is_textbook(c)) return std::numeric_limits<double>::max();
        return predict_us(row, problem, g, device) * (c.access_bytes == 0 ? 2 : 1);
      });
  if (!chosen) return chosen.error();
  plan.variant = *chosen;
  if (g.rows == 0) return plan;
  const Config c = config_of(*chosen, problem.function);
  plan.slices = slices(c, g.rows, g.cols, static_cast<int>(size_of(problem.dtype)), device.sms);
  plan.workspace = static_cast<std::size_t>(partial_count(c, g.rows, plan.slices)) *
                   static_cast<std::size_t>(partial_bytes(problem.function, problem.dtype));
  return plan;
}

Explanation ReducePlan::explain() const {
  Explanation e;
  const Geometry g = geometry_of(problem);
  e.op = name(problem.function);
  e.problem = std::string(name(problem.dtype)) + " " + problem.x.text() + (problem.y.rank ? ", last axis" : "");
  e.variant = variants[variant].name;
  e.workspace_bytes = workspace;
  roofline::account(e, kernel_of(variants[variant], problem, g, device), device);
  (void)select<Variant>(
      e.op, variants, {}, [&](const Variant& row) { return fits(row, problem, g, row.name == e.variant); },
      [&](const Variant& row) { return predict_us(row, problem, g, device); }, &e.candidates);
  return e;
}

Status ReducePlan::run(const TensorView& x, const TensorView& z, const TensorView& y, Workspace scratch,
                       Stream stream) const {
  const std::string_view op = name(problem.function);
  auto given = ReduceProblem::of(problem.function, x, arity(problem.function) == 2 ? &z : nullptr, y);
  if (!given) return given.error();
  const int planned = problem.alignment;
  if (given->alignment <
      std::min(planned, std::max(variants[variant].config.access_bytes, static_cast<int>(size_of(problem.dtype)))))
    return Status::invalid(op, "alignment", std::to_string(given->alignment) + " bytes",
                           "what was planned for, " + std::to_string(planned));
  given->alignment = planned;
  if (*given != problem)
    return Status::invalid(
        op, "tensors", std::string(name(x.dtype)) + " " + x.layout.text() + " to " + y.layout.text(),
        "as planned, " + std::string(name(problem.dtype)) + " " + problem.x.text() + " to " + problem.y.text());
  if (x.device != device.id) return Status::invalid(op, "device", "another", "the plan's");
  if (scratch.bytes < workspace)
    return Status::invalid(op, "workspace", std::to_string(scratch.bytes) + " bytes",
                           "at least " + std::to_string(workspace));
  if (workspace && alignment_of(scratch.data) < 16)
    return Status::invalid(op, "workspace", "at an address that is no multiple of 16", "aligned to 256 bytes");
  if (rows == 0) return {};
  const Arguments args{*this, x.data, arity(problem.function) == 2 ? z.data : nullptr, y.data, scratch.data, stream};
  return on_backend(device.id, [&](auto backend) {
    using Backend = decltype(backend);
    switch (problem.function) {
      case Reduce::sum:
      case Reduce::mean: return launch_sum<Backend>(args);
      case Reduce::max:
      case Reduce::min: return launch_extreme<Backend>(args);
      case Reduce::argmax:
      case Reduce::argmin: return launch_arg<Backend>(args);
      case Reduce::dot: return launch_dot<Backend>(args);
    }
    return Status{};
  });
}

static void run_cached(Reduce f, const TensorView& x, const TensorView* z, const TensorView& y, Stream stream) {
  thread_local PlanCache<ReduceProblem, ReducePlan> cache;
  auto problem = ReduceProblem::of(f, x, z, y);
  throw_if(problem.error());
  auto plan = cache.find(*problem, y.device, [](auto& p, auto& d) { return plan_reduce(p, d); });
  throw_if(plan.error());
  throw_if(run_with_workspace(**plan, y.device, stream,
                              [&](Workspace w) { return (*plan)->run(x, z ? *z : x, y, w, stream); }));
}

void reduce(Reduce f, const TensorView& x, const TensorView& y, Stream stream) {
  if (arity(f) != 1) throw Error(Status::invalid(name(f), "inputs", "1 tensor", "2 tensors"));
  run_cached(f, x, nullptr, y, stream);
}

void dot(const TensorView& x, const TensorView& z, const TensorView& y, Stream stream) {
  run_cached(Reduce::dot, x, &z, y, stream);
}

}  // namespace ridge
