// GEMM on tensor cores fed from registers (mma.sync), from Ampere on: f64, f16, bf16, float32 as TF32, signed bytes
// along k, and from Ada on 8-bit floats along k.
//
// Asynchronous copies bring operands to shared memory in their own layout, some steps ahead; a warp reads fragments,
// and keeps a tile of D in registers. With Config::gated half of its columns belong to A B, and half, the same ones, to
// A G.
#pragma once
#include <ridge/gemm/element.cuh>
#include <ridge/gemm/epilogue.cuh>
#include <ridge/gemm/grid.cuh>
#include <ridge/gemm/groups.hpp>
#include <ridge/gemm/sm80_mma.hpp>
#include <ridge/gemm/sm80_operand.cuh>
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/tile/pipeline.cuh>

namespace ridge::gemm_kernels {

// Constants of one kernel, from a Config and its operands' layouts.
template <class Policy, class T, Major MA, Major MB> struct MmaKernel {
  static constexpr Config c = Policy::config;
  static constexpr int fragment_k = mma_fragment_k(c, dtype_of<T>), parts = c.bk / fragment_k;
  static constexpr int registers = std::is_same_v<T, double> ? fragment_k / 2 : 4;  // per fragment
  template <Major M, int Outer>
  using Tile =
      std::conditional_t<c.loads == Loads::pieces, MmaPieceTile<T, M, Outer, c.bk>, MmaTile<T, M, Outer, c.bk>>;
  using TileA = Tile<MA, c.bm>;
  using TileB = Tile<MB, columns(c)>;  // of B; the tile of G follows it
  static constexpr int tiles_b = c.bn / columns(c);
  static constexpr int stage_bytes = mma_stage_bytes(c, dtype_of<T>), epilogue_pitch = mma_epilogue_pitch(c);
  static_assert(TileA::bytes + tiles_b * TileB::bytes <= stage_bytes);
  static_assert(c.wm % 32 == 0 && c.wn / tiles_b % 32 == 0 && c.bk % fragment_k == 0 && parts % 2 == 0);
  static_assert(TileA::bytes % 128 == 0 && TileB::bytes % 128 == 0 && stage_bytes % 128 == 0,
                "tiles begin on whole lines");

  template <class Tile> static constexpr auto copies() {
    if constexpr (c.loads == Loads::vectors) return std::type_identity<MmaAsyncOperand<Tile, mma_threads(c), 16>>{};
    else if constexpr (c.loads == Loads::pieces) return std::type_identity<MmaPieceOperand<Tile, mma_threads(c)>>{};
    else if constexpr (sizeof(T) == 8) return std::type_identity<MmaAsyncOperand<Tile, mma_threads(c), 8>>{};
    else return std::type_identity<MmaShiftedOperand<Tile, mma_threads(c)>>{};
  }
  using CopyA = typename decltype(copies<TileA>())::type;
  using OneB = typename decltype(copies<TileB>())::type;
  using CopyB = std::conditional_t<c.gated, MmaGatedOperand<TileB, OneB>, OneB>;
};

// The tile of D in a warp's registers.
template <class Policy, class T, Major MA, Major MB> class WarpTile {
  using K = MmaKernel<Policy, T, MA, MB>;
  static constexpr Config c = Policy::config;
  static constexpr int M = c.wm / 16, N = c.wn / 16;  // fragments
  static constexpr int N_of_b = N / K::tiles_b, columns = c.wn / K::tiles_b;
  using Sum = Accumulator<T>;

 public:
  // The copies: of its tiles' first rows.
  __device__ __forceinline__ WarpTile(const typename K::CopyA& a, const typename K::CopyB& b) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    row_ = warp / (c.bn / c.wn) * c.wm;
    col_ = warp % (c.bn / c.wn) * columns;
    from_a_ = K::TileA::origin(row_, a);
    if constexpr (c.gated) {
#pragma unroll
      for (int half = 0; half < 2; ++half) from_b_[half] = K::TileB::origin(col_, b.half(half));
    } else {
      from_b_[0] = K::TileB::origin(col_, b);
    }
#pragma unroll
    for (int i = 0; i < M; ++i)
#pragma unroll
      for (int j = 0; j < 2 * N; ++j)
#pragma unroll
        for (int s = 0; s < 4; ++s) {
          sums_[i][j][s] = Sum(0);
          if constexpr (c.promote > 0) promoted_[i][j][s] = Sum(0);
        }
  }

