// Config: the parameters of one GEMM kernel, and every fact about it that host and kernel share. A user who
// instantiates a kernel writes their own Config.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/core/vector_access.hpp>
#include <ridge/gemm/groups.hpp>
#include <ridge/gemm/raster.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace ridge::gemm_kernels {

enum class Family : std::uint8_t {
  naive,        // textbook.cuh: a thread per element of D
  shared,       // textbook.cuh: a thread per element, operands from shared memory
  thread_tile,  // thread_tile.cuh: a tile of D in each thread's registers
  wmma,         // sm80_wmma.cuh: tensor cores by CUDA C++'s WMMA interface, from Ampere on
  mma_sync,     // sm80_mma.cuh: tensor cores fed from registers (mma.sync), from Ampere on
  wgmma,        // sm90_wgmma.cuh: Hopper's tensor cores, fed by TMA
  wgmma_split,  // sm90_split.cuh: likewise, with split-K over the blocks of a cluster
  tma_tile,     // sm90_thread_tile.cuh: thread_tile with tiles loaded by TMA
};

// Warp specialization in a kernel of Family::wgmma.
enum class Schedule : std::uint8_t {
  one,          // one warpgroup loads, multiplies and stores
  cooperative,  // a producer warp; one or two consumer warpgroups, each with some rows of the same tile
  ping_pong,    // a producer warp; two consumer warpgroups with a tile each: one stores while the other multiplies
};

// How operands are read from global memory.
enum class Loads : std::uint8_t {
  strided,   // element by element, any strides
  elements,  // likewise, for operands contiguous along one axis whose rows start anywhere
  vectors,   // 16 bytes at a time, for such operands whose rows are 16-byte aligned
};

// How loads overlap computation; tile/pipeline.cuh.
enum class Pipeline : std::uint8_t { single, double_buffer, multistage };

struct Config {
  Family family = Family::thread_tile;
  int bm = 128, bn = 128, bk = 8;  // block tile: bm x bn elements of D, and bk of each operand per step
  int tm = 8, tn = 8;              // thread tile
  int wm = 64, wn = 32;            // warp tile of Family::mma_sync and Family::wmma
  Loads loads = Loads::vectors;
  Pipeline pipeline = Pipeline::single;
  int stages = 1;              // of a multistage pipeline, as in Family::mma_sync; buffers of Family::wgmma
  bool conflict_free = false;  // padded tiles in shared memory, and lanes arranged to read them without conflicts
  int blocks_per_sm = 1;       // minimum residency that the compiler is asked for
  // For Family::wgmma:
  Schedule schedule = Schedule::one;
  bool persistent = false;  // only as many blocks as run at a time; each takes tiles until none is left
  int cluster = 1;          // blocks, one below the other, that share their columns of B by multicast
  int raster_group = 8;     // rows of clusters in a rasterization group
  int line = 128;           // bytes of a step along k in either operand: a line of the swizzle; 64 for K-major only
  int promote = 0;          // steps after which sums are added to float32 outside the tensor cores; 0: never
  int k_groups = 1;         // for Family::tma_tile: groups of a block's warps, each with its own steps
  // For Family::thread_tile, Family::mma_sync and Family::wgmma (and `gated` for Family::naive):
  bool gated = false;    // two operands B and G: half of a tile's bn columns belong to A B, and the same ones to A G
  bool grouped = false;  // a B for each group of A's rows: groups.hpp
  bool operator==(const Config&) const = default;
};

// The axis along which an operand is contiguous. `outer` is M for A and N for B.
enum class Major : std::uint8_t { none, k, outer };

// With slices > 1 blocks share the products of a tile (split-K): each has slice_k of k, the last slice the rest.
struct Shape {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  std::int64_t slices = 1, slice_k = 0;
};

// The products that part `part` of batch x slices computes.
struct Slice {
  std::int64_t batch, first, k;  // `k` of them, from `first` on
};
RIDGE_HD constexpr Slice slice_of(const Shape& s, std::int64_t part) {
  if (s.slices == 1) return {part, 0, s.k};
  const std::int64_t batch = part / s.slices, first = (part - batch * s.slices) * s.slice_k, left = s.k - first;
  return {batch, first, left < s.slice_k ? left : s.slice_k};
}

