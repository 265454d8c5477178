// validate -> fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/core/check_data.hpp>
#include <ridge/core/divider.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/roofline/predict.hpp>
#include <ridge/rope/launch.hpp>
#include <ridge/rope/rotation.hpp>
#include <ridge/rope/variants.hpp>

#include <algorithm>

namespace ridge {

using namespace rope_detail;

static constexpr std::string_view op = "rope";

RopeProblem RopeProblem::contiguous(DType dtype, std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t d,
                                    const RopeOptions& options) {
  const Layout t = Layout::contiguous({b, s, h, d});
  return {.options = options, .dtype = dtype, .x = t, .y = t};
}

Result<RopeProblem> RopeProblem::of(const RopeTensors& t, const RopeOptions& options) {
  const TensorView &x = t.x, &y = t.y;
  if (x.rank() != 3 && x.rank() != 4)
    return Status::invalid(op, "x.shape", x.layout.text(), "of 3 axes, s h d, or of 4, b s h d");
  RIDGE_TRY(check_like(op, "y", y, "x", x));
  RIDGE_TRY(check_data(op, "x", x));
  RIDGE_TRY(check_data(op, "y", y));
  RIDGE_TRY(check_no_partial_overlap(op, "y", y, "x", x));
  RopeProblem p{.options = options, .dtype = x.dtype, .x = with_batch(x.layout), .y = with_batch(y.layout)};
  p.align_x = alignment_of(x.data);
  p.align_y = alignment_of(y.data);
  p.positions = t.positions.has_value();
  p.tables = t.cos.has_value();
  const auto apart = [&](const TensorView& view, const char* label) -> Status {
    RIDGE_TRY(check_same_device(op, label, view.device, "x", x.device));
    RIDGE_TRY(check_data(op, label, view));
    RIDGE_TRY(check_no_overlap(op, "y", y, label, view));
    return {};
  };
  RIDGE_TRY(check_angles(op, {t.positions, t.cos, t.sin}, p.x.shape[0], p.x.shape[1], rotary_dim(p) / 2, x.dtype, "x",
                         apart));
  return p;
}

std::string RopeProblem::text() const {
  return std::string(name(dtype)) + " " + Layout::contiguous(std::span(x.shape.data(), 4)).text() +
         (options.style == RopeStyle::neox ? " neox" : " gptj");
}

static Status validate(const RopeProblem& p) {
  if (!Types::contains(p.dtype)) return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  RIDGE_TRY(check_extent(op, "x", p.x));
  RIDGE_TRY(check_extent(op, "y", p.y));
  RIDGE_TRY(check_rotation(op, p.options, p.x.shape[3]));
  return check_elements_apart(op, "y", p.y);
}

// Why this row cannot run this problem; empty: it can.
static std::string fits(const Variant& row, const RopeProblem& p) {
  const Config& c = row.config;
  if (c.method == Method::pairs) return {};
  const std::string bytes = std::to_string(c.vector_bytes);
  const std::int64_t vector = vector_elements(c, p.dtype), n = rotary_dim(p), d = p.x.shape[3];
  if (n % (p.options.style == RopeStyle::neox ? 2 * vector : vector) != 0 || (d - n) % vector != 0)
    return "what is turned, or what is copied, is not whole vectors of " + bytes + " bytes";
  for (const auto& [t, alignment] : {std::pair{&p.x, p.align_x}, std::pair{&p.y, p.align_y}}) {
    if (d > 1 && t->stride[3] != 1) return "a head's elements are not contiguous";
    for (int axis = 0; axis < 3; ++axis)
      if (t->shape[axis] > 1 && t->stride[axis] % vector != 0) return "heads do not start on " + bytes + " bytes";
    if (alignment < c.vector_bytes) return "heads do not start on " + bytes + " bytes";
  }
  if (items_of(c, p) >= Divider::limit) return "more than 2^31 pieces of work";
  return {};
}

static Cost cost(const RopeProblem& p) {
  const double n = static_cast<double>(p.x.count()), tokens = static_cast<double>(p.x.shape[0] * p.x.shape[1]);
  const double pairs = static_cast<double>(rotary_dim(p)) / 2, size = static_cast<double>(size_of(p.dtype));
  Cost c;
  c.bytes_read =
      n * size + (p.positions ? 4 * tokens : 0) + (p.tables ? 2 * pairs * size * static_cast<double>(p.x.shape[1]) : 0);
  c.bytes_written = n * size;
  const double rotated_pairs = tokens * static_cast<double>(p.x.shape[2]) * pairs;
  c.on(Unit::fp32) = 6 * rotated_pairs + (p.tables ? 0 : 20 * tokens * pairs);
  return c;
}

static std::int64_t grid_of(const Config& c, const RopeProblem& p) { return ceil_div(items_of(c, p), c.threads); }

static roofline::Kernel kernel_of(const Variant& row, const RopeProblem& p) {
  const Config& c = row.config;
  const double n = static_cast<double>(p.x.count()), size = static_cast<double>(size_of(p.dtype));
  const bool vectors = c.method == Method::vectors, neox = p.options.style == RopeStyle::neox;
  roofline::Kernel k;
  k.cost = cost(p);
  k.blocks = grid_of(c, p);
  k.block = {.threads = c.threads, .registers = registers(c)};
  k.bytes_read = k.cost.bytes_read;
  k.bytes_written = k.cost.bytes_written;
  k.trips = p.positions || p.tables ? 2 : 1;
  k.trip_bytes = c.threads * (vectors ? c.vector_bytes * (neox ? 2.0 : 1.0) * c.heads : 2 * size);
  // Instructions per element, counted in the source: half an angle's, shared by the heads, and the element's own.
  k.clocks = n / 32 / 4 * (vectors ? 15.0 / c.heads + (c.vector_bytes < 16 ? 7 : 5) : 160);
  if (c.vector_bytes < 16) {  // a rotated run begins and ends within sectors, which are requested twice
    const double run = static_cast<double>(rotary_dim(p)) * size / (neox ? 2 : 1);
    k.memory_share = run / (run + 16);
  }
  if (c.heads > 1) k.overlap = 6;
  return k;
}

static double predict_us(const Variant& row, const RopeProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p), device).us;
}

