// GEMM on Hopper's tensor cores: TMA brings tiles of A and B to shared memory, wgmma multiplies them there.
//
// One kernel, in several schedules (Config::schedule). Where a warp does nothing but load, it is ahead of those that
// multiply by up to `stages` steps, and goes on with the next tile while this one is stored. Blocks of a cluster have
// tiles below each other, and each loads its part of the columns of B that they share, for all of them.
//
// With Config::gated a tile has half of its columns from B and half from G, the same ones, so that a thread has both
// sums of an element. With Config::grouped its rows are of one group, and B is that group's.
//
// What is added to a tile comes the same way as its operands, in steps of its own before or after them (config.hpp).
#pragma once
#include <ridge/gemm/raster.hpp>
#include <ridge/gemm/sm90_epilogue.cuh>
#include <ridge/gemm/sm90_groups.cuh>
#include <ridge/tile/sm90/overlap.cuh>
#include <ridge/tile/sm90/tensor_map.cuh>

namespace ridge::gemm_kernels {

// Who brings a tile to D.
enum class Store : std::uint8_t {
  epilogue,   // the epilogue of the launch
  tma,        // ColumnEpilogue, and TMA: D of two bytes
  tma_float,  // the same: D of float32
  direct,     // each thread: integers, as they are
};

// What a launch says beside its tensor maps.
struct WgmmaWork {
  int m, n, steps;             // steps of bk along k, at least one
  unsigned rows, cols, batch;  // tiles of D, in clusters
  Store store;
  int addend_steps;     // of what is added to a tile (config.hpp); 0: nothing
  int batch_of_addend;  // 1; 0: shared by the batch
  bool sums_begin;      // with the addend, times addend_factor; else it is ColumnEpilogue's to add
  float addend_factor;
  void* d;                           // of Store::direct, and of groups' rows that TMA cannot store
  std::int64_t pitch, batch_stride;  // of d, in elements
  Groups groups;                     // of Config::grouped, else not used
};

constexpr tile::sm90::Axis axis_of(Major major) {
  return major == Major::k ? tile::sm90::Axis::k : tile::sm90::Axis::outer;
}

template <class T> inline constexpr bool is_float8 = std::is_same_v<T, float8_e4m3> || std::is_same_v<T, float8_e5m2>;
// The type of D that TMA stores where D is not of float32: float8 has bfloat16. Threads store D of integers.
template <class T> using ColumnOut = std::conditional_t<sizeof(T) == 2, T, bfloat16>;
template <class T> inline constexpr bool has_tma_store = sizeof(T) == 2 || is_float8<T>;
template <class T> inline constexpr bool has_direct_store = std::is_same_v<tile::sm90::Sum<T>, std::int32_t>;
// D of float32, which operands of 16 bits have now and then: of rows whose sums leave registers for that.
template <class Row, class T> inline constexpr bool has_float_store = !has_direct_store<T> && stores_float(Row::config);

// A config's tiles as TMA and wgmma take them.
template <class Row, class T, Major MA, Major MB> struct WgmmaKernel {
  static constexpr Config c = Row::config;
  static constexpr tile::sm90::Axis axis_a = axis_of(MA), axis_b = axis_of(MB);
  static constexpr int rows = rows_of_multiplier(c), blocks = rows / 64, sums = c.bn / 2;
  static constexpr int columns = gemm_kernels::columns(c);  // of D
  // Columns of B that each block of a cluster loads; or all of B's, or all of G's.
  static constexpr int b_share = c.gated ? columns : columns / c.cluster;
  static_assert(!c.gated || c.cluster <= 2);
  static constexpr bool two_parts = has_two_parts(c);
  static constexpr int part_steps = c.promote ? c.promote : 1;
  static constexpr int registers = tile_sums(c) * (two_parts ? 3 : c.promote ? 2 : 1);  // of sums
  static constexpr int bytes_a = c.bm * c.line, bytes_b = c.bn * c.line;
  static_assert(c.bk * sizeof(T) == c.line, "a step of k is a line of the swizzle");
  static_assert(c.line == wgmma_line_bytes || (c.line == 64 && MA == Major::k && MB == Major::k));
  static_assert(rows % 64 == 0 && registers <= most_sums);
  static_assert(b_share % 64 == 0 || (MB == Major::k && b_share % 8 == 0),
                "whole lines of the swizzle, or atoms of it");
  static_assert(!c.promote || (c.schedule == Schedule::cooperative && c.persistent));
  static_assert(!(c.gated || c.grouped) || (sizeof(T) == 2 && !c.promote));
  static_assert(!c.grouped || (c.schedule == Schedule::cooperative && c.cluster == 1 && MA == Major::k));
  using Out = ColumnOut<T>;
  static_assert(wgmma_stage_bytes(c) == bytes_a + bytes_b);
  static constexpr bool multicast = c.cluster > 1;
  // Both warpgroups of a tile would store at once while nothing multiplies; in ping-pong one always does.
  static constexpr bool defers =
      c.schedule == Schedule::cooperative && c.persistent && blocks == 1 && sizeof(T) == 2 && !c.promote && !c.gated;
  // Whether sums may begin with an addend: D is of 16 bits, and nothing rounds worse than float32 where sums are added.
  static constexpr bool begins_sums = (sizeof(T) == 2 || c.promote > 0) && !c.gated && has_tma_store<T>;
  // Sums that have gelu at a time, where it is beside the other warpgroup's products.
  static constexpr int turns = c.schedule == Schedule::ping_pong ? 8 : part_sums;
  // Of 64K: one warpgroup loads, two multiply.
  static constexpr int loader_registers = registers > 128 ? 24 : 40;
  static constexpr int multiplier_registers = registers > 128 ? 240 : 232;
  // Rows of a box: K-major, all that one copy brings; else 64 elements along k, and a copy for each 64 of the other.
  // Of a group's last tile no more is brought than the warpgroups that have rows of it need.
  static constexpr int part_of_a = c.grouped ? rows : c.bm, parts_of_a = c.bm / part_of_a;
  static constexpr int box_a = MA == Major::k ? part_of_a : c.bk, box_b = MB == Major::k ? b_share : c.bk;
  using Store = ColumnStore<Out, columns, c.grouped>;
};

// The tiles of a block: those of cluster x are number x, x + clusters and so on; tiles of a cluster are below each
// other. In 32 bits, which divide in line.
template <class Row> struct TileWalk {
  static constexpr Config c = Row::config;
  unsigned rows, cols, total, index;  // of clusters
  int end, rank;                      // of D's rows; in the cluster

  __device__ TileWalk(const WgmmaWork& w, int rank_in_cluster)
      : rows(w.rows),
        cols(w.cols),
        total(w.rows * w.cols * w.batch),
        index(blockIdx.x / c.cluster),
        end(w.m),
        rank(rank_in_cluster) {}
  __device__ bool more() const { return index < total; }
  __device__ void next(unsigned n = 1) { index += n * (gridDim.x / c.cluster); }
  __device__ WgmmaTile at() const {
    const unsigned tiles = rows * cols, batch = index / tiles;
    const BandRaster<unsigned> raster{rows, cols, c.band};
    const auto place = raster.at(index - batch * tiles);
    return {static_cast<int>((place.row * c.cluster + rank) * c.bm), static_cast<int>(place.col) * columns(c),
            static_cast<int>(batch), end};
  }
};

// One operand's tile: elements from `outer` on, and from `k` on. Outer: how many; box: see WgmmaKernel.
template <tile::sm90::Axis axis, int Outer, bool Multicast>
__device__ __forceinline__ void load_operand(const tile::sm90::TensorMap* map, unsigned char* to,
                                             tile::sm90::Barrier* full, int outer, int k, int batch,
                                             std::uint16_t mask) {
  namespace sm90 = tile::sm90;
  const auto copy = [&](unsigned char* at, int x, int y) {
    if constexpr (Multicast) sm90::load_multicast(map, at, full, x, y, batch, mask);
    else sm90::load(map, at, full, x, y, batch);
  };
  if constexpr (axis == sm90::Axis::k) {
    copy(to, k, outer);
  } else {
#pragma unroll
    for (int i = 0; i < Outer; i += 64) copy(to + sm90::outer_offset(i), outer + i, k);
  }
}

// A stage of columns of B from `col` on, of which each block of a cluster loads its share for all of them.
template <class K>
__device__ __forceinline__ void load_columns(const tile::sm90::TensorMap* map, unsigned char* to,
                                             tile::sm90::Barrier* full, int col, int k, int batch, int rank) {
  const int share = rank * K::b_share;
  load_operand<K::axis_b, K::b_share, K::multicast>(map, to + tile::sm90::outer_offset(share, K::c.line), full,
                                                    col + share, k, batch, (1 << K::c.cluster) - 1);
}

struct Gate {
  tile::sm90::TensorMap map;
  int batch;  // as MatrixLoader's
};
struct NoGate {};

// What brings a stage's tiles of A and B, and has `full` expect their bytes. An operand that is not a matrix has a
// class like this one in its place (conv/sm90_image.cuh): its maps, where a tile's steps begin,
// and how the next is loaded.
template <bool Gated> struct MatrixLoader {
  tile::sm90::TensorMap a, b;
  int term_steps, low;         // of math 3xtf32 alone; else all steps, and 0
  int batch_of_a, batch_of_b;  // 1; 0: shared by the batch
  std::conditional_t<Gated, Gate, NoGate> gate;

  struct Place {
    WgmmaTile tile;
    int step = 0;
  };
  __device__ __forceinline__ void prefetch() const {
    tile::sm90::prefetch(&a);
    tile::sm90::prefetch(&b);
    if constexpr (Gated) tile::sm90::prefetch(&gate.map);
  }
  __device__ __forceinline__ Place at(const WgmmaTile& tile) const { return {tile}; }
  // K: the kernel's WgmmaKernel. rank: of the block in its cluster.
  template <class K>
  __device__ __forceinline__ void load_next(Place& at, unsigned char* to_a, unsigned char* to_b,
                                            tile::sm90::Barrier* full, int rank) const {
    namespace sm90 = tile::sm90;
    const WgmmaTile& tile = at.tile;
    const int parts = K::c.grouped ? ::min((tile.end - tile.row + K::part_of_a - 1) / K::part_of_a, K::parts_of_a) : 1;
    sm90::arrive_expecting(full, parts * K::part_of_a * K::c.line + K::bytes_b);
    // 3xtf32: operands lie as [high | low] along k; low b by high a, then high b by low a, then both high.
    const int step = at.step++, term = (step >= term_steps) + (step >= 2 * term_steps);
    const int k = (step - term * term_steps) * K::c.bk, k_a = k + (term == 1 ? low : 0),
              k_b = k + (term == 0 ? low : 0);
    for (int i = 0; i < parts * K::part_of_a; i += K::part_of_a)
      load_operand<K::axis_a, K::part_of_a, false>(&a, to_a + sm90::outer_offset(i, K::c.line), full, tile.row + i, k_a,
                                                   tile.batch * batch_of_a, 0);
    // Of B and G, either block of a cluster loads one.
    if (!Gated || !K::multicast || rank == 0)
      load_columns<K>(&b, to_b, full, tile.col, k_b, tile.batch * batch_of_b, Gated ? 0 : rank);
    if constexpr (Gated)
      if (!K::multicast || rank == 1)
        load_columns<K>(&gate.map, to_b + sm90::outer_offset(K::columns, K::c.line), full, tile.col, k_b,
                        tile.batch * gate.batch, 0);
  }
};

// epilogue(A B), or epilogue(A B, A G)          a: [m, k]  b, gate: [n, k]  d, addend: [m, n], as their maps say
// With Config::grouped, of each group g of a's rows: epilogue(A_g B_g), b: [groups, n, k].
// Preconditions: cc 90; maps made with the boxes of WgmmaKernel, that of d with 16 rows, that of the addend with
// addend_rows; the grid is whole clusters.
template <class Row, class T, Major MA, Major MB, class Epilogue, class Loader>
__global__ void __launch_bounds__(threads(Row::config), Row::config.blocks_per_sm)
    gemm_wgmma(const __grid_constant__ Loader loader, const __grid_constant__ tile::sm90::TensorMap map_d,
               const __grid_constant__ tile::sm90::TensorMap map_addend, const __grid_constant__ WgmmaWork work,
               const __grid_constant__ ColumnEpilogue by_columns, const __grid_constant__ Epilogue epilogue) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    using K = WgmmaKernel<Row, T, MA, MB>;
    constexpr Config c = Row::config;
    constexpr bool ping_pong = c.schedule == Schedule::ping_pong, specialised = c.schedule != Schedule::one;
    constexpr int first_multiplier = specialised ? 1 : 0;
    using Sum = sm90::Sum<T>;
    using Out = typename K::Out;
    using Walk = std::conditional_t<c.grouped, GroupedTileWalk<Row>, TileWalk<Row>>;
    using Ring = sm90::RingPlace<c.stages>;