// An operand of elements T: A as [m, k], B as [n, k].
template <class T> struct Operand {
  const T* data = nullptr;
  std::int64_t outer_stride = 0, k_stride = 0, batch_stride = 0;
};
// B; with Config::gated B and G, contiguous along the same axis.
template <class T> struct GatedOperand { Operand<T> b, gate; };
template <class Policy, class T> using OperandB = std::conditional_t<Policy::config.gated, GatedOperand<T>, Operand<T>>;

// The part of an operand that a slice reads, as its only matrix.
template <class T> RIDGE_HD constexpr Operand<T> slice_of(const Operand<T>& o, const Slice& s) {
  return {o.data + s.batch * o.batch_stride + s.first * o.k_stride, o.outer_stride, o.k_stride, 0};
}
template <class T> RIDGE_HD constexpr GatedOperand<T> slice_of(const GatedOperand<T>& o, const Slice& s) {
  return {slice_of(o.b, s), slice_of(o.gate, s)};
}

// Hopper's families; portable ones exist on every backend, the others are compiled by nvcc alone.
constexpr bool is_hopper(const Config& c) {
  return c.family == Family::wgmma || c.family == Family::wgmma_split || c.family == Family::tma_tile;
}
constexpr bool is_portable(const Config& c) {
  return c.family != Family::mma_sync && c.family != Family::wmma && !is_hopper(c);
}

// Columns of D in a tile.
constexpr int columns(const Config& c) { return c.gated && c.family != Family::naive ? c.bn / 2 : c.bn; }
// Tiles whose columns are not whole groups of 64: B, or B and G, are then K-major, and A is, as in most layers.
constexpr bool has_odd_columns(const Config& c) { return c.family == Family::wgmma && columns(c) % 64 != 0; }
// Kernels with a gate are made for layers' inputs; groups begin at any row, which is 16-byte aligned along k only.
constexpr bool a_is_k_major(const Config& c) {
  return ((c.gated || c.grouped) && c.loads != Loads::strided) || has_odd_columns(c);
}

// ---- facts --------------------------------------------------------------------------------------------------------

inline constexpr int access_bytes = vector_bytes;  // of Loads::vectors, and of every vector access to shared memory

// Elements along k packed in one element of shared memory: signed bytes are multiplied four at a time.
constexpr int pack(DType dtype) { return dtype == DType::i8 ? 4 : 1; }
// Bytes of a staged or an accumulated element: float, double, or a word of four signed bytes and int.
constexpr int staged_bytes(DType dtype) { return dtype == DType::f64 ? 8 : 4; }
// Staged elements that one access to shared memory moves.
constexpr int fragment(DType dtype) { return access_bytes / staged_bytes(dtype); }

// Consumer warpgroups, and the rows of a tile that each of them has.
constexpr int consumers(const Config& c) {
  return c.schedule == Schedule::ping_pong || (c.schedule == Schedule::cooperative && c.bm > 64) ? 2 : 1;
}
constexpr int rows_of_consumer(const Config& c) {
  return c.schedule == Schedule::cooperative ? c.bm / consumers(c) : c.bm;
}

// Accumulators in a consumer thread's registers: those of a tile, and with Config::promote those of a part of k. Where
// there is room, of two parts: one is added to the tile's sums while the other is being multiplied.
inline constexpr int most_sums = 192;
constexpr int tile_sums(const Config& c) { return rows_of_consumer(c) / 64 * c.bn / 2; }
constexpr bool has_two_parts(const Config& c) { return c.promote == 1 && 3 * tile_sums(c) <= most_sums; }
// Whether one tile takes all accumulator registers and leaves none for an epilogue that reads vectors of addends: then
// TMA must be able to store D and load the addends.
constexpr bool is_by_columns_alone(const Config& c) { return c.family == Family::wgmma && tile_sums(c) >= most_sums; }
// Configs whose D may be float32 with operands of fewer bits, stored by TMA.
constexpr bool stores_float(const Config& c) {
  return c.family == Family::wgmma && !is_by_columns_alone(c) && !c.gated;
}

// In Family::wgmma_split, bm belongs to the operand on wgmma's M side, A or with swap-AB B, and bn to the other one.
// Each 64 rows have a consumer warpgroup; one further warp is the producer.
constexpr int split_consumers(const Config& c) { return c.bm / 64; }

