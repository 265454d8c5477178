// What the families share that have a block for each tile of D, matrix and split-K slice, and whose threads read the
// operands: refusals, the launch, the number of slices, and the time.
#pragma once
#include <ridge/gemm/family.hpp>
#include <ridge/gemm/slices.hpp>

#include <algorithm>
#include <string>

namespace ridge::gemm_detail {

// ---- refusals; empty: none

// Of rows that do not start on what an access needs.
inline std::string refuse_unaligned(const char* name, const GemmOperand& o, std::int64_t pitch) {
  if (starts_on(o, pitch, access_bytes)) return {};
  return std::string("rows of ") + name + " do not all start on 16 bytes";
}

// For kernels that read operands along one axis. along_k: only along k.
inline std::string refuse_operands(const Config& c, const GemmProblem& p, bool along_k = false) {
  const Major a = major_of_a(p), b = major_of_b(p);
  if (a == Major::none) return "a's elements are neighbours in neither axis";
  if (b == Major::none) return "b's elements are neighbours in neither axis";
  if ((along_k || a_is_k_major(c)) && a != Major::k) return "a's elements are not neighbours along k";
  if (along_k && b != Major::k) return "b's elements are not neighbours along k";
  if (p.gate && major_of_gate(p) != b) return "the gate's elements are neighbours in another axis than b's";
  if (c.loads != Loads::vectors) return {};
  const auto pitch_of = [](const GemmOperand& o, Major major) {
    return major == Major::k ? o.col_stride : o.row_stride;
  };
  if (auto why = refuse_unaligned("a", *p.a, a == Major::k ? p.a->row_stride : p.a->col_stride); !why.empty())
    return why;
  if (p.gate)
    if (auto why = refuse_unaligned("the gate", *p.gate_layout, pitch_of(*p.gate_layout, b)); !why.empty()) return why;
  return refuse_unaligned("b", *p.b, pitch_of(*p.b, b));
}

// ---- the launch

// A family's block: its resources, and its part in the time.
struct TileBlock {
  int threads = 0, registers = 0, smem = 0;
  std::int64_t tiles = 0;  // of a matrix, or of all groups
  int columns = 0;         // of D in a tile
  int step = 0;            // products along k at a time
  double trip_bytes = 0;   // in flight
  int resident = 0;        // most blocks on a multiprocessor, as registers allow
  bool tensor_cores = false;
  double per_clock = 0;      // single multiply-adds of a multiprocessor
  double start_clocks = 0;   // its start, its first loads and the rest of its epilogue
  double finish_clocks = 0;  // of the epilogue, per element of D
  bool few_wait = false;     // a step takes longer with few_warps
  // A step on a multiprocessor with `resident` blocks to hide its waits.
  Step (*step_of)(const Config&, const GemmProblem&, const DeviceInfo&, double resident) = nullptr;
  // The time of memory with so many blocks under way, given its time at full rate; null: that.
  double (*memory_us)(const Config&, const GemmProblem&, double us, double blocks) = nullptr;
};

inline Footprint footprint_of(const Config& c, const GemmProblem& p, const TileBlock& block, int slices) {
  const std::int64_t tiles = has_no_rows(p) ? 0 : block.tiles;
  return {.launch = {.grid = tiles * (p.grouped ? 1 : p.batch) * slices,
                     .threads = block.threads,
                     .registers = block.registers,
                     .smem = block.smem,
                     .workspace = slice_bytes(p, slices)},
          .tiles = tiles,
          .tile_rows = c.bm,
          .tile_columns = block.columns,
          .trip_bytes = block.trip_bytes};
}

// ---- the time

inline constexpr double tile_clocks = 3000;  // a block's start, its first loads and its epilogue
inline constexpr double few_warps = 12;      // of a multiprocessor in all
inline constexpr double waits_of_few = 1.3;  // how much longer a step takes with fewer
// Share of memory's rate that copies by threads reach, which wait for a step's copies before they start the next one's.
// Measured on an H100 with few rows by mma.sync, and the same on an H200 with one row by a tile of 16.
inline constexpr double copies_share = 0.62;

// Clocks of a multiprocessor per element of D in the epilogue, for threads that finish one vector of D after another,
// and wait for each one's addends. Measured on an H100 with short k.
inline double thread_finish_clocks(const GemmProblem& p) {
  return 0.1 + 0.8 * addends(p) + (p.scalars.activation == Activation::none ? 0 : 0.3);
}

inline constexpr int most_sliced_tiles = 4;  // per multiprocessor: with more, slices never paid off

inline double slices_us(const GemmProblem& p, const DeviceInfo& device, int slices) {
  if (slices == 1) return 0;
  return device.launch_us + add_slices_us(static_cast<std::int64_t>(slice_bytes(p, slices)), slices, device);
}

inline Prediction predict(const Config& c, const GemmProblem& p, const DeviceInfo& device, const TileBlock& block,
                          int slices = 1) {
  double memory_us = cost(p).bytes() / device.memory_gbs * 1e-3;
  const double whole_tiles = static_cast<double>(block.tiles) * static_cast<double>(p.grouped ? 1 : p.batch),
               tiles = whole_tiles * slices;
  const int room =
      std::max(1, std::min(device.threads_per_sm / block.threads, block.smem ? device.smem_per_sm / block.smem : 32));
  // The fullest multiprocessor's tiles: where they are few, little hides their waits.
  const double most = static_cast<double>(ceil_div(static_cast<std::int64_t>(tiles), device.sms));
  const double resident =
      std::max(1.0, std::min({static_cast<double>(room), static_cast<double>(block.resident), most}));
  const double steps = static_cast<double>(ceil_div(slices_of(c, products(p), slices).k, block.step));
  const double finish = static_cast<double>(c.bm) * block.columns * block.finish_clocks;
  const bool few = block.few_wait && most * block.threads / 32 < few_warps;
  Prediction r;
  Clocks& clocks = r.clocks;
  clocks.tiles = most;
  clocks.mean_tiles = tiles / device.sms;
  clocks.step_k = block.step;
  clocks.tensor_cores = block.tensor_cores;
  clocks.step = block.step_of(c, p, device, resident);
  count_products(clocks, needed_products(p), static_cast<double>(c.bm) * block.columns * (c.gated ? 2 : 1) * block.step,
                 steps, block.per_clock, device);
  clocks.start = most * (block.start_clocks / resident);
  clocks.finish = most * finish;
  clocks.total =
      most * (steps * clocks.step.clocks * (few ? waits_of_few : 1) + block.start_clocks / resident + finish);
  if (few) clocks.step = {clocks.step.clocks * waits_of_few, "waits that few warps hide"};
  const double sm_us = clocks.total / device.clock_ghz * 1e-3;
  // Each block reads its operands from the L2 cache.
  const double size = static_cast<double>(size_of(p.dtype));
  const double l2_bytes = whole_tiles * static_cast<double>(c.bm + c.bn) * static_cast<double>(products(p)) * size;
  const double l2_us = device.l2_gbs > 0 ? l2_bytes / device.l2_gbs * 1e-3 : 0;
  if (block.memory_us && tiles > 0)
    memory_us = block.memory_us(c, p, memory_us, std::min(tiles, device.sms * resident));
  r.cache_us = std::max(0.0, l2_us - sm_us);
  r.memory_us = std::max(0.0, memory_us - std::max(sm_us, l2_us));
  r.slices_us = slices_us(p, device, slices);
  r.us = device.launch_us + std::max({sm_us, l2_us, memory_us}) + r.slices_us;
  return r;
}

// The number of slices that takes least time. The CPU runtime runs few blocks at a time, and its plans should be the
// same on every machine.
inline Arrangement in_slices(const Config& c, const GemmProblem& p, const DeviceInfo& device, const TileBlock& block) {
  Arrangement best;
  const double tiles = static_cast<double>(block.tiles) * static_cast<double>(p.batch);
  if (!has_addable_sums(p) || device.id.kind == DeviceKind::cpu || products(p) == 0 || tiles == 0 ||
      tiles > most_sliced_tiles * device.sms)
    return best;
  double least_us = predict(c, p, device, block).us;
  for (int wanted = 2; wanted <= max_slices; wanted += std::max(1, wanted / 2)) {
    const int slices = slices_of(c, products(p), wanted).count;
    const double us = predict(c, p, device, block, slices).us;
    if (us < least_us) least_us = us, best.split = slices;
  }
  return best;
}

// ---- the families: functions of a row's block

template <auto block_of> Arrangement slices_of_row(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  return in_slices(row.config, p, device, block_of(row.config, p, device));
}
template <auto block_of>
Footprint footprint_of_row(const Variant& row, const GemmProblem& p, const DeviceInfo& device, const Arrangement& way) {
  return footprint_of(row.config, p, block_of(row.config, p, device), way.split);
}
template <auto block_of, auto arrange>
Prediction predict_row(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  return predict(row.config, p, device, block_of(row.config, p, device), arrange(row, p, device).split);
}

// A family whose blocks have whole tiles each, and one whose blocks may share a tile's products.
template <auto fits, auto block_of, auto lesson>
inline constexpr KernelFamily block_per_tile{.fits = fits,
                                             .arrange = arrange_alike,
                                             .footprint = footprint_of_row<block_of>,
                                             .model = predict_row<block_of, arrange_alike>,
                                             .lesson = lesson};
template <auto fits, auto block_of, auto lesson>
inline constexpr KernelFamily block_per_tile_and_slice{.fits = fits,
                                                       .arrange = slices_of_row<block_of>,
                                                       .footprint = footprint_of_row<block_of>,
                                                       .model = predict_row<block_of, slices_of_row<block_of>>,
                                                       .lesson = lesson,
                                                       .slices = true};

}  // namespace ridge::gemm_detail
