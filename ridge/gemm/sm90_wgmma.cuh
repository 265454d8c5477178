// GEMM on Hopper's tensor cores: TMA copies tiles of A and B to shared memory, wgmma multiplies them there.
//
// One kernel with several schedules (Config::schedule). A specialized producer warp runs up to `stages` steps ahead of
// the consumer warpgroups, and loads the next tile while they store this one. The tiles of a cluster's blocks lie below
// each other; each block loads its part of the columns of B that they share and multicasts it to all of them.
//
// With Config::gated half of a tile's columns belong to B and half, the same ones, to G, so that a thread holds both
// sums of an element. With Config::grouped a tile's rows belong to one group, and B is that group's.
//
// With Config::stream_k blocks share the last tiles' steps, and pass sums of parts of a tile to the block that has its
// beginning (sm90_stream_k.cuh).
//
// C or the residual arrives the same way as the operands, in steps before or after the operands' steps
// (sm90_wgmma.hpp).
#pragma once
#include <ridge/gemm/raster.hpp>
#include <ridge/gemm/sm90_epilogue.cuh>
#include <ridge/gemm/sm90_groups.cuh>
#include <ridge/gemm/sm90_stream_k.cuh>
#include <ridge/gemm/sm90_wgmma.hpp>
#include <ridge/tile/sm90/dependent_launch.cuh>
#include <ridge/tile/sm90/pipeline.cuh>
#include <ridge/tile/sm90/tensor_map.cuh>

