// Attention on Hopper's tensor cores, which read tiles from shared memory by themselves (wgmma): f16 and bf16.
//
// A block has one warpgroup that brings K and V by TMA, and two to four that multiply, each with 64 queries of its own.
// Blocks stay, and take tiles of queries one after the other: the next one's first copies are under way while O of the
// last is divided and stored.
// A multiplier starts the product of the next keys before it adds the values of the last ones, and exponentiates while
// both run (Shah et al., "FlashAttention-3", 2024). Multipliers do not take turns in starting products, as they do
// there: measured, they fall into step by themselves, and turns cost up to 5 %.
//
// Zero times NaN would reach O from values that a query may not attend to. Where that can be, at the edges of masks,
// spare warps look through the tile first: they put 0 in the place of values that are NaN or infinite, and multipliers
// add such values one by one, to the queries that attend to them.
#pragma once
#include <ridge/attention/sm90_launch.cuh>
#include <ridge/attention/sm90_steps.cuh>
#include <ridge/tile/sm90/launch.cuh>
#include <ridge/tile/sm90/tensor_map.cuh>
#include <ridge/tile/sm90/tma.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>

namespace ridge::attention_kernels {

// How a mask tensor reaches the scores.
enum class MaskBy : std::uint8_t {
  none,     // there is none
  threads,  // they read it where it lies
  copies,   // TMA brings tiles of it: of the tensors' type, in rows that start on 16 bytes
};

// With MaskBy::copies. per_batch and per_head: 1; 0: shared by all of them.
struct WgmmaMaskMap {
  tile::sm90::TensorMap map;
  int per_batch, per_head;
};
struct NoWgmmaMask {};
template <MaskBy By> using WgmmaMaskOf = std::conditional_t<By == MaskBy::copies, WgmmaMaskMap, NoWgmmaMask>;

// Barriers and marks in shared memory. Q and the mask are each multiplier's own; K and V have stages of their own.
// Values that are to be looked through arrive at the checkers, who say that they are full.
template <int Multipliers, int Stages> struct WgmmaSync {
  tile::sm90::Barrier full_q[Multipliers], empty_q[Multipliers], full_mask[Multipliers], empty_mask[Multipliers],
      full_k[Stages], full_v[Stages], empty_k[Stages], empty_v[Stages], arrived[Stages];
  unsigned special[Stages];  // the block's latest tile of this stage, counted from 1, that had NaN or infinite values
};

// Of stages that are gone through one after the other: where the next tile is.
template <int Stages> struct Counted {
  unsigned tiles;
  __device__ __forceinline__ unsigned stage() const { return tiles % Stages; }
  __device__ __forceinline__ unsigned parity() const { return tiles / Stages & 1; }
};

// MaskBy::threads. The mask is read where scores are, pair by pair: lines of it come to the L1 cache once.
template <class T> struct WgmmaMask {
  const Arguments<T>& a;
  std::int64_t matrix;  // where that of this batch and head begins
  bool pairs;           // pairs of neighbours start on their own size

  __device__ __forceinline__ WgmmaMask(const Arguments<T>& args, const Place& at)
      : a(args), matrix(at.batch * args.at_mask.batch + at.head * args.at_mask.head) {
    const auto size = a.mask_dtype == DType::boolean ? 1 : a.mask_dtype == DType::f32 ? 4 : 2;
    pairs = a.at_mask.element == 1 && a.at_mask.row % 2 == 0 && matrix % 2 == 0 &&
            reinterpret_cast<std::uintptr_t>(a.mask) % (2 * size) == 0;
  }
  template <class M> __device__ __forceinline__ static float more(M x) {
    if constexpr (std::is_same_v<M, unsigned char>) return x ? 0.0f : minus_infinity;
    else return static_cast<float>(x);
  }
  __device__ __forceinline__ static float masked(float score, float more) {
    return more == minus_infinity ? more : score + more;  // and not NaN, if a NaN is not attended to
  }
  // To the scores of queries from `query` on and keys from `first` on. Of queries and keys that there are not the last
  // one's is read, and their scores do not matter.
  template <class Multiplier> __device__ __forceinline__ void add_to(Multiplier& m, int query, int first) const {
    const auto add = [&](auto tag) {
      using M = decltype(tag);
      const M* row[Multiplier::rows];
#pragma unroll
      for (int r = 0; r < Multiplier::rows; ++r)
        row[r] = static_cast<const M*>(a.mask) + matrix + ::min(query + m.row(r), a.sq - 1) * a.at_mask.row;
      const auto mask_pair = [](const simt::vec<M, 2>& both, float& x, float& y) {
        x = masked(x, more(both[0]));
        y = masked(y, more(both[1]));
      };
      if (pairs && first % 2 == 0 && first + Multiplier::tile_keys <= a.sk)
        m.for_score_pairs([&](int r, int key) { return simt::load<2>(row[r] + first + key); }, mask_pair);
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

// o = softmax(scores(q k^T)) v                                                  shapes: see Arguments
// Preconditions: cc 90; maps in boxes of 64 (q, o, mask) and bn (k, v) rows; rows of o are whole units of 16 bytes; one
// split, pack 1; d and dv are at most the Config's; the grid has a block at least, and none without a tile;
// without Uneven, all sequences are of one length; Mask says what the mask tensor needs; no pages.
template <class Row, class T, bool Uneven = false, MaskBy Mask = MaskBy::none>
__global__ void __launch_bounds__(Row::config.threads, 1)
    attention_wgmma(const __grid_constant__ WgmmaMaps maps, const __grid_constant__ Arguments<T> given,
                    const __grid_constant__ WgmmaOrder order,
                    [[maybe_unused]] const __grid_constant__ WgmmaMaskOf<Mask> mask) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    constexpr Config c = Row::config;
    using K = WgmmaKernel<Row>;
    using Walk = WgmmaWalk<Row, T>;
    constexpr bool has_mask = Mask != MaskBy::none, brings_mask = Mask == MaskBy::copies;
    static_assert(!brings_mask || (brings_masks(c) && !Uneven));
    unsigned char* shared = sm90::swizzled_shared();
    constexpr int barriers_at = K::mask_at + (brings_mask ? wgmma_mask_bytes(c) : 0);
    auto& sync = *reinterpret_cast<WgmmaSync<K::multipliers, c.stages>*>(shared + barriers_at);
    const auto stage_k = [=](unsigned stage) { return shared + K::k_at + stage * K::k_bytes; };
    const auto stage_v = [=](unsigned stage) { return shared + K::v_at + stage * K::v_bytes; };
    const int group = sm90::warpgroup_index();

    if (threadIdx.x == 0) {
      for (int m = 0; m < K::multipliers; ++m) {
        sm90::init(sync.full_q + m, 1);
        sm90::init(sync.empty_q + m, 1);
        sm90::init(sync.full_mask + m, 1);
        sm90::init(sync.empty_mask + m, 4);  // a multiplier's warps
      }
      for (int s = 0; s < c.stages; ++s) {
        sm90::init(sync.full_k + s, 1);
        sm90::init(sync.full_v + s, 1);
        sm90::init(sync.empty_k + s, K::multipliers);
        sm90::init(sync.empty_v + s, K::multipliers);
        sm90::init(sync.arrived + s, 1);
        sync.special[s] = 0;
      }
      sm90::fence_init();
      sm90::prefetch(&maps.q);
      sm90::prefetch(&maps.k);
      sm90::prefetch(&maps.v);
      if constexpr (brings_mask) sm90::prefetch(&mask.map);
    }
    __syncthreads();

    if (group == 0) {
      sm90::keep_registers<K::loader_registers>();
      if (threadIdx.x == 0) {
        // K of a tile, then V of the one before, which is needed later.
        sm90::RingPlace<c.stages> k, v;
        sm90::RingPlace<1> q;
        [[maybe_unused]] sm90::RingPlace<1> of_mask;
        order.for_each([&](const Place& at) {
          const WgmmaSequence<T, Uneven> sequence(given, at.batch);
          const Arguments<T>& a = sequence.arguments();
          if (Uneven && at.tile * c.bm >= a.sq) return;
          const Walk walk(a, at.tile * c.bm, has_mask);
          const int kv_head = at.head / a.group;
          for (int tile = 0; tile <= walk.tiles; ++tile) {
            if (tile < walk.tiles) {
              sm90::wait(sync.empty_k + k.stage, k.parity ^ 1);
              load_panels<c.bn, c.d>(&maps.k, stage_k(k.stage), sync.full_k + k.stage,
                                     sequence.begin.key + walk.first(tile), kv_head, sequence.batch_k);
              k.next();
            }
            if (tile == 0) {
              for (int m = 0; m < K::multipliers; ++m) {
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
            if constexpr (brings_mask) {
              if (tile == walk.tiles) continue;
              for (int m = 0; m < K::multipliers; ++m) {
                sm90::wait(sync.empty_mask + m, of_mask.parity ^ 1);
                load_panels<64, c.bn>(&mask.map, shared + K::mask_at + sm90::outer_offset(m * 64), sync.full_mask + m,
                                      walk.first_query + m * 64, at.head * mask.per_head, at.batch * mask.per_batch,
                                      K::q_panel, walk.first(tile));
              }
              of_mask.next();
            }
          }
        });
      } else if (threadIdx.x >= 32) {
        sm90::RingPlace<c.stages> v;
        Parities arrived;
        unsigned seen = 0;
        order.for_each([&](const Place& at) {
          const WgmmaSequence<T, Uneven> sequence(given, at.batch);
          const Arguments<T>& a = sequence.arguments();
          if (Uneven && at.tile * c.bm >= a.sq) return;
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
            sm90::fence_shared_for_copies();  // and before products
            sm90::await_named<K::checkers>(K::all_checkers);
            if (threadIdx.x == 32) sm90::arrive(sync.full_v + v.stage);
          }
        });
      }
      return;
    }

    sm90::take_registers<K::multiplier_registers>();
    const int multiplier = group - 1, first_row = multiplier * 64;
    const bool speaks = threadIdx.x % 128 == 0;
    WgmmaMultiplier<Row, T> m(first_row);
    const Scores<T> scores(given);
    unsigned parity_q = 0;
    [[maybe_unused]] unsigned parity_mask = 0;
    const auto give_turn = [&](int to) {
      if constexpr (K::in_turns) sm90::arrive_named<256>(K::turn + to);
    };
    const auto await_turn = [&] {
      if constexpr (K::in_turns) sm90::await_named<256>(K::turn + multiplier);
    };
    if (multiplier == 1) give_turn(0);
    Counted<c.stages> scored{0}, added{0};  // tiles of K and of V that this multiplier is through with
    order.for_each([&](const Place& at) {
      const WgmmaSequence<T, Uneven> sequence(given, at.batch);
      const Arguments<T>& a = sequence.arguments();
      if (Uneven && at.tile * c.bm >= a.sq) return;
      const Walk walk(a, at.tile * c.bm, has_mask);
      const auto own = walk.own(first_row),
                 whole = walk.whole_of(walk.first_query + first_row, walk.first_query + first_row + 63);
      const auto span = [&](int tile) {
        return [&, first = walk.first(tile)](int r) {
          return span_of(a, walk.first_query + m.row(r), first, ::min(first + c.bn, walk.keys.last));
        };
      };
      // What becomes of the scores of a tile.
      const auto weigh = [&](int tile) {
        const bool adds_scaled = brings_mask && scores.softcap == 0;
        if (!scores.as_is && !adds_scaled) m.for_scores([&](int, int, float product) { return scores.of(product); });
        if constexpr (Mask == MaskBy::threads) WgmmaMask<T>(a, at).add_to(m, walk.first_query, walk.first(tile));
        if constexpr (brings_mask) {
          sm90::wait(sync.full_mask + multiplier, parity_mask);
          parity_mask ^= 1;
          m.add_elements(sm90::shared_address(shared + K::mask_at), adds_scaled ? scores.scale : 1);
          __syncwarp();
          if (threadIdx.x % 32 == 0) sm90::arrive(sync.empty_mask + multiplier);
        }
        // Written twice: after a common one, nvcc's order of instructions costs 5 %.
        if (whole.contains(tile)) {
          m.weigh(scores.factor);
        } else {
          m.keep_spans(span(tile));
          m.weigh(scores.factor);
        }
      };
      const auto start_scores = [&] {
        sm90::wait(sync.full_k + scored.stage(), scored.parity());
        sm90::fence_sums();
        m.start_scores(sm90::shared_address(shared), sm90::shared_address(stage_k(scored.stage())));
      };
      const auto end_scores = [&](int tile) {
        if (speaks) {
          sm90::arrive(sync.empty_k + scored.stage());
          if (tile == own.to - 1) sm90::arrive(sync.empty_q + multiplier);
        }
        ++scored.tiles;
      };
      const auto start_values = [&] {
        sm90::wait(sync.full_v + added.stage(), added.parity());
        sm90::fence_sums();
        m.start_values(sm90::shared_address(stage_v(added.stage())));
      };
      const auto end_values = [&](int tile) {
        if (!walk.whole.contains(tile)) {
          if (sync.special[added.stage()] == added.tiles + 1) {
            const int first = walk.first(tile);
            const T* values = a.v + at.batch * a.at_v.batch + at.head / a.group * a.at_v.head + first * a.at_v.row;
            const auto of = span(tile);
            const Span spans[] = {of(0), of(1)};
            m.add_special(
                ::min(c.bn, walk.keys.last - first),
                [&](int key, int column) {
                  return column < a.dv ? float(values[key * a.at_v.row + column * a.at_v.element]) : 0.0f;
                },
                [&](int r, int key) {
                  if (!spans[r].contains(key)) return false;
                  if constexpr (!has_mask) return true;
                  else return mask_at(a, at.batch, at.head, walk.first_query + m.row(r), first + key) != minus_infinity;
                });
          }
          sm90::sync_warpgroup(K::own + multiplier);  // all have read the mark
        }
        if (speaks) sm90::arrive(sync.empty_v + added.stage());
        ++added.tiles;
      };

      // Tiles that other multipliers alone attend to. Until one thread has seen them arrive, none may look for later
      // ones: a barrier tells only two phases apart.
      const auto pass = [&](int count) {
        if (count == 0) return;
        if (speaks)
          for (int n = 0; n < count; ++n) {
            const Counted<c.stages> k{scored.tiles + n}, v{added.tiles + n};
            sm90::wait(sync.full_k + k.stage(), k.parity());
            sm90::arrive(sync.empty_k + k.stage());
            sm90::wait(sync.full_v + v.stage(), v.parity());
            sm90::arrive(sync.empty_v + v.stage());
          }
        sm90::sync_warpgroup(K::own + multiplier);
        scored.tiles += count;
        added.tiles += count;
      };

      m.clear();
      pass(own.from);
      sm90::wait(sync.full_q + multiplier, parity_q);
      parity_q ^= 1;
      if (own.from < own.to) {
        start_scores();
        sm90::wait_products<0>();
        end_scores(own.from);
        weigh(own.from);
        m.keep_weights();
        for (int tile = own.from + 1; tile < own.to; ++tile) {
          await_turn();
          start_scores();
          start_values();
          give_turn(1 - multiplier);
          sm90::wait_products<K::in_turns ? 0 : 1>();
          end_scores(tile);
          weigh(tile);
          sm90::wait_products<0>();
          end_values(tile - 1);
          m.rescale();
          m.keep_weights();
        }
        start_values();
        sm90::wait_products<0>();
        end_values(own.to - 1);
      }
      pass(walk.tiles - own.to);
      m.finish();

      // O goes through this multiplier's rows of its place.
      unsigned char* const out = shared + K::o_at;
      const int first_query = walk.first_query + first_row;  // this multiplier's
      const bool ends = Uneven && first_query + 64 > a.sq;   // behind its rows are another sequence's
#pragma unroll
      for (int first = 0; first < c.dv; first += K::o_columns) {
        if (speaks) sm90::wait_stores_read<0>();  // the last one has left
        sm90::sync_warpgroup(K::own + multiplier);
        m.put(sm90::shared_address(out), first);
        sm90::fence_shared_for_copies();
        sm90::sync_warpgroup(K::own + multiplier);
        if (ends) {
          constexpr int unit = 16 / sizeof(T), units = K::o_columns / unit;
          for (int n = static_cast<int>(threadIdx.x) % 128; n < ::min(64, a.sq - first_query) * units; n += 128) {
            const int row = n / units, column = n % units * unit;
            if (first + column >= a.dv) continue;
            const unsigned char* from =
                out + column / panel * K::q_panel +
                sm90::swizzled(static_cast<unsigned>(first_row + row), static_cast<unsigned>(column % panel * 2));
            simt::store_global(a.o + at.batch * a.at_o.batch + at.head * a.at_o.head +
                                   (first_query + row) * a.at_o.row + first + column,
                               simt::load<unit>(reinterpret_cast<const T*>(from)));
          }
        }
        if (speaks) {
          if (!ends && first_query < a.sq)
#pragma unroll
            for (int p = 0; p < panels(K::o_columns); ++p)
              sm90::store(&maps.o, out + p * K::q_panel + sm90::outer_offset(first_row), first + p * panel,
                          sequence.begin.query + first_query, at.head, sequence.batch_q);
          sm90::commit_stores();
        }
      }
      if (speaks && own.from == own.to) sm90::arrive(sync.empty_q + multiplier);
#pragma unroll
      for (int r = 0; r < m.rows; ++r) {
        const int query = walk.first_query + m.row(r);
        if (threadIdx.x % 4 == 0 && query < a.sq)
          put_lse(a, at.batch, at.head, query, m.running[r].log_sum(scores.factor));
      }
    });
    if (multiplier == 0) await_turn();  // nobody leaves the other's behind
    if (speaks) sm90::wait_stores_read<0>();
  }
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

// Whether TMA brings the mask: rows of the tensors' type that start on 16 bytes, of which each query has its own.
[[maybe_unused]] bool is_brought(const AttentionProblem& p, const TensorView& mask) {
  return p.mask_dtype == p.dtype && p.mask_lies->row != 0 && has_vectors(*p.mask_lies, p.mask_dtype) &&
         reinterpret_cast<std::uintptr_t>(mask.data) % 16 == 0;
}

template <class Row, class T>
Status launch_masked(const simt::Config& at, const WgmmaMaps& maps, const Call& call, const WgmmaOrder& order) {
  constexpr Config c = Row::config;
  const AttentionProblem& p = call.problem;
  if constexpr (brings_masks(c)) {
    if (is_brought(p, *call.tensors.mask)) {
      const AttentionOperand& lies = *p.mask_lies;
      WgmmaMaskMap mask{{}, lies.batch != 0, lies.head != 0};
      RIDGE_TRY(make_map<T>(&mask.map, call.tensors.mask->data, lies, p.sk, p.sq, mask.per_head ? p.hq : 1,
                            mask.per_batch ? p.b : 1, 64));
      simt::Config wider = at;
      wider.smem += wgmma_mask_bytes(c);
      return tile::sm90::launch_clusters(wider, 1, attention_wgmma<Row, T, false, MaskBy::copies>, maps,
                                         arguments_of<T>(call), order, mask);
    }
  }
  return tile::sm90::launch_clusters(at, 1, attention_wgmma<Row, T, false, MaskBy::threads>, maps,
                                     arguments_of<T>(call), order, NoWgmmaMask{});
}

template <class T> struct WgmmaRows : RowsOf<Algorithm::wgmma, T> {
  template <int I> static Status launch(const Call& call) {
    constexpr Config c = variants[I].config;
    const AttentionProblem& p = call.problem;
    const AttentionTensors& t = call.tensors;
    WgmmaMaps maps;
    // Sequences that follow each other are one batch.
    const std::int64_t sq = p.cu_q ? p.total_q : p.sq, b_q = p.cu_q ? 1 : p.b;
    const std::int64_t sk = p.cu_k ? p.total_k : p.sk, b_k = p.cu_k ? 1 : p.b;
    RIDGE_TRY(make_map<T>(&maps.q, t.q.data, *p.q, p.d, sq, p.hq, b_q, 64));
    RIDGE_TRY(make_map<T>(&maps.k, t.k.data, *p.k, p.d, sk, p.hkv, b_k, c.bn));
    RIDGE_TRY(make_map<T>(&maps.v, t.v.data, *p.v, p.dv, sk, p.hkv, b_k, c.bn));
    RIDGE_TRY(make_map<T>(&maps.o, t.o.data, *p.o, p.dv, sq, p.hq, b_q, 64));  // a multiplier's rows
    if constexpr (c.schedule == Schedule::alone) {
      return tile::sm90::launch_clusters(launch_config(call, call.plan.blocks), 1, attention_wgmma_alone<Row<I>, T>,
                                         maps, arguments_of<T>(call));
    } else {
      const WgmmaOrder order = order_of(c, p, call.plan.device);
      const simt::Config at = launch_config(call, order.blocks);
      if constexpr (wgmma_takes_lengths(c))
        if (has_lengths(p))
          return tile::sm90::launch_clusters(at, 1, attention_wgmma<Row<I>, T, true>, maps, arguments_of<T>(call),
                                             order, NoWgmmaMask{});
      if constexpr (wgmma_takes_masks(c))
        if (p.mask != AttentionMask::none) return launch_masked<Row<I>, T>(at, maps, call, order);
      return tile::sm90::launch_clusters(at, 1, attention_wgmma<Row<I>, T>, maps, arguments_of<T>(call), order,
                                         NoWgmmaMask{});
    }
  }
};

}  // namespace
}  // namespace ridge::attention_detail
