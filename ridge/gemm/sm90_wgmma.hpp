// Hopper's tensor cores, fed by TMA: 16-bit types, float32 as TF32, 8-bit floats and signed bytes; and the steps of the
// ladder to it.
#pragma once
#include <ridge/gemm/sm90_family.hpp>
#include <ridge/gemm/stream_k.hpp>

#include <cmath>

namespace ridge::gemm_kernels {

// Consumer warpgroups, and the rows of a tile that each of them has.
constexpr int consumers(const Config& c) {
  return c.schedule == Schedule::ping_pong || (c.schedule == Schedule::cooperative && c.bm > 64) ? 2 : 1;
}
constexpr int rows_of_consumer(const Config& c) {
  return c.schedule == Schedule::cooperative ? c.bm / consumers(c) : c.bm;
}
constexpr int wgmma_threads(const Config& c) { return 128 * (consumers(c) + (c.schedule == Schedule::one ? 0 : 1)); }

// Accumulators in a consumer thread's registers: those of a tile, and with Config::promote those of a part of k. Where
// there is room, of two parts: one is added to the tile's sums while the other is being multiplied.
inline constexpr int most_sums = 192;
constexpr int tile_sums(const Config& c) { return rows_of_consumer(c) / 64 * c.bn / 2; }
constexpr bool has_two_parts(const Config& c) { return c.promote == 1 && 3 * tile_sums(c) <= most_sums; }
// Whether one tile takes all accumulator registers and leaves none for an epilogue that reads vectors of addends: then
// TMA must be able to store D and load the addends.
constexpr bool is_by_columns_alone(const Config& c) { return tile_sums(c) >= most_sums; }
// Configs whose D may be float32 with operands of fewer bits, stored by TMA.
constexpr bool stores_float(const Config& c) { return !is_by_columns_alone(c) && !c.gated; }
// Configs that store rows of D which start anywhere (is_stored_anywhere()).
constexpr bool may_store_anywhere(const Config& c) {
  return !is_by_columns_alone(c) && !c.gated && !c.grouped && !c.promote && !c.stream_k;
}
// Tiles whose columns are not whole groups of 64: B, or B and G, are then K-major, and A is, as in most layers.
constexpr bool has_odd_columns(const Config& c) { return columns(c) % 64 != 0; }
constexpr bool wgmma_a_is_k_major(const Config& c) { return a_is_k_major(c) || has_odd_columns(c); }

// The tiles, in clusters.
RIDGE_HD constexpr Raster wgmma_raster(Config c, std::int64_t m, std::int64_t n) {
  Raster raster = raster_of(m, n, c.bm * c.cluster, columns(c));
  raster.group = c.raster_group;
  return raster;
}
// Whether a kernel starts early, by programmatic dependent launch. Blocks without multicast share reads in the L2
// cache only while they advance together, which an early start spoils: on an H100 it takes 3 % off a product of 12
// steps along k, in the mean, and adds 3 % from 32 steps on, at most 28 % (bench/results/h100/gemm_tiles.csv).
constexpr bool starts_early(const Config& c, double steps) {
  constexpr int few_steps = 12;
  return c.cluster > 1 || steps <= few_steps;
}

// Blocks, or clusters of them, in a launch.
constexpr std::int64_t wgmma_at_a_time(const Config& c, int sms) {
  return c.persistent ? std::max(sms / c.cluster, 1) : max_tiles / c.cluster;
}

// The same of one launch, for so many clusters' tiles of `steps` steps.
constexpr std::int64_t wgmma_clusters(const Config& c, std::int64_t tiles, std::int64_t steps, int sms) {
  if (c.stream_k) return tiles == 0 ? 0 : stream_k_blocks(tiles, steps, sms);
  return std::min(tiles, wgmma_at_a_time(c, sms));
}

// Shared memory: [stages][A | B], staging of D, the bias in float, barriers.
// For every type, a step along k is one line of the 128-byte swizzle in either operand.
inline constexpr int wgmma_line_bytes = 128;
constexpr int wgmma_stage_bytes(const Config& c) { return (c.bm + c.bn) * c.line; }
constexpr int wgmma_staging_bytes = 4096;  // per consumer warp
constexpr int wgmma_bias_at(const Config& c) {
  return c.stages * wgmma_stage_bytes(c) + consumers(c) * 4 * wgmma_staging_bytes;
}
constexpr int wgmma_barriers_at(const Config& c) { return wgmma_bias_at(c) + consumers(c) * c.bn * 4; }
constexpr int wgmma_smem_bytes(const Config& c) { return wgmma_barriers_at(c) + (2 * c.stages + 2) * 8; }

// A tensor of D's shape that is added to a tile is loaded in steps of its own, in the operands' stages: as the first
// steps, and the sums begin with it; or as the last ones, and it is added in the epilogue. It is loaded in pieces of 64
// rows by a line of the swizzle, the last of which may reach into the next tile. size: bytes of an element.
inline constexpr int addend_rows = 64, addend_piece_bytes = addend_rows * wgmma_line_bytes;
constexpr int addend_pieces(const Config& c, int size) {
  return c.bm / addend_rows * ((columns(c) * size + wgmma_line_bytes - 1) / wgmma_line_bytes);
}
constexpr int addend_pieces_of_stage(const Config& c) { return wgmma_stage_bytes(c) / addend_piece_bytes; }
constexpr int addend_steps(const Config& c, int size) {
  return (addend_pieces(c, size) + addend_pieces_of_stage(c) - 1) / addend_pieces_of_stage(c);
}
// All stages together hold the addend, and a producer warp runs ahead. In ping-pong a warpgroup waits for it before it
// has read its last two steps.
constexpr bool takes_addend(const Config& c, int size) {
  return c.schedule != Schedule::one && addend_steps(c, size) <= c.stages - (c.schedule == Schedule::ping_pong ? 2 : 0);
}
// Chooses between the two where the result allows either. As first steps, the addend's loads overlap the previous
// tile's products; in a block's only tile they overlap that tile's own products as last steps.
constexpr bool addend_comes_first(const Config& c, std::int64_t clusters, int sms) {
  return clusters > wgmma_at_a_time(c, sms);
}

}  // namespace ridge::gemm_kernels

