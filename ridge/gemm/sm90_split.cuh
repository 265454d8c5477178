// GEMM on Hopper's tensor cores for few rows or columns, and for fewer tiles than the chip has multiprocessors: the
// blocks of a cluster each multiply a part of k of one tile of D. Each keeps the sums of its share of the narrow
// operand's columns in registers, sends the others' to the threads that have these elements there, and adds up what it
// is sent, its own first, then in the blocks' order. No workspace, no atomics, and the same bits from run to run.
//
// Sums of 8-bit floats leave the tensor cores after each step (Config::promote); those of signed bytes stay integers.
//
// wgmma takes 64 rows of one operand and 16 to 256 of the other. The wide operand, whose rows are taken 64 at a time,
// is A, or where D has few rows B: then the kernel multiplies B^T A^T, and turns the sums round on their way to D.
#pragma once
#include <ridge/gemm/element.cuh>
#include <ridge/gemm/sm90_wgmma.cuh>
#include <ridge/tile/sm90/bulk_copy.cuh>
#include <ridge/tile/sm90/cluster.cuh>
#include <ridge/tile/sm90/overlap.cuh>

#include <utility>

namespace ridge::gemm_kernels {

// Which operands a kernel right before this one writes: that is waited for, and this one begins earlier.
enum class Copied : std::uint8_t { none, narrow, both };

// What is known of the kernels beside this one and of the L2 cache.
struct SplitHints {
  int ahead = 0;          // steps of the wide operand that the L2 cache brings before the kernel before has ended
  int left = 0x7fffffff;  // steps to be loaded when the next kernel may begin
};

// Of few rows memory is all that is waited for, and the next kernel's first loads are to be on their way before this
// one's end. Where a multiprocessor has one piece of work at most, a tile or a block's part of it, these are as many as
// it has stages.
constexpr SplitHints split_hints(const Config& c, std::int64_t pieces, int sms) {
  if (c.bn > 64) return {};
  return pieces <= sms ? SplitHints{c.stages, 4} : SplitHints{c.stages / 3, 2};
}

// What a launch says beside its tensor maps.
struct SplitWork {
  int m, n, steps;                     // of D; steps of bk along k, at least as many as blocks in a cluster
  unsigned wide, narrow, tiles;        // of the wide operand, of the narrow one, and of all of D
  int wide_rows;                       // that a tile has, of the wide operand
  int batch_of_wide, batch_of_narrow;  // 1; 0: shared by the batch
  bool swapped;                        // the wide operand is B
  const void* gathered;                // the narrow operand of SplitKernel::gathers, [narrow_rows, k]
  std::int64_t gathered_row, gathered_k, gathered_batch;  // its strides, in elements
  int narrow_rows, k;
  int bulk_steps, bulk_bytes;  // first steps of which the copy engine brings it as it lies, and how much for each
  int share_log2;              // groups of 8 narrow columns that a block of the cluster adds up
  int stage_bytes;             // that are copied for a step
  Copied copied;               // both: or the wide one alone
  SplitHints hints;
  void* plain;         // D of SplitKernel::Plain or of sums, where it is these and its columns are neighbours, or null
  bool plain_sums;     // it is of the sums' type
  bool plain_vectors;  // its rows are whole pieces of four, each on its own size
  std::int64_t plain_pitch, plain_batch;  // of D, in elements
};

template <class Row, class T, Major MW, Major MN> struct SplitKernel {
  static constexpr Config c = Row::config;
  static constexpr bool gathers = MN == Major::none;  // the narrow operand, of any strides
  static constexpr tile::sm90::Axis axis_wide = axis_of(MW), axis_narrow = gathers ? tile::sm90::Axis::k : axis_of(MN);
  static constexpr int threads = split_threads(c, gathers);
  static constexpr int groups = c.bn / 8, sums = 4 * groups;  // of 8 narrow columns; of a thread
  static constexpr int bytes_wide = c.bm * wgmma_line_bytes, bytes_narrow = c.bn * wgmma_line_bytes;
  static constexpr int box_wide = MW == Major::k ? c.bm : c.bk, box_narrow = MN == Major::k ? c.bn : c.bk;
  // Where next to nothing but the wide operand is read.
  static constexpr auto fetch_wide = c.bn <= 16 ? tile::sm90::Fetch::lines : tile::sm90::Fetch::wide;
  static_assert(c.family == Family::wgmma_split && c.bk * sizeof(T) == wgmma_line_bytes);
  using Plain = ColumnOut<T>;  // of D that is stored without an epilogue, if it is not of the sums' type
  static_assert(c.promote <= 1 && (sizeof(T) == 2 || (MW == Major::k && MN == Major::k)));
  static_assert(c.bm % 64 == 0 && c.bn % 16 == 0 && wgmma_stage_bytes(c) % tile::sm90::atom_bytes == 0);
  static_assert(gathers ? split_gathers(c) : MN == Major::k || !narrow_is_k_major(c));
  static_assert((groups & (groups - 1)) == 0, "shares are powers of two");
  static_assert(split_sums_at(c) + split_sums_bytes(c) <= split_barriers_at(c), "the sums have a place");
};

// A thread has four sums of two rows of the wide operand, 8 apart, and of two columns of the narrow one. Lanes exchange
// them until each has four neighbours of D: at(), from the first of the warp's 16 rows and 8 columns. Along the narrow
// operand one of two lanes takes the upper row, and one the lower.
struct Place {
  int wide, narrow;
};
template <class S> __device__ __forceinline__ void turn_along_narrow(S* x) {
  const bool lower = threadIdx.x % 2;
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    const S got = __shfl_xor_sync(~0u, lower ? x[e] : x[2 + e], 1), own = lower ? x[2 + e] : x[e];
    x[e] = lower ? got : own, x[2 + e] = lower ? own : got;
  }
}
__device__ __forceinline__ Place along_narrow() {
  const int lane = threadIdx.x % 32;
  return {lane / 4 + lane % 2 * 8, lane % 4 / 2 * 4};
}
// Along the wide one: four lanes' sums are turned, two by two.
template <class S> __device__ __forceinline__ void turn_along_wide(S* x) {
  const bool odd = threadIdx.x / 4 % 2, far = threadIdx.x / 8 % 2;
#pragma unroll
  for (int i = 0; i < 4; i += 2) {  // two rows of one column
    const S got = __shfl_xor_sync(~0u, odd ? x[i] : x[i + 1], 4), own = odd ? x[i + 1] : x[i];
    x[i] = odd ? got : own, x[i + 1] = odd ? own : got;
  }
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    const S got = __shfl_xor_sync(~0u, far ? x[e] : x[2 + e], 8), own = far ? x[2 + e] : x[e];
    x[e] = far ? got : own, x[2 + e] = far ? own : got;
  }
}
__device__ __forceinline__ Place along_wide() {
  const int lane = threadIdx.x % 32;
  return {lane / 16 * 4 + lane / 8 % 2 * 8, lane % 4 * 2 + lane / 4 % 2};
}

