// The table of norm kernels. What a row's kernel needs, takes and costs is said by its family, in the header beside its
// .cuh: streaming, vector, split, span, even, short, resident, fused, sm90_specialized, sm90_ring.
#pragma once
#include <ridge/norm/norm.hpp>

#include <string_view>

namespace ridge::norm_detail {

// In the order of `families` (families.hpp).
enum class Algorithm : std::uint8_t {
  streaming,    // an element per access, the row read again for every pass; any strides
  vector,       // a block per row by 16-byte vectors, two passes
  split,        // a few long rows, each split over many blocks, by two kernels
  span,         // short rows without gaps: brought to shared memory as one span, then a thread per row
  span_sums,    // their gradients; blocks stay and keep the sums of dgamma and dbeta
  even,         // rows of whole vectors, with little besides
  short_rows,   // several rows of a vector for each lane at a time
  short_sums,   // their gradients; blocks stay and keep the sums of dgamma and dbeta
  resident,     // the row is read once and kept on chip
  fused,        // gradients: resident; a block keeps the sums of dgamma and dbeta while it goes through its rows
  specialized,  // the same on Hopper, of 16 bits: a producer warp, warps that sum rows up, others that finish them
  ring,         // Hopper: rows pass through shared memory, ahead of those that work on them, also through a cluster's
};
inline constexpr int algorithm_count = 12;

// A resident row is 16-byte vectors: lane l keeps vectors l, l + lanes, l + 2 lanes, ... of it, the first
// `in_registers` of them in registers and the rest in shared memory, where only that lane touches them. Gradients keep
// two rows, x and dy, in the same room; fused and specialized ones have `in_registers` vectors of each.
struct Config {
  Algorithm algorithm = Algorithm::resident;
  int threads = 256;
  int rows = 1;          // of a block, side by side; its threads are shared out evenly
  int in_registers = 0;  // vectors per lane; ring: of gamma and of beta, the row's are in shared memory
  int in_shared = 0;
  int blocks_per_sm = 1;          // least residency asked of the compiler
  int rows_per_lane = 1;          // short rows
  bool plain = false;             // for rows as they are, neither added nor gradients
  bool added = false;             // for rows with a residual alone
  bool four_bytes = false;        // for elements of 4 bytes alone
  int team = 0;                   // ring: threads that share a row
  int cluster = 1;                // blocks that share a row
  int summing = 0;                // specialized: threads that sum rows up, beside those that finish them
  bool two_float = false;         // also with sums in two floats: rows of f32, forward
  bool dependent_launch = false;  // forward, on Hopper it begins while the kernel before it ends (tile/overlap.cuh)
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
    {"split", "a few long rows, each over many blocks: a kernel for their moments, and one that writes", {.algorithm = Algorithm::split, .threads = 512}},
    {"span_32", "a few columns, no gaps: the block brings its rows as one span, then a thread has a row to itself", {.algorithm = Algorithm::span, .threads = 128, .blocks_per_sm = 7}},
    {"span_sums_32", "gradients the same way, then a thread has every so many-th element, all of one column", {.algorithm = Algorithm::span_sums, .threads = 256, .blocks_per_sm = 3}},
    {"short_16", "16 lanes a row, four rows at a time: gamma and beta are read once for them", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 8, .rows_per_lane = 4}},
    {"short_32", "a warp a row, two at a time", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 4, .rows_per_lane = 2}},
    {"warp_16", "the row in half a warp's registers: one read, no barrier", {.threads = 128, .rows = 8, .in_registers = 1}},
    {"warp_32", "the row in a warp's registers", {.threads = 128, .rows = 4, .in_registers = 1, .two_float = true}},
    {"warp_128", "more registers of each lane", {.threads = 128, .rows = 4, .in_registers = 4, .blocks_per_sm = 8}},
    {"warp_256", "more registers of each lane", {.threads = 128, .rows = 4, .in_registers = 8, .blocks_per_sm = 6, .two_float = true}},
    {"short_2k", "for a few rows: it begins while the kernel before it ends", {.threads = 512, .in_registers = 4, .dependent_launch = true}},
    {"block_512", "the row in a block's registers", {.threads = 128, .in_registers = 4, .blocks_per_sm = 8}},
    {"block_1k", "more threads", {.threads = 256, .in_registers = 4, .blocks_per_sm = 4, .two_float = true}},
    {"block_2k", "more threads", {.threads = 512, .in_registers = 4, .blocks_per_sm = 2, .two_float = true}},
    {"block_4k", "registers and shared memory", {.threads = 512, .in_registers = 4, .in_shared = 4, .blocks_per_sm = 2}},
    {"block_8k", "more shared memory", {.threads = 512, .in_registers = 4, .in_shared = 12, .blocks_per_sm = 2, .two_float = true}},
    {"block_16k", "the widest row one multiprocessor holds", {.threads = 1024, .in_registers = 4, .in_shared = 12, .two_float = true}},
    {"even_256", "rows of whole units by few registers and instructions", {.algorithm = Algorithm::even, .threads = 32, .in_registers = 8, .blocks_per_sm = 32}},
    {"even_512", "more threads", {.algorithm = Algorithm::even, .threads = 64, .in_registers = 8, .blocks_per_sm = 16}},
    {"even_1k", "more threads", {.algorithm = Algorithm::even, .threads = 128, .in_registers = 8, .blocks_per_sm = 8}},
    {"even_2k", "more threads", {.algorithm = Algorithm::even, .threads = 256, .in_registers = 8, .blocks_per_sm = 4}},
    {"even_4k", "more threads", {.algorithm = Algorithm::even, .threads = 512, .in_registers = 8, .blocks_per_sm = 2}},
    {"even_8k", "as many as a block has", {.algorithm = Algorithm::even, .threads = 1024, .in_registers = 8}},
    {"short_sums_16", "gradients of short rows in one pass: half a warp's lanes keep the sums of their columns", {.algorithm = Algorithm::short_sums, .threads = 512, .rows = 32, .blocks_per_sm = 2}},
    {"short_sums_32", "a warp's", {.algorithm = Algorithm::short_sums, .threads = 512, .rows = 16, .blocks_per_sm = 2}},
    {"fused_128", "gradients in one pass: a warp's lanes keep the sums of their columns", {.algorithm = Algorithm::fused, .threads = 512, .rows = 16, .in_registers = 4}},
    {"fused_512", "more lanes: four rows of a block", {.algorithm = Algorithm::fused, .threads = 512, .rows = 4, .in_registers = 4}},
    {"fused_1k", "two", {.algorithm = Algorithm::fused, .threads = 512, .rows = 2, .in_registers = 4}},
    {"fused_2k", "one", {.algorithm = Algorithm::fused, .threads = 512, .in_registers = 4}},
    {"fused_2kx2", "the row in slices of two of Hopper's blocks", {.algorithm = Algorithm::fused, .threads = 512, .in_registers = 4, .cluster = 2}},
    {"fused_2kx4", "of four, with fewer lanes", {.algorithm = Algorithm::fused, .threads = 256, .in_registers = 7, .cluster = 4}},
    {"fused_2kx8", "of eight", {.algorithm = Algorithm::fused, .threads = 256, .in_registers = 7, .cluster = 8}},
    {"fused_2kx16", "of sixteen", {.algorithm = Algorithm::fused, .threads = 256, .in_registers = 7, .cluster = 16}},
    {"fused_wide", "and more lanes", {.algorithm = Algorithm::fused, .threads = 512, .in_registers = 4, .four_bytes = true, .cluster = 16}},
    {"roles_1kx4", "of rows of 16 bits in four blocks, by warps of several roles: some take the sums of rows that others finish", {.algorithm = Algorithm::specialized, .threads = 256, .in_registers = 4, .cluster = 4, .summing = 128}},
    {"roles_1kx8", "of eight", {.algorithm = Algorithm::specialized, .threads = 256, .in_registers = 4, .cluster = 8, .summing = 128}},
    {"block_8kx2", "rows with a residual in two of Hopper's blocks, which tell each other their sums", {.threads = 512, .in_registers = 4, .in_shared = 4, .blocks_per_sm = 2, .added = true, .cluster = 2}},
    {"block_16kx2", "more shared memory", {.threads = 512, .in_registers = 4, .in_shared = 12, .blocks_per_sm = 2, .added = true, .cluster = 2}},
    {"block_16kx4", "in four blocks", {.threads = 512, .in_registers = 4, .in_shared = 12, .blocks_per_sm = 2, .added = true, .cluster = 4}},
    {"ring_3kx2", "Hopper's copy engine brings rows to rings in two blocks, whose threads stay and keep gamma and beta in registers", {.algorithm = Algorithm::ring, .threads = 384, .in_registers = 9, .plain = true, .team = 384, .cluster = 2}},
    {"ring_3kx4", "of four", {.algorithm = Algorithm::ring, .threads = 384, .in_registers = 9, .plain = true, .team = 384, .cluster = 4}},
    {"ring_4kx4", "more columns of each lane", {.algorithm = Algorithm::ring, .threads = 384, .in_registers = 11, .plain = true, .team = 384, .cluster = 4}},
    {"ring_4kx8", "of eight blocks", {.algorithm = Algorithm::ring, .threads = 384, .in_registers = 11, .plain = true, .team = 384, .cluster = 8}},
    {"ring_2kx2", "fewer columns of more lanes, also with a residual", {.algorithm = Algorithm::ring, .threads = 512, .in_registers = 4, .team = 512, .cluster = 2}},
    {"ring_2kx4", "of four", {.algorithm = Algorithm::ring, .threads = 512, .in_registers = 4, .team = 512, .cluster = 4}},
    {"ring_2kx8", "of eight", {.algorithm = Algorithm::ring, .threads = 512, .in_registers = 4, .team = 512, .cluster = 8}},
    {"ring_2kx16", "of sixteen", {.algorithm = Algorithm::ring, .threads = 512, .in_registers = 4, .team = 512, .cluster = 16}},
    {"strided", "any strides", {.algorithm = Algorithm::streaming, .two_float = true}, Role::fallback},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

// Of a block, those that share one row.
constexpr int lanes(Config c) { return c.algorithm == Algorithm::ring ? c.team : c.threads / c.rows; }
constexpr std::int64_t rows_per_block(Config c) { return std::int64_t{c.rows} * c.rows_per_lane; }

// A row of the table as a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

}  // namespace ridge::norm_detail