namespace ridge::gemm_detail {

// ---- D by columns (sm90_epilogue.cuh), and what is then added tile by tile

// Whether D or an addend of type `out` has the layout that TMA and column stores need: rows are whole vectors, because
// for a 1x1 matrix of f16 TMA would store four bytes.
inline bool has_tma_layout(const GemmProblem& p, const GemmOperand& o, DType out) {
  return o.dtype == out && p.n * static_cast<std::int64_t>(size_of(out)) % access_bytes == 0 && o.col_stride == 1 &&
         tma_reads(o, o.row_stride, p.m);
}

// The tensor added to D's tiles: C without a residual, or a residual without C; null: none, or both.
inline const GemmOperand* tile_addend(const GemmProblem& p) {
  if (p.c && p.residual_layout) return nullptr;
  return p.c ? &*p.c : p.residual_layout ? &*p.residual_layout : nullptr;
}

// Whether ColumnEpilogue serves a row of the table with D of type `out`: only a bias along N and what TMA can load are
// added.
inline bool is_by_columns(const Config& c, const GemmProblem& p, DType out) {
  if (*p.out != out || !has_tma_layout(p, *p.d, out) || p.bias == GemmBias::along_m) return false;
  if (!p.c && !p.residual_layout) return true;
  const GemmOperand* addend = tile_addend(p);
  return addend && has_tma_layout(p, *addend, out) && takes_addend(c, static_cast<int>(size_of(out)));
}

// The same for D's own type: that of 16-bit operands, or float32; bf16 or float32 for 8-bit floats; float32 for TF32.
inline bool is_by_columns(const Config& c, const GemmProblem& p) {
  const DType out = *p.out;
  const bool of_floats = p.dtype == f8e4m3 || p.dtype == f8e5m2;
  const bool stored = size_of(p.dtype) == 2 || p.dtype == f32 ? out == p.dtype || (out == f32 && stores_float(c))
                                                              : of_floats && (out == bf16 || out == f32);
  return stored && is_by_columns(c, p, out);
}

// Whether ColumnEpilogue computes D and AnywhereStore stores it: contiguous rows that TMA cannot store, of 16-bit
// operands' own type, to which only a bias along N is added.
inline bool is_stored_anywhere(const Config& c, const GemmProblem& p) {
  return may_store_anywhere(c) && size_of(p.dtype) == 2 && *p.out == p.dtype && p.d->col_stride == 1 &&
         p.bias != GemmBias::along_m && !p.c && !p.residual_layout && !has_tma_layout(p, *p.d, *p.out);
}

namespace wgmma {

// Only 16-bit types are read along M or N too. For math=3xtf32 both operands are copied in two parts.
inline Repack repack_of(const Config& c, const GemmProblem& p, bool /*swap_ab*/) {
  const bool only_k = size_of(p.dtype) != 2;
  const auto along_k_if = [](bool only) { return only ? Major::k : Major::none; };
  Repack r;
  if (p.scalars.math == GemmMath::tf32x3) r.low = whole_lines(p, p.k);
  r.a = repacked(p, given_a(p), along_k_if(only_k || wgmma_a_is_k_major(c)), 0, r.low);
  r.b = repacked(p, given_b(p), along_k_if(only_k || has_odd_columns(c)), r.a.bytes, r.low);
  if (p.gate_layout) r.gate = repacked(p, given_gate(p), r.b.major, r.a.bytes + r.b.bytes, r.low);
  return r;
}

// ---- fits

inline std::int64_t steps_of(const Config& c, const GemmProblem& p) {
  return ceil_div(products(p), c.bk) * (p.scalars.math == GemmMath::tf32x3 ? 3 : 1);
}

inline std::string refuse_stream_k(const Config& c, const GemmProblem& p, const DeviceInfo& device) {
  const std::int64_t tiles = tiles_of(c, p) * p.batch, steps = steps_of(c, p);
  if (!gemm_kernels::stream_k_counts(tiles, steps, device.sms)) return "it counts the shared tiles' steps to 2^32";
  if (tiles % gemm_kernels::stream_k_blocks(tiles, steps, device.sms) == 0)
    return "its tiles are whole waves, or k is too short to be cut";
  return {};
}

inline std::string fits(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p); !why.empty()) return why;
  if (std::string why = roofline::refuse_all_but_hopper(device); !why.empty()) return why;
  if (std::string why = refuse_launch(c, p, wgmma_smem_bytes(c), device); !why.empty()) return why;
  if (std::string why = refuse_all_but_nn(row, p); !why.empty()) return why;
  if (row.nn_only && p.a && p.b && (major_of_a(p) == Major::none || major_of_b(p) == Major::none))
    return "shown in layout nn, and operands are neighbours in neither axis";
  if (std::string why = refuse_sizes(p); !why.empty()) return why;
  if (is_by_columns_alone(c) && !is_by_columns(c, p))
    return "its sums leave no registers for types, strides and addends of D that TMA does not move";
  if (c.stream_k)
    if (std::string why = refuse_stream_k(c, p, device); !why.empty()) return why;
  return refuse_batch(p, wgmma_raster(c, p.m, p.n).tiles() * c.cluster, repack_of(c, p, false));
}

