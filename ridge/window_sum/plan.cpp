// validate -> fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/core/check_data.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/roofline/predict.hpp>
#include <ridge/window_sum/launch.hpp>
#include <ridge/window_sum/variants.hpp>

#include <algorithm>
#include <cmath>

namespace ridge {

using namespace window_sum_detail;

static constexpr std::string_view op = "window_sum";

Result<WindowSumProblem> WindowSumProblem::of(const TensorView& x, const TensorView& y, std::int64_t w) {
  if (x.rank() < 1) return Status::invalid(op, "x.shape", "scalar", "of at least one axis");
  RIDGE_TRY(check_like(op, "y", y, "x", x));
  RIDGE_TRY(check_data(op, "x", x));
  RIDGE_TRY(check_data(op, "y", y));
  RIDGE_TRY(check_no_overlap(op, "y", y, "x", x));
  WindowSumProblem p{.n = x.size(-1), .w = w, .dtype = x.dtype};
  p.rows = rows_in(x.layout);
  const TensorView views[] = {x, y};
  Rows rows[2];
  rows_of(views, rows);
  p.x = rows[0];
  p.y = rows[1];
  return p;
}

static WindowSumProblem with_layouts(WindowSumProblem p) {
  if (!p.x) p.x = Rows::contiguous(p.rows, p.n);
  if (!p.y) p.y = Rows::contiguous(p.rows, p.n);
  return p;
}

std::string WindowSumProblem::text() const {
  return std::string(name(dtype)) + " " + std::to_string(rows) + "x" + std::to_string(n) + " w=" + std::to_string(w);
}

static Status validate(const WindowSumProblem& p) {
  if (!Types::contains(p.dtype))
    return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of f32 f16 bf16 i32");
  if (p.w < 1 || p.w % 2 == 0) return Status::invalid(op, "w", std::to_string(p.w), "odd, and at least 1");
  RIDGE_TRY(check_sizes(op, "shape", {p.rows, p.n}));
  return check_elements_apart(op, "y", p.y->layout(p.n));
}

// Why this row cannot run this problem; empty: it can.
static std::string fits(const Variant& row, const WindowSumProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (c.method == Method::naive) return {};
  if (c.method == Method::neighbours && reach(p) >= piece)
    return "the window reaches " + std::to_string(reach(p)) + " elements to either side, and 7 are kept";
  if (c.method == Method::pieces && reach(p) < piece)
    return "the window reaches " + std::to_string(reach(p)) + " elements to either side, less than a piece of 8";
  if (c.method == Method::wide && 2 * (reach(p) / piece) < c.threads)
    return "the window reaches " + std::to_string(reach(p)) + " elements to either side, less than half a tile";
  if (reach(p) > 0x7fffffff) return "the window reaches 2^31 elements or more to either side";
  const std::int64_t bytes = 4 * shared_words(c, reach(p));
  if (bytes > device.smem_optin)
    return std::to_string(bytes) + " bytes of shared memory, and the device has " + std::to_string(device.smem_optin);
  if (c.method == Method::shared) return {};
  if (p.x->step != 1 || p.y->step != 1) return "a row's elements are not contiguous";
  if (p.x->outer.rank > 1 || p.y->outer.rank > 1) return "rows are not evenly spaced";
  return {};
}

static Cost cost(const WindowSumProblem& p) {
  const double n = static_cast<double>(p.rows) * static_cast<double>(p.n);
  Cost c;
  c.bytes_read = c.bytes_written = n * static_cast<double>(size_of(p.dtype));
  // The fewest additions for any width: suffix and prefix sums, and the sum of both.
  c.on(p.dtype == DType::i32 ? Unit::int32 : Unit::fp32) = 3 * n;
  return c;
}

static roofline::Kernel kernel_of(const Variant& row, const WindowSumProblem& p) {
  const Config& c = row.config;
  const double size = static_cast<double>(size_of(p.dtype)), outputs = static_cast<double>(tile(c));
  const double width = 2 * static_cast<double>(reach(p)) + 1;
  roofline::Kernel k;
  k.cost = cost(p);
  k.blocks = grid_of(c, p);
  k.block = {.threads = c.threads,
             .registers = registers(c),
             .smem = static_cast<int>(std::min<std::int64_t>(4 * shared_words(c, reach(p)), 1 << 30))};
  k.bytes_read = k.cost.bytes_read;
  k.bytes_written = k.cost.bytes_written;
  k.tile_efficiency = roofline::tile_efficiency(p.n, tile(c));
  // Instructions per output, counted in the source, for every output that the tiles have room for.
  double instructions = 0;
  switch (c.method) {
    case Method::naive:
      instructions = 60 + 4 * width;
      k.trips = std::max(1.0, width / 4);
      k.trip_bytes = outputs * size * std::min(4.0, width);
      break;
    case Method::shared:
      instructions = 10 + 2 * width + 6 * (width / outputs);
      k.block_us = 0.5;  // a barrier
      k.trip_bytes = outputs * size;
      k.l2_bytes = k.bytes_read * (width / outputs);
      break;
    case Method::neighbours:
      instructions = 8 + width;
      k.trip_bytes = 3 * outputs * size;
      break;
    case Method::pieces: {
      const double read = static_cast<double>(pieces_of(c, reach(p))) / c.threads;  // per output
      const double between = width / piece > group ? width / piece / group + 4 : width / piece;
      instructions = 12 * read + 10 + 2.5 * between / piece;
      k.block_us = 0.5;
      k.trips = std::ceil(read);
      k.trip_bytes = outputs * size;
      k.l2_bytes = k.bytes_read * (read - 1);
      break;
    }
    case Method::wide: break;
  }
  if (c.method == Method::wide) {
    k.launches = 2;
    k.bytes_read *= 2;  // by the sums, and by the ends of windows; their beginnings come from the L2 cache
    k.l2_bytes = k.cost.bytes_read + static_cast<double>(k.blocks) * 4 * width / span_elements;
    k.trips = 2;
    k.trip_bytes = 2 * outputs * size;
    k.block_us = 1;
    instructions = 75 + width / span_elements / outputs * 4;
  }
  k.clocks = static_cast<double>(k.blocks) * outputs / 32 / 4 * instructions;
  if ((c.method == Method::naive || c.method == Method::shared) && p.x->step != 1 && p.n > 1)
    k.memory_share = size / 32;  // a sector for each element
  const bool on_vectors = rows_on_vectors(*p.x, p.dtype) && rows_on_vectors(*p.y, p.dtype);
  if (c.method >= Method::neighbours && !on_vectors) k.memory_share = 0.5;  // 8 elements per lane, one by one
  return k;
}

static double predict_us(const Variant& row, const WindowSumProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p), device).us;
}

