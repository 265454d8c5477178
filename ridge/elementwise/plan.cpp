// validate -> fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/core/check_data.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/elementwise/launch.hpp>
#include <ridge/elementwise/variants.hpp>
#include <ridge/roofline/predict.hpp>

#include <algorithm>

namespace ridge {

using namespace elementwise_detail;

std::string_view name(Elementwise f) {
  constexpr std::string_view names[] = {"add",  "mul",       "relu", "sigmoid", "tanh",
                                        "gelu", "gelu_tanh", "silu", "exp",     "copy"};
  return names[static_cast<int>(f)];
}

ElementwiseProblem ElementwiseProblem::flat(Elementwise f, DType dtype, std::int64_t n) {
  const Layout line = Layout::contiguous({n});
  return {f, dtype, line, line, line, 16};
}

Result<ElementwiseProblem> ElementwiseProblem::of(Elementwise f, const TensorView& a, const TensorView* b,
                                                  const TensorView& y) {
  const std::string_view op = name(f);
  for (const auto& [view, label] : {std::pair{b ? b : &a, "b"}, std::pair{&y, "y"}}) {
    if (view->dtype != a.dtype)
      return Status::invalid(op, std::string(label) + ".dtype", std::string(name(view->dtype)),
                             "that of a, " + std::string(name(a.dtype)));
    if (!view->layout.same_shape(a.layout))
      return Status::invalid(op, std::string(label) + ".shape", view->layout.text(), "that of a, " + a.layout.text());
    RIDGE_TRY(check_same_device(op, label, view->device, "a", a.device));
  }
  for (const auto& [view, label] : {std::pair{&a, "a"}, std::pair{b ? b : &a, "b"}})
    if (share_memory(*view, y) && !same_elements(*view, y))
      return Status::invalid(op, "y", "overlapping " + std::string(label), "apart from it, or the same elements");
  ElementwiseProblem p{f, a.dtype, a.layout, b ? b->layout : y.layout, y.layout};
  p.alignment = std::min({alignment_of(a.data), alignment_of(b ? b->data : a.data), alignment_of(y.data)});
  return p;
}

static bool takes(Elementwise f, DType dtype) {
  switch (f) {
    case Elementwise::copy: return true;
    case Elementwise::add:
    case Elementwise::mul:
    case Elementwise::relu: return ArithmeticTypes::contains(dtype);
    default: return FloatTypes::contains(dtype);
  }
}

std::string ElementwiseProblem::text() const { return std::string(name(dtype)) + " " + y.text(); }

static Status validate(const ElementwiseProblem& p) {
  const std::string_view op = name(p.function);
  if (!takes(p.function, p.dtype)) {
    std::string known;
    for (int i = 0; i < dtype_count; ++i)
      if (takes(p.function, static_cast<DType>(i))) known += " " + std::string(name(static_cast<DType>(i)));
    return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of" + known);
  }
  if (!p.a.same_shape(p.y) || !p.b.same_shape(p.y))
    return Status::invalid(op, "the shape of a, b and y", p.a.text() + ", " + p.b.text() + " and " + p.y.text(),
                           "the same");
  for (const auto& [argument, layout] : {std::pair("a", &p.a), std::pair("b", &p.b), std::pair("y", &p.y)})
    RIDGE_TRY(check_extent(op, argument, *layout));
  return check_elements_apart(op, "y", p.y);
}

static bool is_row_broadcast(const ElementwiseProblem& p) {
  return p.a.rank == 2 && p.a.is_contiguous() && p.y.is_contiguous() && p.b.stride[0] == 0 && p.b.stride[1] == 1;
}

// Why this row cannot run this problem; empty: it can.
static std::string fits(const Variant& row, const ElementwiseProblem& p) {
  const Config& c = row.config;
  const int size = static_cast<int>(size_of(p.dtype));
  const bool flat = p.a.is_contiguous() && p.b.is_contiguous() && p.y.is_contiguous();
  if (c.walk == Walk::flat && !flat) return "a tensor is not contiguous";
  if (c.walk == Walk::broadcast) {
    if (arity(p.function) != 2) return "there is no second input to broadcast";
    if (!is_row_broadcast(p)) return "b is not one contiguous row shared by all rows of contiguous a and y";
    if (p.a.shape[1] % access_elements(c, size) != 0)
      return "cols not a multiple of " + std::to_string(access_elements(c, size));
  }
  if (c.access_bytes > p.alignment && access_elements(c, size) > 1)
    return "a tensor does not start on " + std::to_string(c.access_bytes) + " bytes";
  return {};
}

static Cost cost(const ElementwiseProblem& p) {
  const double n = static_cast<double>(p.y.count()), size = static_cast<double>(size_of(p.dtype));
  const auto distinct = [&](const Layout& layout) {  // a broadcast axis is read once
    double count = 1;
    for (int axis = 0; axis < layout.rank; ++axis)
      count *= layout.stride[axis] == 0 ? 1.0 : static_cast<double>(layout.shape[axis]);
    return n == 0 ? 0 : count;
  };
  Cost c;
  c.bytes_read = (distinct(p.a) + (arity(p.function) == 2 ? distinct(p.b) : 0)) * size;
  c.bytes_written = n * size;
  const Unit unit = p.dtype == DType::f64 ? Unit::fp64 : p.dtype == DType::i32 ? Unit::int32 : Unit::fp32;
  switch (p.function) {
    case Elementwise::copy: break;
    case Elementwise::add:
    case Elementwise::mul:
    case Elementwise::relu: c.on(unit) = n; break;
    default:  // an exponential and a reciprocal, and the polynomial around them
      c.on(Unit::special) = 2 * n;
      c.on(unit) = 10 * n;
  }
  return c;
}

static ElementwiseProblem collapsed(ElementwiseProblem p) {
  Layout views[] = {p.y, p.a, p.b};
  collapse(views);
  p.y = views[0], p.a = views[1], p.b = views[2];
  return p;
}

// Clocks of a multiprocessor for 32 elements beside loads and stores, measured on an H200
// (bench/results/h200/elementwise.json: gelu, sigmoid, relu; strided rows).
static double clocks(const Variant& row, const ElementwiseProblem& p) {
  constexpr double offset_of_an_axis = 32;  // a 64-bit division
  const double offsets = row.config.walk == Walk::strided ? offset_of_an_axis * std::max(p.y.rank, 1) : 0;
  switch (p.function) {
    case Elementwise::copy:
    case Elementwise::add:
    case Elementwise::mul:
    case Elementwise::relu: return offsets + 1;
    case Elementwise::gelu: return offsets + (size_of(p.dtype) == 2 ? 16 : p.dtype == DType::f64 ? 24 : 12);
    default: return offsets + (p.dtype == DType::f64 ? 24 : 2.5);
  }
}

static std::int64_t grid_of(const Config& c, const ElementwiseProblem& p) {
  const std::int64_t per_block = block_elements(c, static_cast<int>(size_of(p.dtype)));
  return (p.y.count() + per_block - 1) / per_block;
}

static roofline::Kernel kernel_of(const Variant& row, const ElementwiseProblem& p) {
  const Config& c = row.config;
  const Cost least = cost(p);
  const double n = static_cast<double>(p.y.count());
  const auto tile = block_elements(c, static_cast<int>(size_of(p.dtype)));
  roofline::Kernel k;
  k.cost = least;
  k.blocks = grid_of(c, p);
  k.block = {.threads = c.threads, .registers = registers(c)};
  k.bytes_read = least.bytes_read;
  k.bytes_written = least.bytes_written;
  k.memory_share = row.memory_share;
  k.trip_bytes = static_cast<double>(tile) * static_cast<double>(size_of(p.dtype)) * arity(p.function);
  k.clocks = n / 32 * clocks(row, p);
  k.tile_efficiency = roofline::tile_efficiency(p.y.count(), tile);
  if (c.vectors > 1) k.overlap = 6;  // gelu f32: the second access of a thread hides the arithmetic on the first
  return k;
}

static double predict_us(const Variant& row, const ElementwiseProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p), device).us;
}

