// The table of norm kernels. A variant's family says what its kernel requires, takes and costs, in the header beside
// its .cuh: streaming, vector, split, span, elements, even, short, resident, fused, sm90_specialized, sm90_ring.
#pragma once
#include <ridge/norm/norm.hpp>

#include <string_view>

namespace ridge::norm_detail {

// In the order of `families` (families.hpp).
enum class Algorithm : std::uint8_t {
  streaming,    // an element per access, the row read again for every pass; any strides
  vector,       // a block per row by 16-byte vectors, two passes
  split,        // multi-block rows: a few long ones, each split over many blocks, by two kernels
  span,         // short rows without gaps: loaded to shared memory as one span, then a thread per row
  span_sums,    // gradients of such rows; persistent blocks keep the sums of dgamma and dbeta
  elements,     // any alignment, read once by elements
  even,         // vector-aligned rows, with few registers and instructions
  short_rows,   // several rows at a time, with a few vectors of each in a lane
  short_sums,   // gradients of such rows; persistent blocks keep the sums of dgamma and dbeta
  resident,     // the row is read once and kept on chip
  fused,        // gradients: resident; a persistent block keeps the sums of dgamma and dbeta over its rows
  specialized,  // the same on Hopper for 16-bit types: a producer warp, warps that sum rows, others that finish them
  ring,         // Hopper: rows are loaded to a ring in shared memory, of one block or of a cluster's
};
inline constexpr int algorithm_count = 13;

// A resident row is 16-byte vectors: lane l keeps vectors l, l + lanes, l + 2 lanes, ... of it, the first
// `in_registers` of them in registers and the others in shared memory, where only that lane accesses them. Gradients
// keep two rows, x and dy, in the same room; fused and specialized ones have `in_registers` vectors of each.
struct Config {
  Algorithm algorithm = Algorithm::resident;
  int threads = 256;
  int rows = 1;          // rows of a block, side by side; each has an equal share of the threads
  int in_registers = 0;  // vectors of a row per lane; ring: of gamma and of beta, as the row is in shared memory
  int in_shared = 0;
  int blocks_per_sm = 1;          // the least residency asked of the compiler
  int rows_per_lane = 1;          // short rows
  bool plain = false;             // only for rows without a residual, forward
  bool added = false;             // only for rows with a residual, forward
  bool four_bytes = false;        // only for elements of 4 bytes
  int team = 0;                   // ring: threads that share a row
  int cluster = 1;                // blocks that share a row
  int summing = 0;                // specialized: threads that sum rows, besides those that finish them
  bool two_float = false;         // also with double-float statistics: rows of f32, forward
  bool ahead = false;             // short_sums: the next row is loaded while a row is worked on
  bool dependent_launch = false;  // programmatic dependent launch on Hopper (tile/dependent_launch.cuh)
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per row, three passes", {.algorithm = Algorithm::streaming, .threads = 128, .rows = 128}, Role::lesson},
    {"block_reduce", "a block per row: coalesced reads, reductions in shared memory", {.algorithm = Algorithm::streaming}, Role::fallback},
    {"vec4", "16-byte accesses; mean and variance in one pass: two reads instead of three", {.algorithm = Algorithm::vector, .threads = 512}},
    {"split", "multi-block rows, for a few long ones: a kernel for their moments, and one that writes", {.algorithm = Algorithm::split, .threads = 512}},
    {"span_32", "a few columns, no gaps: the block loads its rows as one span, then a thread has a row to itself", {.algorithm = Algorithm::span, .threads = 128, .blocks_per_sm = 7}},
    {"span_sums_32", "gradients the same way, then a thread has every so many-th element, all of one column", {.algorithm = Algorithm::span_sums, .threads = 256, .blocks_per_sm = 3}},
    {"short_8", "8 lanes per row, four rows at a time: gamma and beta are read once for them", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 16, .in_registers = 1, .rows_per_lane = 4}},
    {"short_16", "16 lanes per row", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 8, .in_registers = 1, .rows_per_lane = 4}},
    {"short_24", "8 lanes with three vectors of a row, two rows at a time", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 16, .in_registers = 3, .rows_per_lane = 2}},
    {"short_32", "a warp per row", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 4, .in_registers = 1, .rows_per_lane = 2}},
    {"short_48", "16 lanes with three vectors of a row", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 8, .in_registers = 3, .rows_per_lane = 2}},
    {"short_64", "a warp with two vectors of a row", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 4, .in_registers = 2, .rows_per_lane = 2}},
    {"short_96", "with three, a row at a time", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 4, .in_registers = 3}},
    {"short_128", "with four", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 4, .in_registers = 4}},
    {"short_few", "for a few rows: dependent launch, it begins while the kernel before it ends", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 4, .in_registers = 4, .dependent_launch = true}},
    {"short_few_32", "the same with one vector of a row: the least code to load", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 4, .in_registers = 1, .dependent_launch = true}},
    {"elements_128", "any alignment: a warp reads a row once, element by element, and keeps it in registers", {.algorithm = Algorithm::elements, .threads = 128, .rows = 4, .in_registers = 4, .blocks_per_sm = 12}},
    {"elements_512", "more elements in each lane", {.algorithm = Algorithm::elements, .threads = 128, .rows = 4, .in_registers = 16, .blocks_per_sm = 6}},
    {"elements_1k", "more elements in each lane: rows without a barrier", {.algorithm = Algorithm::elements, .threads = 128, .rows = 4, .in_registers = 32, .blocks_per_sm = 8}},
    {"elements_4k", "a block", {.algorithm = Algorithm::elements, .threads = 512, .in_registers = 8, .blocks_per_sm = 2}},
    {"elements_16k", "more elements in each lane: two blocks of a multiprocessor take turns", {.algorithm = Algorithm::elements, .threads = 512, .in_registers = 32, .blocks_per_sm = 2}},
    {"elements_few", "few rows, by more threads with less code: dependent launch", {.algorithm = Algorithm::elements, .threads = 512, .in_registers = 4, .blocks_per_sm = 2, .dependent_launch = true}},
    {"elements_few_4k", "more threads", {.algorithm = Algorithm::elements, .threads = 1024, .in_registers = 4, .dependent_launch = true}},
    {"warp_16", "the row in half a warp's registers: one read, no barrier", {.threads = 128, .rows = 8, .in_registers = 1}},
    {"warp_32", "the row in a warp's registers", {.threads = 128, .rows = 4, .in_registers = 1, .two_float = true}},
    {"warp_128", "more registers in each lane", {.threads = 128, .rows = 4, .in_registers = 4, .blocks_per_sm = 8}},
    {"warp_256", "more registers in each lane", {.threads = 128, .rows = 4, .in_registers = 8, .blocks_per_sm = 6, .two_float = true}},
    {"short_2k", "for a few longer rows", {.threads = 512, .in_registers = 4, .dependent_launch = true}},
    {"block_512", "the row in a block's registers", {.threads = 128, .in_registers = 4, .blocks_per_sm = 8}},
    {"block_1k", "more threads", {.threads = 256, .in_registers = 4, .blocks_per_sm = 4, .two_float = true}},
    {"block_2k", "more threads", {.threads = 512, .in_registers = 4, .blocks_per_sm = 2, .two_float = true}},
    {"block_4k", "registers and shared memory", {.threads = 512, .in_registers = 4, .in_shared = 4, .blocks_per_sm = 2}},
    {"block_8k", "more shared memory", {.threads = 512, .in_registers = 4, .in_shared = 12, .blocks_per_sm = 2, .two_float = true}},
    {"block_16k", "the widest row one multiprocessor holds", {.threads = 1024, .in_registers = 4, .in_shared = 12, .two_float = true}},
    {"even_256", "vector-aligned rows with few registers and instructions", {.algorithm = Algorithm::even, .threads = 32, .in_registers = 8, .blocks_per_sm = 32}},
    {"even_512", "more threads", {.algorithm = Algorithm::even, .threads = 64, .in_registers = 8, .blocks_per_sm = 16}},
    {"even_1k", "more threads", {.algorithm = Algorithm::even, .threads = 128, .in_registers = 8, .blocks_per_sm = 8}},
    {"even_2k", "more threads", {.algorithm = Algorithm::even, .threads = 256, .in_registers = 8, .blocks_per_sm = 4}},
    {"even_4k", "more threads", {.algorithm = Algorithm::even, .threads = 512, .in_registers = 8, .blocks_per_sm = 2}},
    {"even_8k", "as many as a block has", {.algorithm = Algorithm::even, .threads = 1024, .in_registers = 8}},
    {"lean_128", "few rows, by more threads with less code: two vectors in a lane, dependent launch", {.algorithm = Algorithm::even, .threads = 64, .in_registers = 2, .blocks_per_sm = 16, .dependent_launch = true}},
    {"lean_512", "more threads", {.algorithm = Algorithm::even, .threads = 256, .in_registers = 2, .blocks_per_sm = 4, .dependent_launch = true}},
    {"lean_2k", "as many as a block has", {.algorithm = Algorithm::even, .threads = 1024, .in_registers = 2, .dependent_launch = true}},
    {"short_sums_8", "gradients of short rows in one pass: 8 lanes keep the sums of their columns", {.algorithm = Algorithm::short_sums, .threads = 512, .rows = 64, .in_registers = 1, .blocks_per_sm = 2}},
    {"short_sums_16", "the same by half a warp", {.algorithm = Algorithm::short_sums, .threads = 512, .rows = 32, .in_registers = 1, .blocks_per_sm = 2}},
    {"short_sums_32", "by a whole warp", {.algorithm = Algorithm::short_sums, .threads = 512, .rows = 16, .in_registers = 1, .blocks_per_sm = 2}},
    {"short_sums_48", "by half a warp, with three vectors in a lane", {.algorithm = Algorithm::short_sums, .threads = 512, .rows = 32, .in_registers = 3}},
    {"short_sums_64", "by a warp, with two", {.algorithm = Algorithm::short_sums, .threads = 512, .rows = 16, .in_registers = 2}},
    {"ahead_8", "8 lanes, in smaller blocks with more registers: the next row is loaded while a row is worked on", {.algorithm = Algorithm::short_sums, .threads = 256, .rows = 32, .in_registers = 1, .blocks_per_sm = 3, .ahead = true}},
    {"ahead_16", "the same by half a warp", {.algorithm = Algorithm::short_sums, .threads = 256, .rows = 16, .in_registers = 1, .blocks_per_sm = 3, .ahead = true}},
    {"ahead_32", "by a whole warp", {.algorithm = Algorithm::short_sums, .threads = 256, .rows = 8, .in_registers = 1, .blocks_per_sm = 3, .ahead = true}},
    {"ahead_48", "by half a warp, with three vectors in a lane", {.algorithm = Algorithm::short_sums, .threads = 256, .rows = 16, .in_registers = 3, .blocks_per_sm = 2, .ahead = true}},
    {"ahead_64", "by a warp, with two", {.algorithm = Algorithm::short_sums, .threads = 256, .rows = 8, .in_registers = 2, .blocks_per_sm = 2, .ahead = true}},
    {"fused_128", "gradients in one pass: a warp's lanes keep the sums of their columns", {.algorithm = Algorithm::fused, .threads = 512, .rows = 16, .in_registers = 4}},
    {"fused_256", "more lanes: eight rows of a block", {.algorithm = Algorithm::fused, .threads = 512, .rows = 8, .in_registers = 4}},
    {"fused_512", "four rows of a block", {.algorithm = Algorithm::fused, .threads = 512, .rows = 4, .in_registers = 4}},
    {"fused_1k", "two rows of a block", {.algorithm = Algorithm::fused, .threads = 512, .rows = 2, .in_registers = 4}},
    {"fused_2k", "one row of a block", {.algorithm = Algorithm::fused, .threads = 512, .in_registers = 4}},
    {"fused_2kx2", "the row in slices of two of Hopper's blocks", {.algorithm = Algorithm::fused, .threads = 512, .in_registers = 4, .cluster = 2}},
    {"fused_2kx4", "of four, with fewer lanes", {.algorithm = Algorithm::fused, .threads = 256, .in_registers = 7, .cluster = 4}},
    {"fused_2kx8", "of eight", {.algorithm = Algorithm::fused, .threads = 256, .in_registers = 7, .cluster = 8}},
    {"fused_2kx16", "of sixteen", {.algorithm = Algorithm::fused, .threads = 256, .in_registers = 7, .cluster = 16}},
    {"fused_wide", "and more lanes", {.algorithm = Algorithm::fused, .threads = 512, .in_registers = 4, .four_bytes = true, .cluster = 16}},
    {"roles_1kx4", "warp specialization: rows of 16-bit types in four blocks; some warps take the sums of rows that others finish", {.algorithm = Algorithm::specialized, .threads = 256, .in_registers = 4, .cluster = 4, .summing = 128}},
    {"roles_1kx8", "of eight", {.algorithm = Algorithm::specialized, .threads = 256, .in_registers = 4, .cluster = 8, .summing = 128}},
    {"block_8kx2", "rows with a residual in two of Hopper's blocks, which exchange their sums", {.threads = 512, .in_registers = 4, .in_shared = 4, .blocks_per_sm = 2, .added = true, .cluster = 2}},
    {"block_16kx2", "more shared memory", {.threads = 512, .in_registers = 4, .in_shared = 12, .blocks_per_sm = 2, .added = true, .cluster = 2}},
    {"block_16kx4", "in four blocks", {.threads = 512, .in_registers = 4, .in_shared = 12, .blocks_per_sm = 2, .added = true, .cluster = 4}},
    {"ring_3kx2", "Hopper's copy engine loads rows to rings in two persistent blocks, whose threads keep gamma and beta in registers", {.algorithm = Algorithm::ring, .threads = 384, .in_registers = 9, .plain = true, .team = 384, .cluster = 2}},
    {"ring_3kx4", "of four", {.algorithm = Algorithm::ring, .threads = 384, .in_registers = 9, .plain = true, .team = 384, .cluster = 4}},
    {"ring_4kx4", "more columns in each lane", {.algorithm = Algorithm::ring, .threads = 384, .in_registers = 11, .plain = true, .team = 384, .cluster = 4}},
    {"ring_4kx8", "of eight blocks", {.algorithm = Algorithm::ring, .threads = 384, .in_registers = 11, .plain = true, .team = 384, .cluster = 8}},
    {"ring_2kx4", "fewer columns in more lanes, in four blocks, also with a residual", {.algorithm = Algorithm::ring, .threads = 512, .in_registers = 4, .team = 512, .cluster = 4}},
    {"ring_2kx8", "of eight", {.algorithm = Algorithm::ring, .threads = 512, .in_registers = 4, .team = 512, .cluster = 8}},
    {"ring_2kx16", "of sixteen", {.algorithm = Algorithm::ring, .threads = 512, .in_registers = 4, .team = 512, .cluster = 16}},
    {"strided", "any strides", {.algorithm = Algorithm::streaming, .two_float = true}, Role::fallback},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

// The threads of a block that share one row.
constexpr int lanes(Config c) { return c.algorithm == Algorithm::ring ? c.team : c.threads / c.rows; }
constexpr std::int64_t rows_per_block(Config c) { return std::int64_t{c.rows} * c.rows_per_lane; }

// A variant's configuration as a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

}  // namespace ridge::norm_detail
