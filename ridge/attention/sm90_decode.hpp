// Few queries against many keys, on Hopper, for f16 and bf16: warps share the keys, each with its own pipeline.
#pragma once
#include <ridge/attention/decoding.hpp>

namespace ridge::attention_kernels {

constexpr int decode_warps(const Config& c) { return c.threads / 32; }
// Q [bm][d] in panels, each warp's `stages` tiles, and a barrier per stage.
constexpr int decode_bytes(const Config& c) {
  const int rings = decode_warps(c) * c.stages;
  return mma_tile_bytes(c.bm, c.d) + rings * decode_stage_bytes(c) + rings * 8;
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail::decode {

inline std::string fits(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p, Computes::outputs); !why.empty()) return why;
  if (std::string why = refuse_other_than_hopper(device, "TMA"); !why.empty()) return why;
  if ((p.block_table ? p.pages : p.cu_k ? p.total_k : p.sk) == 0)
    return "there are no keys, and TMA reads no empty tensor";
  if (p.dv % 4 != 0) return "parts of O have rows of whole 16 bytes, and dv is " + std::to_string(p.dv);
  if (std::string why = refuse_without_vectors({&p.k, &p.v}, p, "TMA takes"); !why.empty()) return why;
  if (std::string why = refuse_masks(p); !why.empty()) return why;
  if (std::string why = refuse_grid(c, p); !why.empty()) return why;
  return refuse_smem(decode_bytes(c), device);
}

inline int splits(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  constexpr std::int64_t most_parts = 256;
  return decoding::splits_of(decode_warps(c), most_parts, blocks_of(c, p), places_of(c, device), ceil_div(p.sk, c.bn));
}

inline Footprint footprint_in(int parts, const Variant& row, const AttentionProblem& p) {
  const Config& c = row.config;
  return footprint_of(c, blocks_of(c, p) * parts, decode_bytes(c), bytes_of_parts(row, p, parts));
}
inline Footprint footprint(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  return footprint_in(splits(row, p, device), row, p);
}

inline roofline::Kernel model(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const int parts = splits(row, p, device);
  constexpr double block_overhead_us = 8;  // measured on an H200, with windows
  roofline::Kernel k =
      decoding::kernel_of(row, p, footprint_in(parts, row, p), device, parts, decode_warps(c), block_overhead_us);
  k.launches = parts > 1 ? 2 : 1;
  // With few keys, fetching the code dominates: of parts of wide heads, the code of two kernels. An H200's, with a cold
  // cache.
  constexpr double few_keys_us = 2, parts_of_wide_heads_us = 9;
  k.serial_us = parts == 1 ? few_keys_us : c.d > 128 ? parts_of_wide_heads_us : 0;
  // It is not made for many tiles of queries, each of which goes through all keys alone: measured on an H100 with 197
  // of both.
  constexpr double many_tiles_us = 7;
  if (query_tiles(c, p) > 1 && parts == 1) k.block_us += many_tiles_us;
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{{fits, footprint, model, lesson}, splits, bytes_of_parts};

}  // namespace ridge::attention_detail::decode
