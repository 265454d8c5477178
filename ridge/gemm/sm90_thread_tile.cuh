// The thread tile with TMA in the place of copying threads: tiles of float in shared memory as the operands lie, and a
// warp's instructions are multiply-adds, reads of fragments, and next to nothing else.
//
// What then decides is from which registers a multiply-add reads. There are two banks of them, of even and of odd
// numbers, and each gives one operand a clock; what is read again as the same operand of the next instruction is kept.
// So of x, y and sum, the sum and one of the others must be new, in different banks, and the third one kept:
//
// - Sums are kept in pairs of registers in which neighbours along y have changed places: y[j] and sum[j] differ in
//   parity. That is said by storing them so, as pairs, in the end. It takes a y of neighbours that are read together,
//   so that operand lies along M or N, and is called `across`; the other one, `down`, lies as it likes.
// - x[i] is kept while j runs; then j turns back, so that y[j] is kept when x changes, at a j whose sum is in the other
//   bank.
//
// Where there are fewer tiles than multiprocessors could have warps for (Config::k_groups), groups of a block's warps
// have every so many-th step each and all of the tile, and their sums are added up in the groups' order at the end.
#pragma once
#include <ridge/gemm/grid.cuh>
#include <ridge/gemm/sm90_wgmma.cuh>

namespace ridge::gemm_kernels {

inline constexpr int piece_k = 4, lanes_down = 4, lanes_across = 8;  // of k; lanes of a warp, as ThreadTile's

// Which of a tile's `Outer` rows of an operand a thread has, N of them, and where they lie. Of each group of Lanes N
// rows, lane l has every Lanes-th where they lie along k, so that eight of them lie in different banks of the swizzle.
// Else fragments of four neighbours, which are Lanes fragments apart.
template <Major M, int Outer, int N, int Lanes> class TileFragments {
 public:
  static constexpr bool along_k = M == Major::k;
  static constexpr int line = along_k ? tile::sm90::line_bytes : Outer * 4;
  static_assert(N % 4 == 0 && (Lanes == 4 || Lanes == 8) && Outer % (Lanes * N) == 0);

  __device__ __forceinline__ TileFragments(int group, int lane) {
    first_ = group * Lanes * N + (along_k ? lane : lane * 4);
    at_ = along_k ? first_ * line + lane * 16 : first_ * 4;
  }
  // Row i of the thread's.
  __device__ __forceinline__ int row(int i) const { return first_ + (along_k ? i * Lanes : i / 4 * Lanes * 4 + i % 4); }

  // along_k: row i, from k = 4 piece on.
  __device__ __forceinline__ simt::vec<float, 4> row_at(const unsigned char* tile, int piece, int i) const {
    const int turned = Lanes == 4 && i % 2 ? 64 : 0;  // rows 4 to 7 of eight
    return simt::load<4>(reinterpret_cast<const float*>(tile + (at_ ^ piece * 16 ^ turned) + i * Lanes * line));
  }
  // Else: fragment f of k.
  __device__ __forceinline__ simt::vec<float, 4> fragment_at(const unsigned char* tile, int k, int f) const {
    return simt::load<4>(reinterpret_cast<const float*>(tile + at_ + k * line + f * Lanes * 16));
  }

 private:
  int first_, at_;
};

// bm and tm are of the operand that lies down, bn and tn of the one across. MD: of the former.
template <class Row, Major MD> struct TmaTileKernel {
  static constexpr Config c = Row::config;
  static constexpr int groups_across = c.bn / (lanes_across * c.tn);
  static constexpr int warps = c.bm / (lanes_down * c.tm) * groups_across;     // that share steps
  static constexpr int pieces = c.bk / piece_k, ring = c.stages / c.k_groups;  // stages of warps that share steps
  static constexpr int bytes_down = c.bm * c.bk * 4, bytes = bytes_down + c.bn * c.bk * 4;  // of a stage
  static_assert(c.bk * 4 == tile::sm90::line_bytes && pieces % 2 == 0 && warps * c.k_groups * 32 == threads(c));
  static_assert(c.stages % c.k_groups == 0);
  using Down = TileFragments<MD, c.bm, c.tm, lanes_down>;
  using Across = TileFragments<Major::outer, c.bn, c.tn, lanes_across>;
  // x is read in units of a piece: two rows, or one k of all.
  static constexpr int units = Down::along_k ? c.tm / 2 : piece_k, unit_floats = Down::along_k ? 8 : c.tm;

  // The t-th place of row i in a product by x, whose register is odd or even. It begins where the sum is in the other
  // bank than x, and ends where the next row begins.
  static constexpr int place(int i, int odd, int t) {
    if (!Down::along_k) return i % 2 ? c.tn - 1 - t : t;
    const int forth = i % 2 ? c.tn - 1 - t : t, first = odd ? 0 : c.tn - 2;  // of two places that are exchanged
    return forth == first ? first + 1 : forth == first + 1 ? first : forth;
  }
};

struct TmaTileWork {
  int m, n, k;
  int batch_of_down, batch_of_across;  // 1; 0: shared by the batch
};

// epilogue(A B)                  down: [m, k]  across: [n, k], as their maps say; Swapped: down is B, and across A
// Preconditions: cc 90; gridDim.x is the number of tiles, gridDim.z the batch; k > 0.
template <class Row, Major MD, bool Swapped, class Epilogue>
__global__ void __launch_bounds__(threads(Row::config), Row::config.blocks_per_sm)
    gemm_tma_tile(const __grid_constant__ tile::sm90::TensorMap map_down,
                  const __grid_constant__ tile::sm90::TensorMap map_across, const __grid_constant__ TmaTileWork work,
                  const __grid_constant__ Epilogue epilogue) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    using K = TmaTileKernel<Row, MD>;
    constexpr Config c = Row::config;
    unsigned char* shared = sm90::swizzled_shared();
    auto* full = reinterpret_cast<sm90::Barrier*>(shared + tma_tile_barriers_at(c));
    auto* empty = full + c.stages;
    auto* used = reinterpret_cast<unsigned*>(empty + c.stages);  // how often warps have done with a stage
    const int warp = static_cast<int>(threadIdx.x) / 32 % K::warps, lane = static_cast<int>(threadIdx.x) % 32;
    const int k_group =
        c.k_groups == 1 ? 0 : static_cast<int>(threadIdx.x) / 32 / K::warps;  // a constant where it can be
    const typename K::Down down(warp / K::groups_across, lane / 16 * 2 + lane % 2);
    const typename K::Across across(warp % K::groups_across, lane / 2 % 8);
    const TileAt place = raster_of(Swapped ? work.n : work.m, Swapped ? work.m : work.n, c.bm, c.bn).at(blockIdx.x);
    const int from_down = static_cast<int>(place.row) * c.bm, from_across = static_cast<int>(place.col) * c.bn;
    const int steps = (work.k + c.bk - 1) / c.bk, batch = static_cast<int>(blockIdx.z);

