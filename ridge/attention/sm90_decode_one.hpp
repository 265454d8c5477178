// One query of each sequence, on Hopper, of f16 and bf16: a warp loads, little code multiplies, and the block that is
// the last to arrive brings parts of the keys together.
#pragma once
#include <ridge/attention/decoding.hpp>

namespace ridge::attention_kernels {

// Q [8][d] in panels, a ring of tiles of K [bn][d] and V [bn][dv], a part of each multiplying warp, and two barriers
// for each tile of the ring, one, and a mark.
// A part: of each of 8 rows the weights' sum and the score that they are relative to, and then O [rows][dv + pad], not
// yet divided by the sum. Warps leave it in shared memory, blocks in the workspace, where `rows` are those that there
// are.

constexpr int decode_one_warps(const Config& c) { return c.threads / 32 - 1; }  // that multiply; the last one loads
constexpr int decode_part_rows(const Config& c, std::int64_t heads) {           // of heads that share K and V
  return heads < c.bm ? static_cast<int>(heads) : c.bm;
}
constexpr int decode_part_floats(const Config& c, int rows) { return 2 * c.bm + rows * (c.dv + pad); }
constexpr int decode_ring_tiles(const Config& c) { return decode_one_warps(c) * c.stages; }
constexpr int decode_ring_bytes(const Config& c) { return decode_ring_tiles(c) * decode_stage_bytes(c); }
constexpr int decode_one_bytes(const Config& c) {
  return mma_tile_bytes(c.bm, c.d) + decode_ring_bytes(c) + decode_one_warps(c) * decode_part_floats(c, c.bm) * 4 +
         (2 * decode_ring_tiles(c) + 1) * 8 + 8;
}
// Parts that there is room for where they are brought together, in the ring's place.
constexpr int decode_most_parts(const Config& c) { return decode_ring_bytes(c) / (decode_part_floats(c, c.bm) * 4); }

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail::decode_one {

// Keys that the query attends to, where all sequences are of one length; but for the mask tensor.
struct KeyRange {
  std::int64_t first, last;  // one past
  constexpr std::int64_t count() const { return last - first; }
};
constexpr KeyRange keys_of(const AttentionProblem& p) {
  const AttentionRule& r = p.rule;
  const std::int64_t at = r.align == AttentionAlign::lower_right ? p.sk - 1 : 0;  // the key that it stands at
  return {r.left < 0 || r.left >= at ? 0 : at - r.left, r.right < 0 || r.right >= p.sk - at ? p.sk : at + r.right + 1};
}

// Of what it leaves out for the sake of its code.
inline std::string refuse_rule(const AttentionProblem& p) {
  if (p.cu_q || p.cu_k) return "it takes no packed sequences";
  if (p.block_table) return "it finds no keys in pages";
  if (p.sq != 1) return "it takes one query, and there are " + std::to_string(p.sq);
  // Of uneven lengths the keys of a window would begin at another one in each sequence.
  const bool is_before = p.rule.right < 0 || p.rule.align == AttentionAlign::lower_right;  // all of its keys
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
  constexpr std::int64_t most = 65535;  // blocks in z
  if (p.b > most) return "more than 65535 sequences";
  if (std::string why = refuse_without_vectors({&p.q, &p.k, &p.v, &p.o}, p, "it reads"); !why.empty()) return why;
  if (std::string why = refuse_masks(p); !why.empty()) return why;
  if (std::string why = refuse_grid(c, p); !why.empty()) return why;
  return refuse_smem(decode_one_bytes(c), device);
}

inline int splits(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  return decoding::splits_of(decode_one_warps(c), decode_most_parts(c), blocks_of(c, p), places_of(c, device),
                             ceil_div(keys_of(p).count(), c.bn));
}

// Parts, and a word of each block.
inline std::size_t workspace(const Variant& row, const AttentionProblem& p, int splits) {
  const Config& c = row.config;
  if (splits == 1) return 0;
  const int part_floats = decode_part_floats(c, decode_part_rows(c, pack_of(c, p)));
  return static_cast<std::size_t>(blocks_of(c, p) * (splits * part_floats * 4 + 8));
}

inline Footprint footprint_in(int parts, const Variant& row, const AttentionProblem& p) {
  const Config& c = row.config;
  return footprint_of(c, blocks_of(c, p) * parts, decode_one_bytes(c), workspace(row, p, parts));
}
inline Footprint footprint(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  return footprint_in(splits(row, p, device), row, p);
}

inline roofline::Kernel model(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const int parts = splits(row, p, device);
  constexpr double ends_us = 2;  // measured on an H100
  roofline::Kernel k =
      decoding::kernel_of(row, p, footprint_in(parts, row, p), device, parts, decode_one_warps(c), ends_us);
  // Measured on an H200: the warp that loads waits for room alone, so that memory's reading rate is what counts; where
  // there are parts, the block that is the last to arrive has them to itself.
  constexpr double parts_us = 1.4;
  k.overlap = 8;
  k.memory_share = 0.98;
  // Columns that there are not leave less of the ring for those that there are: measured on an H100 with half of them.
  constexpr double of_empty_ring = 0.2;
  k.memory_share *= 1 - of_empty_ring * (1 - static_cast<double>(p.d + p.dv) / (c.d + c.dv));
  if (parts > 1) k.serial_us = parts_us;
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{{fits, footprint, model, lesson}, splits, workspace};

}  // namespace ridge::attention_detail::decode_one