    unsigned char* shared = sm90::swizzled_shared();
    auto* full = reinterpret_cast<sm90::Barrier*>(shared + wgmma_barriers_at(c));
    auto *empty = full + c.stages, *turn = empty + c.stages;
    const auto stage_a = [=](int stage) { return shared + stage * wgmma_stage_bytes(c); };
    const auto stage_b = [=](int stage) { return shared + stage * wgmma_stage_bytes(c) + K::bytes_a; };
    const int rank = K::multicast ? static_cast<int>(sm90::cluster_rank()) : 0;
    const int group = sm90::warpgroup_index(), warp = sm90::warp_of_warpgroup();

    if (threadIdx.x == 0) {
      loader.prefetch();
      if (work.addend_steps) sm90::prefetch(&map_addend);
      for (int s = 0; s < c.stages; ++s) {
        sm90::init(full + s, 1);
        sm90::init(empty + s, (ping_pong ? 1 : multipliers(c)) * c.cluster);
      }
      for (int i = 0; i < 2; ++i) sm90::init(turn + i, 1);
      sm90::fence_init();
    }
    tile::let_next_begin();
    if constexpr (K::multicast) {
      sm90::sync_cluster();
      tile::await_last();  // so far nothing was read or written that the kernel before this one may write or read
    } else {
      __syncthreads();
    }

