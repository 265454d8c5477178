// The item of the textbook's checklist that a row of the table demonstrates.
#pragma once
#include <ridge/gemm/variants.hpp>

namespace ridge::gemm_detail {

constexpr std::string_view checklist_item(const Variant& row) {
  const Config& c = row.config;
  const bool of_signed_bytes_alone = row.types.bits == DTypes{i8}.bits;
  switch (c.family) {
    case Family::naive: return {};
    case Family::shared: return "tiling";
    case Family::thread_tile:
    case Family::tma_tile: break;  // the same multiply-adds, with operands loaded by a copy engine
    case Family::wmma:
    case Family::mma_sync:
    case Family::wgmma: return "better maths";
    case Family::wgmma_split: return "occupancy";  // split-K: several blocks share a tile's products
  }
  if (of_signed_bytes_alone) return "better maths";  // four products in one instruction
  if (c.bm * c.bn < 128 * 128) return "occupancy";   // more blocks, for matrices with few tiles
  if (c.loads == Loads::strided || c.tm > 8) return "coarsening";
  return c.pipeline == Pipeline::single && !c.conflict_free ? "coalescing" : "tiling";
}

}  // namespace ridge::gemm_detail
