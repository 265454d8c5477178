// GEMM on Hopper's tensor cores for few rows or columns, and for fewer tiles than the chip has multiprocessors: the
// blocks of a cluster each multiply a part of k of one tile of D, and send their sums of each share of the tile to the
// block that adds up that share, in the blocks' order. No workspace, no atomics, and the same bits from run to run.
//
// Sums of 8-bit floats leave the tensor cores after each step (Config::promote); those of signed bytes stay integers.
//
// wgmma takes 64 rows of one operand and 16 to 256 of the other. The wide operand, whose rows are taken 64 at a time,
// is A, or where D has few rows B: then the kernel multiplies B^T A^T, and turns the sums round on their way to D.
#pragma once
#include <ridge/gemm/sm90_wgmma.cuh>
#include <ridge/tile/sm90/cluster.cuh>
#include <ridge/tile/sm90/overlap.cuh>

namespace ridge::gemm_kernels {

// Which operands a kernel right before this one writes: that is waited for, and this one begins earlier.
enum class Copied : std::uint8_t { none, narrow, both };

// What a launch says beside its tensor maps.
struct SplitWork {
  int m, n, steps;                     // of D; steps of bk along k, at least as many as blocks in a cluster
  unsigned wide, narrow, batch;        // tiles
  int batch_of_wide, batch_of_narrow;  // 1; 0: shared by the batch
  bool swapped;                        // the wide operand is B
  int share_log2;                      // rows of a tile of D that a block of the cluster adds up
  int stage_bytes;                     // that are copied for a step
  Copied copied;                       // both: or the wide one alone
  void* plain;         // D of SplitKernel::Plain, where it is the sums and its columns are neighbours, or null
  bool plain_vectors;  // its rows are whole pieces of four, each on its own size
  std::int64_t plain_pitch, plain_batch;  // of D, in elements
};

template <class Row, class T, Major MW, Major MN> struct SplitKernel {
  static constexpr Config c = Row::config;
  static constexpr tile::sm90::Axis axis_wide = axis_of(MW), axis_narrow = axis_of(MN);
  static constexpr int sums = c.bn / 2;  // of a thread
  static constexpr int bytes_wide = c.bm * wgmma_line_bytes, bytes_narrow = c.bn * wgmma_line_bytes;
  static constexpr int box_wide = MW == Major::k ? c.bm : c.bk, box_narrow = MN == Major::k ? c.bn : c.bk;
  static_assert(c.family == Family::wgmma_split && c.bk * sizeof(T) == wgmma_line_bytes);
  using Plain = std::conditional_t<sizeof(T) == 2, T, tile::sm90::Sum<T>>;  // of D that is stored without an epilogue
  static_assert(c.promote <= 1 && (sizeof(T) == 2 || (MW == Major::k && MN == Major::k)));
  static_assert(c.bm % 64 == 0 && c.bn % 16 == 0 && wgmma_stage_bytes(c) % tile::sm90::atom_bytes == 0);
  static_assert(MN == Major::k || !narrow_is_k_major(c));
  // Whether the next kernel may begin before this one's end. Of blocks without a cluster some multiprocessors would get two
  // where there is room for them, and others none.
  __host__ __device__ static constexpr bool overlaps(unsigned split) { return split > 1 || c.blocks_per_sm == 1; }
  static_assert(512 % c.bm == 0 && 512 % c.bn == 0, "threads have whole rows of pieces");
  static_assert(split_sums_at(c) + split_sums_bytes(c) <= split_barriers_at(c), "the sums have a place");
};

// Stores to the same place in the shared memory of block `rank` of the cluster. S: a sum's type.
__device__ __forceinline__ unsigned bits_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ unsigned bits_of(std::int32_t x) { return static_cast<unsigned>(x); }
template <class S> __device__ __forceinline__ void store_in_block(S* to, unsigned rank, S x) {
  asm volatile(
      "{\n.reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "st.shared::cluster.b32 [there], %2;\n}" ::"r"(tile::sm90::shared_address(to)),
      "r"(rank), "r"(bits_of(x))
      : "memory");
}
template <class S> __device__ __forceinline__ void store_in_block(S* to, unsigned rank, S x, S y) {
  asm volatile(
      "{\n.reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "st.shared::cluster.v2.b32 [there], {%2, %3};\n}" ::"r"(tile::sm90::shared_address(to)),
      "r"(rank), "r"(bits_of(x)), "r"(bits_of(y))
      : "memory");
}