// ---- footprint

inline Footprint footprint(const Variant& row, const GemmProblem& p, const DeviceInfo& device, const Arrangement&) {
  const Config& c = row.config;
  const int threads = wgmma_threads(c);
  const std::int64_t tiles = has_no_rows(p) ? 0 : tiles_of(c, p);
  std::int64_t clusters = tiles == 0 ? 0 : p.grouped ? tiles : wgmma_raster(c, p.m, p.n).tiles() * p.batch;
  clusters = wgmma_clusters(c, clusters, steps_of(c, p), device.sms);
  return {.launch = {.grid = clusters * c.cluster,
                     .threads = threads,
                     .registers = registers_of(c, threads),
                     .smem = wgmma_smem_bytes(c),
                     .workspace =
                         repack_of(c, p, false).bytes() +
                         (c.stream_k && clusters > 0 ? stream_k_bytes(c, static_cast<unsigned>(clusters), consumers(c))
                                                     : 0)},
          .tiles = tiles,
          .tile_rows = std::int64_t{c.bm} * c.cluster,
          .tile_columns = columns(c),
          .trip_bytes = stages_bytes(c, p)};
}

// ---- model

inline constexpr double store_clocks = 1200;  // for 64 x 256 elements of D: to shared memory, and the first wait
// A persistent block's further tile, beyond its steps and its store: warps meet, and wait for its first loads. H200.
inline constexpr double further_tile_clocks = 1100, further_ping_pong_clocks = 700;
// The same once more where one warpgroup waits for what TMA adds to its further tiles. H200, k of 320 and 1,280.
inline constexpr double further_addend_clocks = 4000;
// Stream-K: a block's sums of 128 x 256 elements to the exchange, and another's from there.
inline constexpr double exchange_clocks = 6000;
inline constexpr double odd_copies = 1.5;            // factor where a tile has an odd number of copies of 64 columns
inline constexpr double start_clocks = 1800;         // a block's start and its barriers, without the launch; on an H100
inline constexpr double cluster_start_clocks = 300;  // clusters start later
inline constexpr double early_clocks = 900;  // of a start that overlaps the previous kernel's end; H100, in a chain
inline constexpr double without_multicast = 1.01;   // factor by which a step takes longer
inline constexpr double multicast_clocks = 460;     // the shortest step of blocks that wait for each other's copies
inline constexpr double multicast_ping_pong = 640;  // the same where their warpgroups ping-pong
inline constexpr double multicast_waves = 600;      // the same where tiles are 128 x 128, in several waves; H200
// Of a multiprocessor while all of them load, with tiles of 128 rows and of 64; measured on an H100.
inline constexpr double l2_bytes_per_clock = 50, l2_bytes_of_small_tiles = 62;
// The same where no block has a second tile: of one multiprocessor at most, and of all together with tiles of 128 rows.
// Measured on an H100.
inline constexpr double l2_bytes_of_one = 82, l2_bytes_of_one_wave = 10500;
inline constexpr double tail_clocks = 3000;    // at most, until a last wave has issued all its loads; on an H100
inline constexpr double memory_share = 0.95;   // share of memory's rate of large tiles with few rows; on an H100
inline constexpr double one_warpgroup = 1.13;  // factor of a step where a block has one tile, one warpgroup is idle
// Share of memory's time that is added where a tile's rows are all outside of A: TMA is slow to fill them with zeros;
// of tiles of 64 rows that no cluster shares less so where blocks have further tiles, and not beside more than 64
// columns. H200.
inline constexpr double outside_rows = 0.5, outside_rows_of_64 = 0.15, outside_rows_of_one_wave = 0.4;
inline constexpr double bias_along_rows = 800;  // instructions per element, which is then finished one by one; H200
inline constexpr double single_addends = 35;    // per element of C or of a residual that TMA cannot load
inline constexpr double brought_addends = 3;    // the same where TMA loads it
inline constexpr double late_addends = 20;      // the same after an activation, with its waits; H100
// Clocks until C or a residual arrives that threads load, for 32 columns of a warpgroup's tile; with a gate, whose
// pairs wait one by one, for as many of D's. H200: 1 x 3744 x 2496, and 960 x 1024 x 1024 with a gate.
inline constexpr double late_parts = 3000, late_pairs = 11000;
// Share of memory's rate for addends that sums begin with, with nothing to overlap; measured on an H100.
inline constexpr double addend_share = 0.9;
// Share of an activation during which overlapping products stand still; and where sums take all registers. H100.
inline constexpr double beside_products = 0.6, beside_largest_tiles = 1.05;

