// Config: the parameters of one GEMM kernel, and what every family of kernels makes of them. Facts of one family are in
// the header beside its .cuh. A user who instantiates a kernel writes their own Config.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/core/vector_access.hpp>
#include <ridge/gemm/groups.hpp>
#include <ridge/gemm/raster.hpp>

#include <cstdint>
#include <type_traits>

namespace ridge::gemm_kernels {

// In the order of `families` (families.hpp).
enum class Family : std::uint8_t {
  naive,        // textbook.cuh: a thread per element of D
  shared,       // textbook.cuh: a thread per element, operands from shared memory
  thread_tile,  // thread_tile.cuh: a tile of D in each thread's registers
  wmma,         // sm80_wmma.cuh: tensor cores by CUDA C++'s WMMA interface, from Ampere on
  mma_sync,     // sm80_mma.cuh: tensor cores fed from registers (mma.sync), from Ampere on
  mma_stream,   // sm80_stream.cuh: the same for few columns and short k, with all of B in shared memory
  mma_direct,   // sm80_direct.cuh: the same for few rows of A, with B from memory straight to registers
  wgmma,        // sm90_wgmma.cuh: Hopper's tensor cores, fed by TMA
  wgmma_split,  // sm90_split.cuh: likewise, with split-K over the blocks of a cluster
  tma_tile,     // sm90_thread_tile.cuh: thread_tile with tiles loaded by TMA
  sliced,       // sliced.cu: slices of k as a batch, by a plan of their own
};
inline constexpr int family_count = 11;

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
  pieces,    // for such operands too: the aligned 16 bytes that hold what a row has, as they are
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
  bool stream_k = false;    // persistent blocks share the last tiles' steps: stream_k.hpp
  int promote = 0;          // steps after which sums are added to float32 outside the tensor cores; 0: never. Also for
                            // Family::mma_sync
  int k_groups = 1;  // for Family::tma_tile and Family::mma_direct: groups of a block's warps, or warps, each with
                     // its own steps
  // For Family::thread_tile, Family::mma_sync and Family::wgmma (and `gated` for Family::naive):
  bool gated = false;      // two operands B and G: half of a tile's bn columns belong to A B, and the same ones to A G;
                           // for Family::wgmma_split, half of its bm rows of the wide operand
  bool grouped = false;    // a B for each group of A's rows: groups.hpp
  bool two_float = false;  // sums of products in double-float arithmetic: tile/two_float.cuh
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

// Columns of D in a tile with halves of B and G.
constexpr int columns(const Config& c) { return c.gated ? c.bn / 2 : c.bn; }
// Kernels with a gate are made for layers' inputs; groups begin at any row, which is 16-byte aligned along k only.
constexpr bool a_is_k_major(const Config& c) { return (c.gated || c.grouped) && c.loads != Loads::strided; }

// Blocks along a grid's x: the tiles of D, or the most that groups may have wherever they begin; the number of groups
// is shape.batch.
constexpr std::int64_t tiles_of(const Config& c, const Shape& shape) {
  const Raster tiles = raster_of(shape.m, shape.n, c.bm, columns(c));
  return c.grouped ? group_slots(shape.m, shape.batch, c.bm) * tiles.cols : tiles.tiles();
}

// ---- element types ------------------------------------------------------------------------------------------------

inline constexpr int access_bytes = vector_bytes;  // of Loads::vectors, and of every vector access to shared memory

// Elements along k packed in one element of shared memory: signed bytes are multiplied four at a time.
constexpr int pack(DType dtype) { return dtype == DType::i8 ? 4 : 1; }
// Bytes of a staged or an accumulated element: float, double, or a word of four signed bytes and int.
constexpr int staged_bytes(DType dtype) { return dtype == DType::f64 ? 8 : 4; }
// Staged elements that one access to shared memory moves.
constexpr int fragment(DType dtype) { return access_bytes / staged_bytes(dtype); }

}  // namespace ridge::gemm_kernels