// epilogue(A B)                     wide: [m, k], narrow: [n, k]; or where `swapped` wide: [n, k], narrow: [m, k]
// Preconditions: cc 90; maps made with the boxes of SplitKernel; blocks of a cluster are neighbours in x.
template <class Row, class T, Major MW, Major MN, class Epilogue>
__global__ void __launch_bounds__(threads(Row::config), Row::config.blocks_per_sm)
    gemm_split(const __grid_constant__ CUtensorMap map_wide, const __grid_constant__ CUtensorMap map_narrow,
               const __grid_constant__ SplitWork work, const __grid_constant__ Epilogue epilogue) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    using K = SplitKernel<Row, T, MW, MN>;
    constexpr Config c = Row::config;
    constexpr int multipliers = split_multipliers(c);
    using Sum = sm90::Sum<T>;

    unsigned char* shared = sm90::swizzled_shared();
    auto* full = reinterpret_cast<sm90::Barrier*>(shared + split_barriers_at(c));
    auto* empty = full + c.stages;
    const int group = sm90::warpgroup_index();
    const unsigned split = sm90::cluster_size(), rank = sm90::cluster_rank();
    // Tiles of the narrow operand follow each other, and share what they read of the wide one in the L2 cache.
    const unsigned tile = blockIdx.x / split, narrow_tile = tile % work.narrow, rest = tile / work.narrow;
    const int wide_row = static_cast<int>(rest % work.wide) * c.bm, narrow_row = static_cast<int>(narrow_tile) * c.bn;
    const int batch = static_cast<int>(rest / work.wide);
    const int first = static_cast<int>(static_cast<unsigned>(work.steps) * rank / split),
              last = static_cast<int>(static_cast<unsigned>(work.steps) * (rank + 1) / split);

    const int steps = last - first;
    sm90::RingPlace<c.stages> ring;
    const auto load_wide = [&](int i, int stage) {
      sm90::arrive_expecting(full + stage, static_cast<unsigned>(work.stage_bytes));
      load_operand<K::axis_wide, c.bm, false>(&map_wide, shared + stage * wgmma_stage_bytes(c), full + stage, wide_row,
                                              (first + i) * c.bk, batch * work.batch_of_wide, 0);
    };
    const auto load_narrow = [&](int i, int stage) {
      load_operand<K::axis_narrow, c.bn, false>(&map_narrow, shared + stage * wgmma_stage_bytes(c) + K::bytes_wide,
                                                full + stage, narrow_row, (first + i) * c.bk,
                                                batch * work.batch_of_narrow, 0);
    };
    const auto load_step = [&](int i) {
      load_wide(i, ring.stage);
      load_narrow(i, ring.stage);
      ring.next();
    };
    const bool loads = threadIdx.x == multipliers * 128;  // one thread of the last warp
    int loaded = 0;
    if (loads) {  // it fills the stages before anybody else knows of them
      for (int s = 0; s < c.stages; ++s) {
        sm90::init(full + s, 1);
        sm90::init(empty + s, multipliers);
      }
      sm90::fence_init();
      const int at_once = ::min(steps, c.stages);
      if (work.copied == Copied::none) {
        tile::await_last();
        for (; loaded < at_once; ++loaded) load_step(loaded);
      } else {  // the wide operand's part of all stages first, if it has been there all along
        if (work.copied == Copied::both) tile::await_last();
        for (; loaded < at_once; ++loaded) load_wide(loaded, loaded);
        if (work.copied == Copied::narrow) tile::await_last();
        for (int i = 0; i < at_once; ++i) load_narrow(i, i);
        ring.skip(at_once);
      }
    }
    if (K::overlaps(split)) tile::let_next_begin();
    tile::await_last();  // before D is written, and what is added to it read
    __syncthreads();
    // Sums are sent when all blocks have begun, or, where they take the stages' place, when all have done their products.
    if (split > 1 && split_sums_apart(c)) sm90::announce_to_cluster();
    const auto await_others = [&] {
      if (!split_sums_apart(c)) {
        if (split > 1) sm90::announce_to_cluster();
        else sm90::await_named<threads(c)>(1);  // from two places of the code, where __syncthreads() must be one
      }
      if (split > 1) sm90::await_cluster();
    };

    Sum* const received = reinterpret_cast<Sum*>(shared + split_sums_at(c));
    const int pitch = split_pitch(c, work.swapped), sender = pitch << work.share_log2;  // sums of one sender's
    if (group == multipliers) {
      if (loads)
        for (; loaded < steps; ++loaded) {
          sm90::wait(empty + ring.stage, ring.parity ^ 1);
          load_step(loaded);
        }
      __syncwarp();
      await_others();
    } else {
      Sum sums[K::sums];
      const auto start_step = [&](Sum(&to)[K::sums], bool accumulate) {
        sm90::wait(full + ring.stage, ring.parity);
        const unsigned wide = sm90::shared_address(shared + ring.stage * wgmma_stage_bytes(c)),
                       narrow = wide + K::bytes_wide;
        sm90::fence_sums();
#pragma unroll
        for (int k = 0; k < c.bk; k += sm90::product_k<T>)
          sm90::multiply<T, K::axis_wide, K::axis_narrow, c.bn>(
              to,
              sm90::descriptor(K::axis_wide,
                               wide + sm90::outer_offset(group * 64) + sm90::k_offset(K::axis_wide, k, sizeof(T))),
              sm90::descriptor(K::axis_narrow, narrow + sm90::k_offset(K::axis_narrow, k, sizeof(T))),
              accumulate || k > 0);
        sm90::commit_products();
      };
      const auto release = [&](int stage) {
        if (threadIdx.x % 128 == 0) sm90::arrive(empty + stage);
      };
      if constexpr (c.promote > 0) {  // meanwhile another warpgroup multiplies, or memory is what is waited for
        Sum part[K::sums];
#pragma unroll
        for (int j = 0; j < K::sums; ++j) sums[j] = 0;
        for (int i = 0; i < steps; ++i, ring.next()) {
          start_step(part, false);
          sm90::wait_products<0>();
          release(ring.stage);
#pragma unroll
          for (int j = 0; j < K::sums; ++j) sums[j] += part[j];
        }
      } else {
        int former = 0;
        for (int i = 0; i < steps; ++i, ring.next()) {
          start_step(sums, i > 0);
          if (i > 0) {
            sm90::wait_products<1>();  // all but these: the stage before this one has been read
            release(former);
          }
          former = ring.stage;
        }
      }
      sm90::wait_products<0>();
      await_others();
      // Registers hold pairs of neighbours along the narrow operand, 8 rows of the wide one apart.
      const int row = group * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4, col = threadIdx.x % 4 * 2;
      Sum* const mine = received + static_cast<int>(rank) * sender;  // in each block
      const int share_mask = (1 << work.share_log2) - 1;
#pragma unroll
      for (int j = 0; j < c.bn / 8; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const Sum x[2] = {sums[4 * j + 2 * i], sums[4 * j + 2 * i + 1]};
          const int wide = row + 8 * i, narrow = col + 8 * j;
          if (work.swapped) {  // D's rows are the narrow operand's
            Sum* to = mine + (narrow & share_mask) * pitch + wide;
            const auto block = static_cast<unsigned>(narrow >> work.share_log2);
            store_in_block(to, block, x[0]);
            store_in_block(to + pitch, block, x[1]);
          } else {
            store_in_block(mine + (wide & share_mask) * pitch + narrow, static_cast<unsigned>(wide >> work.share_log2),
                           x[0], x[1]);
          }
        }
    }
    if (split > 1) sm90::sync_cluster_and_stores();
    else __syncthreads();

    // This block's rows of the tile: a thread has pieces of four neighbours in rows `stride` apart, several at a time.
    if (group < multipliers) {
      constexpr int at_a_time = 4;
      const int rows = work.swapped ? c.bn : c.bm, pieces = (work.swapped ? c.bm : c.bn) / 4;  // of the tile, of a row
      const int stride = multipliers * 128 / pieces, share_row = static_cast<int>(rank) << work.share_log2;
      const int d_row = work.swapped ? narrow_row : wide_row;
      const int col = static_cast<int>(threadIdx.x) % pieces * 4, at_col = (work.swapped ? wide_row : narrow_row) + col;
      const int left = work.n - at_col, end = ::min(::min(share_row + (1 << work.share_log2), rows), work.m - d_row);
      for (int row = share_row + static_cast<int>(threadIdx.x) / pieces; row < end && left > 0;
           row += at_a_time * stride) {
        const Sum* here = received + (row - share_row) * pitch + col;
        simt::vec<Sum, 4> x[at_a_time];
        for (unsigned from = 0; from < split; ++from, here += sender) {
          simt::vec<Sum, 4> part[at_a_time];
#pragma unroll
          for (int i = 0; i < at_a_time; ++i)  // rows of others: not used
            part[i] = simt::load<4>(here + ::min(i * stride, end - 1 - row) * pitch);
#pragma unroll
          for (int i = 0; i < at_a_time; ++i)
#pragma unroll
            for (int v = 0; v < 4; ++v) x[i][v] = from == 0 ? part[i][v] : x[i][v] + part[i][v];
        }
        if (work.plain) {
          using Plain = typename K::Plain;
          Plain* to =
              static_cast<Plain*>(work.plain) + batch * work.plain_batch + (d_row + row) * work.plain_pitch + at_col;
#pragma unroll
          for (int i = 0; i < at_a_time; ++i, to += stride * work.plain_pitch)
            if (row + i * stride < end) {
              if (work.plain_vectors) {
                simt::store(to, simt::vec<Plain, 4>{Plain(x[i][0]), Plain(x[i][1]), Plain(x[i][2]), Plain(x[i][3])});
              } else {
#pragma unroll
                for (int v = 0; v < 4; ++v)
                  if (v < left) to[v] = Plain(x[i][v]);
              }
            }
        } else {
          RIDGE_KEEP_LOOP
          for (int i = 0; i < at_a_time; ++i) {  // the pieces take turns at place 0: the epilogue's code is there once
            if (row + i * stride < end) epilogue(x[0], At{batch, d_row + row + i * stride, at_col, ::min(left, 4)});
#pragma unroll
            for (int other = 0; other + 1 < at_a_time; ++other) x[other] = x[other + 1];
          }
        }
      }
    }
  }
}

