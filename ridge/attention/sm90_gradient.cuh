// Gradients of attention on Hopper's tensor cores: f16 and bf16. What is computed is in gradient.cuh.
//
// A block owns a tile of keys, of which each of its two multiplying warpgroups has 64, and walks over the queries that
// attend to them, from the first tile to the last, of every head that shares the keys. Scores and dP are taken with
// keys as rows: then weights and dX lie in registers as the left operands of dV and dK do, whose sums stay in registers
// too. dQ needs the other direction: dX goes to shared memory, where tensor cores read it turned, and a tile of dQ
// leaves in float32 by copies that add. (Dao, "FlashAttention-2", 2023; Shah et al., "FlashAttention-3", 2024.)
//
// Each tile of dQ is added to by blocks in the order of their keys, from the last ones on, unless they need not keep
// one. A block takes its number when it begins and waits for smaller ones alone, so whoever is waited for runs. Behind
// a causal mask, where all blocks begin at different queries, each finds that the one before it has been there already.
// Without a mask blocks follow each other at the distance of an addition, and those of several heads take turns in
// beginning, so that fewer of a head run at a time.
//
// Zero times NaN would reach sums from rows that a pair may not meet in. Where that can be, at the edges of masks, spare
// warps look through the tiles, and what they find is left out of the products that sum over it.
#pragma once
#include <ridge/attention/gradient.cuh>
#include <ridge/attention/sm90_wgmma.cuh>
#include <ridge/tile/sm90/bulk_copy.cuh>
#include <ridge/tile/sm90/turn.cuh>

