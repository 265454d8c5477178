// validate -> fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/core/as_given.hpp>
#include <ridge/core/check_data.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/roofline/predict.hpp>
#include <ridge/softmax/launch.hpp>
#include <ridge/softmax/variants.hpp>

#include <algorithm>
#include <cmath>

namespace ridge {

using namespace softmax_detail;

static std::string_view op_name(bool log) { return log ? "log_softmax" : "softmax"; }

Result<SoftmaxProblem> SoftmaxProblem::of(bool log, const TensorView& x, const TensorView& y) {
  const std::string_view op = op_name(log);
  if (x.rank() < 1) return Status::invalid(op, "x.shape", "scalar", "of at least one axis");
  if (y.dtype != x.dtype)
    return Status::invalid(op, "y.dtype", std::string(name(y.dtype)), "that of x, " + std::string(name(x.dtype)));
  if (!y.layout.same_shape(x.layout))
    return Status::invalid(op, "y.shape", y.layout.text(), "that of x, " + x.layout.text());
  if (y.device != x.device) return Status::invalid(op, "y.device", "another", "that of x");
  RIDGE_TRY(check_data(op, "x", x));
  RIDGE_TRY(check_data(op, "y", y));
  if (share_memory(x, y) && !same_elements(x, y))
    return Status::invalid(op, "y", "overlapping x", "apart from it, or the same elements");
  SoftmaxProblem p;
  p.cols = x.size(-1);
  p.rows = rows_in(x.layout);
  p.dtype = x.dtype;
  p.log = log;
  const TensorView views[] = {x, y};
  Rows rows[2];
  rows_of(views, rows);
  p.x = rows[0];
  p.y = rows[1];
  return p;
}

Result<SoftmaxProblem> SoftmaxProblem::of_gradient(bool log, const TensorView& dy, const TensorView& y,
                                                   const TensorView& dx) {
  const std::string_view op = op_name(log);
  auto problem = of(log, y, y);
  if (!problem) return problem.error();
  const std::pair<std::string, const TensorView*> others[] = {{"dy", &dy}, {"dx", &dx}};
  for (const auto& [argument, view] : others) {
    if (view->dtype != y.dtype)
      return Status::invalid(op, argument + ".dtype", std::string(name(view->dtype)),
                             "that of y, " + std::string(name(y.dtype)));
    if (!view->layout.same_shape(y.layout))
      return Status::invalid(op, argument + ".shape", view->layout.text(), "that of y, " + y.layout.text());
    if (view->device != y.device) return Status::invalid(op, argument + ".device", "another", "that of y");
    RIDGE_TRY(check_data(op, argument, *view));
  }
  for (const TensorView* in : {&dy, &y})
    if (share_memory(*in, dx) && !same_elements(*in, dx))
      return Status::invalid(op, "dx", "overlapping dy or y", "apart from it, or the same elements");
  const TensorView views[] = {y, dx, dy};
  Rows rows[3];
  rows_of(views, rows);
  problem->backward = true;
  problem->x = rows[0];
  problem->y = rows[1];
  problem->dy = rows[2];
  return problem;
}

static SoftmaxProblem with_layouts(SoftmaxProblem p) {
  if (!p.x) p.x = Rows::contiguous(p.rows, p.cols);
  if (!p.y) p.y = Rows::contiguous(p.rows, p.cols);
  if (p.backward && !p.dy) p.dy = Rows::contiguous(p.rows, p.cols);
  return p;
}

static Status validate(const SoftmaxProblem& p) {
  const std::string_view op = op_name(p.log);
  if (!Types::contains(p.dtype))
    return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of f32 f16 bf16 f64");
  RIDGE_TRY(check_sizes(op, "shape", {p.rows, p.cols}));
  return check_elements_apart(op, "y", p.y->layout(p.cols));
}

// Whether 16-byte units lie alike in every row of x and another tensor.
static bool rows_in_phase(const SoftmaxProblem& p, const Rows& other) {
  const auto size = static_cast<std::int64_t>(size_of(p.dtype));
  return p.x->phase == other.phase && (p.x->pitch() - other.pitch()) * size % unit_bytes == 0;
}

// Whole 16-byte units of the longest row: that of one that starts on a boundary.
static std::int64_t units(const SoftmaxProblem& p) {
  return p.cols / (unit_bytes / static_cast<std::int64_t>(size_of(p.dtype)));
}

// Why this row cannot run this problem; empty: it can.
static std::string fits(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const int size = static_cast<int>(size_of(p.dtype));
  if (c.method == Method::strided) return {};
  if (p.backward && (c.method == Method::online || c.method == Method::vector || c.method == Method::short_rows ||
                     (c.method == Method::three && c.rows > 1)))
    return "it has no gradient";
  if (c.overlaps) {
    if (p.backward) return "it has no gradient";
    if (p.rows > device.sms) return "it is for no more rows than there are multiprocessors";
    constexpr std::int64_t of_a_warp = 32;  // units: measured on an H100, an earlier beginning takes longer by itself
    if (p.dtype != f64 && units(p) <= of_a_warp) return "rows that a warp keeps are `warp_16`'s and `warp_32`'s";
  }
  for (const auto* rows : {&p.x, &p.y, &p.dy}) {
    if (*rows && (*rows)->step != 1) return "a row's elements are not contiguous";
    if (*rows && (*rows)->outer.rank > 1) return "rows are not evenly spaced";
  }
  if (c.method < Method::vector || c.method > Method::ring) return {};
  if (!has_type(c, p.dtype))
    return c.method == Method::short_rows ? "it is for f32" : "f64 has no 16-byte row of this kind";
  if (c.method == Method::span) {
    if (p.cols > tile::span_most_cols)
      return "a row has " + std::to_string(p.cols) + " elements, and a thread keeps " +
             std::to_string(tile::span_most_cols);
    for (const auto* rows : {&p.x, &p.y, &p.dy})
      if (*rows && p.rows > 1 && (*rows)->pitch() != p.cols) return "there are gaps between rows";
    if (p.x->phase % size) return "a tensor starts off its own elements' size";
    if (!rows_in_phase(p, *p.y) || (p.dy && !rows_in_phase(p, *p.dy)))
      return "the tensors start at different distances from 16-byte boundaries";
    if (const int smem = span_smem_bytes(c, p, device); smem > device.smem_optin)
      return std::to_string(smem) + " bytes of shared memory, and the device has " + std::to_string(device.smem_optin);
    return {};
  }
  if (p.x->phase % size || p.y->phase % size) return "a tensor starts off its own elements' size";
  const bool writes_elements = c.method == Method::split && !p.backward;  // where units do not lie alike
  if (!writes_elements && (!rows_in_phase(p, *p.y) || (p.dy && !rows_in_phase(p, *p.dy))))
    return "rows of x and y start at different distances from 16-byte boundaries";
  if (c.method == Method::vector) return {};
  if (c.method == Method::split) {
    if (slices_of(c, p, device).of_row < 2) return "rows are too short to be split, or as many as hold all blocks";
    return {};
  }
  if (c.method == Method::short_rows) {
    const auto pitch = [&](const Rows& rows) { return p.rows <= 1 ? 0 : rows.pitch() * size % unit_bytes; };
    if (p.cols * size % unit_bytes != 0 || p.x->phase != 0 || pitch(*p.x) != 0 || pitch(*p.y) != 0)
      return "rows are not of whole 16-byte units, from a boundary on";
    if (units(p) > lanes(c))
      return "a row has " + std::to_string(units(p)) + " units of 16 bytes, and " + std::to_string(lanes(c)) +
             " are kept";
    return {};
  }
  if (c.method == Method::resident && c.cluster > 1) {
    if (device.cc != 90) return "clusters are of compute capability 9.0";
    if (p.backward) return "it has no gradient";
    if (units(p) < c.cluster)
      return "a row has " + std::to_string(units(p)) + " units of 16 bytes for " + std::to_string(c.cluster) +
             " blocks";
  }
  if (c.method == Method::ring) {
    if (!p.backward) return "it is for gradients";
    if (device.cc != 90) return "the copy engine and clusters are of compute capability 9.0";
    if (ring_of(c, p, device.smem_optin).stages == 0)
      return "a row of y and of dy, or a cluster's slice of them, do not fit in " + std::to_string(device.smem_optin) +
             " bytes of shared memory";
    return {};
  }
  const std::int64_t most = p.backward ? gradient_capacity(c) : capacity(c);
  const int smem = p.backward ? gradient_smem_bytes(c) : smem_bytes(c);
  if (units(p) > most)
    return "a row has " + std::to_string(units(p)) + " units of 16 bytes, and " + std::to_string(most) + " are kept";
  if (smem > device.smem_optin)
    return std::to_string(smem) + " bytes of shared memory, and the device has " + std::to_string(device.smem_optin);
  return {};
}

static Cost cost(const SoftmaxProblem& p) {
  const double n = static_cast<double>(p.rows) * static_cast<double>(p.cols),
               size = static_cast<double>(size_of(p.dtype));
  Cost c;
  c.bytes_read = (p.backward ? 2 : 1) * n * size;
  c.bytes_written = n * size;
  c.on(Unit::special) = p.backward && !p.log ? 0 : n;      // one exponential
  c.on(p.dtype == f64 ? Unit::fp64 : Unit::fp32) = 5 * n;  // maximum, difference, scale, sum, product
  return c;
}

static std::int64_t grid_of(const Config& c, const SoftmaxProblem& p, const DeviceInfo& device) {
  if (p.rows == 0 || p.cols == 0) return 0;
  if (c.method == Method::ring) {  // blocks stay, and go through rows
    const tile::RowRing ring = ring_of(c, p, device.smem_optin);
    const std::int64_t room = roofline::resident_clusters(device, c.cluster);
    return std::max<std::int64_t>(std::min(ring.clusters_of(p.rows), room) / ring.phases, 1) * ring.phases * c.cluster;
  }
  if (c.method == Method::split) return p.rows * slices_of(c, p, device).of_row;
  const std::int64_t of_block = c.method == Method::span ? span_rows(c, p, device) : rows_per_block(c);
  return (p.rows + of_block - 1) / of_block * c.cluster;
}

// How often a thread goes to memory and waits, in all passes. Loads of the first pass of `three` and of the writing
// pass follow one another by fours (the compiler unrolls them), those of a running maximum and sum one by one.
static double trips(const Config& c, const SoftmaxProblem& p, const DeviceInfo& device) {
  const auto times = [](double work, double at_once) { return std::ceil(work / at_once); };
  const double cols = static_cast<double>(p.cols), per_thread = times(cols, lanes(c));
  switch (c.method) {
    case Method::naive: return cols;  // three passes, of which neighbouring rows leave a third in the cache
    case Method::three: return 3 * times(per_thread, 4);
    case Method::online:
    case Method::strided: return per_thread + times(per_thread, 4);
    case Method::vector: {
      const double of_thread = times(static_cast<double>(units(p)), c.threads);
      return 2 * (std::floor(of_thread / 4) + std::fmod(of_thread, 4));
    }
    case Method::split: {
      const double of_unit = unit_bytes / static_cast<double>(size_of(p.dtype));
      return 2 * times(static_cast<double>(slices_of(c, p, device).cols), of_unit * c.threads * 4) + 1;
    }
    case Method::span:
    case Method::short_rows:
    case Method::resident:
    case Method::ring: return 1;
  }
  return 1;
}

// Passes that read the input again, after the first.
static int further_reads(Method method) {
  if (method == Method::span || method >= Method::short_rows) return method == Method::strided ? 1 : 0;
  return method == Method::naive || method == Method::three ? 2 : 1;
}

static roofline::Kernel kernel_of(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const Cost least = cost(p);
  const double size = static_cast<double>(size_of(p.dtype)), row_bytes = static_cast<double>(p.cols) * size;
  roofline::Kernel k;
  k.cost = least;
  k.blocks = grid_of(c, p, device);
  k.block = {.threads = c.threads,
             .registers = registers(c),
             .smem = c.method == Method::ring   ? ring_of(c, p, device.smem_optin).smem_bytes()
                     : c.method == Method::span ? span_smem_bytes(c, p, device)
                     : p.backward               ? gradient_smem_bytes(c)
                                                : smem_bytes(c)};
  k.bytes_read = least.bytes_read;
  k.bytes_written = least.bytes_written;
  // The next time the rows come from where those under way fit: beside shared memory, in the L2 cache, in memory.
  const double per_sm = std::min(static_cast<double>(roofline::occupancy(device, k.block).blocks),
                                 std::ceil(static_cast<double>(k.blocks) / device.sms));
  const bool splits = c.method == Method::split;  // all rows are under way
  const double under_way =                        // on a multiprocessor
      splits ? least.bytes_read / device.sms : per_sm * static_cast<double>(rows_per_block(c)) * row_bytes;
  const double again = further_reads(c.method) * least.bytes_read;
  constexpr double l2_share = 0.3;  // of the cache, for the input: as much is output, and its halves keep copies
  if (again > 0 && under_way * device.sms > l2_share * static_cast<double>(device.l2_bytes)) {
    k.bytes_read += again;
    k.memory_share = 0.93;  // passes of blocks in different places of their rows: measured at 1024x131072
  } else if (splits || under_way > device.smem_per_sm) {
    k.l2_bytes = again;
  }
  k.trips = trips(c, p, device);
  k.block_us = row.block_us;
  const bool of_units = c.method == Method::resident || c.method == Method::vector || splits;
  if (of_units && size == 2) k.block_us *= 1.35;  // twice the elements in a unit
  if (splits) {
    k.launches = 2;
    k.serial_us = 0.5;  // the second one waits for the last block of the first, and its beginning lies behind that
    k.trip_bytes = 4.0 * unit_bytes * c.threads;
    // A warp's elements are a line of 128 bytes, or half of one: an estimate.
    if (!p.backward && !rows_in_phase(p, *p.y)) k.memory_share = size == 2 ? 0.5 : 0.8;
  } else if (c.method == Method::span) {
    const double turns = static_cast<double>(span_rows(c, p, device)) / c.threads;
    k.trip_bytes = row_bytes * turns * c.threads * (p.backward ? 2 : 1);
    k.block_us += 0.03 * static_cast<double>(p.cols) * turns;  // a thread's elements follow one another
    if (p.backward) k.memory_share = 0.87;
  } else if (c.method == Method::resident) {
    k.trip_bytes = std::min(row_bytes, static_cast<double>(lanes(c) * c.in_registers * unit_bytes)) * c.rows;
    if (p.backward) k.trip_bytes *= 2;
    if (p.backward && c.in_registers == 1) k.block_us -= 0.45;  // no maximum, and no exponentials
    k.tile_efficiency =
        static_cast<double>(units(p)) / static_cast<double>(p.backward ? gradient_capacity(c) : capacity(c));
    if (c.cluster > 1) k.trip_bytes = row_bytes / c.cluster;
    // Units in shared memory are moved there, and read again in each of three passes: measured, for 512 threads.
    const double unit_us = (size == 2 ? 0.75 : 0.5) * c.threads / 512;
    const double kept = std::ceil(static_cast<double>(units(p)) / (lanes(c) * c.cluster)) -
                        (p.backward ? gradient_registers(c) : c.in_registers);
    k.block_us += unit_us * std::max(kept, 0.0);
    if (c.cluster > 1 && k.blocks <= device.sms) k.block_us *= 0.5;  // each has a multiprocessor to itself
  } else if (c.method == Method::short_rows) {
    k.trip_bytes = row_bytes * static_cast<double>(rows_per_block(c));
    k.tile_efficiency = static_cast<double>(units(p)) / lanes(c);
    k.block_us /= std::max(k.tile_efficiency, 0.25);  // lanes that idle: up to half of a warp's, warp_16 has the rows
  } else if (c.method == Method::ring) {
    // A team's rows follow one another. Of a row: a reduction, of a cluster's with a message, and the passes over each
    // unit; fitted to an H200 (bench/results/h200/rows_ring.json).
    const tile::RowRing ring = ring_of(c, p, device.smem_optin);
    const double of_lane = std::ceil(static_cast<double>(ring.slice_units) / c.team);
    const double unit_us = size == 2 ? 0.32 : 0.2;
    const double row_us = (c.cluster > 1 ? 0.96 : 0.72) + unit_us * of_lane;
    const double teams = static_cast<double>(k.blocks) / c.cluster * ring.teams;
    k.trip_bytes = static_cast<double>(ring.teams) * ring.stages * ring.slot();
    k.trips = std::ceil(static_cast<double>(p.rows) / teams);  // one row while another is brought
    k.block_us = (row_us - device.memory_latency_us) * k.trips;
    if (ring.stages == 1)  // its way from memory, behind which no work lies
      k.block_us += k.trips * (device.memory_latency_us + ring.slot() * device.sms / (device.memory_gbs * 1e3));
    k.serial_us = tile::RowRing::start_us(c.cluster);
    if (p.rows < ring.phases) k.serial_us += 90;  // clusters without a row: measured with 2 rows of 20,001
  } else {
    const double bytes = c.method == Method::vector ? 4.0 * unit_bytes : size;  // of a thread at once
    k.trip_bytes = std::min(row_bytes * static_cast<double>(rows_per_block(c)), bytes * c.threads);
  }
  if (c.overlaps && device.cc == 90) k.serial_us -= 1;  // its beginning lies behind the end of the kernel before it
  k.clocks = (p.dtype == f64 ? 40 : 2.5) / 32 * static_cast<double>(p.rows) * static_cast<double>(p.cols);
  if (c.method == Method::span && p.dtype != f64)  // instructions, four warps' at a time: of an element, and of a row
    k.clocks = (20 * static_cast<double>(p.cols) + 60) / 128 * static_cast<double>(p.rows);
  return k;
}

static double predict_us(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p, device), device).us;
}