    const auto load = [&](int stage, int step) {
      unsigned char* to = shared + stage * K::bytes;
      const int k = step * c.bk, of_down = batch * work.batch_of_down;
      sm90::arrive_expecting(full + stage, K::bytes);
      if constexpr (K::Down::along_k) sm90::load(&map_down, to, full + stage, k, from_down, of_down);
      else sm90::load(&map_down, to, full + stage, from_down, k, of_down);
      sm90::load(&map_across, to + K::bytes_down, full + stage, from_across, k, batch * work.batch_of_across);
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
      for (int s = 0; s < c.stages && s < steps; ++s) load(s, s);
    }
    __syncthreads();

    float sums[c.tm][c.tn];
#pragma unroll
    for (int i = 0; i < c.tm; ++i)
#pragma unroll
      for (int j = 0; j < c.tn; ++j) sums[i][j] = 0;

    // y of the next piece, and x of the next unit, are read while these are used.
    float x[2][K::unit_floats], y[2][piece_k][c.tn];
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
    const auto read_x = [&](const unsigned char* stage, int piece, int unit, float(&to)[K::unit_floats]) {
#pragma unroll
      for (int f = 0; f < K::unit_floats / 4; ++f) {
        const auto v = K::Down::along_k ? down.row_at(stage, piece, 2 * unit + f)
                                        : down.fragment_at(stage, piece * piece_k + unit, f);
#pragma unroll
        for (int i = 0; i < 4; ++i) to[4 * f + i] = v[i];
      }
    };
    const auto use = [&](int unit, const float(&by)[K::unit_floats], const float(&of)[piece_k][K::c.tn]) {
      constexpr int rows = K::Down::along_k ? 2 : c.tm, ks = K::Down::along_k ? piece_k : 1;
#pragma unroll
      for (int k = 0; k < ks; ++k)
#pragma unroll
        for (int i = 0; i < rows; ++i)
#pragma unroll
          for (int t = 0; t < c.tn; ++t) {
            const int j = K::place(i, k % 2, t);
            if constexpr (K::Down::along_k) sums[2 * unit + i][j] += by[4 * i + k] * of[k][j];
            else sums[i][j] += by[i] * of[unit][j];
          }
    };

