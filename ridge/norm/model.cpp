// Grids, the sums of gradients, and the time of a row of the table. Pure: no CUDA call, no global.
#include <ridge/norm/launch.hpp>
#include <ridge/norm/model.hpp>

#include <algorithm>
#include <cmath>

namespace ridge::norm_detail {

// ---- grids

std::int64_t grid_of(const Config& c, const NormProblem& p, const DeviceInfo& device) {
  if (p.cols == 0 || p.rows == 0) return 0;
  if (is_ring(c)) {  // blocks stay, and go through rows
    const tile::RowRing ring = ring_of(c, p, device.smem_optin);
    const std::int64_t room = roofline::resident_clusters(device, c.cluster);
    return std::max<std::int64_t>(std::min(ring.clusters_of(p.rows), room) / ring.phases, 1) * ring.phases * c.cluster;
  }
  if (c.method == Method::split) return p.rows * slices_of(c, p, device).of_row;
  if (c.method == Method::span || c.method == Method::span_sums) {
    const std::int64_t rows = span_shape(c, p, device).rows, blocks = (p.rows + rows - 1) / rows;
    return c.method == Method::span ? blocks : std::min<std::int64_t>(blocks, device.sms * c.blocks_per_sm);
  }
  const std::int64_t blocks = (p.rows + rows_per_block(c) - 1) / rows_per_block(c);
  if (c.method == Method::short_sums) return std::min<std::int64_t>(blocks, device.sms * c.blocks_per_sm);
  if (c.method != Method::fused) return blocks * c.cluster;
  // As many blocks, or clusters, as there is room for.
  return std::min<std::int64_t>(blocks, roofline::resident_clusters(device, c.cluster)) * c.cluster;
}

SumsPlan sums_plan(const NormPlan& plan) {
  const NormProblem& p = plan.problem;
  const std::int64_t x_bytes = p.dtype == f64 ? 8 : 4;
  SumsPlan sums;
  if (!wants_sums(p) || p.rows == 0 || p.cols == 0) return sums;
  const Config& c = variants[plan.variant].config;
  sums.fused = keeps_sums(c);
  if (sums.fused) {
    // A share of the rows, and one for each phase that another begins.
    sums.slices = plan.grid / c.cluster;
    if (c.method != Method::span_sums) sums.slices += std::min(phases_of(p), p.rows) - 1;
  } else {
    constexpr std::int64_t line = 256;
    sums.statistics_bytes = static_cast<std::size_t>((p.rows * statistics_size * x_bytes + line - 1) / line * line);
    sums.of_few = p.rows <= few_rows;
  }
  if (!sums.fused && !sums.of_few) {
    constexpr std::int64_t least_rows = 64, blocks_per_sm = 8;  // to be worth a slice; of the kernel over columns
    const std::int64_t groups = (p.cols + columns_wide - 1) / columns_wide;
    const std::int64_t wanted = (plan.device.sms * blocks_per_sm + groups - 1) / groups;
    const std::int64_t slices = std::clamp<std::int64_t>(wanted, 1, (p.rows + least_rows - 1) / least_rows);
    sums.rows_of_slice = (p.rows + slices - 1) / slices;
    sums.slices = (p.rows + sums.rows_of_slice - 1) / sums.rows_of_slice;
  }
  sums.bytes = sums.statistics_bytes + static_cast<std::size_t>(sums.slices * 2 * p.cols * x_bytes);
  return sums;
}

std::size_t partials_at(const SumsPlan& sums) {
  constexpr std::size_t line = 256;
  return (sums.bytes + line - 1) / line * line;
}

// ---- cost

static double elements(const NormProblem& p) { return static_cast<double>(p.rows) * static_cast<double>(p.cols); }

static Cost cost(const NormProblem& p) {
  const double n = elements(p), bytes = static_cast<double>(element_bytes(p)), cols = static_cast<double>(p.cols);
  Cost c;
  c.bytes_read = n * bytes * ((p.backward ? 2 : 1) + p.added) + cols * bytes * (p.gamma + p.beta);
  c.bytes_written = n * bytes * (1 + (p.added && !p.backward)) + cols * bytes * (p.dgamma + p.dbeta);
  // Forward: sum; difference, its square and sums; difference, scale, gamma and beta. Backward: the sums of g, and dx.
  const double forward = is_two_float(p) ? p.norm == Norm::rms ? 11 : 18 : 9;  // two_float.cuh
  c.on(p.dtype == f64 ? Unit::fp64 : Unit::fp32) =
      n * (forward + p.added) + (p.backward ? n * (7 + 2 * p.dgamma + p.dbeta) : 0);
  return c;
}

// Registers of a thread, to the unit in which they are handed out: what nvcc 13 makes of the rows for sm_90a.
static int registers(const Config& c, const NormProblem& p) {
  if (is_two_float(p))
    return c.method == Method::streaming ? 64 : c.in_registers >= 8 ? 80 : c.in_registers >= 4 ? 64 : 48;
  if (c.method == Method::fused) return 128;
  if (c.method == Method::short_sums) return 64;
  if (is_ring(c)) return c.threads > 384 ? 128 : 168;
  if (c.method == Method::even) return 64;
  if (c.method == Method::span || c.method == Method::span_sums) return 64;
  if (c.method != Method::resident) return c.method == Method::vector || c.method == Method::split ? 64 : 40;
  return c.in_registers >= 8 ? 80 : c.in_registers >= 4 || p.backward ? 64 : 40;
}

// Clocks of a multiprocessor for 32 elements of a forward pass, beyond what loads hide.
// In two floats as fitted to an H200.
static double forward_clocks(const NormProblem& p) {
  if (is_two_float(p)) return p.norm == Norm::rms ? 2.75 : 4.25;
  return p.dtype == f64 ? 40 : 2.5;
}

// How often a thread goes to memory and waits, in all passes; loads of a pass follow one another by fours.
static double trips(const Config& c, const NormProblem& p, const DeviceInfo& device) {
  const auto times = [](double work, double at_once) { return std::ceil(work / at_once); };
  const double cols = static_cast<double>(p.cols);
  switch (c.method) {
    case Method::streaming: return (is_two_float(p) ? 2 : 3) * times(times(cols, lanes(c)), lanes(c) == 1 ? 1 : 4);
    case Method::vector: return 2 * times(static_cast<double>(units(p)), 4.0 * c.threads);
    case Method::split: {
      const double of_unit = unit_bytes / static_cast<double>(size_of(p.dtype));
      return 2 * times(static_cast<double>(slices_of(c, p, device).cols), of_unit * c.threads * (p.backward ? 2 : 4)) +
             1;
    }
    case Method::span:
    case Method::span_sums:
    case Method::short_rows:
    case Method::short_sums:
    case Method::resident:
    case Method::even:
    case Method::ring:
    case Method::fused: return 1;
  }
  return 1;
}

roofline::Kernel kernel_of(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const Cost least = cost(p);
  const double bytes = static_cast<double>(element_bytes(p)), row_bytes = static_cast<double>(p.cols) * bytes;
  NormPlan plan{p, device, static_cast<int>(&row - variants), grid_of(c, p, device)};
  roofline::Kernel k;
  k.cost = least;
  k.blocks = plan.grid;
  k.block = {.threads = has_roles(c) ? role_threads(c) : c.threads,
             .registers = registers(c, p),
             .smem = c.method == Method::span || c.method == Method::span_sums ? span_shape(c, p, device).smem
                     : is_ring(c)                ? ring_of(c, p, device.smem_optin).smem_bytes()
                     : has_roles(c)              ? role_rows(c, p, device.smem_optin).smem
                     : c.method == Method::fused ? fused_rows(c, p, device.smem_optin).smem
                                                 : smem_bytes(c, use_of(p))};
  k.bytes_read = least.bytes_read;
  k.bytes_written = least.bytes_written;
  if (c.method == Method::vector) k.memory_share = 0.75;  // measured at 1024x131072
  // The next time the rows come from where those under way fit: beside shared memory, in the L2 cache, in memory.
  const double per_sm = std::min(static_cast<double>(roofline::occupancy(device, k.block).blocks),
                                 std::ceil(static_cast<double>(k.blocks) / device.sms));
  const double under_way = per_sm * static_cast<double>(rows_per_block(c)) * row_bytes * tensors_kept(p);
  const double after_first = c.method == Method::vector || is_two_float(p) ? 1 : p.backward ? 1.5 : 2;
  const double passes = c.method == Method::streaming || c.method == Method::vector ? after_first : 0;
  const double again = passes * elements(p) * bytes * tensors_kept(p);
  constexpr double l2_share = 0.3;  // of the cache, for the input: as much is output, and its halves keep copies
  if (again > 0 && under_way * device.sms > l2_share * static_cast<double>(device.l2_bytes)) k.bytes_read += again;
  else if (under_way > device.smem_per_sm) k.l2_bytes = again;
  k.trips = trips(c, p, device);
  k.trip_bytes = std::min(row_bytes * static_cast<double>(rows_per_block(c)),
                          (c.method == Method::vector ? 4.0 * unit_bytes : bytes) * c.threads);
  if (c.method == Method::split) {
    // The row is read again as far as the L2 cache has it, behind a wait for what all of its blocks have found; the
    // more blocks there are, the longer that takes. Fitted to an H200.
    k.launches = 2;
    k.memory_share = p.backward ? 0.5 : 0.8;
    k.serial_us = 1.2 + (p.backward ? 0.02 : 0.015) * static_cast<double>(k.blocks);
    k.trip_bytes = 4.0 * unit_bytes * c.threads;
    k.block_us = 1.5;
  } else if (c.method == Method::span || c.method == Method::span_sums) {
    // Of gradients, turns follow one another, each brought while the one before is worked on.
    const SpanShape shape = span_shape(c, p, device);
    const double in_turn = c.method == Method::span
                               ? 1
                               : std::ceil(static_cast<double>(p.rows) / static_cast<double>(plan.grid * shape.rows));
    const double of_thread = std::ceil(static_cast<double>(shape.rows) / c.threads) * static_cast<double>(p.cols);
    k.trip_bytes = row_bytes * shape.rows * tensors_kept(p);
    k.trips = in_turn;
    k.block_us = (p.backward ? 2.0 + 0.06 * of_thread : 0.8 + 0.06 * of_thread) * in_turn;
  } else if (has_roles(c)) {
    // The same, each row's sums behind those of the row before. Fitted to an H200.
    const double in_turn = std::ceil(static_cast<double>(p.rows) * c.cluster / static_cast<double>(plan.grid));
    const RoleRows shape = role_rows(c, p, device.smem_optin);
    k.trips = 1 + 0.25 * in_turn;
    k.trip_bytes = static_cast<double>(shape.smem);
    k.block_us = (0.35 + 0.16 * static_cast<double>(shape.slice_units) / c.threads) * in_turn;
    if (c.cluster > 4) k.serial_us += 14;  // as below
  } else if (c.method == Method::fused) {
    // Turns follow one another, each brought while two are worked on: the reductions of one, and the passes over each
    // unit that a lane can have; a cluster's with a message. Fitted to an H200.
    const double in_turn = std::ceil(static_cast<double>(p.rows) * c.cluster / static_cast<double>(plan.grid * c.rows));
    constexpr double fitted_threads = 448;  // clusters had blocks of as many when this was fitted
    const double of_lanes = c.cluster > 1 ? c.in_registers * c.threads / fitted_threads : c.in_registers;
    const double turn_us =
        0.7 + 0.01 * lanes(c) / device.warp + (c.cluster > 1 ? 0.3 : 0) + (bytes == 2 ? 0.4 : 0.25) * of_lanes;
    k.trips = 1 + 0.25 * in_turn;
    k.trip_bytes = static_cast<double>(fused_rows(c, p, device.smem_optin).smem);
    k.block_us = turn_us * in_turn;
    if (c.cluster > 4)
      k.serial_us += 14;  // until all of such a cluster's blocks have their memory: of 1 to 8 rows, measured
    k.tile_efficiency = static_cast<double>(units(p)) / static_cast<double>(capacity(c, Use::gradient));
  } else if (c.method == Method::even) {
    // Of a row: its reduction, and two passes over each unit; fitted to an H200.
    const double of_lane = std::max(std::ceil(static_cast<double>(units(p)) / lanes(c)), 1.0);
    k.block_us = 0.6 + 0.01 * c.threads / 32 + (bytes == 4 ? 0.1 : 0.27) * of_lane;
    k.trip_bytes = row_bytes;
    k.tile_efficiency = static_cast<double>(units(p)) / static_cast<double>(capacity(c, use_of(p)));
    // A residual beyond four units of a lane comes behind them, which several small blocks do not hide. Measured.
    if (p.added && of_lane > 4 && c.threads <= 256) k.memory_share = 0.97;
  } else if (c.method == Method::resident) {
    // Of a row: its reductions, and the passes over each unit, which take longer where they are in shared memory;
    // fitted to an H200.
    const double of_lane = std::max(std::ceil(static_cast<double>(units(p)) / (lanes(c) * c.cluster)), 1.0);
    const double in_registers = std::min<double>(of_lane, held(c, use_of(p)).in_registers);
    const double register_us = p.backward ? (bytes == 2 ? 0.68 : 0.5) : bytes == 2 ? 0.3 : 0.1;
    const double shared_us = p.backward ? (bytes == 2 ? 2.4 : 3.0) : (bytes == 2 ? 0.93 : 0.8) * (p.added ? 1 : 0.68);
    const double shifted =
        phases_of(p) > 1 && p.gamma ? (bytes == 2 ? 2.4 : 1.7) : 1;  // gamma lies differently from the row
    const double longer_us = is_two_float(p) ? register_us * (forward_clocks(p) / 2.5 - 1) : 0;  // as instructions go
    k.block_us = (lanes(c) > device.warp ? 0.6 + 0.01 * c.threads / 32 : 0.2) +
                 (c.cluster > 1 ? (c.cluster > 2 ? 2.7 : 0.65) * c.cluster : 0) +
                 shifted * (register_us * in_registers + shared_us * (of_lane - in_registers)) + longer_us * of_lane;
    if (lanes(c) <= device.warp && p.cols <= tile::span_most_cols) k.block_us += 0.6;  // nearly all lanes are idle
    if (bytes == 4 && use_of(p) == Use::plain) k.memory_share = 0.975;                 // measured
    k.trip_bytes = row_bytes / c.cluster * tensors_kept(p) * c.rows;
    k.tile_efficiency = static_cast<double>(units(p)) / static_cast<double>(capacity(c, use_of(p)));
  } else if (is_ring(c)) {
    // A team's rows follow one another. Of a row: its reduction, and the passes over each unit; fitted to an H200.
    const tile::RowRing ring = ring_of(c, p, device.smem_optin);
    const double of_lane = std::ceil(static_cast<double>(ring.slice_units) / c.team);
    const double of_16_bits = c.team > 384 ? 0.22 : 0.19;
    const double unit_us = (bytes == 2 ? of_16_bits : 0.1) * (!p.added ? 1 : phases_of(p) > 1 ? 1.6 : 1.05);
    const double row_us = 0.24 + 0.05 * c.cluster + unit_us * of_lane;
    const double teams = static_cast<double>(plan.grid) / c.cluster * ring.teams;
    k.trip_bytes = static_cast<double>(ring.teams) * ring.stages * ring.slot();
    k.trips = std::ceil(static_cast<double>(p.rows) / teams);  // one row while another is brought
    k.block_us = (row_us - device.memory_latency_us) * k.trips;
    k.serial_us = tile::RowRing::start_us(c.cluster) + 1.5;  // then gamma and beta
  } else if (c.method == Method::short_sums) {
    // Blocks stay: a turn's loads, reductions and passes follow one another, beside another block's. Fitted to an H200.
    const double turns = std::ceil(static_cast<double>(p.rows) / static_cast<double>(plan.grid * c.rows));
    k.trips = turns;
    k.trip_bytes = row_bytes * c.rows * tensors_kept(p);
    k.block_us = (bytes == 2 ? 2.2 : 1.3) * turns;
  } else if (c.method == Method::short_rows) {
    k.trip_bytes = row_bytes * static_cast<double>(rows_per_block(c));
    k.block_us = 0.5 * lanes(c) / static_cast<double>(units(p));
  } else {
    // Units of two passes, and merging what they give; softmax's row of this kind has 2.2.
    k.block_us = c.method == Method::vector ? 2.2 + 0.3 * static_cast<double>(units(p)) / c.threads : 0.25;
  }
  if (c.overlaps && device.cc == 90) k.serial_us -= 1;  // its beginning lies behind the end of the kernel before it
  // 16-bit elements are converted in each pass, of gradients gamma for every row.
  const bool is_short = c.method == Method::short_rows;
  double conversions = 0;
  if (bytes == 2 && c.method == Method::resident) conversions = p.backward ? 4 + 1.5 * p.gamma : 2;
  if (bytes == 2 && is_short) conversions = 1;
  // Lanes that have no unit of a short row take as long as those that do.
  const double worked_on = is_short ? static_cast<double>(p.rows) * lanes(c) * unit_bytes / bytes : elements(p);
  k.clocks = (forward_clocks(p) + conversions) / 32 * (p.backward ? 2 : 1) * worked_on;
  if (bytes <= 4 && (c.method == Method::span || c.method == Method::span_sums)) {
    // Instructions, four warps' at a time: of an element, and of a row. Fitted to an H200.
    const double of_element = p.backward ? 120 : 56, of_row = p.backward ? 200 : 260;
    k.clocks = (of_element * static_cast<double>(p.cols) + of_row) / 128 * static_cast<double>(p.rows);
  }
  if (wants_sums(p)) {
    const SumsPlan sums = sums_plan(plan);
    const double slices = static_cast<double>(sums.bytes);
    k.launches += sums.fused || sums.of_few ? 1 : 2;
    k.bytes_written += slices;
    if (!sums.fused) {
      k.bytes_read += 2 * elements(p) * bytes;
      const double high = columns_threads / columns_wide * 4.0;  // rows on their way at once
      k.serial_us += 2 + device.memory_latency_us * static_cast<double>(sums.rows_of_slice) / high;
    }
    k.serial_us += 2 * device.memory_latency_us + (device.l2_gbs > 0 ? slices / device.l2_gbs * 1e-3 : 0);
  }
  return k;
}

}  // namespace ridge::norm_detail
