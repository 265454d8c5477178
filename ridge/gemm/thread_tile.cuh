// A tile of D in each thread's registers: the basis of every SIMT kernel from the 8x8 step on.
#pragma once
#include <ridge/gemm/element.cuh>
#include <ridge/gemm/epilogue.cuh>
#include <ridge/gemm/grid.cuh>
#include <ridge/gemm/operand.cuh>
#include <ridge/gemm/raster.hpp>
#include <ridge/gemm/thread_tile.hpp>
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/tile/pipeline.cuh>

namespace ridge::gemm_kernels {

// ThreadTile: the elements of a block's tile that a thread computes, and their accumulators.
//
// With Config::gated the tile's first half of columns are sums of A B and its second half the same columns of A G; a
// thread knows nothing of that, and the halves meet in finish().
//
// A thread's rows come in fragments of neighbours, one 16-byte access of shared memory each, and so do its columns.
// Without Config::conflict_free a thread has tm x tn neighbours. With it, 32 threads are 4 x 8: fragment f of thread
// (i, j) begins at row 4 f F + i F and column 8 f F + j F of theirs, so that neighbouring lanes read neighbouring 16
// bytes; and lanes l and l ^ 1 share a column, l and l ^ 2 a row, which lets the hardware serve half a warp with one
// access of 128 bytes instead of two.
template <class Policy, class T> class ThreadTile {
  static constexpr Config c = Policy::config;

 public:
  static constexpr int F = fragment_of<T>, TM = c.tm, TN = c.tn;
  static constexpr int lanes_m = c.conflict_free ? 4 : 1, lanes_n = c.conflict_free ? 8 : 1;
  static_assert(TM % F == 0 && TN % F == 0, "a thread's tile is whole fragments");
  static_assert(c.bm % (lanes_m * TM) == 0 && c.bn % (lanes_n * TN) == 0, "a block's tile is whole groups of threads");

  __device__ __forceinline__ ThreadTile() {
    const int rank = simt::thread_rank();
    constexpr int lanes = lanes_m * lanes_n, groups_n = c.bn / (lanes_n * TN);
    const int group = rank / lanes, lane = rank % lanes;
    const int lane_m = c.conflict_free ? lane / 16 * 2 + lane % 2 : 0, lane_n = c.conflict_free ? lane / 2 % 8 : 0;
    thread_m_ = group / groups_n * lanes_m + lane_m;
    row_ = row_of(thread_m_, 0);
    col_ = group % groups_n * lanes_n * TN + lane_n * F;
    RIDGE_UNROLL_ON_GPU
    for (int i = 0; i < TM; ++i) RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < TN; ++j) sums_[i][j] = {};
  }

  // Adds the products of two tiles in shared memory.   a: [KP][PitchA]  b: [KP][PitchB]
  template <int KP, int PitchA, int PitchB>
  __device__ __forceinline__ void add_products(const Staged<T>* a, const Staged<T>* b) {
    // Fragments of the next k are read while this k's are used. Unrolled by at most 8, so that the loop stays in the
    // instruction cache.
    constexpr int steps = KP < 8 ? KP : 8;
    static_assert(KP % steps == 0);
    Staged<T> x[2][TM], y[2][TN];
    read<TM, lanes_m>(a + row_, x[0]);
    read<TN, lanes_n>(b + col_, y[0]);
    RIDGE_KEEP_LOOP
    for (int first = 0; first < KP; first += steps) {
      RIDGE_UNROLL_ON_GPU
      for (int s = 0; s < steps; ++s) {
        const int now = s % 2, next = (s + 1) % 2;
        const int k = first + s + 1;
        if (s + 1 < steps || first + steps < KP) {
          read<TM, lanes_m>(a + k * PitchA + row_, x[next]);
          read<TN, lanes_n>(b + k * PitchB + col_, y[next]);
        }
        RIDGE_UNROLL_ON_GPU
        for (int i = 0; i < TM; ++i) RIDGE_UNROLL_ON_GPU
        for (int j = 0; j < TN; ++j) sums_[i][j] = multiply_add<T>(x[now][i], y[now][j], sums_[i][j]);
      }
    }
  }

