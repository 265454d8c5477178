// The table of norm kernels, and every fact that plan and kernel share.
#pragma once
#include <ridge/norm/norm.hpp>
#include <ridge/tile/row_ring.hpp>
#include <ridge/tile/row_slices.hpp>
#include <ridge/tile/row_span.hpp>
#include <ridge/tile/rows_ahead.hpp>

#include <algorithm>
#include <numeric>

namespace ridge::norm_detail {

enum class Method : std::uint8_t {
  streaming,   // an element per access, the row read again for every pass; any strides
  vector,      // a block per row by 16-byte accesses, two passes
  split,       // a few long rows, each split over many blocks, by two kernels
  span,        // short rows without gaps: brought to shared memory as one span, then a thread per row
  span_sums,   // their gradients; blocks stay and keep the sums of dgamma and dbeta
  even,        // rows of whole units, with little besides
  short_rows,  // several rows of a unit for each lane at a time
  resident,    // the row is read once and kept on chip
  fused,       // resident; a block keeps the sums of dgamma and dbeta while it goes through its rows
  short_sums,  // the same for short rows of whole units, each of which part of a warp has in registers
  ring,        // Hopper: rows pass through shared memory, ahead of those that work on them, also through a cluster's
};

// A resident row lies in units of 16 bytes: lane l keeps units l, l + lanes, l + 2 lanes, ... of it, the first
// `in_registers` of them in registers and the rest in shared memory, where only that lane touches them. Gradients keep
// two rows, x and dy, in the same room; the fused method has `in_registers` units of each.
struct Config {
  Method method = Method::resident;
  int threads = 256;
  int rows = 1;          // rows of a block; its threads are shared out evenly
  int in_registers = 0;  // 16-byte units per lane; ring: of gamma and of beta, the row's are in shared memory
  int in_shared = 0;
  int blocks_per_sm = 1;    // least residency asked of the compiler
  int turns = 1;            // short: rows of a lane
  bool plain = false;       // for rows as they are, neither added nor gradients
  bool added = false;       // for rows with a residual alone
  bool four_bytes = false;  // for elements of 4 bytes alone
  int team = 0;             // rings: threads that share a row
  int cluster = 1;          // blocks that share a row
  int summing = 0;          // fused, 16 bits on Hopper: threads that sum rows up, beside those that finish them
  bool two_float = false;   // also with sums in two floats: rows of f32, forward
  bool overlaps = false;    // forward, on Hopper it begins while the kernel before it ends (tile/overlap.cuh)
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

inline constexpr int unit_bytes = 16;

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per row, three passes", {.method = Method::streaming, .threads = 128, .rows = 128}, Role::lesson},
    {"block_reduce", "a block per row: coalesced reads, reductions in shared memory", {.method = Method::streaming}, Role::fallback},
    {"vec4", "16-byte accesses; mean and variance in one pass: two reads instead of three", {.method = Method::vector, .threads = 512}},
    {"split", "a few long rows, each over many blocks: a kernel for their moments, and one that writes", {.method = Method::split, .threads = 512}},
    {"span_32", "a few columns, no gaps: the block brings its rows as one span, then a thread has a row to itself", {.method = Method::span, .threads = 128, .blocks_per_sm = 7}},
    {"span_sums_32", "gradients the same way, then a thread has every so many-th element, all of one column", {.method = Method::span_sums, .threads = 256, .blocks_per_sm = 3}},
    {"short_16", "16 lanes a row, four rows at a time: gamma and beta are read once for them", {.method = Method::short_rows, .threads = 128, .rows = 8, .turns = 4}},
    {"short_32", "a warp a row, two at a time", {.method = Method::short_rows, .threads = 128, .rows = 4, .turns = 2}},
    {"warp_16", "the row in half a warp's registers: one read, no barrier", {.threads = 128, .rows = 8, .in_registers = 1}},
    {"warp_32", "the row in a warp's registers", {.threads = 128, .rows = 4, .in_registers = 1, .two_float = true}},
    {"warp_128", "more registers of each lane", {.threads = 128, .rows = 4, .in_registers = 4, .blocks_per_sm = 8}},
    {"warp_256", "more registers of each lane", {.threads = 128, .rows = 4, .in_registers = 8, .blocks_per_sm = 6, .two_float = true}},
    {"short_2k", "for a few rows: it begins while the kernel before it ends", {.threads = 512, .in_registers = 4, .overlaps = true}},
    {"block_512", "the row in a block's registers", {.threads = 128, .in_registers = 4, .blocks_per_sm = 8}},
    {"block_1k", "more threads", {.threads = 256, .in_registers = 4, .blocks_per_sm = 4, .two_float = true}},
    {"block_2k", "more threads", {.threads = 512, .in_registers = 4, .blocks_per_sm = 2, .two_float = true}},
    {"block_4k", "registers and shared memory", {.threads = 512, .in_registers = 4, .in_shared = 4, .blocks_per_sm = 2}},
    {"block_8k", "more shared memory", {.threads = 512, .in_registers = 4, .in_shared = 12, .blocks_per_sm = 2, .two_float = true}},
    {"block_16k", "the widest row one multiprocessor holds", {.threads = 1024, .in_registers = 4, .in_shared = 12, .two_float = true}},
    {"even_256", "rows of whole units by few registers and instructions", {.method = Method::even, .threads = 32, .in_registers = 8, .blocks_per_sm = 32}},
    {"even_512", "more threads", {.method = Method::even, .threads = 64, .in_registers = 8, .blocks_per_sm = 16}},
    {"even_1k", "more threads", {.method = Method::even, .threads = 128, .in_registers = 8, .blocks_per_sm = 8}},
    {"even_2k", "more threads", {.method = Method::even, .threads = 256, .in_registers = 8, .blocks_per_sm = 4}},
    {"even_4k", "more threads", {.method = Method::even, .threads = 512, .in_registers = 8, .blocks_per_sm = 2}},
    {"even_8k", "as many as a block has", {.method = Method::even, .threads = 1024, .in_registers = 8}},
    {"short_sums_16", "gradients of short rows in one pass: half a warp's lanes keep the sums of their columns", {.method = Method::short_sums, .threads = 512, .rows = 32, .blocks_per_sm = 2}},
    {"short_sums_32", "a warp's", {.method = Method::short_sums, .threads = 512, .rows = 16, .blocks_per_sm = 2}},
    {"fused_128", "gradients in one pass: a warp's lanes keep the sums of their columns", {.method = Method::fused, .threads = 512, .rows = 16, .in_registers = 4}},
    {"fused_512", "more lanes: four rows of a block", {.method = Method::fused, .threads = 512, .rows = 4, .in_registers = 4}},
    {"fused_1k", "two", {.method = Method::fused, .threads = 512, .rows = 2, .in_registers = 4}},
    {"fused_2k", "one", {.method = Method::fused, .threads = 512, .in_registers = 4}},
    {"fused_2kx2", "the row in slices of two of Hopper's blocks", {.method = Method::fused, .threads = 512, .in_registers = 4, .cluster = 2}},
    {"fused_2kx4", "of four, with fewer lanes", {.method = Method::fused, .threads = 256, .in_registers = 7, .cluster = 4}},
    {"fused_2kx8", "of eight", {.method = Method::fused, .threads = 256, .in_registers = 7, .cluster = 8}},
    {"fused_2kx16", "of sixteen", {.method = Method::fused, .threads = 256, .in_registers = 7, .cluster = 16}},
    {"fused_wide", "and more lanes", {.method = Method::fused, .threads = 512, .in_registers = 4, .four_bytes = true, .cluster = 16}},
    {"roles_1kx4", "of rows of 16 bits in four blocks, by warps of several roles: some take the sums of rows that others finish", {.method = Method::fused, .threads = 256, .in_registers = 4, .cluster = 4, .summing = 128}},
    {"roles_1kx8", "of eight", {.method = Method::fused, .threads = 256, .in_registers = 4, .cluster = 8, .summing = 128}},
    {"block_8kx2", "rows with a residual in two of Hopper's blocks, which tell each other their sums", {.threads = 512, .in_registers = 4, .in_shared = 4, .blocks_per_sm = 2, .added = true, .cluster = 2}},
    {"block_16kx2", "more shared memory", {.threads = 512, .in_registers = 4, .in_shared = 12, .blocks_per_sm = 2, .added = true, .cluster = 2}},
    {"block_16kx4", "in four blocks", {.threads = 512, .in_registers = 4, .in_shared = 12, .blocks_per_sm = 2, .added = true, .cluster = 4}},
    {"ring_3kx2", "Hopper's copy engine brings rows to rings in two blocks, whose threads stay and keep gamma and beta in registers", {.method = Method::ring, .threads = 384, .in_registers = 9, .plain = true, .team = 384, .cluster = 2}},
    {"ring_3kx4", "of four", {.method = Method::ring, .threads = 384, .in_registers = 9, .plain = true, .team = 384, .cluster = 4}},
    {"ring_4kx4", "more columns of each lane", {.method = Method::ring, .threads = 384, .in_registers = 11, .plain = true, .team = 384, .cluster = 4}},
    {"ring_4kx8", "of eight blocks", {.method = Method::ring, .threads = 384, .in_registers = 11, .plain = true, .team = 384, .cluster = 8}},
    {"ring_2kx2", "fewer columns of more lanes, also with a residual", {.method = Method::ring, .threads = 512, .in_registers = 4, .team = 512, .cluster = 2}},
    {"ring_2kx4", "of four", {.method = Method::ring, .threads = 512, .in_registers = 4, .team = 512, .cluster = 4}},
    {"ring_2kx8", "of eight", {.method = Method::ring, .threads = 512, .in_registers = 4, .team = 512, .cluster = 8}},
    {"ring_2kx16", "of sixteen", {.method = Method::ring, .threads = 512, .in_registers = 4, .team = 512, .cluster = 16}},
    {"strided", "any strides", {.method = Method::streaming, .two_float = true}, Role::fallback},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

constexpr bool is_ring(Config c) { return c.method == Method::ring; }
// Whether one pass gives dx, dgamma and dbeta.
constexpr bool keeps_sums(Config c) {
  return c.method == Method::fused || c.method == Method::short_sums || c.method == Method::span_sums;
}
// Of one block, that share one row.
constexpr int lanes(Config c) { return is_ring(c) ? c.team : c.threads / c.rows; }

// What a resident or fused kernel holds: of how many tensors, and units of each in a lane's registers and in its shared
// memory. Where there is more to a pass than a row and its norm, registers for more than 16 words of rows are not left.
enum class Use : std::uint8_t { plain, added, gradient };
struct Held {
  int tensors, in_registers, in_shared, blocks_per_sm;
};
constexpr Held held(Config c, Use use) {
  if (c.method == Method::fused) return {2, c.in_registers, 0, 1};
  if (c.method == Method::even) return {1, c.in_registers, 0, c.blocks_per_sm};
  const int units = c.in_registers + c.in_shared;
  if (use == Use::plain) return {1, c.in_registers, c.in_shared, c.blocks_per_sm};
  if (use == Use::added) {
    const int in_registers = std::min(c.in_registers, 4);
    return {1, in_registers, units - in_registers, (3 * c.blocks_per_sm + 3) / 4};  // a third more registers each
  }
  const int in_registers = std::clamp(c.in_registers / 2, 1, 2);
  return {2, in_registers, std::max(units / 2 - in_registers, 0), std::min(c.blocks_per_sm, 2)};
}
constexpr Use use_of(const NormProblem& p) { return p.backward ? Use::gradient : p.added ? Use::added : Use::plain; }
// Whole units of the longest row that can be kept; elements before and after them have a place of their own.
constexpr std::int64_t capacity(Config c, Use use) {
  const Held h = held(c, use);
  return std::int64_t{lanes(c)} * (h.in_registers + h.in_shared) * c.cluster;
}

constexpr int smem_bytes(Config c, Use use) {  // dynamic; ring and fused: below
  const Held h = held(c, use);
  return c.threads * h.tensors * h.in_shared * unit_bytes;
}

// Different places of a 16-byte unit where rows start, one after the other.
inline std::int64_t phases_of(const NormProblem& p) {
  const std::int64_t pitch = (*p.rows_lie)[0].pitch() * static_cast<std::int64_t>(size_of(p.dtype));
  return p.rows <= 1 ? 1 : unit_bytes / std::gcd<std::int64_t>(unit_bytes, pitch);
}

// Ring: how much of which rows a block has at a time, and where. `limit`: bytes of shared memory.
inline tile::RowRing ring_of(Config c, const NormProblem& p, int limit) {
  const Rows& x = (*p.rows_lie)[0];
  const int phases = static_cast<int>(phases_of(p));
  return tile::row_ring(c.threads, c.team, c.cluster,
                        {.cols = p.cols,
                         .element_bytes = static_cast<int>(size_of(p.dtype)),
                         .aligned = x.phase == 0 && phases == 1,
                         .tensors = 1 + p.added,
                         .phases = phases,
                         .least_stages = 3},  // a row to finish, one to sum up, one that comes
                        limit);
}
// Units of a row's slice that lanes can have.
constexpr int ring_units(Config c) { return c.team * c.in_registers; }

// Fused: what a block has in its shared memory. x and dy of `stages` times as many rows as it works on, a slice of
// each; gamma; in the end, the sums of its rows' columns in the same place.
struct FusedRows {
  static constexpr int most_stages = 4;       // more are not needed: a row is on its way while two are worked on
  static constexpr int scratch_bytes = 2560;  // beside it, at most: sums of warps, messages, barriers

