// Split-K GEMM on Hopper's tensor cores for few rows or columns, and for fewer tiles than the chip has multiprocessors:
// the blocks of a cluster each multiply a part of k of one tile of D. Each keeps the sums of its share of the skinny
// operand's columns in registers, sends the others through distributed shared memory to the threads that own them, and
// adds what it receives: its own sums first, then in the blocks' order. No workspace, no atomics, run-to-run identical.
//
// Sums of 8-bit floats leave the tensor cores after each step (Config::promote); those of signed bytes stay integers.
//
// wgmma takes 64 rows of its M-side operand and 16 to 256 of its N-side one. The M-side one, here the wide operand, is
// A, or B where D has few rows: with swap-AB the kernel computes B^T A^T and transposes the sums on their way to D. The
// N-side one, with few rows, is the skinny operand.
//
// With Config::gated the wide operands are B and G, in halves of a tile. Each has a consumer warpgroup; that of G hands
// its sums to that of B, whose threads own the same elements of D.
#pragma once
#include <ridge/gemm/element.cuh>
#include <ridge/gemm/sm90_split.hpp>
#include <ridge/gemm/sm90_wgmma_launch.cuh>
#include <ridge/tile/sm90/bulk_copy.cuh>
#include <ridge/tile/sm90/cluster.cuh>
#include <ridge/tile/sm90/dependent_launch.cuh>

#include <utility>

namespace ridge::gemm_kernels {

// Operands that the kernel right before this one writes. This kernel starts early, and waits before it reads them.
enum class Copied : std::uint8_t { none, skinny, both };

// What is known about the neighbouring kernels and the L2 cache.
struct SplitHints {
  int prefetch_steps = 0;  // steps of the wide operand prefetched to L2 before the previous kernel ends
  int left = 0x7fffffff;   // steps still to be loaded when the next kernel may begin
};

// With few rows the kernel only waits for memory, and the next kernel's first loads should start before this one ends.
// Where each multiprocessor has at most one piece of work (a tile, or a block's part of it), the prefetch distance is
// the number of stages. More takes longer, and so does prefetching all the time for the ends of tiles: what is loaded
// right after it passes the L2 cache twice.
constexpr SplitHints split_hints(const Config& c, std::int64_t pieces, int sms) {
  if (c.bn > 64) return {};
  return pieces <= sms ? SplitHints{c.stages, 4} : SplitHints{c.stages / 3, 2};
}

// The launch's arguments beside the tensor maps.
struct SplitWork {
  int m, n, steps;                     // D's; steps of bk along k, at least as many as blocks in a cluster
  unsigned wide, skinny, tiles;        // tiles along the wide operand, along the skinny one, and in all of D
  int wide_rows;                       // rows of the wide operand in a tile
  int batch_of_wide, batch_of_skinny;  // 1; 0: the batch shares it
  bool swap_ab;                        // swap-AB: the wide operand is B
  const void* gathered;                // the skinny operand where SplitKernel::gathers, [skinny_rows, k]
  std::int64_t gathered_row, gathered_k, gathered_batch;  // its strides, in elements
  int skinny_rows, k;
  int bulk_steps, bulk_bytes;  // first steps that the copy engine loads unchanged, and the bytes of each
  int share_log2;              // groups of 8 skinny columns that a block of the cluster sums, log2
  int stage_bytes;             // bytes copied per step
  Copied copied;               // both: or the wide one alone
  SplitHints hints;
  void* plain;         // D of type Plain or the sums', where it is just the sums in contiguous rows; or null
  bool plain_sums;     // D has the sums' type
  bool plain_vectors;  // D's rows are whole vectors of four, each aligned to its size
  std::int64_t plain_pitch, plain_batch;  // of D, in elements
};

template <class Policy, class T, Major MW, Major MN> struct SplitKernel {
  static constexpr Config c = Policy::config;
  static constexpr bool gathers = MN == Major::none;  // whether threads gather the skinny operand, of any strides
  static constexpr tile::sm90::Axis axis_wide = axis_of(MW), axis_skinny = gathers ? tile::sm90::Axis::k : axis_of(MN);
  static constexpr int threads = split_threads(c, gathers);
  static constexpr int groups = c.bn / 8, sums = 4 * groups;  // of 8 skinny columns; of a thread
  static constexpr int bytes_wide = c.bm * wgmma_line_bytes, bytes_skinny = c.bn * wgmma_line_bytes;
  static constexpr int box_wide = MW == Major::k ? split_wide(c) : c.bk, box_skinny = MN == Major::k ? c.bn : c.bk;
  // Little is read besides the wide operand where tiles are this skinny.
  static constexpr auto fetch_wide = c.bn <= 16 ? tile::sm90::Fetch::lines : tile::sm90::Fetch::wide;
  static_assert(c.family == Family::wgmma_split && c.bk * sizeof(T) == wgmma_line_bytes);
  using Plain = ColumnOut<T>;  // the type of a plain D other than the sums'
  static_assert(c.promote <= 1 && (sizeof(T) == 2 || (MW == Major::k && MN == Major::k)));
  static_assert(c.bm % 64 == 0 && c.bn % 16 == 0 && wgmma_stage_bytes(c) % tile::sm90::atom_bytes == 0);
  static_assert(gathers ? split_gathers(c) : MN == Major::k || !skinny_is_k_major(c));
  static_assert((groups & (groups - 1)) == 0, "shares are powers of two");
  static_assert(split_sums_at(c) + split_sums_bytes(c) <= split_barriers_at(c), "the sums have a place");
  static_assert(!c.gated || (MW == Major::k && MN == Major::k && sizeof(T) == 2 && c.bm == 128 && c.promote == 0));
};

// A thread has four sums: two rows of the wide operand, 8 apart, by two columns of the skinny one. Lanes exchange them
// until each has four neighbours in D. along_wide() and along_skinny(): their first position in the warp's 16 rows and
// 8 columns. Along the skinny operand one of two lanes takes the upper row, the other one the lower.
struct Place {
  int wide, skinny;
};
template <class S> __device__ __forceinline__ void transpose_along_skinny(S* x) {
  const bool lower = threadIdx.x % 2;
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    const S received = __shfl_xor_sync(~0u, lower ? x[e] : x[2 + e], 1), own = lower ? x[2 + e] : x[e];
    x[e] = lower ? received : own, x[2 + e] = lower ? own : received;
  }
}
__device__ __forceinline__ Place along_skinny() {
  const int lane = threadIdx.x % 32;
  return {lane / 4 + lane % 2 * 8, lane % 4 / 2 * 4};
}
// Along the wide operand: four lanes transpose their sums, two by two.
template <class S> __device__ __forceinline__ void transpose_along_wide(S* x) {
  const bool odd = threadIdx.x / 4 % 2, far = threadIdx.x / 8 % 2;
#pragma unroll
  for (int i = 0; i < 4; i += 2) {  // two rows of one column
    const S received = __shfl_xor_sync(~0u, odd ? x[i] : x[i + 1], 4), own = odd ? x[i + 1] : x[i];
    x[i] = odd ? received : own, x[i + 1] = odd ? own : received;
  }
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    const S received = __shfl_xor_sync(~0u, far ? x[e] : x[2 + e], 8), own = far ? x[2 + e] : x[e];
    x[e] = far ? received : own, x[2 + e] = far ? own : received;
  }
}
__device__ __forceinline__ Place along_wide() {
  const int lane = threadIdx.x % 32;
  return {lane / 16 * 4 + lane / 8 % 2 * 8, lane % 4 * 2 + lane / 4 % 2};
}

