// Attention in float32 on Hopper's tensor cores, which multiply bf16: a float is the sum of three numbers of bf16, and
// of their nine products the six largest are taken.
//
// Terms are cut off and not rounded, 8 bits after 8 bits: the three are the float itself, and those of one sign. What
// the dropped products come to is some 2^-23 of a product, and the range is that of float32: bf16 has as many
// exponents. (Of numbers below 2^-110 the last terms are lost.) The tensor cores' sums are cut off at each step, so
// each tile's weighted values are summed by themselves, the small products first, and added to O in float32.
//
// A block has one warpgroup that reads K and V and takes them apart, and others that multiply, each with 64 queries of
// its own. Tiles of K and of V take turns in one ring.
//
// Three terms cannot hold NaN and infinity. Where K or V have such elements the loader puts 0 in their place and marks
// the tile: scores are then computed anew in float32, and values added one by one to the queries that attend to them.
#pragma once
#include <ridge/attention/sm90_launch.cuh>
#include <ridge/attention/sm90_multiplier.cuh>
#include <ridge/attention/sm90_order.cuh>
#include <ridge/attention/sm90_terms.hpp>

namespace ridge::attention_kernels {

// The terms of x and of y, in the halves of a word.
struct TermsOfPair {
  unsigned word[terms];
};
__device__ __forceinline__ TermsOfPair terms_of(float x, float y) {
  constexpr unsigned upper = 0xffff0000;  // a bf16 is the upper half of a float
  TermsOfPair of;
#pragma unroll
  for (int t = 0; t < terms; ++t) {
    const unsigned bits_x = __float_as_uint(x), bits_y = __float_as_uint(y);
    of.word[t] = bits_x >> 16 | (bits_y & upper);
    x -= __uint_as_float(bits_x & upper);
    y -= __uint_as_float(bits_y & upper);
  }
  return of;
}

// f(i, j) for the terms i and j of two factors whose products are taken, the small ones first.
template <class F> __device__ __forceinline__ void for_products(F f) {
#pragma unroll
  for (int both = terms - 1; both >= 0; --both)
#pragma unroll
    for (int i = 0; i <= both; ++i) f(i, both - i);
}

// 0 where all numbers that were looked at are finite, else NaN.
struct Probe {
  float value = 0;
  __device__ __forceinline__ void look_at(float x) { value = fmaf(x, 0.0f, value); }
  __device__ __forceinline__ bool special() const { return !(value == 0); }
};
__device__ __forceinline__ bool is_finite(float x) { return fabsf(x) < -minus_infinity; }

template <class Row> struct TermsKernel {
  static constexpr Config c = Row::config;
  static constexpr int multipliers = c.bm / 64, slots = c.stages;
  static constexpr bool keeps_q = terms_keep_q(c);
  static_assert(c.algorithm == Algorithm::wgmma_terms && c.threads == (multipliers + 1) * 128 && c.bm % 64 == 0);
  static_assert(c.d % panel == 0 && c.dv % panel == 0 && c.bn % 16 == 0);

  static constexpr int k_panels = c.d / panel, v_panels = c.dv / panel;
  static constexpr int term_bytes = mma_tile_bytes(c.bn, panel);  // from one term of K or V to the next
  static constexpr int q_term_bytes = mma_tile_bytes(c.bm, c.d);
  static constexpr int ring_at = terms_q_bytes(c), barriers_at = ring_at + slots * terms_slot_bytes(c);

  // Of 65,536 registers, in steps of 8; see WgmmaKernel.
  static constexpr int loader_registers = 88, multiplier_registers = 208;
  static_assert(128 * (loader_registers + multipliers * multiplier_registers) <= 65536 / c.threads / 8 * 8 * c.threads);
  // Named barriers: of a multiplier's threads, from this number on, and of the loader's.
  static constexpr int own = 1, loader = own + multipliers;
};

template <int Slots> struct TermsSync {
  tile::sm90::Barrier full[Slots], empty[Slots];
  unsigned special[Slots];  // the block's latest panel of this place, counted from 1, with NaN or infinite elements
};

// What a thread of the loader reads of a panel [bn][64] of K or V: 8 neighbours of every 16th row.
struct TermsSource {
  const float* from;  // the thread's first
  std::int64_t step;  // of rows
  int rows, columns;  // there are, from it on; a multiple of 4 columns
};

// The loader's part. As soon as a piece of a panel has been taken apart, that of the next panel is asked for: it has
// the time of a panel to come.
template <class Row> class TermsLoader {
  static constexpr Config c = Row::config;
  using K = TermsKernel<Row>;
  static constexpr int unit = 8, units = panel / unit, rows = 128 / units;
  static_assert(c.bn % rows == 0 && rows % 8 == 0, "rows of every piece are swizzled alike");

 public:
  static constexpr int pieces = c.bn / rows;

  __device__ __forceinline__ TermsLoader()
      : row_(static_cast<int>(threadIdx.x) / units), column_(static_cast<int>(threadIdx.x) % units * unit) {}

  // Of a panel from `column` on, whose first row is `from`; rows, width: of the tensor, from there on.
  __device__ __forceinline__ TermsSource source(const float* from, std::int64_t step, int tensor_rows, int width,
                                                int column) const {
    column += column_;
    return {from + row_ * step + column, step, tensor_rows - row_, width - column};
  }
  // What there is not is 0.
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
  // Takes a piece apart, to the terms' panels from `to` on, with 0 in the place of special elements; whether there were
  // any.
  __device__ __forceinline__ bool put(int piece, unsigned char* to) {
    float(&x)[unit] = x_[piece];
    Probe probe;
#pragma unroll
    for (int e = 0; e < unit; ++e) probe.look_at(x[e]);
    if (probe.special()) {
#pragma unroll
      for (int e = 0; e < unit; ++e) x[e] = is_finite(x[e]) ? x[e] : 0.0f;
    }
    simt::vec<unsigned, 4> words[terms];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const TermsOfPair of = terms_of(x[2 * w], x[2 * w + 1]);
#pragma unroll
      for (int t = 0; t < terms; ++t) words[t][w] = of.word[t];
    }
    to += tile::sm90::swizzled(static_cast<unsigned>(row_), static_cast<unsigned>(column_) * 2);
#pragma unroll
    for (int t = 0; t < terms; ++t)
      simt::store(reinterpret_cast<unsigned*>(to + t * K::term_bytes + piece * rows * tile::sm90::line_bytes),
                  words[t]);
    return probe.special();
  }

