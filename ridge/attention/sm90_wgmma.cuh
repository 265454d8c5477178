// Attention on Hopper's tensor cores, which read tiles from shared memory by themselves (wgmma): f16 and bf16.
//
// A block has one producer warpgroup, which loads K and V by TMA, and two to four consumers with 64 queries each.
// Blocks are persistent and take one tile of queries after another: the first loads of the next tile are in flight
// while O of the last is divided and stored. A consumer starts Q K^T of the next keys before P V of the last ones, and
// computes exponentials while both run (Shah et al., "FlashAttention-3", 2024). Consumers do not ping-pong, as they do
// there: measured, they fall into step by themselves, and ping-pong costs up to 5 %.
//
// Zero times NaN would reach O from values that a query may not attend to. Where that can happen, at the edges of
// masks, spare warps check the tile first: they replace NaN and infinite values by 0, and consumers add such values one
// by one, at the end of a tile of queries, to those that attend to them.
//
// The first execution of an instruction waits for its line of code, from the L2 cache or from memory, and with few keys
// most instructions are executed once: on an H200, 128 queries of 12 heads, 32 times, took 12.0 us in a chain and 18.5
// after other kernels had run. So what is rare is kept out of the loop over keys (add_special), and what needs much
// code has instances of its own (MaskLoad): 17.0 us; tiles of 64 keys, which need half the code: 14.1.
#pragma once
#include <ridge/attention/parts.cuh>
#include <ridge/attention/sm90_launch.cuh>
#include <ridge/attention/sm90_steps.cuh>
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/tile/sm90/dependent_launch.cuh>
#include <ridge/tile/sm90/launch.cuh>
#include <ridge/tile/sm90/tensor_map.cuh>
#include <ridge/tile/sm90/tma.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>