// Brings the narrow operand's part of each step to shared memory as TMA would. A warp has every third step of the
// block, and the next one's elements on their way while it stores one's. What of a row is behind k is zero; rows that
// there are not become rows that D has not, and are not stored.
template <class K, class T, class Barrier>
__device__ __forceinline__ void gather_narrow(const SplitWork& work, unsigned char* shared, Barrier* full,
                                              Barrier* empty, Barrier* brought, int first, int steps, int narrow_row,
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
  const bool there = narrow_row + row < work.narrow_rows;
  const T* const from =
      static_cast<const T*>(work.gathered) + batch * work.gathered_batch + (narrow_row + row) * work.gathered_row;
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
  sm90::RingPlace<c.stages> ring;
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
    if (step < bulk_steps) {  // it lies where it is to be turned
      sm90::wait(brought + ring.stage, ring.parity);
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
      sm90::wait(empty + ring.stage, ring.parity ^ 1);
    }
    if (there)
#pragma unroll
      for (int i = 0; i < of_lane; ++i)
        simt::store(reinterpret_cast<T*>(tile + sm90::swizzled(row, (first_piece + i * piece_step) * 16)), x.piece[i]);
    sm90::fence_shared_for_copies();
    __syncwarp();
    if (lane == 0) sm90::arrive(full + ring.stage);
    x = next;
  }
}

