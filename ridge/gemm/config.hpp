// Config: what one GEMM kernel is made with, and every fact about it that host and kernel share. A user who
// instantiates a kernel writes a Config of his own.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/gemm/groups.hpp>
#include <ridge/gemm/raster.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace ridge::gemm_kernels {

enum class Family : std::uint8_t {
  naive,        // naive.cuh: a thread per element of D
  shared,       // shared.cuh: a thread per element, operands from shared memory
  thread_tile,  // thread_tile.cuh: a tile of D in each thread's registers
  wmma,         // sm80_wmma.cuh: tensor cores by the interface of CUDA C++, from Ampere on
  mma_sync,     // sm80_mma.cuh: tensor cores that warps feed from registers, from Ampere on
  wgmma,        // sm90_wgmma.cuh: Hopper's tensor cores, fed by TMA
  wgmma_split,  // sm90_split.cuh: the same, the blocks of a cluster sharing the products of one tile
  tma_tile,     // sm90_thread_tile.cuh: as thread_tile, with tiles that TMA brings
};

// Who does what in a kernel of Family::wgmma.
enum class Schedule : std::uint8_t {
  one,          // one warpgroup loads, multiplies and stores
  cooperative,  // a warp loads; one or two warpgroups each multiply rows of one tile
  ping_pong,    // a warp loads; two warpgroups each have tiles of their own, and one stores while the other multiplies
};

// How operands are read from global memory.
enum class Loads : std::uint8_t {
  strided,   // element by element, any strides
  elements,  // the same, of operands whose elements are neighbours in one axis and whose rows start anywhere
  vectors,   // 16 bytes at a time, from such operands whose rows start on 16 bytes
};

// How loading overlaps computing; tile/pipeline.cuh.
enum class Pipeline : std::uint8_t { single, double_buffer, multistage };

struct Config {
  Family family = Family::thread_tile;
  int bm = 128, bn = 128, bk = 8;  // block tile: bm x bn elements of D from bk of each operand at a time
  int tm = 8, tn = 8;              // thread tile
  int wm = 64, wn = 32;            // warp tile, of Family::mma_sync and Family::wmma
  Loads loads = Loads::vectors;
  Pipeline pipeline = Pipeline::single;
  int stages = 1;              // of a multistage pipeline, as of Family::mma_sync, or buffers of Family::wgmma
  bool conflict_free = false;  // padded tiles in shared memory, and lanes laid out to read them without conflicts
  int blocks_per_sm = 1;       // least residency asked of the compiler
  // Of Family::wgmma:
  Schedule schedule = Schedule::one;
  bool persistent = false;  // as many blocks as run at a time, each of which takes tiles until there are no more
  int cluster = 1;          // blocks, one below the other, that share their columns of B
  int band = 8;             // clusters in a band of the raster
  int line = 128;           // bytes of a step along k, of either operand: a line of the swizzle; K-major also 64
  int promote = 0;          // steps whose sums are added to float32 outside of the tensor cores; 0: all stay in them
  int k_groups = 1;         // of Family::tma_tile: groups of a block's warps, each of which has steps of its own
  // Of Family::thread_tile, Family::mma_sync and Family::wgmma (and gated of Family::naive):
  bool gated = false;    // two operands B and G: half of a tile's bn columns are of A B, and half the same ones of A G
  bool grouped = false;  // a B for each group of A's rows: groups.hpp
  bool operator==(const Config&) const = default;
};

// The axis in which an operand's elements are neighbours. `outer` is M for A and N for B.
enum class Major : std::uint8_t { none, k, outer };

// With slices > 1 blocks share the products of a tile: each has slice_k of k, the last slice what is left.
struct Shape {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  std::int64_t slices = 1, slice_k = 0;
};

// Which products part `part` of batch x slices is of.
struct Slice {
  std::int64_t batch, first, k;  // `k` of them, from `first` on
};
RIDGE_HD constexpr Slice slice_of(const Shape& s, std::int64_t part) {
  if (s.slices == 1) return {part, 0, s.k};
  const std::int64_t batch = part / s.slices, first = (part - batch * s.slices) * s.slice_k, left = s.k - first;
  return {batch, first, left < s.slice_k ? left : s.slice_k};
}