  // Hands every sum inside D to the epilogue, in rows: through `scratch` in shared memory, so that warps write whole
  // lines and the epilogue's code exists once. All threads call, and none needs scratch's former contents. With
  // Config::gated the call is epilogue(sums, gates, at).
  template <class Epilogue>
  __device__ __forceinline__ void finish(Accumulator<T>* scratch, std::int64_t batch, TileAt place, const Shape& shape,
                                         const Epilogue& epilogue) const {
    constexpr int parts = epilogue_parts(c, dtype_of<T>), pitch = epilogue_pitch(c, dtype_of<T>);
    constexpr int rows = c.bm / parts, row_vectors = columns(c) / F;
    RIDGE_KEEP_LOOP
    for (int part = 0; part < parts; ++part) {
      if (part > 0) __syncthreads();
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < TM; ++i) {
        if (i / F != part) continue;  // registers cannot be indexed: each row is tried, and the code exists once
        RIDGE_UNROLL_ON_GPU
        for (int j = 0; j < TN; j += F) {
          simt::vec<Accumulator<T>, F> sums;
          RIDGE_UNROLL_ON_GPU
          for (int v = 0; v < F; ++v) sums[v] = accumulated(sums_[i][j + v]);
          simt::store(scratch + (thread_m_ * F + i % F) * pitch + col_ + j * lanes_n, sums);
        }
      }
      __syncthreads();
      RIDGE_KEEP_LOOP
      for (int u = simt::thread_rank(); u < rows * row_vectors; u += thread_tile_threads(c)) {
        const int r = u / row_vectors, col = u % row_vectors * F;
        const std::int64_t row = place.row * c.bm + row_of(r / F, part * F + r % F);
        const std::int64_t left = shape.n - place.col * columns(c) - col;  // columns of D from here on
        const Accumulator<T>* from = scratch + r * pitch + col;
        const At at{batch, row, place.col * columns(c) + col, static_cast<int>(::min(left, std::int64_t{F}))};
        if (row < shape.m && left > 0) {
          if constexpr (c.gated) epilogue(simt::load<F>(from), simt::load<F>(from + columns(c)), at);
          else epilogue(simt::load<F>(from), at);
        }
      }
    }
  }

 private:
  // Row i of the threads numbered `thread` along m.
  __device__ __forceinline__ static int row_of(int thread, int i) {
    return thread / lanes_m * (lanes_m * TM) + i / F * (lanes_m * F) + thread % lanes_m * F + i % F;
  }
  template <int N, int Lanes> __device__ __forceinline__ static void read(const Staged<T>* from, Staged<T> (&to)[N]) {
    RIDGE_UNROLL_ON_GPU
    for (int f = 0; f < N; f += F) {
      const simt::vec<Staged<T>, F> values = simt::load<F>(from + f * Lanes);
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < F; ++v) to[f + v] = values[v];
    }
  }

  int thread_m_, row_, col_;
  Sum<T, c.two_float> sums_[TM][TN];
};

// The tiles of B and G side by side as one tile in shared memory, with OperandTile's interface. Half: either one's
// tile.
template <class T, class Half, int Columns> class GatedTile {
  using S = Staged<T>;

 public:
  __device__ __forceinline__ GatedTile(const GatedOperand<T>& from, std::int64_t batch, std::int64_t from_outer,
                                       std::int64_t outer_size, int k_size)
      : b_(from.b, batch, from_outer, outer_size, k_size), gate_(from.gate, batch, from_outer, outer_size, k_size) {}
  __device__ __forceinline__ void fetch() { b_.fetch(), gate_.fetch(); }
  __device__ __forceinline__ void put(S* tile) const { b_.put(tile), gate_.put(tile + Columns); }
  __device__ __forceinline__ void start_copies(S* tile) { b_.start_copies(tile), gate_.start_copies(tile + Columns); }

 private:
  Half b_, gate_;
};

// Constants of one kernel, from a Config and its operands' layouts.
template <class Policy, class T, Major MA, Major MB> struct ThreadTileKernel {
  static constexpr Config c = Policy::config;
  static constexpr int pitch_a = c.bm + padding(c), pitch_b = c.bn + padding(c);
  static constexpr int tile_a = tile_elements(c, dtype_of<T>, c.bm), tile_b = tile_elements(c, dtype_of<T>, c.bn);
  static constexpr bool vectors = c.loads == Loads::vectors, async = c.pipeline == Pipeline::multistage;
  static_assert((MA == Major::none) == (c.loads == Loads::strided) && (MB == Major::none) == (MA == Major::none));
  using A = OperandTile<T, MA, c.bm, c.bk, pitch_a, thread_tile_threads(c), vectors, async>;
  using OneB = OperandTile<T, MB, columns(c), c.bk, pitch_b, thread_tile_threads(c), vectors, async>;
  using B = std::conditional_t<c.gated, GatedTile<T, OneB, columns(c)>, OneB>;
};