    const auto load_step = [&](typename Loader::Place& from, int stage) {
      loader.template load_next<K>(from, stage_a(stage), stage_b(stage), full + stage, rank);
    };
    // A tile of the addend, from where the ring is.
    const auto load_addend = [&](const WgmmaTile& place, Ring& ring) {
      const int size = work.store == Store::tma_float ? sizeof(float) : sizeof(Out), pieces = addend_pieces(c, size);
      constexpr int pieces_down = c.bm / addend_rows;
      for (int piece = 0; piece < pieces; ring.next()) {
        sm90::wait(empty + ring.stage, ring.parity ^ 1);
        const int end = ::min(piece + addend_pieces_of_stage(c), pieces);
        sm90::arrive_expecting(full + ring.stage, (end - piece) * addend_piece_bytes);
        for (unsigned char* to = stage_a(ring.stage); piece < end; ++piece, to += addend_piece_bytes)
          sm90::load(&map_addend, to, full + ring.stage, place.col + piece / pieces_down * (wgmma_line_bytes / size),
                     place.row + piece % pieces_down * addend_rows,
                     K::c.grouped ? 0 : place.batch * work.batch_of_addend);
      }
    };
    // The products of one step, of this warpgroup's rows.
    const auto multiply_step = [&](Sum(&sums)[K::blocks][K::sums], int stage, int first_row, bool accumulate) {
      const unsigned a = sm90::shared_address(stage_a(stage)), b = sm90::shared_address(stage_b(stage));
#pragma unroll
      for (int k = 0; k < c.bk; k += sm90::product_k<T>) {
#pragma unroll
        for (int i = 0; i < K::blocks; ++i)
          sm90::multiply<T, K::axis_a, K::axis_b, c.bn>(
              sums[i],
              sm90::descriptor(
                  K::axis_a,
                  a + sm90::outer_offset(first_row + i * 64, c.line) + sm90::k_offset(K::axis_a, k, sizeof(T)),
                  sm90::line_elements, c.line),
              sm90::descriptor(K::axis_b, b + sm90::k_offset(K::axis_b, k, sizeof(T)), sm90::line_elements, c.line),
              accumulate || k > 0);
      }
      sm90::commit_products();
    };
    // Where 64 rows of a tile go, those of this warp among them.
    const auto store_as = [&]<class As>(const WgmmaTile& place, int multiplier, int first_row) {
      unsigned char* staging = shared + c.stages * wgmma_stage_bytes(c) + (multiplier * 4 + warp) * wgmma_staging_bytes;
      ColumnStore<As, K::columns, K::c.grouped> to{staging, &map_d, place.row + first_row + warp * 16, place.col,
                                                   place.batch};
      if constexpr (K::c.grouped) {
        to.batch = 0;  // all groups' rows are of one matrix
        to.bound = {static_cast<As*>(work.d), work.pitch, place.end, work.n};
      }
      return to;
    };
    const auto store_of = [&](const WgmmaTile& place, int multiplier, int first_row) {
      return store_as.template operator()<Out>(place, multiplier, first_row);
    };
    const auto bias_of = [&](int multiplier) {
      return reinterpret_cast<float*>(shared + wgmma_bias_at(c)) + multiplier * c.bn;
    };
    // addend_stage: where that of the tile begins.
    const auto finish = [&](const Sum(&sums)[K::blocks][K::sums], const WgmmaTile& place, int multiplier, int first_row,
                            int addend_stage) {
      const typename K::Store to = store_of(place, multiplier, first_row);
      const TileAddend<Row, Out> addend{shared, addend_stage, first_row + warp * 16};
      if constexpr (K::c.gated) {
        if (work.store == Store::tma) store_gated_columns<Out>(sums, by_columns, bias_of(multiplier), to, addend);
        else store_gated_by_epilogue(sums, epilogue, place.end, work.n, to.row, to.col, place.batch);
      } else {
        if constexpr (has_tma_store<T>) {
          if (work.store == Store::tma)
            return store_columns<Out, c.bn, K::turns>(sums, by_columns, bias_of(multiplier), to, addend);
        }
        if constexpr (has_float_store<Row, T>) {
          if (work.store == Store::tma_float)
            return store_columns<float, c.bn, K::turns>(
                sums, by_columns, bias_of(multiplier),
                store_as.template operator()<float>(place, multiplier, first_row),
                TileAddend<Row, float>{shared, addend_stage, addend.row});
        }
        if constexpr (has_direct_store<T>) {
          if (work.store == Store::direct)
            return DirectStore<Sum>{
                static_cast<Sum*>(work.d) + to.batch * work.batch_stride, work.pitch, to.row, to.col, work.m, work.n}
                .store_all(sums);
        }
        if constexpr (!is_by_columns_alone(K::c))
          store_by_epilogue<c.bn>(sums, epilogue, to.staging, place.end, work.n, to.row, to.col, place.batch);
      }
    };
    // The columns' bias as floats, for the multiplier's own use. The barrier that lets it be read comes later.
    const auto fetch_bias = [&](const WgmmaTile& place, int multiplier) {
      float* bias = bias_of(multiplier);
      RIDGE_KEEP_LOOP
      for (int i = threadIdx.x % 128; i < K::columns; i += 128) {
        const At at{place.batch, 0, place.col + i, 1};
        bias[i] = by_columns.bias.data && at.col < work.n ? load_row<1, float>(by_columns.bias, at)[0] : 0;
      }
    };

