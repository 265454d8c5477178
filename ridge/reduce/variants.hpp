// The table of reduction kernels. A variant's family says what its kernel requires, takes and costs, in the header
// beside its .cuh: textbook, slices, rows, spans, columns, shifted, sm90_cluster.
#pragma once
#include <ridge/reduce/reduce.hpp>

#include <iterator>
#include <string_view>

namespace ridge::reduce_detail {

// In the order of `families` (families.hpp).
enum class Algorithm : std::uint8_t {
  atomic,            // textbook: y itself is the accumulator
  block_serial,      // textbook, in shared memory: one thread adds a block's elements
  tree_interleaved,  // textbook, in shared memory: neighbours first, so that active threads are ever farther apart
  tree_strided,      // textbook, in shared memory: the same pairs by neighbouring threads; their words move apart
  tree_sequential,   // textbook, in shared memory: halves first, so that active threads and their words stay neighbours
  shuffle,           // textbook: within a warp by registers, across warps by shared memory
  block_atomic,      // textbook: the same; y itself is the accumulator of the blocks' results
  slices,            // a block folds a slice of a row; partial results in workspace, or none if a row is one slice
  rows,              // some lanes of a warp fold a whole row
  spans,             // one or several threads fold a whole row, which the block loaded to shared memory with others
  columns,           // neighbouring lanes fold neighbouring rows, which are side by side as columns are; any strides
  shifted,           // the same at any pitch: lanes have vectors of neighbouring columns, whatever a row's alignment
  cluster,           // a cluster of Hopper's blocks folds a single row; any strides
};
inline constexpr int algorithm_count = 13;
constexpr bool is_textbook(Algorithm a) { return a < Algorithm::slices; }

// How many slices a row is cut into.
enum class Cut : std::uint8_t { whole, tiles, fill };  // 1; one per tile; as many as fill the chip `waves` times

// How many rows a variant takes.
enum class RowCount : std::uint8_t { any, one, several };

struct Config {
  Algorithm algorithm = Algorithm::slices;
  int threads = 256;
  int lanes = 0;         // rows: lanes of a row
  int access_bytes = 0;  // of a vector; 0: one element at a time
  int vectors = 1;       // independent accesses of each thread before the first use; columns: for 4 bytes or more
  Cut cut = Cut::whole;
  int blocks_per_sm = 4;               // the least that a multiprocessor holds: bounds the registers of a thread
  int waves = 1;                       // Cut::fill
  bool strided = false;                // an offset per element
  bool last_block = false;             // slices of one row: the last block to arrive finishes, in a single launch
  RowCount row_count = RowCount::any;  // slices
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

// The first eight are the textbook's steps. Shares: see README.md.
// clang-format off
inline constexpr Variant variants[] = {
    {"atomic", "one atomic per element; on a GPU, subnormal floats are taken for 0", {.algorithm = Algorithm::atomic}, Role::lesson},
    {"block_serial", "a block's elements to shared memory, where one thread adds them", {.algorithm = Algorithm::block_serial, .cut = Cut::tiles}, Role::lesson},
    {"tree_interleaved", "a tree in shared memory, neighbours first", {.algorithm = Algorithm::tree_interleaved, .cut = Cut::tiles}, Role::lesson},
    {"tree_strided", "the same pairs, by neighbouring threads: whole warps retire, but lanes share banks", {.algorithm = Algorithm::tree_strided, .cut = Cut::tiles}, Role::lesson},
    {"tree_sequential", "halves first: whole warps retire", {.algorithm = Algorithm::tree_sequential, .cut = Cut::tiles}, Role::lesson},
    {"warp_shuffle", "registers within a warp: one barrier instead of eight", {.algorithm = Algorithm::shuffle, .cut = Cut::tiles}, Role::lesson},
    {"block_atomic", "one atomic per block in place of the second launch; on a GPU, subnormal floats are taken for 0", {.algorithm = Algorithm::block_atomic}, Role::lesson},
    {"vec4", "16-byte accesses: a quarter of the loads and of the blocks", {.access_bytes = 16, .cut = Cut::tiles, .row_count = RowCount::one}, Role::lesson},
    {"scalar", "dot of inputs that are not co-aligned on 16 bytes", {.vectors = 4, .cut = Cut::fill, .row_count = RowCount::one}, Role::fallback},
    {"best", "four accesses in flight, enough slices that multiprocessors finish together", {.access_bytes = 16, .vectors = 4, .cut = Cut::fill, .waves = 32, .row_count = RowCount::one}},
    {"one_wave", "as many blocks as the chip holds: few partial results, where reading them shows beside reading x", {.access_bytes = 16, .vectors = 4, .cut = Cut::fill, .row_count = RowCount::one}},
    {"last_block", "the last block to arrive adds what all have found: one launch, however much there is to read", {.access_bytes = 16, .vectors = 4, .cut = Cut::fill, .last_block = true, .row_count = RowCount::one}, Role::lesson},
    {"one_block", "the whole row to one block of 1,024 threads: one launch, where there is little to read", {.threads = 1024, .access_bytes = 16, .vectors = 4, .blocks_per_sm = 1, .row_count = RowCount::one}},
    {"row_span", "rows of up to 4 KB: a block loads its rows as one span, then one or several threads have a row", {.algorithm = Algorithm::spans, .threads = 128, .access_bytes = 16, .blocks_per_sm = 8}},
    {"row_lanes", "eight lanes per row", {.algorithm = Algorithm::rows, .lanes = 8, .access_bytes = 16, .vectors = 4}},
    {"row_warp", "32 lanes per row", {.algorithm = Algorithm::rows, .lanes = 32, .access_bytes = 16, .vectors = 4}},
    {"row_block", "a block per row", {.access_bytes = 16, .vectors = 4}},
    {"row_split", "multi-block rows, if rows are too few to fill the chip", {.access_bytes = 16, .vectors = 4, .cut = Cut::fill, .waves = 4, .row_count = RowCount::several}},
    {"columns", "16 bytes of neighbouring columns per thread: axes other than the last", {.algorithm = Algorithm::columns, .access_bytes = 16, .vectors = 4, .cut = Cut::fill}},
    {"columns_shifted", "columns at any pitch: a thread's rows are so far apart that all have the same alignment offset", {.algorithm = Algorithm::shifted, .threads = 512, .access_bytes = 16, .vectors = 4, .cut = Cut::fill}, Role::fallback},
    {"strided", "any strides: an offset per element", {.algorithm = Algorithm::columns, .threads = 512, .vectors = 16, .cut = Cut::fill, .blocks_per_sm = 2, .waves = 8, .strided = true}, Role::fallback},
    {"strided_once", "the same in one launch, where there is little to read", {.algorithm = Algorithm::columns, .threads = 512, .vectors = 16, .blocks_per_sm = 2, .strided = true}, Role::fallback},
    {"cluster", "eight blocks meet in shared memory: one launch, and eight multiprocessors' loads", {.algorithm = Algorithm::cluster, .threads = 512, .vectors = 16, .blocks_per_sm = 2, .strided = true}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

// Whether the result is an index.
constexpr bool locates(Reduce f) { return f == Reduce::argmax || f == Reduce::argmin; }

// A variant's configuration for a function. Each of two inputs has half of the accesses. With indices beside values, a
// block's reduction is long, and fewer blocks are faster; in columns, indices take the registers of half of the
// accesses (one element each) or of half of the blocks.
constexpr Config config_of(Config c, Reduce f) {
  if (locates(f) && c.waves > 8) c.waves = 8;
  const bool indices = locates(f) && (c.algorithm == Algorithm::columns || c.algorithm == Algorithm::cluster);
  if (indices && !c.strided) c.blocks_per_sm /= 2;
  if ((arity(f) == 2 || (indices && c.strided)) && c.vectors > 1) c.vectors /= 2;
  return c;
}

// Elements of an access.
constexpr int access_elements(const Config& c, int element_bytes) {
  return c.access_bytes > element_bytes ? c.access_bytes / element_bytes : 1;
}

// A variant's configuration for a function as a type: nvcc takes no namespaced class value as a template argument.
template <int I, Reduce F> struct Policy { static constexpr Config config = config_of(variants[I].config, F); };

}  // namespace ridge::reduce_detail
