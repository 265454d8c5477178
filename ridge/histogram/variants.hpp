// The table of histogram kernels, and every fact that plan and kernels share.
//
// A byte has only 256 values, so kernels with a table of counters count bytes by value, and sort values into bins once
// per block: `rows` is the number of counters, 256 for 1-byte types. The others have one for each bin and one more for
// what is not counted.
#pragma once
#include <ridge/histogram/histogram.hpp>

#include <algorithm>

namespace ridge::histogram_detail {

enum class Table : std::uint8_t {
  none,     // every sample is an atomic addition to the result
  shared,   // each block counts in shared memory, by atomic additions
  columns,  // each thread counts bytes in a column of its own: no atomics
};

struct Config {
  Table table = Table::none;
  int threads = 256;
  int access_bytes = 0;   // 0: one sample at a time
  int vectors = 1;        // independent accesses of each thread before the first use
  int copies = 1;         // of every counter of a shared table; neighbouring lanes use different ones
  int counter_bits = 32;  // shared: 32 or 16 (two to a word); columns: 8 or 16
  bool runs = false;      // the samples of one access are counted by one addition where they all fall in one bin
  bool pairs = false;     // columns: two samples are counted at a time
  bool strided = false;   // any strides: every sample's offset is computed
  int resident = 1;       // blocks for which a multiprocessor's registers must suffice
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  double share;   // of the roof that the reads reach, where counting costs nothing
  double clocks;  // of a multiprocessor to count 32 samples that fall in random bins
};

// share and clocks are estimates, to be replaced by what an H200 shows (README.md).
inline constexpr Variant variants[] = {
    {"global_atomic", "one atomic addition in global memory per sample", {}, 0.5, 80},
    {"shared_private", "each block counts in shared memory and adds its counts to the result once",
     {.table = Table::shared, .resident = 6}, 0.45, 5.0},
    {"vec4", "16-byte reads: a quarter of the load instructions",
     {.table = Table::shared, .access_bytes = 16, .resident = 6}, 0.8, 4.8},
    {"private_512x2", "two reads in flight; equal neighbours are counted at once",
     {.table = Table::shared, .threads = 512, .access_bytes = 16, .vectors = 2, .runs = true, .resident = 3}, 0.95, 4.8},
    {"copies8_512x2", "eight copies of each counter: fewer lanes meet in one bank",
     {.table = Table::shared, .threads = 512, .access_bytes = 16, .vectors = 2, .copies = 8, .resident = 3}, 0.95, 3.6},
    {"lanes_256x2", "32 copies of each counter: each lane counts in a bank of its own, and none waits",
     {.table = Table::shared, .threads = 256, .access_bytes = 16, .vectors = 2, .copies = 32, .resident = 6}, 0.95, 2.5},
    {"lanes_512x2", "the same, 512 threads to a table",
     {.table = Table::shared, .threads = 512, .access_bytes = 16, .vectors = 2, .copies = 32, .resident = 3}, 0.96, 2.4},
    {"lanes_512x4", "the same, four reads in flight",
     {.table = Table::shared, .threads = 512, .access_bytes = 16, .vectors = 4, .copies = 32, .resident = 2}, 0.95, 2.4},
    {"lanes_1024x2_runs", "the same, 1,024 threads to a table, equal neighbours at once",
     {.table = Table::shared, .threads = 1024, .access_bytes = 16, .vectors = 2, .copies = 32, .runs = true}, 0.96, 2.5},
    {"packed_512x2", "two 16-bit counters to a word: twice as many bins fit",
     {.table = Table::shared, .threads = 512, .access_bytes = 16, .vectors = 2, .counter_bits = 16, .runs = true, .resident = 2}, 0.9, 6.5},
    {"packed_1024x2", "the same, 1,024 threads to a table",
     {.table = Table::shared, .threads = 1024, .access_bytes = 16, .vectors = 2, .counter_bits = 16, .runs = true}, 0.95, 6.0},
    {"columns8x3", "bytes: a column of 8-bit counters per thread, no atomics, three reads in flight",
     {.table = Table::columns, .threads = 256, .access_bytes = 16, .vectors = 3, .counter_bits = 8, .resident = 3}, 0.95, 2.7},
    {"columns8x3_runs", "the same, equal neighbours at once",
     {.table = Table::columns, .threads = 256, .access_bytes = 16, .vectors = 3, .counter_bits = 8, .runs = true, .resident = 3}, 0.95, 2.7},
    {"columns8x5_runs", "the same, five reads in flight",
     {.table = Table::columns, .threads = 256, .access_bytes = 16, .vectors = 5, .counter_bits = 8, .runs = true, .resident = 3}, 0.95, 2.7},
    {"columns16x4_runs", "bytes: columns of 16-bit counters, emptied 256 times less often",
     {.table = Table::columns, .threads = 128, .access_bytes = 16, .vectors = 4, .counter_bits = 16, .runs = true, .resident = 3}, 0.95, 2.9},
    {"columns8x3_pairs", "8-bit columns, two samples at a time, equal neighbours at once",
     {.table = Table::columns, .threads = 256, .access_bytes = 16, .vectors = 3, .counter_bits = 8, .runs = true, .pairs = true, .resident = 3}, 0.95, 2.65},
    {"columns16x4_pairs", "16-bit columns, two samples at a time, equal neighbours at once",
     {.table = Table::columns, .threads = 128, .access_bytes = 16, .vectors = 4, .counter_bits = 16, .runs = true, .pairs = true, .resident = 3}, 0.95, 2.3},
    {"strided_shared", "any strides, counted in shared memory", {.table = Table::shared, .strided = true, .resident = 6}, 0.3, 25},
    {"strided", "any strides, any number of bins: one atomic addition in global memory per sample",
     {.strided = true}, 0.25, 100},
};
inline constexpr int variant_count = static_cast<int>(std::size(variants));

inline constexpr int byte_values = 256;
inline constexpr std::int64_t max_bins = std::int64_t{1} << 30;
inline constexpr std::int64_t max_grid = 0x7fffffff;  // blocks in x, on every device
// Samples that one block may count: its 32-bit counters hold them all, wherever they fall.
inline constexpr std::int64_t max_block_samples = std::int64_t{1} << 31;

// Whether a row is made for samples of this size: columns only for bytes, packed counters where bytes need none.
constexpr bool takes(Config c, int element_bytes) {
  if (c.table == Table::columns) return element_bytes == 1;
  return !(c.table == Table::shared && c.counter_bits == 16 && element_bytes == 1);
}
constexpr std::int64_t rows(std::int64_t bins, int element_bytes) { return element_bytes == 1 ? byte_values : bins + 1; }
constexpr int access_elements(Config c, int element_bytes) {
  return c.access_bytes > element_bytes ? c.access_bytes / element_bytes : 1;
}

// Bytes of a row of columns: one 8-bit counter of 256 threads, or one 16-bit counter of 128.
inline constexpr int column_row_bytes = 256;
constexpr std::int64_t smem_bytes(Config c, std::int64_t rows) {
  switch (c.table) {
    case Table::none: return 0;
    case Table::shared: return c.counter_bits == 16 ? (rows + 1) / 2 * 4 : rows * c.copies * 4;
    case Table::columns: return byte_values * column_row_bytes;
  }
  return 0;
}

// Columns: accesses of each thread that its counters can take before they must be emptied, a multiple of c.vectors. One
// sample more is left for the ragged ends.
constexpr int column_batches(Config c) {
  return ((1 << c.counter_bits) - 2) / (c.access_bytes * c.vectors);
}

// Blocks that a multiprocessor holds at once.
constexpr int resident_blocks(Config c, std::int64_t rows, const DeviceInfo& device) {
  constexpr std::int64_t reserved = 1024;  // of shared memory, by the system, in each block
  const std::int64_t by_threads = device.threads_per_sm / c.threads;
  const std::int64_t smem = smem_bytes(c, rows);
  const std::int64_t by_smem = smem == 0 ? by_threads : device.smem_per_sm / (smem + reserved);
  return static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>({by_threads, by_smem, c.resident})));
}

}  // namespace ridge::histogram_detail