    if constexpr (!specialised) {
      // Every thread does everything, in turn; other blocks of the multiprocessor fill the waits.
      Ring place_in_ring;
      for (Walk walk(work, rank); walk.more(); walk.next()) {
        const WgmmaTile place = walk.at();
        Sum sums[K::blocks][K::sums];
        __syncthreads();  // the last tile's bias has been read
        fetch_bias(place, 0);
        auto from = loader.at(place);
        for (int step = 0; step < work.steps; ++step, place_in_ring.next()) {
          const int stage = place_in_ring.stage;
          if (threadIdx.x == 0) load_step(from, stage);
          sm90::wait(full + stage, place_in_ring.parity);
          sm90::fence_sums();
          multiply_step(sums, stage, 0, step > 0);
          sm90::wait_products<0>();
          __syncthreads();
        }
        finish(sums, place, 0, 0, 0);
      }
      if (warp < 4 && threadIdx.x % 32 == 0) sm90::wait_stores_read<0>();
    } else if (group == 0) {
      // The loader: one thread of the first warpgroup. Through groups its warp walks.
      sm90::keep_registers<K::loader_registers>();
      if (threadIdx.x < (c.grouped ? 32 : 1)) {
        Ring ring;
        for (Walk walk(work, rank); walk.more(); walk.next()) {
          const WgmmaTile place = walk.at();
          if (threadIdx.x > 0) continue;
          auto from = loader.at(place);
          if (work.addend_steps && work.sums_begin) load_addend(place, ring);
          for (int step = 0; step < work.steps; ++step, ring.next()) {
            sm90::wait(empty + ring.stage, ring.parity ^ 1);
            load_step(from, ring.stage);
          }
          if (work.addend_steps && !work.sums_begin) load_addend(place, ring);
        }
      }
    } else {
      sm90::take_registers<K::multiplier_registers>();
      const int multiplier = group - first_multiplier, first_row = ping_pong ? 0 : multiplier * K::rows;
      // A stage has been read. One thread tells each block of the cluster, whose copies go to all of them.
      const auto release = [&](int stage) {
        if constexpr (K::multicast) {
          if (threadIdx.x % 128 < c.cluster) sm90::arrive_at(empty + stage, threadIdx.x % 128);
        } else {
          if (threadIdx.x % 128 == 0) sm90::arrive(empty + stage);
        }
      };
      // The tile's addend is there, from the stage on where the ring is; and it has been read.
      const auto await_addend = [&](Ring ring) {
        for (int step = 0; step < work.addend_steps; ++step, ring.next()) sm90::wait(full + ring.stage, ring.parity);
      };
      const auto release_addend = [&](Ring ring) {
        sm90::sync_warpgroup(1 + multiplier);
        for (int step = 0; step < work.addend_steps; ++step, ring.next()) release(ring.stage);
      };
      const int steps_of_tile = work.steps + work.addend_steps;
      const int first_steps = work.sums_begin ? work.addend_steps : 0, last_steps = work.addend_steps - first_steps;
      const auto begin_sums = [&](Sum(&sums)[K::blocks][K::sums], Ring& ring) {
        await_addend(ring);
        if constexpr (K::begins_sums) {
#pragma unroll
          for (int i = 0; i < K::blocks; ++i)
            TileAddend<Row, Out>{shared, ring.stage, first_row + i * 64 + warp * 16}.begin(work.addend_factor, sums[i]);
        }
        release_addend(ring);
        ring.skip(first_steps);
      };
      // Defer: a finished tile waits, packed, and is stored beside the next one's first steps.
      const auto multiply_tiles = [&]<bool Defer>() {
        Walk walk(work, rank);
        Ring ring;
        [[maybe_unused]] unsigned turn_parity = 0;
        [[maybe_unused]] bool waits = false;
        [[maybe_unused]] typename K::Store::Packed waiting;
        [[maybe_unused]] typename K::Store waiting_to = store_of(WgmmaTile{}, multiplier, first_row);
        if (ping_pong && multiplier == 1) {
          walk.next();
          ring.skip(steps_of_tile);
        }
        if (ping_pong && multiplier == 0 && threadIdx.x % 128 == 0) sm90::arrive(turn);
        for (; walk.more(); walk.next(ping_pong ? 2 : 1)) {
          const WgmmaTile place = walk.at();
          if constexpr (K::c.grouped) {
            if (place.row + first_row >= place.end) {  // no rows of this warpgroup's: the stages pass by
              for (int step = 0; step < steps_of_tile; ++step, ring.next()) {
                sm90::wait(full + ring.stage, ring.parity);
                release(ring.stage);
              }
              continue;
            }
          }
          Sum sums[K::blocks][K::sums];
          sm90::sync_warpgroup(1 + multiplier);  // the last tile's bias has been read
          fetch_bias(place, multiplier);
          if constexpr (ping_pong) {
            sm90::wait(turn + multiplier, turn_parity);
            turn_parity ^= 1;
          }
          const auto start_step = [&](bool accumulate) {
            sm90::wait(full + ring.stage, ring.parity);
            sm90::fence_sums();
            multiply_step(sums, ring.stage, first_row, accumulate);
          };
          if (first_steps > 0) begin_sums(sums, ring);
          start_step(first_steps > 0);
          int step = 1;
          const auto add_step = [&] {
            const int former = ring.stage;
            ring.next();
            start_step(true);
            sm90::wait_products<1>();  // all but these: the stage before this one has been read
            release(former);
            ++step;
          };
          if constexpr (Defer) {  // a copy beside each of the first steps: all at once they keep the second one waiting
            if (waits) {
#pragma unroll
              for (int copy = 0; copy < K::Store::copies; ++copy) {
                waiting_to.store_copy(copy, waiting);
                if (copy + 1 < K::Store::copies && step < work.steps) add_step();
              }
            }
          }
          while (step < work.steps) add_step();
          const int last = ring.stage;
          ring.next();
          if constexpr (ping_pong) {
            // The other warpgroup waits for later phases of the stages' barriers, which tell only two phases apart.
            if (threadIdx.x % 128 == 0) {
              if (last_steps > 0) await_addend(ring);
              sm90::arrive(turn + (multiplier ^ 1));
            }
          }
          sm90::wait_products<0>();
          release(last);
          sm90::sync_warpgroup(1 + multiplier);  // this tile's bias is there
          const Ring of_addend = ring;
          if (last_steps > 0) await_addend(of_addend);
          if constexpr (Defer) {
            pack_columns<Out, c.bn>(sums[0], by_columns, bias_of(multiplier),
                                    TileAddend<Row, Out>{shared, of_addend.stage, first_row + warp * 16}, waiting);
            waiting_to = store_of(place, multiplier, first_row);
            waits = true;
          } else {
            finish(sums, place, multiplier, first_row, of_addend.stage);
          }
          if (last_steps > 0) release_addend(of_addend);
          ring.skip(last_steps + (ping_pong ? steps_of_tile : 0));
        }
        if constexpr (Defer) {
          if (waits) waiting_to.store_all(waiting);
        }
      };
      // A part of the sum at a time stays in the tensor cores, whose additions round less well.
      [[maybe_unused]] const auto multiply_in_parts = [&] {
        Walk walk(work, rank);
        Ring ring;
        Sum sums[K::blocks][K::sums], part[K::blocks][K::sums];
        const auto start_step = [&](Sum(&to)[K::blocks][K::sums], bool accumulate) {
          sm90::wait(full + ring.stage, ring.parity);
          sm90::fence_sums();
          multiply_step(to, ring.stage, first_row, accumulate);
          const int stage = ring.stage;
          ring.next();
          return stage;
        };
        const auto add = [&](Sum(&from)[K::blocks][K::sums]) {
#pragma unroll
          for (int i = 0; i < K::blocks; ++i) {
            sm90::take_sums(from[i]);
#pragma unroll
            for (int j = 0; j < K::sums; ++j) sums[i][j] += from[i][j];
          }
        };
        for (; walk.more(); walk.next()) {
          const WgmmaTile place = walk.at();
          sm90::sync_warpgroup(1 + multiplier);  // the last tile's bias has been read
          fetch_bias(place, multiplier);
#pragma unroll
          for (int i = 0; i < K::blocks; ++i)
#pragma unroll
            for (int j = 0; j < K::sums; ++j) sums[i][j] = 0;
          if (first_steps > 0) begin_sums(sums, ring);
          if constexpr (K::two_parts) {  // one is added while the other is under way
            Sum other[K::blocks][K::sums];
            int of_part = start_step(part, false), step = 0;
            for (; step + 2 < work.steps; step += 2) {
              const int of_other = start_step(other, false);
              sm90::wait_products<1>();
              release(of_part);
              add(part);
              of_part = start_step(part, false);
              sm90::wait_products<1>();
              release(of_other);
              add(other);
            }
            if (step + 1 < work.steps) {
              const int of_other = start_step(other, false);
              sm90::wait_products<1>();
              release(of_part);
              add(part);
              sm90::wait_products<0>();
              release(of_other);
              add(other);
            } else {
              sm90::wait_products<0>();
              release(of_part);
              add(part);
            }
          } else {
            int former = 0;
            for (int step = 0; step < work.steps; ++step) {
              const int turn_of_part = step % K::part_steps, stage = start_step(part, turn_of_part > 0);
              if (turn_of_part > 0) {
                sm90::wait_products<1>();  // all but these: the stage before this one has been read
                release(former);
              }
              former = stage;
              if (turn_of_part != K::part_steps - 1 && step != work.steps - 1) continue;
              sm90::wait_products<0>();
              release(former);
              add(part);
            }
          }
          sm90::sync_warpgroup(1 + multiplier);  // this tile's bias is there
          if (last_steps > 0) await_addend(ring);
          finish(sums, place, multiplier, first_row, ring.stage);
          if (last_steps > 0) release_addend(ring);
          ring.skip(last_steps);
        }
      };
      // Blocks that have one tile have nothing to store beside: then the code for that need not come.
      [[maybe_unused]] const bool has_more_than_one = work.rows * work.cols * work.batch * c.cluster > gridDim.x;
      if constexpr (K::c.promote > 0) multiply_in_parts();
      else if (K::defers && work.store == Store::tma && is_cheap(by_columns) && has_more_than_one)
        multiply_tiles.template operator()<K::defers>();
      else multiply_tiles.template operator()<false>();
      if (threadIdx.x % 32 == 0) sm90::wait_stores_read<0>();
    }
    if constexpr (K::multicast) sm90::sync_cluster();  // others may still copy into, or arrive in, this block
  }
}