namespace ridge::gemm_kernels {

// How a tile is stored to D. Each way has an instance of the kernel: code must be loaded, and jumps over what is not
// executed cost most of all (docs/decisions.md, 44).
enum class Store : std::uint8_t {
  epilogue,      // by the epilogue of the launch
  tma,           // by ColumnEpilogue and TMA: D of two bytes
  tma_cheap,     // likewise, where is_cheap() and nothing is added
  tma_deferred,  // likewise, during the next tile's first steps; something may be added
  tma_float,     // as tma: D of float32
  direct,        // by each thread: integers, unchanged
};
// Whether there is an instance for Store::tma_cheap.
constexpr bool has_cheap_store(const Config& c) { return !c.gated && !c.promote; }
constexpr bool is_tma(Store by) { return by == Store::tma || by == Store::tma_cheap || by == Store::tma_deferred; }

// The launch's arguments beside the tensor maps.
struct WgmmaWork {
  int m, n, steps;             // steps of bk along k, at least one
  unsigned rows, cols, batch;  // D in clusters' tiles
  int addend_steps;            // steps in which the addend is loaded (sm90_wgmma.hpp); 0: there is none
  int batch_of_addend;         // 1; 0: the batch shares it
  bool sums_begin;             // with the addend times addend_factor; else ColumnEpilogue adds it
  float addend_factor;
  void* d;                           // for Store::direct, rows of groups that TMA cannot store, and AnywhereStore
  std::int64_t pitch, batch_stride;  // of d, in elements
  Groups groups;                     // for Config::grouped, else unused
  StreamKExchange exchange;          // for Config::stream_k, else unused
};

constexpr tile::sm90::Axis axis_of(Major major) {
  return major == Major::k ? tile::sm90::Axis::k : tile::sm90::Axis::outer;
}

template <class T> inline constexpr bool is_float8 = std::is_same_v<T, float8_e4m3> || std::is_same_v<T, float8_e5m2>;
// The type of D that TMA stores where D is not float32: bfloat16 for float8. Threads store D of integers.
template <class T> using ColumnOut = std::conditional_t<sizeof(T) == 2, T, bfloat16>;
template <class T> inline constexpr bool has_tma_store = sizeof(T) == 2 || is_float8<T>;
template <class T> inline constexpr bool has_direct_store = std::is_same_v<tile::sm90::Sum<T>, std::int32_t>;
// D of float32, which 16-bit operands sometimes have: only for rows of the table whose sums leave registers for it.
template <class Policy, class T>
inline constexpr bool has_float_store = !has_direct_store<T> && stores_float(Policy::config);

// A config's tiles as TMA and wgmma take them.
template <class Policy, class T, Major MA, Major MB> struct WgmmaKernel {
  static constexpr Config c = Policy::config;
  static constexpr tile::sm90::Axis axis_a = axis_of(MA), axis_b = axis_of(MB);
  static constexpr int rows = rows_of_consumer(c), blocks = rows / 64, sums = c.bn / 2;
  static constexpr int columns = gemm_kernels::columns(c);  // of D
  // Columns of B that each block of a cluster loads; with a gate all columns of B, or all of G.
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
  static_assert(!c.stream_k || (std::is_same_v<tile::sm90::Sum<T>, float> && c.schedule == Schedule::cooperative &&
                                c.persistent && c.cluster == 1 && !c.promote && !c.grouped));
  using Out = ColumnOut<T>;
  static_assert(wgmma_stage_bytes(c) == bytes_a + bytes_b);
  static constexpr bool multicast = c.cluster > 1;
  // Both warpgroups of a tile would store at once while nothing multiplies; in ping-pong one always multiplies.
  // With stream-K nvcc would serialize the products: a part that ends in no store keeps the tile before it packed.
  static constexpr bool defers = c.schedule == Schedule::cooperative && c.persistent && blocks == 1 && sizeof(T) == 2 &&
                                 !c.promote && !c.gated && !c.stream_k;
  // Whether sums may begin with an addend: D has 16 bits, and nothing adds sums with a coarser rounding than float32's.
  static constexpr bool begins_sums = (sizeof(T) == 2 || c.promote > 0) && !c.gated && has_tma_store<T>;
  // Sums that pass through gelu at a time, where it overlaps the other warpgroup's products.
  static constexpr int chains = c.schedule == Schedule::ping_pong ? 8 : part_sums;
  // Out of 64K: one producer warpgroup, two consumer warpgroups.
  static constexpr int producer_registers = registers > 128 ? 24 : 40;
  static constexpr int consumer_registers = registers > 128 ? 240 : 232;
  // Rows of a TMA box. K-major: all rows in one copy; else 64 elements along k, and one copy for each 64 of the other
  // axis. For the last tile of a group, only the rows of warpgroups that have some are loaded.
  static constexpr int part_of_a = c.grouped ? rows : c.bm, parts_of_a = c.bm / part_of_a;
  static constexpr int box_a = MA == Major::k ? part_of_a : c.bk, box_b = MB == Major::k ? b_share : c.bk;
  using Store = ColumnStore<Out, columns, c.grouped>;
};

// Scheduler of a block's tiles: cluster x takes tiles x, x + clusters and so on; the tiles of a cluster's blocks lie
// below each other. Indices have 32 bits, whose division is inlined.
template <class Policy> struct TileScheduler {
  static constexpr Config c = Policy::config;
  unsigned rows, cols, total, index;  // in clusters
  int end, rank;                      // D's number of rows; the rank in the cluster

  __device__ TileScheduler(const WgmmaWork& w, int rank_in_cluster)
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
    const BasicRaster<unsigned> raster{rows, cols, c.raster_group};
    const auto place = raster.at(index - batch * tiles);
    return {static_cast<int>((place.row * c.cluster + rank) * c.bm), static_cast<int>(place.col) * columns(c),
            static_cast<int>(batch), end};
  }
};

// Loads one operand's tile: `Outer` elements from `outer` on, and those from `k` on. For the box see WgmmaKernel.
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

// Loads a stage's columns of B from `col` on; each block of a cluster loads its share and multicasts it to all.
template <class K>
__device__ __forceinline__ void load_columns(const tile::sm90::TensorMap* map, unsigned char* to,
                                             tile::sm90::Barrier* full, int col, int k, int batch, int rank) {
  const int share = rank * K::b_share;
  load_operand<K::axis_b, K::b_share, K::multicast>(map, to + tile::sm90::outer_offset(share, K::c.line), full,
                                                    col + share, k, batch, (1 << K::c.cluster) - 1);
}