// An operand, A as [m, k] and B as [n, k] of elements T.
template <class T> struct Operand {
  const T* data = nullptr;
  std::int64_t outer_stride = 0, k_stride = 0, batch_stride = 0;
};
// B, or with Config::gated B and G, whose elements are neighbours in the same axis.
template <class T> struct GatedOperand { Operand<T> b, gate; };
template <class Row, class T> using OperandB = std::conditional_t<Row::config.gated, GatedOperand<T>, Operand<T>>;

// What a slice has of an operand, as the only matrix.
template <class T> RIDGE_HD constexpr Operand<T> slice_of(const Operand<T>& o, const Slice& s) {
  return {o.data + s.batch * o.batch_stride + s.first * o.k_stride, o.outer_stride, o.k_stride, 0};
}
template <class T> RIDGE_HD constexpr GatedOperand<T> slice_of(const GatedOperand<T>& o, const Slice& s) {
  return {slice_of(o.b, s), slice_of(o.gate, s)};
}

// Whether every backend has it; else it is compiled by nvcc alone.
constexpr bool is_hopper(const Config& c) {
  return c.family == Family::wgmma || c.family == Family::wgmma_split || c.family == Family::tma_tile;
}
constexpr bool is_portable(const Config& c) {
  return c.family != Family::mma_sync && c.family != Family::wmma && !is_hopper(c);
}

// Columns of D that a tile has.
constexpr int columns(const Config& c) { return c.gated && c.family != Family::naive ? c.bn / 2 : c.bn; }
// Tiles whose columns are no groups of 64: B, or B and G, then lie along k, and A does as in most layers.
constexpr bool has_odd_columns(const Config& c) { return c.family == Family::wgmma && columns(c) % 64 != 0; }
// Rows of D with a gate are made for layers' inputs, and groups begin at any row, which is on 16 bytes along k alone.
constexpr bool a_is_k_major(const Config& c) {
  return ((c.gated || c.grouped) && c.loads != Loads::strided) || has_odd_columns(c);
}

// ---- facts --------------------------------------------------------------------------------------------------------

inline constexpr int access_bytes = 16;  // of Loads::vectors, and of every vector access of shared memory

// Elements along k that one element of shared memory holds: signed bytes are multiplied four at a time.
constexpr int pack(DType dtype) { return dtype == DType::i8 ? 4 : 1; }
// Bytes of what shared memory holds and of what is accumulated: float, double, or a word of four signed bytes and int.
constexpr int staged_bytes(DType dtype) { return dtype == DType::f64 ? 8 : 4; }
// Staged elements that one access of shared memory moves.
constexpr int fragment(DType dtype) { return access_bytes / staged_bytes(dtype); }

// Warpgroups that multiply, and rows of a tile that each of them has.
constexpr int multipliers(const Config& c) {
  return c.schedule == Schedule::ping_pong || (c.schedule == Schedule::cooperative && c.bm > 64) ? 2 : 1;
}
constexpr int rows_of_multiplier(const Config& c) {
  return c.schedule == Schedule::cooperative ? c.bm / multipliers(c) : c.bm;
}

// Sums in registers of a thread that multiplies: of a tile, and with Config::promote of a part of k. Where there is
// room, of two parts, one of which is added to the tile's while the other is under way.
inline constexpr int most_sums = 192;
constexpr int tile_sums(const Config& c) { return rows_of_multiplier(c) / 64 * c.bn / 2; }
constexpr bool has_two_parts(const Config& c) { return c.promote == 1 && 3 * tile_sums(c) <= most_sums; }
// Whether all of those registers are one tile's, which leaves none for an epilogue that reads vectors of what it adds:
// then D and addends have to be as TMA stores and brings them.
constexpr bool is_by_columns_alone(const Config& c) { return c.family == Family::wgmma && tile_sums(c) >= most_sums; }
// Rows whose D may be of float32 beside operands of fewer bits, by TMA.
constexpr bool stores_float(const Config& c) {
  return c.family == Family::wgmma && !is_by_columns_alone(c) && !c.gated;
}

// Of Family::wgmma_split, bm is of the operand whose rows wgmma takes 64 at a time, A or B, and bn of the other one.
// Each 64 rows have a warpgroup; a further warp loads.
constexpr int split_multipliers(const Config& c) { return c.bm / 64; }