namespace ridge::attention_kernels {

// The tensors as [batch, heads, rows, columns], in boxes of bm (k, v), bn (q, grad_o) and 64 (grad_k, grad_v) rows and 64
// columns.
struct WgmmaGradientMaps {
  tile::sm90::TensorMap q, k, v, grad_o, grad_k, grad_v;
};

// The workspace.
struct GradientWork {
  float* sums;        // dQ, [batch, heads, tiles][bn * d], in each tile as dq_unit() says
  QueryFacts* facts;  // [batch, heads, tiles * bn]
  unsigned* turns;    // of each tile of sums, [batch, heads, tiles][gradient_turns_of_tile]
  unsigned* next;     // the number of the next block to begin
  int tiles;          // of bn queries
  unsigned together;  // heads of keys whose blocks take turns in beginning, 1 or more
  bool in_order;      // blocks add to a tile of sums in the order of their keys
};

// The unit of 4 floats of a tile of dQ, of which a thread has the sums 4 j to 4 j + 3 of 64 x 64 (wgmma.cuh): which of these
// it is comes first, among the tile's queries or its columns.
constexpr int dq_unit(int part, int j, int thread) { return (part * 8 + j) * 128 + thread; }
constexpr bool sums_by_queries(const Config& c) { return c.bn == 128; }

// Where tiles lie in shared memory: K, V; stages of Q, of dO, of dX [bm][bn] turned, of facts; dQ; barriers. Those of 16-bit
// types are in panels of 64 columns.
template <class Row> struct WgmmaGradientKernel {
  static constexpr Config c = Row::config;
  static constexpr int multipliers = 2, loader_registers = 24, multiplier_registers = 240;  // of 65,536: 504 * 128
  static_assert(c.bm == multipliers * 64 && c.threads == (multipliers + 1) * 128 && c.stages == 2);
  static_assert(c.d % panel == 0 && c.dv % panel == 0);

  // A multiplier has 64 x 64 of a tile of dQ: its queries, or its columns.
  static constexpr bool by_queries = sums_by_queries(c);
  static constexpr int sums = 64 * 64;
  static_assert(by_queries ? c.d == 64 : c.bn == 64 && c.d == multipliers * 64);

  static constexpr int sums_bytes = c.bn * c.d * 4;
  static constexpr int q_bytes = mma_tile_bytes(c.bn, c.d), o_bytes = mma_tile_bytes(c.bn, c.dv),
                       x_bytes = mma_tile_bytes(c.bm, c.bn), facts_bytes = c.bn * static_cast<int>(sizeof(QueryFacts));
  static constexpr int v_at = mma_tile_bytes(c.bm, c.d), q_at = v_at + mma_tile_bytes(c.bm, c.dv),
                       o_at = q_at + c.stages * q_bytes, x_at = o_at + c.stages * o_bytes,
                       sums_at = x_at + c.stages * x_bytes, facts_at = sums_at + gradient_sums_stages * sums_bytes,
                       barriers_at = facts_at + c.stages * facts_bytes;
  static_assert(barriers_at + wgmma_gradient_barrier_bytes(c) == wgmma_gradient_bytes(c));

  // Named barriers: of both multipliers, of each alone; dQ of each, in a place of shared memory, is complete, and is
  // read.
  static constexpr int both = 1, own = 2, full = own + multipliers, read = full + gradient_sums_stages * multipliers;
  static_assert(read + gradient_sums_stages * multipliers <= 16, "the barriers that there are");
  static constexpr int with_adder = 128 + 32;  // threads at the last two
  static constexpr int checkers = 64;          // the loader's other warps
};

template <int Stages> struct WgmmaGradientSync {
  tile::sm90::Barrier full_kv, full_q[Stages], full_o[Stages], empty_q[Stages], empty_o[Stages], arrived[Stages],
      checked[Stages];  // the last two: of steps whose tiles are looked through
  unsigned number;      // the block's
  int special[Stages];  // the latest step of this stage, counted from 1, whose Q or dO had NaN or infinite values
  int special_k;        // whether K has
};

// The steps of a block: tiles of queries, from the first one of the first head on.
template <class Row, class T> struct GradientWalk {
  static constexpr int bm = Row::config.bm, bn = Row::config.bn;
  const GradientArguments<T>& a;
  int batch, key_head, first_key, first_tile, tiles, steps;
  int tile, head;  // of queries, now

  // number: of the block, from batch * key heads * tiles of keys
  __device__ __forceinline__ GradientWalk(const GradientArguments<T>& args, const GradientWork& work, unsigned number)
      : a(args) {
    const unsigned all = static_cast<unsigned>((a.sk + bm - 1) / bm), heads = static_cast<unsigned>(a.key_heads);
    // Of `together` heads, or what is left, the blocks of one tile of keys after those of another.
    const unsigned first_head = number / (all * work.together) * work.together, in_heads = number - first_head * all;
    const unsigned among = ::min(work.together, static_cast<unsigned>(a.batch) * heads - first_head);
    const unsigned place = in_heads / among, of_all = first_head + in_heads % among;
    // Without an order, those that take longest behind a causal mask come first.
    first_key = static_cast<int>(work.in_order ? all - 1 - place : place) * bm;
    key_head = static_cast<int>(of_all % heads);
    batch = static_cast<int>(of_all / heads);
    const Keys queries = Meeting<Side::keys>::range(a, first_key, ::min(first_key + bm, a.sk) - 1);
    const bool any = queries.first < queries.last;
    first_tile = any ? queries.first / bn : 0;
    tiles = any ? (queries.last + bn - 1) / bn - first_tile : 0;
    steps = tiles * a.group;
    head = key_head * a.group;
    tile = first_tile;
  }
  // The same for a whole warp, in a form that the compiler knows: it need not keep a copy for each thread.
  __device__ __forceinline__ void share() {
    for (int* number : {&batch, &key_head, &first_key, &first_tile, &tiles, &steps, &tile, &head})
      *number = __shfl_sync(~0u, *number, 0);
  }
  __device__ __forceinline__ void next() {
    if (++tile < first_tile + tiles) return;
    tile = first_tile;
    ++head;
  }
  __device__ __forceinline__ int first_query() const { return tile * bn; }
  __device__ __forceinline__ int last_query() const { return ::min(first_query() + bn, a.sq) - 1; }
  // Whether all of a tile's queries exist and attend to all of `keys` keys from `first` on, which exist.
  __device__ __forceinline__ bool whole(int first, int keys) const {
    return first_query() + bn <= a.sq && all_attend(a, first_query(), last_query(), first, first + keys);
  }
  // Whether queries and keys that exist may not meet.
  __device__ __forceinline__ bool at_edge() const {
    return !all_attend(a, first_query(), last_query(), first_key, ::min(first_key + bm, a.sk));
  }
  // Queries of this tile, counted from its first, that attend to a key.
  __device__ __forceinline__ Span span(int key) const {
    const Keys queries = Meeting<Side::keys>::range(a, key, key);
    const int from = ::max(queries.first, first_query()), to = ::min(queries.last, first_query() + bn);
    return {from - first_query(), key < a.sk ? static_cast<unsigned>(::max(0, to - from)) : 0};
  }
  // The place of this tile among those of sums, and how many blocks add to it before this one.
  __device__ __forceinline__ std::int64_t place(const GradientWork& work) const {
    return (std::int64_t{batch} * a.heads + head) * work.tiles + tile;
  }
  __device__ __forceinline__ unsigned turn() const {
    return static_cast<unsigned>((keys_of(a, last_query()).last - 1) / bm - first_key / bm);
  }
};

// What multipliers have in common: a thread's place in tiles of 64 rows, and the steps from products to weights and dX.
// AsIs: scores are products (arguments.cuh).
template <class Row, class T, bool AsIs> class GradientSteps {
 public:
  static constexpr Config c = Row::config;
  using Axis = tile::sm90::Axis;

  // first: of this multiplier's keys, in the block's tile
  __device__ __forceinline__ explicit GradientSteps(int first)
      : first_(first),
        thread_(static_cast<int>(threadIdx.x) % 128),
        lane_(static_cast<int>(threadIdx.x) % 32),
        warp_(thread_ / 32) {}

  // This thread's row r of a tile of 64, and the first of its pair n of neighbours.
  __device__ __forceinline__ int row(int r) const { return warp_ * 16 + r * 8 + lane_ / 4; }
  __device__ __forceinline__ int pair(int n) const { return n * 8 + lane_ % 4 * 2; }

 protected:
  // Starts sums = own other^T.                                          own: [bm][Columns], other: [bn][Columns]
  template <int Columns>
  __device__ __forceinline__ void start_rows(float (&sums)[c.bn / 2], unsigned own, unsigned other) const {
#pragma unroll
    for (int d = 0; d < Columns; d += 16) {
      const unsigned in_line = tile::sm90::k_offset(Axis::k, d % panel);
      const unsigned a = own + mma_tile_bytes(c.bm, d / panel * panel) + tile::sm90::outer_offset(first_) + in_line;
      const unsigned b = other + mma_tile_bytes(c.bn, d / panel * panel) + in_line;
      tile::sm90::multiply<T, Axis::k, Axis::k, c.bn>(sums, tile::sm90::descriptor(Axis::k, a),
                                                      tile::sm90::descriptor(Axis::k, b), d > 0);
    }
    tile::sm90::commit_products();
  }
  // Starts sums += factors rows.                                        factors: [64][bn], rows: [bn][Columns]
  template <int Columns>
  __device__ __forceinline__ void start_sums(float (&sums)[Columns / 2], const unsigned (&factors)[c.bn / 16][4],
                                             unsigned rows) const {
#pragma unroll
    for (int n = 0; n < c.bn; n += 16)
      tile::sm90::multiply_kept<T, Axis::outer, Columns>(
          sums, factors[n / 16],
          tile::sm90::descriptor(Axis::outer, rows + tile::sm90::k_offset(Axis::outer, static_cast<unsigned>(n)), c.bn),
          true);
    tile::sm90::commit_products();
  }

  // Products become weights and the slopes of their scores: keep(n, r, weight, slope) has two neighbours of each.
  // span(r): of the tile's queries, those that meet row r.
  template <bool MayMiss, class SpanOf, class Keep>
  __device__ __forceinline__ void weigh_each(const float (&products)[c.bn / 2], const Scores<T>& scores,
                                             const QueryFacts* facts, SpanOf span, Keep keep) const {
    const Span of[2] = {span(0), span(1)};
#pragma unroll
    for (int n = 0; n < c.bn / 8; ++n) {
      const auto two = simt::load<4>(reinterpret_cast<const float*>(facts + pair(n)));
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float weight[2], slope[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const float product = products[4 * n + 2 * r + e], offset = two[2 * e];
          if constexpr (AsIs) {
            slope[e] = 1;
            weight[e] = simt::fast_exp2(fmaf(product, scores.factor, -offset));
          } else {
            const float score = scores.of(product), ratio = scores.softcap == 0 ? 0 : __fdividef(score, scores.softcap);
            slope[e] = fmaf(-ratio, ratio, 1);
            weight[e] = simt::fast_exp2(fmaf(score, scores.factor, -offset));
          }
          if (MayMiss) weight[e] = of[r].contains(pair(n) + e) ? weight[e] : 0;
        }
        keep(n, r, weight, slope);
      }
    }
  }
  // dP becomes dX: keep(n, r, x) has two neighbours. weights(n, r): theirs, times slopes, rounded.
  template <bool MayMiss, class SpanOf, class Weights, class Keep>
  __device__ __forceinline__ void take_gradient_of(const float (&dp)[c.bn / 2], const QueryFacts* facts, SpanOf span,
                                                   Weights weights, Keep keep) const {
    const Span of[2] = {span(0), span(1)};
#pragma unroll
    for (int n = 0; n < c.bn / 8; ++n) {
      const auto two = simt::load<4>(reinterpret_cast<const float*>(facts + pair(n)));
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float x[2];
        tile::unpack_pair<T>(weights(n, r), x[0], x[1]);
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          x[e] *= dp[4 * n + 2 * r + e] - two[2 * e + 1];
          if (MayMiss) x[e] = of[r].contains(pair(n) + e) ? x[e] : 0;
        }
        keep(n, r, x);
      }
    }
  }
  // Where in shared memory this lane's row of four 8 x 8 matrices lies, from query n on: lines of 64 queries, one for each
  // key, in a tile at `tile`.
  __device__ __forceinline__ unsigned matrices_at(unsigned tile, int n) const {
    const int key = first_ + warp_ * 16 + lane_ / 8 % 2 * 8 + lane_ % 8, right = lane_ / 16 * 8;
    return tile + static_cast<unsigned>(mma_tile_bytes(c.bm, n / panel * panel)) +
           tile::sm90::swizzled(static_cast<unsigned>(key), static_cast<unsigned>((n % panel + right) * 2));
  }
  __device__ __forceinline__ void put_tile(unsigned to, const unsigned (&x)[c.bn / 16][4]) const {
#pragma unroll
    for (int n = 0; n < c.bn; n += 16)
      tile::sm90::store_matrices(matrices_at(to, n), x[n / 16][0], x[n / 16][1], x[n / 16][2], x[n / 16][3]);
  }
  // Numbers as sums of wgmma lie become a left operand.
  static __device__ __forceinline__ void round(unsigned (&to)[c.bn / 16][4], const float (&from)[c.bn / 2]) {
#pragma unroll
    for (int n = 0; n < c.bn / 16; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) to[n][i] = tile::pack_pair<T>(from[8 * n + 2 * i], from[8 * n + 2 * i + 1]);
  }
  // Sums as T to panels in shared memory, [bm][Columns].
  template <int Columns>
  __device__ __forceinline__ void put_rows(unsigned char* to, const float (&sums)[Columns / 2], float scale) const {
#pragma unroll
    for (int n = 0; n < Columns / 8; ++n)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const unsigned place =
            mma_tile_bytes(c.bm, n * 8 / panel * panel) +
            tile::sm90::swizzled(static_cast<unsigned>(first_ + row(r)), static_cast<unsigned>(pair(n) % panel * 2));
        *reinterpret_cast<unsigned*>(to + place) =
            tile::pack_pair<T>(sums[4 * n + 2 * r] * scale, sums[4 * n + 2 * r + 1] * scale);
      }
  }
  // value(query, column): of dO, 0 where there is none. Adds those that are NaN or infinite to the keys of their queries:
  // those that products have met already are added once more, which changes nothing.
  template <int Sums, class Value, class SpanOf>
  __device__ __forceinline__ void add_special_to(float (&dv)[Sums], Value value, SpanOf span) const {
    const Span of[2] = {span(0), span(1)};
#pragma unroll 1
    for (int query = 0; query < c.bn; ++query)
#pragma unroll
      for (int i = 0; i < Sums; ++i) {
        const float g = value(query, pair(i / 4) + i % 2);
        if (!(fabsf(g) < -minus_infinity) && of[i / 2 % 2].contains(query)) dv[i] += g;
      }
  }

  int first_, thread_, lane_, warp_;
};