// Tiles of D, in clusters. A plan does not know where groups begin: as many as for random cuts, between which there are
// at least x rows with probability exp(-x groups / m).
inline double clusters_of(const Config& c, const GemmProblem& p) {
  const Raster tiles = wgmma_raster(c, p.m, p.n);
  if (!c.grouped) return static_cast<double>(tiles.tiles() * p.batch);
  const double groups = static_cast<double>(std::min(p.m, p.batch));  // that have rows
  if (groups == 0) return 0;
  const double rows = groups / -std::expm1(-c.bm * groups / static_cast<double>(p.m));
  return std::ceil(rows) * static_cast<double>(tiles.cols);
}

inline Clocks clocks_of_tiles(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const double products_per_clock = tensor_products_per_clock(p.dtype, device);
  const double elements = static_cast<double>(c.bm) * c.bn, stage = wgmma_stage_bytes(c);
  // Shared memory moves lines of 128 bytes: the products of 64 rows read these and all columns, and TMA writes both.
  const double lines = c.bm / 64 * (64 + c.bn) + c.bm + c.bn;
  const double tiles = clusters_of(c, p), columns_loaded = static_cast<double>(c.bn) / c.cluster;
  const double loaded = (c.bm + columns_loaded) * wgmma_line_bytes;
  const bool one_wave = !c.stream_k && tiles * c.cluster <= device.sms;
  const Repack reads = repack_of(c, p, false);
  const double copied = c.bm * clocks_of_line(*p.a, reads.a) + columns_loaded * clocks_of_line(*p.b, reads.b);
  const double of_l2 = !one_wave    ? (c.bm <= 64 ? l2_bytes_of_small_tiles : l2_bytes_per_clock)
                       : c.bm <= 64 ? l2_bytes_of_one
                                    : std::min(l2_bytes_of_one, l2_bytes_of_one_wave / (tiles * c.cluster));
  const auto sizeof_operand = size_of(p.dtype);
  Clocks clocks;
  clocks.step_k = c.bk;
  clocks.tensor_cores = true;
  clocks.step = longest({{elements * c.bk / products_per_clock * (c.cluster == 1 ? without_multicast : 1),
                          "loads that no cluster shares"},
                         {lines * shared_share, "shared memory"},
                         {copied, "the copy engine"},
                         {c.cluster == 1                                                 ? 0
                          : !one_wave && c.bm * c.bn == 128 * 128 && sizeof_operand == 2 ? multicast_waves
                          : c.schedule == Schedule::ping_pong                            ? multicast_ping_pong
                                                                                         : multicast_clocks,
                          "the blocks of a cluster, which wait for each other"},
                         {loaded / of_l2, "the L2 cache"}});
  if (c.promote && !has_two_parts(c)) clocks.step = {clocks.step.clocks * promoted, "sums that leave the tensor cores"};
  const double step = clocks.step.clocks;
  const int parts = p.scalars.math == GemmMath::tf32x3 ? 3 : 1;  // products per product of float32
  const double steps = static_cast<double>(ceil_div(products(p), c.bk)) * parts;
  const double stored = static_cast<double>(c.bm) * columns(c);
  const bool by_columns = is_by_columns(c, p), quick = by_columns && size_of(*p.out) == 2;
  // An addend loads like operands, as first or last steps. A residual after an activation takes the last ones, and
  // delays the next tile's first ones.
  const GemmOperand* addend = by_columns ? tile_addend(p) : nullptr;
  const bool last_steps = addend && ((p.residual_layout && p.scalars.activation != Activation::none) ||
                                     !addend_comes_first(c, static_cast<std::int64_t>(tiles), device.sms));
  const double instructions = epilogue_instructions(p, quick,
                                                    last_steps   ? late_addends
                                                    : by_columns ? brought_addends
                                                                 : single_addends,
                                                    !is_stored_anywhere(c, p) ? single_stores
                                                    : consumers(c) == 1       ? anywhere_stores_alone
                                                                              : anywhere_stores) +
                              (p.bias == GemmBias::along_m ? bias_along_rows : 0);
  // The last steps use the bandwidth that operands leave.
  const double brought = addend ? stored * static_cast<double>(size_of(addend->dtype)) : 0;
  const double memory_bytes = device.memory_gbs / (device.clock_ghz * device.sms);  // of a multiprocessor, per clock
  const double waits = last_steps ? std::max(0.0, (steps * loaded + brought) / l2_bytes_per_clock - steps * step)
                                  : brought / (memory_bytes * addend_share);
  const double store = columns(c) / 64 % 2 == 0 ? 1 : odd_copies;
  // C and a residual that TMA does not load arrive late in each part of 32 columns, and with a gate in each pair.
  const double loads = by_columns ? 0 : (p.c ? 1 : 0) + (p.residual_layout ? 1 : 0), parts_of_tile = columns(c) / 32.0;
  const double late = loads * parts_of_tile * (c.gated ? late_pairs : late_parts);
  const double finish = stored / (64 * 256) * store_clocks * store + stored * instructions / (4 * 32) + waits + late;
  // Of one block.
  const double most = c.stream_k ? tiles / static_cast<double>(gemm_kernels::stream_k_blocks(
                                               static_cast<std::int64_t>(tiles), steps_of(c, p), device.sms))
                                 : std::ceil(tiles / std::max(1, device.sms / c.cluster));
  const double first_load = stage * device.sms / device.memory_gbs * device.clock_ghz;
  const double start = start_clocks + first_load +
                       (c.cluster > 1            ? cluster_start_clocks
                        : starts_early(c, steps) ? -early_clocks
                                                 : 0);
  clocks.tiles = most;
  clocks.mean_tiles = tiles * c.cluster / device.sms;
  clocks.start = start;
  count_products(clocks, needed_products(p, parts), elements * c.bk, steps, products_per_clock, device);
  switch (c.schedule) {
    case Schedule::one: {  // a step's copy and products do not overlap; other blocks fill in
      const double resident = std::max(1.0, std::min<double>(c.blocks_per_sm, most));
      const double alone = load_latency + barrier_clocks + step;
      clocks.step = {std::max(step * 1.5, alone / resident), "copies, which products wait for"};
      clocks.finish = most * finish;
      clocks.total = start + most * (steps * clocks.step.clocks + finish);
      break;
    }
    case Schedule::ping_pong: {  // only the last tile's end is exposed, or what exceeds the other tile's products
      const double of_one = elements * c.bk / products_per_clock * one_warpgroup;  // a step's products
      const double alone = steps * (most == 1 ? std::max(step, of_one) : step),
                   active = (activation_instructions(p, quick) - 1) * stored / (4 * 32),
                   both = last_steps ? alone + finish
                                     : std::max(alone, (steps * step + finish - waits) / 2) + waits +
                                           (is_by_columns_alone(c) ? beside_largest_tiles : beside_products) * active;
      if (most == 1 && of_one > step) clocks.step = {of_one, "a tile that one of two warpgroups has alone"};
      clocks.start += (most - 1) * further_ping_pong_clocks;
      clocks.finish = most * (both - alone) + finish;
      clocks.total = clocks.start + most * both + finish;
      break;
    }
    default:
      if (c.stream_k) {
        // A block has the beginnings of `ends` tiles, and up to two more parts than whole tiles.
        const double ends = std::ceil(most), parts_of_block = most < 1 ? 2 : std::floor(most) + 1;
        const double exchanged = exchange_clocks * elements / (128 * 256) * std::max(1.0, 1 / most);
        clocks.start += (parts_of_block - 1) * further_tile_clocks;
        clocks.finish = ends * finish + exchanged;
        clocks.total = clocks.start + most * steps * step + clocks.finish;
        break;
      }
      clocks.start += c.persistent ? std::max(most - 1, 0.0) * further_tile_clocks : most * tile_start_clocks;
      if (c.persistent && most > 1 && addend && consumers(c) == 1) clocks.start += further_addend_clocks;
      clocks.finish = most * finish;
      clocks.total = clocks.start + most * (steps * step + finish);
  }
  return clocks;
}

