// What both kernels of gradients on Hopper's tensor cores stand on (sm90_gradient.cuh, sm90_gradient_wide.cuh): tensors
// and workspace as they find them, shared memory, the walk over tiles of queries,
// and the steps from products to weights and dX.
#pragma once
#include <ridge/attention/gradient.cuh>
#include <ridge/attention/sm90_gradient.hpp>
#include <ridge/attention/sm90_tiles.cuh>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/sm80/mma.cuh>
#include <ridge/tile/sm90/bulk_copy.cuh>
#include <ridge/tile/sm90/turn.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>
#include <ridge/tile/sm90/wgmma.cuh>

namespace ridge::attention_kernels {

// The tensors as [batch, heads, rows, columns], in boxes of bm (k, v), bn (q, grad_o) and 64 (grad_k, grad_v) rows and
// 64 columns.
struct WgmmaGradientMaps {
  tile::sm90::TensorMap q, k, v, grad_o, grad_k, grad_v;
};

// The mask tensor in boxes of bn rows, queries, and 64 columns, keys. per_...: 1; 0: shared by all of them, of queries
// in as many rows as a box has.
struct GradientMaskMap {
  tile::sm90::TensorMap map;
  int per_batch, per_head, per_query;
};
struct NoGradientMask {};
template <class Row> using GradientMaskOf = std::conditional_t<Row::config.masks, GradientMaskMap, NoGradientMask>;

// Of a query, what shared memory has room for: its facts but the base. The last bit of the offset says whether that is
// something else than 0.
struct TileFacts {
  float offset, delta;
  static __device__ __forceinline__ TileFacts of(const Reference& weights, float delta) {
    const unsigned bits = __float_as_uint(weights.offset) & ~1u;
    return {__uint_as_float(weights.base == 0 ? bits : bits | 1), delta};
  }
  __device__ __forceinline__ bool has_base() const { return (__float_as_uint(offset) & 1) != 0; }
};

// The workspace.
struct GradientWork {
  float* sums;        // dQ, [batch, heads, tiles][bn * d], in each tile as dq_unit() says
  TileFacts* facts;   // [batch, heads, tiles * bn]
  float* bases;       // the same
  unsigned* turns;    // of each tile of sums, [batch, heads, tiles][gradient_turns_of_tile]
  unsigned* next;     // the number of the next block to begin
  int tiles;          // of bn queries
  unsigned together;  // heads of keys whose blocks take turns in beginning, 1 or more
  unsigned falling;   // the last heads of keys, whose blocks with most queries begin first; not all of them
  bool in_order;      // blocks add to a tile of sums in the order of their keys
};

// The unit of 4 floats of a tile of dQ, of which a thread has the sums 4 j to 4 j + 3 of 64 x 64 (wgmma.cuh): which of
// these it is comes first, among the tile's queries or its columns.
constexpr int dq_unit(int part, int j, int thread) { return (part * 8 + j) * 128 + thread; }
constexpr bool sums_by_queries(const Config& c) { return c.bn == 128; }

// Where tiles lie in shared memory: K, V; stages of Q, of dO, of dX [bm][bn] turned; dQ; a mask's tile; stages of
// facts; barriers. Those of 16-bit types are in panels of 64 columns.
template <class Row> struct WgmmaGradientKernel {
  static constexpr Config c = Row::config;
  static constexpr int multipliers = 2, loader_registers = 24, multiplier_registers = 240;  // of 65,536: 504 * 128
  static_assert(c.bm == multipliers * 64 && c.threads == (multipliers + 1) * 128 && c.stages == 2);
  static_assert(c.d % panel == 0 && c.dv % panel == 0);

  // A multiplier has 64 x 64 of a tile of dQ: its queries, or its columns.
  static constexpr bool by_queries = sums_by_queries(c);
  static constexpr int sums = 64 * 64;
  static_assert(by_queries ? c.d == 64 : c.bn == 64 && c.d == multipliers * 64);

  static constexpr int sums_stages = gradient_sums_stages(c), sums_bytes = c.bn * c.d * 4;
  static constexpr int q_bytes = mma_tile_bytes(c.bn, c.d), o_bytes = mma_tile_bytes(c.bn, c.dv),
                       x_bytes = mma_tile_bytes(c.bm, c.bn), facts_bytes = c.bn * static_cast<int>(sizeof(TileFacts));
  static constexpr int v_at = mma_tile_bytes(c.bm, c.d), q_at = v_at + mma_tile_bytes(c.bm, c.dv),
                       o_at = q_at + c.stages * q_bytes, x_at = o_at + c.stages * o_bytes,
                       sums_at = x_at + c.stages * x_bytes, mask_at = sums_at + sums_stages * sums_bytes,
                       facts_at = mask_at + gradient_mask_bytes(c), barriers_at = facts_at + c.stages * facts_bytes;
  static_assert(barriers_at + wgmma_gradient_barrier_bytes(c) == wgmma_gradient_bytes(c));

  // Named barriers: of both multipliers, of each alone; dQ of each, in a place of shared memory, is complete, and is
  // read.
  static constexpr int both = 1, own = 2, full = own + multipliers, read = full + sums_stages * multipliers;
  static_assert(read + sums_stages * multipliers <= 16, "the barriers that there are");
  static constexpr int with_adder = 128 + 32;  // threads at the last two
  static constexpr int checkers = 64;          // the loader's other warps
};

template <int Stages> struct WgmmaGradientSync {
  tile::sm90::Barrier full_kv, full_mask, empty_mask, full_q[Stages], full_o[Stages], empty_q[Stages], empty_o[Stages],
      arrived[Stages], checked[Stages];  // the last two: of steps whose tiles are looked through
  unsigned number;                       // the block's
  int special[Stages];  // the latest step of this stage, counted from 1, whose Q or dO had NaN or infinite values
  int special_k;        // whether K has
};

// The steps of a block: tiles of queries of one head after the other, from the first one on, or, of the heads that
// fall, from the last one on.
//
// Behind a causal mask a head's first keys meet most queries. A block may wait for those alone that began before it.
// So that none has to, the blocks of a head begin with its last keys, each at the tile of queries that no other has
// added to yet; but then the longest would begin last of all, and most of the device look on. The last heads fall:
// their first keys begin first, when the short blocks of the heads before leave room, as long after each other as the
// later ones have to wait. Simulated with 8 heads of 4 each and 4096 tokens: 1.0 times what the work takes by
// all multiprocessors, and not 1.66.
template <class Row, class T> struct GradientWalk {
  static constexpr int bm = Row::config.bm, bn = Row::config.bn;
  const GradientArguments<T>& a;
  int batch, key_head, first_key, first_tile, tiles, steps, falls;
  int tile, head;  // of queries, now

  // number: of the block, from batch * key heads * tiles of keys
  __device__ __forceinline__ GradientWalk(const GradientArguments<T>& args, const GradientWork& work, unsigned number)
      : a(args) {
    const unsigned all = static_cast<unsigned>((a.sk + bm - 1) / bm), heads = static_cast<unsigned>(a.key_heads);
    const unsigned rising = static_cast<unsigned>(a.batch) * heads - work.falling;
    falls = number >= rising * all;
    // Of `together` heads, or what is left, the blocks of one tile of keys after those of another.
    const unsigned first_head = falls ? rising : number / (all * work.together) * work.together;
    const unsigned among = falls ? work.falling : ::min(work.together, rising - first_head);
    const unsigned in_heads = number - first_head * all, place = in_heads / among,
                   of_all = first_head + in_heads % among;
    // Without an order, those that take longest behind a causal mask come first.
    first_key = static_cast<int>(work.in_order && !falls ? all - 1 - place : place) * bm;
    key_head = static_cast<int>(of_all % heads);
    batch = static_cast<int>(of_all / heads);
    const Keys queries = Meeting<Side::keys>::range(a, first_key, ::min(first_key + bm, a.sk) - 1);
    const bool any = queries.first < queries.last;
    first_tile = any ? queries.first / bn : 0;
    tiles = any ? (queries.last + bn - 1) / bn - first_tile : 0;
    steps = tiles * a.group;
    head = key_head * a.group;
    tile = begin();
  }
  // The same for a whole warp, in a form that the compiler knows: it need not keep a copy for each thread.
  __device__ __forceinline__ void share() {
    for (int* number : {&batch, &key_head, &first_key, &first_tile, &tiles, &steps, &falls, &tile, &head})
      *number = __shfl_sync(~0u, *number, 0);
  }
  __device__ __forceinline__ void next() {
    tile += falls ? -1 : 1;
    if (tile >= first_tile && tile < first_tile + tiles) return;
    tile = begin();
    ++head;
  }
  __device__ __forceinline__ int begin() const { return falls ? first_tile + tiles - 1 : first_tile; }
  __device__ __forceinline__ int first_query() const { return tile * bn; }
  __device__ __forceinline__ int last_query() const { return ::min(first_query() + bn, a.sq) - 1; }
  // Whether all of a tile's queries exist and attend to all of `keys` keys from `first` on, which exist.
  __device__ __forceinline__ bool whole(int first, int keys) const {
    return first_query() + bn <= a.sq && all_attend(a, first_query(), last_query(), first, first + keys);
  }
  // Whether queries and keys that exist may not meet: behind a mask tensor, any.
  __device__ __forceinline__ bool at_edge() const {
    return Row::config.masks || !all_attend(a, first_query(), last_query(), first_key, ::min(first_key + bm, a.sk));
  }
  // Queries of this tile, counted from its first, that attend to a key.
  __device__ __forceinline__ Span span(int key) const {
    const Keys queries = Meeting<Side::keys>::range(a, key, key);
    const int from = ::max(queries.first, first_query()), to = ::min(queries.last, first_query() + bn);
    return {from - first_query(), key < a.sk ? static_cast<unsigned>(::max(0, to - from)) : 0};
  }
  // What meets(r, query) asks: whether a query of this tile, counted from its first, attends to the key.
  __device__ __forceinline__ bool meets(int key, int query) const {
    if (!span(key).contains(query)) return false;
    if constexpr (!Row::config.masks) return true;
    else return mask_at(a, batch, head, first_query() + query, key) != minus_infinity;
  }
  // Brings the mask's tile.
  __device__ __forceinline__ void load_mask(const GradientMaskOf<Row>& mask, unsigned char* to,
                                            tile::sm90::Barrier* full) const {
    if constexpr (Row::config.masks)
      load_panels<bn, bm>(&mask.map, to, full, mask.per_query * first_query(), mask.per_head * head,
                          mask.per_batch * batch, mma_tile_bytes(bn, panel), first_key);
  }
  // The place of this tile among those of sums, and how many blocks add to it before this one.
  __device__ __forceinline__ std::int64_t place(const GradientWork& work) const {
    return (std::int64_t{batch} * a.heads + head) * work.tiles + tile;
  }
  __device__ __forceinline__ unsigned turn() const {
    const int own = first_key / bm;
    return static_cast<unsigned>(falls ? own - keys_of(a, first_query()).first / bm
                                       : (keys_of(a, last_query()).last - 1) / bm - own);
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

  // Whether any of a tile's queries has a base.
  __device__ __forceinline__ bool any_base(const TileFacts* facts) const {
    bool any = false;
#pragma unroll
    for (int n = 0; n < c.bn; n += 32) any = any || facts[n + lane_].has_base();
    return simt::tile<32>().any(any);
  }
  // Products become weights and the slopes of their scores: keep(n, r, weight, slope) has two neighbours of each.
  // bases: of the tile's queries, of which some are not 0 (Far); then no weight is more than 1, as of weight_of().
  // span(r): of the tile's queries, those that meet row r. mask: where its tile is in shared memory, of Config::masks.
  // Who does not meet has the weight no_weight.
  template <bool MayMiss, bool Far, class SpanOf, class Keep>
  __device__ __forceinline__ void weigh_each(const float (&products)[c.bn / 2], const Scores<T>& scores,
                                             const TileFacts* facts, [[maybe_unused]] const float* bases,
                                             [[maybe_unused]] unsigned mask, SpanOf span, Keep keep) const {
    const Span of[2] = {span(0), span(1)};
    // Masks that are added keep the scale out of the exponent's factor.
    const float factor = AsIs && c.masks && !Far ? scores.scale * scores.factor : scores.factor;
    [[maybe_unused]] unsigned masks[4];  // of two n: of each the pairs of both rows
#pragma unroll
    for (int n = 0; n < c.bn / 8; ++n) {
      if constexpr (c.masks)
        if (n % 2 == 0) tile::sm80::load_matrices<true>(masks, mask_matrices_at(mask) + n / 2 * panel_rows_bytes);
      const auto two = simt::load<4>(reinterpret_cast<const float*>(facts + pair(n)));
      simt::vec<float, 2> base{0, 0};
      if constexpr (Far) base = simt::load<2>(bases + pair(n));
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float weight[2], slope[2], more[2] = {0, 0};
        if constexpr (c.masks) tile::unpack_pair<T>(masks[n % 2 * 2 + r], more[0], more[1]);
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const float product = products[4 * n + 2 * r + e];
          float score = AsIs ? product : scores.of(product);
          slope[e] = 1;
          if constexpr (!AsIs) {
            const float ratio = scores.softcap == 0 ? 0 : __fdividef(score, scores.softcap);
            slope[e] = fmaf(-ratio, ratio, 1);
          }
          float exponent;
          if constexpr (Far) {
            if constexpr (c.masks) score = AsIs ? fmaf(product, scores.scale, more[e]) : score + more[e];
            exponent = fmaf(score - base[e], factor, -two[2 * e]);
            if (base[e] != 0 && exponent > 0) exponent = 0;
          } else {
            exponent = fmaf(score, factor, c.masks ? fmaf(more[e], log2_e, -two[2 * e]) : -two[2 * e]);
          }
          weight[e] = simt::fast_exp2(exponent);
          const bool is_missed = (MayMiss && !of[r].contains(pair(n) + e)) || (c.masks && more[e] == minus_infinity);
          if (is_missed) weight[e] = no_weight, slope[e] = 1;
        }
        keep(n, r, weight, slope);
      }
    }
  }
  // dP becomes dX: keep(n, r, x) has two neighbours. weights(n, r): theirs, times slopes, rounded; behind a mask tensor
  // they say who does not meet.
  template <bool MayMiss, class SpanOf, class Weights, class Keep>
  __device__ __forceinline__ void take_gradient_of(const float (&dp)[c.bn / 2], const TileFacts* facts, SpanOf span,
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
          const bool is_missed = c.masks ? is_no_weight(x[e]) : MayMiss && !of[r].contains(pair(n) + e);
          x[e] = is_missed ? 0 : x[e] * (dp[4 * n + 2 * r + e] - two[2 * e + 1]);
        }
        keep(n, r, x);
      }
    }
  }
  // The same of a mask's first 16 queries and this warp's keys: lines of 64 keys, one for each query. 16 queries
  // further the place of the row in its line is the same.
  static constexpr int panel_rows_bytes = 16 * panel * 2;
  __device__ __forceinline__ unsigned mask_matrices_at(unsigned tile) const {
    const int query = lane_ / 16 * 8 + lane_ % 8, key = warp_ * 16 + lane_ / 8 % 2 * 8;
    return tile + static_cast<unsigned>(mma_tile_bytes(c.bn, first_)) +
           tile::sm90::swizzled(static_cast<unsigned>(query), static_cast<unsigned>(key * 2));
  }
  // Where in shared memory this lane's row of four 8 x 8 matrices lies, from query n on: lines of 64 queries, one for
  // each key, in a tile at `tile`.
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
  // value(query, column): of dO, 0 where there is none. Adds those that are NaN or infinite to the keys of their
  // queries, meets(r, query): those that products have met already are added once more, which changes nothing.
  template <int Sums, class Value, class Meets>
  __device__ __forceinline__ void add_special_to(float (&dv)[Sums], Value value, Meets meets) const {
#pragma unroll 1
    for (int query = 0; query < c.bn; ++query)
#pragma unroll
      for (int i = 0; i < Sums; ++i) {
        const float g = value(query, pair(i / 4) + i % 2);
        if (!(fabsf(g) < -minus_infinity) && meets(i / 2 % 2, query)) dv[i] += g;
      }
  }

  int first_, thread_, lane_, warp_;
};

}  // namespace ridge::attention_kernels
