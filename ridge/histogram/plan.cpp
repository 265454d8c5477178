// validate -> fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/core/check_data.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/core/text.hpp>
#include <ridge/histogram/launch.hpp>
#include <ridge/histogram/variants.hpp>
#include <ridge/roofline/predict.hpp>

#include <algorithm>
#include <cmath>

namespace ridge {

using namespace histogram_detail;

static constexpr std::string_view op = "histogram";

static std::string text(HistogramRange r) { return number_text(r.lo) + "," + number_text(r.hi); }

// A required but missing range is NaN, which validate() refuses.
static HistogramRange range_or_default(DType dtype, std::optional<HistogramRange> given) {
  if (given) return *given;
  if (dtype == DType::u8) return {0, 256};
  if (dtype == DType::i8) return {-128, 128};
  return {std::nan(""), std::nan("")};
}

HistogramProblem HistogramProblem::flat(DType dtype, std::int64_t n, std::int64_t bins,
                                        std::optional<HistogramRange> range) {
  return {dtype, Layout::contiguous({n}), DType::i64, Layout::contiguous({bins}), range_or_default(dtype, range)};
}

Result<HistogramProblem> HistogramProblem::of(const TensorView& x, const TensorView& counts,
                                              std::optional<HistogramRange> range) {
  if (counts.rank() != 1)
    return Status::invalid(op, "counts.shape", counts.layout.text(), "of one axis, the number of bins");
  RIDGE_TRY(check_same_device(op, "counts", counts.device, "x", x.device));
  for (const auto& [view, label] : {std::pair{&x, "x"}, std::pair{&counts, "counts"}})
    RIDGE_TRY(check_data(op, label, *view));
  RIDGE_TRY(check_no_overlap(op, "counts", counts, "x", x));
  return HistogramProblem{x.dtype, x.layout, counts.dtype, counts.layout, range_or_default(x.dtype, range)};
}

std::string HistogramProblem::text() const {
  return std::string(name(dtype)) + " " + x.text() + ", " + std::to_string(bins()) + " bins over " + ridge::text(range);
}

static Status validate(const HistogramProblem& p) {
  if (p.dtype != DType::i8 && !SampleTypes::contains(p.dtype))
    return Status::invalid(op, "x.dtype", std::string(name(p.dtype)), "one of u8 i8 i32 i64 f16 bf16 f32 f64");
  if (p.counts_dtype != DType::i64 && p.counts_dtype != DType::i32)
    return Status::invalid(op, "counts.dtype", std::string(name(p.counts_dtype)), "i64 or i32");
  if (p.counts.rank != 1 || p.bins() < 1 || p.bins() > max_bins)
    return Status::invalid(op, "bins", p.counts.text(), "from 1 to " + std::to_string(max_bins));
  RIDGE_TRY(check_extent(op, "x", p.x));
  RIDGE_TRY(check_elements_apart(op, "counts", p.counts));
  if (p.counts_dtype == DType::i32 && p.x.count() > 0x7fffffff)
    return Status::invalid(op, "counts.dtype", "i32",
                           "i64: " + std::to_string(p.x.count()) + " samples could overflow it");
  const auto [lo, hi] = p.range;
  if (std::isnan(lo) && std::isnan(hi))
    return Status::invalid(op, "range", "not given",
                           "given, as lo,hi: " + std::string(name(p.dtype)) + " has no default");
  if (!(lo < hi) || !std::isfinite(lo) || !std::isfinite(hi) || !std::isfinite(hi - lo))
    return Status::invalid(op, "range", text(p.range), "lo,hi with lo less than hi, and a finite difference");
  const double finest = std::max(0x1p-47 * std::max(std::fabs(lo), std::fabs(hi)), 0x1p-900);
  if (!((hi - lo) / static_cast<double>(p.bins()) >= finest))
    return Status::invalid(op, "bins", std::to_string(p.bins()),
                           "at most " + number_text(std::floor((hi - lo) / finest)) + " over " + text(p.range) +
                               ": float64 cannot tell the edges of narrower bins apart");
  return {};
}

static std::int64_t accesses(const Config& c, const HistogramProblem& p) {
  return (p.x.count() + access_elements(c, static_cast<int>(size_of(p.dtype))) - 1) /
         access_elements(c, static_cast<int>(size_of(p.dtype)));
}

static std::int64_t counters(const HistogramProblem& p) { return rows(p.bins(), static_cast<int>(size_of(p.dtype))); }

// Why this row cannot run this problem; empty: it can.
static std::string fits(const Variant& row, const HistogramProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const int size = static_cast<int>(size_of(p.dtype));
  if (!c.strided && !p.x.is_contiguous()) return "x is not contiguous";
  if (!takes(c, size)) return "samples are bytes, whose 256 counters need no packing";
  if (smem_bytes(c, counters(p)) > device.smem_optin)
    return std::to_string(counters(p)) + " counters need " + std::to_string(smem_bytes(c, counters(p))) +
           " bytes of shared memory, and a block has at most " + std::to_string(device.smem_optin);
  if (c.threads > device.threads_per_sm) return "a block has " + std::to_string(c.threads) + " threads";
  return {};
}

// As many blocks as are resident at once, none without work, and none with more samples than its counters can hold.
static std::int64_t grid_of(const Variant& row, const HistogramProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const std::int64_t n = p.x.count(), blocks = (accesses(c, p) + c.threads - 1) / c.threads;
  if (c.table == Table::none) return std::min(blocks, max_grid);
  const std::int64_t resident = std::int64_t{device.sms} * resident_blocks(c, counters(p), device);
  // Half of the limit: shares of blocks differ by an access per thread and by the remainder.
  return std::max(std::min(blocks, resident), (n + max_block_samples / 2 - 1) / (max_block_samples / 2));
}

static Cost cost(const HistogramProblem& p) {
  Cost c;
  c.bytes_read = static_cast<double>(p.x.count()) * static_cast<double>(size_of(p.dtype));
  c.bytes_written = static_cast<double>(p.bins()) * static_cast<double>(size_of(p.counts_dtype));
  c.on(Unit::int32) = static_cast<double>(p.x.count());  // one increment per sample
  return c;
}

static roofline::Kernel kernel_of(const Variant& row, const HistogramProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const int size = static_cast<int>(size_of(p.dtype)), per_sm = resident_blocks(c, counters(p), device);
  const double n = static_cast<double>(p.x.count()), rows = static_cast<double>(counters(p));
  const Cost least = cost(p);
  roofline::Kernel k;
  k.cost = least;
  k.blocks = n > 0 ? grid_of(row, p, device) : 0;
  // The compiler limits registers to those that the requested occupancy leaves per thread.
  const int registers = device.registers_per_sm / (c.threads * per_sm) / 8 * 8;
  k.block = {.threads = c.threads,
             .registers = c.table == Table::none ? 16 : std::min(registers, 255),
             .smem = static_cast<int>(std::min<std::int64_t>(smem_bytes(c, counters(p)), device.smem_optin))};
  const bool cleared_before = k.blocks != 1 || c.table == Table::none;
  k.launches = (k.blocks > 0 ? 1 : 0) + (cleared_before ? 1 : 0);
  k.bytes_read = least.bytes_read;
  k.bytes_written = least.bytes_written;
  k.memory_share = row.memory_share;
  const double blocks = static_cast<double>(std::max<std::int64_t>(k.blocks, 1));
  k.trip_bytes = static_cast<double>(c.threads) * vectors(c, size) * std::max(c.access_bytes, size);
  // Loops over single samples are unrolled by two.
  k.trips = std::ceil(n * size / blocks / k.trip_bytes / (c.access_bytes ? 1 : 2));
  if (c.table == Table::none) k.trips = 1;
  // 16-bit floats are often on the edge of a bin, and then compared in float64: 13 clocks in total (bench/results).
  const double finding = p.dtype == DType::f16 || p.dtype == DType::bf16 ? 11 : 0;
  k.clocks = n / 32 * (row.clocks + finding);
  // Clearing and summation take a clock per 32 words.
  const double clocks_per_us = device.clock_ghz * 1e3;
  k.block_us = 2 * static_cast<double>(k.block.smem) / 4 / 32 / clocks_per_us;
  constexpr double additions_per_us = 2e5;  // to neighbouring counts, in the L2 cache
  constexpr double clearing_us = 0.7;       // a kernel of few blocks and one trip
  if (cleared_before) k.serial_us += clearing_us;
  if (c.table == Table::shared) k.serial_us += std::min(blocks * rows, n) / additions_per_us;
  // A single block per multiprocessor alternates between reading and counting.
  k.overlap = c.table == Table::shared && per_sm == 1 ? 1.7 : c.vectors >= 4 ? 6 : 3;
  return k;
}

static double predict_us(const Variant& row, const HistogramProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p, device), device).us;
}

