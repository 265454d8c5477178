// Attention on Hopper's tensor cores, which read tiles from shared memory by themselves (wgmma): f16 and bf16.
//
// A block has one warpgroup that brings K and V by TMA, and two to four that multiply, each with 64 queries of its own.
// Blocks stay, and take tiles of queries one after the other: the next one's first copies are under way while O of the last
// is divided and stored.
// A multiplier starts the product of the next keys before it adds the values of the last ones, and exponentiates while
// both run (Shah et al., "FlashAttention-3", 2024). Multipliers do not take turns in starting products, as they do there:
// measured, they fall into step by themselves, and turns cost up to 5 %.
//
// Zero times NaN would reach O from values that a query may not attend to. Where that can be, at the edges of masks,
// spare warps look through the tile first: they put 0 in the place of values that are NaN or infinite, and multipliers
// add such values one by one, to the queries that attend to them.
#pragma once
#include <ridge/attention/arguments.cuh>
#include <ridge/attention/special.cuh>
#include <ridge/tile/opaque.cuh>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/sm90/launch.cuh>
#include <ridge/tile/sm90/tensor_map.cuh>
#include <ridge/tile/sm90/tma.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>
#include <ridge/tile/sm90/wgmma.cuh>

namespace ridge::attention_kernels {

// The tensors as [batch, heads, rows, columns], in boxes of wgmma_box rows and 64 columns.
struct WgmmaMaps {
  tile::sm90::TensorMap q, k, v, o;
};

// Where a block's tiles lie in shared memory, in panels of 64 columns whose rows are a line of 128 bytes: Q; stages of K
// and V; the place that O leaves through; barriers.
template <class Row> struct WgmmaKernel {
  static constexpr Config c = Row::config;
  static constexpr int multipliers = c.bm / 64, loaders = c.schedule == Schedule::alone ? 0 : 1;
  static constexpr bool in_turns = c.schedule == Schedule::turns;
  static_assert(!in_turns || (multipliers == 2 && c.bm <= c.bn), "two take turns, with as many tiles each");
  static_assert(c.threads == (multipliers + loaders) * 128 && c.bm % 64 == 0 && c.bn % 16 == 0);
  static_assert(c.d % panel == 0 && c.dv % panel == 0);

  static constexpr int q_bytes = mma_tile_bytes(c.bm, c.d), k_bytes = mma_tile_bytes(c.bn, c.d),
                       v_bytes = mma_tile_bytes(c.bn, c.dv);
  static constexpr int k_at = mma_q_bytes(c), v_at = k_at + c.stages * k_bytes, end_v = v_at + c.stages * v_bytes;
  static constexpr int o_columns = wgmma_o_columns(c), o_at = end_v, barriers_at = o_at + wgmma_o_bytes(c);
  static_assert(c.dv % o_columns == 0 && o_columns % panel == 0);
  static_assert(barriers_at + wgmma_barrier_bytes(c) == smem_bytes(c, c.d, c.dv));
  static constexpr int q_panel = mma_tile_bytes(c.bm, panel);  // from one panel of Q, or O, to the next

  // Of the registers that a block is launched with, in steps of 8: the loader has few, and multipliers what is left.
  static constexpr int registers = 65536 / c.threads / 8 * 8 * (multipliers + 1);
  static constexpr int loader_registers = multipliers == 2 ? 40 : 32,
                       multiplier_registers = (registers - loader_registers) / multipliers / 8 * 8;
  // Named barriers: of a multiplier's threads, from this number on, of the checkers, and of each one's turn.
  static constexpr int own = 1, all_checkers = own + multipliers, turn = all_checkers + 1;
  static constexpr int checkers = 96;  // the loader's other warps
};

// Barriers and marks in shared memory. Q is each multiplier's own; K and V have stages of their own. Values that are to be
// looked through arrive at the checkers, who say that they are full.
template <int Multipliers, int Stages> struct WgmmaSync {
  tile::sm90::Barrier full_q[Multipliers], empty_q[Multipliers], full_k[Stages], full_v[Stages], empty_k[Stages],
      empty_v[Stages], arrived[Stages];
  unsigned special[Stages];  // the block's latest tile of this stage, counted from 1, that had NaN or infinite values
};

// Of stages that are gone through one after the other: where the next tile is.
template <int Stages> struct Counted {
  unsigned tiles;
  __device__ __forceinline__ unsigned stage() const { return tiles % Stages; }
  __device__ __forceinline__ unsigned parity() const { return tiles / Stages & 1; }
};

// The parities of barriers of which a thread waits for each phase, but not one in each round of the stages.
struct Parities {
  unsigned bits = 0;
  __device__ __forceinline__ void await(tile::sm90::Barrier* barriers, int stage) {
    tile::sm90::wait(barriers + stage, bits >> stage & 1);
    bits ^= 1u << stage;
  }
};

// The tiles of queries in the order in which blocks take them: heads one after the other, so that blocks share the keys
// that the L2 cache holds; but not those that share K and V, of which as many blocks would ask for the same lines at once,
// and wait: measured, 2 to 7 % with groups of four. Behind a causal mask a head's last queries take longest, and a block
// has one of the longer tiles and one of the shorter ones at a time: all such pairs take alike.
struct WgmmaOrder {
  unsigned tiles, group, kv_heads, steps_of_head, steps;  // tiles of a head; steps: pairs, or tiles
  bool pairs;
  unsigned blocks, places_on, kv_on, members_on,
      batches_on;  // what a block goes on by, so that the device divides once