// Gathers the skinny operand's part of each step to shared memory, in TMA's layout. A warp takes every third step of
// the block, and loads its next step's elements while it stores this one's. Elements past k are zero; rows past the
// operand become rows outside D, which are not stored.
template <class K, class T>
__device__ __forceinline__ void gather_skinny(const SplitWork& work, unsigned char* shared,
                                              const tile::sm90::Pipeline<K::c.stages>& pipeline,
                                              tile::sm90::Barrier* bulk_full, int first, int steps, int skinny_row,
                                              int batch) {
  namespace sm90 = tile::sm90;
  constexpr Config c = K::c;
  constexpr int elements = 16 / static_cast<int>(sizeof(T)), pieces = wgmma_line_bytes / 16,
                of_lane = c.bn * pieces / 32;
  static_assert(c.bn < 32 && 32 % c.bn == 0);
  struct Pieces {
    simt::vec<T, elements> piece[of_lane];
  };
  const int lane = static_cast<int>(threadIdx.x) % 32, row = lane % c.bn, first_piece = lane / c.bn;
  constexpr int piece_step = 32 / c.bn;
  const bool there = skinny_row + row < work.skinny_rows;
  const T* const from =
      static_cast<const T*>(work.gathered) + batch * work.gathered_batch + (skinny_row + row) * work.gathered_row;
  const auto fetch = [&](int step) {
    Pieces x;
#pragma unroll
    for (int i = 0; i < of_lane; ++i) {
      const int k = (first + step) * c.bk + (first_piece + i * piece_step) * elements;
      const T* at = from + k * work.gathered_k;
#pragma unroll
      for (int e = 0; e < elements; ++e, at += work.gathered_k) x.piece[i][e] = there && k + e < work.k ? *at : T{};
    }
    return x;
  };
  sm90::PipelineState<c.stages> ring;
  int step = static_cast<int>(threadIdx.x) / 32 - (K::threads / 32 - split_gatherers);
  ring.skip(step);
  Pieces x;
  const int bulk_steps = work.bulk_steps - first;
  if (step < steps && step >= bulk_steps) x = fetch(step);
  RIDGE_KEEP_LOOP
  for (; step < steps; step += split_gatherers, ring.skip(split_gatherers)) {
    Pieces next;
    if (step + split_gatherers < steps && step + split_gatherers >= bulk_steps) next = fetch(step + split_gatherers);
    unsigned char* const tile = shared + ring.stage * wgmma_stage_bytes(c) + K::bytes_wide;
    if (step < bulk_steps) {  // the copy engine brought it unchanged; transpose it in place
      sm90::wait(bulk_full + ring.stage, ring.parity);
      const T* const at = reinterpret_cast<const T*>(tile) + row;
      const int pitch = static_cast<int>(work.gathered_k);
      if (there)
#pragma unroll
        for (int i = 0; i < of_lane; ++i)
#pragma unroll
          for (int e = 0; e < elements; ++e)
            x.piece[i][e] = at[((first_piece + i * piece_step) * elements + e) * pitch];
      __syncwarp();
    } else {
      pipeline.producer_acquire(ring);
    }
    if (there)
#pragma unroll
      for (int i = 0; i < of_lane; ++i)
        simt::store(reinterpret_cast<T*>(tile + sm90::swizzled(row, (first_piece + i * piece_step) * 16)), x.piece[i]);
    sm90::fence_shared_for_copies();
    __syncwarp();
    if (lane == 0) pipeline.producer_commit(ring);
    x = next;
  }
}