static Result<int> choose(const WindowSumProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      op, variants, options, [&](const Variant& row) { return fits(row, p, device); },
      [&](const Variant& row) { return predict_us(row, p, device); }, record);
}

Result<WindowSumPlan> plan_window_sum(const WindowSumProblem& problem, const DeviceInfo& device,
                                      const PlanOptions& options) {
  const WindowSumProblem p = with_layouts(problem);
  RIDGE_TRY(validate(p));
  const auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  const Config& c = variants[*chosen].config;
  if (p.rows > 0 && tiles_of_row(c, p) > max_grid / p.rows)
    return Status::invalid(op, "x.shape", std::to_string(p.rows) + "x" + std::to_string(p.n),
                           "of at most " + std::to_string(max_grid) + " tiles of " + std::to_string(tile(c)));
  return WindowSumPlan{p, device, *chosen, grid_of(c, p)};
}

std::size_t WindowSumPlan::workspace_bytes() const {
  if (variants[variant].config.method != Method::wide) return 0;
  return static_cast<std::size_t>(problem.rows * spans_of_row(problem)) * sizeof(float);
}

Explanation WindowSumPlan::explain() const {
  Explanation e;
  e.workspace_bytes = workspace_bytes();
  e.op = op;
  e.problem = problem.text();
  e.variant = variants[variant].name;
  roofline::account(e, kernel_of(variants[variant], problem), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

Status WindowSumPlan::run(const TensorView& x, const TensorView& y, Workspace workspace, Stream stream) const {
  auto given = WindowSumProblem::of(x, y, problem.w);
  if (!given) return given.error();
  if (*given != problem) {
    // A tensor may have a higher alignment than planned; the kernels use the plan's.
    if (given->x->alignment_offset == 0) given->x->alignment_offset = problem.x->alignment_offset;
    if (given->y->alignment_offset == 0) given->y->alignment_offset = problem.y->alignment_offset;
    if (*given != problem) return not_as_planned(op, given->text(), problem.text());
  }
  RIDGE_TRY(check_device(op, x.device, device));
  RIDGE_TRY(check_workspace(op, workspace, workspace_bytes()));
  if (grid == 0) return {};
  return on_backend(device.id, [&](auto backend) {
    return launch<decltype(backend)>(*this, x.data, y.data, workspace.data, stream);
  });
}

void window_sum(const TensorView& x, const TensorView& y, std::int64_t w, Stream stream) {
  run_cached(
      WindowSumProblem::of(x, y, w), [](auto& p, auto& d) { return plan_window_sum(p, d); }, y.device, stream,
      [&](const WindowSumPlan& plan, Workspace workspace) { return plan.run(x, y, workspace, stream); });
}

}  // namespace ridge