// Computes one tile of D, from the operands to the epilogue. All threads of a block call; dynamic shared memory is free
// before and after.                                   a: [m, k]  b: [n, k]
template <class Policy, class T, Major MA, Major MB, class Epilogue>
__device__ __forceinline__ void compute_tile(const Operand<T>& a, const OperandB<Policy, T>& b, std::int64_t batch,
                                             TileAt place, const Shape& shape, const Epilogue& epilogue) {
  constexpr Config c = Policy::config;
  using K = ThreadTileKernel<Policy, T, MA, MB>;
  using S = Staged<T>;
  S* shared = simt::dynamic_shared<S>();  // [stages][tile_a | tile_b]
  const auto stage_a = [=](int stage) { return shared + stage * (K::tile_a + K::tile_b); };
  const auto stage_b = [=](int stage) { return shared + stage * (K::tile_a + K::tile_b) + K::tile_a; };

  const int k = static_cast<int>(shape.k), steps = (k + c.bk - 1) / c.bk;
  typename K::A tile_a(a, batch, place.row * c.bm, shape.m, k);
  typename K::B tile_b(b, batch, place.col * columns(c), shape.n, k);
  ThreadTile<Policy, T> product;

  const auto compute = [&](int stage) {
    product.template add_products<c.bk / staged_pack<T>, K::pitch_a, K::pitch_b>(stage_a(stage), stage_b(stage));
  };
  if constexpr (c.pipeline == Pipeline::multistage) {
    const auto start = [&](int stage) {
      tile_a.start_copies(stage_a(stage));
      tile_b.start_copies(stage_b(stage));
    };
    tile::run_multistage<c.stages>(steps, start, compute);
  } else {
    const auto fetch = [&] {
      tile_a.fetch();
      tile_b.fetch();
    };
    const auto put = [&](int stage) {
      tile_a.put(stage_a(stage));
      tile_b.put(stage_b(stage));
    };
    if constexpr (c.pipeline == Pipeline::single) tile::run_single_stage(steps, fetch, put, compute);
    else tile::run_double_buffered(steps, fetch, put, compute);
  }
  __syncthreads();  // the last tiles have been read; the epilogue reuses their memory
  product.finish(shared, batch, place, shape, epilogue);
  __syncthreads();  // and the next product reuses the epilogue's
}

// epilogue(A B), or epilogue(A B, A G)               a: [m, k]  b, gate: [n, k]
// With slices, the epilogue gets one slice's sums, and At::batch is batch * slices + slice.
// Preconditions: k < 2^31 - bk; gridDim.x is the number of tiles; a and b are contiguous along MA and MB, and with
// Loads::vectors every row of them is 16-byte aligned.
template <class Policy, class T, Major MA, Major MB, class Epilogue>
__global__ void __launch_bounds__(thread_tile_threads(Policy::config), Policy::config.blocks_per_sm)
    gemm_thread_tile(Operand<T> a, OperandB<Policy, T> b, Shape shape, Epilogue epilogue) {
  constexpr Config c = Policy::config;
  const TileAt place = raster_of(shape.m, shape.n, c.bm, columns(c)).at(blockIdx.x);
  if (shape.slices > 1) tile::launch_dependents();  // the kernel that adds the slices up
  for (std::int64_t part = blockIdx.z; part < shape.batch * shape.slices; part += gridDim.z) {
    const Slice slice = slice_of(shape, part);
    compute_tile<Policy, T, MA, MB>(slice_of(a, slice), slice_of(b, slice), part, place, {shape.m, shape.n, slice.k},
                                    epilogue);
  }
}

// Launches the kernel. Policy: a type with `static constexpr Config config`, a user's own or from the table in
// variants.hpp.
template <class Policy, class T, Major MA, Major MB, class Epilogue>
[[nodiscard]] static Status launch_thread_tile(const Operand<T>& a, const OperandB<Policy, T>& b, const Shape& shape,
                                               const Epilogue& epilogue, Stream stream = {},
                                               int warp = simt::native_warp) {
  constexpr Config c = Policy::config;
  const simt::Config at = grid_of(tiles_of(c, shape), thread_tile_threads(c), thread_tile_smem_bytes(c, dtype_of<T>), c,
                                  shape, stream, warp);
  return simt::launch(at, gemm_thread_tile<Policy, T, MA, MB, Epilogue>, a, b, shape, epilogue);
}

}  // namespace ridge::gemm_kernels