struct Gate {
  tile::sm90::TensorMap map;
  int batch;  // as in MatrixLoader
};
struct NoGate {};

// Loads a stage's tiles of A and B, and has `full` expect their bytes. An operand that is not a matrix brings a class
// with the same members instead (conv/sm90_image.cuh): its maps, the position where a tile's steps begin, and the load
// of the next step.
template <bool Gated> struct MatrixLoader {
  tile::sm90::TensorMap a, b;
  int term_steps, low;         // for math=3xtf32 alone; else all steps, and 0
  int batch_of_a, batch_of_b;  // 1; 0: the batch shares it
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
  // K: the kernel's WgmmaKernel. rank: the block's, in its cluster.
  template <class K>
  __device__ __forceinline__ void load_next(Place& at, unsigned char* to_a, unsigned char* to_b,
                                            tile::sm90::Barrier* full, int rank) const {
    namespace sm90 = tile::sm90;
    const WgmmaTile& tile = at.tile;
    const int parts = K::c.grouped ? ::min((tile.end - tile.row + K::part_of_a - 1) / K::part_of_a, K::parts_of_a) : 1;
    sm90::arrive_and_expect_tx(full, parts * K::part_of_a * K::c.line + K::bytes_b);
    // 3xtf32: operands are stored as [high | low] along k; low b by high a, then high b by low a, then both high.
    const int step = at.step++, term = (step >= term_steps) + (step >= 2 * term_steps);
    const int k = (step - term * term_steps) * K::c.bk, k_a = k + (term == 1 ? low : 0),
              k_b = k + (term == 0 ? low : 0);
    for (int i = 0; i < parts * K::part_of_a; i += K::part_of_a)
      load_operand<K::axis_a, K::part_of_a, false>(&a, to_a + sm90::outer_offset(i, K::c.line), full, tile.row + i, k_a,
                                                   tile.batch * batch_of_a, 0);
    // One block of the cluster loads B, the other one G.
    if (!Gated || !K::multicast || rank == 0)
      load_columns<K>(&b, to_b, full, tile.col, k_b, tile.batch * batch_of_b, Gated ? 0 : rank);
    if constexpr (Gated)
      if (!K::multicast || rank == 1)
        load_columns<K>(&gate.map, to_b + sm90::outer_offset(K::columns, K::c.line), full, tile.col, k_b,
                        tile.batch * gate.batch, 0);
  }
};

// Whether an epilogue computes by ColumnEpilogue and stores a warp's rows itself: it says which column of the bias a
// column has, and its rows_at<N>() is a store, and an addend, of store_columns_in_loop().
template <class Epilogue> inline constexpr bool stores_rows = requires { requires Epilogue::stores_rows; };
// Whether the instances for Store::epilogue have AnywhereStore too, for launches that give D.
template <class Policy, class T, class Epilogue>
inline constexpr bool stores_anywhere =
    sizeof(T) == 2 && may_store_anywhere(Policy::config) && std::is_same_v<Epilogue, StandardEpilogue<float>>;