  int phases = 1;   // every so many-th row lies alike on units
  int apart = 1;    // rows of a block's, or cluster's, share: the phases, or, of one phase, those that share rows out
  int cluster = 1;  // blocks that share a row
  int slice_units = 0;  // whole units of a row that a block has at most
  int row_units = 0;    // of its room: as many as lanes can have
  int stages = 0;       // 0: the row does not fit
  int smem = 0;         // bytes of dynamic shared memory
};
// grid: blocks of the kernel.
inline FusedRows fused_rows(const Config& c, const NormProblem& p, int limit, std::int64_t grid = 1) {
  const std::int64_t of_unit = unit_bytes / static_cast<std::int64_t>(size_of(p.dtype)), units = p.cols / of_unit;
  FusedRows r{.phases = static_cast<int>(phases_of(p)), .cluster = c.cluster};
  if (units > capacity(c, Use::gradient)) return r;
  r.apart = r.phases > 1 ? r.phases : static_cast<int>(grid / c.cluster);
  r.slice_units = static_cast<int>((units + c.cluster - 1) / c.cluster);
  r.row_units = lanes(c) * c.in_registers;
  for (r.stages = FusedRows::most_stages; r.stages >= 2; --r.stages) {
    const int gamma = r.row_units * static_cast<int>(of_unit * sizeof(float));
    r.smem =
        r.stages * c.rows * 2 * r.row_units * unit_bytes + gamma;  // in the end, sums where two stages and gamma were
    if (r.smem + FusedRows::scratch_bytes <= limit) return r;
  }
  r.stages = 0;
  return r;
}

// The same with warps of several roles (sm90_roles.cuh): a block's threads, of which two warps work on no elements.
constexpr bool has_roles(Config c) { return c.summing > 0; }
constexpr int role_threads(Config c) { return c.threads + c.summing + 64; }
struct RoleRows {
  static constexpr int most_stages = 8, most_cluster = 16;
  static constexpr int ahead = 1;  // row behind the one that is brought to a slot, to the L2 cache meanwhile
  static constexpr int scratch_bytes = 768, message_bytes = 40;  // beside it, at most: sums of warps, barriers

