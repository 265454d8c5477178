// What several families require of a problem's rows, and the start of their models.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/core/vector_access.hpp>
#include <ridge/norm/variants.hpp>
#include <ridge/roofline/family.hpp>
#include <ridge/tile/l2_prefetch.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace ridge::norm_detail {

using Family = roofline::Family<Variant, NormProblem>;
using roofline::Footprint;
using roofline::refuse_smem;

// What a pass over rows computes: y; y and the sum x + residual; or dx.
enum class Use : std::uint8_t { plain, added, gradient };
constexpr Use use_of(const NormProblem& p) { return p.backward ? Use::gradient : p.added ? Use::added : Use::plain; }

inline bool is_empty(const NormProblem& p) { return p.rows == 0 || p.cols == 0; }
inline bool is_two_float(const NormProblem& p) { return p.accumulate == Accumulate::two_float; }

inline std::int64_t element_bytes(const NormProblem& p) { return static_cast<std::int64_t>(size_of(p.dtype)); }
inline double row_bytes(const NormProblem& p) {
  return static_cast<double>(p.cols) * static_cast<double>(element_bytes(p));
}
inline double elements(const NormProblem& p) { return static_cast<double>(p.rows) * static_cast<double>(p.cols); }
inline int tensors_kept(const NormProblem& p) { return p.backward ? 2 : 1; }  // x; x and dy

// Whether y is x times a factor of the row and one of the column, or dx and dgamma are of such a y.
inline bool is_scaled(const NormProblem& p) { return p.norm == Norm::rms && !(p.backward ? p.dbeta : p.beta); }

// Whole vectors of a row that starts on a boundary, the most of any row.
inline std::int64_t vectors(const NormProblem& p) { return p.cols / (vector_bytes / element_bytes(p)); }

// The number of alignment offsets at which rows start, in turn.
inline std::int64_t alignment_offsets(const NormProblem& p) {
  const std::int64_t pitch = (*p.row_layouts)[0].pitch() * element_bytes(p);
  return p.rows <= 1 ? 1 : vector_bytes / std::gcd<std::int64_t>(vector_bytes, pitch);
}

// Blocks, or clusters, with rows_per_block() rows each.
inline std::int64_t blocks_of(const Config& c, const NormProblem& p) {
  return is_empty(p) ? 0 : ceil_div(p.rows, rows_per_block(c));
}

// The prefetch distance in rows, for blocks of one row. 0 with a residual: two rows read and two written leave the L2
// cache no room, and prefetching was 2 to 6 % slower.
inline std::int64_t prefetch_distance(const Config& c, const NormProblem& p, const DeviceInfo& device) {
  if (p.added || rows_per_block(c) > 1) return 0;
  return tile::prefetch_distance(device, c.threads, p.cols * element_bytes(p));
}

// ---- refusals that families share; empty: none

inline std::string refuse_two_float(const Config& c, const NormProblem& p) {
  return is_two_float(p) && !c.two_float ? "it has no sums in two floats" : "";
}

inline std::string refuse_f64(const NormProblem& p) {
  return p.dtype == f64 ? "f64 has no 16-byte row of this kind" : "";
}

// Rows of all tensors must be contiguous, evenly spaced and co-aligned: their vectors start at the same elements.
inline std::string refuse_layouts(const NormProblem& p) {
  const Rows& x = (*p.row_layouts)[0];
  for (const Rows& rows : *p.row_layouts) {
    if (rows.step != 1) return "a row's elements are not contiguous";
    if (rows.outer.rank > 1) return "rows are not evenly spaced";
    if (rows.alignment_offset != x.alignment_offset ||
        (rows.pitch() - x.pitch()) * element_bytes(p) % vector_bytes != 0)
      return "rows of the tensors start at different distances from 16-byte boundaries";
  }
  return p.parameters_contiguous ? "" : "gamma, beta or a gradient of them is not contiguous";
}

inline std::string refuse_partial_vectors(const NormProblem& p) {
  if (p.cols % (vector_bytes / element_bytes(p)) != 0 || (*p.row_layouts)[0].alignment_offset != 0 ||
      alignment_offsets(p) > 1)
    return "rows are not of whole 16-byte vectors, from a boundary on";
  return {};
}

inline std::string refuse_longer(const NormProblem& p, std::int64_t kept) {
  if (vectors(p) <= kept) return {};
  return "a row has " + std::to_string(vectors(p)) + " vectors of 16 bytes, and " + std::to_string(kept) + " are kept";
}