// Finishes the sums of B, which the first warpgroup has, with those of G, which the second one has, of the same vectors
// of D: each hands half of its groups of 8 columns to the other. exchanged: [2][groups][128 threads][4].
template <class K, class Epilogue, class S, int Sums>
__device__ __forceinline__ void finish_gated(const Epilogue& epilogue, S (&sums)[Sums], const Vectors& own,
                                             S* exchanged, int group) {
  namespace sm90 = tile::sm90;
  constexpr int chunk = split_exchanged_groups(K::c), half = chunk / 2, of_group = 128 * 4, written = 1,
                read = 2;  // named barriers
  static_assert(K::groups % chunk == 0);
  S* const at_thread = exchanged + static_cast<int>(threadIdx.x) % 128 * 4;
  const bool of_gate = group == 1;
  const int side = of_gate ? 1 : 0;
  RIDGE_KEEP_LOOP
  for (int p = 0; p < K::groups; p += chunk) {  // groups rotate through the first places: the code exists once
    simt::vec<S, 4> kept[half], others[half];
#pragma unroll
    for (int g = 0; g < half; ++g) {
      simt::vec<S, 4> sent;
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        const S first = sums[4 * g + v], second = sums[4 * (half + g) + v];
        kept[g][v] = of_gate ? second : first, sent[v] = of_gate ? first : second;
      }
      simt::store(at_thread + (side * half + g) * of_group, sent);
    }
    sm90::named_barrier_sync<256>(written);
#pragma unroll
    for (int g = 0; g < half; ++g) others[g] = simt::load<4>(at_thread + ((1 - side) * half + g) * of_group);
    sm90::named_barrier_sync<256>(read);
    simt::vec<S, 4> x[half], gates[half];
#pragma unroll
    for (int g = 0; g < half; ++g) x[g] = of_gate ? others[g] : kept[g], gates[g] = of_gate ? kept[g] : others[g];
    Vectors at = own;
    const int skipped = p + (of_gate ? half : 0);
    at.row += skipped * at.rows_apart, at.col += skipped * at.cols_apart;
    if constexpr (requires { epilogue.many(x, at, gates); }) {
      epilogue.many(x, at, gates);
    } else {
#pragma unroll
      for (int g = 0; g < half; ++g)
        if (const At one = at.at<4>(g); one.count > 0) epilogue(x[g], gates[g], one);
    }
#pragma unroll
    for (int i = 0; i + 4 * chunk < Sums; ++i) sums[i] = sums[i + 4 * chunk];
  }
}