namespace ridge::attention_kernels {

// How a mask tensor reaches the scores.
enum class MaskLoad : std::uint8_t {
  none,     // there is none; with sequences of one length, scores are products times a positive scale
  threads,  // threads read it from global memory, if there is one
  tma,      // TMA loads tiles of it: of the tensors' type, or float32 if it has room, in rows aligned to 16 bytes
};

// For MaskLoad::tma. per_batch and per_head: 1; 0: broadcast. in_f32: its elements are, or else of the tensors' type.
struct WgmmaMaskMap {
  tile::sm90::TensorMap map;
  int per_batch, per_head, in_f32;
};
struct NoWgmmaMask {};
template <MaskLoad By> using WgmmaMaskOf = std::conditional_t<By == MaskLoad::tma, WgmmaMaskMap, NoWgmmaMask>;

// Barriers and flags in shared memory. Each consumer has barriers of its own for Q and the mask; K and V have stages.
// Values that need a check signal `arrived`; the checkers then signal full_v.
template <int Consumers, int Stages> struct WgmmaSync {
  tile::sm90::Barrier full_q[Consumers], empty_q[Consumers], full_mask[Consumers], empty_mask[Consumers],
      full_k[Stages], full_v[Stages], empty_k[Stages], empty_v[Stages], arrived[Stages];
  unsigned special[Stages];  // the block's latest tile in this stage, counted from 1, with NaN or infinite values
};

// Count of tiles that went through the stages: gives the next tile's stage and parity.
template <int Stages> struct TileCounter {
  unsigned tiles;
  __device__ __forceinline__ unsigned stage() const { return tiles % Stages; }
  __device__ __forceinline__ unsigned parity() const { return tiles / Stages & 1; }
};

// For MaskLoad::threads. The mask is read pair by pair in the layout of scores: lines of it come to the L1 cache once.
template <class T> struct WgmmaMask {
  const Arguments<T>& a;
  std::int64_t matrix;  // offset of this batch and head
  bool pairs;           // pairs of neighbours are aligned to their size

  __device__ __forceinline__ WgmmaMask(const Arguments<T>& args, const BlockCoord& at)
      : a(args), matrix(at.batch * args.at_mask.batch + at.head * args.at_mask.head) {
    const auto size = a.mask_dtype == DType::boolean ? 1 : a.mask_dtype == DType::f32 ? 4 : 2;
    pairs = a.at_mask.element == 1 && a.at_mask.row % 2 == 0 && matrix % 2 == 0 &&
            reinterpret_cast<std::uintptr_t>(a.mask) % (2 * size) == 0;
  }
  template <class M> __device__ __forceinline__ static float bias(M x) {
    if constexpr (std::is_same_v<M, unsigned char>) return x ? 0.0f : minus_infinity;
    else return static_cast<float>(x);
  }
  __device__ __forceinline__ static float masked(float score, float bias) {
    return bias == minus_infinity ? bias : score + bias;  // not NaN where a NaN is not attended to
  }
  // Adds the mask to scores of queries from `query` on and keys from `first` on. Indices past the end are clamped to
  // the last query or key; those scores do not matter.
  template <class Consumer> __device__ __forceinline__ void add_to(Consumer& m, int query, int first) const {
    const auto add = [&](auto tag) {
      using M = decltype(tag);
      const M* row[Consumer::rows];
#pragma unroll
      for (int r = 0; r < Consumer::rows; ++r)
        row[r] = static_cast<const M*>(a.mask) + matrix + ::min(query + m.row(r), a.sq - 1) * a.at_mask.row;
      const auto mask_pair = [](const simt::vec<M, 2>& both, float& x, float& y) {
        x = masked(x, bias(both[0]));
        y = masked(y, bias(both[1]));
      };
      if (pairs && first % 2 == 0 && a.sk % 2 == 0)
        m.for_score_pairs([&](int r, int key) { return simt::load<2>(row[r] + ::min(first + key, a.sk - 2)); },
                          mask_pair);
      else
        m.for_score_pairs(
            [&](int r, int key) {
              simt::vec<M, 2> both;
              for (int i = 0; i < 2; ++i) both[i] = row[r][::min(first + key + i, a.sk - 1) * a.at_mask.element];
              return both;
            },
            mask_pair);
    };
    if (a.mask_dtype == DType::boolean) add(static_cast<unsigned char>(0));
    else if (a.mask_dtype == DType::f32) add(0.0f);
    else add(T{});
  }
};

// For MaskLoad::threads: a mask with one row for all queries, as of padding. A lane loads the elements of two
// neighbouring keys of every 64, before the tile's products, and the lanes of a warp exchange them.
template <class Consumer, class T> struct WgmmaMaskRow {
  static constexpr int pieces = (Consumer::tile_keys + 63) / 64;
  const Arguments<T>& a;
  bool exists;
  std::int64_t matrix;
  unsigned elements[pieces][2];  // bits of them

  __device__ __forceinline__ WgmmaMaskRow(const Arguments<T>& args, const BlockCoord& at, bool has_mask)
      : a(args),
        exists(has_mask && args.at_mask.row == 0),
        matrix(at.batch * args.at_mask.batch + at.head * args.at_mask.head) {}
  // Loads the elements of keys from `first` on; past the last key its element, which does not matter.
  __device__ __forceinline__ void load(int first) {
    if (!exists) return;
    const auto load_as = [&](auto bits) {
      const auto* row = static_cast<const decltype(bits)*>(a.mask) + matrix;
#pragma unroll
      for (int p = 0; p < pieces; ++p)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int key = first + p * 64 + static_cast<int>(threadIdx.x) % 32 * 2 + e;
          elements[p][e] = row[::min(key, a.sk - 1) * a.at_mask.element];
        }
    };
    if (a.mask_dtype == DType::boolean) load_as(static_cast<unsigned char>(0));
    else if (a.mask_dtype == DType::f32) load_as(0u);
    else load_as(static_cast<unsigned short>(0));
  }
  __device__ __forceinline__ void add_to(Consumer& m) const {
    float biases[pieces][2];
    bool any = false;
#pragma unroll
    for (int p = 0; p < pieces; ++p)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        biases[p][e] = mask_of_bits(a, elements[p][e]);
        any = any || biases[p][e] == minus_infinity;
      }
    if (a.mask_dtype != DType::boolean) m.add_row(biases);
    if (simt::tile<32>().any(any)) m.exclude_row(biases);
  }
};