// epilogue(A B)                     wide: [m, k], narrow: [n, k]; or where `swapped` wide: [n, k], narrow: [m, k]
// Preconditions: cc 90; maps made with the boxes of SplitKernel; blocks of a cluster are neighbours in x.
template <class Row, class T, Major MW, Major MN, class Epilogue>
__global__ void __launch_bounds__(SplitKernel<Row, T, MW, MN>::threads, Row::config.blocks_per_sm)
    gemm_split(const __grid_constant__ tile::sm90::TensorMap map_wide,
               const __grid_constant__ tile::sm90::TensorMap map_narrow, const __grid_constant__ SplitWork work,
               const __grid_constant__ Epilogue epilogue) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    using K = SplitKernel<Row, T, MW, MN>;
    constexpr Config c = Row::config;
    constexpr int multipliers = split_multipliers(c);
    using Sum = sm90::Sum<T>;

    unsigned char* shared = sm90::swizzled_shared();
    auto* full = reinterpret_cast<sm90::Barrier*>(shared + split_barriers_at(c));
    auto *empty = full + c.stages, *brought = empty + c.stages, *got = brought + c.stages;  // got: the others' sums
    const int group = sm90::warpgroup_index();
    const unsigned split = sm90::cluster_size(), rank = sm90::cluster_rank();
    // Tiles of the narrow operand follow each other, and share what they read of the wide one in the L2 cache.
    struct Tile {
      int wide_row, narrow_row, batch;
    };
    const auto tile_at = [&](unsigned tile) {
      const unsigned rest = tile / work.narrow;
      return Tile{static_cast<int>(rest % work.wide) * work.wide_rows, static_cast<int>(tile % work.narrow) * c.bn,
                  static_cast<int>(rest / work.wide)};
    };
    // A block that is no cluster's may have several tiles, one after the other.
    const unsigned first_tile = blockIdx.x / split, tile_step = gridDim.x / split;
    const bool one_tile = work.tiles <= tile_step;
    const int first = static_cast<int>(static_cast<unsigned>(work.steps) * rank / split),
              last = static_cast<int>(static_cast<unsigned>(work.steps) * (rank + 1) / split);

    const int steps = last - first;
    sm90::RingPlace<c.stages> ring;
    const auto load_wide = [&](const Tile& tile, int i, int stage) {
      unsigned char* const to = shared + stage * wgmma_stage_bytes(c);
      const int k = (first + i) * c.bk, wide_batch = tile.batch * work.batch_of_wide;
      sm90::arrive_expecting(full + stage, static_cast<unsigned>(work.stage_bytes));
      load_operand<K::axis_wide, c.bm, false>(&map_wide, to, full + stage, tile.wide_row, k, wide_batch, 0);
    };
    const auto load_narrow = [&](const Tile& tile, int i, int stage) {
      unsigned char* const to = shared + stage * wgmma_stage_bytes(c) + K::bytes_wide;
      if constexpr (!K::gathers) {
        load_operand<K::axis_narrow, c.bn, false>(&map_narrow, to, full + stage, tile.narrow_row, (first + i) * c.bk,
                                                  tile.batch * work.batch_of_narrow, 0);
      } else if (first + i < work.bulk_steps) {
        sm90::arrive_expecting(brought + stage, static_cast<unsigned>(work.bulk_bytes));
        sm90::copy_bulk(to,
                        static_cast<const T*>(work.gathered) + tile.batch * work.gathered_batch +
                            (first + i) * c.bk * work.gathered_k,
                        static_cast<unsigned>(work.bulk_bytes), brought + stage);
      }
    };
    const auto load_step = [&](const Tile& tile, int i, bool of_last) {
      load_wide(tile, i, ring.stage);
      load_narrow(tile, i, ring.stage);
      ring.next();
      if (of_last && i + 1 == steps - work.hints.left) tile::let_next_begin();
    };
    const bool loads = threadIdx.x == multipliers * 128;  // one thread of the last warp
    int loaded = 0;
    if (loads) {  // it fills the stages before anybody else knows of them
      for (int s = 0; s < c.stages; ++s) {
        sm90::init(full + s, K::gathers ? 2 : 1);
        sm90::init(empty + s, multipliers);
        if constexpr (K::gathers) sm90::init(brought + s, 1);
      }
      sm90::init(got, 1);
      sm90::fence_init();
      sm90::arrive_expecting(got, (split - 1) * (multipliers * 128 * 16u << work.share_log2));
      const int at_once = ::min(steps, c.stages);
      const Tile tile = tile_at(first_tile);
      if constexpr (MW == Major::k)
        for (int i = 0; i < ::min(steps, work.hints.ahead); ++i)
          sm90::fetch(&map_wide, (first + i) * c.bk, tile.wide_row, tile.batch * work.batch_of_wide);
      if (work.copied == Copied::none) {
        tile::await_last();
        for (; loaded < at_once; ++loaded) load_step(tile, loaded, one_tile);
      } else {  // the wide operand's part of all stages first, if it has been there all along
        if (work.copied == Copied::both) tile::await_last();
        for (; loaded < at_once; ++loaded) load_wide(tile, loaded, loaded);
        if (work.copied == Copied::narrow) tile::await_last();
        for (int i = 0; i < at_once; ++i) load_narrow(tile, i, i);
        ring.skip(at_once);
      }
    }
    if (one_tile && work.hints.left >= steps) tile::let_next_begin();
    tile::await_last();  // before D is written, and what is added to it read
    __syncthreads();
    // Sums are sent when all blocks have begun, or, where they take the stages' place,
    // when all have done their products.
    if (split > 1 && split_sums_apart(c)) sm90::announce_to_cluster();
    const auto await_others = [&] {
      if (split == 1) return;
      if (!split_sums_apart(c)) sm90::announce_to_cluster();
      sm90::await_cluster();
    };
    if (group == multipliers) {
      if (loads)
        for (unsigned index = first_tile; index < work.tiles; index += tile_step, loaded = 0) {
          const Tile tile = tile_at(index);
          for (; loaded < steps; ++loaded) {
            sm90::wait(empty + ring.stage, ring.parity ^ 1);
            load_step(tile, loaded, index + tile_step >= work.tiles);
          }
        }
      if constexpr (K::gathers)
        if (threadIdx.x >= multipliers * 128 + 32) {
          const Tile tile = tile_at(first_tile);
          gather_narrow<K, T>(work, shared, full, empty, brought, first, steps, tile.narrow_row, tile.batch);
        }
      __syncwarp();
      await_others();
      return;
    }
    // The vectors of four neighbours in D that this thread adds up, of a warpgroup's 64 rows of the wide operand and
    // `share` groups of 8 columns of the narrow one.
    const auto own_vectors = [&](int wide_row, int wide_end, int narrow_row, int share, int batch) {
      const Place place = work.swapped ? along_wide() : along_narrow();
      const int wide = wide_row + static_cast<int>(threadIdx.x) % 128 / 32 * 16 + place.wide,
                narrow = narrow_row + place.narrow, narrow_end = narrow_row + 8 * share;
      return work.swapped ? Vectors{batch, narrow, wide, 8, 0, ::min(work.m, narrow_end), ::min(work.n, wide_end)}
                          : Vectors{batch, wide, narrow, 0, 8, ::min(work.m, wide_end), ::min(work.n, narrow_end)};
    };
    const auto from_vector = [](Vectors own, int p) {
      own.row += p * own.rows_apart, own.col += p * own.cols_apart;
      return own;
    };
    for (unsigned index = first_tile; index < work.tiles; index += tile_step) {
      const Tile tile = tile_at(index);
      // What this thread adds up: groups of 8 narrow columns, of which a share is its block's.
      const int share = 1 << work.share_log2, mine = static_cast<int>(rank) << work.share_log2;
      const bool owns = mine < K::groups;
      const Vectors own = own_vectors(tile.wide_row + group * 64, tile.wide_row + work.wide_rows,
                                      tile.narrow_row + 8 * mine, share, tile.batch);
      constexpr int at_once = K::groups < 4 ? K::groups : 4;  // in the epilogue
      if constexpr (requires { epilogue.template prefetch<4, at_once>(own); })
        if (owns && !work.plain)
          for (int p = 0; p < share; p += at_once) epilogue.template prefetch<4, at_once>(from_vector(own, p));
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
      if constexpr (c.promote > 0) {
        // Of a few steps at a time, each one's sums are added up while the next ones multiply. Of wide tiles, whose
        // sums leave no registers for that, another warpgroup multiplies meanwhile.
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
          sm90::wait_products<1>();  // all but these: the stage before this one has been read
          release(former);
          former = ring.stage;
        }
        sm90::wait_products<0>();
        release(former);
      }
      sm90::take_sums(sums);
      await_others();
      // A thread's sums: [group of 8 narrow columns][4]. Those of its own share become the first ones: the group at
      // place p is group p ^ mine.
      Sum* const received =
          reinterpret_cast<Sum*>(shared + split_sums_at(c)) + (group * 128 + static_cast<int>(threadIdx.x) % 128) * 4;
      constexpr int of_group = multipliers * 128 * 4;  // sums that all of a block's threads have of a group
      constexpr int half = K::groups / 2;              // the most that a share has, of two or more
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
          const sm90::Inbox other(received, got, rank ^ 1);