  int phases = 1, apart = 1, cluster = 1, slice_units = 0;  // as those of FusedRows
  int row_units = 0;  // of a slot's room: what is finished at a time may lie behind the row
  int stages = 0;     // 0: the row does not fit
  int smem = 0;       // bytes of dynamic shared memory
};
inline RoleRows role_rows(const Config& c, const NormProblem& p, int limit, std::int64_t grid = 1) {
  constexpr int warp = 32;
  const std::int64_t of_unit = unit_bytes / static_cast<std::int64_t>(size_of(p.dtype)), units = p.cols / of_unit;
  RoleRows r{.phases = static_cast<int>(phases_of(p)), .cluster = c.cluster};
  if (units > capacity(c, Use::gradient)) return r;
  r.apart = r.phases > 1 ? r.phases : static_cast<int>(grid / c.cluster);
  r.slice_units = static_cast<int>((units + c.cluster - 1) / c.cluster);
  const int groups = (r.slice_units + warp - 1) / warp, of_each = groups / (c.threads / warp);
  r.row_units = std::max(groups, groups - of_each + c.in_registers - 1) * warp;
  for (r.stages = RoleRows::most_stages; r.stages >= 3; --r.stages) {
    r.smem = (r.stages * 2 * unit_bytes + static_cast<int>(of_unit * sizeof(float))) * r.row_units +
             2 * r.stages * c.cluster * RoleRows::message_bytes;
    if (r.smem + RoleRows::scratch_bytes <= limit) return r;
  }
  r.stages = 0;
  return r;
}

// Span: rows that a block brings at a time, and its shared memory. Gradients bring the next ones meanwhile, and keep
// what dx takes of each row.
struct SpanShape {
  static constexpr int stages = 2, of_row = 5;