// o = softmax(scores(q k^T)) v                                                  shapes: see Arguments
// With a Config that splits, O and its statistics are stored as parts, and gridDim.y is their number, a.splits.
// Preconditions: cc 90; maps in boxes of 64 (q, o, mask) and bn (k, v) rows; rows of o are whole 16-byte vectors; one
// split, unless the Config splits; pack 1; d and dv are at most the Config's; the grid has at least one block, and each
// block a tile; without Varlen, all sequences have one length; Mask says how the mask tensor is read; no pages.
template <class Policy, class T, bool Varlen = false, MaskLoad Mask = MaskLoad::none>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    attention_wgmma(const __grid_constant__ WgmmaMaps maps, const __grid_constant__ Arguments<T> given,
                    const __grid_constant__ WgmmaTileScheduler scheduler,
                    [[maybe_unused]] const __grid_constant__ WgmmaMaskOf<Mask> mask) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    constexpr Config c = Policy::config;
    using K = WgmmaKernel<Policy>;
    using Walk = WgmmaWalk<Policy, T>;
    constexpr bool takes_mask = Mask != MaskLoad::none, loads_mask = Mask == MaskLoad::tma;
    constexpr bool takes_scores = Varlen || takes_mask;  // of any scale and cap
    const bool has_mask = takes_mask && given.mask != nullptr;
    static_assert(!loads_mask || (loads_masks(c) && !Varlen));
    unsigned char* shared = sm90::swizzled_shared();
    constexpr int barriers_at = K::mask_at + (loads_mask ? wgmma_mask_room(c) : 0);
    auto& sync = *reinterpret_cast<WgmmaSync<K::consumers, c.stages>*>(shared + barriers_at);
    const auto stage_k = [=](unsigned stage) { return shared + K::k_at + stage * K::k_bytes; };
    const auto stage_v = [=](unsigned stage) { return shared + K::v_at + stage * K::v_bytes; };
    const int group = sm90::warpgroup_index();

    if (threadIdx.x == 0) {
      for (int m = 0; m < K::consumers; ++m) {
        sm90::init(sync.full_q + m, 1);
        sm90::init(sync.empty_q + m, 1);
        sm90::init(sync.full_mask + m, 1);
        sm90::init(sync.empty_mask + m, 4);  // one per warp of the consumer
      }
      for (int s = 0; s < c.stages; ++s) {
        sm90::init(sync.full_k + s, 1);
        sm90::init(sync.full_v + s, 1);
        sm90::init(sync.empty_k + s, K::consumers);
        sm90::init(sync.empty_v + s, K::consumers);
        sm90::init(sync.arrived + s, 1);
        sync.special[s] = 0;
      }
      sm90::fence_init();
      sm90::prefetch(&maps.q);
      sm90::prefetch(&maps.k);
      sm90::prefetch(&maps.v);
      if constexpr (loads_mask) sm90::prefetch(&mask.map);
    }
    tile::launch_dependents();
    __syncthreads();
    tile::grid_dependency_wait();  // nothing before this touches memory that the previous kernel may read or write

    if (group == 0) {
      sm90::dealloc_registers<K::producer_registers>();
      if (threadIdx.x == 0) {
        // K of a tile, then V of the one before, which is needed later.
        sm90::PipelineState<c.stages> k, v;
        sm90::PipelineState<1> q;
        [[maybe_unused]] sm90::PipelineState<1> of_mask;
        scheduler.for_each([&](const BlockCoord& at) {
          const WgmmaSequence<T, Varlen> sequence(given, at.batch);
          const Arguments<T>& a = sequence.arguments();
          if (Varlen && at.tile * c.bm >= a.sq) return;
          const Walk walk(a, at.tile * c.bm, has_mask);
          const int kv_head = scheduler.kv_head(at.head);
          for (int tile = 0; tile <= walk.tiles; ++tile) {
            if (tile < walk.tiles) {
              sm90::wait(sync.empty_k + k.stage, k.parity ^ 1);
              load_panels<c.bn, c.d>(&maps.k, stage_k(k.stage), sync.full_k + k.stage,
                                     sequence.begin.key + walk.first(tile), kv_head, sequence.batch_k);
              k.next();
            }
            if (tile == 0) {
              for (int m = 0; m < K::consumers; ++m) {
                sm90::wait(sync.empty_q + m, q.parity ^ 1);
                load_panels<64, c.d>(&maps.q, shared + sm90::outer_offset(m * 64), sync.full_q + m,
                                     sequence.begin.query + walk.first_query + m * 64, at.head, sequence.batch_q,
                                     K::q_panel);
              }
              q.next();
            } else {
              sm90::wait(sync.empty_v + v.stage, v.parity ^ 1);
              sm90::Barrier* full = walk.whole.contains(tile - 1) ? sync.full_v : sync.arrived;
              load_panels<c.bn, c.dv>(&maps.v, stage_v(v.stage), full + v.stage,
                                      sequence.begin.key + walk.first(tile - 1), kv_head, sequence.batch_k);
              v.next();
            }
            if constexpr (loads_mask) {
              if (tile == walk.tiles) continue;
              for (int m = 0; m < K::consumers; ++m) {
                sm90::wait(sync.empty_mask + m, of_mask.parity ^ 1);
                const auto load = [&](auto columns) {
                  load_panels<64, c.bn, decltype(columns)::value>(
                      &mask.map, shared + K::mask_at + sm90::outer_offset(m * 64), sync.full_mask + m,
                      walk.first_query + m * 64, at.head * mask.per_head, at.batch * mask.per_batch, K::q_panel,
                      walk.first(tile));
                };
                if (loads_float_masks(c) && mask.in_f32) load(std::integral_constant<int, panel / 2>{});
                else load(std::integral_constant<int, panel>{});
              }
              of_mask.next();
            }
          }
        });
      } else if (threadIdx.x >= 32) {
        sm90::PipelineState<c.stages> v;
        Parities arrived;
        unsigned seen = 0;
        scheduler.for_each([&](const BlockCoord& at) {
          const WgmmaSequence<T, Varlen> sequence(given, at.batch);
          const Arguments<T>& a = sequence.arguments();
          if (Varlen && at.tile * c.bm >= a.sq) return;
          const Walk walk(a, at.tile * c.bm, has_mask);
          for (int tile = 0; tile < walk.tiles; ++tile, v.next()) {
            ++seen;
            if (walk.whole.contains(tile)) continue;
            arrived.await(sync.arrived, v.stage);
            const int thread = static_cast<int>(threadIdx.x) - 32;
            if (finds_special<K::v_bytes, K::checkers, T>(stage_v(v.stage), thread)) {
              clear_special<K::v_bytes, K::checkers, T>(stage_v(v.stage), thread);
              atomicMax(sync.special + v.stage, seen);
            }
            sm90::fence_shared_for_copies();  // orders the stores before products
            sm90::named_barrier_sync<K::checkers>(K::all_checkers);
            if (threadIdx.x == 32) sm90::arrive(sync.full_v + v.stage);
          }
        });
      }
      return;
    }

    sm90::alloc_registers<K::consumer_registers>();
    const int consumer = group - 1, first_row = consumer * 64;
    const bool is_leader = threadIdx.x % 128 == 0;
    WgmmaConsumer<Policy, T> m(first_row);
    const Scores<T> scores(given);
    unsigned parity_q = 0;
    [[maybe_unused]] unsigned parity_mask = 0;
    const auto arrive_order = [&](int to) {
      if constexpr (K::ping_pong) sm90::named_barrier_arrive<256>(K::order + to);
    };
    const auto wait_order = [&] {
      if constexpr (K::ping_pong) sm90::named_barrier_sync<256>(K::order + consumer);
    };
    if (consumer == 1) arrive_order(0);
    TileCounter<c.stages> scored{0}, added{0};  // tiles of K and of V that this consumer has released
    typename Walk::Tiles special{0, 0};         // from the first to the last whose V was cleared of NaN or infinity
    scheduler.for_each([&](const BlockCoord& at) {
      const WgmmaSequence<T, Varlen> sequence(given, at.batch);
      const Arguments<T>& a = sequence.arguments();
      if (Varlen && at.tile * c.bm >= a.sq) return;
      const Walk walk(a, at.tile * c.bm, has_mask);
      const auto own = walk.own(first_row),
                 whole = walk.whole_of(walk.first_query + first_row, walk.first_query + first_row + 63);
      const auto span = [&](int tile) {
        return [&, first = walk.first(tile)](int r) {
          return span_of(a, walk.first_query + m.row(r), first, ::min(first + c.bn, walk.keys.last));
        };
      };
      [[maybe_unused]] WgmmaMaskRow<WgmmaConsumer<Policy, T>, T> mask_row(a, at, Mask == MaskLoad::threads && has_mask);
      // Computes P of a tile from its scores.
      const auto compute_p = [&](int tile) {
        const bool adds_scaled = loads_mask && scores.softcap == 0;
        if (takes_scores && !scores.as_is && !adds_scaled)
          m.for_scores([&](int, int, float product) { return scores.of(product); });
        if constexpr (Mask == MaskLoad::threads) {
          if (mask_row.exists) mask_row.add_to(m);
          else if (has_mask) WgmmaMask<T>(a, at).add_to(m, walk.first_query, walk.first(tile));
        }
        if constexpr (loads_mask) {
          sm90::wait(sync.full_mask + consumer, parity_mask);
          parity_mask ^= 1;
          const float factor = adds_scaled ? scores.scale : 1;
          if (loads_float_masks(c) && mask.in_f32) m.add_floats(shared + K::mask_at, factor);
          else m.add_elements(sm90::shared_address(shared + K::mask_at), factor);
          __syncwarp();
          if (threadIdx.x % 32 == 0) sm90::arrive(sync.empty_mask + consumer);
        }
        // Written twice: after a shared call, nvcc's instruction order costs 5 %.
        if (whole.contains(tile)) {
          m.compute_p(scores.scale_log2);
        } else {
          m.apply_mask(span(tile));
          m.compute_p(scores.scale_log2);
        }
      };
      const auto start_qk = [&](int tile) {
        if constexpr (Mask == MaskLoad::threads) mask_row.load(walk.first(tile));
        sm90::wait(sync.full_k + scored.stage(), scored.parity());
        sm90::fence_sums();
        m.start_qk(sm90::shared_address(shared), sm90::shared_address(stage_k(scored.stage())));
      };
      const auto end_qk = [&](int tile) {
        if (is_leader) {
          sm90::arrive(sync.empty_k + scored.stage());
          if (tile == own.to - 1) sm90::arrive(sync.empty_q + consumer);
        }
        ++scored.tiles;
      };
      const auto start_pv = [&] {
        sm90::wait(sync.full_v + added.stage(), added.parity());
        sm90::fence_sums();
        m.start_pv(sm90::shared_address(stage_v(added.stage())));
      };
      const auto end_pv = [&](int tile) {
        if (!walk.whole.contains(tile)) {
          if (sync.special[added.stage()] == added.tiles + 1) special = {special.to ? special.from : tile, tile + 1};
          sm90::sync_warpgroup(K::own + consumer);  // all have read the flag
        }
        if (is_leader) sm90::arrive(sync.empty_v + added.stage());
        ++added.tiles;
      };

      // Skips tiles that only other consumers attend to. No thread may wait for later tiles before one thread has seen
      // these arrive: a barrier distinguishes only two phases.
      const auto pass = [&](int count) {
        if (count == 0) return;
        if (is_leader)
          for (int n = 0; n < count; ++n) {
            const TileCounter<c.stages> k{scored.tiles + n}, v{added.tiles + n};
            sm90::wait(sync.full_k + k.stage(), k.parity());
            sm90::arrive(sync.empty_k + k.stage());
            sm90::wait(sync.full_v + v.stage(), v.parity());
            sm90::arrive(sync.empty_v + v.stage());
          }
        sm90::sync_warpgroup(K::own + consumer);
        scored.tiles += count;
        added.tiles += count;
      };

      m.clear();
      special = {0, 0};
      pass(own.from);
      sm90::wait(sync.full_q + consumer, parity_q);
      parity_q ^= 1;
      if (own.from < own.to) {
        start_qk(own.from);
        sm90::wait_products<0>();
        end_qk(own.from);
        compute_p(own.from);
        m.pack_p();
        for (int tile = own.from + 1; tile < own.to; ++tile) {
          wait_order();
          start_qk(tile);
          start_pv();
          arrive_order(1 - consumer);
          sm90::wait_products<K::ping_pong ? 0 : 1>();
          end_qk(tile);
          compute_p(tile);
          sm90::wait_products<0>();
          end_pv(tile - 1);
          m.rescale();
          m.pack_p();
        }
        start_pv();
        sm90::wait_products<0>();
        end_pv(own.to - 1);
      }
      pass(walk.tiles - own.to);
      m.finish();
      if (is_leader && own.from == own.to) sm90::arrive(sync.empty_q + consumer);

      if constexpr (Policy::config.split) {
        const std::int64_t place = blockIdx.y * a.rows + at.batch * a.at_row.batch + at.head * a.at_row.head +
                                   walk.first_query;  // of the tile's first query
        float* const part = a.partial_o + place * a.dv;
        m.store_floats(part, a.sq - walk.first_query, a.dv);
        if (special.to) {
          sm90::sync_warpgroup(K::own + consumer);
          add_special<Policy, takes_mask, Policy::config.dv>(
              a, at, walk, special, first_row, 0,
              [&](int row, int column) -> float& { return part[(first_row + row) * std::int64_t{a.dv} + column]; });
        }
#pragma unroll
        for (int r = 0; r < m.rows; ++r)
          if (threadIdx.x % 4 == 0 && walk.first_query + m.row(r) < a.sq)
            store_part(a, place + m.row(r), m.running[r], scores.scale_log2);
      } else {
        // O goes through this consumer's rows of the staging buffer.
        unsigned char* const out = shared + K::o_at;
        const int first_query = walk.first_query + first_row;  // of this consumer
        const bool ends = Varlen && first_query + 64 > a.sq;   // the rows behind belong to another sequence
#pragma unroll
        for (int first = 0; first < c.dv; first += K::o_columns) {
          if (is_leader) sm90::wait_stores_read<0>();  // the last store has read the buffer
          sm90::sync_warpgroup(K::own + consumer);
          m.store(sm90::shared_address(out), first);
          if (special.to) {
            sm90::sync_warpgroup(K::own + consumer);
            add_special<Policy, takes_mask, K::o_columns>(a, at, walk, special, first_row, first,
                                                          StagedO<Policy, T>{out, first_row, first});
          }
          sm90::fence_shared_for_copies();
          sm90::sync_warpgroup(K::own + consumer);
          if (ends) {
            constexpr int vector = 16 / sizeof(T), row_vectors = K::o_columns / vector;
            for (int n = static_cast<int>(threadIdx.x) % 128; n < ::min(64, a.sq - first_query) * row_vectors;
                 n += 128) {
              const int row = n / row_vectors, column = n % row_vectors * vector;
              if (first + column >= a.dv) continue;
              const unsigned char* from =
                  out + column / panel * K::q_panel +
                  sm90::swizzled(static_cast<unsigned>(first_row + row), static_cast<unsigned>(column % panel * 2));
              simt::store_global(a.o + at.batch * a.at_o.batch + at.head * a.at_o.head +
                                     (first_query + row) * a.at_o.row + first + column,
                                 simt::load<vector>(reinterpret_cast<const T*>(from)));
            }
          }
          if (is_leader) {
            if (!ends && first_query < a.sq)
#pragma unroll
              for (int p = 0; p < panels(K::o_columns); ++p)
                sm90::store(&maps.o, out + p * K::q_panel + sm90::outer_offset(first_row), first + p * panel,
                            sequence.begin.query + first_query, at.head, sequence.batch_q);
            sm90::commit_stores();
          }
        }
#pragma unroll
        for (int r = 0; r < m.rows; ++r) {
          const int query = walk.first_query + m.row(r);
          if (threadIdx.x % 4 == 0 && query < a.sq)
            store_lse(a, at.batch, at.head, query, m.running[r].lse(scores.scale_log2));
        }
      }
    });
    if (consumer == 0) wait_order();  // leaves no arrival of the other consumer pending
    if (is_leader) sm90::wait_stores_read<0>();
  }
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