  // all_heads: in all of the batch; group: heads that share K and V
  static RIDGE_HD WgmmaOrder of(unsigned tiles, unsigned all_heads, unsigned heads_of_batch, unsigned group, bool pairs,
                                unsigned most_blocks) {
    const unsigned of_head = pairs ? (tiles + 1) / 2 : tiles, steps = all_heads * of_head;
    const unsigned blocks = steps < most_blocks ? steps : most_blocks;
    if (steps == 0) return {};
    const unsigned kv_heads = heads_of_batch / group, heads_on = blocks / of_head;
    return {.tiles = tiles,
            .group = group,
            .kv_heads = kv_heads,
            .steps_of_head = of_head,
            .steps = steps,
            .pairs = pairs,
            .blocks = blocks,
            .places_on = blocks % of_head,
            .kv_on = heads_on % kv_heads,
            .members_on = heads_on / kv_heads % group,
            .batches_on = heads_on / heads_of_batch};
  }
  // f(Place) of the tiles of this block.
  template <class F> __device__ __forceinline__ void for_each(F f) const {
    unsigned place = blockIdx.x % steps_of_head, kv = blockIdx.x / steps_of_head;
    unsigned member = kv / kv_heads, batch = member / group;
    kv %= kv_heads;
    member %= group;
    bool shorter = false;  // the second of a pair
#pragma unroll 1
    for (unsigned step = blockIdx.x; step < steps;) {
      const unsigned tile = shorter ? place : tiles - 1 - place, head = kv * group + member;
      f(Place(static_cast<int>(batch), static_cast<int>(head), static_cast<int>(tile)));
      shorter = pairs && !shorter && tile != place;
      if (shorter) continue;
      step += blocks;
      place += places_on;
      kv += kv_on;
      member += members_on;
      batch += batches_on;
      if (place >= steps_of_head) place -= steps_of_head, ++kv;
      if (kv >= kv_heads) kv -= kv_heads, ++member;
      if (member >= group) member -= group, ++batch;
    }
  }
};

// A tile's sequence: its arguments, and where it lies in the tensors that maps show.
template <class T, bool Uneven> struct WgmmaSequence {
  const Arguments<T>& given;
  int batch_q, batch_k;
  Begin begin{0, 0};
  __device__ __forceinline__ WgmmaSequence(const Arguments<T>& all, int batch)
      : given(all), batch_q(batch), batch_k(batch) {}
  __device__ __forceinline__ const Arguments<T>& arguments() const { return given; }
};
template <class T> struct WgmmaSequence<T, true> {
  Arguments<T> own;
  int batch_q, batch_k;
  Begin begin;
  __device__ __forceinline__ WgmmaSequence(const Arguments<T>& all, int batch)
      : own(all),
        batch_q(all.sequences.from_q.data ? 0 : batch),
        batch_k(all.sequences.from_k.data ? 0 : batch),
        begin(take_sequence(own, batch)) {}
  __device__ __forceinline__ const Arguments<T>& arguments() const { return own; }
};

// The keys of a tile of queries: tiles of bn, the last one first. It is an edge of a causal mask and of sequences, and its
// values are looked through while its scores are computed.
template <class Row, class T> struct WgmmaWalk {
  static constexpr Config c = Row::config;
  static constexpr int bn = c.bn;
  // From one tile to another, which is not among them.
  struct Tiles {
    int from, to;
    __device__ __forceinline__ bool contains(int tile) const { return tile >= from && tile < to; }
  };

  const Arguments<T>& a;
  int first_query, last_query;
  Keys keys;
  int tiles;
  Tiles whole;  // that all queries attend to, key by key

  __device__ __forceinline__ WgmmaWalk(const Arguments<T>& args, int query)
      : a(args), first_query(query), last_query(::min(query + c.bm, args.sq) - 1) {
    keys = keys_of(a, first_query, last_query);
    tiles = ::max(0, (keys.last - keys.first + bn - 1) / bn);
    whole = whole_of(first_query, last_query);
  }
  __device__ __forceinline__ int first(int tile) const { return keys.first + (tiles - 1 - tile) * bn; }
  // The tiles that queries i to j attend to all of.
  __device__ __forceinline__ Tiles whole_of(int i, int j) const {
    const int last = ::min(keys.last, keys_of(a, i).last), begin = keys_of(a, j).first;
    return {tiles - ::max(0, last - keys.first) / bn, tiles - ::max(0, begin - keys.first + bn - 1) / bn};
  }
  // The tiles that any of a multiplier's queries attends to, from `first_row` of the tile on. Where they are as many
  // keys as a block has queries, multipliers have about the same.
  __device__ __forceinline__ Tiles own(int first_row) const {
    if constexpr (c.bm <= bn) {
      return {0, tiles};
    } else {
      const int i = first_query + first_row;
      const Keys mine = keys_of(a, i, ::min(i + 63, last_query));
      if (i > last_query || mine.last <= mine.first) return {tiles, tiles};
      return {tiles - (mine.last - keys.first + bn - 1) / bn, tiles - (mine.first - keys.first) / bn};
    }
  }
};

// Brings Rows x Columns, panel by panel, which lie `apart` bytes from each other.
template <int Rows, int Columns>
__device__ __forceinline__ void load_panels(const tile::sm90::TensorMap* map, unsigned char* to,
                                            tile::sm90::Barrier* full, int row, int head, int batch,
                                            int apart = mma_tile_bytes(Rows, panel)) {
  tile::sm90::arrive_expecting(full, mma_tile_bytes(Rows, Columns));
#pragma unroll
  for (int p = 0; p < Columns / panel; ++p) tile::sm90::load(map, to + p * apart, full, p * panel, row, head, batch);
}

// Whether a tile in shared memory has NaN or infinite values in what this one of `Threads` threads looks at.
template <int Bytes, int Threads, class T>
__device__ __forceinline__ bool finds_special(const unsigned char* tile, int thread) {
  unsigned marks = 0;
#pragma unroll 2  // few registers
  for (int at = thread * 16; at < Bytes; at += Threads * 16) {
    const auto words = simt::load<4>(reinterpret_cast<const unsigned*>(tile + at));
#pragma unroll
    for (int w = 0; w < 4; ++w) marks |= marked<T>(words[w]);
  }
  return marks != 0;
}

// 0 in the place of such values.
template <int Bytes, int Threads, class T>
__device__ __forceinline__ void clear_special(unsigned char* tile, int thread) {
#pragma unroll 1
  for (int at = thread * 16; at < Bytes; at += Threads * 16) {
    auto* piece = reinterpret_cast<unsigned*>(tile + at);
    simt::vec<unsigned, 4> words = simt::load<4>(piece);
#pragma unroll
    for (int w = 0; w < 4; ++w) words[w] = without_special<T>(words[w]);
    simt::store(piece, words);
  }
}

// A multiplier's part: 64 queries, of which a thread has two rows' scores with a tile of keys, their weights and their O.
template <class Row, class T> class WgmmaMultiplier {
  static constexpr Config c = Row::config;
  using K = WgmmaKernel<Row>;
  using Axis = tile::sm90::Axis;
  static constexpr int line = panel * 2;

 public:
  static constexpr int rows = 2;

  // first: the multiplier's first row in the block's tile
  __device__ __forceinline__ explicit WgmmaMultiplier(int first)
      : first_(first), lane_(static_cast<int>(threadIdx.x) % 32), warp_(static_cast<int>(threadIdx.x) / 32 % 4) {}

  // Before a tile of queries.
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int r = 0; r < rows; ++r) running[r] = RunningRow::nothing();
#pragma unroll
    for (int i = 0; i < c.dv / 2; ++i) o_[i] = 0;
  }

  // This thread's row r in the block's tile; the first of its pair n of keys or columns.
  __device__ __forceinline__ int row(int r) const { return first_ + warp_ * 16 + r * 8 + lane_ / 4; }
  __device__ __forceinline__ int pair(int n) const { return n * 8 + lane_ % 4 * 2; }

  // Starts s = q k^T.
  __device__ __forceinline__ void start_scores(unsigned q, unsigned k) {
    const std::uint64_t a = tile::sm90::descriptor(Axis::k, q + tile::sm90::outer_offset(first_)),
                        b = tile::sm90::descriptor(Axis::k, k);
#pragma unroll
    for (int d = 0; d < c.d; d += 16) {
      const unsigned in_line = tile::sm90::k_offset(Axis::k, d % panel);
      tile::sm90::multiply<T, Axis::k, Axis::k, c.bn>(
          s_, tile::sm90::advanced(a, mma_tile_bytes(c.bm, d / panel * panel) + in_line),
          tile::sm90::advanced(b, mma_tile_bytes(c.bn, d / panel * panel) + in_line), d > 0);
    }
    tile::sm90::commit_products();
  }
  // Starts o += p v.
  __device__ __forceinline__ void start_values(unsigned v) {
    const std::uint64_t b = tile::sm90::descriptor(Axis::outer, v, c.bn);
#pragma unroll
    for (int n = 0; n < c.bn; n += 16)
      tile::sm90::multiply_kept<T, Axis::outer, c.dv>(
          o_, p_[n / 16], tile::sm90::advanced(b, tile::sm90::k_offset(Axis::outer, n)), true);
    tile::sm90::commit_products();
  }

  // f(r, key, score) of every score, which becomes what it returns.
  template <class F> __device__ __forceinline__ void for_scores(F f) {
#pragma unroll
    for (int n = 0; n < c.bn / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) s_[4 * n + i] = f(i / 2, pair(n) + i % 2, s_[4 * n + i]);
  }
  // Leaves of each row the keys of span(r).
  template <class F> __device__ __forceinline__ void keep_spans(F span) {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const Span of = span(r);
      // Counted from this thread's first key. Most spans begin with the tile: those comparisons are left out.
      const int end = of.count == 0 ? 0 : of.first + static_cast<int>(of.count);
      drop_keys(r, [last = end - pair(0)](int key) { return key >= last; });
      if (of.first > 0) drop_keys(r, [first = of.first - pair(0)](int key) { return key < first; });
    }
  }

  // Scores become weights, those of -inf 0. What O so far is to be multiplied with, where a maximum has risen, is kept
  // for rescale().
  __device__ __forceinline__ void weigh(float factor) {
    const simt::tiles<4> quad;  // lanes that share a row
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      float part[4];  // one maximum would wait for itself
#pragma unroll
      for (int n = 0; n < c.bn / 8; ++n) {
        const float pair = fmaxf(s_[4 * n + 2 * r], s_[4 * n + 2 * r + 1]);
        part[n % 4] = n < 4 ? pair : fmaxf(part[n % 4], pair);
      }
      float top = fmaxf(fmaxf(running[r].top, fmaxf(part[0], part[1])), fmaxf(part[2], part[3]));
      top = quad.reduce(top, [](float x, float y) { return fmaxf(x, y); });
      change_[r] = running[r].raise(top, factor);
    }
    for_scores([&](int r, int, float score) {
      const float weight = running[r].weight(score, factor);
      running[r].sum += weight;
      return weight;
    });
  }
  __device__ __forceinline__ void rescale() {
    if (is_step(c) || simt::tile<32>().any(!(change_[0] == 1) || !(change_[1] == 1))) {
#pragma unroll
      for (int i = 0; i < c.dv / 2; ++i) o_[i] *= change_[i / 2 % 2];
    }
    settle();
  }
  // After a branch that changes O. Or the compiler puts that off until the next products are under way, and has to stop
  // them.
  __device__ __forceinline__ void settle() {
#pragma unroll
    for (int i = 0; i < c.dv / 2; ++i) tile::make_opaque(o_[i]);
  }
  // Weights become the next product's operand, as soon as the last one has read it.
  __device__ __forceinline__ void keep_weights() {
#pragma unroll
    for (int n = 0; n < c.bn / 16; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) p_[n][i] = tile::pack_pair<T>(s_[8 * n + 2 * i], s_[8 * n + 2 * i + 1]);
  }

  // value(key, column): of V, 0 where there is none. Adds those of `keys` keys that are NaN or infinite.
  template <class Value, class SpanOf> __device__ __forceinline__ void add_special(int keys, Value value, SpanOf span) {
    const Span of[rows] = {span(0), span(1)};
    for (int key = 0; key < keys; ++key)
#pragma unroll
      for (int i = 0; i < c.dv / 2; ++i) {
        const float v = value(key, pair(i / 4) + i % 2);
        if (!(fabsf(v) < -minus_infinity) && of[i / 2 % 2].contains(key)) o_[i] += v;
      }
  }

  // After the last tile: sums of whole rows, and O divided by them.
  __device__ __forceinline__ void finish() {
    const simt::tiles<4> quad;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      running[r].sum = quad.reduce(running[r].sum, [](float x, float y) { return x + y; });
      change_[r] = running[r].inverse();
    }