// A multiplier's part: 64 keys, of which a thread has two rows' scores and dP with a tile of queries, their dK and dV; and
// 64 x 64 of the tile's dQ.
template <class Row, class T, bool AsIs> class GradientMultiplier : public GradientSteps<Row, T, AsIs> {
  using Steps = GradientSteps<Row, T, AsIs>;
  using Steps::c, Steps::first_, Steps::thread_;
  using K = WgmmaGradientKernel<Row>;
  using Axis = tile::sm90::Axis;

 public:
  using Steps::row, Steps::pair;
  // multiplier: 0 or 1. Addresses are of shared memory.
  __device__ __forceinline__ explicit GradientMultiplier(int multiplier)
      : Steps(multiplier * 64), multiplier_(multiplier) {
#pragma unroll
    for (float& sum : dk_) sum = 0;
#pragma unroll
    for (float& sum : dv_) sum = 0;
  }

  // Starts s = k q^T.
  __device__ __forceinline__ void start_scores(unsigned k, unsigned q) { this->template start_rows<c.d>(s_, k, q); }
  // Starts dP = v grad_o^T.
  __device__ __forceinline__ void start_dp(unsigned v, unsigned grad_o) {
    this->template start_rows<c.dv>(dp_, v, grad_o);
  }
  // Starts dv += p grad_o.
  __device__ __forceinline__ void start_dv(unsigned grad_o) { this->template start_sums<c.dv>(dv_, p_, grad_o); }
  // Starts dk += dx q.
  __device__ __forceinline__ void start_dk(unsigned q) { this->template start_sums<c.d>(dk_, x_, q); }
  // Starts dq = dx^T k.
  __device__ __forceinline__ void start_dq(unsigned x, unsigned k) {
    x += K::by_queries ? mma_tile_bytes(c.bm, first_) : 0;
    k += K::by_queries ? 0 : mma_tile_bytes(c.bm, first_);
#pragma unroll
    for (int n = 0; n < c.bm; n += 16) {
      const unsigned down = tile::sm90::k_offset(Axis::outer, static_cast<unsigned>(n));
      tile::sm90::multiply<T, Axis::outer, Axis::outer, 64>(dq_, tile::sm90::descriptor(Axis::outer, x + down, c.bm),
                                                            tile::sm90::descriptor(Axis::outer, k + down, c.bm), n > 0);
    }
    tile::sm90::commit_products();
  }

  // Products become weights, rounded: kept so, they leave room for the products under way. span(r): of the tile's queries,
  // those that meet row r.
  template <bool MayMiss, class SpanOf>
  __device__ __forceinline__ void weigh(const Scores<T>& scores, const QueryFacts* facts, SpanOf span) {
    this->template weigh_each<MayMiss>(
        s_, scores, facts, span, [&](int n, int r, const float(&weight)[2], const float(&slope)[2]) {
          p_[n / 2][n % 2 * 2 + r] = tile::pack_pair<T>(weight[0], weight[1]);
          if constexpr (!AsIs)
            sloped_[n / 2][n % 2 * 2 + r] = tile::pack_pair<T>(weight[0] * slope[0], weight[1] * slope[1]);
        });
  }
  // And dP becomes dX, rounded.
  template <bool MayMiss, class SpanOf>
  __device__ __forceinline__ void take_gradient(const QueryFacts* facts, SpanOf span) {
    this->template take_gradient_of<MayMiss>(
        dp_, facts, span,
        [&](int n, int r) { return AsIs ? p_[n / 2][n % 2 * 2 + r] : sloped_[AsIs ? 0 : n / 2][n % 2 * 2 + r]; },
        [&](int n, int r, const float(&x)[2]) { x_[n / 2][n % 2 * 2 + r] = tile::pack_pair<T>(x[0], x[1]); });
  }
  // dX to shared memory: lines of 64 queries, one for each key.
  __device__ __forceinline__ void put_dx(unsigned to) const { this->put_tile(to, x_); }
  // dQ to its place in shared memory, in float32.
  __device__ __forceinline__ void put_dq(float* to) const {
#pragma unroll
    for (int j = 0; j < 8; ++j)
      simt::store(to + 4 * dq_unit(multiplier_, j, thread_),
                  simt::vec<float, 4>{dq_[4 * j], dq_[4 * j + 1], dq_[4 * j + 2], dq_[4 * j + 3]});
  }

  // The same, but taken without NaN and infinities of K: what of dX meets them by right is NaN.
  __device__ __forceinline__ void put_dq_of_finite(float* to, const unsigned char* x, const unsigned char* k) const {
    x += K::by_queries ? mma_tile_bytes(c.bm, first_) : 0;
    k += K::by_queries ? 0 : mma_tile_bytes(c.bm, first_);
#pragma unroll 1
    for (int j = 0; j < 8; ++j) {
      simt::vec<float, 4> sums{0, 0, 0, 0};
#pragma unroll 1
      for (int key = 0; key < c.bm; ++key) {
        const auto at = [&](int column) {
          return tile::sm90::swizzled(static_cast<unsigned>(key), static_cast<unsigned>(column * 2));
        };
        float two[2];
        tile::unpack_pair<T>(without_special<T>(*reinterpret_cast<const unsigned*>(k + at(pair(j)))), two[0], two[1]);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          sums[i] = fmaf(static_cast<float>(*reinterpret_cast<const T*>(x + at(row(i / 2)))), two[i % 2], sums[i]);
      }
      simt::store(to + 4 * dq_unit(multiplier_, j, thread_), sums);
    }
  }
  template <class Value, class SpanOf> __device__ __forceinline__ void add_special(Value value, SpanOf span) {
    this->add_special_to(dv_, value, span);
  }

  // dK and dV as T, to panels in shared memory.
  __device__ __forceinline__ void put_dk(unsigned char* to, float scale) const {
    this->template put_rows<c.d>(to, dk_, scale);
  }
  __device__ __forceinline__ void put_dv(unsigned char* to) const { this->template put_rows<c.dv>(to, dv_, 1); }

 private:
  int multiplier_;
  float s_[c.bn / 2], dp_[c.bn / 2], dk_[c.d / 2], dv_[c.dv / 2], dq_[32];  // sums of wgmma
  // Weights and dX [64][bn], by 16 queries; and weights times the slope of scores, where that is not 1.
  unsigned p_[c.bn / 16][4], x_[c.bn / 16][4], sloped_[AsIs ? 1 : c.bn / 16][4];
};

