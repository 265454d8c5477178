// Hopper's tensor cores with split-K over the blocks of a cluster: few rows or columns, and fewer tiles than the chip
// has multiprocessors.
#pragma once
#include <ridge/gemm/sm90_wgmma.hpp>

namespace ridge::gemm_kernels {

// Config::bm belongs to the operand on wgmma's M side, A or with swap-AB B, and bn to the other one. Each 64 rows have
// a consumer warpgroup; one further warp is the producer. With Config::gated the wide operands are B and G: half of a
// tile's bm rows belong to either.
constexpr int split_wide(const Config& c) { return c.gated ? c.bm / 2 : c.bm; }
constexpr int split_consumers(const Config& c) { return c.bm / 64; }
// Skinny operands of 16 rows that TMA cannot load in wgmma's layout (Major::none): the producer warpgroup has three
// more warps, which gather them.
inline constexpr int split_gatherers = 3;
constexpr bool split_gathers(const Config& c) { return c.bn == 16 && !c.gated; }
constexpr int split_threads(const Config& c, bool gathers) {
  return 128 * split_consumers(c) + 32 + (gathers ? split_gatherers * 32 : 0);
}

// Blocks without a cluster that gather nothing are persistent. With up to two tiles for each multiprocessor it has one
// block, and room for the next kernel's first one beside it; with more it has two where they fit, and one loads while
// the other ends a tile.
constexpr bool split_stays(int split, bool gathers) { return split == 1 && !gathers; }
constexpr std::int64_t split_blocks(const Config& c, std::int64_t tiles, int split, bool gathers, int sms) {
  if (!split_stays(split, gathers)) return tiles * split;
  return std::min<std::int64_t>(tiles, tiles > 2 * sms && c.blocks_per_sm > 1 ? 2 * sms : sms);
}

// Tiles of fewer than 64 skinny rows are K-major: along the other axis TMA would load 64 rows.
constexpr bool skinny_is_k_major(const Config& c) { return c.bn < 64; }

// Each block of a cluster sums a share of the tile's skinny columns: a power of two of groups of 8.
inline constexpr int max_split = 8;  // blocks of a cluster, available on every device with clusters; a power of two
// A gate's tiles are as many as multiprocessors by their rows alone, and their blocks need the memory for stages.
constexpr int max_split_of(const Config& c) { return c.gated ? 1 : max_split; }
constexpr int split_share_log2(const Config& c, int split) {
  int log2 = 0;
  while ((split * 8 << log2) < c.bn) ++log2;
  return log2;
}
// Shared memory: [stages][wide | skinny], the sums that a block receives, [sending block][group of 8 columns of its
// share][thread][4], barriers. Large sums reuse the stages' memory once all products are done.
constexpr int split_received_bytes(const Config& c, int split) {
  return (split - 1) * (c.bm * 8 * 4 << split_share_log2(c, split));
}
// With a gate: the groups of 8 columns that B's and G's warpgroups exchange at a time, half of them in each direction.
constexpr int split_exchanged_groups(const Config& c) { return c.bn < 32 ? 2 : 4; }
constexpr int split_sums_bytes(const Config& c) {
  return c.gated ? split_exchanged_groups(c) * 128 * 16 : split_received_bytes(c, max_split);
}
constexpr bool split_sums_apart(const Config& c) { return c.gated || c.bm * c.bn <= 64 * 128; }
constexpr int split_sums_at(const Config& c) { return split_sums_apart(c) ? c.stages * wgmma_stage_bytes(c) : 0; }
constexpr int split_barriers_at(const Config& c) {
  return c.stages * wgmma_stage_bytes(c) + (split_sums_apart(c) ? split_sums_bytes(c) : 0);
}
constexpr int split_smem_bytes(const Config& c) { return split_barriers_at(c) + (3 * c.stages + 1) * 8; }

}  // namespace ridge::gemm_kernels

namespace ridge::gemm_detail::wgmma_split {

// Whether to swap A and B, so that B, the larger matrix, is the wide operand.
inline bool is_wider_across(const GemmProblem& p) { return p.n > p.m; }

// Clusters of `size` blocks that run at a time, one block per multiprocessor: the chip's groups of multiprocessors
// leave some over.
inline std::int64_t clusters_at_a_time(int sms, int size) {
  constexpr double left_over = 0.025;  // share of multiprocessors, for each block of a cluster but the first
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(sms * (1 - left_over * (size - 1)) / size));
}