#pragma unroll
    for (int i = 0; i < c.dv / 2; ++i) o_[i] *= change_[i / 2 % 2];
  }

  // O's columns from `first` on, as many as have a place, as T to panels in shared memory from `to` on.
  __device__ __forceinline__ void put(unsigned to, int first) const {
    unsigned lane = static_cast<unsigned>(lane_);
    tile::make_opaque(lane);  // or the places of all elements wait in registers for the next tile of queries
    // This lane's row of four matrices, 16 rows and 16 columns, and its piece of them.
    const unsigned row = static_cast<unsigned>(first_ + warp_ * 16) + lane % 16, piece = lane / 16;
#pragma unroll
    for (int n = 0; n < K::o_columns; n += 16) {
      const auto pair = [&](int i) {
        return tile::pack_pair<T>(o_[(first + n) / 2 + 2 * i], o_[(first + n) / 2 + 2 * i + 1]);
      };
      tile::sm90::store_matrices(
          to + mma_tile_bytes(c.bm, n / panel * panel) + tile::sm90::swizzled(row, (n % panel / 8 + piece) * 16),
          pair(0), pair(1), pair(2), pair(3));
    }
  }

  RunningRow running[rows];

 protected:
  // Of row r, -inf in the place of scores of keys that f(key) names.
  template <class F> __device__ __forceinline__ void drop_keys(int r, F f) {
#pragma unroll
    for (int n = 0; n < c.bn / 8; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (f(n * 8 + i)) s_[4 * n + 2 * r + i] = minus_infinity;
  }

  int first_, lane_, warp_;
  float change_[rows];
  float s_[c.bn / 2], o_[c.dv / 2];  // sums of wgmma: [64][bn] and [64][dv] of the warpgroup
  unsigned p_[c.bn / 16][4];         // weights [64][bn], by 16 keys
};