// Launches it with `split` blocks in a cluster. plain: D, where it is the sums and its columns are neighbours; else its
// data is null, and the epilogue serves. plain_vectors: its rows are whole pieces of four, each on its own size. Precondition:
// split <= steps along k, and a power of two.
template <class Row, class T, Major MW, Major MN, class Epilogue>
[[nodiscard]] static Status launch_split(const WgmmaOperand& wide, const WgmmaOperand& narrow,
                                         const WgmmaOperand& plain, bool plain_vectors, const Shape& shape,
                                         bool swapped, int split, Copied copied, const Epilogue& epilogue,
                                         Stream stream) {
  namespace sm90 = tile::sm90;
  using K = SplitKernel<Row, T, MW, MN>;
  constexpr Config c = Row::config;
  const std::int64_t rows_wide = swapped ? shape.n : shape.m, rows_narrow = swapped ? shape.m : shape.n;
  // What of a tile there is not would be copied as zeros, which takes longer than to copy rows. Where there is one tile and
  // a copy brings all of it, no such rows are asked for: what is multiplied instead becomes rows that D has not.
  const int box_narrow =
      MN == Major::k ? static_cast<int>(std::min<std::int64_t>(K::box_narrow, rows_narrow)) : K::box_narrow;
  const int not_copied = (K::box_narrow - box_narrow) * wgmma_line_bytes;
  CUtensorMap map_wide, map_narrow;
  RIDGE_TRY(make_operand_map<T>(&map_wide, wide, rows_wide, shape.k, shape.batch, MW, K::box_wide));
  RIDGE_TRY(make_operand_map<T>(&map_narrow, narrow, rows_narrow, shape.k, shape.batch, MN, box_narrow));
  const Raster tiles = raster_of(rows_wide, rows_narrow, c.bm, c.bn);
  const SplitWork work{.m = static_cast<int>(shape.m),
                       .n = static_cast<int>(shape.n),
                       .steps = static_cast<int>((shape.k + c.bk - 1) / c.bk),
                       .wide = static_cast<unsigned>(tiles.rows),
                       .narrow = static_cast<unsigned>(tiles.cols),
                       .batch = static_cast<unsigned>(shape.batch),
                       .batch_of_wide = wide.batch_stride ? 1 : 0,
                       .batch_of_narrow = narrow.batch_stride ? 1 : 0,
                       .swapped = swapped,
                       .share_log2 = split_share_log2(swapped ? c.bn : c.bm, split),
                       .stage_bytes = wgmma_stage_bytes(c) - not_copied,
                       .copied = copied,
                       .plain = const_cast<void*>(plain.data),
                       .plain_vectors = plain_vectors,
                       .plain_pitch = plain.pitch,
                       .plain_batch = plain.batch_stride};
  const simt::Config at{.grid = dim3(static_cast<unsigned>(tiles.tiles() * shape.batch * split)),
                        .block = dim3(static_cast<unsigned>(threads(c))),
                        .smem = static_cast<std::size_t>(split_smem_bytes(c)),
                        .stream = stream.handle};
  constexpr auto kernel = gemm_split<Row, T, MW, MN, Epilogue>;
  return copied != Copied::none || K::overlaps(static_cast<unsigned>(split))
             ? sm90::launch_overlapping_clusters(at, split, kernel, map_wide, map_narrow, work, epilogue)
             : sm90::launch_clusters(at, split, kernel, map_wide, map_narrow, work, epilogue);
}

}  // namespace ridge::gemm_kernels