// Rows of the wide operand in a tile. All multiprocessors get equal shares of memory's rate; where some have a tile
// more than others, tiles with fewer rows than the tensor cores take end earlier. Only for skinny operands of one tile,
// whose products are hidden by memory's time.
inline int wide_rows(const Config& c, const GemmProblem& p, int sms, int split, bool swap_ab) {
  constexpr std::int64_t step = 4;
  const std::int64_t rows = swap_ab ? p.n : p.m, skinny = swap_ab ? p.m : p.n;
  const std::int64_t at_a_time = clusters_at_a_time(sms, split);
  const bool along_k = (swap_ab ? major_of_b(p) : major_of_a(p)) != Major::outer || size_of(p.dtype) != 2;
  if (skinny > c.bn || skinny == 0 || p.batch == 0 || rows == 0 || !along_k) return split_wide(c);
  // The fewest rows on the fullest multiprocessor. Between a cluster's consecutive tiles there is a gap.
  const std::int64_t fewest = ceil_div(ceil_div(rows, split_wide(c)) * p.batch, at_a_time),
                     further = split > 1 ? 0 : 2;  // tiles beyond the fewest that it may have
  std::int64_t least = 0, best = split_wide(c);
  for (std::int64_t tiles = fewest; tiles <= fewest + further; ++tiles) {
    const std::int64_t of_matrix = at_a_time * tiles / p.batch;
    if (of_matrix == 0) continue;
    const std::int64_t even = ceil_div(ceil_div(rows, of_matrix), step) * step;
    if (even <= split_wide(c) && (least == 0 || tiles * even < least)) least = tiles * even, best = even;
  }
  return static_cast<int>(best);
}

// Only 16-bit types are read along M or N too. A skinny operand of them in tiles of 16 rows is gathered by the
// product's own warps instead of being copied: of any length along k where the copy engine loads it unchanged; else
// only a short one, since the kernel would wait for the threads' loads in many steps.
inline Repack repack_of(const Config& c, const GemmProblem& p, bool swap_ab) {
  const bool wide_k = c.gated || size_of(p.dtype) != 2, skinny_k = wide_k || skinny_is_k_major(c);
  const auto along_k_if = [](bool only) { return only ? Major::k : Major::none; };
  const auto gathered = [&](const Repacked& to, const Given& o) {
    constexpr std::int64_t most_loaded = 1024;
    const bool bulk_copied =
        o.outer_stride == 1 && o.outer <= o.k_stride && o.k_stride <= c.bn && starts_on(o.layout, 0, access_bytes);
    if (!bulk_copied && p.k > most_loaded) return to;
    return split_gathers(c) && size_of(p.dtype) == 2 && to.needed
               ? Repacked{.major = Major::none, .batch_stride = o.layout.batch_stride}
               : to;
  };
  Repack r;
  r.a = repacked(p, given_a(p), along_k_if(swap_ab ? skinny_k : wide_k), 0);
  if (swap_ab) r.a = gathered(r.a, given_a(p));
  r.b = repacked(p, given_b(p), along_k_if(swap_ab ? wide_k : skinny_k), r.a.bytes);
  if (!swap_ab) r.b = gathered(r.b, given_b(p));
  if (p.gate_layout) r.gate = repacked(p, given_gate(p), Major::k, r.a.bytes + r.b.bytes);
  return r;
}
inline bool gathers_skinny(const Repack& reads, bool swap_ab) {
  return (swap_ab ? reads.a : reads.b).major == Major::none;
}

// ---- fits

inline std::string fits(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p); !why.empty()) return why;
  if (std::string why = roofline::refuse_all_but_hopper(device); !why.empty()) return why;
  if (std::string why = refuse_launch(c, p, split_smem_bytes(c), device); !why.empty()) return why;
  if (std::string why = refuse_sizes(p); !why.empty()) return why;
  if (c.gated && !is_wider_across(p)) return "B and G are its wide operands, and D is not wider than high";
  const int side = std::min(split_wide(c), c.bn);  // of a square within every tile, in either orientation
  return refuse_batch(p, raster_of(p.m, p.n, side, side).tiles() * max_split, repack_of(c, p, is_wider_across(p)));
}

// ---- footprint