constexpr int threads(const Config& c) {
  if (c.family == Family::wgmma_split) return 128 * split_consumers(c) + 32;
  if (c.family == Family::wgmma) return 128 * (consumers(c) + (c.schedule == Schedule::one ? 0 : 1));
  if (c.family == Family::mma_sync || c.family == Family::wmma) return c.bm / c.wm * (c.bn / c.wn) * 32;
  if (c.family == Family::tma_tile) return (c.bm / c.tm) * (c.bn / c.tn) * c.k_groups;
  return c.family == Family::thread_tile ? (c.bm / c.tm) * (c.bn / c.tn) : c.bm * c.bn;
}
constexpr int stages(const Config& c) {
  return c.pipeline == Pipeline::multistage ? c.stages : c.pipeline == Pipeline::double_buffer ? 2 : 1;
}

// A tile of an operand in shared memory: [bk / pack][pitch]. 4 elements of padding put rows of neighbouring k four
// banks apart, as transposing stores of k-major operands need, and keep each row 16-byte aligned.
constexpr int padding(const Config& c) { return c.family == Family::shared ? 1 : c.conflict_free ? 4 : 0; }
constexpr int tile_elements(const Config& c, DType dtype, int outer) {
  return c.bk / pack(dtype) * (outer + padding(c));
}
// D's tile passes through shared memory to the epilogue in parts: one fragment of each thread's rows at a time.
constexpr int epilogue_parts(const Config& c, DType dtype) { return c.tm / fragment(dtype); }
constexpr int epilogue_pitch(const Config& c, DType dtype) { return c.bn + fragment(dtype); }

// k of one fragment of Family::mma_sync: 32 bytes. For doubles, registers hold k = 8 only if the warp's tile is small.
constexpr int mma_fragment_k(const Config& c, DType dtype) {
  return dtype != DType::f64 ? 32 / static_cast<int>(size_of(dtype)) : c.wm * c.wn > 32 * 32 ? 4 : 8;
}
// Whether Family::mma_sync reads a type along k only: no instruction transposes bytes.
constexpr bool mma_reads_along_k(DType dtype) { return size_of(dtype) == 1; }
// Bytes of a stage; and the pitch at which the sums of 16 rows of a warp's tile pass to the epilogue: 8 banks from row
// to row for pairs of float, 16 for pairs of double.
constexpr int mma_stage_bytes(const Config& c, DType dtype) {
  return (c.bm + c.bn) * c.bk * static_cast<int>(size_of(dtype));
}
inline constexpr int mma_rows = 16;
constexpr int mma_epilogue_pitch(const Config& c) { return c.wn + 8; }
constexpr int mma_smem_bytes(const Config& c, DType dtype) {
  const int warp = mma_rows * mma_epilogue_pitch(c) * staged_bytes(dtype);
  return std::max(c.stages * mma_stage_bytes(c, dtype), threads(c) / 32 * warp);
}

// Family::wmma multiplies 16 x 16 by 16 x 16. Rows of its tiles of 16-bit elements in shared memory are padded by 16
// bytes, so that consecutive ones begin in different banks.
inline constexpr int wmma_edge = 16;
constexpr int wmma_pitch(int elements) { return elements + 8; }
constexpr int wmma_smem_bytes(const Config& c) {
  const int operands = 2 * (c.bm * wmma_pitch(c.bk) + c.bk * wmma_pitch(c.bn));
  return std::max(operands, threads(c) / 32 * wmma_edge * wmma_edge * 4);
}

// The tiles, in clusters.
RIDGE_HD constexpr Raster wgmma_raster(Config c, std::int64_t m, std::int64_t n) {
  Raster raster = raster_of(m, n, c.bm * c.cluster, columns(c));
  raster.group = c.raster_group;
  return raster;
}

// Shared memory of Family::wgmma: [stages][A | B], staging of D, the bias in float, barriers.
// For every type, a step along k is one line of the 128-byte swizzle in either operand.
inline constexpr int wgmma_line_bytes = 128;
constexpr int wgmma_stage_bytes(const Config& c) { return (c.bm + c.bn) * c.line; }
constexpr int wgmma_staging_bytes = 4096;  // per consumer warp
constexpr int wgmma_bias_at(const Config& c) {
  return c.stages * wgmma_stage_bytes(c) + consumers(c) * 4 * wgmma_staging_bytes;
}
constexpr int wgmma_barriers_at(const Config& c) { return wgmma_bias_at(c) + consumers(c) * c.bn * 4; }
constexpr int wgmma_smem_bytes(const Config& c) { return wgmma_barriers_at(c) + (2 * c.stages + 2) * 8; }
// Blocks, or clusters of them, in a launch.
constexpr std::int64_t wgmma_at_a_time(const Config& c, int sms) {
  return c.persistent ? std::max(sms / c.cluster, 1) : max_tiles / c.cluster;
}
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
  return c.family == Family::wgmma && c.schedule != Schedule::one &&
         addend_steps(c, size) <= c.stages - (c.schedule == Schedule::ping_pong ? 2 : 0);
}
// Chooses between the two where the result allows either. As first steps, the addend's loads overlap the previous
// tile's products; in a block's only tile they overlap that tile's own products as last steps.
constexpr bool addend_comes_first(const Config& c, std::int64_t clusters, int sms) {
  return clusters > wgmma_at_a_time(c, sms);
}

