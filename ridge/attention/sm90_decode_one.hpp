// One query per sequence, on Hopper, for f16 and bf16: a producer warp loads, short code multiplies, and the last block
// to arrive merges the splits of the keys.
#pragma once
#include <ridge/attention/decoding.hpp>

namespace ridge::attention_kernels {

// Q [8][d] in panels, a part of each consumer warp, two barriers per tile of the circular buffer, one more, and a flag;
// and last, on a line of 1,024 bytes, the circular buffer of tiles of K [bn][d] and V [bn][dv]. It has as many tiles as
// a problem needs, so that blocks with few keys share a multiprocessor. A part: for each of 8 rows the sum of P and the
// maximum that P is relative to, and then O [rows][dv + pad], not yet normalized. Warps store it in shared memory,
// blocks in the workspace, where `rows` are the existing ones.

constexpr int decode_one_warps(const Config& c) { return c.threads / 32 - 1; }  // consumers; then the producer
constexpr int decode_part_rows(const Config& c, std::int64_t heads) {           // heads: that share K and V
  return heads < c.bm ? static_cast<int>(heads) : c.bm;
}
constexpr int decode_part_floats(const Config& c, int rows) { return 2 * c.bm + rows * (c.dv + pad); }
// Tiles of the largest circular buffer, and its bytes.
constexpr int decode_ring_tiles(const Config& c) { return decode_one_warps(c) * c.stages; }
constexpr int decode_ring_bytes(const Config& c) { return decode_ring_tiles(c) * decode_stage_bytes(c); }
// Bytes before the circular buffer, and of the block with one of `tiles` tiles.
constexpr int decode_ring_at(const Config& c) {
  constexpr int line = 1024;  // of swizzled tiles
  const int bytes = mma_tile_bytes(c.bm, c.d) + decode_one_warps(c) * decode_part_floats(c, c.bm) * 4 +
                    (2 * decode_ring_tiles(c) + 1) * 8 + 8;
  return (bytes + line - 1) / line * line;
}
constexpr int decode_one_bytes(const Config& c, int tiles) { return decode_ring_at(c) + tiles * decode_stage_bytes(c); }
// Largest number of splits: the last block merges them in place of the largest circular buffer.
constexpr int decode_most_parts(const Config& c) { return decode_ring_bytes(c) / (decode_part_floats(c, c.bm) * 4); }

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail::decode_one {

// Keys that the query attends to, where all sequences have one length, without the mask tensor.
struct KeyRange {
  std::int64_t first, last;  // one past
  constexpr std::int64_t count() const { return last - first; }
};
constexpr KeyRange keys_of(const AttentionProblem& p) {
  const AttentionRule& r = p.rule;
  const std::int64_t at = r.align == AttentionAlign::lower_right ? p.sk - 1 : 0;  // the query's position
  return {r.left < 0 || r.left >= at ? 0 : at - r.left, r.right < 0 || r.right >= p.sk - at ? p.sk : at + r.right + 1};
}

// Refuses what the kernel leaves out for the sake of short code.
inline std::string refuse_rule(const AttentionProblem& p) {
  if (p.cu_q || p.cu_k) return "it takes no packed sequences";
  if (p.block_table) return "it finds no keys in pages";
  if (p.sq != 1) return "it takes one query, and there are " + std::to_string(p.sq);
  // With lengths, the keys of a window would begin at another key in each sequence.
  const bool is_before =
      p.rule.right < 0 || p.rule.align == AttentionAlign::lower_right;  // at the end it leaves out no key
  if (p.lengths && (p.rule.left >= 0 || !is_before)) return "of uneven lengths it takes no window";
  if (p.rule.softcap != 0) return "it takes no softcap";
  if (p.rule.scale && !(*p.rule.scale > 0)) return "the scale it takes is positive";
  return {};
}

inline std::string fits(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p, Computes::outputs); !why.empty()) return why;
  if (std::string why = refuse_other_than_hopper(device, "TMA"); !why.empty()) return why;
  if (std::string why = refuse_rule(p); !why.empty()) return why;
  if (p.d % 8 != 0 || p.dv % 4 != 0)
    return "it takes columns of Q by 8 and of O by 4, and d is " + std::to_string(p.d) + ", dv " + std::to_string(p.dv);
  if (keys_of(p).count() <= 0) return "its query attends to no key";
  if (p.b > max_grid_z) return "more than " + std::to_string(max_grid_z) + " sequences";
  if (std::string why = refuse_without_vectors({&p.q, &p.k, &p.v, &p.o}, p, "it reads"); !why.empty()) return why;
  if (std::string why = refuse_masks(p); !why.empty()) return why;
  if (std::string why = refuse_grid(c, p); !why.empty()) return why;
  return refuse_smem(decode_one_bytes(c, decode_ring_tiles(c)), device);
}

