// What several families require of a problem's rows, and the start of their models.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/core/vector_access.hpp>
#include <ridge/roofline/family.hpp>
#include <ridge/softmax/variants.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace ridge::softmax_detail {

using Family = roofline::Family<Variant, SoftmaxProblem>;
using roofline::Footprint;
using roofline::refuse_smem;

inline std::int64_t element_bytes(const SoftmaxProblem& p) { return static_cast<std::int64_t>(size_of(p.dtype)); }
inline double row_bytes(const SoftmaxProblem& p) { return static_cast<double>(p.cols * element_bytes(p)); }

inline bool is_two_float(const SoftmaxProblem& p) { return p.accumulate == Accumulate::two_float; }

// Whole vectors of a row that starts on a boundary, the most of any row.
inline std::int64_t vectors(const SoftmaxProblem& p) { return p.cols / (vector_bytes / element_bytes(p)); }

// Whether the vectors of every row of x and of another tensor start at the same elements.
inline bool co_aligned(const SoftmaxProblem& p, const Rows& other) {
  return p.x->alignment_offset == other.alignment_offset &&
         (p.x->pitch() - other.pitch()) * element_bytes(p) % vector_bytes == 0;
}
inline bool all_co_aligned(const SoftmaxProblem& p) { return co_aligned(p, *p.y) && (!p.dy || co_aligned(p, *p.dy)); }

// ---- refusals that families share; empty: none

inline std::string refuse_strides(const SoftmaxProblem& p) {
  for (const auto* rows : {&p.x, &p.y, &p.dy}) {
    if (*rows && (*rows)->step != 1) return "a row's elements are not contiguous";
    if (*rows && (*rows)->outer.rank > 1) return "rows are not evenly spaced";
  }
  return {};
}

inline std::string refuse_f64(const SoftmaxProblem& p) {
  return p.dtype == f64 ? "f64 has no 16-byte row of this kind" : "";
}

inline std::string refuse_misaligned(const SoftmaxProblem& p) {
  if (p.x->alignment_offset % element_bytes(p) || p.y->alignment_offset % element_bytes(p))
    return "a tensor starts off its own elements' size";
  return {};
}

inline std::string refuse_apart(const SoftmaxProblem& p) {
  if (all_co_aligned(p)) return {};
  return "rows of x and y start at different distances from 16-byte boundaries";
}

inline std::string refuse_longer(std::int64_t vectors, std::int64_t kept) {
  if (vectors <= kept) return {};
  return "a row has " + std::to_string(vectors) + " vectors of 16 bytes, and " + std::to_string(kept) + " are kept";
}

// ---- models

inline Cost cost(const SoftmaxProblem& p) {
  const double n = static_cast<double>(p.rows) * static_cast<double>(p.cols),
               size = static_cast<double>(element_bytes(p));
  Cost c;
  c.bytes_read = (p.backward ? 2 : 1) * n * size;
  c.bytes_written = n * size;
  c.on(Unit::special) = p.backward && !p.log ? 0 : n;  // one exponential
  // Maximum, difference, scale, sum, product; in double-floats an exponential takes 120, a quotient 30, a sum 8.
  c.on(p.dtype == f64 ? Unit::fp64 : Unit::fp32) = (is_two_float(p) ? 160 : 5) * n;
  return c;
}

// The model of a launch that reads each element once; families' models start from it.
inline roofline::Kernel kernel_of(const Variant& row, const Footprint& launch, const SoftmaxProblem& p) {
  roofline::Kernel k = roofline::kernel_of(launch, cost(p));
  k.block_us = row.block_us;
  k.clocks = (p.dtype == f64 ? 40 : 2.5) / 32 * static_cast<double>(p.rows) * static_cast<double>(p.cols);
  return k;
}

// Families' add_code() says what code adds to a launch beyond the families with the least of it: measured on an H200
// with few rows, after other code had run (bench/results/h200/softmax_variants.json).

// Adds the bytes that are read again, `times` times: from the L2 cache if the bytes in flight on the device fit there,
// else from memory.
inline void read_again(roofline::Kernel& k, int times, double under_way, const DeviceInfo& device) {
  const double again = times * k.cost.bytes_read;
  constexpr double l2_share = 0.3;  // of the cache, for the input: as much is output, and its halves keep copies
  if (under_way > l2_share * static_cast<double>(device.l2_bytes)) {
    k.bytes_read += again;
    k.memory_share = 0.93;  // passes of blocks in different places of their rows: measured at 1024x131072
  } else {
    k.l2_bytes = again;
  }
}

// The same for blocks that each have rows of their own, which the L1 cache may hold.
inline void read_again(roofline::Kernel& k, int times, std::int64_t rows_of_block, const SoftmaxProblem& p,
                       const DeviceInfo& device) {
  const double blocks = std::min(static_cast<double>(roofline::occupancy(device, k.block).blocks),
                                 std::ceil(static_cast<double>(k.blocks) / device.sms)),
               of_sm = blocks * static_cast<double>(rows_of_block) * row_bytes(p);
  read_again(k, times, of_sm * device.sms, device);
  if (of_sm <= device.smem_per_sm) k.l2_bytes = 0;
}

inline bool is_empty(const SoftmaxProblem& p) { return p.rows == 0 || p.cols == 0; }

}  // namespace ridge::softmax_detail
