// What Hopper's families share: refusals, the time of copies that go first, and parts of the product's time.
// Constants are fitted to measurements on an H200; README.md says to which.
#pragma once
#include <ridge/gemm/family.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace ridge::gemm_detail {

// ---- refusals; empty: none

inline std::int64_t matrices_of(const GemmProblem& p) { return p.grouped ? 1 : std::max<std::int64_t>(p.batch, 1); }

// Of sizes that the kernels count in 32 bits.
inline std::string refuse_sizes(const GemmProblem& p) {
  if (products(p) == 0) return "there are no products";
  constexpr std::int64_t most = 0x7fffffff - 256;
  if (p.m > most || p.n > most || p.k > most / 3) return "it counts rows, columns and k to 2^31";
  return {};
}

// Of tiles of D, in clusters. The copies that go first count matrices in a grid's y.
inline std::string refuse_batch(const GemmProblem& p, std::int64_t tiles, const Repack& repack) {
  if (tiles > gemm_kernels::max_tiles / matrices_of(p)) return "more than 2^31 - 1 tiles";
  if (repack.needed() && p.batch > gemm_kernels::max_grid_z)
    return "it copies batches of at most " + std::to_string(gemm_kernels::max_grid_z) + " first";
  return {};
}

// ---- clocks of tiles that TMA loads and tensor cores multiply

// A block's start and its barriers, without the launch, where it is not persistent or splits k; on an H100.
inline constexpr double tile_start_clocks = 3000;
inline constexpr double shared_share = 0.9;  // share of shared memory's busy time that products do not hide
inline constexpr double line_clocks = 1.5;   // of the copy engine, for a line of 128 bytes
// The same for rows aligned to sectors of the L2 cache but not to its lines; for unaligned ones; and for operands along
// M or N, whose boxes are narrow and tall. Measured on an H100.
inline constexpr double sector_line_clocks = 3.2, unaligned_line_clocks = 4.9, outer_line_clocks = 5.2;
inline constexpr double memory_bytes_per_clock = 30;  // of a multiprocessor from memory, however few load
inline constexpr double not_hidden = 0.2;             // share of its work, while it waits for memory
inline constexpr double single_stores = 64;           // instructions per element of D in unaligned rows
inline constexpr double anywhere_stores = 45;         // the same by words (AnywhereStore); H200, 4096 x 30522 x 768
// The same where one warpgroup has a tile alone: its stores wait for each other. H200, 16 x 30522 x 768.
inline constexpr double anywhere_stores_alone = 220;
inline constexpr double promoted = 1.15;  // factor of a step whose sums leave the tensor cores with nothing to overlap

// Clocks of a multiprocessor's copy engine per line of an operand.
inline double clocks_of_line(const GemmOperand& o, const Repacked& read) {
  const auto pitch = read.pitch * static_cast<std::int64_t>(size_of(o.dtype));
  if (read.needed || pitch % 128 == 0) return line_clocks;
  if (read.major == Major::outer) return outer_line_clocks;
  return starts_on(o, read.pitch, 32) ? sector_line_clocks : unaligned_line_clocks;
}

// Instructions per element of D for its activation. quick: for 16-bit D by columns (tile/quick_activation.cuh), with
// the selection of the sums.
inline double activation_instructions(const GemmProblem& p, bool quick) {
  const Activation a = p.scalars.activation;
  if (a == Activation::none || a == Activation::relu) return 1;
  return quick ? 30 : a == Activation::gelu ? 28 : 16;
}

// The same for the whole epilogue, and for stores in unaligned rows. addend: per element of an addend.
inline double epilogue_instructions(const GemmProblem& p, bool quick = false, double addend = 8,
                                    double unaligned_store = single_stores) {
  const double activation = activation_instructions(p, quick);
  const bool vectors = p.d->col_stride == 1 && starts_on(*p.d, p.d->row_stride, access_bytes);
  return activation + (p.gate ? 2 : 0) + (p.c ? addend : 0) + (p.residual_layout ? addend : 0) +
         (p.bias_layout ? 2 : 0) + (vectors ? 0 : unaligned_store);
}

// ---- from clocks to a prediction

// The time of the copies before the product.
inline double repack_us(const Repack& r, const GemmProblem& p, const DeviceInfo& device) {
  constexpr double share = 0.7;              // of memory's rate that copies of operands reach
  constexpr double further_launch_us = 2.5;  // start and end of such a copy
  if (!r.needed()) return 0;
  bool kept = false, transposed = false;  // one kernel for each
  const auto count = [&](const Repacked& to, Major major) {
    if (to.needed) (r.low == 0 && to.major == major ? kept : transposed) = true;
  };
  count(r.a, major_of_a(p));
  count(r.b, major_of_b(p));
  if (r.gate.needed) count(r.gate, major_of_gate(p));
  const double bytes = static_cast<double>(r.bytes()) * (r.low ? 1.5 : 2);
  return (kept + transposed) * (device.launch_us + further_launch_us) + bytes / (device.memory_gbs * share) * 1e-3;
}

// Share of the clocks' time that a falling clock rate adds: products of random numbers at full rate draw more power
// than the card allows, and after some time the clock falls.
inline double slowed_by_power(const Clocks& clocks, const GemmProblem& p, const DeviceInfo& device) {
  constexpr double power_slows = 0.31, power_us = 120, full_power_share = 0.7;
  if (p.scalars.math == GemmMath::tf32x3) return 0;  // it also adds sums outside of the tensor cores
  // Share of the time in which tensor cores draw that much.
  const double busy = clocks.total > 0 ? std::min(1.0, clocks.products / clocks.total / full_power_share) : 0;
  const double full_clock_us = clocks.total / device.clock_ghz * 1e-3;
  return busy * power_slows * -std::expm1(-full_clock_us / power_us);
}

inline Prediction predict(const Clocks& clocks, double slower, const Repack& repack, const GemmProblem& p,
                          const DeviceInfo& device) {
  const double memory_us = cost(p).bytes() / device.memory_gbs * 1e-3;
  const double work_us = clocks.total / device.clock_ghz * 1e-3 * (1 + slower);
  Prediction r;
  r.clocks = clocks;
  r.slower = slower;
  r.memory_us = std::max(0.0, memory_us - work_us);
  r.copies_us = repack_us(repack, p, device);
  r.copied_bytes = static_cast<double>(repack.bytes());
  r.us = device.launch_us + std::max(work_us, memory_us) + r.copies_us;
  return r;
}

}  // namespace ridge::gemm_detail
