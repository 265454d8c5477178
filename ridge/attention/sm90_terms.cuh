// Attention in float32 on Hopper's tensor cores, which multiply bf16: a float is split into three bf16 components, and
// the six largest of the nine products of two floats are computed.
//
// Components are truncated, not rounded, after every 8 bits: their sum is exactly the float, and they have one sign.
// The dropped products are about 2^-23 of a product, and the range is that of float32, since bf16 has the same
// exponents. (The last components of numbers below 2^-110 are lost.) Tensor cores truncate their sums at each step, so
// P V is summed per tile, small products first, and added to O in float32.
//
// A block has a producer warpgroup, which reads K and V and splits them, and consumers with 64 queries each. Tiles of K
// and of V alternate in one circular buffer.
//
// Components cannot represent NaN and infinity. The producer replaces such elements of K or V by 0 and marks the tile:
// scores are then computed again in float32, and values added one by one to the queries that attend to them.
#pragma once
#include <ridge/attention/sm90_consumer.cuh>
#include <ridge/attention/sm90_launch.cuh>
#include <ridge/attention/sm90_order.cuh>
#include <ridge/attention/sm90_terms.hpp>
#include <ridge/tile/sm90/pipeline.cuh>

namespace ridge::attention_kernels {

// Components of x and of y, in the halves of words.
struct PairComponents {
  unsigned word[components];
};
__device__ __forceinline__ PairComponents components_of(float x, float y) {
  constexpr unsigned upper = 0xffff0000;  // a bf16 is the upper half of a float
  PairComponents split;
#pragma unroll
  for (int t = 0; t < components; ++t) {
    const unsigned bits_x = __float_as_uint(x), bits_y = __float_as_uint(y);
    split.word[t] = bits_x >> 16 | (bits_y & upper);
    x -= __uint_as_float(bits_x & upper);
    y -= __uint_as_float(bits_y & upper);
  }
  return split;
}

// f(i, j) for the components i and j of two factors whose product is computed, small products first.
template <class F> __device__ __forceinline__ void for_products(F f) {
#pragma unroll
  for (int both = components - 1; both >= 0; --both)
#pragma unroll
    for (int i = 0; i <= both; ++i) f(i, both - i);
}

// Stays 0 while all tested numbers are finite, else becomes NaN.
struct Probe {
  float value = 0;
  __device__ __forceinline__ void test(float x) { value = fmaf(x, 0.0f, value); }
  __device__ __forceinline__ bool special() const { return !(value == 0); }
};
__device__ __forceinline__ bool is_finite(float x) { return fabsf(x) < -minus_infinity; }

template <class Policy> struct TermsKernel {
  static constexpr Config c = Policy::config;
  static constexpr int consumers = c.bm / 64, stages = c.stages;
  static constexpr bool keeps_q = terms_keep_q(c);
  static_assert(c.algorithm == Algorithm::wgmma_terms && c.threads == (consumers + 1) * 128 && c.bm % 64 == 0);
  static_assert(c.d % panel == 0 && c.dv % panel == 0 && c.bn % 16 == 0);

  static constexpr int k_panels = c.d / panel, v_panels = c.dv / panel;
  static constexpr int component_bytes = mma_tile_bytes(c.bn, panel);  // from one component of K or V to the next
  static constexpr int q_component_bytes = mma_tile_bytes(c.bm, c.d);
  static constexpr int ring_at = terms_q_bytes(c), barriers_at = ring_at + stages * terms_stage_bytes(c);

  // Total 65,536 registers, in steps of 8; see WgmmaKernel.
  static constexpr int producer_registers = 88, consumer_registers = 208;
  static_assert(128 * (producer_registers + consumers * consumer_registers) <= 65536 / c.threads / 8 * 8 * c.threads);
  // Named barriers: one per consumer, starting at `own`, and one of the producer.
  static constexpr int own = 1, producer = own + consumers;
};

template <int Stages> struct TermsSync {
  tile::sm90::Barrier full[Stages], empty[Stages];
  unsigned special[Stages];  // the block's latest panel in this stage, counted from 1, with NaN or infinite elements
};

// A producer thread's part of a panel [bn][64] of K or V: 8 neighbours of every 16th row.
struct TermsSource {
  const float* from;  // the thread's first element
  std::int64_t step;  // row stride
  int rows, columns;  // existing ones from there on; a multiple of 4 columns
};

// Producer. As soon as a piece of a panel has been split, the same piece of the next panel is requested: its latency is
// hidden by the rest of the panel.
template <class Policy> class TermsProducer {
  static constexpr Config c = Policy::config;
  using K = TermsKernel<Policy>;
  static constexpr int vector = 8, row_vectors = panel / vector, rows = 128 / row_vectors;
  static_assert(c.bn % rows == 0 && rows % 8 == 0, "rows of every piece are swizzled alike");

 public:
  static constexpr int pieces = c.bn / rows;

  __device__ __forceinline__ TermsProducer()
      : row_(static_cast<int>(threadIdx.x) / row_vectors),
        column_(static_cast<int>(threadIdx.x) % row_vectors * vector) {}

  // Source of a panel from `column` on, whose first row is `from`. tensor_rows, width: existing rows and columns from
  // there.
  __device__ __forceinline__ TermsSource source(const float* from, std::int64_t step, int tensor_rows, int width,
                                                int column) const {
    column += column_;
    return {from + row_ * step + column, step, tensor_rows - row_, width - column};
  }
  // Elements that do not exist are 0.
  __device__ __forceinline__ void fetch(int piece, const TermsSource& s) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      simt::vec<float, 4> four{};
      if (piece * rows < s.rows && half * 4 < s.columns)
        four = simt::load<4>(s.from + piece * rows * s.step + half * 4);
#pragma unroll
      for (int e = 0; e < 4; ++e) x_[piece][half * 4 + e] = four[e];
    }
  }
  // Splits a piece into the component panels from `to` on, with 0 for special elements; returns whether there were any.
  __device__ __forceinline__ bool store(int piece, unsigned char* to) {
    float(&x)[vector] = x_[piece];
    Probe probe;
#pragma unroll
    for (int e = 0; e < vector; ++e) probe.test(x[e]);
    if (probe.special()) {
#pragma unroll
      for (int e = 0; e < vector; ++e) x[e] = is_finite(x[e]) ? x[e] : 0.0f;
    }
    simt::vec<unsigned, 4> words[components];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const PairComponents split = components_of(x[2 * w], x[2 * w + 1]);
#pragma unroll
      for (int t = 0; t < components; ++t) words[t][w] = split.word[t];
    }
    to += tile::sm90::swizzled(static_cast<unsigned>(row_), static_cast<unsigned>(column_) * 2);