Result<SoftmaxPlan> plan_softmax(const SoftmaxProblem& problem, const DeviceInfo& device, const PlanOptions& options) {
  const SoftmaxProblem p = with_layouts(problem);
  RIDGE_TRY(validate(p));
  auto chosen = select<Variant>(
      op_name(p.log), variants, options, [&](const Variant& row) { return fits(row, p, device); },
      [&](const Variant& row) { return predict_us(row, p, device); });
  if (!chosen) return chosen.error();
  const Config& c = variants[*chosen].config;
  const std::int64_t grid = grid_of(c, p, device);
  if (grid > max_grid)
    return Status::invalid(op_name(p.log), "rows", std::to_string(p.rows),
                           "at most " + std::to_string(max_grid / c.cluster * rows_per_block(c)));
  return SoftmaxPlan{p, device, *chosen, grid};
}

std::size_t SoftmaxPlan::workspace_bytes() const {
  const Config& c = variants[variant].config;
  return c.method == Method::split && grid > 0 ? partials_bytes(c, problem, device) : 0;
}

Explanation SoftmaxPlan::explain() const {
  Explanation e;
  e.op = op_name(problem.log);
  e.problem = std::string(name(problem.dtype)) + " " + std::to_string(problem.rows) + "x" +
              std::to_string(problem.cols) + (problem.backward ? " backward" : "");
  e.variant = variants[variant].name;
  e.workspace_bytes = workspace_bytes();
  roofline::account(e, kernel_of(variants[variant], problem, device), device);
  (void)select<Variant>(
      e.op, variants, {}, [&](const Variant& row) { return fits(row, problem, device); },
      [&](const Variant& row) { return predict_us(row, problem, device); }, &e.candidates);
  return e;
}