// Whether TMA loads the mask: rows of a type that the row has room for, aligned to 16 bytes, one per query.
[[maybe_unused]] bool is_loaded_by_tma(const Config& c, const AttentionProblem& p, const TensorView& mask) {
  const bool has_room = p.mask_dtype == p.dtype || (p.mask_dtype == f32 && loads_float_masks(c));
  return has_room && p.mask_layout->row != 0 && has_vectors(*p.mask_layout, p.mask_dtype) &&
         reinterpret_cast<std::uintptr_t>(mask.data) % 16 == 0;
}

// Launches the kernel, early where a block has one tile: with more, the next grid's first blocks, which have the most
// tiles, would share multiprocessors (on an H200, 1.3 tiles for each block: 8 % more).
template <class Kernel, class T, class Mask>
Status launch_tiles(const simt::Config& at, Kernel kernel, const WgmmaMaps& maps, const Arguments<T>& a,
                    const WgmmaTileScheduler& scheduler, const Mask& mask) {
  if (scheduler.blocks == scheduler.all_heads * scheduler.tiles)
    return tile::sm90::launch_dependent_clusters(at, 1, kernel, maps, a, scheduler, mask);
  return tile::sm90::launch_clusters(at, 1, kernel, maps, a, scheduler, mask);
}

// With a mask, or scores that are not products.
template <class Policy, class T>
Status launch_any_scores(const simt::Config& at, const WgmmaMaps& maps, const Call& call,
                         const WgmmaTileScheduler& scheduler) {
  constexpr Config c = Policy::config;
  const AttentionProblem& p = call.problem;
  if constexpr (loads_masks(c)) {
    if (p.mask != AttentionMask::none && is_loaded_by_tma(c, p, *call.tensors.mask)) {
      const AttentionOperand& layout = *p.mask_layout;
      WgmmaMaskMap mask{{}, layout.batch != 0, layout.head != 0, p.mask_dtype == f32};
      RIDGE_TRY((mask.in_f32 ? make_map<float> : make_map<T>)(&mask.map, call.tensors.mask->data, layout, p.sk, p.sq,
                                                              mask.per_head ? p.hq : 1, mask.per_batch ? p.b : 1, 64));
      simt::Config wider = at;
      wider.smem += wgmma_mask_room(c);
      return launch_tiles(wider, attention_wgmma<Policy, T, false, MaskLoad::tma>, maps, arguments_of<T>(call),
                          scheduler, mask);
    }
  }
  return launch_tiles(at, attention_wgmma<Policy, T, false, MaskLoad::threads>, maps, arguments_of<T>(call), scheduler,
                      NoWgmmaMask{});
}