#pragma unroll
          for (int p = 0; p < half; ++p) other.send(p * of_group, four(half + p));
        } else {
#pragma unroll
          for (int p = 0; p < K::groups; ++p) {
            const int of = owns ? p ^ mine : p, to = of >> work.share_log2;
            if (to == static_cast<int>(rank)) continue;
            const int from = static_cast<int>(rank) - (static_cast<int>(rank) > to);  // among those that send there
            sm90::Inbox(received, got, static_cast<unsigned>(to))
                .send(((from << work.share_log2) + (of & (share - 1))) * of_group, four(p));
          }
          if (!owns) return;
        }
        sm90::wait_of_cluster(got, 0);
        RIDGE_KEEP_LOOP
        for (unsigned from = 0; from + 1 < split; ++from) {
          simt::vec<Sum, 4> other[half];
#pragma unroll
          for (int p = 0; p < half; ++p)
            other[p] =
                simt::load<4>(received + (static_cast<int>(from << work.share_log2) + ::min(p, share - 1)) * of_group);
#pragma unroll
          for (int i = 0; i < 4 * half; ++i) sums[i] = added(sums[i], other[i / 4][i % 4]);  // of places sent: not used
        }
      }

      const auto turn = [&](int p) {
        if (work.swapped) turn_along_wide(sums + 4 * p);
        else turn_along_narrow(sums + 4 * p);
      };
