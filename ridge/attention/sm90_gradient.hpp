// Gradients of f16 and bf16 on Hopper's tensor cores: a block owns bm keys for some of the heads that share them, and
// adds to dQ.
#pragma once
#include <ridge/attention/gradient.hpp>

namespace ridge::attention_kernels {

// K [bm][d] and V [bm][dv]; stages of Q [bn][d], dO [bn][dv] and dS [bm][bn], all in panels, and of two floats per
// query; dQ [bn][d] in float32; a tile of the mask. Where consumers are specialized (sm90_gradient_wide.cuh) dQ leaves
// from registers, and dS, which takes P's place, has more stages.

// One tile of dQ is added while the other is filled; a mask takes the place of the second one.
constexpr int gradient_dq_stages(const Config& c) { return c.masks ? 1 : 2; }
// With specialized consumers, stages let a block compute ahead while it waits. A mask takes the last stage's place.
constexpr int gradient_ds_stages(const Config& c) { return c.masks ? 3 : 4; }
constexpr bool specializes_consumers(const Config& c) { return c.bm == 64; }
// Semaphores per tile of dQ: the next block begins when the first part of the tile has been added.
constexpr int gradient_semaphores_of_tile(const Config& c) { return specializes_consumers(c) ? 2 : 1; }
inline constexpr int mask_copy_vector = 8;  // rows of a mask's copy are aligned to 16 bytes in 16 bits, as TMA asks
constexpr int wgmma_gradient_barrier_bytes(const Config& c) {
  return specializes_consumers(c) ? (5 + c.stages * 4) * 8 + 6 * 4 : 3 * 8 + c.stages * (6 * 8 + 4) + 2 * 4;
}
// A tile of the mask tensor, [bn][bm] of the 16-bit type. One of float32 takes the place of a stage of dS too, except
// where consumers are specialized: there threads read it.
constexpr int gradient_mask_bytes(const Config& c) { return c.masks ? mma_tile_bytes(c.bn, c.bm) : 0; }
constexpr int wgmma_gradient_bytes(const Config& c) {
  const int ds_stages = specializes_consumers(c) ? gradient_ds_stages(c) : c.stages;
  const int dq_stages = specializes_consumers(c) ? 0 : gradient_dq_stages(c);
  return mma_tile_bytes(c.bm, c.d) + mma_tile_bytes(c.bm, c.dv) +
         c.stages * (mma_tile_bytes(c.bn, c.d) + mma_tile_bytes(c.bn, c.dv) + c.bn * 8) +
         ds_stages * mma_tile_bytes(c.bm, c.bn) + dq_stages * c.bn * c.d * 4 + gradient_mask_bytes(c) +
         wgmma_gradient_barrier_bytes(c);
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail::wgmma_gradient {

// The mask tensor as the kernel reads it. One that TMA cannot load, or with one row for all queries, is copied first:
// boolean elements as 0 and -inf, broadcast axes once, and a row that all queries share as often as a tile has queries.
// Where consumers are specialized, threads read a mask of float32 as it is.
struct MaskShape {
  bool is_copied;
  std::int64_t batch, heads, rows, columns;  // of the copy
  int element_bytes;
  constexpr std::int64_t elements() const { return is_copied ? batch * heads * rows * columns : 0; }
  constexpr std::int64_t bytes() const { return elements() * element_bytes; }
};
constexpr MaskShape mask_shape(const Config& c, const AttentionProblem& p) {
  if (p.mask == AttentionMask::none) return {};
  const AttentionOperand& m = *p.mask_layout;
  const bool in_f32 = p.mask_dtype == f32, reads_floats = in_f32 && specializes_consumers(c);
  const bool is_copied = !reads_floats && (p.mask_dtype == boolean || m.row == 0 || !has_vectors(m, p.mask_dtype));
  return {.is_copied = is_copied,
          .batch = m.batch != 0 ? p.b : 1,
          .heads = m.head != 0 ? p.hq : 1,
          .rows = m.row != 0 ? p.sq : c.bn,
          .columns = ceil_div(p.sk, mask_copy_vector) * mask_copy_vector,
          .element_bytes = in_f32 ? 4 : 2};
}

// Workspace, in this order: dQ in float32, or one for each tile of keys; statistics and bases of queries, for whole
// tiles of queries; the copy of a mask; dK and dV of each part in float32, where a group of heads has several;
// semaphores of each tile, and the block counter.
struct WorkspaceParts {
  std::int64_t tiles, dq_accum, stats, bases, mask, partial_k, partial_v, words;  // tiles: with bn queries each
  std::int64_t bytes() const { return dq_accum + stats + bases + mask + partial_k + partial_v + words; }
};
// What one of a group's `parts` parts has: some of its query heads; or, with more parts than heads, one of
// `query_parts` ranges of one head's queries.
struct PartOfGroup {
  std::int64_t heads, query_parts;
};
constexpr PartOfGroup part_of_group(const AttentionProblem& p, int parts) {
  const std::int64_t group = p.hkv == 0 ? 1 : p.hq / p.hkv;
  if (parts <= std::max<std::int64_t>(group, 1)) return {group / parts, 1};
  return {1, parts / group};
}
// Blocks of one head follow one another that far apart when they add to dQ; estimated.
inline constexpr double addition_us = 1;
// parts: of a group of heads
constexpr WorkspaceParts workspace_parts(const Config& c, const AttentionProblem& p, int parts) {
  const std::int64_t tiles = ceil_div(p.sq, c.bn), all = p.b * p.hq * tiles;
  const std::int64_t partial_rows = parts > 1 ? p.b * p.hkv * parts * p.sk : 0;
  return {.tiles = tiles,
          .dq_accum = all * c.bn * c.d * 4,
          .stats = all * c.bn * 8,
          .bases = all * c.bn * 4,
          .mask = mask_shape(c, p).bytes(),
          .partial_k = partial_rows * c.d * 4,
          .partial_v = partial_rows * c.dv * 4,
          .words = (all * gradient_semaphores_of_tile(c) + 1) * 4};
}

inline std::string refuse_mask(const Config& c, const AttentionProblem& p) {
  if (!c.masks) return {};
  return p.mask == AttentionMask::none ? "it is for mask tensors" : "";
}

inline std::string fits(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p, Computes::gradients); !why.empty()) return why;
  if (std::string why = refuse_mask(c, p); !why.empty()) return why;
  if (std::string why = refuse_other_than_hopper(device, "tensor cores' instructions"); !why.empty()) return why;
  if (p.d % 8 != 0 || p.dv % 8 != 0)
    return "TMA stores rows whose bytes are a multiple of 16, and d is " + std::to_string(p.d) + ", dv " +
           std::to_string(p.dv);
  if (std::string why =
          refuse_without_vectors({&p.q, &p.k, &p.v, &p.o, &p.grad_o, &p.grad_q, &p.grad_k, &p.grad_v}, p, "TMA takes");
      !why.empty())
    return why;
  if (std::string why = c.masks ? "" : refuse_masks(p); !why.empty()) return why;
  if (std::string why = refuse_pages(p); !why.empty()) return why;
  if (std::string why = refuse_lengths(p); !why.empty()) return why;
  if (std::string why = refuse_grid(c, p); !why.empty()) return why;
  return refuse_smem(wgmma_gradient_bytes(c), device);
}

// ---- parts of a group of heads: with few key heads, blocks that go through all query heads of a group are too few for
// the device, or the longest of them ends last of all. Each part has blocks, and partial dK and dV, of its own. Where
// even a block for each query head is too few, as with few keys, a head's queries are split too.

// Steps are tiles of queries of one head with a tile of keys.
struct Steps {
  double longest, mean;  // of a block; the mean is less than the longest because of masks
  double launch;         // from the first block's begin to the last one's end
};
// Precondition: there are key heads.
inline Steps steps_of(const Config& c, const AttentionProblem& p, const DeviceInfo& device, int parts) {
  const double share = share_of_pairs(p);
  const auto [heads, query_parts] = part_of_group(p, parts);
  const std::int64_t tiles = ceil_div(p.sq, c.bn);
  const auto all = static_cast<double>(tiles * heads), of_part = static_cast<double>(ceil_div(tiles, query_parts));
  // Behind a causal mask keys meet half of the queries in the mean, and the first ones all.
  const double longest = std::min(std::min(1.0, 2 * share) * all, of_part * static_cast<double>(heads));
  const double mean = std::min(share * all / static_cast<double>(query_parts), longest);
  const double waves = static_cast<double>(key_blocks(c, p) * parts) / device.sms;
  if (waves <= 1) return {longest, mean, longest};
  if (share == 1) return {longest, mean, std::ceil(waves) * longest};
  // Blocks of unequal lengths pack well. Towards the end some multiprocessors idle: estimated, not measured.
  constexpr double idle = 0.25;  // of the longest block
  return {longest, mean, std::max(longest, waves * mean + idle * longest)};
}

// Bytes of partial dK and dV, which are written once and read once.
inline double partial_bytes(const Config& c, const AttentionProblem& p, int parts) {
  const WorkspaceParts of = workspace_parts(c, p, parts);
  return static_cast<double>(of.partial_k + of.partial_v);
}

// Number of parts with the least time; 1 where there is nothing to share out, or nothing is known of the device.
inline int parts_of_group(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (p.b == 0 || p.hq == 0 || p.hkv == 0 || p.sq == 0 || p.sk == 0 || device.fp16_tflops <= 0) return 1;
  constexpr double step_rate = 0.55;     // a step's share of the peak rate; estimated
  constexpr double sum_launch_us = 2.5;  // one more kernel, with its code
  constexpr double least_gain = 0.95;    // what more parts must take of the time of fewer: these are estimates
  constexpr int most_parts = 1024;       // models' groups have fewer heads; it bounds the search
  const double order_us = p.rule.nondeterministic ? 0 : addition_us * static_cast<double>(ceil_div(p.sk, c.bm));
  const double step_us =
      2.0 * c.bm * c.bn * multiply_adds(p, c.d, c.dv) / (step_rate * device.fp16_tflops * 1e6 / device.sms);
  const auto time_us = [&](int parts) {
    const double bytes = partial_bytes(c, p, parts);
    return steps_of(c, p, device, parts).launch * step_us + order_us +
           (parts > 1 ? sum_launch_us + roofline::memory_us(device, bytes, bytes) : 0);
  };
  const std::int64_t group = p.hq / p.hkv;
  int best = 1;
  double least = time_us(1);
  const auto consider = [&](int parts) {
    if (const double us = time_us(parts); us < least_gain * least) best = parts, least = us;
  };
  for (int parts = 2; parts <= std::min<std::int64_t>(group, most_parts); ++parts)
    if (group % parts == 0) consider(parts);
  // Ranges of queries: as many as give each multiprocessor two blocks, and each range a tile.
  const std::int64_t most_ranges =
      std::min({ceil_div(p.sq, c.bn), most_parts / group,
                ceil_div(2 * device.sms, std::max<std::int64_t>(1, key_blocks(c, p) * group))});
  for (int ranges = 2; ranges <= most_ranges; ++ranges) consider(static_cast<int>(group) * ranges);
  return best;
}

inline std::size_t workspace(const Variant& row, const AttentionProblem& p, int parts) {
  return static_cast<std::size_t>(workspace_parts(row.config, p, parts).bytes());
}

inline Footprint footprint(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const int parts = parts_of_group(row, p, device);
  const std::int64_t blocks = key_blocks(row.config, p) * parts;
  // Without keys, dQ is still written.
  return footprint_of(row.config, blocks > 0 ? blocks : query_blocks(row.config, p), wgmma_gradient_bytes(row.config),
                      workspace(row, p, parts));
}

inline roofline::Kernel model(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const Products products{.rows = c.bn, .columns = multiply_adds(p, c.d, c.dv), .tflops = device.fp16_tflops};
  roofline::Kernel k = kernel_of(row, p, footprint(row, p, device), products, device);
  k.clocks /= roofline::tile_efficiency(p.sk, c.bm);  // keys past the last one
  // A mask of float32: threads read it, pair by pair; or there is one stage of dS, in the instance for scores of every
  // kind. Estimated.
  if (c.masks && p.mask_dtype == f32) k.clocks *= specializes_consumers(c) ? 3 : 1.5;
  // A block's start, its end, and what its first step waits for: measured on an H200, where 69 us of 179 are beyond the
  // rest at 12 blocks for each multiprocessor (64x12 heads of 197), and 339 of 530 at 38 blocks with masks.
  k.block_us = c.masks ? 8 : 5;
  k.launches = c.masks && mask_shape(c, p).is_copied ? 4 : 3;  // pre-, main and post-processing; first a copy
  add_code(k, specializes_consumers(c) ? 12 : 7);
  const int parts = parts_of_group(row, p, device);
  if (parts > 1) {
    ++k.launches;
    const double bytes = partial_bytes(c, p, parts);
    k.bytes_read += bytes;
    k.bytes_written += bytes;
  }
  if (p.hkv > 0) {
    // predict() takes blocks for equally long ones, in whole waves.
    const Steps steps = steps_of(c, p, device, parts);
    const double predicted = std::ceil(static_cast<double>(k.blocks) / device.sms) * steps.mean;
    if (predicted > 0) k.clocks *= steps.launch / predicted;
  }
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{{fits, footprint, model, lesson}, parts_of_group, workspace};

}  // namespace ridge::attention_detail::wgmma_gradient