// A cluster lies within a GPC. No GPC is guaranteed to have room for more than 8 blocks of a multiprocessor each; those
// of an H100 and an H200 have room for 16 and more, those of smaller parts may not.
inline std::string refuse_wide_cluster(const Config& c, const DeviceInfo& device) {
  constexpr int portable_cluster = 8, wide_clusters_from_sms = 100;
  if (c.cluster <= portable_cluster || device.sms >= wide_clusters_from_sms) return {};
  return "clusters of " + std::to_string(c.cluster) + " blocks are for devices of " +
         std::to_string(wide_clusters_from_sms) + " multiprocessors and more";
}

// For rows that a cluster may share.
inline std::string refuse_cluster(const Config& c, const NormProblem& p, const DeviceInfo& device) {
  if (c.cluster == 1) return {};
  if (std::string why = refuse_wide_cluster(c, device); !why.empty()) return why;
  if (device.cc != 90) return "clusters are of compute capability 9.0";
  if (vectors(p) >= c.cluster) return {};
  return "a row has " + std::to_string(vectors(p)) + " vectors of 16 bytes for " + std::to_string(c.cluster) +
         " blocks";
}

// ---- models

inline Cost cost(const NormProblem& p) {
  const double n = elements(p), bytes = static_cast<double>(element_bytes(p)), cols = static_cast<double>(p.cols);
  Cost c;
  c.bytes_read = n * bytes * ((p.backward ? 2 : 1) + p.added) + cols * bytes * (p.gamma + p.beta);
  c.bytes_written = n * bytes * (1 + (p.added && !p.backward)) + cols * bytes * (p.dgamma + p.dbeta);
  // Forward: sum; difference, its square and sums; difference, scale, gamma and beta. Backward: the sums of g, and dx.
  const double forward = is_two_float(p) ? p.norm == Norm::rms ? 11 : 18 : 9;  // two_float.cuh
  c.on(p.dtype == f64 ? Unit::fp64 : Unit::fp32) =
      n * (forward + p.added) + (p.backward ? n * (7 + 2 * p.dgamma + p.dbeta) : 0);
  return c;
}

// Clocks of a multiprocessor for 32 elements of a forward pass, beyond what loads hide. With double-floats as fitted to
// an H200.
inline double forward_clocks(const NormProblem& p) {
  if (is_two_float(p)) return p.norm == Norm::rms ? 2.75 : 4.25;
  return p.dtype == f64 ? 40 : 2.5;
}
// Clocks of all passes over `worked_on` elements. conversions: additional clocks for 16-bit elements, which each pass
// converts.
inline double clocks_of(const NormProblem& p, double conversions, double worked_on) {
  return (forward_clocks(p) + conversions) / 32 * (p.backward ? 2 : 1) * worked_on;
}

// The model of a launch that reads each element once; families' models start from it.
inline roofline::Kernel kernel_of(const Footprint& launch, const NormProblem& p) {
  roofline::Kernel k = roofline::kernel_of(launch, cost(p));
  k.clocks = clocks_of(p, 0, elements(p));
  return k;
}

// Families' add_code() says what code adds to a launch beyond the families with the least of it: measured on an H200
// with few rows, after other code had run (bench/results/h200/norm_variants.json).

// Adds the bytes of rows that are read again, `times` times: from the L1 cache, the L2 cache or memory, the first in
// which the rows in flight fit.
inline void read_again(roofline::Kernel& k, double times, const Config& c, const NormProblem& p,
                       const DeviceInfo& device) {
  const double per_sm = std::min(static_cast<double>(roofline::occupancy(device, k.block).blocks),
                                 std::ceil(static_cast<double>(k.blocks) / device.sms));
  const double under_way = per_sm * static_cast<double>(rows_per_block(c)) * row_bytes(p) * tensors_kept(p);
  const double again = times * elements(p) * static_cast<double>(element_bytes(p)) * tensors_kept(p);
  constexpr double l2_share = 0.3;  // of the cache, for the input: as much is output, and its halves keep copies
  if (again > 0 && under_way * device.sms > l2_share * static_cast<double>(device.l2_bytes)) k.bytes_read += again;
  else if (under_way > device.smem_per_sm) k.l2_bytes = again;
}

}  // namespace ridge::norm_detail
