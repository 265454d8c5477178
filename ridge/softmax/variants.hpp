// The table of softmax kernels. A variant's family says what its kernel requires, takes and costs, in the header beside
// its .cuh: streaming, vector, span, split, short, elements, resident, sm90_ring, columns.
#pragma once
#include <ridge/softmax/softmax.hpp>

#include <algorithm>
#include <string_view>

namespace ridge::softmax_detail {

// In the order of `families` (families.hpp).
enum class Algorithm : std::uint8_t {
  naive,       // streaming: a thread per row, three passes
  three_pass,  // streaming: a block per row, three passes: maximum, sum, write
  online,      // streaming: a block per row, two passes: maximum and sum together, write
  strided,     // streaming: online, any strides
  vector,      // the row is read twice, by 16-byte vectors
  span,        // short rows without gaps: loaded to shared memory as one span, then a thread per row
  split,       // multi-block rows: a few long ones, each split over many blocks, by two kernels
  short_rows,  // vector-aligned rows of part of a warp: a few of them at a time, a few vectors of each in a lane
  elements,    // rows of any alignment and spacing, read once, element by element, and kept in registers
  resident,    // the row is read once and kept on chip
  ring,        // Hopper, gradients: rows are loaded to a ring in shared memory, of one block or of a cluster's
  columns,     // rows side by side, as of an axis that is not the last: neighbouring lanes have neighbouring rows
  two_float,   // double-float arithmetic: rows of float32, any strides
};
inline constexpr int algorithm_count = 13;

// A resident row is 16-byte vectors: lane l keeps vectors l, l + lanes, l + 2 lanes, ... of it, the first
// `in_registers` of them in registers and the others in shared memory, where only that lane accesses them.
struct Config {
  Algorithm algorithm = Algorithm::resident;
  int threads = 256;
  int rows = 1;          // rows of a block, side by side; each has an equal share of the threads
  int in_registers = 0;  // vectors per lane; columns: registers of elements; elements, two_float: of a row
  int in_shared = 0;
  int blocks_per_sm = 1;          // the least residency asked of the compiler
  int team = 0;                   // ring: threads that share a row
  int cluster = 1;                // blocks that share a row
  int rows_per_lane = 1;          // elements; short rows: of float32, forward
  bool dependent_launch = false;  // programmatic dependent launch on Hopper, forward (tile/dependent_launch.cuh)
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  double block_us;  // a block's time besides its memory latency, measured on an H200 (columns: estimated)
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per row, three passes", {.algorithm = Algorithm::naive, .threads = 128}, 0, Role::lesson},
    {"block_reduce", "a block per row: coalesced reads, reductions in shared memory", {.algorithm = Algorithm::three_pass}, 0.25, Role::fallback},
    {"online", "maximum and sum in one pass: two reads instead of three", {.algorithm = Algorithm::online}, 0.25, Role::fallback},
    {"vec4", "16-byte accesses", {.algorithm = Algorithm::vector, .threads = 512}, 2.2},
    {"span_32", "a few columns, no gaps: the block loads its rows as one span, then a thread has a row to itself", {.algorithm = Algorithm::span, .threads = 128, .blocks_per_sm = 7}, 0.8},
    {"split", "multi-block rows, for a few long ones: a kernel for their sums, and one that writes", {.algorithm = Algorithm::split, .threads = 512}, 1.2},
    {"short_8", "eight lanes per row of up to 8 vectors, up to four rows at a time", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 16, .in_registers = 1, .rows_per_lane = 4}, 0.9},
    {"short_16", "half a warp per row, up to four rows at a time", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 8, .in_registers = 1, .rows_per_lane = 4}, 0.9},
    {"short_32", "a warp per row, up to four rows at a time", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 4, .in_registers = 1, .rows_per_lane = 4}, 0.9},
    {"short_48", "half a warp per row, three vectors in each lane, up to two rows at a time", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 8, .in_registers = 3, .rows_per_lane = 2}, 1.1},
    {"short_64", "a warp per row, two vectors in each lane, up to two rows at a time", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 4, .in_registers = 2, .rows_per_lane = 2}, 0.9},
    {"short_96", "a warp per row, three vectors in each lane", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 4, .in_registers = 3}, 0.8},
    {"short_128", "a warp per row, four vectors in each lane", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 4, .in_registers = 4}, 0.9},
    {"short_few", "for a few short rows: a warp per row and a vector in each lane, the least code to load", {.algorithm = Algorithm::short_rows, .threads = 128, .rows = 4, .in_registers = 1}, 0.6},
    {"elements_8", "any alignment and spacing: two lanes per row of up to 8 elements, two rows at a time", {.algorithm = Algorithm::elements, .threads = 128, .rows = 64, .in_registers = 4, .blocks_per_sm = 8, .rows_per_lane = 2}, 0.9},
    {"elements_16", "four lanes per row", {.algorithm = Algorithm::elements, .threads = 128, .rows = 32, .in_registers = 4, .blocks_per_sm = 8, .rows_per_lane = 2}, 0.9},
    {"elements_32", "eight", {.algorithm = Algorithm::elements, .threads = 128, .rows = 16, .in_registers = 4, .blocks_per_sm = 8, .rows_per_lane = 2}, 0.9},
    {"elements_64", "half a warp", {.algorithm = Algorithm::elements, .threads = 128, .rows = 8, .in_registers = 4, .blocks_per_sm = 8, .rows_per_lane = 2}, 0.9},
    {"elements_128", "a warp", {.algorithm = Algorithm::elements, .threads = 128, .rows = 4, .in_registers = 4, .blocks_per_sm = 8, .rows_per_lane = 2}, 0.9},
    {"elements_512", "more elements in each lane, a row at a time", {.algorithm = Algorithm::elements, .threads = 128, .rows = 4, .in_registers = 16, .blocks_per_sm = 8}, 1.1},
    {"elements_1k", "yet more: rows without a barrier", {.algorithm = Algorithm::elements, .threads = 128, .rows = 4, .in_registers = 32, .blocks_per_sm = 8}, 1.6},
    {"elements_4k", "a block", {.algorithm = Algorithm::elements, .threads = 256, .in_registers = 16, .blocks_per_sm = 4}, 1.6},
    {"elements_16k", "more threads, more elements in each", {.algorithm = Algorithm::elements, .threads = 512, .in_registers = 32, .blocks_per_sm = 2}, 2.4},
    {"short_2k", "for a few rows: dependent launch, it begins while the kernel before it ends", {.threads = 512, .in_registers = 4, .dependent_launch = true}, 1.2},
    {"warp_16", "the row in half a warp's registers: one read, no barrier", {.threads = 128, .rows = 8, .in_registers = 1}, 0.7},
    {"warp_32", "the row in a warp's registers", {.threads = 128, .rows = 4, .in_registers = 1}, 0.75},
    {"warp_128", "more registers in each lane", {.threads = 128, .rows = 4, .in_registers = 4}, 1.2},
    {"warp_256", "more registers in each lane", {.threads = 128, .rows = 4, .in_registers = 8, .blocks_per_sm = 8}, 1.1},
    {"block_512", "the row in a block's registers", {.threads = 64, .in_registers = 8}, 1.5},
    {"block_1k", "more threads", {.threads = 128, .in_registers = 8}, 1.4},
    {"block_2k", "more threads", {.threads = 256, .in_registers = 8}, 1.6},
    {"block_4k", "more threads", {.threads = 512, .in_registers = 8, .blocks_per_sm = 2}, 1.8},
    {"block_8k", "registers and shared memory", {.threads = 512, .in_registers = 7, .in_shared = 12, .blocks_per_sm = 2}, 2.2},
    {"block_16k", "the widest row one multiprocessor holds", {.threads = 1024, .in_registers = 8, .in_shared = 8}, 3.0},
    {"block_8kx2", "the row in slices of two of Hopper's blocks", {.threads = 512, .in_registers = 8, .in_shared = 8, .blocks_per_sm = 2, .cluster = 2}, 3.4},
    {"block_8kx4", "of four", {.threads = 512, .in_registers = 8, .in_shared = 8, .blocks_per_sm = 2, .cluster = 4}, 5.0},
    {"ring_512", "gradients: Hopper's copy engine loads rows to a ring in shared memory", {.algorithm = Algorithm::ring, .threads = 512, .team = 512}, 0},
    {"ring_512x2", "the row in the shared memory of two blocks", {.algorithm = Algorithm::ring, .threads = 512, .team = 512, .cluster = 2}, 0},
    {"ring_512x4", "of four", {.algorithm = Algorithm::ring, .threads = 512, .team = 512, .cluster = 4}, 0},
    {"ring_512x8", "of eight", {.algorithm = Algorithm::ring, .threads = 512, .team = 512, .cluster = 8}, 0},
    {"columns", "an axis that is not the last: a thread has a row to itself, beside its neighbours'", {.algorithm = Algorithm::columns, .threads = 128, .rows = 128, .in_registers = 32, .blocks_per_sm = 4}, 0.9},
    {"columns_8", "a row's elements in eight parts", {.algorithm = Algorithm::columns, .threads = 256, .rows = 32, .in_registers = 32, .blocks_per_sm = 2}, 1.2},
    {"columns_32", "in 32 parts, for long rows", {.algorithm = Algorithm::columns, .threads = 1024, .rows = 32, .in_registers = 16}, 2.0},
    {"two_float", "double-float arithmetic: a block per row, read three times", {.algorithm = Algorithm::two_float}, 0.25},
    {"two_float_512", "the row in a warp's registers: it is read once", {.algorithm = Algorithm::two_float, .threads = 128, .rows = 4, .in_registers = 16}, 1.2},
    {"two_float_8k", "in a block's registers", {.algorithm = Algorithm::two_float, .threads = 512, .in_registers = 16}, 2.0},
    {"strided", "any strides", {.algorithm = Algorithm::strided}, 0.25, Role::fallback},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

// The threads of a block that share one row.
constexpr int lanes(Config c) { return c.algorithm == Algorithm::ring ? c.team : c.threads / c.rows; }

// Short rows: half of the table's where a lane has two tensors (gradients), and of 16-bit types, whose vectors have
// twice the elements. A lane's registers and the kernel's code are as many then as those of float32.
constexpr int rows_per_lane(Config c, bool backward, std::int64_t element_bytes) {
  return backward || element_bytes < 4 ? std::max(c.rows_per_lane / 2, 1) : c.rows_per_lane;
}
constexpr std::int64_t rows_per_block(Config c, int rows_per_lane = 1) {
  return c.algorithm == Algorithm::naive ? c.threads : c.rows * rows_per_lane;
}

// A variant's configuration as a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

}  // namespace ridge::softmax_detail
