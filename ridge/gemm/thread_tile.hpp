// A tile of D in each thread's registers, for one product, a batch, split-K slices or groups of rows.
#pragma once
#include <ridge/gemm/block_per_tile.hpp>

namespace ridge::gemm_kernels {

constexpr int thread_tile_threads(const Config& c) { return (c.bm / c.tm) * (c.bn / c.tn); }

// A tile of an operand in shared memory: [bk / pack][pitch]. 4 elements of padding put rows of neighbouring k four
// banks apart, as transposing stores of k-major operands need, and keep each row 16-byte aligned.
constexpr int padding(const Config& c) { return c.conflict_free ? 4 : 0; }
constexpr int tile_elements(const Config& c, DType dtype, int outer) {
  return c.bk / pack(dtype) * (outer + padding(c));
}
constexpr int stages(const Config& c) {
  return c.pipeline == Pipeline::multistage ? c.stages : c.pipeline == Pipeline::double_buffer ? 2 : 1;
}
// D's tile passes through shared memory to the epilogue in parts: one fragment of each thread's rows at a time.
constexpr int epilogue_parts(const Config& c, DType dtype) { return c.tm / fragment(dtype); }
constexpr int epilogue_pitch(const Config& c, DType dtype) { return c.bn + fragment(dtype); }

constexpr int thread_tile_smem_bytes(const Config& c, DType dtype) {
  const int operands = stages(c) * (tile_elements(c, dtype, c.bm) + tile_elements(c, dtype, c.bn));
  const int part = c.bm / epilogue_parts(c, dtype) * epilogue_pitch(c, dtype);
  return std::max(operands, part) * staged_bytes(dtype);
}

}  // namespace ridge::gemm_kernels

namespace ridge::gemm_detail::thread_tile {

// ---- fits

inline std::string fits(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p); !why.empty()) return why;
  if (std::string why = refuse_launch(c, p, thread_tile_smem_bytes(c, p.dtype), device); !why.empty()) return why;
  if (c.loads == Loads::strided) return {};
  if (std::string why = refuse_all_but_nn(row, p); !why.empty()) return why;
  return refuse_operands(c, p);
}

// ---- footprint and model

// Clocks per float multiply-add where a scheduler issues one each clock: the compiler's register choice causes bank
// conflicts (sm90_thread_tile.cuh), which are hidden where one takes two clocks. Measured on an H200.
inline constexpr double register_conflicts = 1.45;
inline constexpr double single_copy_clocks = 13;  // of a multiprocessor, per warp

inline Step step_of(const Config& c, const GemmProblem& p, const DeviceInfo& device, double resident) {
  const double rate = multiply_adds_per_clock(p, device), warps = thread_tile_threads(c) / 32.0;
  const int staged = c.bk / pack(p.dtype), fragment_size = fragment(p.dtype);
  const double fragments = (c.tm + c.tn) / static_cast<double>(fragment_size);
  // Instructions of a warp: multiply-adds, fragments, and per copied element its share of load, store and address.
  const double per_copy = c.loads == Loads::vectors ? 1.5 : c.pipeline == Pipeline::multistage ? 3 : 8;
  const double copied = static_cast<double>(c.bm + c.bn) * staged / thread_tile_threads(c);
  const double conflicts = p.dtype != f64 && p.dtype != i8 && rate > schedulers / 2 * 1.5 ? register_conflicts : 1;
  const double issue = (staged * fragments + copied * per_copy) / schedulers + staged * c.tm * c.tn / rate * conflicts;
  // A warp's 16-byte read of shared memory takes 2 clocks where lanes are arranged for it. Otherwise neighbouring lanes
  // read every other 16 bytes of B, which conflict (8 clocks), and share those of A (4). Copies pass through the same
  // port.
  const double shared = staged * fragments * (c.conflict_free ? 2 : 6) + copied * (c.loads == Loads::vectors ? 1 : 2);
  const double busy = std::min(1.0, resident * warps / schedulers);  // share of schedulers that have a warp
  // Asynchronous copies of single elements: those of K-major operands, which they transpose.
  const auto single = [&](int edge, Major major) {
    const bool is = c.pipeline == Pipeline::multistage && (c.loads == Loads::elements || major == Major::k);
    return is ? edge * staged / 32.0 : 0;
  };
  const double singles = single(c.bm, major_of_a(p)) + single(c.bn, major_of_b(p));
  Step step = longest({{warps * issue / busy, "issue slots and banks of registers"},
                       {warps * shared, "shared memory"},
                       {singles * single_copy_clocks, "copies of single elements"}});
  const double work = step.clocks;
  const double waits = c.pipeline == Pipeline::single          ? load_latency + 2 * barrier_clocks
                       : c.pipeline == Pipeline::double_buffer ? std::max(0.0, load_latency - work) + barrier_clocks
                                                               : barrier_clocks;
  step.clocks = work + waits / resident;
  return step;
}

inline double memory_us(const Config&, const GemmProblem&, double us, double /*blocks*/) { return us / copies_share; }

inline TileBlock block_of(const Config& c, const GemmProblem& p, const DeviceInfo& device) {
  const int threads = thread_tile_threads(c);
  return {.threads = threads,
          .registers = registers_of(c, threads),
          .smem = thread_tile_smem_bytes(c, p.dtype),
          .tiles = tiles_of(c, p),
          .columns = columns(c),
          .step = c.bk,
          .trip_bytes = stages_bytes(c, p),
          .resident = c.blocks_per_sm,
          // Four signed bytes per instruction.
          .per_clock = multiply_adds_per_clock(p, device) * (p.dtype != i8 ? 32 : 32 * 4),
          .start_clocks = tile_clocks,
          .finish_clocks = thread_finish_clocks(p),
          .few_wait = true,
          .step_of = step_of,
          .memory_us = memory_us};
}

// ---- lesson

inline std::string_view lesson(const Variant& row) {
  const Config& c = row.config;
  if (row.types.bits == DTypes{i8}.bits) return "better maths";  // four products in one instruction
  if (c.two_float) return "better maths";
  if (c.bm * c.bn < 128 * 128) return "occupancy";  // more blocks, for matrices with few tiles
  if (c.loads == Loads::strided || c.tm > 8) return "coarsening";
  return c.pipeline == Pipeline::single && !c.conflict_free ? "coalescing" : "tiling";
}

inline constexpr KernelFamily family = block_per_tile_and_slice<fits, block_of, lesson>;

}  // namespace ridge::gemm_detail::thread_tile
