// dgamma and dbeta: sums over rows, for every column. Either each block of the kernel over rows keeps the sums of its
// rows and writes a slice of sums; or that kernel writes each row's statistics, and a kernel over columns reads x and
// dy again, by slices of rows. A last kernel adds up the slices. They are planned here and launched in sums.cuh.
#pragma once
#include <ridge/norm/rows.hpp>

namespace ridge::norm_detail {

// Kernels after the one over rows. columns: sums of dgamma and dbeta over a slice of rows, from x and dy; finish: sums
// over the slices.
inline constexpr int columns_threads = 256, columns_wide = 32;  // threads of a block; its lanes beside one another
inline constexpr int columns_of_lane = 4;                       // and each lane's columns, columns_wide apart
// The same by vectors: lanes beside one another, with a vector of columns each, on a line of memory.
inline constexpr int column_vectors_threads = 256, column_vectors_wide = 8;
inline constexpr int finish_threads = 256, finish_wide = 32;
// Up to so many rows, one kernel sums each column whole, in place of both: by a thread, or by lanes with vectors.
inline constexpr std::int64_t few_rows = 32, few_rows_by_vectors = 256;
// Up to so many iterations, one block or cluster has all rows: it can then write dgamma and dbeta itself, in less time
// than a kernel that adds up slices takes to be launched.
inline constexpr std::int64_t iterations_alone = 2;

// A row's statistics in the workspace, as floats (f64: doubles): base, offset, scale.
inline constexpr int statistics_size = 3;

inline bool wants_sums(const NormProblem& p) { return p.backward && (p.dgamma || p.dbeta); }

// Whether one pass gives dx, dgamma and dbeta.
constexpr bool keeps_sums(const Config& c) {
  return c.algorithm == Algorithm::span_sums || c.algorithm == Algorithm::short_sums ||
         c.algorithm == Algorithm::fused || c.algorithm == Algorithm::specialized;
}

inline std::string refuse_no_sums(const NormProblem& p) {
  return wants_sums(p) ? "" : "it is for gradients of gamma and beta";
}

// Columns of a block of the kernel over columns that reads by vectors. bytes: of an element.
constexpr int column_group(std::int64_t bytes) { return static_cast<int>(column_vectors_wide * vector_bytes / bytes); }
// Whether the kernel over columns can read by vectors.
inline bool has_column_vectors(const NormProblem& p) {
  return p.dtype != f64 && refuse_layouts(p).empty() && refuse_partial_vectors(p).empty();
}

// How dgamma and dbeta are summed: `slices` times [2, cols] sums in the workspace, after the statistics of each row if
// the kernel over columns needs them.
struct SumsPlan {
  bool kept = false;                            // the kernel over rows keeps them
  bool direct = false;                          // and, as it has all rows, writes dgamma and dbeta: no slices
  bool of_few = false;                          // one kernel sums columns whole: there are no slices
  bool by_vectors = false;                      // the kernel over columns reads 16-byte vectors
  bool beside = false;                          // by blocks beside those of the rows: there is no further kernel
  std::int64_t slices = 0;                      // blocks, or clusters, that keep sums, or slices of rows
  std::int64_t rows_of_slice = 0;               // of a kernel over columns
  std::size_t statistics_bytes = 0, bytes = 0;  // of the statistics; of everything
};

// Whether one block, or cluster, has all rows and writes dgamma and dbeta.
inline bool is_alone(const Config& c, const NormProblem& p) {
  const bool can = c.algorithm == Algorithm::short_sums || c.algorithm == Algorithm::fused;
  return can && wants_sums(p) && p.rows <= iterations_alone * c.rows && alignment_offsets(p) == 1;
}

// Whether further blocks of the kernel over rows sum columns, and take the statistics of all rows themselves: for rows
// that they read in less time than a kernel takes to be launched.
inline constexpr std::int64_t most_rows_beside = 64, most_elements_beside = 48 << 10;
inline bool has_columns_beside(const Config& c, const NormProblem& p) {
  return c.algorithm == Algorithm::even && c.dependent_launch && wants_sums(p) && has_column_vectors(p) &&
         p.rows <= most_rows_beside && p.rows * p.cols <= most_elements_beside;
}

// There, the warps of a block that share a row, a power of two, and a lane's vectors that are in flight together.
inline constexpr int vectors_at_once_beside = 4;
// Precondition: rows > 0.
RIDGE_HD constexpr int warps_beside(int warps, std::int64_t rows) {
  int sharing = 1;
  while (2 * sharing * rows <= warps) sharing *= 2;
  return sharing;
}

// grid: blocks of the kernel over rows.
inline SumsPlan sums_plan(const Config& c, const NormProblem& p, const DeviceInfo& device, std::int64_t grid) {
  SumsPlan sums;
  if (!wants_sums(p) || is_empty(p)) return sums;
  const std::int64_t x_bytes = p.dtype == f64 ? 8 : 4;
  sums.kept = keeps_sums(c);
  sums.direct = is_alone(c, p);
  if (sums.direct) return sums;
  if (has_columns_beside(c, p)) {
    sums.beside = true;
    return sums;
  }
  if (sums.kept) {
    // One for each share of the rows, and one more for each further alignment offset.
    sums.slices = grid / c.cluster;
    if (c.algorithm != Algorithm::span_sums) sums.slices += std::min(alignment_offsets(p), p.rows) - 1;
  } else {
    constexpr std::int64_t line = 256;
    sums.statistics_bytes = static_cast<std::size_t>((p.rows * statistics_size * x_bytes + line - 1) / line * line);
    sums.by_vectors = has_column_vectors(p);
    sums.of_few = p.rows <= (sums.by_vectors ? few_rows_by_vectors : few_rows);
    if (sums.of_few && sums.by_vectors) sums.rows_of_slice = p.rows;
  }
  if (!sums.kept && !sums.of_few) {
    const std::int64_t least_rows = sums.by_vectors ? 128 : 64;  // worth a slice
    const std::int64_t blocks_per_sm = sums.by_vectors ? 4 : 8;  // of the kernel over columns
    const std::int64_t groups =
        ceil_div(p.cols, sums.by_vectors ? column_group(element_bytes(p)) : columns_wide * columns_of_lane);
    const std::int64_t wanted = ceil_div(device.sms * blocks_per_sm, groups);
    const std::int64_t slices = std::clamp<std::int64_t>(wanted, 1, ceil_div(p.rows, least_rows));
    sums.rows_of_slice = ceil_div(p.rows, slices);
    sums.slices = ceil_div(p.rows, sums.rows_of_slice);
  }
  sums.bytes = sums.statistics_bytes + static_cast<std::size_t>(sums.slices * 2 * p.cols * x_bytes);
  return sums;
}

// A gradient's footprint with the workspace for these kernels.
inline Footprint with_sums(Footprint launch, const Config& c, const NormProblem& p, const DeviceInfo& device) {
  launch.workspace = sums_plan(c, p, device, launch.grid).bytes;
  return launch;
}

// Adds the time of these kernels to a gradient's model.
inline void add_sums(roofline::Kernel& k, const Config& c, const NormProblem& p, const DeviceInfo& device) {
  if (!wants_sums(p)) return;
  const SumsPlan sums = sums_plan(c, p, device, k.blocks);
  if (sums.direct) return;
  if (sums.beside) {  // a row's loads and its reduction, and those of the rows after it. Estimated.
    const int warps = c.threads / device.warp, sharing = warps_beside(warps, p.rows);
    const double rounds = std::ceil(static_cast<double>(p.rows) / warps),
                 trips = std::ceil(static_cast<double>(vectors(p)) / (device.warp * sharing * vectors_at_once_beside));
    k.serial_us += 0.4 + rounds * (0.6 + 0.5 * (trips - 1));
    return;
  }
  const double slices = static_cast<double>(sums.bytes);
  k.launches += sums.kept || sums.of_few ? 1 : 2;
  k.bytes_written += slices;
  if (!sums.kept) {
    const double again = 2 * elements(p) * static_cast<double>(element_bytes(p));
    if (sums.by_vectors) {
      // dy and x are in the L2 cache as far as they fit there; it starts while the kernel over rows ends.
      constexpr double l2_share = 0.5, in_flight = 4.0 * column_vectors_threads / column_vectors_wide;
      (again < l2_share * static_cast<double>(device.l2_bytes) ? k.l2_bytes : k.bytes_read) += again;
      k.serial_us += 0.7 + device.memory_latency_us * std::ceil(static_cast<double>(sums.rows_of_slice) / in_flight);
    } else {
      k.bytes_read += again;
      const double high = columns_threads / columns_wide * 2.0;  // rows in flight
      k.serial_us += 2 + device.memory_latency_us * static_cast<double>(sums.rows_of_slice) / high;
      // Its lanes load an element at a time. Estimated, for many rows; its code, for fewer, measured on an H200.
      constexpr double element_gbs = 2000;
      k.serial_us += again / element_gbs * 1e-3;
      if (!sums.of_few) add_code(k, 2.8);
    }
  }
  if (sums.of_few && sums.by_vectors) return;
  k.serial_us += 2 * device.memory_latency_us + (device.l2_gbs > 0 ? slices / device.l2_gbs * 1e-3 : 0);
}

}  // namespace ridge::norm_detail