template <class T> struct WgmmaRows : RowsOf<Algorithm::wgmma, T> {
  template <int I> static Status launch(const Call& call) {
    constexpr Config c = variants[I].config;
    const AttentionProblem& p = call.problem;
    const AttentionTensors& t = call.tensors;
    WgmmaMaps maps;
    // Packed sequences form one batch.
    const std::int64_t sq = p.cu_q ? p.total_q : p.sq, b_q = p.cu_q ? 1 : p.b;
    const std::int64_t sk = p.cu_k ? p.total_k : p.sk, b_k = p.cu_k ? 1 : p.b;
    RIDGE_TRY(make_map<T>(&maps.q, t.q.data, *p.q, p.d, sq, p.hq, b_q, 64));
    RIDGE_TRY(make_map<T>(&maps.k, t.k.data, *p.k, p.d, sk, p.hkv, b_k, c.bn));
    RIDGE_TRY(make_map<T>(&maps.v, t.v.data, *p.v, p.dv, sk, p.hkv, b_k, c.bn));
    RIDGE_TRY(make_map<T>(&maps.o, t.o.data, *p.o, p.dv, sq, p.hq, b_q, 64));  // a consumer's rows
    if constexpr (c.schedule == Schedule::alone) {
      return tile::sm90::launch_clusters(launch_config(call, call.plan.blocks), 1, attention_wgmma_alone<Policy<I>, T>,
                                         maps, arguments_of<T>(call));
    } else {
      const WgmmaTileScheduler scheduler = scheduler_of(c, p, call.plan.device);
      const simt::Config at = launch_config(call, scheduler.blocks);
      if constexpr (wgmma_takes_lengths(c))
        if (has_lengths(p))
          return launch_tiles(at, attention_wgmma<Policy<I>, T, true>, maps, arguments_of<T>(call), scheduler,
                              NoWgmmaMask{});
      if constexpr (wgmma_takes_masks(c))
        if (p.mask != AttentionMask::none || !scores_are_products(p))
          return launch_any_scores<Policy<I>, T>(at, maps, call, scheduler);
      const Arguments<T> args = arguments_of<T>(call);
      RIDGE_TRY(launch_tiles(at, attention_wgmma<Policy<I>, T>, maps, args, scheduler, NoWgmmaMask{}));
      if constexpr (c.split) return launch_parts<T>(call, args);
      else return {};
    }
  }
};

}  // namespace
}  // namespace ridge::attention_detail