static Result<int> choose(const ElementwiseProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      name(p.function), variants, options, [&](const Variant& row) { return fits(row, p); },
      [&](const Variant& row) { return predict_us(row, p, device); }, record);
}

Result<ElementwisePlan> plan_elementwise(const ElementwiseProblem& problem, const DeviceInfo& device,
                                         const PlanOptions& options) {
  RIDGE_TRY(validate(problem));
  const ElementwiseProblem p = collapsed(problem);
  const auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  const std::int64_t per_block = block_elements(variants[*chosen].config, static_cast<int>(size_of(p.dtype)));
  const std::int64_t grid = grid_of(variants[*chosen].config, p);
  if (grid > max_grid)
    return Status::invalid(name(p.function), "y.shape", p.y.text(),
                           "of at most " + std::to_string(max_grid * per_block) + " elements for this variant");
  return ElementwisePlan{p, device, *chosen, grid};
}

Explanation ElementwisePlan::explain() const {
  Explanation e;
  e.op = name(problem.function);
  e.problem = problem.text();
  e.variant = variants[variant].name;
  roofline::account(e, kernel_of(variants[variant], problem), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

Status ElementwisePlan::run(const TensorView& a, const TensorView& b, const TensorView& y, Stream stream) const {
  auto given = ElementwiseProblem::of(problem.function, a, arity(problem.function) == 2 ? &b : nullptr, y);
  if (!given) return given.error();
  const ElementwiseProblem p = collapsed(*given);
  if (p.alignment < variants[variant].config.access_bytes && p.alignment < problem.alignment)
    return Status::invalid(name(p.function), "alignment", std::to_string(p.alignment) + " bytes",
                           "as planned, " + std::to_string(problem.alignment) + " bytes");
  if (p.dtype != problem.dtype || p.a != problem.a || p.b != problem.b || p.y != problem.y)
    return not_as_planned(name(p.function), p.text(), problem.text());
  RIDGE_TRY(check_device(name(p.function), a.device, device));
  if (grid == 0) return {};
  return on_backend(device.id, [&](auto backend) {
    return launch<decltype(backend)>(*this, a.data, arity(p.function) == 2 ? b.data : a.data, y.data, stream);
  });
}

static void plan_and_run(Elementwise f, const TensorView& a, const TensorView* b, const TensorView& y, Stream stream) {
  run_cached(
      ElementwiseProblem::of(f, a, b, y), [](auto& p, auto& d) { return plan_elementwise(p, d); }, y.device, stream,
      [&](const ElementwisePlan& plan, Workspace) { return plan.run(a, b ? *b : a, y, stream); });
}

void elementwise(Elementwise f, const TensorView& a, const TensorView& y, Stream stream) {
  if (arity(f) != 1) throw Error(Status::invalid(name(f), "the number of inputs", "1", "2"));
  plan_and_run(f, a, nullptr, y, stream);
}

void elementwise(Elementwise f, const TensorView& a, const TensorView& b, const TensorView& y, Stream stream) {
  if (arity(f) != 2) throw Error(Status::invalid(name(f), "the number of inputs", "2", "1"));
  plan_and_run(f, a, &b, y, stream);
}

}  // namespace ridge