  // Reads the fragments of one part of a step from tiles at these addresses. Parts alternate between two register sets.
  __device__ __forceinline__ void read(unsigned a, unsigned b, int part) {
#pragma unroll
    for (int i = 0; i < M; ++i) K::TileA::read(a, from_a_, i * 16, part * K::fragment_k, a_[part % 2][i]);
#pragma unroll
    for (int j = 0; j < N; ++j)
      K::TileB::read(b + j / N_of_b * K::TileB::bytes, from_b_[j / N_of_b], j % N_of_b * 16, part * K::fragment_k,
                     b_[part % 2][j]);
  }
  __device__ __forceinline__ void multiply(int part) {
#pragma unroll
    for (int i = 0; i < M; ++i)
#pragma unroll
      for (int j = 0; j < 2 * N; ++j) tile::sm80::multiply<T>(sums_[i][j], a_[part % 2][i], b_[part % 2][j / 2], j % 2);
    if constexpr (c.promote > 0) {
      if (part + 1 < K::parts || ++steps_ < c.promote) return;
      promote();
      steps_ = 0;
    }
  }
  // With Config::promote: adds the latest sums to those that have left the tensor cores. After the last step, which may
  // be any one, these are what finish() takes.
  __device__ __forceinline__ void promote() {
    if constexpr (c.promote > 0) {
#pragma unroll
      for (int i = 0; i < M; ++i)
#pragma unroll
        for (int j = 0; j < 2 * N; ++j)
#pragma unroll
          for (int s = 0; s < 4; ++s) {
            promoted_[i][j][s] += sums_[i][j][s];
            sums_[i][j][s] = 0;
          }
    }
  }

  // Prefetches to L2 what the epilogue will add to this warp's tile: a line of a row at a time, as of float.
  template <class Epilogue>
  __device__ __forceinline__ void prefetch(std::int64_t batch, TileAt place, const Shape& shape,
                                           const Epilogue& epilogue) const {
    if constexpr (!c.gated && requires { epilogue.template prefetch<1, 1>(Vectors{}); }) {
      RIDGE_KEEP_LOOP
      for (int row = static_cast<int>(threadIdx.x) % 32; row < c.wm; row += 32)
#pragma unroll
        for (int col = 0; col < columns; col += 32)
          epilogue.template prefetch<1, 1>(from(batch, place, shape, row, col));
    }
  }

  // Hands every sum inside D to the epilogue, in rows: through `scratch` in shared memory, so that warps write whole
  // sectors and the epilogue's code exists once. Each warp has its own part of scratch. With Config::gated the call is
  // epilogue(sums, gates, at).
  template <class Epilogue>
  __device__ __forceinline__ void finish(unsigned char* scratch, std::int64_t batch, TileAt place, const Shape& shape,
                                         const Epilogue& epilogue) const {
    constexpr int pitch = K::epilogue_pitch, F = fragment_of<T>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    Sum* mine = reinterpret_cast<Sum*>(scratch) + threadIdx.x / 32 * (mma_rows * pitch);
    RIDGE_KEEP_LOOP
    for (int part = 0; part < M; ++part) {
      __syncwarp();
#pragma unroll
      for (int i = 0; i < M; ++i) {
        if (i != part) continue;  // registers cannot be indexed: each is tried, and the code exists once
#pragma unroll
        for (int j = 0; j < 2 * N; ++j)
#pragma unroll
          for (int s = 0; s < 4; s += 2) {
            const auto at = tile::sm80::sum_at(lane, s);
            const auto& sums = results()[i][j];
            simt::store(mine + at.row * pitch + j * 8 + at.col, simt::vec<Sum, 2>{sums[s], sums[s + 1]});
          }
      }
      __syncwarp();
      const Vectors first = from(batch, place, shape, part * mma_rows);
      if constexpr (c.gated) {
        constexpr int row_vectors = columns / F;
        RIDGE_KEEP_LOOP
        for (int u = lane; u < mma_rows * row_vectors; u += 32) {
          const int r = u / row_vectors, f = u % row_vectors * F;
          const At at = Vectors{batch, first.row + r, first.col + f, 0, 0, shape.m, shape.n}.template at<F>(0);
          const Sum* sums = mine + r * pitch + f;
          if (at.count > 0) epilogue(simt::load<F>(sums), simt::load<F>(sums + columns), at);
        }
      } else {
        finish_warp_tile<mma_rows, columns, F>(epilogue, static_cast<const Sum*>(mine), pitch, first);
      }
    }
  }

 private:
  // D from a place in the warp's tile on.
  __device__ __forceinline__ Vectors from(std::int64_t batch, TileAt place, const Shape& shape, int row,
                                          int col = 0) const {
    return {batch,  place.row * c.bm + row_ + row, place.col * gemm_kernels::columns(c) + col_ + col, 0, 0, shape.m,
            shape.n};
  }

  using Sums = Sum[M][2 * N][4];  // [fragment of rows][eight columns]
  __device__ __forceinline__ const Sums& results() const {
    if constexpr (c.promote > 0) return promoted_;
    else return sums_;
  }

  int row_, col_;  // in the block's tile
  // Where this lane reads in the tiles of A, and of B and G.
  typename K::TileA::Origin from_a_;
  typename K::TileB::Origin from_b_[K::tiles_b];
  tile::sm80::Register<T> a_[2][M][K::registers], b_[2][N][K::registers];
  Sums sums_;
  std::conditional_t<(c.promote > 0), Sums, char> promoted_;
  int steps_ = 0;  // since the latest promotion
};

