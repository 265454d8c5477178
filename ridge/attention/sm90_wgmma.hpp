// f16 and bf16 on Hopper's tensor cores, which read shared memory that TMA fills; and the steps of the ladder to it.
#pragma once
#include <ridge/attention/parts.hpp>

namespace ridge::attention_kernels {

// Whether variable-length sequences are taken. The row with four consumers, steps, and rows that split keys have no
// instance for them.
constexpr bool wgmma_takes_lengths(const Config& c) { return c.bm < 256 && !is_step(c) && !c.split; }

// Whether a mask tensor is taken, and scores of any scale and cap. Steps and rows that split keys have no instance for
// it, nor have rows with more than two consumers, which have no registers left for it.
constexpr bool wgmma_takes_masks(const Config& c) { return c.bm <= 128 && !is_step(c) && !c.split; }

// Q, `stages` of K [bn][d] and V [bn][dv], and barriers. One warpgroup is the producer, the consumers have 64 queries
// each.
constexpr int wgmma_barrier_bytes(const Config& c) {
  return c.bm / 64 * 4 * 8 + c.stages * (5 * 8 + 4) + c.stages % 2 * 4;
}
constexpr int wgmma_tile_bytes(const Config& c) {
  return mma_q_bytes(c) + c.stages * (mma_tile_bytes(c.bn, c.d) + mma_tile_bytes(c.bn, c.dv)) + wgmma_barrier_bytes(c);
}
// O leaves through a staging buffer, so that the next tile of queries can be loaded meanwhile; it has as many columns
// as fit.
constexpr int wgmma_o_columns(const Config& c) {
  int columns = c.dv;
  while (columns > panel && wgmma_tile_bytes(c) + mma_tile_bytes(c.bm, columns) > hopper_smem(c)) do
      columns -= panel;
    while (c.dv % columns != 0);
  return columns;
}
constexpr int wgmma_o_bytes(const Config& c) { return mma_tile_bytes(c.bm, wgmma_o_columns(c)); }
constexpr int wgmma_bytes(const Config& c) { return wgmma_tile_bytes(c) + wgmma_o_bytes(c); }
// A tile of a mask, [bm][bn] of the tensors' type, behind the staging buffer: if it fits, and all consumers have the
// same tiles. The room is for one of float32, if that fits too.
constexpr int wgmma_mask_bytes(const Config& c) { return mma_tile_bytes(c.bm, c.bn); }
constexpr bool loads_masks(const Config& c) {
  return wgmma_takes_masks(c) && c.bm <= c.bn && wgmma_bytes(c) + wgmma_mask_bytes(c) <= hopper_smem(c);
}
constexpr bool loads_float_masks(const Config& c) {
  // With three blocks on a multiprocessor, registers spill.
  return loads_masks(c) && c.blocks_per_sm <= 2 && wgmma_bytes(c) + 2 * wgmma_mask_bytes(c) <= hopper_smem(c);
}
constexpr int wgmma_mask_room(const Config& c) { return (loads_float_masks(c) ? 2 : 1) * wgmma_mask_bytes(c); }

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail::wgmma {

inline std::string fits(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p, Computes::outputs); !why.empty()) return why;
  if (std::string why = refuse_other_than_hopper(device, "tensor cores' instructions"); !why.empty()) return why;
  if ((p.cu_k ? p.total_k : p.sk) == 0) return "there are no keys, and TMA reads no empty tensor";
  if (p.dv * 2 % 16 != 0)
    return "TMA stores rows of O whose bytes are a multiple of 16, and dv is " + std::to_string(p.dv);
  if (std::string why = refuse_without_vectors({&p.q, &p.k, &p.v, &p.o}, p, "TMA takes"); !why.empty()) return why;
  if (std::string why = wgmma_takes_masks(c) ? "" : refuse_masks(p); !why.empty()) return why;
  if (!wgmma_takes_masks(c) && c.schedule != Schedule::alone && !has_lengths(p) && !scores_are_products(p))
    return "its scores are products times a positive scale, without a cap";
  if (std::string why = refuse_pages(p); !why.empty()) return why;
  if (std::string why = wgmma_takes_lengths(c) ? "" : refuse_lengths(p); !why.empty()) return why;
  if (std::string why = refuse_grid(c, p); !why.empty()) return why;
  if (c.split && kv_splits_of(row, p, device) == 1)
    return "its blocks take parts of the keys, and tiles of queries fill the device, or keys no two parts";
  return refuse_smem(wgmma_bytes(c), device);
}

// One block per tile of queries and split; persistent blocks take the tiles from WgmmaTileScheduler.
inline Footprint footprint(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const int splits = kv_splits_of(row, p, device);
  return footprint_of(row.config, blocks_of(row.config, p) * splits, wgmma_bytes(row.config),
                      bytes_of_parts(row, p, splits));
}

// Tensor cores compute whole tiles of keys. At each edge of a mask (a window has two), half a tile is wasted, and a
// tile's scores are masked one by one and its values checked, which takes half as long again. The table's efficiencies
// are without a mask.
inline roofline::Kernel model(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const int edges = (p.rule.right >= 0) + has_far_edge(p);
  const Products products{
      .rows = c.bm, .columns = multiply_adds(p, c.d, c.dv), .tflops = device.fp16_tflops, .edge_keys = edges * c.bn};
  const int splits = kv_splits_of(row, p, device);
  roofline::Kernel k = kernel_of(row, p, footprint(row, p, device), products, device, splits);
  add_parts(k, p, splits);
  k.launches = splits > 1 ? 2 : 1;
  if (splits > 1) k.serial_us += merge_us;
  if (const double rate = rate_of(products, device); rate > 0) {
    // Prologue and epilogue of a tile: measured on an H200, like efficiencies; where other blocks of the multiprocessor
    // overlap them, fitted to which row is faster.
    const double tile_clocks = c.blocks_per_sm == 1 ? 4000 : 3500.0 / c.blocks_per_sm;
    // Every tile is an edge; where threads read a mask of float32, pair by pair, they wait for it (estimated). One row
    // for all queries has few elements (estimated too).
    const bool is_row = p.mask != AttentionMask::none && p.mask_layout->row == 0 && p.sq > 1;
    const bool reads_floats = p.mask_dtype == f32 && !loads_float_masks(c);
    const double masked = p.mask == AttentionMask::none ? 1 : is_row ? 1.25 : reads_floats ? 3 : 1.5;
    k.clocks =
        static_cast<double>(p.b * p.hq) * query_tiles(c, p) *
        (keys_met(p, products) * c.bm * products.columns * masked / (rate * row.efficiency) + splits * tile_clocks);
  }
  // An H200's, with a cold cache, beside a chain of the same kernel; half as many scores are half as much code.
  add_code(k, c.bm <= 64 && c.bn <= 64 ? 1.5 : 3.5);
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{{fits, footprint, model, lesson}, kv_splits_of, bytes_of_parts};

}  // namespace ridge::attention_detail::wgmma