// epilogue(A B)                     wide: [m, k], skinny: [n, k]; with swap_ab wide: [n, k], skinny: [m, k]
// epilogue(A B, A G)                wide and gate: [n, k], skinny: [m, k]
// SumsAlone: D is the sums, rounded to SplitKernel::Plain, in rows of whole vectors; an instance without the epilogue,
// whose code would lie between what is executed (docs/decisions.md, 44).
// Preconditions: cc 90; maps made with the boxes of SplitKernel; blocks of a cluster are neighbours in x.
template <class Policy, class T, Major MW, Major MN, class Epilogue, bool SumsAlone>
__global__ void __launch_bounds__(SplitKernel<Policy, T, MW, MN>::threads, Policy::config.blocks_per_sm)
    gemm_split(const __grid_constant__ tile::sm90::TensorMap map_wide,
               const __grid_constant__ tile::sm90::TensorMap map_skinny, const __grid_constant__ SplitWork work,
               const __grid_constant__ Epilogue epilogue,
               const __grid_constant__ std::conditional_t<Policy::config.gated, Gate, NoGate> gate) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    using K = SplitKernel<Policy, T, MW, MN>;
    constexpr Config c = Policy::config;
    constexpr int consumers = split_consumers(c);
    using Sum = sm90::Sum<T>;

    unsigned char* shared = sm90::swizzled_shared();
    auto* barriers = reinterpret_cast<sm90::Barrier*>(shared + split_barriers_at(c));
    const sm90::Pipeline<c.stages> pipeline{barriers, barriers + c.stages};
    auto *bulk_full = barriers + 2 * c.stages, *sums_full = bulk_full + c.stages;  // for others' sums
    const int group = sm90::warpgroup_index();
    constexpr bool may_split = max_split_of(c) > 1;
    const unsigned split = may_split ? sm90::cluster_size() : 1, rank = may_split ? sm90::cluster_rank() : 0;
    // Consecutive tiles advance along the skinny operand, and share their reads of the wide one in the L2 cache.
    struct Tile {
      int wide_row, skinny_row, batch;
    };
    const auto tile_at = [&](unsigned tile) {
      const unsigned rest = tile / work.skinny;
      return Tile{static_cast<int>(rest % work.wide) * work.wide_rows, static_cast<int>(tile % work.skinny) * c.bn,
                  static_cast<int>(rest / work.wide)};
    };
    // A block without a cluster may take several tiles, one after the other.
    const unsigned first_tile = blockIdx.x / split, tile_step = gridDim.x / split;
    const bool one_tile = work.tiles <= tile_step;
    const int first = static_cast<int>(static_cast<unsigned>(work.steps) * rank / split),
              last = static_cast<int>(static_cast<unsigned>(work.steps) * (rank + 1) / split);

    const int steps = last - first;
    sm90::PipelineState<c.stages> ring;
    const auto load_wide = [&](const Tile& tile, int i, int stage) {
      unsigned char* const to = shared + stage * wgmma_stage_bytes(c);
      const int k = (first + i) * c.bk, wide_batch = tile.batch * work.batch_of_wide;
      sm90::arrive_and_expect_tx(pipeline.full + stage, static_cast<unsigned>(work.stage_bytes));
      load_operand<K::axis_wide, split_wide(c), false>(&map_wide, to, pipeline.full + stage, tile.wide_row, k,
                                                       wide_batch, 0);
      if constexpr (K::c.gated)
        load_operand<K::axis_wide, split_wide(c), false>(&gate.map, to + sm90::outer_offset(split_wide(c)),
                                                         pipeline.full + stage, tile.wide_row, k,
                                                         tile.batch * gate.batch, 0);
    };
    const auto load_skinny = [&](const Tile& tile, int i, int stage) {
      unsigned char* const to = shared + stage * wgmma_stage_bytes(c) + K::bytes_wide;
      if constexpr (!K::gathers) {
        load_operand<K::axis_skinny, c.bn, false>(&map_skinny, to, pipeline.full + stage, tile.skinny_row,
                                                  (first + i) * c.bk, tile.batch * work.batch_of_skinny, 0);
      } else if (first + i < work.bulk_steps) {
        sm90::arrive_and_expect_tx(bulk_full + stage, static_cast<unsigned>(work.bulk_bytes));
        sm90::copy_bulk(to,
                        static_cast<const T*>(work.gathered) + tile.batch * work.gathered_batch +
                            (first + i) * c.bk * work.gathered_k,
                        static_cast<unsigned>(work.bulk_bytes), bulk_full + stage);
      }
    };
    const auto load_step = [&](const Tile& tile, int i, bool of_last) {
      load_wide(tile, i, ring.stage);
      load_skinny(tile, i, ring.stage);
      ring.next();
      if (of_last && i + 1 == steps - work.hints.left) tile::launch_dependents();
    };
    const bool loads = threadIdx.x == consumers * 128;  // one thread of the last warp
    int loaded = 0;
    if (loads) {  // it fills the stages before other threads know of them
      for (int s = 0; s < c.stages; ++s) {
        sm90::init(pipeline.full + s, K::gathers ? 2 : 1);
        sm90::init(pipeline.empty + s, consumers);
        if constexpr (K::gathers) sm90::init(bulk_full + s, 1);
      }
      sm90::init(sums_full, 1);
      sm90::fence_init();
      sm90::arrive_and_expect_tx(sums_full, (split - 1) * (consumers * 128 * 16u << work.share_log2));
      const int at_once = ::min(steps, c.stages);
      const Tile tile = tile_at(first_tile);
      if constexpr (MW == Major::k)
        for (int i = 0; i < ::min(steps, work.hints.prefetch_steps); ++i) {
          sm90::fetch(&map_wide, (first + i) * c.bk, tile.wide_row, tile.batch * work.batch_of_wide);
          if constexpr (c.gated) sm90::fetch(&gate.map, (first + i) * c.bk, tile.wide_row, tile.batch * gate.batch);
        }
      if (work.copied == Copied::none) {
        tile::grid_dependency_wait();
        for (; loaded < at_once; ++loaded) load_step(tile, loaded, one_tile);
      } else {  // the wide operand of all stages first, if no kernel before this one writes it
        if (work.copied == Copied::both) tile::grid_dependency_wait();
        for (; loaded < at_once; ++loaded) load_wide(tile, loaded, loaded);
        if (work.copied == Copied::skinny) tile::grid_dependency_wait();
        for (int i = 0; i < at_once; ++i) load_skinny(tile, i, i);
        ring.skip(at_once);
      }
    }
    if (one_tile && work.hints.left >= steps) tile::launch_dependents();
    tile::grid_dependency_wait();  // before D is written and before C or the residual is read
    __syncthreads();
    // Blocks send sums once all have begun or, where the sums reuse the stages' memory, once all have finished their
    // products.
    if (split > 1 && split_sums_apart(c)) sm90::cluster_arrive_relaxed();
    const auto await_others = [&] {
      if (split == 1) return;
      if (!split_sums_apart(c)) sm90::cluster_arrive_relaxed();
      sm90::cluster_wait();
    };
    if (group == consumers) {
      if (loads)
        for (unsigned index = first_tile; index < work.tiles; index += tile_step, loaded = 0) {
          const Tile tile = tile_at(index);
          for (; loaded < steps; ++loaded) {
            pipeline.producer_acquire(ring);
            load_step(tile, loaded, index + tile_step >= work.tiles);
          }
        }
      if constexpr (K::gathers)
        if (threadIdx.x >= consumers * 128 + 32) {
          const Tile tile = tile_at(first_tile);
          gather_skinny<K, T>(work, shared, pipeline, bulk_full, first, steps, tile.skinny_row, tile.batch);
        }
      __syncwarp();
      await_others();
      return;
    }
    // The vectors of four neighbours in D that this thread sums, within a warpgroup's 64 rows of the wide operand and
    // `share` groups of 8 columns of the skinny one.
    const auto own_vectors = [&](int wide_row, int wide_end, int skinny_row, int share, int batch) {
      const Place place = work.swap_ab ? along_wide() : along_skinny();
      const int wide = wide_row + static_cast<int>(threadIdx.x) % 128 / 32 * 16 + place.wide,
                skinny = skinny_row + place.skinny, skinny_end = skinny_row + 8 * share;
      return work.swap_ab ? Vectors{batch, skinny, wide, 8, 0, ::min(work.m, skinny_end), ::min(work.n, wide_end)}
                          : Vectors{batch, wide, skinny, 0, 8, ::min(work.m, wide_end), ::min(work.n, skinny_end)};
    };
    const auto from_vector = [](Vectors own, int p) {
      own.row += p * own.rows_apart, own.col += p * own.cols_apart;
      return own;
    };
    for (unsigned index = first_tile; index < work.tiles; index += tile_step) {
      const Tile tile = tile_at(index);
      // This thread's part: groups of 8 skinny columns, a share of which belongs to its block.
      const int share = 1 << work.share_log2, mine = static_cast<int>(rank) << work.share_log2;
      const bool owns = mine < K::groups;
      const Vectors own = own_vectors(tile.wide_row + (c.gated ? 0 : group * 64), tile.wide_row + work.wide_rows,
                                      tile.skinny_row + 8 * mine, share, tile.batch);
      constexpr int at_once = K::groups < 4 ? K::groups : 4;  // in the epilogue
      constexpr int half = K::groups / 2;                     // the largest share, where there are two or more
      if constexpr (!SumsAlone && requires { epilogue.template prefetch<4, at_once>(own); })
        if (owns && !work.plain)
          for (int p = 0; p < share; p += at_once) epilogue.template prefetch<4, at_once>(from_vector(own, p));
      Sum sums[K::sums];
      const auto start_step = [&](Sum(&to)[K::sums], bool accumulate) {
        pipeline.consumer_wait(ring);
        const unsigned wide = sm90::shared_address(shared + ring.stage * wgmma_stage_bytes(c)),
                       skinny = wide + K::bytes_wide;
        sm90::fence_sums();
#pragma unroll
        for (int k = 0; k < c.bk; k += sm90::product_k<T>)
          sm90::multiply<T, K::axis_wide, K::axis_skinny, c.bn>(
              to,
              sm90::descriptor(K::axis_wide,
                               wide + sm90::outer_offset(group * 64) + sm90::k_offset(K::axis_wide, k, sizeof(T))),
              sm90::descriptor(K::axis_skinny, skinny + sm90::k_offset(K::axis_skinny, k, sizeof(T))),
              accumulate || k > 0);
        sm90::commit_products();
      };
      const auto release = [&](int stage) {
        if (threadIdx.x % 128 == 0) pipeline.consumer_release(stage);
      };
      if constexpr (c.promote > 0) {
        // Each step's sums are added up while the next few steps multiply. Large tiles leave no registers for that;
        // there the other warpgroup multiplies meanwhile.
        constexpr int most = c.bn <= 64 ? 4 : 1;
        Sum parts[most][K::sums];
#pragma unroll
        for (int j = 0; j < K::sums; ++j) sums[j] = 0;
        int left = steps;
        const auto take = [&]<int... I>(std::integer_sequence<int, I...>) {
          int stage[sizeof...(I)];
          const auto start = [&](int i, Sum(&to)[K::sums]) {
            stage[i] = ring.stage;
            start_step(to, false);
            ring.next();
          };
          const auto add = [&](int i, Sum(&part)[K::sums]) {
            sm90::take_sums(part);
            release(stage[i]);
#pragma unroll
            for (int j = 0; j < K::sums; ++j) sums[j] += part[j];
          };
          constexpr int count = sizeof...(I);
          for (; left >= count; left -= count) {
            (start(I, parts[I]), ...);
            ((sm90::wait_products<count - 1 - I>(), add(I, parts[I])), ...);
          }
        };
        take(std::make_integer_sequence<int, most>{});
        if constexpr (most > 1) take(std::make_integer_sequence<int, 1>{});
      } else {
        start_step(sums, false);
        int former = ring.stage;
        ring.next();
        for (int i = 1; i < steps; ++i, ring.next()) {
          start_step(sums, true);
          sm90::wait_products<1>();  // all but these: the previous stage has been read
          release(former);
          former = ring.stage;
        }
        sm90::wait_products<0>();
        release(former);
      }
      sm90::take_sums(sums);
      await_others();
      // A thread's sums: [group of 8 skinny columns][4]. Its own share moves to the front: place p then holds group
      // p ^ mine.
      Sum* const received =
          reinterpret_cast<Sum*>(shared + split_sums_at(c)) + (group * 128 + static_cast<int>(threadIdx.x) % 128) * 4;
      constexpr int of_group = consumers * 128 * 4;  // sums of a group in all of a block's threads
      if (split > 1) {
#pragma unroll
        for (int distance = half; distance > 0; distance /= 2)
          if (owns && mine & distance)
#pragma unroll
            for (int i = 0; i < K::sums; ++i)
              if (!(i / 4 & distance)) {
                const Sum x = sums[i];
                sums[i] = sums[i + 4 * distance], sums[i + 4 * distance] = x;
              }
        const auto four = [&](int p) {
          return simt::vec<Sum, 4>{sums[4 * p], sums[4 * p + 1], sums[4 * p + 2], sums[4 * p + 3]};
        };
        if (split == 2) {
          const sm90::RemoteBuffer other(received, sums_full, rank ^ 1);
#pragma unroll
          for (int p = 0; p < half; ++p) other.send(p * of_group, four(half + p));
        } else {
#pragma unroll
          for (int p = 0; p < K::groups; ++p) {
            const int of = owns ? p ^ mine : p, to = of >> work.share_log2;
            if (to == static_cast<int>(rank)) continue;
            const int from = static_cast<int>(rank) - (static_cast<int>(rank) > to);  // rank among the senders
            sm90::RemoteBuffer(received, sums_full, static_cast<unsigned>(to))
                .send(((from << work.share_log2) + (of & (share - 1))) * of_group, four(p));
          }
          if (!owns) return;
        }
        sm90::wait_cluster_scope(sums_full, 0);
        RIDGE_KEEP_LOOP
        for (unsigned from = 0; from + 1 < split; ++from) {
          simt::vec<Sum, 4> other[half];
#pragma unroll
          for (int p = 0; p < half; ++p)
            other[p] =
                simt::load<4>(received + (static_cast<int>(from << work.share_log2) + ::min(p, share - 1)) * of_group);
#pragma unroll
          for (int i = 0; i < 4 * half; ++i) sums[i] = added(sums[i], other[i / 4][i % 4]);  // sent ones: unused
        }
      }

      const auto transpose_group = [&](int p) {
        if (work.swap_ab) transpose_along_wide(sums + 4 * p);
        else transpose_along_skinny(sums + 4 * p);
      };
#pragma unroll
      for (int p = 0; p < half; ++p) transpose_group(p);
      if (split == 1)
#pragma unroll
        for (int p = half; p < K::groups; ++p) transpose_group(p);
      if constexpr (c.gated) {
        finish_gated<K>(epilogue, sums, own, reinterpret_cast<Sum*>(shared + split_sums_at(c)), group);
        continue;
      }
      const std::int64_t first_of_d = tile.batch * work.plain_batch + own.row * work.plain_pitch + own.col,
                         step = own.rows_apart * work.plain_pitch + own.cols_apart;
      // Stores as Plain, or in the sums' type.
      const auto with_plain = [&](const auto& store) {
        using Plain = typename K::Plain;
        if (work.plain_sums) return store(static_cast<Sum*>(work.plain) + first_of_d);
        if constexpr (sizeof(T) == 2 || is_float8<T>) store(static_cast<Plain*>(work.plain) + first_of_d);
      };
      const auto store_vectors = [&]<class Plain>(Plain* d) {
#pragma unroll
        for (int p = 0; p < K::groups; ++p)
          if (own.at<4>(p).count > 0)
            simt::store(d + p * step, simt::vec<Plain, 4>{Plain(sums[4 * p]), Plain(sums[4 * p + 1]),
                                                          Plain(sums[4 * p + 2]), Plain(sums[4 * p + 3])});
      };
      if constexpr (SumsAlone) {
        store_vectors(static_cast<typename K::Plain*>(work.plain) + first_of_d);
      } else if (work.plain_sums && work.plain && work.plain_vectors) {
        store_vectors(static_cast<Sum*>(work.plain) + first_of_d);
      } else {
        RIDGE_KEEP_LOOP
        for (int p = 0; p < share; p += at_once) {  // groups rotate through the first places: the code exists once
          if (work.plain) {
            with_plain([&]<class Plain>(Plain* d) {
#pragma unroll
              for (int g = 0; g < at_once; ++g) {
                const int count = own.at<4>(p + g).count;
#pragma unroll
                for (int v = 0; v < 4; ++v)
                  if (v < count) d[(p + g) * step + v] = Plain(sums[4 * g + v]);
              }
            });
          } else {
            simt::vec<Sum, 4> x[at_once];
#pragma unroll
            for (int i = 0; i < 4 * at_once; ++i) x[i / 4][i % 4] = sums[i];
            finish_vectors(epilogue, x, from_vector(own, p));
          }
#pragma unroll
          for (int i = 0; i + 4 * at_once < K::sums; ++i) sums[i] = sums[i + 4 * at_once];
        }
      }
    }
  }
}

