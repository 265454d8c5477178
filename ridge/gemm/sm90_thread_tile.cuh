// The thread tile with TMA instead of copying threads: tiles of float in shared memory in the operands' own layout, so
// that a warp executes multiply-adds, reads of fragments, and little else.
//
// The limit then is which registers a multiply-add reads. Registers form two banks, of even and of odd numbers, each of
// which delivers one operand a clock; a register that the next instruction reads as the same operand is kept (reuse
// cache). So of x, y and sum, the sum and one other must be new, in different banks, and the third one kept:
//
// - Sums are kept in register pairs with neighbours along y exchanged: y[j] and sum[j] differ in parity. The final
//   stores of exchanged pairs make the compiler do so. It needs neighbours of y that are read together, so y's operand
//   is contiguous along M or N, and is called `across`; the other one, `down`, has any layout.
// - x[i] is kept while j runs; then j runs backwards, so that y[j] is kept when x changes, at a j whose sum is in the
//   other bank.
//
// Where there are too few tiles to fill the multiprocessors with warps (Config::k_groups), groups of a block's warps
// each compute the whole tile for every k_groups-th step, and their sums are added in the groups' order at the end.
// Where there are fewer tiles yet, or too few for even waves, blocks share a tile's products: split-K slices.
#pragma once
#include <ridge/gemm/grid.cuh>
#include <ridge/gemm/sm90_thread_tile.hpp>
#include <ridge/gemm/sm90_wgmma_launch.cuh>
#include <ridge/tile/dependent_launch.cuh>