inline Footprint footprint(const Variant& row, const GemmProblem& p, const DeviceInfo& device, const Arrangement& way) {
  const Config& c = row.config;
  const Repack reads = repack_of(c, p, way.swap_ab);
  const std::int64_t of_matrix = has_no_rows(p) ? 0 : tiles_of(c, p);
  const bool gathers = of_matrix > 0 && gathers_skinny(reads, way.swap_ab);
  const int rows = of_matrix > 0 ? wide_rows(c, p, device.sms, way.split, way.swap_ab) : split_wide(c),
            threads = split_threads(c, gathers);
  const std::int64_t tiles =
      of_matrix == 0 ? 0 : raster_of(way.swap_ab ? p.n : p.m, way.swap_ab ? p.m : p.n, rows, c.bn).tiles() * p.batch;
  return {.launch = {.grid = split_blocks(c, tiles, way.split, gathers, device.sms),
                     .threads = threads,
                     .registers = registers_of(c, threads),
                     .smem = split_smem_bytes(c),
                     .workspace = reads.bytes()},
          .tiles = of_matrix,
          .tile_rows = rows,
          .tile_columns = c.bn,
          .trip_bytes = stages_bytes(c, p)};
}

// ---- model

inline constexpr double block_bytes_per_clock = 50;  // of a block, in all
// The same where more than this share of multiprocessors load; H100.
inline constexpr double crowd = 0.8, crowded_block_bytes_per_clock = 36;
inline constexpr double memory_share = 0.94;        // share of memory's rate of skinny tiles; measured on an H100
inline constexpr double epilogue_vectors = 4;       // of four elements, that a thread finishes at a time
inline constexpr double addend_late = 700;          // clocks until C, bias or residual arrives in threads
inline constexpr double promoted_wide = 1.25;       // as `promoted`, for two warpgroups: they begin and end together
inline constexpr double sums_bytes_per_clock = 48;  // for a tile's sums on their way to other blocks and to D
inline constexpr double sums_in_stages = 0.25;      // share of that rate where a cluster waits before it sends them
inline constexpr double finish_clocks = 0.35;       // per element of D in the epilogue; and where another tile
inline constexpr double next_tile_clocks = 1;       // of the block follows. Measured on an H100 with short k.
inline constexpr double cluster_clocks = 300;       // a cluster's blocks start, and wait for each other at the end
// Of code that is executed for the first time, beyond what other families' tiles take: of the sums' way to D, and of an
// epilogue with more than the sums, for which the consumers wait after their products. us; H200.
inline constexpr double cold_sums_us = 1.2, cold_epilogue_us = 2.3, cold_columns_us = 0.05, cold_addends_us = 2;