// An operand or D as a launch takes it.
struct WgmmaOperand {
  const void* data = nullptr;
  std::int64_t pitch = 0, batch_stride = 0;  // pitch: between neighbours in the axis that is not contiguous
};

// Of an operand [outer, k] of T.
template <class T>
[[nodiscard]] static Status make_operand_map(tile::sm90::TensorMap* map, const WgmmaOperand& o, std::int64_t outer,
                                             std::int64_t k, std::int64_t batch, Major major, int box,
                                             tile::sm90::Fetch fetch = tile::sm90::Fetch::wide) {
  const std::int64_t cols = major == Major::k ? k : outer, rows = major == Major::k ? outer : k;
  return tile::sm90::make_tensor_map(map, o.data, tile::sm90::operand_element(dtype_of<T>),
                                     {cols, rows, o.batch_stride ? batch : 1, o.pitch, o.batch_stride}, box,
                                     tile::sm90::line_bytes, fetch);
}

// Where D goes, and what ColumnEpilogue adds to it, if it adds something: of the type in which D is stored.
struct WgmmaOutput {
  Store store = Store::epilogue;
  WgmmaOperand d = {}, addend = {};  // d is null where the launch's epilogue is to serve
};

// Launches it. `sms`: multiprocessors. steps: of bk.
// offsets: of Config::grouped, where shape.batch is the number of groups.
// Precondition: takes_addend(), if something is added.
template <class Row, class T, Major MA, Major MB, class Epilogue, class Loader>
[[nodiscard]] static Status launch_wgmma(const Loader& loader, const WgmmaOutput& out, const Shape& shape, int steps,
                                         const ColumnEpilogue& by_columns, const Epilogue& epilogue, int sms,
                                         Stream stream, const std::int32_t* offsets = nullptr) {
  namespace sm90 = tile::sm90;
  using K = WgmmaKernel<Row, T, MA, MB>;
  constexpr Config c = Row::config;
  const auto make_map = [&](sm90::TensorMap* map, const WgmmaOperand& o, DType dtype, int rows, int line) {
    const std::int64_t batch = c.grouped || o.batch_stride == 0 ? 1 : shape.batch;
    return sm90::make_tensor_map(map, o.data, dtype, {shape.n, shape.m, batch, o.pitch, o.batch_stride}, rows, line);
  };
  if (is_by_columns_alone(c) && out.store == Store::epilogue)
    return Status::error(Code::unsupported, "tiles whose sums take all registers leave by TMA");  // refused by plans
  sm90::TensorMap map_d{}, map_addend{};
  if (out.store == Store::tma) RIDGE_TRY(make_map(&map_d, out.d, dtype_of<typename K::Out>, 16, K::Store::line));
  if (out.store == Store::tma_float) RIDGE_TRY(make_map(&map_d, out.d, f32, 16, wgmma_line_bytes));
  ColumnEpilogue then = by_columns;  // what becomes of the sums
  const bool adds = out.store != Store::epilogue && by_columns.addend != Addend::none;
  const DType stored = out.store == Store::tma_float ? f32 : dtype_of<typename K::Out>;
  if (adds) RIDGE_TRY(make_map(&map_addend, out.addend, stored, addend_rows, wgmma_line_bytes));
  const Raster tiles = wgmma_raster(c, shape.m, shape.n);
  const std::int64_t clusters = c.grouped ? tiles_of(c, shape) : tiles.tiles() * shape.batch;
  // Without an activation it does not matter which is added first.
  const bool begins = adds && K::begins_sums && out.store == Store::tma && by_columns.alpha == 1 &&
                      addend_comes_first(c, clusters, sms) &&
                      (by_columns.addend == Addend::before_activation || by_columns.activation == Activation::none);
  if (begins) {
    then.addend = Addend::none;
    then.plain = by_columns.scale == 1 && by_columns.activation == Activation::none && !by_columns.bias.data;
  }
  const WgmmaWork work{.m = static_cast<int>(shape.m),
                       .n = static_cast<int>(shape.n),
                       .steps = steps,
                       .rows = static_cast<unsigned>(tiles.rows),
                       .cols = static_cast<unsigned>(tiles.cols),
                       .batch = static_cast<unsigned>(shape.batch),
                       .store = out.store,
                       .addend_steps = adds ? addend_steps(c, static_cast<int>(size_of(stored))) : 0,
                       .batch_of_addend = out.addend.batch_stride ? 1 : 0,
                       .sums_begin = begins,
                       .addend_factor = by_columns.addend == Addend::before_activation ? by_columns.factor : 1,
                       .d = const_cast<void*>(out.d.data),
                       .pitch = out.d.pitch,
                       .batch_stride = out.d.batch_stride,
                       .groups = {offsets, shape.batch, shape.m}};
  const std::int64_t at_a_time = wgmma_at_a_time(c, sms);
  const simt::Config at{.grid = dim3(static_cast<unsigned>(std::min(clusters, at_a_time) * c.cluster)),
                        .block = dim3(static_cast<unsigned>(threads(c))),
                        .smem = static_cast<std::size_t>(wgmma_smem_bytes(c)),
                        .stream = stream.handle};
  constexpr auto kernel = gemm_wgmma<Row, T, MA, MB, Epilogue, Loader>;
  // Blocks that share no copies share the L2 cache, and lie beside each other only where all of them begin at once.
  if constexpr (K::multicast)
    return sm90::launch_overlapping_clusters(at, c.cluster, kernel, loader, map_d, map_addend, work, then, epilogue);
  else return sm90::launch_clusters(at, c.cluster, kernel, loader, map_d, map_addend, work, then, epilogue);
}