// Steps along k for which the copy engine loads a gathered operand unchanged: whole rows along its few columns, to the
// place where they are transposed.
template <class T> static int bulk_steps_of(const Config& c, const Operand<T>& o, std::int64_t rows, std::int64_t k) {
  const auto size = static_cast<std::int64_t>(sizeof(T)), pitch = o.k_stride;
  if (o.outer_stride != 1 || rows > c.bn || pitch < rows || c.bk * pitch * size > c.bn * wgmma_line_bytes ||
      o.batch_stride * size % 16 || reinterpret_cast<std::uintptr_t>(o.data) % 16)
    return 0;
  return static_cast<int>((pitch * (k - 1) + rows) / (pitch * c.bk));
}

// The part of D that a kernel stores without an epilogue: D, where it is just the sums and its rows are contiguous;
// else its data is null and the epilogue stores.
struct PlainD {
  WgmmaOperand d;
  bool sums = false;     // D has the sums' type, else SplitKernel::Plain
  bool vectors = false;  // D's rows are whole vectors of four, each aligned to its size
};

// Launches the kernel with `split` blocks in a cluster. A tile has `wide_rows` rows of the wide operand: at most bm, a
// multiple of four; all bm where that operand is not K-major.
// gathered: the skinny operand, where MN is Major::none. gate_operand: G, with Config::gated.
// Precondition: split <= steps along k, and a power of two.
template <class Policy, class T, Major MW, Major MN, class Epilogue>
[[nodiscard]] static Status launch_split(const WgmmaOperand& wide, const WgmmaOperand& skinny, const PlainD& plain,
                                         const Shape& shape, bool swap_ab, int split, int wide_rows, Copied copied,
                                         SplitHints hints, const Epilogue& epilogue, int sms, Stream stream,
                                         const Operand<T>& gathered = {}, const WgmmaOperand& gate_operand = {}) {
  namespace sm90 = tile::sm90;
  using K = SplitKernel<Policy, T, MW, MN>;
  constexpr Config c = Policy::config;
  const std::int64_t rows_wide = swap_ab ? shape.n : shape.m, rows_skinny = swap_ab ? shape.m : shape.n;
  // Rows outside the matrix would be copied as zeros, which takes longer than copying rows. Where one copy loads the
  // only tile, its box leaves them out: stale data is multiplied instead and becomes rows outside D.
  const int box_skinny =
      MN == Major::k ? static_cast<int>(std::min<std::int64_t>(K::box_skinny, rows_skinny)) : K::box_skinny;
  const int box_wide = MW == Major::k ? wide_rows : K::box_wide;
  const int bytes_wide = MW == Major::k ? (c.gated ? 2 : 1) * wide_rows * wgmma_line_bytes : K::bytes_wide,
            bytes_skinny = K::gathers ? 0 : K::bytes_skinny - (K::box_skinny - box_skinny) * wgmma_line_bytes;
  sm90::TensorMap map_wide, map_skinny{};
  RIDGE_TRY(make_operand_map<T>(&map_wide, wide, rows_wide, shape.k, shape.batch, MW, box_wide, K::fetch_wide));
  std::conditional_t<c.gated, Gate, NoGate> gate{};
  if constexpr (c.gated) {
    gate.batch = gate_operand.batch_stride ? 1 : 0;
    RIDGE_TRY(
        make_operand_map<T>(&gate.map, gate_operand, rows_wide, shape.k, shape.batch, MW, box_wide, K::fetch_wide));
  }
  if constexpr (!K::gathers)
    RIDGE_TRY(make_operand_map<T>(&map_skinny, skinny, rows_skinny, shape.k, shape.batch, MN, box_skinny));
  const Raster raster = raster_of(rows_wide, rows_skinny, wide_rows, c.bn);
  const std::int64_t tiles = raster.tiles() * shape.batch;
  const SplitWork work{.m = static_cast<int>(shape.m),
                       .n = static_cast<int>(shape.n),
                       .steps = static_cast<int>((shape.k + c.bk - 1) / c.bk),
                       .wide = static_cast<unsigned>(raster.rows),
                       .skinny = static_cast<unsigned>(raster.cols),
                       .tiles = static_cast<unsigned>(tiles),
                       .wide_rows = wide_rows,
                       .batch_of_wide = wide.batch_stride ? 1 : 0,
                       .batch_of_skinny = skinny.batch_stride ? 1 : 0,
                       .swap_ab = swap_ab,
                       .gathered = gathered.data,
                       .gathered_row = gathered.outer_stride,
                       .gathered_k = gathered.k_stride,
                       .gathered_batch = gathered.batch_stride,
                       .skinny_rows = static_cast<int>(rows_skinny),
                       .k = static_cast<int>(shape.k),
                       .bulk_steps = K::gathers ? bulk_steps_of(c, gathered, rows_skinny, shape.k) : 0,
                       .bulk_bytes = static_cast<int>(c.bk * gathered.k_stride * static_cast<int>(sizeof(T))),
                       .share_log2 = split_share_log2(c, split),
                       .stage_bytes = bytes_wide + bytes_skinny,
                       .copied = copied,
                       .hints = hints,
                       .plain = const_cast<void*>(plain.d.data),
                       .plain_sums = plain.sums,
                       .plain_vectors = plain.vectors,
                       .plain_pitch = plain.d.pitch,
                       .plain_batch = plain.d.batch_stride};
  const simt::Config at{.grid = dim3(static_cast<unsigned>(split_blocks(c, tiles, split, K::gathers, sms))),
                        .block = dim3(static_cast<unsigned>(K::threads)),
                        .smem = static_cast<std::size_t>(split_smem_bytes(c)),
                        .stream = stream.handle};
  const auto launch = [&]<bool SumsAlone>() {
    constexpr auto kernel = gemm_split<Policy, T, MW, MN, Epilogue, SumsAlone>;
    return sm90::launch_dependent_clusters(at, split, kernel, map_wide, map_skinny, work, epilogue, gate);
  };
  if constexpr (has_tma_store<T> && !c.gated)
    if (plain.d.data && plain.vectors && !plain.sums) return launch.template operator()<true>();
  return launch.template operator()<false>();
}

}  // namespace ridge::gemm_kernels