#pragma unroll
      for (int p = 0; p < half; ++p) turn(p);
      if (split == 1)
#pragma unroll
        for (int p = half; p < K::groups; ++p) turn(p);
      const std::int64_t first_of_d = tile.batch * work.plain_batch + own.row * work.plain_pitch + own.col,
                         step = own.rows_apart * work.plain_pitch + own.cols_apart;
      // As Plain, or as they are.
      const auto with_plain = [&](const auto& store) {
        using Plain = typename K::Plain;
        if (work.plain_sums) return store(static_cast<Sum*>(work.plain) + first_of_d);
        if constexpr (sizeof(T) == 2 || is_float8<T>) store(static_cast<Plain*>(work.plain) + first_of_d);
      };
      if (work.plain && work.plain_vectors) {
        with_plain([&]<class Plain>(Plain* d) {
#pragma unroll
          for (int p = 0; p < K::groups; ++p)
            if (own.at<4>(p).count > 0)
              simt::store(d + p * step, simt::vec<Plain, 4>{Plain(sums[4 * p]), Plain(sums[4 * p + 1]),
                                                            Plain(sums[4 * p + 2]), Plain(sums[4 * p + 3])});
        });
      } else {
        RIDGE_KEEP_LOOP
        for (int p = 0; p < share; p += at_once) {  // groups take turns at the first places: the code is there once
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

// Steps along k of which the copy engine brings a gathered operand as it lies: whole rows along its few columns, in the
// place that they are turned in.
template <class T> static int bulk_steps_of(const Config& c, const Operand<T>& o, std::int64_t rows, std::int64_t k) {
  const auto size = static_cast<std::int64_t>(sizeof(T)), pitch = o.k_stride;
  if (o.outer_stride != 1 || rows > c.bn || pitch < rows || c.bk * pitch * size > c.bn * wgmma_line_bytes ||
      o.batch_stride * size % 16 || reinterpret_cast<std::uintptr_t>(o.data) % 16)
    return 0;
  return static_cast<int>((pitch * (k - 1) + rows) / (pitch * c.bk));
}

// What of D a kernel stores without an epilogue: D, where it is the sums and its columns are neighbours; else its data
// is null, and the epilogue serves.
struct PlainD {
  WgmmaOperand d;
  bool sums = false;     // it is of the sums' type, else of SplitKernel::Plain
  bool vectors = false;  // its rows are whole pieces of four, each on its own size
};

// Launches it with `split` blocks in a cluster, whose tiles have `wide_rows` rows of the wide operand: at most bm, or
// all of them where it does not lie along k; a multiple of four.
// gathered: the narrow operand, where MN is Major::none.
// Precondition: split <= steps along k, and a power of two.
template <class Row, class T, Major MW, Major MN, class Epilogue>
[[nodiscard]] static Status launch_split(const WgmmaOperand& wide, const WgmmaOperand& narrow, const PlainD& plain,
                                         const Shape& shape, bool swapped, int split, int wide_rows, Copied copied,
                                         SplitHints hints, const Epilogue& epilogue, int sms, Stream stream,
                                         const Operand<T>& gathered = {}) {
  namespace sm90 = tile::sm90;
  using K = SplitKernel<Row, T, MW, MN>;
  constexpr Config c = Row::config;
  const std::int64_t rows_wide = swapped ? shape.n : shape.m, rows_narrow = swapped ? shape.m : shape.n;
  // What of a tile there is not would be copied as zeros, which takes longer than to copy rows. Where there is one tile
  // and a copy brings all of it, no such rows are asked for: what is multiplied instead becomes rows that D has not.
  const int box_narrow =
      MN == Major::k ? static_cast<int>(std::min<std::int64_t>(K::box_narrow, rows_narrow)) : K::box_narrow;
  const int box_wide = MW == Major::k ? wide_rows : K::box_wide;
  const int bytes_wide = MW == Major::k ? wide_rows * wgmma_line_bytes : K::bytes_wide,
            bytes_narrow = K::gathers ? 0 : K::bytes_narrow - (K::box_narrow - box_narrow) * wgmma_line_bytes;
  sm90::TensorMap map_wide, map_narrow{};
  RIDGE_TRY(make_operand_map<T>(&map_wide, wide, rows_wide, shape.k, shape.batch, MW, box_wide, K::fetch_wide));
  if constexpr (!K::gathers)
    RIDGE_TRY(make_operand_map<T>(&map_narrow, narrow, rows_narrow, shape.k, shape.batch, MN, box_narrow));
  const Raster raster = raster_of(rows_wide, rows_narrow, wide_rows, c.bn);
  const std::int64_t tiles = raster.tiles() * shape.batch;
  const SplitWork work{.m = static_cast<int>(shape.m),
                       .n = static_cast<int>(shape.n),
                       .steps = static_cast<int>((shape.k + c.bk - 1) / c.bk),
                       .wide = static_cast<unsigned>(raster.rows),
                       .narrow = static_cast<unsigned>(raster.cols),
                       .tiles = static_cast<unsigned>(tiles),
                       .wide_rows = wide_rows,
                       .batch_of_wide = wide.batch_stride ? 1 : 0,
                       .batch_of_narrow = narrow.batch_stride ? 1 : 0,
                       .swapped = swapped,
                       .gathered = gathered.data,
                       .gathered_row = gathered.outer_stride,
                       .gathered_k = gathered.k_stride,
                       .gathered_batch = gathered.batch_stride,
                       .narrow_rows = static_cast<int>(rows_narrow),
                       .k = static_cast<int>(shape.k),
                       .bulk_steps = K::gathers ? bulk_steps_of(c, gathered, rows_narrow, shape.k) : 0,
                       .bulk_bytes = static_cast<int>(c.bk * gathered.k_stride * static_cast<int>(sizeof(T))),
                       .share_log2 = split_share_log2(c, split),
                       .stage_bytes = bytes_wide + bytes_narrow,
                       .copied = copied,
                       .hints = hints,
                       .plain = const_cast<void*>(plain.d.data),
                       .plain_sums = plain.sums,
                       .plain_vectors = plain.vectors,
                       .plain_pitch = plain.d.pitch,
                       .plain_batch = plain.d.batch_stride};
  const simt::Config at{.grid = dim3(static_cast<unsigned>(split_blocks(tiles, split, K::gathers, sms))),
                        .block = dim3(static_cast<unsigned>(K::threads)),
                        .smem = static_cast<std::size_t>(split_smem_bytes(c)),
                        .stream = stream.handle};
  constexpr auto kernel = gemm_split<Row, T, MW, MN, Epilogue>;
  return sm90::launch_overlapping_clusters(at, split, kernel, map_wide, map_narrow, work, epilogue);
}

}  // namespace ridge::gemm_kernels