// Tensors may start elsewhere than was planned for where the row takes them so.
static Status check_planned(const SoftmaxPlan& plan, const Result<SoftmaxProblem>& given, const TensorView& x,
                            const Workspace& workspace) {
  if (!given) return given.error();
  SoftmaxProblem planned = plan.problem;
  const std::string_view op = op_name(planned.log);
  if (*given != planned) {
    planned.x->phase = given->x->phase;
    planned.y->phase = given->y->phase;
    if (planned.dy && given->dy) planned.dy->phase = given->dy->phase;
    if (*given != planned || !fits(variants[plan.variant], *given, plan.device).empty())
      return Status::invalid(op, "tensors", std::string(name(x.dtype)) + " " + x.layout.text() + " or their alignment",
                             "as planned, " + std::string(name(planned.dtype)) + " " + std::to_string(planned.rows) +
                                 "x" + std::to_string(planned.cols));
  }
  if (x.device != plan.device.id) return Status::invalid(op, "device", "another", "the plan's");
  if (workspace.bytes < plan.workspace_bytes())
    return Status::invalid(op, "workspace", std::to_string(workspace.bytes) + " bytes",
                           "at least " + std::to_string(plan.workspace_bytes()));
  return {};
}

Status SoftmaxPlan::run(const TensorView& x, const TensorView& y, Workspace workspace, Stream stream) const {
  const auto given = SoftmaxProblem::of(problem.log, x, y);
  RIDGE_TRY(check_planned(*this, given, x, workspace));
  if (grid == 0) return {};
  return as_given(*this, *given, [&](const SoftmaxPlan& plan) {  // rings: more room off a unit
    return on_backend(device.id, [&](auto backend) {
      return launch<decltype(backend)>(plan, x.data, y.data, workspace.data, stream);
    });
  });
}

