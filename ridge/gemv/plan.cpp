// fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/gemv/launch.hpp>
#include <ridge/roofline/predict.hpp>

#include <cmath>

namespace ridge {

using namespace gemv_detail;

namespace {

// Why A (or x, where it is read by vectors) does not have the layout that a row of the table needs; empty: it does.
std::string layout_refusal(const Config& c, const GemvProblem& p) {
  const int size = static_cast<int>(size_of(p.dtype)), v = access_elements(c, size);
  const bool by_columns = c.kernel == Kernel::columns;
  const std::int64_t inner = by_columns ? p.row_stride : p.k_stride, pitch = by_columns ? p.k_stride : p.row_stride;
  if (inner != 1) return by_columns ? "rows do not lie side by side" : "the elements of a row are not neighbours";
  if (!by_columns && p.x.stride != 1) return "the elements of x are not neighbours";
  if (v == 1) return {};
  const std::string bytes = std::to_string(c.access_bytes) + " bytes";
  if ((by_columns ? p.m : p.k) % v != 0) return std::string(by_columns ? "m" : "k") + " is not a multiple of " + bytes;
  if (p.alignment_offset % c.access_bytes != 0 || pitch % v != 0) return "A's rows do not all start on " + bytes;
  if (!by_columns && p.x.alignment_offset % c.access_bytes != 0) return "x does not start on " + bytes;
  return {};
}

// Why this row cannot run this problem; empty: it can.
std::string fits(const Variant& row, const GemvProblem& p) {
  const Config& c = row.config;
  if (!instantiated(c, p.dtype))
    return c.textbook ? "a step of the textbook, of f32" : "f64 is read element by element";
  return c.strided ? "" : layout_refusal(c, p);
}

Cost cost(const GemvProblem& p) {
  const double size = static_cast<double>(size_of(p.dtype)), m = static_cast<double>(p.m),
               k = static_cast<double>(products(p));
  Cost cost;
  cost.bytes_read = (m * k + (p.m > 0 ? k : 0) + m * ((p.c ? 1 : 0) + (p.bias ? 1 : 0))) * size;
  cost.bytes_written = m * size;
  cost.on(p.dtype == f64 ? Unit::fp64 : Unit::fp32) = 2 * m * k;
  return cost;
}

// Registers that nvcc 13 allocates for the kernels on sm_90a, rounded to the allocation granularity.
int registers(const Config& c) {
  if (c.kernel == Kernel::naive) return 40;
  return c.kernel == Kernel::columns ? (c.strided ? 56 : 64) : c.rows * c.vectors >= 8 ? 64 : 48;
}

// Share of the 32-byte sectors read that was asked for: scattered elements bring their neighbours along.
double share_of_sectors(const GemvProblem& p, int element_bytes) {
  const auto distance = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  const std::int64_t nearest = std::max<std::int64_t>(std::min(distance(p.row_stride), distance(p.k_stride)), 1);
  return std::max(element_bytes / 32.0, 1.0 / static_cast<double>(nearest));
}

// Share of memory's rate that lanes reach which share a warp with other rows. Assumed, not measured: rows within one
// iteration follow each other, and a warp reads one piece, less the lanes past the rows' ends; each longer row is a
// piece of its own, and pieces of fewer than 512 bytes lose a little with each halving.
double share_of_pieces(const Config& c, std::int64_t k, std::int64_t tile, int element_bytes) {
  if (k <= tile) return 0.96 - 0.1 * (1 - roofline::tile_efficiency(k, tile));
  const double piece = c.lanes * access_elements(c, element_bytes) * element_bytes;
  return 0.96 - 0.04 * std::max(0.0, std::log2(512 / piece));
}

roofline::Kernel kernel_of(const Variant& row, const GemvProblem& p, const DeviceInfo& device) {
  // As measured for reductions on an H200 (ridge/reduce): a block before its first load, a barrier, a finishing kernel.
  constexpr double prologue_us = 0.45, barrier_us = 0.057, finish_us = 0.9;
  const Config& c = row.config;
  const Extent e = extent_of(p);
  const int size = static_cast<int>(size_of(p.dtype)), v = access_elements(c, size);
  const std::int64_t cut = slices(c, e, size, device.sms), at_a_time = block_rows(c, e, size),
                     tile = tile_elements(c, e, size), in_slice = ceil_div(e.k, cut);
  const Grid grid = grid_of(c, e, cut, size);
  roofline::Kernel k;
  k.cost = cost(p);
  k.blocks = grid.blocks();
  k.block = {.threads = c.threads, .registers = registers(c)};
  k.launches = launches(cut);
  k.bytes_read = k.cost.bytes_read;
  k.bytes_written = k.cost.bytes_written;
  const double iterations =
      static_cast<double>(ceil_div(ceil_div(e.m, at_a_time) * cut, std::max<std::int64_t>(k.blocks, 1)));
  k.trips = static_cast<double>(ceil_div(in_slice, tile)) * iterations;
  k.trip_bytes = static_cast<double>(std::min(tile, in_slice) * std::min(at_a_time, e.m)) * size;
  k.tile_efficiency = roofline::tile_efficiency(in_slice, tile);
  const bool by_columns = c.kernel == Kernel::columns;
  const double waves = static_cast<double>(k.blocks) / (device.sms * c.blocks_per_sm);
  k.memory_share = c.strided ? share_of_sectors(p, size) : c.kernel == Kernel::block ? 1 : 0.96;
  if (c.kernel == Kernel::rows) k.memory_share = share_of_pieces(c, in_slice, tile, size);
  if (c.kernel == Kernel::naive) k.memory_share = size / 32.0;
  if (waves > 1 && k.trips > 4) k.memory_share *= waves / std::ceil(waves);  // a last wave of long blocks idles
  // Instructions beyond the loads: conversions, multiply-adds and those for x; shuffles of sums between lanes.
  const double elements = static_cast<double>(e.m) * static_cast<double>(e.k) / 32;
  k.clocks = elements * (size == 2 ? 2.5 : 2) / 4 * (v > 1 ? 1 : 3);
  if (c.kernel == Kernel::rows) k.clocks += static_cast<double>(e.m) * c.lanes / 32 * std::log2(c.lanes) / 2;
  if (c.kernel == Kernel::rows) k.clocks /= std::max(0.25, k.tile_efficiency);
  double barriers = c.kernel == Kernel::block ? 2 : 0;
  if (by_columns) barriers = 2 * std::log2(columns_of(c, e, size).depth);
  k.block_us = (prologue_us + barriers * barrier_us) * iterations;
  if (cut > 1) k.serial_us = finish_us;
  return k;
}

double predict_us(const Variant& row, const GemvProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p, device), device).us;
}

}  // namespace

