// The table of softmax kernels, and every fact that plan and kernel share.
#pragma once
#include <ridge/softmax/softmax.hpp>
#include <ridge/tile/row_ring.hpp>
#include <ridge/tile/row_slices.hpp>
#include <ridge/tile/row_span.hpp>
#include <ridge/tile/rows_ahead.hpp>

#include <algorithm>
#include <numeric>

namespace ridge::softmax_detail {

enum class Method : std::uint8_t {
  naive,       // a thread per row, three passes
  three,       // a block per row, three passes: maximum, sum, write
  online,      // a block per row, two passes: maximum and sum together, write
  vector,      // the same by 16-byte accesses
  span,        // short rows without gaps: brought to shared memory as one span, then a thread per row
  split,       // a few long rows, each split over many blocks, by two kernels
  short_rows,  // several rows of a unit for each lane at a time
  resident,    // the row is read once and kept on chip
  ring,        // Hopper, gradients: rows pass through shared memory, ahead of those that work on them
  strided,     // online, any strides
};

// A resident row lies in units of 16 bytes: lane l keeps units l, l + lanes, l + 2 lanes, ... of it, the first
// `in_registers` of them in registers and the rest in shared memory, where only that lane touches them.
struct Config {
  Method method = Method::resident;
  int threads = 256;
  int rows = 1;          // rows of a block; its threads are shared out evenly
  int in_registers = 0;  // 16-byte units per lane
  int in_shared = 0;
  int blocks_per_sm = 1;  // least residency asked of the compiler
  int team = 0;           // ring: threads that share a row
  int cluster = 1;        // blocks that share a row
  int turns = 1;          // short: rows of a lane
  bool overlaps = false;  // forward, on Hopper it begins while the kernel before it ends (tile/overlap.cuh)
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  double block_us;  // of a block besides its way to memory and back, measured on an H200 (bench/results/h200)
  Role role = Role::general;
};

inline constexpr int unit_bytes = 16;

// Whether a row is compiled for a type. Of f64 there are those of any access; short rows of 16 bits are `warp_16`'s.
constexpr bool has_type(const Config& c, DType dtype) {
  if (c.method < Method::vector || c.method > Method::ring || c.method == Method::span) return true;
  return c.method == Method::short_rows ? dtype == DType::f32 : dtype != DType::f64;
}

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per row, three passes", {.method = Method::naive, .threads = 128}, 0, Role::lesson},
    {"block_reduce", "a block per row: coalesced reads, reductions in shared memory", {.method = Method::three}, 0.25, Role::fallback},
    {"warp_reduce", "a warp per row: no barrier, and short rows leave no threads without work", {.method = Method::three, .rows = 8}, 0.25, Role::lesson},
    {"online", "maximum and sum in one pass: two reads instead of three", {.method = Method::online}, 0.25, Role::fallback},
    {"vec4", "16-byte accesses", {.method = Method::vector, .threads = 512}, 2.2},
    {"span_32", "a few columns, no gaps: the block brings its rows as one span, then a thread has a row to itself", {.method = Method::span, .threads = 128, .blocks_per_sm = 7}, 0.8},
    {"split", "a few long rows, each over many blocks: a kernel for their sums, and one that writes", {.method = Method::split, .threads = 512}, 1.2},
    {"short_32", "of f32: a warp a row, four at a time", {.method = Method::short_rows, .threads = 128, .rows = 4, .turns = 4}, 0.9},
    {"short_2k", "for a few rows: it begins while the kernel before it ends", {.threads = 512, .in_registers = 4, .overlaps = true}, 1.2},
    {"warp_16", "the row in half a warp's registers: one read, no barrier", {.threads = 128, .rows = 8, .in_registers = 1}, 0.7},
    {"warp_32", "the row in a warp's registers", {.threads = 128, .rows = 4, .in_registers = 1}, 0.75},
    {"warp_128", "more registers of each lane", {.threads = 128, .rows = 4, .in_registers = 4}, 2.1},
    {"warp_256", "more registers of each lane", {.threads = 128, .rows = 4, .in_registers = 8}, 1.1},
    {"block_512", "the row in a block's registers", {.threads = 64, .in_registers = 8}, 2.6},
    {"block_1k", "more threads", {.threads = 128, .in_registers = 8}, 2.6},
    {"block_2k", "more threads", {.threads = 256, .in_registers = 8}, 2.6},
    {"block_4k", "more threads", {.threads = 512, .in_registers = 8, .blocks_per_sm = 2}, 2.6},
    {"block_8k", "registers and shared memory", {.threads = 512, .in_registers = 7, .in_shared = 12, .blocks_per_sm = 2}, 2.2},
    {"block_16k", "the widest row one multiprocessor holds", {.threads = 1024, .in_registers = 8, .in_shared = 8}, 3.0},
    {"block_8kx2", "the row in slices of two of Hopper's blocks", {.threads = 512, .in_registers = 8, .in_shared = 8, .blocks_per_sm = 2, .cluster = 2}, 3.4},
    {"block_8kx4", "of four", {.threads = 512, .in_registers = 8, .in_shared = 8, .blocks_per_sm = 2, .cluster = 4}, 5.0},
    {"ring_512", "gradients: Hopper's copy engine brings rows to a ring in shared memory", {.method = Method::ring, .threads = 512, .team = 512}, 0},
    {"ring_512x2", "the row in the shared memory of two blocks", {.method = Method::ring, .threads = 512, .team = 512, .cluster = 2}, 0},
    {"ring_512x4", "of four", {.method = Method::ring, .threads = 512, .team = 512, .cluster = 4}, 0},
    {"ring_512x8", "of eight", {.method = Method::ring, .threads = 512, .team = 512, .cluster = 8}, 0},
    {"strided", "any strides", {.method = Method::strided}, 0.25, Role::fallback},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

// Of one block, that share one row.
constexpr int lanes(Config c) { return c.method == Method::ring ? c.team : c.threads / c.rows; }
// Whole units of the longest row that can be kept; elements before and after them have a place of their own.
constexpr std::int64_t capacity(Config c) {
  return std::int64_t{lanes(c)} * (c.in_registers + c.in_shared) * c.cluster;
}
constexpr int smem_bytes(Config c) { return c.threads * c.in_shared * unit_bytes; }  // dynamic

// Gradients keep two rows, y and dy, in the same room: of each at most two units in registers.
constexpr int gradient_registers(Config c) { return std::clamp(c.in_registers / 2, 1, 2); }
constexpr int gradient_shared(Config c) {
  return std::max((c.in_registers + c.in_shared) / 2 - gradient_registers(c), 0) / 2 * 2;
}
constexpr std::int64_t gradient_capacity(Config c) {
  return std::int64_t{lanes(c)} * (gradient_registers(c) + gradient_shared(c));
}
constexpr int gradient_smem_bytes(Config c) {
  return c.method == Method::resident ? c.threads * 2 * gradient_shared(c) * unit_bytes : 0;
}

// Ring: how much of which rows a block has at a time, and where. A row that leaves no room for the next one is brought
// when the one before is done. `limit`: bytes of shared memory.
inline tile::RowRing ring_of(Config c, const SoftmaxProblem& p, int limit) {
  const int size = static_cast<int>(size_of(p.dtype));
  const std::int64_t pitch = p.rows <= 1 ? 0 : p.x->pitch() * size;
  const int phases = unit_bytes / static_cast<int>(std::gcd<std::int64_t>(unit_bytes, pitch));
  return tile::row_ring(c.threads, c.team, c.cluster,
                        {.cols = p.cols,
                         .element_bytes = size,
                         .aligned = p.x->phase == 0 && phases == 1,
                         .tensors = 2,  // y and dy
                         .phases = phases,
                         .least_stages = 1},
                        limit);
}

using tile::Slices;

// Span: rows that a block brings at a time, and its shared memory.
inline int span_rows(const Config& c, const SoftmaxProblem& p, const DeviceInfo& device) {
  constexpr std::int64_t bytes = 8192, blocks_per_sm = 8;
  const std::int64_t tensors = p.backward ? 2 : 1, size = static_cast<std::int64_t>(size_of(p.dtype));
  return tile::span_rows(c.threads, p.rows, tensors * p.cols * size, bytes, device.sms * blocks_per_sm);
}
inline int span_smem_bytes(const Config& c, const SoftmaxProblem& p, const DeviceInfo& device) {
  return (p.backward ? 2 : 1) *
         tile::span_room(span_rows(c, p, device), static_cast<int>(p.cols), static_cast<int>(size_of(p.dtype)));
}

// Split: slices of a unit for each thread and more, and two blocks for each multiprocessor. Of each the first kernel
// leaves maximum and sum in the workspace, or, of gradients, a sum.
inline Slices slices_of(const Config& c, const SoftmaxProblem& p, const DeviceInfo& device) {
  constexpr std::int64_t blocks_per_sm = 2, least_sms = 8;  // a CPU of few cores has the blocks of a small device
  const std::int64_t least = std::int64_t{c.threads} * unit_bytes / static_cast<std::int64_t>(size_of(p.dtype));
  return tile::slices_of(p.rows, p.cols, least, std::max<std::int64_t>(device.sms, least_sms) * blocks_per_sm);
}
inline std::size_t partials_bytes(const Config& c, const SoftmaxProblem& p, const DeviceInfo& device) {
  const std::size_t of_slice = (p.backward ? 1 : 2) * sizeof(float);
  return static_cast<std::size_t>(p.rows * slices_of(c, p, device).of_row) * of_slice;
}

// Registers of a thread, to the unit in which they are handed out: what nvcc 13 makes of the rows for sm_90a.
constexpr int registers(Config c) {
  if (c.method == Method::ring) return 96;
  if (c.method == Method::span) return 72;
  if (c.method == Method::short_rows) return 64;
  if (c.method == Method::resident) return c.in_registers >= 7 ? 64 : c.in_registers >= 4 ? 48 : 40;
  return c.method == Method::naive ? 24 : c.method == Method::three ? 32 : 40;
}
constexpr std::int64_t rows_per_block(Config c) { return c.method == Method::naive ? c.threads : c.rows * c.turns; }

// Rows that are in a block alone, or in a cluster, have others brought ahead. In clusters two thirds of what blocks ask
// for are the fastest on an H200, and in float32 none: 131,072 columns were slower by 4 to 9 %.
inline std::int64_t rows_ahead(const Config& c, const SoftmaxProblem& p, const DeviceInfo& device) {
  if (rows_per_block(c) > 1 || (c.cluster > 1 && p.dtype == DType::f32)) return 0;
  const std::int64_t rows =
      tile::rows_ahead(device, c.threads * c.cluster, p.cols * static_cast<std::int64_t>(size_of(p.dtype)));
  return c.cluster > 1 ? rows * 2 / 3 : rows;
}

}  // namespace ridge::softmax_detail