struct WgmmaOperands {
  WgmmaOperand a, b;
  WgmmaOperand gate = {};                 // of Config::gated
  const std::int32_t* offsets = nullptr;  // of Config::grouped
  std::int64_t low = 0;                   // where the low parts of math 3xtf32 begin along k, a multiple of bk; else 0
};

// The same of matrices.
template <class Row, class T, Major MA, Major MB, class Epilogue>
[[nodiscard]] static Status launch_wgmma(const WgmmaOperands& of, const WgmmaOutput& out, const Shape& shape,
                                         const ColumnEpilogue& by_columns, const Epilogue& epilogue, int sms,
                                         Stream stream = {}) {
  using K = WgmmaKernel<Row, T, MA, MB>;
  static_assert(K::c.line == wgmma_line_bytes, "as make_operand_map() makes them");
  const std::int64_t low = of.low, stored_k = low ? 2 * low : shape.k;
  const int steps = static_cast<int>((shape.k + K::c.bk - 1) / K::c.bk);
  MatrixLoader<K::c.gated> loader{.a = {},
                                  .b = {},
                                  .term_steps = steps,
                                  .low = static_cast<int>(low),
                                  .batch_of_a = of.a.batch_stride ? 1 : 0,
                                  .batch_of_b = of.b.batch_stride ? 1 : 0,
                                  .gate = {}};
  RIDGE_TRY(make_operand_map<T>(&loader.a, of.a, shape.m, stored_k, shape.batch, MA, K::box_a));
  RIDGE_TRY(make_operand_map<T>(&loader.b, of.b, shape.n, stored_k, shape.batch, MB, K::box_b));
  if constexpr (K::c.gated) {
    loader.gate.batch = of.gate.batch_stride ? 1 : 0;
    RIDGE_TRY(make_operand_map<T>(&loader.gate.map, of.gate, shape.n, stored_k, shape.batch, MB, K::box_b));
  }
  return launch_wgmma<Row, T, MA, MB>(loader, out, shape, low ? 3 * steps : steps, by_columns, epilogue, sms, stream,
                                      of.offsets);
}

}  // namespace ridge::gemm_kernels