namespace ridge::gemm_kernels {

inline constexpr int piece_k = 4;  // of k

// The N rows of a thread among a tile's `Outer` rows of an operand, and their addresses. In each group of Lanes N rows,
// lane l has every Lanes-th row if the operand is K-major, so that eight of them lie in different banks of the swizzle;
// else fragments of four neighbours, Lanes fragments apart.
template <Major M, int Outer, int N, int Lanes> class TileFragments {
 public:
  static constexpr bool along_k = M == Major::k;
  static constexpr int line = along_k ? tile::sm90::line_bytes : Outer * 4;
  static_assert(N % 4 == 0 && (Lanes == 4 || Lanes == 8) && Outer % (Lanes * N) == 0);

  __device__ __forceinline__ TileFragments(int group, int lane) {
    first_ = group * Lanes * N + (along_k ? lane : lane * 4);
    at_ = along_k ? first_ * line + lane * 16 : first_ * 4;
  }
  // The thread's row i.
  __device__ __forceinline__ int row(int i) const { return first_ + (along_k ? i * Lanes : i / 4 * Lanes * 4 + i % 4); }

  // along_k: row i, from k = 4 piece on.
  __device__ __forceinline__ simt::vec<float, 4> row_at(const unsigned char* tile, int piece, int i) const {
    const int flip = Lanes == 4 && i % 2 ? 64 : 0;  // rows 4 to 7 of eight
    return simt::load<4>(reinterpret_cast<const float*>(tile + (at_ ^ piece * 16 ^ flip) + i * Lanes * line));
  }
  // Else: fragment f of k. TMA swizzles a line of 64 or 128 bytes, all of a k.
  __device__ __forceinline__ simt::vec<float, 4> fragment_at(const unsigned char* tile, int k, int f) const {
    constexpr int whole = tile::sm90::line_bytes;
    const int at = tile::sm90::is_swizzled(line) ? at_ ^ k / (whole / line) % (line / 16) * 16 : at_;
    return simt::load<4>(reinterpret_cast<const float*>(tile + at + k * line + f * Lanes * 16));
  }

 private:
  int first_, at_;
};

// bm and tm belong to the operand `down`, bn and tn to the one `across`. MD: the former's.
template <class Policy, Major MD> struct TmaTileKernel {
  static constexpr Config c = Policy::config;
  static constexpr int lanes_across = tma_tile_lanes_across(c), lanes_down = 32 / lanes_across;
  static constexpr int groups_across = c.bn / (lanes_across * c.tn);
  static constexpr int warps = c.bm / (lanes_down * c.tm) * groups_across;     // that share steps
  static constexpr int pieces = c.bk / piece_k, ring = c.stages / c.k_groups;  // stages of warps that share steps
  static constexpr int bytes_down = c.bm * c.bk * 4, bytes = bytes_down + c.bn * c.bk * 4;  // per stage
  static_assert(c.bk * 4 == tile::sm90::line_bytes && pieces % 2 == 0 &&
                warps * c.k_groups * 32 == tma_tile_threads(c));
  static_assert(c.stages % c.k_groups == 0);
  using Down = TileFragments<MD, c.bm, c.tm, lanes_down>;
  using Across = TileFragments<Major::outer, c.bn, c.tn, lanes_across>;
  // x is read in vectors of a piece: two rows, or one k of all rows.
  static constexpr int vectors = Down::along_k ? c.tm / 2 : piece_k, vector_floats = Down::along_k ? 8 : c.tm;

  // The t-th column j of row i in products by an x in an odd or even register. It begins where the sum is in the other
  // bank than x, and ends where the next row begins.
  static constexpr int place(int i, int odd, int t) {
    if (!Down::along_k) return i % 2 ? c.tn - 1 - t : t;
    const int forth = i % 2 ? c.tn - 1 - t : t, first = odd ? 0 : c.tn - 2;  // of two places that are exchanged
    return forth == first ? first + 1 : forth == first + 1 ? first : forth;
  }
};

struct TmaTileWork {
  int m, n, k;
  int batch_of_down, batch_of_across;  // 1; 0: the batch shares it
  int slices, slice_k;                 // split-K: slice_k is whole steps
};

// epilogue(A B)                  down: [m, k]  across: [n, k], as their maps say; SwapAB: down is B, and across A
// With slices, the epilogue gets one slice's sums, and At::batch is batch * slices + slice.
// Preconditions: cc 90; gridDim.x is the number of tiles, gridDim.z the batch times slices; k > 0.
template <class Policy, Major MD, bool SwapAB, class Epilogue>
__global__ void __launch_bounds__(tma_tile_threads(Policy::config), Policy::config.blocks_per_sm)
    gemm_tma_tile(const __grid_constant__ tile::sm90::TensorMap map_down,
                  const __grid_constant__ tile::sm90::TensorMap map_across, const __grid_constant__ TmaTileWork work,
                  const __grid_constant__ Epilogue epilogue) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    using K = TmaTileKernel<Policy, MD>;
    constexpr Config c = Policy::config;
    unsigned char* shared = sm90::swizzled_shared();
    auto* full = reinterpret_cast<sm90::Barrier*>(shared + tma_tile_barriers_at(c));
    auto* empty = full + c.stages;
    auto* used = reinterpret_cast<unsigned*>(empty + c.stages);  // how often warps have finished with a stage
    const int warp = static_cast<int>(threadIdx.x) / 32 % K::warps, lane = static_cast<int>(threadIdx.x) % 32;
    const int k_group =
        c.k_groups == 1 ? 0 : static_cast<int>(threadIdx.x) / 32 / K::warps;  // a constant where possible
    const typename K::Down down(warp / K::groups_across, lane / (2 * K::lanes_across) * 2 + lane % 2);
    const typename K::Across across(warp % K::groups_across, lane / 2 % K::lanes_across);
    const TileAt place = raster_of(SwapAB ? work.n : work.m, SwapAB ? work.m : work.n, c.bm, c.bn).at(blockIdx.x);
    const int from_down = static_cast<int>(place.row) * c.bm, from_across = static_cast<int>(place.col) * c.bn;
    const int part = static_cast<int>(blockIdx.z), batch = part / work.slices;
    const int first_k = (part - batch * work.slices) * work.slice_k;
    const int steps = (::min(work.slice_k, work.k - first_k) + c.bk - 1) / c.bk;
    if (work.slices > 1) tile::launch_dependents();  // the kernel that adds the slices up

    const auto load_down = [&](int stage, int step) {
      unsigned char* to = shared + stage * K::bytes;
      const int k = first_k + step * c.bk, of_down = batch * work.batch_of_down;
      sm90::arrive_and_expect_tx(full + stage, K::bytes);
      if constexpr (K::Down::along_k) sm90::load(&map_down, to, full + stage, k, from_down, of_down);
      else sm90::load(&map_down, to, full + stage, from_down, k, of_down);
    };
    const auto load_across = [&](int stage, int step) {
      sm90::load(&map_across, shared + stage * K::bytes + K::bytes_down, full + stage, from_across,
                 first_k + step * c.bk, batch * work.batch_of_across);
    };
    if (threadIdx.x == 0) {
      sm90::prefetch(&map_down);
      sm90::prefetch(&map_across);
      for (int s = 0; s < c.stages; ++s) {
        sm90::init(full + s, 1);
        sm90::init(empty + s, K::warps);
        used[s] = 0;
      }
      sm90::fence_init();
      const int at_once = ::min(c.stages, steps);
      for (int s = 0; s < at_once; ++s) load_down(s, s);
      tile::grid_dependency_wait();  // for the copy of the operand across
      for (int s = 0; s < at_once; ++s) load_across(s, s);
    }
    __syncthreads();