// o = softmax(scores(q k^T)) v                                                  shapes: see Arguments
// Preconditions: cc 90; maps in boxes of 64 (q, o) and bn (k, v) rows; rows of o are whole units of 16 bytes; no mask
// tensor, one split, pack 1; d and dv are at most the Config's; the grid has a block at least, and none without a tile;
// without Uneven, all sequences are of one length; no pages.
template <class Row, class T, bool Uneven = false>
__global__ void __launch_bounds__(Row::config.threads, 1)
    attention_wgmma(const __grid_constant__ WgmmaMaps maps, const __grid_constant__ Arguments<T> given,
                    const __grid_constant__ WgmmaOrder order) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    constexpr Config c = Row::config;
    using K = WgmmaKernel<Row>;
    using Walk = WgmmaWalk<Row, T>;
    unsigned char* shared = sm90::swizzled_shared();
    auto& sync = *reinterpret_cast<WgmmaSync<K::multipliers, c.stages>*>(shared + K::barriers_at);
    const auto stage_k = [=](unsigned stage) { return shared + K::k_at + stage * K::k_bytes; };
    const auto stage_v = [=](unsigned stage) { return shared + K::v_at + stage * K::v_bytes; };
    const int group = sm90::warpgroup_index();

    if (threadIdx.x == 0) {
      for (int m = 0; m < K::multipliers; ++m) {
        sm90::init(sync.full_q + m, 1);
        sm90::init(sync.empty_q + m, 1);
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
    }
    __syncthreads();

    if (group == 0) {
      sm90::keep_registers<K::loader_registers>();
      if (threadIdx.x == 0) {
        // K of a tile, then V of the one before, which is needed later.
        sm90::RingPlace<c.stages> k, v;
        sm90::RingPlace<1> q;
        order.for_each([&](const Place& at) {
          const WgmmaSequence<T, Uneven> sequence(given, at.batch);
          const Arguments<T>& a = sequence.arguments();
          if (Uneven && at.tile * c.bm >= a.sq) return;
          const Walk walk(a, at.tile * c.bm);
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
          const Walk walk(a, at.tile * c.bm);
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
      const Walk walk(a, at.tile * c.bm);
      const auto own = walk.own(first_row),
                 whole = walk.whole_of(walk.first_query + first_row, walk.first_query + first_row + 63);
      const auto span = [&](int tile) {
        return [&, first = walk.first(tile)](int r) {
          return span_of(a, walk.first_query + m.row(r), first, ::min(first + c.bn, walk.keys.last));
        };
      };
      // What becomes of the scores of a tile.
      const auto weigh = [&](int tile) {
        if (!scores.as_is) m.for_scores([&](int, int, float product) { return scores.of(product); });
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
            m.add_special(
                ::min(c.bn, walk.keys.last - first),
                [&](int key, int column) {
                  return column < a.dv ? float(values[key * a.at_v.row + column * a.at_v.element]) : 0.0f;
                },
                span(tile));
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
            for (int p = 0; p < K::o_columns / panel; ++p)
              sm90::store(&maps.o, out + p * K::q_panel + sm90::outer_offset(first_row), first + p * panel,
                          sequence.begin.query + first_query, at.head, sequence.batch_q);
          sm90::commit_stores();
        }
      }
      if (speaks && own.from == own.to) sm90::arrive(sync.empty_q + multiplier);
#pragma unroll
      for (int r = 0; r < m.rows; ++r) {
        const int query = walk.first_query + m.row(r);
        if (threadIdx.x % 4 == 0 && query < a.sq) put_lse(a, at.batch, at.head, query, m.running[r].log_sum());
      }
    });
    if (multiplier == 0) await_turn();  // nobody leaves the other's behind
    if (speaks) sm90::wait_stores_read<0>();
  }
}

}  // namespace ridge::attention_kernels
