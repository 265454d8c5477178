// The table of histogram kernels, and every fact that plan and kernels share.
//
// A byte has only 256 values, so kernels with a table of counters count bytes by value, and map values to bins once per
// block: `rows` is the number of counters, 256 for 1-byte types. Other types have one for each bin and one more for
// samples that are not counted.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/histogram/histogram.hpp>

#include <algorithm>

namespace ridge::histogram_detail {

enum class Table : std::uint8_t {
  none,    // every sample is an atomic addition to the result
  shared,  // each block counts in privatised counters in shared memory, by atomic additions
};

struct Config {
  Table table = Table::none;
  int threads = 256;
  int access_bytes = 0;   // 0: one sample at a time
  int vectors = 1;        // independent accesses per thread before the first use
  int copies = 1;         // privatised copies of every counter of a shared table; neighbouring lanes use different ones
  int counter_bits = 32;  // 32, or 16: two per word
  bool prefetch = false;  // the next accesses are in flight while these are counted
  bool runs = false;      // one addition counts an access whose samples are all in one bin
  bool strided = false;   // any strides: every sample's offset is computed
  int resident = 1;       // minimum blocks per multiprocessor, which limits registers
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  double memory_share;  // share of the bandwidth that the reads reach if counting is free
  double clocks;        // clocks of a multiprocessor to count 32 samples in random bins
};

// memory_share and clocks: measured on an H200 (bench/results/h200/histogram.json), u8 and i32 of 2^28 random samples.
// clang-format off
inline constexpr Variant variants[] = {
    {"global_atomic", "one atomic addition in global memory per sample", {}, 1, 1330},
    {"shared_private",
     "each block counts in shared memory and adds its counts to the result once",
     {.table = Table::shared, .resident = 6},
     1,
     18},
    {"vec4",
     "16-byte reads: a quarter of the load instructions",
     {.table = Table::shared, .access_bytes = 16, .resident = 6},
     0.85,
     4},
    {"private_512x2",
     "two reads in flight; equal neighbours are counted at once",
     {.table = Table::shared, .threads = 512, .access_bytes = 16, .vectors = 2, .runs = true, .resident = 3},
     0.98,
     3.6},
    {"packed_1024x3",
     "two 16-bit counters to a word: twice as many bins fit; samples are prefetched",
     {.table = Table::shared,
      .threads = 1024,
      .access_bytes = 16,
      .vectors = 3,
      .counter_bits = 16,
      .prefetch = true,
      .runs = true},
     0.95,
     6},
    {"best",
     "32 copies of each counter: each lane counts in a bank of its own; four reads in flight",
     {.table = Table::shared, .threads = 512, .access_bytes = 16, .vectors = 4, .copies = 32, .resident = 2},
     0.96,
     2},
    {"strided_shared", "any strides, counted in shared memory", {.table = Table::shared, .strided = true, .resident = 6}, 1, 28},
    {"strided",
     "any strides, any number of bins: one atomic addition in global memory per sample",
     {.strided = true},
     1,
     1330},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

inline constexpr int byte_values = 256;
inline constexpr std::int64_t max_bins = std::int64_t{1} << 30;
// Samples that one block may count: a 32-bit counter can hold all of them.
inline constexpr std::int64_t max_block_samples = std::int64_t{1} << 31;

// Whether a row accepts samples of this size: the 256 counters of bytes need no packing.
constexpr bool takes(Config c, int element_bytes) {
  return !(c.table == Table::shared && c.counter_bits == 16 && element_bytes == 1);
}
constexpr std::int64_t rows(std::int64_t bins, int element_bytes) {
  return element_bytes == 1 ? byte_values : bins + 1;
}
constexpr int access_elements(Config c, int element_bytes) {
  return c.access_bytes > element_bytes ? c.access_bytes / element_bytes : 1;
}

// With 16-bit samples, eight per access, registers hold two accesses and no prefetched ones.
constexpr bool prefetches(Config c, int element_bytes) { return c.prefetch && element_bytes != 2; }
constexpr int vectors(Config c, int element_bytes) {
  return c.prefetch && !prefetches(c, element_bytes) ? std::min(c.vectors, 2) : c.vectors;
}

constexpr std::int64_t smem_bytes(Config c, std::int64_t rows) {
  if (c.table == Table::none) return 0;
  return c.counter_bits == 16 ? (rows + 1) / 2 * 4 : rows * c.copies * 4;
}

// Blocks that a multiprocessor holds at once.
constexpr int resident_blocks(Config c, std::int64_t rows, const DeviceInfo& device) {
  constexpr std::int64_t reserved = 1024;  // bytes of shared memory that the system reserves per block
  const std::int64_t by_threads = device.threads_per_sm / c.threads;
  const std::int64_t smem = smem_bytes(c, rows);
  const std::int64_t by_smem = smem == 0 ? by_threads : device.smem_per_sm / (smem + reserved);
  return static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>({by_threads, by_smem, c.resident})));
}

}  // namespace ridge::histogram_detail