#pragma unroll
    for (int t = 0; t < components; ++t)
      simt::store(reinterpret_cast<unsigned*>(to + t * K::component_bytes + piece * rows * tile::sm90::line_bytes),
                  words[t]);
    return probe.special();
  }

 private:
  int row_, column_;
  float x_[pieces][vector];
};

// Consumer: WgmmaConsumer with components of P, and of Q where it is narrow.
template <class Policy> class TermsConsumer : public WgmmaConsumer<Policy, bfloat16> {
  static constexpr Config c = Policy::config;
  using K = TermsKernel<Policy>;
  using Base = WgmmaConsumer<Policy, bfloat16>;
  using Axis = tile::sm90::Axis;
  using Base::change_, Base::first_, Base::lane_, Base::o_, Base::s_;

 public:
  using Base::Base, Base::pair, Base::row, Base::rows;

  // value(key, column): of V, 0 if out of range. Adds the NaN or infinite values of `keys` keys to the rows r for which
  // attends(r, key).
  template <class Value, class Attends>
  __device__ __forceinline__ void add_special(int keys, Value value, Attends attends) {
    for (int key = 0; key < keys; ++key) {
      const bool to[rows] = {attends(0, key), attends(1, key)};
#pragma unroll
      for (int i = 0; i < c.dv / 2; ++i) {
        const float v = value(key, pair(i / 4) + i % 2);
        if (!(fabsf(v) < -minus_infinity) && to[i / 2 % 2]) o_[i] += v;
      }
    }
  }

  // query(r, column): the two elements of this thread's row r from `column` on. shared: place of Q, if it is wide.
  template <class Query> __device__ __forceinline__ void take_queries(unsigned char* shared, Query query) {
    Probe probe;
#pragma unroll
    for (int step = 0; step < c.d / 16; ++step)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int r = i % 2, column = pair(2 * step + i / 2);
        simt::vec<float, 2> x = query(r, column);
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          probe.test(x[e]);
          x[e] = is_finite(x[e]) ? x[e] : 0.0f;
        }
        const PairComponents split = components_of(x[0], x[1]);
#pragma unroll
        for (int t = 0; t < components; ++t) {
          if constexpr (K::keeps_q) {
            q_[t][step][i] = split.word[t];
          } else {
            const unsigned at = tile::sm90::swizzled(static_cast<unsigned>(row(r)), column % panel * 2);
            *reinterpret_cast<unsigned*>(shared + t * K::q_component_bytes +
                                         mma_tile_bytes(c.bm, column / panel * panel) + at) = split.word[t];
          }
        }
      }
    special_ = simt::tiles<4>().any(probe.special());
  }
  __device__ __forceinline__ bool special() const { return special_; }  // whether one of its queries is

  // Starts S = Q K^T for a panel of both. With two panels, each has accumulators of its own (free before P V):
  // otherwise small products of the second panel would be added to sums that are large already.
  __device__ __forceinline__ void start_qk(int of_panel, [[maybe_unused]] unsigned q, unsigned k) {
    using namespace tile::sm90;
    const std::uint64_t b = descriptor(Axis::k, k);
    for_products([&](int i, int j) {
#pragma unroll
      for (int d = 0; d < panel; d += 16) {
        const bool accumulate = i + j < components - 1 || i > 0 || d > 0;
        const unsigned in_line = k_offset(Axis::k, d);
        const std::uint64_t of_k = advanced(b, j * K::component_bytes + in_line);
        if constexpr (K::keeps_q) {
          multiply_kept<bfloat16, Axis::k, c.bn>(s_, q_[i][d / 16], of_k, accumulate);
        } else {
          const std::uint64_t a = descriptor(Axis::k, q + outer_offset(first_));
          multiply<bfloat16, Axis::k, Axis::k, c.bn>(
              part_[of_panel], advanced(a, i * K::q_component_bytes + mma_tile_bytes(c.bm, of_panel * panel) + in_line),
              of_k, accumulate);
        }
      }
    });
    commit_products();
  }
  // After the last panel.
  __device__ __forceinline__ void end_qk() {
    if constexpr (!K::keeps_q) {
      static_assert(K::k_panels == 2 && K::v_panels == 2 && c.bn == panel, "panels' sums have one layout");
#pragma unroll
      for (int i = 0; i < c.bn / 2; ++i) s_[i] = part_[0][i] + part_[1][i];
    }
  }
  // Replaces each score by score(r, key). For rare cases: short code, no extra registers.
  template <class Score> __device__ __forceinline__ void replace_scores(Score score) {
#pragma unroll 1
    for (int own = 0; own < c.bn / 4; ++own) {
      const int key = pair(own / 2) + own % 2;
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const float now = score(r, key);
#pragma unroll
        for (int n = 0; n < c.bn / 4; ++n)
          if (n == own) s_[n / 2 * 4 + 2 * r + n % 2] = now;
      }
    }
  }
  // Starts P V of the tile for a panel of V.
  __device__ __forceinline__ void start_pv(int of_panel, unsigned v) {
    using namespace tile::sm90;
    const std::uint64_t b = descriptor(Axis::outer, v, c.bn);
    for_products([&](int i, int j) {
#pragma unroll
      for (int n = 0; n < c.bn; n += 16)
        multiply_kept<bfloat16, Axis::outer, panel>(part_[of_panel], p_[i][n / 16],
                                                    advanced(b, j * K::component_bytes + k_offset(Axis::outer, n)),
                                                    i + j < components - 1 || i > 0 || n > 0);
    });
    commit_products();
  }
  // Adds it to O.
  __device__ __forceinline__ void end_pv(int of_panel) {
#pragma unroll
    for (int i = 0; i < panel / 2; ++i) {
      float& o = o_[of_panel * (panel / 2) + i];
      o = fmaf(o, change_[i / 2 % 2], part_[of_panel][i]);
    }
  }
  // Converts P to the next product's operand.
  __device__ __forceinline__ void pack_p() {
#pragma unroll
    for (int n = 0; n < c.bn / 16; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const PairComponents split = components_of(s_[8 * n + 2 * i], s_[8 * n + 2 * i + 1]);
#pragma unroll
        for (int t = 0; t < components; ++t) p_[t][n][i] = split.word[t];
      }
  }
  // f(r, column, two neighbours of O)
  template <class F> __device__ __forceinline__ void for_pairs(F f) const {
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
      for (int n = 0; n < c.dv / 8; ++n) f(r, pair(n), simt::vec<float, 2>{o_[4 * n + 2 * r], o_[4 * n + 2 * r + 1]});
  }

 private:
  unsigned q_[components][K::keeps_q ? c.d / 16 : 1][4];  // [64][d], by 16 columns
  unsigned p_[components][c.bn / 16][4];                  // P [64][bn], by 16 keys
  float part_[K::v_panels][panel / 2];                    // [64][dv]: of one tile of keys
  bool special_;
};