static HistogramProblem collapsed(HistogramProblem p) {
  collapse(std::span(&p.x, 1));
  return p;
}

static Result<int> choose(const HistogramProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      op, variants, options, [&](const Variant& row) { return fits(row, p, device); },
      [&](const Variant& row) { return predict_us(row, p, device); }, record);
}

Result<HistogramPlan> plan_histogram(const HistogramProblem& problem, const DeviceInfo& device,
                                     const PlanOptions& options) {
  RIDGE_TRY(validate(problem));
  const HistogramProblem p = collapsed(problem);
  const auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  return HistogramPlan{p, device, *chosen, p.x.count() == 0 ? 0 : grid_of(variants[*chosen], p, device)};
}

Explanation HistogramPlan::explain() const {
  Explanation e;
  e.op = op;
  e.problem = problem.text();
  e.variant = variants[variant].name;
  roofline::account(e, kernel_of(variants[variant], problem, device), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

Status HistogramPlan::run(const TensorView& x, const TensorView& counts, Stream stream) const {
  auto given = HistogramProblem::of(x, counts, problem.range);
  if (!given) return given.error();
  const HistogramProblem p = collapsed(*given);
  if (p != problem) return not_as_planned(op, p.text(), problem.text());
  RIDGE_TRY(check_device(op, x.device, device));
  return on_backend(device.id,
                    [&](auto backend) { return launch<decltype(backend)>(*this, x.data, counts.data, stream); });
}

void histogram(const TensorView& x, const TensorView& counts, std::optional<HistogramRange> range, Stream stream) {
  run_cached(
      HistogramProblem::of(x, counts, range), [](auto& p, auto& d) { return plan_histogram(p, d); }, x.device, stream,
      [&](const HistogramPlan& plan, Workspace) { return plan.run(x, counts, stream); });
}

}  // namespace ridge