    float sums[c.tm][c.tn];
#pragma unroll
    for (int i = 0; i < c.tm; ++i)
#pragma unroll
      for (int j = 0; j < c.tn; ++j) sums[i][j] = 0;

    // The next piece of y and the next vector of x are read while these are used.
    float x[2][K::vector_floats], y[2][piece_k][c.tn];
    const auto read_y = [&](const unsigned char* stage, int piece, float(&to)[piece_k][K::c.tn]) {
#pragma unroll
      for (int k = 0; k < piece_k; ++k)
#pragma unroll
        for (int f = 0; f < c.tn / 4; ++f) {
          const auto v = across.fragment_at(stage + K::bytes_down, piece * piece_k + k, f);
#pragma unroll
          for (int i = 0; i < 4; ++i) to[k][4 * f + i] = v[i];
        }
    };
    const auto read_x = [&](const unsigned char* stage, int piece, int vector, float(&to)[K::vector_floats]) {
#pragma unroll
      for (int f = 0; f < K::vector_floats / 4; ++f) {
        const auto v = K::Down::along_k ? down.row_at(stage, piece, 2 * vector + f)
                                        : down.fragment_at(stage, piece * piece_k + vector, f);
#pragma unroll
        for (int i = 0; i < 4; ++i) to[4 * f + i] = v[i];
      }
    };
    const auto use = [&](int vector, const float(&by)[K::vector_floats], const float(&of)[piece_k][K::c.tn]) {
      constexpr int rows = K::Down::along_k ? 2 : c.tm, ks = K::Down::along_k ? piece_k : 1;
#pragma unroll
      for (int k = 0; k < ks; ++k)
#pragma unroll
        for (int i = 0; i < rows; ++i)
#pragma unroll
          for (int t = 0; t < c.tn; ++t) {
            const int j = K::place(i, k % 2, t);
            if constexpr (K::Down::along_k) sums[2 * vector + i][j] += by[4 * i + k] * of[k][j];
            else sums[i][j] += by[i] * of[vector][j];
          }
    };

    // Warps that share steps take every k_groups-th step, and stage k_groups s + k_group for each s of their pipeline.
    sm90::PipelineState<K::ring> ring;
    const auto stage_of = [&](const auto& in_ring) { return in_ring.stage * c.k_groups + k_group; };
    if (k_group < steps) {
      sm90::wait(full + k_group, 0);
      read_y(shared + k_group * K::bytes, 0, y[0]);
      read_x(shared + k_group * K::bytes, 0, 0, x[0]);
    }
    for (int step = k_group; step < steps; step += c.k_groups) {
      const auto now = ring;
      ring.next();
      const int at = stage_of(now), next_at = stage_of(ring);
      const unsigned char *stage = shared + at * K::bytes, *next_stage = shared + next_at * K::bytes;
#pragma unroll 1
      for (int piece = 0; piece < K::pieces; piece += 2) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const unsigned char* next = stage;
          int next_piece = piece + half + 1;
          if (half == 1 && next_piece == K::pieces) {
            next = next_stage;  // after the last step: stale data, unused
            next_piece = 0;
            if (step + c.k_groups < steps) sm90::wait(full + next_at, ring.parity);
          }
          read_y(next, next_piece, y[half ^ 1]);
#pragma unroll
          for (int vector = 0; vector < K::vectors; ++vector) {
            if (vector + 1 < K::vectors) read_x(stage, piece + half, vector + 1, x[(vector + 1) % 2]);
            else read_x(next, next_piece, 0, x[(vector + 1) % 2]);
            use(vector, x[vector % 2], y[half]);
          }
        }
      }
      // The last warp that finishes with a stage refills it, and no warp waits for another.
      __syncwarp();
      if (lane == 0 && step + c.stages < steps) {
        sm90::arrive(empty + at);
        if (atomicAdd(used + at, 1u) % K::warps == K::warps - 1) {
          sm90::wait(empty + at, now.parity);  // for the others' reads before they arrived
          load_down(at, step + c.stages);
          load_across(at, step + c.stages);
        }
      }
      __syncwarp();  // else one lane would go on alone, and split its warp
    }

    // Through shared memory, so that warps write whole lines and the epilogue's code exists once.
    __syncthreads();
    float* scratch = reinterpret_cast<float*>(shared);  // [k_groups][bm][pitch], neighbours across exchanged
    constexpr int pitch = c.bn + (SwapAB ? 2 : 4), group_sums = c.bm * pitch;
#pragma unroll
    for (int i = 0; i < c.tm; ++i)