// Family::wgmma_split. Each block of a cluster sums a share of the tile's skinny columns: a power of two of groups of
// 8. Blocks for which no groups are left sum nothing.
inline constexpr int max_split = 8;  // blocks of a cluster, available on every device with clusters; a power of two
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
constexpr int split_sums_bytes(const Config& c) { return split_received_bytes(c, max_split); }
constexpr bool split_sums_apart(const Config& c) { return c.bm * c.bn <= 64 * 128; }
constexpr int split_sums_at(const Config& c) { return split_sums_apart(c) ? c.stages * wgmma_stage_bytes(c) : 0; }
constexpr int split_barriers_at(const Config& c) {
  return c.stages * wgmma_stage_bytes(c) + (split_sums_apart(c) ? split_sums_bytes(c) : 0);
}
constexpr int split_smem_bytes(const Config& c) { return split_barriers_at(c) + (3 * c.stages + 1) * 8; }
// Skinny operands of 16 rows that TMA cannot load in wgmma's layout (Major::none): the producer warpgroup has three
// more warps, which gather them.
inline constexpr int split_gatherers = 3;
constexpr bool split_gathers(const Config& c) { return c.family == Family::wgmma_split && c.bn == 16; }
constexpr int split_threads(const Config& c, bool gathers) { return threads(c) + (gathers ? split_gatherers * 32 : 0); }
// Blocks without a cluster that gather nothing are persistent, one per multiprocessor: the next kernel's first block
// has room beside each.
constexpr bool split_stays(int split, bool gathers) { return split == 1 && !gathers; }
constexpr std::int64_t split_blocks(std::int64_t tiles, int split, bool gathers, int sms) {
  return split_stays(split, gathers) ? std::min<std::int64_t>(tiles, sms) : tiles * split;
}
// Tiles of fewer than 64 skinny rows are K-major: along the other axis TMA would load 64 rows.
constexpr bool skinny_is_k_major(const Config& c) {
  return (c.family == Family::wgmma_split && c.bn < 64) || has_odd_columns(c);
}

// Family::tma_tile: [stages][down | across] of float, reused in the end for each group's sums; then two barriers and a
// count per stage.
constexpr int tma_tile_barriers_at(const Config& c) {
  return std::max(c.stages * (c.bm + c.bn) * c.bk, c.k_groups * c.bm * (c.bn + 4)) * 4;
}
constexpr int tma_tile_smem_bytes(const Config& c) { return tma_tile_barriers_at(c) + c.stages * 20; }

// Blocks along a grid's x: the tiles of D, or the most that groups may have wherever they begin; the number of groups
// is shape.batch.
constexpr std::int64_t tiles_of(const Config& c, const Shape& shape) {
  const Raster tiles = raster_of(shape.m, shape.n, c.bm, columns(c));
  return c.grouped ? group_slots(shape.m, shape.batch, c.bm) * tiles.cols : tiles.tiles();
}

// Dynamic shared memory.
constexpr int smem_bytes(const Config& c, DType dtype) {
  if (c.family == Family::wgmma) return wgmma_smem_bytes(c);
  if (c.family == Family::wgmma_split) return split_smem_bytes(c);
  if (c.family == Family::tma_tile) return tma_tile_smem_bytes(c);
  if (c.family == Family::mma_sync) return mma_smem_bytes(c, dtype);
  if (c.family == Family::wmma) return wmma_smem_bytes(c);
  if (c.family == Family::naive) return 0;
  if (c.family == Family::shared) return c.bk * (c.bm + c.bn + 2 * padding(c)) * staged_bytes(dtype);
  const int operands = stages(c) * (tile_elements(c, dtype, c.bm) + tile_elements(c, dtype, c.bn));
  const int part = c.bm / epilogue_parts(c, dtype) * epilogue_pitch(c, dtype);
  return std::max(operands, part) * staged_bytes(dtype);
}

}  // namespace ridge::gemm_kernels