 private:
  int row_, column_;
  float x_[pieces][unit];
};

// A multiplier's part: what WgmmaMultiplier has, with terms of Q, where it is narrow, and of the weights.
template <class Row> class TermsMultiplier : public WgmmaMultiplier<Row, bfloat16> {
  static constexpr Config c = Row::config;
  using K = TermsKernel<Row>;
  using Base = WgmmaMultiplier<Row, bfloat16>;
  using Axis = tile::sm90::Axis;
  using Base::change_, Base::first_, Base::lane_, Base::o_, Base::s_;

 public:
  using Base::Base, Base::pair, Base::row, Base::rows;

  // query(r, column): of this thread's row r, the two elements from `column` on. shared: Q's place, where it is wide.
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
          probe.look_at(x[e]);
          x[e] = is_finite(x[e]) ? x[e] : 0.0f;
        }
        const TermsOfPair of = terms_of(x[0], x[1]);
#pragma unroll
        for (int t = 0; t < terms; ++t) {
          if constexpr (K::keeps_q) {
            q_[t][step][i] = of.word[t];
          } else {
            const unsigned at = tile::sm90::swizzled(static_cast<unsigned>(row(r)), column % panel * 2);
            *reinterpret_cast<unsigned*>(shared + t * K::q_term_bytes + mma_tile_bytes(c.bm, column / panel * panel) +
                                         at) = of.word[t];
          }
        }
      }
    special_ = simt::tiles<4>().any(probe.special());
  }
  __device__ __forceinline__ bool special() const { return special_; }  // one of its queries

  // Starts s = q k^T, of a panel of both. Of two panels, each has sums of its own, for which there is room before the
  // weighted values: else the second one's small products would meet sums that are large already.
  __device__ __forceinline__ void start_scores(int of_panel, [[maybe_unused]] unsigned q, unsigned k) {
    using namespace tile::sm90;
    const std::uint64_t b = descriptor(Axis::k, k);
    for_products([&](int i, int j) {
#pragma unroll
      for (int d = 0; d < panel; d += 16) {
        const bool accumulate = i + j < terms - 1 || i > 0 || d > 0;
        const unsigned in_line = k_offset(Axis::k, d);
        const std::uint64_t of_k = advanced(b, j * K::term_bytes + in_line);
        if constexpr (K::keeps_q) {
          multiply_kept<bfloat16, Axis::k, c.bn>(s_, q_[i][d / 16], of_k, accumulate);
        } else {
          const std::uint64_t a = descriptor(Axis::k, q + outer_offset(first_));
          multiply<bfloat16, Axis::k, Axis::k, c.bn>(
              part_[of_panel], advanced(a, i * K::q_term_bytes + mma_tile_bytes(c.bm, of_panel * panel) + in_line),
              of_k, accumulate);
        }
      }
    });
    commit_products();
  }
  // After the last panel.
  __device__ __forceinline__ void end_scores() {
    if constexpr (!K::keeps_q) {
      static_assert(K::k_panels == 2 && K::v_panels == 2 && c.bn == panel, "panels' sums lie alike");
#pragma unroll
      for (int i = 0; i < c.bn / 2; ++i) s_[i] = part_[0][i] + part_[1][i];
    }
  }
  // Scores become score(r, key). For rare cases: little code, and no more registers.
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
  // Starts the sum of the tile's weighted values, of a panel of V.
  __device__ __forceinline__ void start_values(int of_panel, unsigned v) {
    using namespace tile::sm90;
    const std::uint64_t b = descriptor(Axis::outer, v, c.bn);
    for_products([&](int i, int j) {
#pragma unroll
      for (int n = 0; n < c.bn; n += 16)
        multiply_kept<bfloat16, Axis::outer, panel>(part_[of_panel], p_[i][n / 16],
                                                    advanced(b, j * K::term_bytes + k_offset(Axis::outer, n)),
                                                    i + j < terms - 1 || i > 0 || n > 0);
    });
    commit_products();
  }
  // And adds it to O.
  __device__ __forceinline__ void end_values(int of_panel) {
#pragma unroll
    for (int i = 0; i < panel / 2; ++i) {
      float& o = o_[of_panel * (panel / 2) + i];
      o = fmaf(o, change_[i / 2 % 2], part_[of_panel][i]);
    }
  }
  // Weights become the next product's operand.
  __device__ __forceinline__ void keep_weights() {
#pragma unroll
    for (int n = 0; n < c.bn / 16; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const TermsOfPair of = terms_of(s_[8 * n + 2 * i], s_[8 * n + 2 * i + 1]);
#pragma unroll
        for (int t = 0; t < terms; ++t) p_[t][n][i] = of.word[t];
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
  unsigned q_[terms][K::keeps_q ? c.d / 16 : 1][4];  // [64][d], by 16 columns
  unsigned p_[terms][c.bn / 16][4];                  // weights [64][bn], by 16 keys
  float part_[K::v_panels][panel / 2];               // [64][dv]: of a tile of keys
  bool special_;
};

// o = softmax(scores(q k^T)) v                                                  shapes: see Arguments
// Preconditions: cc 90; rows of q, k, v and o are contiguous and start on 16 bytes, d and dv are multiples of 4 and at
// most the Config's; no mask tensor, one split, pack 1, no pages; the grid has a block at least; without Uneven, all
// sequences are of one length.
template <class Row, bool Uneven>
__global__ void __launch_bounds__(Row::config.threads, 1)
    attention_wgmma_terms(const __grid_constant__ Arguments<float> given, const __grid_constant__ WgmmaOrder order) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    constexpr Config c = Row::config;
    using K = TermsKernel<Row>;
    using Walk = WgmmaWalk<Row, float>;
    using Sequence = WgmmaSequence<float, Uneven>;
    unsigned char* const shared = sm90::swizzled_shared();
    auto& sync = *reinterpret_cast<TermsSync<K::slots>*>(shared + K::barriers_at);
    static_assert(K::barriers_at + static_cast<int>(sizeof sync) == terms_bytes(c));
    const auto slot = [=](unsigned number) { return shared + K::ring_at + number * terms_slot_bytes(c); };
    const int group = sm90::warpgroup_index();

    if (threadIdx.x == 0) {
      for (int s = 0; s < K::slots; ++s) {
        sm90::init(sync.full + s, 1);
        sm90::init(sync.empty + s, K::multipliers);
        sync.special[s] = 0;
      }
      sm90::fence_init();
    }
    __syncthreads();

    if (group == 0) {
      sm90::keep_registers<K::loader_registers>();
      sm90::RingPlace<K::slots> ring;
      unsigned put = 0;  // panels
      TermsLoader<Row> loader;
      order.for_each([&](const Place& at) {
        const Sequence sequence(given, at.batch);
        const Arguments<float>& a = sequence.arguments();
        if (Uneven && at.tile * c.bm >= a.sq) return;
        const Walk walk(a, at.tile * c.bm);
        const int kv_head = at.head / a.group;
        // Panel number n: those of a tile of K, then those of V.
        constexpr int panels_each = K::k_panels;
        static_assert(K::k_panels == K::v_panels);
        const int all = 2 * walk.tiles * panels_each;
        const auto source = [&](int n) {
          const int turn = n / panels_each, column = n % panels_each * panel, first = walk.first(turn / 2);
          const bool keys = turn % 2 == 0;
          const Strides& lie = keys ? a.at_k : a.at_v;
          return loader.source((keys ? a.k : a.v) + at.batch * lie.batch + kv_head * lie.head + first * lie.row,
                               lie.row, n < all ? walk.keys.last - first : 0, keys ? a.d : a.dv, column);
        };
        const TermsSource first = source(0);
#pragma unroll
        for (int piece = 0; piece < loader.pieces; ++piece) loader.fetch(piece, first);
#pragma unroll 1
        for (int n = 0; n < all; ++n) {
          const TermsSource next = source(n + 1);
          sm90::wait(sync.empty + ring.stage, ring.parity ^ 1);
          bool special = false;
#pragma unroll
          for (int piece = 0; piece < loader.pieces; ++piece) {
            special |= loader.put(piece, slot(ring.stage));
            loader.fetch(piece, next);
          }
          ++put;
          if (special) atomicMax(sync.special + ring.stage, put);
          sm90::fence_shared_for_copies();  // and before products
          sm90::sync_warpgroup(K::loader);
          if (threadIdx.x == 0) sm90::arrive(sync.full + ring.stage);
          ring.next();
        }
      });
      return;
    }

    sm90::take_registers<K::multiplier_registers>();
    const int multiplier = group - 1, first_row = multiplier * 64;
    const bool speaks = threadIdx.x % 128 == 0;
    TermsMultiplier<Row> m(first_row);
    const Scores<float> scores(given);
    sm90::RingPlace<K::slots> ring;
    unsigned seen = 0;  // panels
    order.for_each([&](const Place& at) {
      const Sequence sequence(given, at.batch);
      const Arguments<float>& a = sequence.arguments();
      if (Uneven && at.tile * c.bm >= a.sq) return;
      const Walk walk(a, at.tile * c.bm);
      const auto whole = walk.whole_of(walk.first_query + first_row, walk.first_query + first_row + 63);
      const auto queries = [&] { return a.q + at.batch * a.at_q.batch + at.head * a.at_q.head; };
      const auto query = [&](int r) { return walk.first_query + m.row(r); };
      const auto span = [&](int tile) {
        return [&, first = walk.first(tile)](int r) {
          return span_of(a, query(r), first, ::min(first + c.bn, walk.keys.last));
        };
      };
      // The ring's next panels, all of a tile, as they come: f(panel, its place) starts a product.
      struct Taken {
        int first;
        bool special;  // elements
      };
      const auto start = [&](auto f) {
        Taken taken{ring.stage, false};
#pragma unroll
        for (int p = 0; p < K::k_panels; ++p) {
          sm90::wait(sync.full + ring.stage, ring.parity);
          // Read before the product, which takes all four warps: when it is done and the place given back,
          // all have read.
          taken.special |= sync.special[ring.stage] == ++seen;
          sm90::fence_sums();
          f(p, sm90::shared_address(slot(ring.stage)));
          ring.next();
        }
        return taken;
      };
      const auto give_back = [&](const Taken& taken, int p) {
        const int number = taken.first + p;
        if (speaks) sm90::arrive(sync.empty + (number < K::slots ? number : number - K::slots));
      };
      // Waits for each panel's product, which nothing was started after, and f(panel).
      const auto end = [&](const Taken& taken, auto f) {
        if constexpr (K::k_panels == 2) {
          sm90::wait_products<1>();
          give_back(taken, 0);
          f(0);
        }
        sm90::wait_products<0>();
        give_back(taken, K::k_panels - 1);
        f(K::k_panels - 1);
      };
      const auto start_scores = [&] {
        return start([&](int p, unsigned k) { m.start_scores(p, sm90::shared_address(shared), k); });
      };
      const auto start_values = [&] { return start([&](int p, unsigned v) { m.start_values(p, v); }); };
      // Scores of a tile become weights.
      const auto weigh = [&](int tile, bool special) {
        m.end_scores();
        if (special || m.special()) {  // in float32 itself
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
        if (!whole.contains(tile)) m.keep_spans(span(tile));
        m.weigh(scores.factor);
      };
      const auto add_special = [&](int tile) {
        const int first = walk.first(tile);
        const float* const v = a.v + at.batch * a.at_v.batch + at.head / a.group * a.at_v.head + first * a.at_v.row;
        const auto of = span(tile);
        const Span spans[] = {of(0), of(1)};
        m.add_special(
            ::min(c.bn, walk.keys.last - first),
            [&](int key, int column) { return column < a.dv ? v[key * a.at_v.row + column] : 0.0f; },
            [&](int r, int key) { return spans[r].contains(key); });
      };

      m.clear();
      if (walk.tiles > 0) {
        if (!K::keeps_q) sm90::sync_warpgroup(K::own + multiplier);  // the last queries have been read
        const float* const q = queries();
        m.take_queries(shared, [&](int r, int column) {
          return query(r) < a.sq && column < a.d ? simt::load<2>(q + query(r) * a.at_q.row + column)
                                                 : simt::vec<float, 2>{};
        });
        if (!K::keeps_q) {
          sm90::fence_shared_for_copies();
          sm90::sync_warpgroup(K::own + multiplier);
        }
      }
#pragma unroll 1
      for (int tile = 0; tile < walk.tiles; ++tile) {
        const Taken keys = start_scores();
        end(keys, [](int) {});
        weigh(tile, keys.special);
        m.keep_weights();
        const Taken values = start_values();
        end(values, [&](int p) { m.end_values(p); });
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
          put_lse(a, at.batch, at.head, query(r), m.running[r].log_sum(scores.factor));
    });
  }
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

struct WgmmaTermsRows : RowsOf<Algorithm::wgmma_terms, float> {
  template <int I> static Status launch(const Call& call) {
    constexpr Config c = variants[I].config;
    const WgmmaOrder order = order_of(c, call.problem, call.plan.device);
    return tile::sm90::launch_clusters(
        launch_config(call, order.blocks), 1,
        has_lengths(call.problem) ? attention_wgmma_terms<Row<I>, true> : attention_wgmma_terms<Row<I>, false>,
        arguments_of<float>(call), order);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