constexpr int threads(const Config& c) {
  if (c.family == Family::wgmma_split) return 128 * split_multipliers(c) + 32;
  if (c.family == Family::wgmma) return 128 * (multipliers(c) + (c.schedule == Schedule::one ? 0 : 1));
  if (c.family == Family::mma_sync || c.family == Family::wmma) return c.bm / c.wm * (c.bn / c.wn) * 32;
  if (c.family == Family::tma_tile) return (c.bm / c.tm) * (c.bn / c.tn) * c.k_groups;
  return c.family == Family::thread_tile ? (c.bm / c.tm) * (c.bn / c.tn) : c.bm * c.bn;
}
constexpr int stages(const Config& c) {
  return c.pipeline == Pipeline::multistage ? c.stages : c.pipeline == Pipeline::double_buffer ? 2 : 1;
}

// A tile of an operand in shared memory: [bk / pack][pitch]. 4 elements of padding put the rows of neighbouring k four
// banks apart, which is what transposing stores of k-major operands need, and keep each row on 16 bytes.
constexpr int padding(const Config& c) { return c.family == Family::shared ? 1 : c.conflict_free ? 4 : 0; }
constexpr int tile_elements(const Config& c, DType dtype, int outer) {
  return c.bk / pack(dtype) * (outer + padding(c));
}
// D's tile on its way to the epilogue passes through shared memory in parts: of each thread's rows, one fragment's
// number at a time.
constexpr int epilogue_parts(const Config& c, DType dtype) { return c.tm / fragment(dtype); }
constexpr int epilogue_pitch(const Config& c, DType dtype) { return c.bn + fragment(dtype); }

// k of one fragment of Family::mma_sync: 32 bytes. Of doubles a warp's registers hold 8 where its tile is small.
constexpr int mma_fragment_k(const Config& c, DType dtype) {
  return dtype != DType::f64 ? 32 / static_cast<int>(size_of(dtype)) : c.wm * c.wn > 32 * 32 ? 4 : 8;
}
// Whether Family::mma_sync reads a type along k alone: no instruction turns bytes.
constexpr bool mma_reads_along_k(DType dtype) { return size_of(dtype) == 1; }
// A stage, and where the sums of 16 rows of a warp's tile pass on their way to the epilogue: rows of
// so many sums, 8 banks apart for pairs of float and 16 for pairs of double.
constexpr int mma_stage_bytes(const Config& c, DType dtype) {
  return (c.bm + c.bn) * c.bk * static_cast<int>(size_of(dtype));
}
inline constexpr int mma_rows = 16;
constexpr int mma_epilogue_pitch(const Config& c) { return c.wn + 8; }
constexpr int mma_smem_bytes(const Config& c, DType dtype) {
  const int warp = mma_rows * mma_epilogue_pitch(c) * staged_bytes(dtype);
  return std::max(c.stages * mma_stage_bytes(c, dtype), threads(c) / 32 * warp);
}

// Family::wmma multiplies 16 x 16 by 16 x 16. Rows of its tiles in shared memory, of elements of 16 bits: 16 bytes
// longer than they need be, so that those below each other begin in different banks.
inline constexpr int wmma_edge = 16;
constexpr int wmma_pitch(int elements) { return elements + 8; }
constexpr int wmma_smem_bytes(const Config& c) {
  const int operands = 2 * (c.bm * wmma_pitch(c.bk) + c.bk * wmma_pitch(c.bn));
  return std::max(operands, threads(c) / 32 * wmma_edge * wmma_edge * 4);
}

// The tiles of clusters.
RIDGE_HD constexpr Raster wgmma_raster(Config c, std::int64_t m, std::int64_t n) {
  Raster raster = raster_of(m, n, c.bm * c.cluster, columns(c));
  raster.group = c.band;
  return raster;
}

