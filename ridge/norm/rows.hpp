// What several families ask of a problem's rows, and how they begin to model a launch.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/norm/variants.hpp>
#include <ridge/roofline/family.hpp>
#include <ridge/tile/rows_ahead.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace ridge::norm_detail {

using Family = roofline::Family<Variant, NormProblem>;
using roofline::Footprint;
using roofline::refuse_smem;

inline constexpr int vector_bytes = 16;  // the widest access of a thread

// What a pass over rows is for: y, y of a sum that is written too, or dx.
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

// Whole vectors of the longest row: of one that starts on a boundary.
inline std::int64_t vectors(const NormProblem& p) { return p.cols / (vector_bytes / element_bytes(p)); }

// Different places of a vector where rows start, one after the other.
inline std::int64_t phases_of(const NormProblem& p) {
  const std::int64_t pitch = (*p.rows_lie)[0].pitch() * element_bytes(p);
  return p.rows <= 1 ? 1 : vector_bytes / std::gcd<std::int64_t>(vector_bytes, pitch);
}

// Blocks, or clusters of them, that have so many rows each.
inline std::int64_t blocks_of(const Config& c, const NormProblem& p) {
  return is_empty(p) ? 0 : ceil_div(p.rows, rows_per_block(c));
}

// How many rows ahead of a block's own the next one is prefetched to the L2 cache, where rows are in a block alone. Not
// so with a residual: two rows read and two written leave the cache no room, and it was 2 to 6 % slower.
inline std::int64_t prefetch_distance(const Config& c, const NormProblem& p, const DeviceInfo& device) {
  if (p.added || rows_per_block(c) > 1) return 0;
  return tile::rows_ahead(device, c.threads, p.cols * element_bytes(p));
}

// ---- refusals that families share; empty: none

inline std::string refuse_two_float(const Config& c, const NormProblem& p) {
  return is_two_float(p) && !c.two_float ? "it has no sums in two floats" : "";
}

inline std::string refuse_f64(const NormProblem& p) {
  return p.dtype == f64 ? "f64 has no 16-byte row of this kind" : "";
}

// Rows of all tensors are to be contiguous, evenly spaced and co-aligned: their vectors start at the same elements.
inline std::string refuse_layouts(const NormProblem& p) {
  const Rows& x = (*p.rows_lie)[0];
  for (const Rows& rows : *p.rows_lie) {
    if (rows.step != 1) return "a row's elements are not contiguous";
    if (rows.outer.rank > 1) return "rows are not evenly spaced";
    if (rows.phase != x.phase || (rows.pitch() - x.pitch()) * element_bytes(p) % vector_bytes != 0)
      return "rows of the tensors start at different distances from 16-byte boundaries";
  }
  return p.vectors_contiguous ? "" : "gamma, beta or a gradient of them is not contiguous";
}

inline std::string refuse_partial_vectors(const NormProblem& p) {
  if (p.cols % (vector_bytes / element_bytes(p)) != 0 || (*p.rows_lie)[0].phase != 0 || phases_of(p) > 1)
    return "rows are not of whole 16-byte units, from a boundary on";
  return {};
}

inline std::string refuse_longer(const NormProblem& p, std::int64_t kept) {
  if (vectors(p) <= kept) return {};
  return "a row has " + std::to_string(vectors(p)) + " units of 16 bytes, and " + std::to_string(kept) + " are kept";
}

// A cluster lies within a GPC. More than 8 blocks, of a multiprocessor each, are promised by none; those of an H100 and
// of an H200 have 16 and more, and those of smaller parts may not.
inline std::string refuse_wide_cluster(const Config& c, const DeviceInfo& device) {
  constexpr int portable_cluster = 8, wide_clusters_from_sms = 100;
  if (c.cluster <= portable_cluster || device.sms >= wide_clusters_from_sms) return {};
  return "clusters of " + std::to_string(c.cluster) + " blocks are for devices of " +
         std::to_string(wide_clusters_from_sms) + " multiprocessors and more";
}

// Of rows that a cluster may share.
inline std::string refuse_cluster(const Config& c, const NormProblem& p, const DeviceInfo& device) {
  if (c.cluster == 1) return {};
  if (std::string why = refuse_wide_cluster(c, device); !why.empty()) return why;
  if (device.cc != 90) return "clusters are of compute capability 9.0";
  if (vectors(p) >= c.cluster) return {};
  return "a row has " + std::to_string(vectors(p)) + " units of 16 bytes for " + std::to_string(c.cluster) + " blocks";
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

// Clocks of a multiprocessor for 32 elements of a forward pass, beyond what loads hide.
// In two floats as fitted to an H200.
inline double forward_clocks(const NormProblem& p) {
  if (is_two_float(p)) return p.norm == Norm::rms ? 2.75 : 4.25;
  return p.dtype == f64 ? 40 : 2.5;
}
// Of all passes over so many elements. conversions: clocks more, of 16-bit elements that each pass converts.
inline double clocks_of(const NormProblem& p, double conversions, double worked_on) {
  return (forward_clocks(p) + conversions) / 32 * (p.backward ? 2 : 1) * worked_on;
}

// A launch that reads each element once: what a family's model begins with.
inline roofline::Kernel kernel_of(const Footprint& launch, const NormProblem& p) {
  roofline::Kernel k = roofline::kernel_of(launch, cost(p));
  k.clocks = clocks_of(p, 0, elements(p));
  return k;
}

// Rows are read again, `times`. They come from where those under way fit: beside shared memory, in the L2 cache, in
// memory.
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