// Computes one tile of one product, with all threads of the block.
template <class Policy, class T, Major MA, Major MB, class Epilogue>
__device__ __forceinline__ void compute_mma_tile(const Operand<T>& a, const OperandB<Policy, T>& b, std::int64_t batch,
                                                 TileAt place, const Shape& shape, const Epilogue& epilogue) {
  constexpr Config c = Policy::config;
  using K = MmaKernel<Policy, T, MA, MB>;
  unsigned char* shared = simt::dynamic_shared<unsigned char>();  // [stages][A | B]
  const auto stage_a = [=](int stage) { return shared + stage * K::stage_bytes; };
  const auto stage_b = [=](int stage) { return stage_a(stage) + K::TileA::bytes; };

  const int k = static_cast<int>(shape.k), steps = (k + c.bk - 1) / c.bk;
  typename K::CopyA copy_a(a, batch, place.row * c.bm, shape.m, k);
  typename K::CopyB copy_b(b, batch, place.col * columns(c), shape.n, k);
  WarpTile<Policy, T, MA, MB> product(copy_a, copy_b);
  product.prefetch(batch, place, shape, epilogue);
  tile::run_multistage_in_parts<c.stages, K::parts>(
      steps,
      [&](int stage) {
        copy_a.start(stage_a(stage));
        copy_b.start(stage_b(stage));
      },
      [&](int stage) {
        copy_a.finish(stage_a(stage));
        copy_b.finish(stage_b(stage));
      },
      [&](int stage, int part) {
        const unsigned at = tile::sm80::shared_address(stage_a(stage));
        product.read(at, at + K::TileA::bytes, part);
      },
      [&](int part) { product.multiply(part); });
  product.promote();
  __syncthreads();  // the last tiles have been read; the epilogue reuses their memory
  product.finish(shared, batch, place, shape, epilogue);
  __syncthreads();  // and the next product reuses the epilogue's
}

// epilogue(A B), or epilogue(A B, A G)               a: [m, k]  b, gate: [n, k]
// With Config::grouped, for each group g of a's rows: epilogue(A_g B_g), b: [groups, n, k], offsets: [groups + 1], as
// gemm_grouped; else offsets are unused. Slices as in gemm_thread_tile.
// Preconditions: cc 80 or later, 89 for 8-bit floats; k < 2^31 - bk; gridDim.x is the number of tiles; a and b are
// contiguous along MA and MB, and with Loads::vectors every row of them is 16-byte aligned.
template <class Policy, class T, Major MA, Major MB, class Epilogue>
__global__ void __launch_bounds__(mma_threads(Policy::config), Policy::config.blocks_per_sm)
    gemm_mma_sync(Operand<T> a, OperandB<Policy, T> b, const std::int32_t* offsets, Shape shape, Epilogue epilogue) {
  if constexpr (tile::sm80::multiplies<T>) {
    constexpr Config c = Policy::config;
    if constexpr (c.grouped) {
      static_assert(MA == Major::k, "a group's first row would have to start on what an access needs");
      const std::int64_t slots = group_slots(shape.m, shape.batch, c.bm), col = blockIdx.x / slots;
      const GroupTile at = group_tile({offsets, shape.batch, shape.m}, c.bm, blockIdx.x - col * slots);
      if (at.rows == 0) return;  // all threads of the block
      a.data += at.first * a.outer_stride;
      compute_mma_tile<Policy, T, MA, MB>(a, b, at.group, {at.tile, col}, {at.rows, shape.n, shape.k},
                                          RowsFrom<Epilogue>{epilogue, at.first});
    } else {
      const TileAt place = raster_of(shape.m, shape.n, c.bm, columns(c)).at(blockIdx.x);
      if (shape.slices > 1) tile::launch_dependents();  // the kernel that adds the slices up
      for (std::int64_t part = blockIdx.z; part < shape.batch * shape.slices; part += gridDim.z) {
        const Slice slice = slice_of(shape, part);
        compute_mma_tile<Policy, T, MA, MB>(slice_of(a, slice), slice_of(b, slice), part, place,
                                            {shape.m, shape.n, slice.k}, epilogue);
      }
    }
  }
}

// Launches the kernel. Policy: a type with `static constexpr Config config`, a user's own or from the table in
// variants.hpp.
template <class Policy, class T, Major MA, Major MB, class Epilogue>
[[nodiscard]] static Status launch_mma_sync(const Operand<T>& a, const OperandB<Policy, T>& b, const Shape& shape,
                                            const Epilogue& epilogue, Stream stream = {},
                                            const std::int32_t* offsets = nullptr) {
  constexpr Config c = Policy::config;
  const simt::Config at =
      grid_of(tiles_of(c, shape), mma_threads(c), mma_smem_bytes(c, dtype_of<T>), c, shape, stream, 32);
  return simt::launch(at, gemm_mma_sync<Policy, T, MA, MB, Epilogue>, a, b, offsets, shape, epilogue);
}

}  // namespace ridge::gemm_kernels