// Tiles of the circular buffer. Splits are merged in its place, and one block per multiprocessor takes all that it has.
// More blocks than multiprocessors share them, up to Config::blocks_per_sm: each begins while others wait for their
// keys, and together they have as many bytes in flight as one would have. A warp has stages of its own, so that a
// buffer that is filled again has as many for each.
inline int ring_tiles(const Config& c, const AttentionProblem& p, const DeviceInfo& device, int parts) {
  const int most = decode_ring_tiles(c), warps = decode_one_warps(c);
  if (parts > 1) return most;
  const int tiles = static_cast<int>(std::min<std::int64_t>(ceil_div(keys_of(p).count(), c.bn), most));
  for (std::int64_t sharing =
           std::min<std::int64_t>(ceil_div(blocks_of(c, p), std::max(device.sms, 1)), c.blocks_per_sm);
       sharing > 1; --sharing) {
    const int room = device.smem_per_sm / static_cast<int>(sharing) - device.smem_reserved - decode_ring_at(c);
    const int fit = room / decode_stage_bytes(c);
    if (fit >= tiles) return tiles;
    if (fit >= warps) return fit / warps * warps;
  }
  return tiles;
}

inline int splits(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  return decoding::splits_of(decode_one_warps(c), decode_most_parts(c), blocks_of(c, p), device.sms,
                             ceil_div(keys_of(p).count(), c.bn));
}

// Parts, and an arrival counter per block.
inline std::size_t workspace(const Variant& row, const AttentionProblem& p, int splits) {
  const Config& c = row.config;
  if (splits == 1) return 0;
  const int part_floats = decode_part_floats(c, decode_part_rows(c, pack_of(c, p)));
  return static_cast<std::size_t>(blocks_of(c, p) * (splits * part_floats * 4 + 8));
}

inline Footprint footprint_in(int parts, const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  return footprint_of(c, blocks_of(c, p) * parts, decode_one_bytes(c, ring_tiles(c, p, device, parts)),
                      workspace(row, p, parts));
}
inline Footprint footprint(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  return footprint_in(splits(row, p, device), row, p, device);
}

inline roofline::Kernel model(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const int parts = splits(row, p, device);
  constexpr double block_overhead_us = 2;  // measured on an H100
  roofline::Kernel k = decoding::kernel_of(row, p, footprint_in(parts, row, p, device), device, parts,
                                           decode_one_warps(c), block_overhead_us);
  // Measured on an H200: only the producer waits, so that memory's reading rate is what counts; with splits, the last
  // block to arrive merges them alone.
  constexpr double parts_us = 1.4;
  k.overlap = 8;
  k.memory_share = 0.98;
  // Missing columns leave less of the circular buffer for the others: measured on an H100 with half of them.
  constexpr double of_empty_ring = 0.2;
  k.memory_share *= 1 - of_empty_ring * (1 - static_cast<double>(p.d + p.dv) / (c.d + c.dv));
  if (parts > 1) k.serial_us = parts_us;
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{{fits, footprint, model, lesson}, splits, workspace};

}  // namespace ridge::attention_detail::decode_one