inline Clocks clocks_of(const Config& c, const GemmProblem& p, const DeviceInfo& device, const Arrangement& way) {
  const int rows = wide_rows(c, p, device.sms, way.split, way.swap_ab);
  const double wide = static_cast<double>(ceil_div(way.swap_ab ? p.n : p.m, rows)),
               skinny = static_cast<double>(ceil_div(way.swap_ab ? p.m : p.n, c.bn));
  const double tiles = wide * skinny * static_cast<double>(p.batch);
  const Repack reads = repack_of(c, p, way.swap_ab);
  // Blocks on one multiprocessor alternate; where memory alone limits, they hide each other's waits. In persistent
  // blocks, the next tile's loads overlap the store.
  const bool stay = split_stays(way.split, gathers_skinny(reads, way.swap_ab));
  const double at_a_time = static_cast<double>(clusters_at_a_time(device.sms, way.split)),
               resident = stay ? 1 : std::clamp<double>(std::ceil(tiles / at_a_time), 1, c.blocks_per_sm),
               waves = std::ceil(tiles / (at_a_time * resident)), ends = stay ? 1 : waves;
  const double steps = static_cast<double>(ceil_div(ceil_div(products(p), c.bk), way.split));
  const double elements = static_cast<double>(c.bm) * c.bn;
  const int wide_operands = c.gated ? 2 : 1;
  const double lines = split_consumers(c) * (64 + c.bn) + wide_operands * rows + c.bn;
  const auto copied_of = [&](const GemmOperand& o, const Repacked& read, int of) {
    return read.major == Major::none ? 0 : of * clocks_of_line(o, read);  // threads gather it
  };
  const double copied = copied_of(*p.a, reads.a, way.swap_ab ? c.bn : rows) +
                        copied_of(*p.b, reads.b, way.swap_ab ? wide_operands * rows : c.bn);
  const double per_clock = tensor_products_per_clock(p.dtype, device);
  // Tiles that read the wide operand again for each skinny tile, on nearly all multiprocessors. Of tiles that share
  // their sums, measured with 16-bit types alone.
  const bool many = p.batch > 1 && c.blocks_per_sm == 1 && tiles > 2 * device.sms;  // 80 x 256 x 1920, 155 times
  const bool crowded =
      (skinny > 1 || many) && (way.split == 1 || size_of(p.dtype) == 2) && tiles * way.split > crowd * device.sms;
  const double block_bytes = crowded ? crowded_block_bytes_per_clock : block_bytes_per_clock;
  Clocks clocks;
  clocks.step_k = c.bk;
  clocks.tensor_cores = true;
  clocks.step = longest({{elements * c.bk / per_clock, "the tensor cores"},
                         {lines * shared_share, "shared memory"},
                         {copied, "the copy engine"},
                         {wgmma_stage_bytes(c) / block_bytes, "what a block gets from the L2 cache"}});
  if (c.promote)
    clocks.step = {clocks.step.clocks * (c.bn > 64 ? promoted_wide : promoted), "sums that leave the tensor cores"};
  const double blocks = tiles * way.split, fullest = std::ceil(blocks / device.sms);  // blocks of a multiprocessor
  const double from_memory =
      std::max(cost(p).bytes_read / blocks * fullest / memory_bytes_per_clock,
               cost(p).bytes() / (device.memory_gbs * (c.bn > 64 ? 1 : memory_share)) * device.clock_ghz);
  // Each thread has a few vectors of D at a time, and waits for their addends.
  const double vectors = std::max(1.0, c.bn / 8.0 / way.split);
  const double finish = elements * 4 / (sums_bytes_per_clock * (split_sums_apart(c) ? 1 : sums_in_stages)) +
                        elements / way.split * (finish_clocks + epilogue_instructions(p) / (4 * 32)) +
                        std::ceil(vectors / epilogue_vectors) * addends(p) * addend_late +
                        (way.split > 1 ? cluster_clocks : 0);
  const double between_tiles = stay ? (waves - 1) * elements * next_tile_clocks : 0;
  const double work = waves * resident * steps * clocks.step.clocks + between_tiles,
               waits = skinny > 1 ? not_hidden
                                  : not_hidden / (stay ? (c.bn > 32 ? 1 : std::max(1.0, waves / 2)) : resident),
               loaded = std::max(work, from_memory + waits * std::min(work, from_memory));
  clocks.tiles = waves * resident;
  clocks.mean_tiles = tiles * way.split / device.sms;
  count_products(clocks, needed_products(p), elements * c.bk, steps, per_clock, device);
  // With few rows the first loads start before the previous kernel ends (sm90_split.cuh).
  const bool early = c.bn <= 64 && skinny == 1 && !reads.needed();
  clocks.start = (early ? ends - 1 : ends) * tile_start_clocks;
  const bool plain = addends(p) == 0 && p.scalars.activation == Activation::none && !p.gate;
  const double cold_us = (plain ? cold_sums_us : cold_epilogue_us + cold_columns_us * c.bn) +
                         (addends(p) > 0 && !p.gate ? cold_addends_us : 0);
  const double cold = cold_us * device.clock_ghz * 1e3;
  clocks.finish = ends * finish + between_tiles + cold;
  clocks.memory = loaded - work;
  clocks.total = loaded + clocks.start + ends * finish + cold;
  return clocks;
}

// As many blocks in a cluster as take least time.
inline Arrangement arrange(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  Arrangement best;
  for (int split = 1; split <= max_split_of(c) && split <= ceil_div(products(p), c.bk); split *= 2) {
    Arrangement way{split, is_wider_across(p)};
    way.clocks = clocks_of(c, p, device, way);
    if (best.clocks.total == 0 || way.clocks.total < best.clocks.total) best = way;
  }
  return best;
}

inline Prediction model(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Arrangement way = arrange(row, p, device);
  return predict(way.clocks, slowed_by_power(way.clocks, p, device), repack_of(row.config, p, way.swap_ab), p, device);
}

inline std::string_view lesson(const Variant&) { return "occupancy"; }  // several blocks share a tile's products

inline constexpr KernelFamily family{
    .fits = fits, .arrange = arrange, .footprint = footprint, .model = model, .lesson = lesson, .repack = repack_of};

}  // namespace ridge::gemm_detail::wgmma_split