// Bytes per clock that `sms` multiprocessors get from memory; tail: in a last wave, where each gets less the more of
// them load. Measured on an H100 with 16 to 132; on an H200 64 x 28672 x 4096 takes 65 us.
inline double memory_rate(double sms, bool tail, const DeviceInfo& device) {
  constexpr double many = 0.53, least = 1.5;  // a share of the device's; of one's share of memory's rate, that it gets
  const double crowding = tail ? sms / (many * device.sms) : 0, all = device.memory_gbs / device.clock_ghz;
  const double of_one = std::max(least * all / device.sms, memory_bytes_per_clock / (1 + crowding * crowding));
  return std::min(sms * of_one, all * memory_share);
}

inline Clocks clocks_of(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const double tiles = clusters_of(row.config, p) * row.config.cluster;
  // Where memory is the limit, the last wave's few tiles take longer than their share.
  const bool shared = row.config.stream_k;  // no last wave
  const double last = shared ? 0 : std::fmod(tiles, device.sms), of_tile = cost(p).bytes() / tiles;
  const bool tail = !shared && tiles > device.sms;
  constexpr double box_rows = 64;  // a box that has none of A's rows takes no time
  // With a gate, most of what a tile loads are columns of B and G, and a last wave takes no longer. Rows outside of A
  // cost tiles of 64 rows little, and only below 32; and those of 128 more, up to all of them. H200, 1 to 128 rows.
  const bool gated = row.config.gated, small = row.config.bm <= 64;
  const bool one_wave = !shared && !tail;
  const double tile_rows = gated ? (small ? 32 : 128) : one_wave ? row.config.bm : box_rows;
  const double most_outside = gated                              ? outside_rows * (small ? 0.4 : 0.6)
                              : one_wave                         ? outside_rows_of_one_wave
                              : !small || row.config.cluster > 1 ? outside_rows
                              : columns(row.config) > 64         ? 0
                                                                 : outside_rows_of_64;
  const double outside =
      row.config.grouped ? 0 : std::max(0.0, 1 - static_cast<double>(p.m) / tile_rows) * most_outside;
  const double from_memory =
      (1 + outside) * ((tiles - last) * of_tile / memory_rate(device.sms, false, device) +
                       (last > 0 ? last * of_tile / memory_rate(last, tail && !gated, device) : 0)) +
      (tail ? std::min(tail_clocks, of_tile / memory_bytes_per_clock) : 0);
  Clocks clocks = clocks_of_tiles(row, p, device);
  const double work = clocks.total, waves = shared ? 1 : std::ceil(tiles / device.sms);
  const double start = start_clocks + (row.config.cluster > 1 ? cluster_start_clocks : 0);
  // A persistent block loads its next tile while it ends one.
  const double waits = not_hidden / (row.config.persistent ? std::max(1.0, waves / 2) : 1);
  clocks.total = std::max(work, start + from_memory + waits * std::min(work, from_memory));
  clocks.memory = clocks.total - work;
  return clocks;
}

inline Prediction model(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Clocks clocks = clocks_of(row, p, device);
  return predict(clocks, slowed_by_power(clocks, p, device), repack_of(row.config, p, false), p, device);
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr KernelFamily family{.fits = fits,
                                     .arrange = arrange_alike,
                                     .footprint = footprint,
                                     .model = model,
                                     .lesson = lesson,
                                     .repack = repack_of};

}  // namespace wgmma
}  // namespace ridge::gemm_detail