// o = softmax(scores(q k^T)) v                                                  shapes: see Arguments
// Preconditions: cc 90; rows of q, k, v and o are contiguous and aligned to 16 bytes, d and dv are multiples of 4 and
// at most the Config's; no mask tensor, one split, pack 1, no pages; the grid has at least one block; without Varlen,
// all sequences have one length.
template <class Policy, bool Varlen>
__global__ void __launch_bounds__(Policy::config.threads, 1)
    attention_wgmma_terms(const __grid_constant__ Arguments<float> given,
                          const __grid_constant__ WgmmaTileScheduler scheduler) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    constexpr Config c = Policy::config;
    using K = TermsKernel<Policy>;
    using Walk = WgmmaWalk<Policy, float>;
    using Sequence = WgmmaSequence<float, Varlen>;
    unsigned char* const shared = sm90::swizzled_shared();
    auto& sync = *reinterpret_cast<TermsSync<K::stages>*>(shared + K::barriers_at);
    static_assert(K::barriers_at + static_cast<int>(sizeof sync) == terms_bytes(c));
    const sm90::Pipeline<K::stages> pipeline{sync.full, sync.empty};
    const auto stage_at = [=](unsigned number) { return shared + K::ring_at + number * terms_stage_bytes(c); };
    const int group = sm90::warpgroup_index();

    if (threadIdx.x == 0) {
      for (int s = 0; s < K::stages; ++s) {
        sm90::init(sync.full + s, 1);
        sm90::init(sync.empty + s, K::consumers);
        sync.special[s] = 0;
      }
      sm90::fence_init();
    }
    __syncthreads();

    if (group == 0) {
      sm90::dealloc_registers<K::producer_registers>();
      sm90::PipelineState<K::stages> state;
      unsigned stored = 0;  // panels
      TermsProducer<Policy> producer;
      scheduler.for_each([&](const BlockCoord& at) {
        const Sequence sequence(given, at.batch);
        const Arguments<float>& a = sequence.arguments();
        if (Varlen && at.tile * c.bm >= a.sq) return;
        const Walk walk(a, at.tile * c.bm);
        const int kv_head = at.head / a.group;
        // Panel number n: the panels of a tile of K, then those of V.
        constexpr int panels_each = K::k_panels;
        static_assert(K::k_panels == K::v_panels);
        const int all = 2 * walk.tiles * panels_each;
        const auto source = [&](int n) {
          const int kv_tile = n / panels_each, column = n % panels_each * panel, first = walk.first(kv_tile / 2);
          const bool keys = kv_tile % 2 == 0;
          const Strides& strides = keys ? a.at_k : a.at_v;
          return producer.source(
              (keys ? a.k : a.v) + at.batch * strides.batch + kv_head * strides.head + first * strides.row, strides.row,
              n < all ? walk.keys.last - first : 0, keys ? a.d : a.dv, column);
        };
        const TermsSource first = source(0);
#pragma unroll
        for (int piece = 0; piece < producer.pieces; ++piece) producer.fetch(piece, first);
#pragma unroll 1
        for (int n = 0; n < all; ++n) {
          const TermsSource next = source(n + 1);
          pipeline.producer_acquire(state);
          bool special = false;
#pragma unroll
          for (int piece = 0; piece < producer.pieces; ++piece) {
            special |= producer.store(piece, stage_at(state.stage));
            producer.fetch(piece, next);
          }
          ++stored;
          if (special) atomicMax(sync.special + state.stage, stored);
          sm90::fence_shared_for_copies();  // orders the stores before products
          sm90::sync_warpgroup(K::producer);
          if (threadIdx.x == 0) pipeline.producer_commit(state);
          state.next();
        }
      });
      return;
    }

    sm90::alloc_registers<K::consumer_registers>();
    const int consumer = group - 1, first_row = consumer * 64;
    const bool is_leader = threadIdx.x % 128 == 0;
    TermsConsumer<Policy> m(first_row);
    const Scores<float> scores(given);
    sm90::PipelineState<K::stages> state;
    unsigned seen = 0;  // panels
    scheduler.for_each([&](const BlockCoord& at) {
      const Sequence sequence(given, at.batch);
      const Arguments<float>& a = sequence.arguments();
      if (Varlen && at.tile * c.bm >= a.sq) return;
      const Walk walk(a, at.tile * c.bm);
      const auto whole = walk.whole_of(walk.first_query + first_row, walk.first_query + first_row + 63);
      const auto queries = [&] { return a.q + at.batch * a.at_q.batch + at.head * a.at_q.head; };
      const auto query = [&](int r) { return walk.first_query + m.row(r); };
      const auto span = [&](int tile) {
        return [&, first = walk.first(tile)](int r) {
          return span_of(a, query(r), first, ::min(first + c.bn, walk.keys.last));
        };
      };
      // Waits for the buffer's next panels, all of one tile; f(panel, address) starts a product.
      struct Taken {
        int first;
        bool special;  // has NaN or infinite elements
      };
      const auto start = [&](auto f) {
        Taken taken{state.stage, false};
#pragma unroll
        for (int p = 0; p < K::k_panels; ++p) {
          pipeline.consumer_wait(state);
          // Read before the product, which takes all four warps: once it is done and the stage released, all have read.
          taken.special |= sync.special[state.stage] == ++seen;
          sm90::fence_sums();
          f(p, sm90::shared_address(stage_at(state.stage)));
          state.next();
        }
        return taken;
      };
      const auto release = [&](const Taken& taken, int p) {
        const int number = taken.first + p;
        if (is_leader) pipeline.consumer_release(number < K::stages ? number : number - K::stages);
      };
      // Waits for each panel's product, which must be the last one started, and calls f(panel).
      const auto end = [&](const Taken& taken, auto f) {
        if constexpr (K::k_panels == 2) {
          sm90::wait_products<1>();
          release(taken, 0);
          f(0);
        }
        sm90::wait_products<0>();
        release(taken, K::k_panels - 1);
        f(K::k_panels - 1);
      };
      const auto start_qk = [&] {
        return start([&](int p, unsigned k) { m.start_qk(p, sm90::shared_address(shared), k); });
      };
      const auto start_pv = [&] { return start([&](int p, unsigned v) { m.start_pv(p, v); }); };
      // Computes P from a tile's scores.
      const auto compute_p = [&](int tile, bool special) {
        m.end_qk();
        if (special || m.special()) {  // again in float32
          const int first = walk.first(tile);
          const float* const q = queries();
          const float* const k = a.k + at.batch * a.at_k.batch + at.head / a.group * a.at_k.head + first * a.at_k.row;
          m.replace_scores([&](int r, int key) {
            float sum = 0;
            if (query(r) < a.sq && first + key < walk.keys.last)
#pragma unroll 1
              for (int e = 0; e < a.d; ++e) sum = fmaf(q[query(r) * a.at_q.row + e], k[key * a.at_k.row + e], sum);
            return sum;
          });
        }
        if (!scores.as_is) m.for_scores([&](int, int, float product) { return scores.of(product); });
        if (!whole.contains(tile)) m.apply_mask(span(tile));
        m.compute_p(scores.scale_log2);
      };
      const auto add_special = [&](int tile) {
        const int first = walk.first(tile);
        const float* const v = a.v + at.batch * a.at_v.batch + at.head / a.group * a.at_v.head + first * a.at_v.row;
        const auto span_of_row = span(tile);
        const Span spans[] = {span_of_row(0), span_of_row(1)};
        m.add_special(
            ::min(c.bn, walk.keys.last - first),
            [&](int key, int column) { return column < a.dv ? v[key * a.at_v.row + column] : 0.0f; },
            [&](int r, int key) { return spans[r].contains(key); });
      };

      m.clear();
      if (walk.tiles > 0) {
        if (!K::keeps_q) sm90::sync_warpgroup(K::own + consumer);  // the last queries have been read
        const float* const q = queries();
        m.take_queries(shared, [&](int r, int column) {
          return query(r) < a.sq && column < a.d ? simt::load<2>(q + query(r) * a.at_q.row + column)
                                                 : simt::vec<float, 2>{};
        });
        if (!K::keeps_q) {
          sm90::fence_shared_for_copies();
          sm90::sync_warpgroup(K::own + consumer);
        }
      }
#pragma unroll 1
      for (int tile = 0; tile < walk.tiles; ++tile) {
        const Taken keys = start_qk();
        end(keys, [](int) {});
        compute_p(tile, keys.special);
        m.pack_p();
        const Taken values = start_pv();
        end(values, [&](int p) { m.end_pv(p); });
        if (values.special) add_special(tile);
      }
      m.finish();

      float* const o = a.o + at.batch * a.at_o.batch + at.head * a.at_o.head;
      m.for_pairs([&](int r, int column, simt::vec<float, 2> two) {
        if (query(r) < a.sq && column < a.dv) simt::store_global(o + query(r) * a.at_o.row + column, two);
      });
#pragma unroll
      for (int r = 0; r < m.rows; ++r)
        if (threadIdx.x % 4 == 0 && query(r) < a.sq)
          store_lse(a, at.batch, at.head, query(r), m.running[r].lse(scores.scale_log2));
    });
  }
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

struct WgmmaTermsRows : RowsOf<Algorithm::wgmma_terms, float> {
  template <int I> static Status launch(const Call& call) {
    constexpr Config c = variants[I].config;
    const WgmmaTileScheduler scheduler = scheduler_of(c, call.problem, call.plan.device);
    return tile::sm90::launch_clusters(
        launch_config(call, scheduler.blocks), 1,
        has_lengths(call.problem) ? attention_wgmma_terms<Policy<I>, true> : attention_wgmma_terms<Policy<I>, false>,
        arguments_of<float>(call), scheduler);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
