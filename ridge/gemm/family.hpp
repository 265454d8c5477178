// A family of GEMM kernels, as a plan sees it: the functions that the table's rows of these kernels share, and what
// all families refuse.
#pragma once
#include <ridge/gemm/model.hpp>
#include <ridge/gemm/repack.hpp>
#include <ridge/gemm/variants.hpp>
#include <ridge/roofline/family.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace ridge::gemm_detail {

// The resources of a launch, and its tiles of D.
struct Footprint {
  roofline::Footprint launch;
  std::int64_t tiles = 0;                        // blocks for one matrix, or for all groups; 0: nothing is launched
  std::int64_t tile_rows = 0, tile_columns = 0;  // of D in a tile, or in those of a cluster
  double trip_bytes = 0;                         // that a block has in flight
};

struct KernelFamily {
  // Why the row cannot run the problem on this device; empty: it can.
  std::string (*fits)(const Variant&, const GemmProblem&, const DeviceInfo&);
  // Preconditions of the functions below: the problem comes from with_operands(), and the row fits it.
  Arrangement (*arrange)(const Variant&, const GemmProblem&, const DeviceInfo&);
  Footprint (*footprint)(const Variant&, const GemmProblem&, const DeviceInfo&, const Arrangement&);
  Prediction (*model)(const Variant&, const GemmProblem&, const DeviceInfo&);
  // The item of the textbook's checklist that the row shows; empty: none.
  std::string_view (*lesson)(const Variant&);
  bool slices = false;  // whether slices of k may share a tile's products, through memory
  // How the kernels read operands: some are copied first. Null: all in place.
  Repack (*repack)(const Config&, const GemmProblem&, bool swap_ab) = nullptr;
};

// Of families that run every problem in the same way.
inline Arrangement arrange_alike(const Variant&, const GemmProblem&, const DeviceInfo&) { return {}; }

// ---- the launch

inline std::int64_t tiles_of(const Config& c, const GemmProblem& p) {
  return gemm_kernels::tiles_of(c, {p.m, p.n, p.k, p.batch});
}

inline bool has_no_rows(const GemmProblem& p) { return p.batch == 0 || p.m == 0; }

// Registers per thread under the launch bounds.
inline int registers_of(const Config& c, int threads) { return roofline::registers_for(threads, c.blocks_per_sm); }

// Bytes of all stages of both operands.
inline double stages_bytes(const Config& c, const GemmProblem& p) {
  const double stage = static_cast<double>(c.bm + c.bn) * c.bk * static_cast<double>(size_of(p.dtype));
  return c.stages * stage;
}

// ---- refusals; empty: none

// What the table says of a row.
inline std::string refuse_row(const Variant& row, const GemmProblem& p) {
  const Config& c = row.config;
  if (!row.types.contains(p.dtype)) return "not instantiated for " + std::string(name(p.dtype));
  if (p.grouped != c.grouped)
    return p.grouped ? "it multiplies by one operand B, or by one for each matrix of a batch, and not by groups of rows"
                     : "it is for groups of rows";
  if (p.gate != c.gated) return p.gate ? "it multiplies by one operand B, and not by a gate too" : "it is for a gate";
  if (row.math != GemmMath::exact && row.math != p.scalars.math)
    return "computes as math=" + std::string(name(row.math)) + ", which was not asked for";
  if (c.two_float != is_two_float(p))
    return c.two_float ? "its sums are in two floats, which was not asked for" : "it has no sums in two floats";
  return {};
}
inline std::string refuse_all_but_nn(const Variant& row, const GemmProblem& p) {
  if (!row.nn_only || layout_of(p) == GemmLayout::nn) return {};
  return "shown in layout nn, and this is " + std::string(name(layout_of(p)));
}

inline std::string refuse_before_ampere(const DeviceInfo& device) {
  if (device.cc >= 80) return {};
  return "tensor cores' instructions of compute capability 8.0 and later, and " + device.name + " is another device";
}

inline std::string refuse_tiles(std::int64_t tiles) {
  return tiles > gemm_kernels::max_tiles ? "more than 2^31 - 1 tiles" : "";
}

// For kernels that count along k, and a step beyond it, in 32 bits.
inline std::string refuse_long_k(const Config& c, const GemmProblem& p) {
  if (products(p) <= 0x7fffffff - c.bk) return {};
  return "k is " + std::to_string(p.k) + ", and it counts to 2^31";
}

// A launch of so many tiles and bytes of shared memory, by a kernel that counts along k in 32 bits.
inline std::string refuse_launch(const Config& c, const GemmProblem& p, int smem, const DeviceInfo& device) {
  if (std::string why = refuse_tiles(tiles_of(c, p)); !why.empty()) return why;
  if (std::string why = roofline::refuse_smem(smem, device); !why.empty()) return why;
  return refuse_long_k(c, p);
}

}  // namespace ridge::gemm_detail