inline constexpr int gradient_start_threads = 256;

// Facts of every query; turns, and where there are none, sums are set to 0. Rows past the last query have facts that
// nobody looks at.
// Preconditions: gridDim.x * gradient_start_threads / (dv / 8 of the Config) is at least batch * heads * tiles * bn; rows
// of o and grad_o are whole vectors.
template <class Row, class T>
__global__ void __launch_bounds__(gradient_start_threads)
    attention_wgmma_gradient_start(GradientArguments<T> a, GradientWork work) {
  constexpr Config c = Row::config;
  constexpr int unit = tile::unit_elements<T>, width = c.dv / unit;
  const simt::tile<width> lanes;
  const std::int64_t rows = std::int64_t{work.tiles} * c.bn;
  const std::int64_t row = std::int64_t{blockIdx.x} * (gradient_start_threads / width) + lanes.index();
  if (row == 0 && lanes.rank() == 0) *work.next = 0;
  if (row >= rows * a.batch * a.heads) return;
  const int i = static_cast<int>(row % rows), head = static_cast<int>(row / rows % a.heads);
  const int batch = static_cast<int>(row / rows / a.heads), column = lanes.rank() * unit;
  float sum = 0;
  if (i < a.sq && column < a.dv) {
    const Matrix<const T> o(a.o, a.at_o, batch, head), grad(a.grad_o, a.at_grad_o, batch, head);
    const auto x = tile::unpack_floats<T>(tile::load_packed(o(i) + column)),
               y = tile::unpack_floats<T>(tile::load_packed(grad(i) + column));
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < unit; ++e) sum = fmaf(x[e], y[e], sum);
  }
  sum = lanes.reduce(sum, [](float x, float y) { return x + y; });
  if (lanes.rank() == 0) {
    const float lse = i < a.sq ? a.lse[batch * a.at_lse.batch + head * a.at_lse.head + i * a.at_lse.row] : 0;
    work.facts[row] = {lse == minus_infinity ? 0 : lse * log2_e, sum};
    if (constexpr int turns = gradient_turns_of_tile(c); i % c.bn < turns)
      work.turns[row / c.bn * turns + i % c.bn] = 0;
  }
  if (!work.in_order)
    for (int at = lanes.rank() * fragment; at < c.d; at += width * fragment)
      simt::store_global(work.sums + row * c.d + at, simt::vec<float, fragment>{0, 0, 0, 0});
}