// epilogue(A B), or epilogue(A B, A G)          a: [m, k]  b, gate: [n, k]  d, addend: [m, n], as their maps say
// With Config::grouped, for each group g of a's rows: epilogue(A_g B_g), b: [groups, n, k]. By: how D is stored.
// Preconditions: cc 90; the maps have the boxes of WgmmaKernel, d's 16 rows and the addend's addend_rows; the grid is
// whole clusters.
template <class Policy, class T, Major MA, Major MB, class Epilogue, class Loader, Store By>
__global__ void __launch_bounds__(wgmma_threads(Policy::config), Policy::config.blocks_per_sm)
    gemm_wgmma(const __grid_constant__ Loader loader, const __grid_constant__ tile::sm90::TensorMap map_d,
               const __grid_constant__ tile::sm90::TensorMap map_addend, const __grid_constant__ WgmmaWork work,
               const __grid_constant__ ColumnEpilogue by_columns, const __grid_constant__ Epilogue epilogue) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    using K = WgmmaKernel<Policy, T, MA, MB>;
    constexpr Config c = Policy::config;
    constexpr bool ping_pong = c.schedule == Schedule::ping_pong, specialized = c.schedule != Schedule::one;
    constexpr int first_consumer = specialized ? 1 : 0;
    constexpr bool adds = is_tma(By) || By == Store::tma_float;  // C or a residual may be loaded by TMA
    using Sum = sm90::Sum<T>;
    using Out = typename K::Out;
    using Scheduler = std::conditional_t<
        c.grouped, GroupedTileScheduler<Policy>,
        std::conditional_t<c.stream_k, StreamKScheduler<TileScheduler<Policy>>, TileScheduler<Policy>>>;
    using State = sm90::PipelineState<c.stages>;

    unsigned char* shared = sm90::swizzled_shared();
    auto* barriers = reinterpret_cast<sm90::Barrier*>(shared + wgmma_barriers_at(c));
    const sm90::Pipeline<c.stages> pipeline{barriers, barriers + c.stages};
    auto* order = barriers + 2 * c.stages;  // of the consumers' products in ping-pong
    const auto stage_a = [=](int stage) { return shared + stage * wgmma_stage_bytes(c); };
    const auto stage_b = [=](int stage) { return shared + stage * wgmma_stage_bytes(c) + K::bytes_a; };
    const int rank = K::multicast ? static_cast<int>(sm90::cluster_rank()) : 0;
    const int group = sm90::warpgroup_index(), warp = sm90::warp_of_warpgroup();

    if (threadIdx.x == 0) {
      loader.prefetch();
      if (adds && work.addend_steps) sm90::prefetch(&map_addend);
      pipeline.init(1, (ping_pong ? 1 : consumers(c)) * c.cluster);
      for (int i = 0; i < 2; ++i) sm90::init(order + i, 4);  // a warpgroup's warps
      sm90::fence_init();
    }
    tile::launch_dependents();
    if constexpr (K::multicast) sm90::cluster_sync_relaxed();
    else __syncthreads();
    tile::grid_dependency_wait();  // nothing before this touches memory that the previous kernel may read or write

    const auto load_step = [&](typename Loader::Place& from, int stage) {
      loader.template load_next<K>(from, stage_a(stage), stage_b(stage), pipeline.full + stage, rank);
    };
    // Loads a tile of the addend, from the pipeline's current stage on.
    const auto load_addend = [&](const WgmmaTile& place, State& ring) {
      constexpr int size = By == Store::tma_float ? sizeof(float) : sizeof(Out), pieces = addend_pieces(c, size);
      constexpr int pieces_down = c.bm / addend_rows;
      for (int piece = 0; piece < pieces; ring.next()) {
        pipeline.producer_acquire(ring);
        const int end = ::min(piece + addend_pieces_of_stage(c), pieces);
        sm90::Barrier* const full = pipeline.producer_expect(ring, (end - piece) * addend_piece_bytes);
        for (unsigned char* to = stage_a(ring.stage); piece < end; ++piece, to += addend_piece_bytes)
          sm90::load(&map_addend, to, full, place.col + piece / pieces_down * (wgmma_line_bytes / size),
                     place.row + piece % pieces_down * addend_rows,
                     K::c.grouped ? 0 : place.batch * work.batch_of_addend);
      }
    };
    // The steps of the scheduler's tile that this block computes.
    const auto part_of = [&](const Scheduler& scheduler) -> TilePart {
      if constexpr (K::c.stream_k) return scheduler.part();
      else return {0, work.steps};
    };
    // Multiplies one step for this warpgroup's rows.
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
    // The destination of 64 rows of a tile, this warp's among them.
    const auto store_as = [&]<class As>(const WgmmaTile& place, int consumer, int first_row) {
      unsigned char* staging = shared + c.stages * wgmma_stage_bytes(c) + (consumer * 4 + warp) * wgmma_staging_bytes;
      ColumnStore<As, K::columns, K::c.grouped> to{staging, &map_d, place.row + first_row + warp * 16, place.col,
                                                   place.batch};
      if constexpr (K::c.grouped) {
        to.batch = 0;  // the rows of all groups form one matrix
        to.bound = {static_cast<As*>(work.d), work.pitch, place.end, work.n};
      }
      return to;
    };
    const auto store_of = [&](const WgmmaTile& place, int consumer, int first_row) {
      return store_as.template operator()<Out>(place, consumer, first_row);
    };
    const auto bias_of = [&](int consumer) {
      return reinterpret_cast<float*>(shared + wgmma_bias_at(c)) + consumer * c.bn;
    };
    // addend_stage: the first stage of the tile's addend.
    const auto finish = [&](const Sum(&sums)[K::blocks][K::sums], const WgmmaTile& place, int consumer, int first_row,
                            int addend_stage) {
      const typename K::Store to = store_of(place, consumer, first_row);
      const TileAddend<Policy, Out> addend{shared, addend_stage, first_row + warp * 16};
      if constexpr (By == Store::tma && K::c.gated)
        store_gated_columns<Out>(sums, by_columns, bias_of(consumer), to, addend);
      else if constexpr (By == Store::tma_cheap) store_cheap_columns<c.bn>(sums, by_columns, bias_of(consumer), to);
      else if constexpr (By == Store::tma && has_cheap_store(K::c))
        store_columns_in_loop<Out, c.bn, K::chains>(sums, by_columns, bias_of(consumer), to, addend);
      else if constexpr (By == Store::tma)
        store_columns<Out, c.bn, K::chains>(sums, by_columns, bias_of(consumer), to, addend);
      else if constexpr (By == Store::tma_float)
        store_columns<float, c.bn, K::chains>(sums, by_columns, bias_of(consumer),
                                              store_as.template operator()<float>(place, consumer, first_row),
                                              TileAddend<Policy, float>{shared, addend_stage, addend.row});
      else if constexpr (By == Store::direct)
        DirectStore<Sum>{
            static_cast<Sum*>(work.d) + to.batch * work.batch_stride, work.pitch, to.row, to.col, work.m, work.n}
            .store_all(sums);
      else if constexpr (stores_rows<Epilogue>) {
        const auto rows = epilogue.template rows_at<c.bn>(to.staging, to.row, to.col, place.end, work.n);
        store_columns_in_loop<Out, c.bn>(sums, by_columns, bias_of(consumer), rows, rows);
      } else if constexpr (K::c.gated) {
        store_gated_by_epilogue(sums, epilogue, place.end, work.n, to.row, to.col, place.batch);
      } else {
        if constexpr (stores_anywhere<Policy, T, Epilogue>)
          if (work.d)
            return store_columns_in_loop<Out, c.bn, K::chains>(
                sums, by_columns, bias_of(consumer),
                AnywhereStore<Out>{static_cast<Out*>(work.d) + place.batch * work.batch_stride, work.pitch, to.staging,
                                   to.row, to.col, place.end, work.n});
        store_by_epilogue<c.bn>(sums, epilogue, to.staging, place.end, work.n, to.row, to.col, place.batch);
      }
    };
    // Fetches the columns' bias as float32, and behind it that of a gate's columns, for this consumer only. A later
    // barrier makes it readable.
    const auto fetch_bias = [&](const WgmmaTile& place, int consumer) {
      float* bias = bias_of(consumer);
      RIDGE_KEEP_LOOP
      for (int i = threadIdx.x % 128; i < K::columns; i += 128) {
        At at{place.batch, 0, place.col + i, 1};
        const bool is_there = by_columns.bias.data && at.col < work.n;
        if constexpr (stores_rows<Epilogue>) at.col = epilogue.bias_column(static_cast<unsigned>(at.col));
        bias[i] = is_there ? load_row<1, float>(by_columns.bias, at)[0] : 0;
      }
      if constexpr (K::c.gated) {
        if (by_columns.gate_bias.data) {
          RIDGE_KEEP_LOOP
          for (int i = threadIdx.x % 128; i < K::columns; i += 128) {
            const At at{place.batch, 0, place.col + i, 1};
            bias[K::columns + i] = at.col < work.n ? load_row<1, float>(by_columns.gate_bias, at)[0] : 0;
          }
        }
      }
    };

    if constexpr (!specialized) {
      // Every thread does everything in sequence; other blocks of the multiprocessor fill the waits.
      State ring;
      for (Scheduler scheduler(work, rank); scheduler.more(); scheduler.next()) {
        const WgmmaTile place = scheduler.at();
        Sum sums[K::blocks][K::sums];
        __syncthreads();  // the last tile's bias has been read
        fetch_bias(place, 0);
        auto from = loader.at(place);
        for (int step = 0; step < work.steps; ++step, ring.next()) {
          const int stage = ring.stage;
          if (threadIdx.x == 0) load_step(from, stage);
          pipeline.consumer_wait(ring);
          sm90::fence_sums();
          multiply_step(sums, stage, 0, step > 0);
          sm90::wait_products<0>();
          __syncthreads();
        }
        finish(sums, place, 0, 0, 0);
      }
      if (warp < 4 && threadIdx.x % 32 == 0) sm90::wait_stores_read<0>();
    } else if (group == 0) {
      // The producer: one thread of the first warpgroup, or its whole first warp where tiles of groups are scheduled.
      sm90::dealloc_registers<K::producer_registers>();
      if (threadIdx.x < (c.grouped ? 32 : 1)) {
        State ring;
        for (Scheduler scheduler(work, rank); scheduler.more(); scheduler.next()) {
          const WgmmaTile place = scheduler.at();
          if (threadIdx.x > 0) continue;
          auto from = loader.at(place);
          const TilePart part = part_of(scheduler);
          const bool adds_to_part = adds && work.addend_steps && part.begins();
          if constexpr (c.stream_k) from.step = part.first;
          if (adds_to_part && work.sums_begin) load_addend(place, ring);
          for (int step = 0; step < part.steps; ++step, ring.next()) {
            pipeline.producer_acquire(ring);
            load_step(from, ring.stage);
          }
          if (adds_to_part && !work.sums_begin) load_addend(place, ring);
        }
      }
    } else {
      sm90::alloc_registers<K::consumer_registers>();
      const int consumer = group - first_consumer, first_row = ping_pong ? 0 : consumer * K::rows;
      // Releases a stage that has been read: one thread arrives for each block of the cluster, whose copies go to all.
      const auto release = [&](int stage) {
        if constexpr (K::multicast) {
          if (threadIdx.x % 128 < c.cluster) pipeline.consumer_release(stage, threadIdx.x % 128);
        } else {
          if (threadIdx.x % 128 == 0) pipeline.consumer_release(stage);
        }
      };
      const int addend_steps = adds ? work.addend_steps : 0;
      // Waits until the tile's addend has arrived, from the pipeline's stage on; the next one releases it.
      const auto await_addend = [&](State ring) {
        for (int step = 0; step < addend_steps; ++step, ring.next()) pipeline.consumer_wait(ring);
      };
      const auto release_addend = [&](State ring) {
        sm90::sync_warpgroup(1 + consumer);
        for (int step = 0; step < addend_steps; ++step, ring.next()) release(ring.stage);
      };
      constexpr bool begins = K::begins_sums && is_tma(By);
      const int steps_of_tile = work.steps + addend_steps, first_steps = begins && work.sums_begin ? addend_steps : 0,
                last_steps = addend_steps - first_steps;
      const auto begin_sums = [&](Sum(&sums)[K::blocks][K::sums], State& ring) {
        await_addend(ring);
        if constexpr (begins) {
#pragma unroll
          for (int i = 0; i < K::blocks; ++i)
            TileAddend<Policy, Out>{shared, ring.stage, first_row + i * 64 + warp * 16}.begin(work.addend_factor,
                                                                                              sums[i]);
        }
        release_addend(ring);
        ring.skip(first_steps);
      };
      // Stream-K: stores the sums of a tile that another block has the beginning of; and adds those of other blocks.
      using Passed = PartialSums<K::blocks, K::sums>;
      const auto passed_at = [&](unsigned range) { return range * consumers(K::c) + static_cast<unsigned>(consumer); };
      const auto passed_sums = [&](unsigned at) {
        return work.exchange.sums + std::size_t{at} * (Passed::bytes / sizeof(float));
      };
      [[maybe_unused]] const auto pass_on = [&](const auto& scheduler, const auto& sums) {
        const unsigned at = passed_at(scheduler.range());
        Passed::store(passed_sums(at), sums);
        sm90::sync_warpgroup(1 + consumer);
        if (threadIdx.x % 128 == 0) sm90::set_flag(work.exchange.flags + at, work.exchange.run);
      };
      [[maybe_unused]] const auto take_others = [&](const auto& scheduler, auto& sums) {
        scheduler.for_others([&](unsigned range) {
          const unsigned at = passed_at(range);
          if (threadIdx.x % 128 == 0) sm90::await_flag(work.exchange.flags + at, work.exchange.run);
          sm90::sync_warpgroup(1 + consumer);
          Passed::add(passed_sums(at), sums);
        });
      };
      [[maybe_unused]] const auto multiply_tiles = [&] {
        constexpr bool defers = By == Store::tma_deferred;  // a finished tile is kept packed
        Scheduler scheduler(work, rank);
        State ring;
        [[maybe_unused]] unsigned order_parity = 0;
        [[maybe_unused]] bool waits = false;
        [[maybe_unused]] typename K::Store::Packed waiting;
        [[maybe_unused]] typename K::Store waiting_to = store_of(WgmmaTile{}, consumer, first_row);
        if (ping_pong && consumer == 1) {
          scheduler.next();
          ring.skip(steps_of_tile);
        }
        // Hands the turn over. Each warp does so for itself, when it has seen its own turn: in a tile of one step
        // nothing else keeps the turn from coming back before a late warp has looked, and parity tells two apart.
        [[maybe_unused]] const auto hand_turn_to = [&](int other) {
          __syncwarp();
          if (threadIdx.x % 32 == 0) sm90::arrive(order + other);
        };
        if (ping_pong && consumer == 0) hand_turn_to(0);
        for (; scheduler.more(); scheduler.next(ping_pong ? 2 : 1)) {
          const WgmmaTile place = scheduler.at();
          const TilePart part = part_of(scheduler);
          if constexpr (K::c.grouped) {
            if (place.row + first_row >= place.end) {  // no rows for this warpgroup: it releases the stages unread
              for (int step = 0; step < steps_of_tile; ++step, ring.next()) {
                pipeline.consumer_wait(ring);
                release(ring.stage);
              }
              continue;
            }
          }
          Sum sums[K::blocks][K::sums];
          sm90::sync_warpgroup(1 + consumer);  // the last tile's bias has been read
          fetch_bias(place, consumer);
          if constexpr (ping_pong) {
            sm90::wait(order + consumer, order_parity);
            order_parity ^= 1;
          }
          const auto start_step = [&](bool accumulate) {
            pipeline.consumer_wait(ring);
            sm90::fence_sums();
            multiply_step(sums, ring.stage, first_row, accumulate);
          };
          const bool has_begun = first_steps > 0 && part.begins();
          if (has_begun) begin_sums(sums, ring);
          start_step(has_begun);
          int step = 1;
          const auto add_step = [&] {
            const int former = ring.stage;
            ring.next();
            start_step(true);
            sm90::wait_products<1>();  // all but these: the previous stage has been read
            release(former);
            ++step;
          };
          if constexpr (defers) {  // one copy in each of the first steps: all at once would delay the second
            if (waits) {
#pragma unroll
              for (int copy = 0; copy < K::Store::copies; ++copy) {
                waiting_to.store_copy(copy, waiting);
                if (copy + 1 < K::Store::copies && step < part.steps) add_step();
              }
            }
          }
          while (step < part.steps) add_step();
          const int last = ring.stage;
          ring.next();
          if constexpr (ping_pong) {
            // The other warpgroup waits for later phases of the stages' barriers, and parity tells only two phases
            // apart.
            if (last_steps > 0 && threadIdx.x % 32 == 0) await_addend(ring);
            hand_turn_to(consumer ^ 1);
          }
          sm90::wait_products<0>();
          release(last);
          if constexpr (K::c.stream_k) {
#pragma unroll
            for (int i = 0; i < K::blocks; ++i) sm90::take_sums(sums[i]);
            if (!part.begins()) {
              pass_on(scheduler, sums);
              continue;
            }
            take_others(scheduler, sums);
          }
          sm90::sync_warpgroup(1 + consumer);  // this tile's bias is there
          const State of_addend = ring;
          if (last_steps > 0) await_addend(of_addend);
          if constexpr (defers) {
            pack_columns<Out, c.bn>(sums[0], by_columns, bias_of(consumer),
                                    TileAddend<Policy, Out>{shared, of_addend.stage, first_row + warp * 16}, waiting);
            waiting_to = store_of(place, consumer, first_row);
            waits = true;
          } else {
            finish(sums, place, consumer, first_row, of_addend.stage);
          }
          if (last_steps > 0) release_addend(of_addend);
          ring.skip(last_steps + (ping_pong ? steps_of_tile : 0));
        }
        if constexpr (defers) {
          if (waits) waiting_to.store_all(waiting);
        }
      };
      // Only a part of the sum at a time stays in the tensor cores, whose additions round less accurately.
      [[maybe_unused]] const auto multiply_in_parts = [&] {
        Scheduler scheduler(work, rank);
        State ring;
        Sum sums[K::blocks][K::sums], part[K::blocks][K::sums];
        const auto start_step = [&](Sum(&to)[K::blocks][K::sums], bool accumulate) {
          pipeline.consumer_wait(ring);
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
        for (; scheduler.more(); scheduler.next()) {
          const WgmmaTile place = scheduler.at();
          sm90::sync_warpgroup(1 + consumer);  // the last tile's bias has been read
          fetch_bias(place, consumer);
#pragma unroll
          for (int i = 0; i < K::blocks; ++i)
#pragma unroll
            for (int j = 0; j < K::sums; ++j) sums[i][j] = 0;
          if (first_steps > 0) begin_sums(sums, ring);
          if constexpr (K::two_parts) {  // one is added while the other is being multiplied
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
              const int step_of_part = step % K::part_steps, stage = start_step(part, step_of_part > 0);
              if (step_of_part > 0) {
                sm90::wait_products<1>();  // all but these: the previous stage has been read
                release(former);
              }
              former = stage;
              if (step_of_part != K::part_steps - 1 && step != work.steps - 1) continue;
              sm90::wait_products<0>();
              release(former);
              add(part);
            }
          }
          sm90::sync_warpgroup(1 + consumer);  // this tile's bias is there
          if (last_steps > 0) await_addend(ring);
          finish(sums, place, consumer, first_row, ring.stage);
          if (last_steps > 0) release_addend(ring);
          ring.skip(last_steps);
        }
      };
      if constexpr (K::c.promote > 0) multiply_in_parts();
      else multiply_tiles();
      if (threadIdx.x % 32 == 0) sm90::wait_stores_read<0>();
    }
    if constexpr (K::multicast) sm90::cluster_sync_relaxed();  // others may still copy to, or arrive at, this block
  }
}

}  // namespace ridge::gemm_kernels