// Shared memory of Family::wgmma: [stages][A | B], then D on its way out, the bias in float, barriers.
// A step along k is a line of the 128-byte swizzle of either operand, whatever the type.
inline constexpr int wgmma_line_bytes = 128;
constexpr int wgmma_stage_bytes(const Config& c) { return (c.bm + c.bn) * c.line; }
constexpr int wgmma_staging_bytes = 4096;  // of each warp that multiplies
constexpr int wgmma_bias_at(const Config& c) {
  return c.stages * wgmma_stage_bytes(c) + multipliers(c) * 4 * wgmma_staging_bytes;
}
constexpr int wgmma_barriers_at(const Config& c) { return wgmma_bias_at(c) + multipliers(c) * c.bn * 4; }
constexpr int wgmma_smem_bytes(const Config& c) { return wgmma_barriers_at(c) + (2 * c.stages + 2) * 8; }
// Blocks, or clusters of them, that a launch has.
constexpr std::int64_t wgmma_at_a_time(const Config& c, int sms) {
  return c.persistent ? std::max(sms / c.cluster, 1) : max_tiles / c.cluster;
}
// A tensor of D's shape that is added to a tile comes as steps of the tile, in the place of operands: the first ones,
// where the sums begin with it, or the last ones, where it is added to what the sums have become. It comes in pieces of
// 64 rows and a line of the swizzle, of which the last one may reach into the next tile; `size`: bytes of an element.
inline constexpr int addend_rows = 64, addend_piece_bytes = addend_rows * wgmma_line_bytes;
constexpr int addend_pieces(const Config& c, int size) {
  return c.bm / addend_rows * ((columns(c) * size + wgmma_line_bytes - 1) / wgmma_line_bytes);
}
constexpr int addend_pieces_of_stage(const Config& c) { return wgmma_stage_bytes(c) / addend_piece_bytes; }
constexpr int addend_steps(const Config& c, int size) {
  return (addend_pieces(c, size) + addend_pieces_of_stage(c) - 1) / addend_pieces_of_stage(c);
}
// The ring holds all of them, and a warp that only loads is ahead. In ping-pong a warpgroup waits for them before it
// has read its last two steps.
constexpr bool takes_addend(const Config& c, int size) {
  return c.family == Family::wgmma && c.schedule != Schedule::one &&
         addend_steps(c, size) <= c.stages - (c.schedule == Schedule::ping_pong ? 2 : 0);
}
// Which of the two, where the result allows either. As first steps an addend comes beside the products of the tile
// before; of a block's only tile, it comes beside that tile's own products as the last ones.
constexpr bool addend_comes_first(const Config& c, std::int64_t clusters, int sms) {
  return clusters > wgmma_at_a_time(c, sms);
}

// Family::wgmma_split. Of a tile each block of a cluster adds up a share of the narrow operand's columns, in groups of
// 8, a power of two of them; blocks for which there are none left add nothing.
inline constexpr int max_split = 8;  // blocks of a cluster, on every device that has clusters; a power of two
constexpr int split_share_log2(const Config& c, int split) {
  int log2 = 0;
  while ((split * 8 << log2) < c.bn) ++log2;
  return log2;
}
// Shared memory: [stages][wide | narrow], the sums that a block receives, [from another block of the cluster][group of
// 8 columns of its share][thread][4], barriers. Large sums take the stages' place, when all products are done.
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
// Narrow operands of 16 rows that TMA does not bring as wgmma reads them (Major::none): the loader's warpgroup has
// three more warps, which gather them.
inline constexpr int split_gatherers = 3;
constexpr bool split_gathers(const Config& c) { return c.family == Family::wgmma_split && c.bn == 16; }
constexpr int split_threads(const Config& c, bool gathers) { return threads(c) + (gathers ? split_gatherers * 32 : 0); }
// Blocks that are no cluster's and gather nothing stay, one on a multiprocessor, and take tiles until none is left:
// the next kernel's first block has room beside each.
constexpr bool split_stays(int split, bool gathers) { return split == 1 && !gathers; }
constexpr std::int64_t split_blocks(std::int64_t tiles, int split, bool gathers, int sms) {
  return split_stays(split, gathers) ? std::min<std::int64_t>(tiles, sms) : tiles * split;
}
// Narrower tiles of the narrow operand lie along k: along its rows TMA would bring 64 of them.
constexpr bool narrow_is_k_major(const Config& c) {
  return (c.family == Family::wgmma_split && c.bn < 64) || has_odd_columns(c);
}

// Family::tma_tile: [stages][down | across] of float, whose place each group's sums take in the end, then two barriers
// and a count for each stage.
constexpr int tma_tile_barriers_at(const Config& c) {
  return std::max(c.stages * (c.bm + c.bn) * c.bk, c.k_groups * c.bm * (c.bn + 4)) * 4;
}
constexpr int tma_tile_smem_bytes(const Config& c) { return tma_tile_barriers_at(c) + c.stages * 20; }

// Blocks along a grid's x: the tiles of D, or those that groups may have, wherever they begin; of such, shape's batch
// is the number.
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