// dK, dV, and of dQ the sums in the workspace, without the scale.                      shapes: see GradientArguments
// Preconditions: cc 90; maps as WgmmaGradientMaps says; rows of the tensors are whole units of 16 bytes; no mask tensor;
// the start's kernel has run; AsIs as Scores says; d and dv are at most the Config's; gridDim.x is batch * key heads *
// tiles of keys.
template <class Row, class T, bool AsIs>
__global__ void __launch_bounds__(Row::config.threads, 1)
    attention_wgmma_gradient(const __grid_constant__ WgmmaGradientMaps maps,
                             const __grid_constant__ GradientArguments<T> a,
                             const __grid_constant__ GradientWork work) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    constexpr Config c = Row::config;
    using K = WgmmaGradientKernel<Row>;
    unsigned char* shared = sm90::swizzled_shared();
    auto& sync = *reinterpret_cast<WgmmaGradientSync<c.stages>*>(shared + K::barriers_at);
    static_assert(sizeof sync == wgmma_gradient_barrier_bytes(c));
    const auto stage_q = [=](int stage) { return shared + K::q_at + stage * K::q_bytes; };
    const auto stage_o = [=](int stage) { return shared + K::o_at + stage * K::o_bytes; };
    const auto stage_facts = [=](int stage) {
      return reinterpret_cast<QueryFacts*>(shared + K::facts_at + stage * K::facts_bytes);
    };
    const int group = sm90::warpgroup_index();

    if (threadIdx.x == 0) {
      sm90::init(&sync.full_kv, 2);
      for (int s = 0; s < c.stages; ++s) {
        sm90::init(sync.full_q + s, 2);  // the tile, and its facts
        sm90::init(sync.full_o + s, 1);
        sm90::init(sync.empty_q + s, K::multipliers);
        sm90::init(sync.empty_o + s, K::multipliers);
        sm90::init(sync.arrived + s, 1);
        sm90::init(sync.checked + s, K::checkers);
        sync.special[s] = 0;
      }
      sync.special_k = 0;
      sync.number = work.in_order ? atomicAdd(work.next, 1u) : blockIdx.x;
      sm90::fence_init();
    }
    __syncthreads();
    GradientWalk<Row, T> walk(a, work, sync.number);

    if (group == 0) {
      sm90::keep_registers<K::loader_registers>();
      const int warp = sm90::warp_of_warpgroup();
      if (threadIdx.x == 0) {
        sm90::RingPlace<c.stages> at;
        for (int step = 0; step < walk.steps; ++step, walk.next(), at.next()) {
          sm90::wait(sync.empty_q + at.stage, at.parity ^ 1);
          load_panels<c.bn, c.d>(&maps.q, stage_q(at.stage), sync.full_q + at.stage, walk.first_query(), walk.head,
                                 walk.batch);
          sm90::arrive_expecting(sync.full_q + at.stage, K::facts_bytes);
          sm90::copy_bulk(stage_facts(at.stage), work.facts + walk.place(work) * c.bn, K::facts_bytes,
                          sync.full_q + at.stage);
          if (step == 0) {
            load_panels<c.bm, c.d>(&maps.k, shared, &sync.full_kv, walk.first_key, walk.key_head, walk.batch);
            load_panels<c.bm, c.dv>(&maps.v, shared + K::v_at, &sync.full_kv, walk.first_key, walk.key_head,
                                    walk.batch);
          }
          sm90::wait(sync.empty_o + at.stage, at.parity ^ 1);
          load_panels<c.bn, c.dv>(&maps.grad_o, stage_o(at.stage), sync.full_o + at.stage, walk.first_query(),
                                  walk.head, walk.batch);
        }
      } else if (warp == 1) {
        // The adder.
        const bool speaks = threadIdx.x % 32 == 0;
        const simt::tile<32> lanes;
        const auto let_put = [](int step) {
          const int place = step % gradient_sums_stages * K::multipliers;
          for (int m = 0; m < K::multipliers; ++m) sm90::arrive_named<K::with_adder>(K::read + place + m);
        };
        for (int step = 0; step < ::min(walk.steps, gradient_sums_stages); ++step) let_put(step);
        for (int step = 0; step < walk.steps; ++step, walk.next()) {
          const int stage = step % gradient_sums_stages;
          const std::int64_t place = walk.place(work);
          const unsigned turn = walk.turn();
          if (speaks && work.in_order) sm90::await_turn(work.turns + place, turn);
          lanes.sync();
          for (int m = 0; m < K::multipliers; ++m) {
            sm90::await_named<K::with_adder>(K::full + stage * K::multipliers + m);
            if (speaks) {
              float* to = work.sums + place * (c.bn * c.d) + m * K::sums;
              const unsigned char* from = shared + K::sums_at + stage * K::sums_bytes + m * K::sums * 4;
              if (work.in_order && turn == 0) sm90::store_bulk(to, from, K::sums * 4);
              else sm90::add_bulk(to, from, K::sums * 4);
              sm90::commit_stores();
            }
            lanes.sync();
          }
          if (speaks) sm90::wait_stores_read<0>();
          lanes.sync();
          if (step + gradient_sums_stages < walk.steps) let_put(step + gradient_sums_stages);
          if (speaks && work.in_order) {
            sm90::wait_stores<0>();
            sm90::end_turn(work.turns + place, turn);
          }
        }
        if (speaks) sm90::wait_stores<0>();
      } else if (warp >= 2) {
        const int thread = static_cast<int>(threadIdx.x) - 64;
        sm90::RingPlace<c.stages> at;
        Parities arrived;
        bool of_k = false;  // K has been looked through
        for (int step = 0; step < walk.steps; ++step, walk.next(), at.next()) {
          if (!walk.at_edge()) continue;
          arrived.await(sync.arrived, at.stage);
          if (!of_k) {
            sm90::wait(&sync.full_kv, 0);
            if (finds_special<K::v_at, K::checkers, T>(shared, thread)) atomicMax(&sync.special_k, 1);
            of_k = true;
          }
          sm90::wait(sync.full_q + at.stage, at.parity);
          sm90::wait(sync.full_o + at.stage, at.parity);
          if (finds_special<K::q_bytes, K::checkers, T>(stage_q(at.stage), thread) ||
              finds_special<K::o_bytes, K::checkers, T>(stage_o(at.stage), thread))
            atomicMax(sync.special + at.stage, step + 1);
          sm90::arrive(sync.checked + at.stage);
        }
      }
      return;
    }

    sm90::take_registers<K::multiplier_registers>();
    const int multiplier = group - 1, first = walk.first_key + multiplier * 64;
    const bool speaks = threadIdx.x % 128 == 0;
    const unsigned base = sm90::shared_address(shared);
    GradientMultiplier<Row, T, AsIs> m(multiplier);
    const Scores<T> scores(a);
    const auto span = [&](int r) { return walk.span(first + m.row(r)); };
    const auto address = [&](const unsigned char* tile) { return base + static_cast<unsigned>(tile - shared); };
    sm90::RingPlace<c.stages> at;
    Parities checked;
    bool found_special = false;

    const auto start_scores = [&](const auto& of) {
      sm90::wait(sync.full_q + of.stage, of.parity);
      sm90::fence_sums();
      m.start_scores(base, address(stage_q(of.stage)));
    };

    if (walk.steps > 0) {
      sm90::wait(&sync.full_kv, 0);
      start_scores(at);
      for (int step = 0; step < walk.steps; ++step, walk.next(), at.next()) {
        const unsigned q = address(stage_q(at.stage)), grad_o = address(stage_o(at.stage));
        const QueryFacts* facts = stage_facts(at.stage);
        unsigned char* dx = shared + K::x_at + at.stage * K::x_bytes;
        const bool whole = walk.whole(first, 64), at_edge = walk.at_edge();

        sm90::wait(sync.full_o + at.stage, at.parity);
        if (at_edge && multiplier == 0 && speaks) sm90::arrive(sync.arrived + at.stage);
        // The scores. nvcc wants no product under way behind those that a former step started: it would have each wait.
        sm90::wait_products<0>();
        sm90::fence_sums();
        m.start_dp(base + K::v_at, grad_o);
        if (whole) m.template weigh<false>(scores, facts, span);
        else m.template weigh<true>(scores, facts, span);
        sm90::wait_products<0>();
        if (whole) m.template take_gradient<false>(facts, span);
        else m.template take_gradient<true>(facts, span);
        m.put_dx(address(dx));

        bool special_k = false;
        if (at_edge) {
          checked.await(sync.checked, at.stage);
          special_k = sync.special_k != 0;
          if (sync.special[at.stage] == step + 1) {  // both multipliers have met the tiles as they were
            found_special = true;
            sm90::await_named<256>(K::both);
            const int thread = static_cast<int>(threadIdx.x) - 128;
            clear_special<K::q_bytes, 256, T>(stage_q(at.stage), thread);
            clear_special<K::o_bytes, 256, T>(stage_o(at.stage), thread);
            sm90::fence_shared_for_copies();  // and before products
            sm90::await_named<256>(K::both);
          }
        }

        sm90::fence_sums();
        m.start_dv(grad_o);
        sm90::fence_shared_for_copies();
        sm90::await_named<256>(K::both);  // all of dX is there
        sm90::fence_sums();
        m.start_dq(address(dx), base);
        m.start_dk(q);
        sm90::wait_products<2>();  // dV
        if (speaks) sm90::arrive(sync.empty_o + at.stage);
        // The next scores; after the last step the same ones once more, which cost less than a branch among products.
        sm90::RingPlace<c.stages> next = at;
        if (step + 1 < walk.steps) next.next();
        start_scores(next);
        sm90::wait_products<2>();  // dQ
        const int place = step % gradient_sums_stages, barrier = place * K::multipliers + multiplier;
        float* const sums = reinterpret_cast<float*>(shared + K::sums_at + place * K::sums_bytes);
        sm90::await_named<K::with_adder>(K::read + barrier);
        if (special_k) m.put_dq_of_finite(sums, dx, shared);
        else m.put_dq(sums);
        sm90::fence_shared_for_copies();
        sm90::arrive_named<K::with_adder>(K::full + barrier);
        sm90::wait_products<1>();  // dK
        if (speaks) sm90::arrive(sync.empty_q + at.stage);
      }
      sm90::wait_products<0>();
    }
    if (found_special) {
      GradientWalk<Row, T> again(a, work, sync.number);
      for (int step = 0; step < again.steps; ++step, again.next()) {
        if (!again.at_edge()) continue;
        const Matrix<const T> rows(a.grad_o, a.at_grad_o, again.batch, again.head);
        m.add_special(
            [&](int query, int column) {
              const int i = again.first_query() + query;
              return column < a.dv && i < a.sq ? float(rows(i)[column]) : 0.0f;
            },
            [&](int r) { return again.span(first + m.row(r)); });
      }
    }

    // dK and dV go through this multiplier's rows of the places of K and V.
    sm90::await_named<256>(K::both);
    m.put_dk(shared, a.scale);
    m.put_dv(shared + K::v_at);
    sm90::fence_shared_for_copies();
    sm90::sync_warpgroup(K::own + multiplier);
    if (speaks && first < a.sk) {
      const auto put = [&](const sm90::TensorMap* map, const unsigned char* from, int columns) {
        for (int p = 0; p < columns / panel; ++p)
          sm90::store(map, from + mma_tile_bytes(c.bm, p * panel) + sm90::outer_offset(multiplier * 64), p * panel,
                      first, walk.key_head, walk.batch);
      };
      put(&maps.grad_k, shared, c.d);
      put(&maps.grad_v, shared + K::v_at, c.dv);
      sm90::commit_stores();
      sm90::wait_stores_read<0>();
    }
  }
}