    // Warps that share steps have every k_groups-th of them, and stage k_groups s + k_group of each s of their ring.
    sm90::RingPlace<K::ring> ring;
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
            next = next_stage;  // after the last step, of what lies there, which is not used
            next_piece = 0;
            if (step + c.k_groups < steps) sm90::wait(full + next_at, ring.parity);
          }
          read_y(next, next_piece, y[half ^ 1]);
#pragma unroll
          for (int unit = 0; unit < K::units; ++unit) {
            if (unit + 1 < K::units) read_x(stage, piece + half, unit + 1, x[(unit + 1) % 2]);
            else read_x(next, next_piece, 0, x[(unit + 1) % 2]);
            use(unit, x[unit % 2], y[half]);
          }
        }
      }
      // The last warp that has done with a stage has it filled again, and none waits for another.
      __syncwarp();
      if (lane == 0 && step + c.stages < steps) {
        sm90::arrive(empty + at);
        if (atomicAdd(used + at, 1u) % K::warps == K::warps - 1) {
          sm90::wait(empty + at, now.parity);  // for what the others read before they arrived
          load(at, step + c.stages);
        }
      }
      __syncwarp();  // or one lane would go on alone, and its warp be two
    }

    // Through shared memory, so that warps write whole lines and the epilogue's code is there once.
    __syncthreads();
    float* scratch = reinterpret_cast<float*>(shared);  // [k_groups][bm][pitch], neighbours across exchanged
    constexpr int pitch = c.bn + (Swapped ? 2 : 4), part = c.bm * pitch;
#pragma unroll
    for (int i = 0; i < c.tm; ++i)
#pragma unroll
      for (int j = 0; j < c.tn; j += 2)
        simt::store(scratch + k_group * part + down.row(i) * pitch + across.row(j),
                    simt::vec<float, 2>{sums[i][j + 1], sums[i][j]});
    __syncthreads();
    constexpr int rows = Swapped ? c.bn : c.bm, groups = (Swapped ? c.bm : c.bn) / 4;  // of the tile of D
    const int row = Swapped ? from_across : from_down, col = Swapped ? from_down : from_across;
#pragma unroll 1
    for (int u = static_cast<int>(threadIdx.x); u < rows * groups; u += threads(c)) {
      // Warps write lines of 128 bytes: of four rows where D's columns lie down, which keeps reads in several banks.
      constexpr int rows_of_warp = Swapped ? 4 : 1, line = 32 / rows_of_warp;
      const int of_warp = u / 32, lines = groups / line;
      const int r = Swapped ? of_warp / lines * rows_of_warp + u % 32 / line : u / groups;
      const int at = (Swapped ? of_warp % lines * line + u % line : u % groups) * 4, left = work.n - col - at;
      if (row + r >= work.m || left <= 0) continue;
      simt::vec<float, 4> four;
#pragma unroll
      for (int g = 0; g < c.k_groups; ++g) {  // in their order
        simt::vec<float, 4> part_of;
        if constexpr (Swapped) {
#pragma unroll
          for (int v = 0; v < 4; ++v) part_of[v] = scratch[g * part + (at + v) * pitch + (r ^ 1)];
        } else {
          const auto turned = simt::load<4>(scratch + g * part + r * pitch + at);
          part_of = {turned[1], turned[0], turned[3], turned[2]};
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) four[v] = g == 0 ? part_of[v] : four[v] + part_of[v];
      }
      epilogue(four, At{batch, row + r, col + at, ::min(left, 4)});
    }
  }
}

// Launches it. across lies along its M or N. Precondition: a batch of at most max_grid_z.
template <class Row, Major MD, bool Swapped, class Epilogue>
[[nodiscard]] static Status launch_tma_tile(const WgmmaOperand& down, const WgmmaOperand& across, const Shape& shape,
                                            const Epilogue& epilogue, Stream stream = {}) {
  namespace sm90 = tile::sm90;
  constexpr Config c = Row::config;
  const std::int64_t rows = Swapped ? shape.n : shape.m, cols = Swapped ? shape.m : shape.n;
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
  const TmaTileWork work{static_cast<int>(shape.m), static_cast<int>(shape.n), static_cast<int>(shape.k),
                         down.batch_stride ? 1 : 0, across.batch_stride ? 1 : 0};
  const Shape as_taken{rows, cols, shape.k, shape.batch};
  return sm90::launch_clusters(grid_of(c, DType::f32, as_taken, stream, simt::native_warp), 1,
                               gemm_tma_tile<Row, MD, Swapped, Epilogue>, map_down, map_across, work, epilogue);
}

}  // namespace ridge::gemm_kernels