static Result<int> choose(const RopeProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      op, variants, options, [&](const Variant& row) { return fits(row, p); },
      [&](const Variant& row) { return predict_us(row, p, device); }, record);
}

Result<RopePlan> plan_rope(const RopeProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  const auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  const Config& c = variants[*chosen].config;
  const std::int64_t grid = grid_of(c, p);
  if (grid > max_grid)
    return Status::invalid(op, "x.shape", Layout::contiguous(std::span(p.x.shape.data(), 4)).text(),
                           "of at most " + std::to_string(max_grid * c.threads) + " pairs for this variant");
  return RopePlan{p, device, *chosen, grid, options.checked.value_or(false)};
}

Explanation RopePlan::explain() const {
  Explanation e;
  e.op = op;
  e.problem = problem.text();
  e.variant = variants[variant].name;
  roofline::account(e, kernel_of(variants[variant], problem), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

Status RopePlan::run(const RopeTensors& t, Stream stream) const {
  auto given = RopeProblem::of(t, problem.options);
  if (!given) return given.error();
  // A tensor may have a higher alignment than planned.
  given->align_x = std::min(given->align_x, problem.align_x);
  given->align_y = std::min(given->align_y, problem.align_y);
  if (*given != problem) return not_as_planned(op, given->text(), problem.text());
  RIDGE_TRY(check_device(op, t.x.device, device));
  if (grid == 0) return {};
  if (checked) RIDGE_TRY(check_positions(op, {t.positions, t.cos, t.sin}, problem.x.shape[1], stream));
  return on_backend(device.id, [&](auto backend) { return launch<decltype(backend)>(*this, t, stream); });
}

void rope(const RopeTensors& t, const RopeOptions& options, Stream stream) {
  run_cached(
      RopeProblem::of(t, options), [](auto& p, auto& d) { return plan_rope(p, d); }, t.x.device, stream,
      [&](const RopePlan& plan, Workspace) { return plan.run(t, stream); });
}

}  // namespace ridge