#pragma unroll
      for (int j = 0; j < c.tn; j += 2)
        simt::store(scratch + k_group * group_sums + down.row(i) * pitch + across.row(j),
                    simt::vec<float, 2>{sums[i][j + 1], sums[i][j]});
    __syncthreads();
    // Warps write lines of 128 bytes; in four rows where D's columns are `down`, which spreads reads over several
    // banks. A thread's vectors lie below each other.
    constexpr int rows = SwapAB ? c.bn : c.bm, groups = (SwapAB ? c.bm : c.bn) / 4;  // of the tile of D
    constexpr int rows_of_warp = SwapAB ? 4 : 1, line = SwapAB ? 32 / rows_of_warp : groups, lines = groups / line;
    constexpr int rows_apart = tma_tile_threads(c) / groups, vectors = rows / rows_apart,
                  at_once = vectors < 4 ? vectors : 4;
    static_assert(tma_tile_threads(c) % groups == 0 && rows % rows_apart == 0 && rows_apart % rows_of_warp == 0);
    const int thread = static_cast<int>(threadIdx.x), of_group = thread / (rows_of_warp * line);
    const int first_row = of_group / lines * rows_of_warp + thread / line % rows_of_warp;
    const int at = (of_group % lines * line + thread % line) * 4;
    const int row = SwapAB ? from_across : from_down, col = SwapAB ? from_down : from_across;
#pragma unroll 1
    for (int r = first_row; r < rows; r += at_once * rows_apart) {
      simt::vec<float, 4> four[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int of_tile = r + i * rows_apart;
#pragma unroll
        for (int g = 0; g < c.k_groups; ++g) {  // in the groups' order
          simt::vec<float, 4> part_of;
          if constexpr (SwapAB) {
#pragma unroll
            for (int v = 0; v < 4; ++v) part_of[v] = scratch[g * group_sums + (at + v) * pitch + (of_tile ^ 1)];
          } else {
            const auto exchanged = simt::load<4>(scratch + g * group_sums + of_tile * pitch + at);
            part_of = {exchanged[1], exchanged[0], exchanged[3], exchanged[2]};
          }
#pragma unroll
          for (int v = 0; v < 4; ++v) four[i][v] = g == 0 ? part_of[v] : four[i][v] + part_of[v];
        }
      }
      finish_vectors(epilogue, four, Vectors{part, row + r, col + at, rows_apart, 0, work.m, work.n});
    }
  }
}

// Launches the kernel. `across` is contiguous along its M or N. early: the kernel before it wrote `across` and nothing
// else that it reads, and it begins before that one has ended. Precondition: batch times slices are at most max_grid_z.
template <class Policy, Major MD, bool SwapAB, class Epilogue>
[[nodiscard]] static Status launch_tma_tile(const WgmmaOperand& down, const WgmmaOperand& across, const Shape& shape,
                                            const Epilogue& epilogue, bool early = false, Stream stream = {}) {
  namespace sm90 = tile::sm90;
  constexpr Config c = Policy::config;
  const std::int64_t rows = SwapAB ? shape.n : shape.m, cols = SwapAB ? shape.m : shape.n;
  const auto map_of = [&](sm90::TensorMap* map, const WgmmaOperand& o, Major major, std::int64_t outer, int of_tile) {
    const bool along_k = major == Major::k;
    return sm90::make_tensor_map(map, o.data, DType::f32,
                                 {along_k ? shape.k : outer, along_k ? outer : shape.k,
                                  o.batch_stride ? shape.batch : 1, o.pitch, o.batch_stride},
                                 along_k ? of_tile : c.bk, along_k ? sm90::line_bytes : of_tile * 4);
  };
  sm90::TensorMap map_down, map_across;
  RIDGE_TRY(map_of(&map_down, down, MD, rows, c.bm));
  RIDGE_TRY(map_of(&map_across, across, Major::outer, cols, c.bn));
  const TmaTileWork work{static_cast<int>(shape.m),
                         static_cast<int>(shape.n),
                         static_cast<int>(shape.k),
                         down.batch_stride ? 1 : 0,
                         across.batch_stride ? 1 : 0,
                         static_cast<int>(shape.slices),
                         static_cast<int>(shape.slices > 1 ? shape.slice_k : shape.k)};
  const Shape as_taken{rows, cols, shape.k, shape.batch, shape.slices, shape.slice_k};
  const simt::Config at = grid_of(tiles_of(c, as_taken), tma_tile_threads(c), tma_tile_smem_bytes(c), c, as_taken,
                                  stream, simt::native_warp);
  const auto kernel = gemm_tma_tile<Policy, MD, SwapAB, Epilogue>;
  if (!early) return simt::launch(at, kernel, map_down, map_across, work, epilogue);
  constexpr int cc = 90;  // of every device that runs it
  return tile::launch_dependent(cc, at, kernel, map_down, map_across, work, epilogue);
}

}  // namespace ridge::gemm_kernels