  int rows = 0, smem = 0;
};
inline SpanShape span_shape(const Config& c, const NormProblem& p, const DeviceInfo& device) {
  const int size = static_cast<int>(size_of(p.dtype)), cols = static_cast<int>(p.cols);
  if (!p.backward) {
    constexpr std::int64_t bytes = 8192, blocks_per_sm = 8;
    const int rows = tile::span_rows(c.threads, p.rows, std::int64_t{cols} * size, bytes, device.sms * blocks_per_sm);
    return {rows, tile::span_room(rows, cols, size)};
  }
  constexpr std::int64_t bytes = 24576;
  constexpr int most_smem = 72 << 10;  // for three blocks on a multiprocessor of Hopper's
  const int tensors = p.added ? 3 : 2, kept = SpanShape::of_row * (p.dtype == DType::f64 ? 8 : 4);
  const auto smem = [&](int rows) {
    return SpanShape::stages * tensors * tile::span_room(rows, cols, size) + rows * kept;
  };
  int rows = tile::span_rows(c.threads, p.rows, std::int64_t{tensors} * cols * size + kept, bytes,
                             device.sms * c.blocks_per_sm);
  while (rows > tile::span_pair && smem(rows) > most_smem) rows /= 2;
  return {rows,
          std::max(smem(rows), 2 * c.threads * (p.dtype == DType::f64 ? 8 : 4))};  // in the end, sums of all threads
}

// Split: slices of a unit for each thread and more, and four blocks for each multiprocessor; of gradients, which have
// more to add up for each block, two.
using tile::Slices;
inline Slices slices_of(const Config& c, const NormProblem& p, const DeviceInfo& device) {
  const std::int64_t blocks_per_sm = p.backward ? 2 : 4;
  const std::int64_t least = std::int64_t{c.threads} * unit_bytes / static_cast<std::int64_t>(size_of(p.dtype));
  return tile::slices_of(p.rows, p.cols, least, device.sms * blocks_per_sm);
}
inline constexpr int partial_floats = 10;  // of a slice, at most

constexpr std::int64_t rows_per_block(Config c) { return std::int64_t{c.rows} * c.turns; }

// Rows that are in a block alone have others brought ahead. Not so with a residual: two rows read and two written leave
// the L2 cache no room, and it was 2 to 6 % slower.
inline std::int64_t rows_ahead(const Config& c, const NormProblem& p, const DeviceInfo& device) {
  if (p.added || rows_per_block(c) > 1) return 0;
  return tile::rows_ahead(device, c.threads, p.cols * static_cast<std::int64_t>(size_of(p.dtype)));
}

// Kernels that follow the one over rows. columns: sums of dgamma and dbeta over a slice of rows, from x and dy; finish:
// of the slices, or of the fused method's blocks.
inline constexpr int columns_threads = 256, columns_wide = 32;  // of which so many stand beside each other
inline constexpr int finish_threads = 256, finish_wide = 32;
inline constexpr std::int64_t few_rows = 32;  // whose columns a thread each adds up, in place of both

// Floats (f64: doubles) of a row's statistics in the workspace: base, offset, scale.
inline constexpr int statistics_size = 3;

}  // namespace ridge::norm_detail