static Result<int> choose(const GemvProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      "gemv", variants, options, [&](const Variant& row) { return fits(row, p); },
      [&](const Variant& row) { return predict_us(row, p, device); }, record);
}

Result<GemvPlan> plan_gemv(const GemvProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  const auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  GemvPlan plan{.problem = p, .device = device, .variant = *chosen};
  if (p.m == 0) return plan;
  plan.slices = slices(variants[*chosen].config, extent_of(p), static_cast<int>(size_of(p.dtype)), device.sms);
  if (plan.slices > 1)
    plan.workspace = static_cast<std::size_t>(plan.slices * p.m) * static_cast<std::size_t>(partial_bytes(p.dtype));
  return plan;
}

Explanation GemvPlan::explain() const {
  Explanation e;
  e.op = "gemv";
  e.problem = problem.text();
  e.variant = variants[variant].name;
  e.workspace_bytes = workspace;
  roofline::account(e, kernel_of(variants[variant], problem, device), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

Status GemvPlan::run(const GemvTensors& tensors, Workspace scratch, Stream stream) const {
  auto given = GemvProblem::of(tensors, problem.scalars);
  if (!given) return given.error();
  if (*given != problem) {
    // Tensors with a better alignment than planned are as good.
    GemvProblem planned = problem;
    planned.alignment_offset = given->alignment_offset;
    const auto take_alignment = [](auto& to, const auto& from) { to.alignment_offset = from.alignment_offset; };
    take_alignment(planned.x, given->x);
    take_alignment(planned.y, given->y);
    if (planned.c && given->c) take_alignment(*planned.c, *given->c);
    if (planned.bias && given->bias) take_alignment(*planned.bias, *given->bias);
    if (*given != planned || !fits(variants[variant], *given).empty())
      return not_as_planned("gemv", given->text(), problem.text());
  }
  RIDGE_TRY(check_device("gemv", tensors.y.device, device));
  RIDGE_TRY(check_workspace("gemv", scratch, workspace));
  if (workspace && alignment_of(scratch.data) < 16)
    return Status::invalid("gemv", "workspace", "at an address that is not a multiple of 16", "aligned to 256 bytes");
  if (problem.m == 0) return {};
  const Arguments args{*this, tensors, scratch.data, stream};
  return on_backend(device.id, [&](auto backend) {
    using Backend = decltype(backend);
    switch (problem.dtype) {
      case f64: return launch_f64<Backend>(args);
      case f32: return launch_f32<Backend>(args);
      default: return launch_16bit<Backend>(args);
    }
  });
}

void gemv(const GemvTensors& tensors, const GemvScalars& scalars, Stream stream) {
  run_cached(
      GemvProblem::of(tensors, scalars), [](auto& p, auto& d) { return plan_gemv(p, d); }, tensors.y.device, stream,
      [&](const GemvPlan& plan, Workspace w) { return plan.run(tensors, w, stream); });
}

}  // namespace ridge