Status SoftmaxPlan::run_gradient(const TensorView& dy, const TensorView& y, const TensorView& dx, Workspace workspace,
                                 Stream stream) const {
  const auto given = SoftmaxProblem::of_gradient(problem.log, dy, y, dx);
  RIDGE_TRY(check_planned(*this, given, y, workspace));
  if (grid == 0) return {};
  return as_given(*this, *given, [&](const SoftmaxPlan& plan) {  // rings: more room off a unit
    return on_backend(device.id, [&](auto backend) {
      return launch_gradient<decltype(backend)>(plan, y.data, dy.data, dx.data, workspace.data, stream);
    });
  });
}

template <class Run>
static void run_cached(const Result<SoftmaxProblem>& problem, Device device, Stream stream, Run&& run) {
  thread_local PlanCache<SoftmaxProblem, SoftmaxPlan> cache;
  throw_if(problem.error());
  auto plan = cache.find(*problem, device, [](auto& p, auto& d) { return plan_softmax(p, d); });
  throw_if(plan.error());
  throw_if(run_with_workspace(**plan, device, stream, [&](Workspace workspace) { return run(**plan, workspace); }));
}

static void run_forward(bool log, const TensorView& x, const TensorView& y, Stream stream) {
  run_cached(SoftmaxProblem::of(log, x, y), y.device, stream,
             [&](const SoftmaxPlan& plan, Workspace workspace) { return plan.run(x, y, workspace, stream); });
}
static void run_backward(bool log, const TensorView& dy, const TensorView& y, const TensorView& dx, Stream stream) {
  run_cached(SoftmaxProblem::of_gradient(log, dy, y, dx), y.device, stream,
             [&](const SoftmaxPlan& plan, Workspace w) { return plan.run_gradient(dy, y, dx, w, stream); });
}

void softmax(const TensorView& x, const TensorView& y, Stream stream) { run_forward(false, x, y, stream); }
void log_softmax(const TensorView& x, const TensorView& y, Stream stream) { run_forward(true, x, y, stream); }
void softmax_gradient(const TensorView& dy, const TensorView& y, const TensorView& dx, Stream stream) {
  run_backward(false, dy, y, dx, stream);
}
void log_softmax_gradient(const TensorView& dy, const TensorView& y, const TensorView& dx, Stream stream) {
  run_backward(true, dy, y, dx, stream);
}

}  // namespace ridge
