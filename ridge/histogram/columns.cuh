// Bytes, counted without atomics: each thread has a column of 256 narrow counters in shared memory.
//
// A row of the table is the counters of one byte value, 256 bytes wide: a counter's address is the value times 256 plus
// the thread's place in the row. The four bytes of a word belong to threads of different warps, the words of a row to
// different lanes, so lane l of any warp is always at bank l: no two lanes ever meet, and the time does not depend on
// the data. Before a counter can overflow, the block adds up the rows and clears them.
#pragma once
#include <ridge/histogram/shared.cuh>

namespace ridge::histogram_detail {

template <class Row> struct Columns {
  static constexpr Config c = Row::config;
  using Counter = std::conditional_t<c.counter_bits == 8, std::uint8_t, std::uint16_t>;
  static constexpr int per_word = 4 / sizeof(Counter);         // counters
  static constexpr int row_accesses = column_row_bytes / 16;
  static_assert(c.threads * sizeof(Counter) == column_row_bytes && byte_values % c.threads == 0 && c.access_bytes == 16);

  unsigned char* table;   // table: [256 values][threads] Counter
  unsigned place;         // of this thread's counters within their rows, in bytes

  __device__ __forceinline__ explicit Columns(unsigned char* shared) : table(shared) {
    const unsigned lane = threadIdx.x % 32, group = threadIdx.x / 32;
    place = (group / per_word * 32 + lane) * 4 + group % per_word * static_cast<unsigned>(sizeof(Counter));
  }
  // The counter of byte i of a word: its offset is the byte times 256 plus the place, which one permutation makes.
  __device__ __forceinline__ Counter& counter(unsigned word, int i) const {
    return *reinterpret_cast<Counter*>(table + __byte_perm(word, place, 0x5504u | static_cast<unsigned>(i) << 4));
  }
  __device__ __forceinline__ unsigned* words(int i) const { return reinterpret_cast<unsigned*>(table) + i * 4; }  // 16 bytes

  __device__ __forceinline__ void clear() const {
    for (int i = static_cast<int>(threadIdx.x); i < byte_values * row_accesses; i += c.threads)
      simt::store(words(i), simt::vec<unsigned, 4>{});
  }

  // The bytes of one access.
  __device__ __forceinline__ void count(const simt::vec<unsigned, 4>& words) const {
    if constexpr (c.runs)
      if (all_bytes_equal(words)) {
        counter(words[0], 0) += 16;
        return;
      }
    RIDGE_UNROLL
    for (int i = 0; i < 16; i += c.pairs ? 2 : 1) {
      Counter& a = counter(words[i / 4], i % 4);
      if constexpr (c.pairs) {  // both counters are read before either is written: two reads in flight
        Counter& b = counter(words[i / 4], i % 4 + 1);
        const int first = a + 1, second = b + 1 + (&a == &b);
        a = static_cast<Counter>(first);
        b = static_cast<Counter>(second);
      } else {
        ++a;
      }
    }
  }

  // The sum of a row, which is cleared. Each thread goes round from another word, or all would read one bank.
  __device__ __forceinline__ unsigned empty(int row) const {
    unsigned sum = 0, halves = 0;
#pragma unroll 4
    for (int i = 0; i < row_accesses; ++i) {
      unsigned* at = words(row * row_accesses + (i + row) % row_accesses);
      const simt::vec<unsigned, 4> w = simt::load<4>(at);
      simt::store(at, simt::vec<unsigned, 4>{});
      RIDGE_UNROLL
      for (int k = 0; k < 4; ++k) {
        if constexpr (c.counter_bits == 8) halves += (w[k] & 0xff00ffu) + (w[k] >> 8 & 0xff00ffu);  // 64 words * 2 * 255 < 2^16
        else sum += (w[k] & 0xffffu) + (w[k] >> 16);
      }
    }
    return sum + (halves & 0xffffu) + (halves >> 16);
  }
};

// counts[bin(x[i])] += 1                            x: [n] contiguous bytes  counts: [bins]
//
// x + head starts on 16 bytes.
// Preconditions: counts are cleared where there is more than one block; a block counts at most max_block_samples;
// dynamic shared memory holds smem_bytes.
template <class Row>
__global__ void __launch_bounds__(Row::config.threads, Row::config.resident)
    histogram_columns(const std::uint8_t* x, std::int64_t n, int head, Keys<std::uint8_t> keys, Counts counts) {
  constexpr Config c = Row::config;
  constexpr int V = 16, U = c.vectors, batches = column_batches(c);
  constexpr int owned = byte_values / c.threads;         // rows that a thread adds up
  static_assert(batches > 0, "more accesses in flight than an 8-bit counter can take");
  const int t = static_cast<int>(threadIdx.x);
  const Columns<Row> columns(simt::dynamic_shared<unsigned char>());
  columns.clear();
  if (gridDim.x == 1) counts.clear_all(keys.bins.count);
  __syncthreads();

  const unsigned* body = reinterpret_cast<const unsigned*>(x + head);  // body: [accesses][V bytes]
  const std::int64_t accesses = (n - head) / V, step = std::int64_t{gridDim.x} * c.threads;
  if (blockIdx.x == 0) {  // the ragged ends: at most one sample per thread
    const std::int64_t i = t + (t < head ? 0 : accesses * V);
    if (i < n) ++columns.counter(x[i], 0);
  }
  // An access beyond the end is not loaded: `now` and `next` hold what they held, and it is not counted.
  simt::vec<unsigned, 4> now[U] = {}, next[U] = {};
  std::int64_t first = std::int64_t{blockIdx.x} * c.threads;  // the same for the whole block
  RIDGE_UNROLL
  for (int u = 0; u < U; ++u)
    if (first + t + u * step < accesses) next[u] = simt::load_streaming<4>(body + (first + t + u * step) * 4);
  unsigned total[owned] = {};
  do {
    for (int batch = 0; batch < batches && first < accesses; ++batch) {
      const std::int64_t at = first + t;
      first += U * step;
      RIDGE_UNROLL
      for (int u = 0; u < U; ++u) {                      // load the next batch: U independent accesses
        now[u] = next[u];
        if (first + t + u * step < accesses) next[u] = simt::load_streaming<4>(body + (first + t + u * step) * 4);
      }
      RIDGE_UNROLL
      for (int u = 0; u < U; ++u)                        // compute this one
        if (at + u * step < accesses) columns.count(now[u]);
    }
    __syncthreads();
    RIDGE_UNROLL
    for (int r = 0; r < owned; ++r) total[r] += columns.empty(t + r * c.threads);  // finish: thread t adds up row t
    __syncthreads();
  } while (first < accesses);
  RIDGE_UNROLL
  for (int r = 0; r < owned; ++r) {
    const int bin = total[r] == 0 ? -1 : keys.bin(t + r * c.threads);
    if (bin >= 0) counts.add(bin, total[r]);
  }
}

}  // namespace ridge::histogram_detail