inline constexpr int gradient_end_threads = 256;

// grad_q = scale * sums, 8 columns of a thread.
// Preconditions: gridDim.x * gradient_end_threads is at least batch * heads * sq * d / 8 of the Config; rows of grad_q are
// whole vectors.
template <class Row, class T>
__global__ void __launch_bounds__(gradient_end_threads)
    attention_wgmma_gradient_end(GradientArguments<T> a, GradientWork work) {
  constexpr Config c = Row::config;
  constexpr int units = c.d / 8;
  const std::int64_t n = std::int64_t{blockIdx.x} * gradient_end_threads + threadIdx.x, row = n / units;
  const int unit = static_cast<int>(n % units);
  if (row >= std::int64_t{a.batch} * a.heads * a.sq || unit * 8 >= a.d) return;
  const int i = static_cast<int>(row % a.sq), head = static_cast<int>(row / a.sq % a.heads);
  const int batch = static_cast<int>(row / a.sq / a.heads), tile = i / c.bn, in_tile = i % c.bn;
  const Keys keys = keys_of(a, tile * c.bn, ::min(tile * c.bn + c.bn, a.sq) - 1);
  simt::vec<T, 8> values{};
  if (keys.first < keys.last || !work.in_order) {  // else no block has been here
    const float* sums = work.sums + ((std::int64_t{batch} * a.heads + head) * work.tiles + tile) * (c.bn * c.d);
    const int part = sums_by_queries(c) ? in_tile / 64 : unit / 8, in_part = in_tile % 64;
    const int thread = in_part / 16 * 32 + in_part % 8 * 4, lower = in_part / 8 % 2;
    RIDGE_UNROLL_ON_GPU
    for (int quarter = 0; quarter < 4; ++quarter) {
      const auto two = simt::load<2>(sums + 4 * dq_unit(part, unit % 8, thread + quarter) + 2 * lower);
      values[2 * quarter] = T(two[0] * a.scale);
      values[2 * quarter + 1] = T(two[1] * a.scale);
    }
  }
  simt::store_global(Matrix<T>(a.grad_q, a.at_grad_q, batch, head)(i) + unit * 8, values);
}

}  // namespace ridge::attention_kernels
