// Shared by both kernels of gradients on Hopper's tensor cores (sm90_gradient.cuh, sm90_gradient_wide.cuh): tensor maps
// and workspace, shared memory, the iteration over tiles of queries, and the steps from products to P and dS.
#pragma once
#include <ridge/attention/gradient.cuh>
#include <ridge/attention/sm90_gradient.hpp>
#include <ridge/attention/sm90_tiles.cuh>
#include <ridge/core/divider.hpp>
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/sm80/mma.cuh>
#include <ridge/tile/sm90/bulk_copy.cuh>
#include <ridge/tile/sm90/pipeline.cuh>
#include <ridge/tile/sm90/semaphore.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>
#include <ridge/tile/sm90/wgmma.cuh>

namespace ridge::attention_kernels {

// Tensor maps of [batch, heads, rows, columns], in boxes of bm (k, v), bn (q, grad_o) and 64 (grad_k, grad_v) rows and
// 64 columns.
struct WgmmaGradientMaps {
  tile::sm90::TensorMap q, k, v, grad_o, grad_k, grad_v;
};

// Map of the mask tensor in boxes of bn rows (queries) and 128 bytes of columns (keys). per_...: 1; 0: broadcast; a row
// that all queries share is repeated for all rows of a box. in_f32: its elements are of float32, and not of T; where
// consumers are specialized, such a mask has no map, and threads read it.
struct GradientMaskMap {
  tile::sm90::TensorMap map;
  int per_batch, per_head, per_query, in_f32;
};
struct NoGradientMask {};
template <class Policy>
using GradientMaskOf = std::conditional_t<Policy::config.masks, GradientMaskMap, NoGradientMask>;
// Whether the mask is one that threads read. Only instances for scores of every kind (not AsIs) take it.
template <class Policy, bool AsIs, class Mask> __device__ __forceinline__ bool is_float_mask(const Mask& mask) {
  if constexpr (AsIs || !specializes_consumers(Policy::config) || std::is_same_v<Mask, NoGradientMask>) return false;
  else return mask.in_f32 != 0;
}

// A tile of a float32 mask in shared memory, in panels of 32 columns.
struct FloatMaskTile {
  static constexpr int columns = panel / 2;
  const unsigned char* data;
};
// A tile of a float32 mask in global memory, where a tile of it in shared memory would take more room than there is.
struct FloatMask {
  const float* matrix;  // of a batch and head
  std::int64_t row, element;
  int first_query, last_query, first_key, last_key;  // first: of the tile; last: of all
  // Past the last query or key the last one's element; such pairs do not meet.
  __device__ __forceinline__ float operator()(int query, int key) const {
    return matrix[::min(first_query + query, last_query) * row + ::min(first_key + key, last_key) * element];
  }
};

// Statistics of a query that fit in shared memory: all but the base. The last bit of lse_log2 says whether the base is
// nonzero.
struct TileStats {
  float lse_log2, delta;
  static __device__ __forceinline__ TileStats of(const Reference& reference, float delta) {
    const unsigned bits = __float_as_uint(reference.offset) & ~1u;
    return {__uint_as_float(reference.base == 0 ? bits : bits | 1), delta};
  }
  __device__ __forceinline__ bool has_base() const { return (__float_as_uint(lse_log2) & 1) != 0; }
};

// Workspace of the gradients.
struct GradientWork {
  float* dq_accum;   // dQ, [batch, heads, tiles][bn * d], each tile in the order of dq_vector()
  TileStats* stats;  // [batch, heads, tiles * bn]
  float* bases;      // same shape
  // dK and dV of each part, where there is more than one: [batch, key heads, parts, sk] rows as wide as the Config's.
  float *partial_k, *partial_v;
  unsigned* semaphores;  // of each tile of dQ, [batch, heads, tiles][gradient_semaphores_of_tile]
  unsigned* next;        // number of the next block to begin
  int tiles;             // with bn queries each
  int parts;             // of each group of heads; every part has blocks of its own for all keys of its key head
  int heads_of_part;     // query heads, one after the other
  int tiles_of_part;     // tiles of queries: all of a head's, or a range of them
  unsigned interleaved;  // parts whose blocks interleave, 1 or more
  unsigned falling;      // number of last parts whose longest blocks begin first; not all parts
  bool in_order;         // blocks add to a tile of dQ in the order of their keys
  bool counts;           // blocks take numbers as they begin: in order, where several add to a tile
  // A block divides its number before its first load: by the blocks of a group that interleaves; by the parts that
  // interleave in it, which are fewer in the last group and among the falling ones; by the parts of a batch; and by the
  // ranges of a head's queries.
  Divider by_group_blocks, by_interleaved, by_rest, by_falling, by_batch_parts, by_ranges;
};

// Gives a block its number, and synchronizes it; the tensor maps are on their way then. To be called before anything
// reads or writes the workspace, which the kernel before this one prepares; the kernel after it may begin meanwhile.
__device__ __forceinline__ void take_number(unsigned& number, const WgmmaGradientMaps& maps, const GradientWork& work) {
  // Other warps than the first, which initializes barriers meanwhile.
  if (threadIdx.x == 64) {
    tile::sm90::prefetch(&maps.q);
    tile::sm90::prefetch(&maps.k);
    tile::sm90::prefetch(&maps.v);
    tile::sm90::prefetch(&maps.grad_o);
  }
  tile::launch_dependents();
  tile::grid_dependency_wait();
  if (threadIdx.x == 32) number = work.counts ? atomicAdd(work.next, 1u) : blockIdx.x;
  __syncthreads();
}

// Index of a vector of 4 floats in a tile of dQ, for accumulators 4 j to 4 j + 3 of a thread's 64 x 64 (wgmma.cuh);
// part is the consumer's part of the tile's queries or columns.
constexpr int dq_vector(int part, int j, int thread) { return (part * 8 + j) * 128 + thread; }
constexpr bool dq_by_queries(const Config& c) { return c.bn == 128; }

// Shared-memory layout: K, V; stages of Q, of dO; dS [bm][bn] (transposed); dQ; the second stage of dS; a tile of the
// mask; stages of statistics; barriers. Tiles of 16-bit types are in panels of 64 columns. A tile of a mask of float32
// takes the place of the second stage of dS too.
template <class Policy> struct WgmmaGradientKernel {
  static constexpr Config c = Policy::config;
  static constexpr int consumers = 2, producer_registers = 24, consumer_registers = 240;  // total 65,536: 504 * 128
  static_assert(c.bm == consumers * 64 && c.threads == (consumers + 1) * 128 && c.stages == 2);
  static_assert(c.d % 32 == 0 && c.dv % 32 == 0);  // products read only the existing columns of the last panel

  // Each consumer has 64 x 64 of a tile of dQ: half of its queries, or a panel of its columns, of which the last
  // consumer's has dq_last.
  static constexpr bool by_queries = dq_by_queries(c);
  static constexpr int dq_elements = 64 * 64, dq_last = by_queries ? panel : c.d - panel;
  static_assert(by_queries ? c.d == panel : c.bn == 64 && c.d > panel && c.d <= consumers * panel);
  static constexpr unsigned dq_bytes_of(int consumer) {
    return (consumer == 0 ? dq_elements : 64 * dq_last) * static_cast<unsigned>(sizeof(float));
  }

  static constexpr int dq_stages = gradient_dq_stages(c), dq_bytes = c.bn * c.d * 4;
  static constexpr int q_bytes = mma_tile_bytes(c.bn, c.d), o_bytes = mma_tile_bytes(c.bn, c.dv),
                       ds_bytes = mma_tile_bytes(c.bm, c.bn), stats_bytes = c.bn * static_cast<int>(sizeof(TileStats));
  static constexpr int v_at = mma_tile_bytes(c.bm, c.d), q_at = v_at + mma_tile_bytes(c.bm, c.dv),
                       o_at = q_at + c.stages * q_bytes, ds_at = o_at + c.stages * o_bytes, dq_at = ds_at + ds_bytes,
                       ds_apart = ds_bytes + dq_stages * dq_bytes, float_mask_at = ds_at + ds_apart,
                       mask_at = float_mask_at + ds_bytes, stats_at = mask_at + gradient_mask_bytes(c),
                       barriers_at = stats_at + c.stages * stats_bytes;
  static_assert(barriers_at + wgmma_gradient_barrier_bytes(c) == wgmma_gradient_bytes(c));
  static_assert(!c.masks || gradient_mask_bytes(c) == ds_bytes);

  // Named barriers: of both consumers; one per consumer; and for each consumer and stage of dQ, one that it is full and
  // one that it has been read.
  static constexpr int both = 1, own = 2, full = own + consumers, read = full + dq_stages * consumers;
  static_assert(read + dq_stages * consumers <= 16, "number of hardware barriers");
  static constexpr int with_adder = 128 + 32;  // threads at `full` and `read`
  static constexpr int checkers = 64;          // the other warps of the producer warpgroup
};

template <int Stages> struct WgmmaGradientSync {
  tile::sm90::Barrier full_kv, full_mask, empty_mask, full_q[Stages], full_o[Stages], empty_q[Stages], empty_o[Stages],
      arrived[Stages], checked[Stages];  // the last two: for steps whose tiles are checked
  unsigned number;                       // of the block
  int special[Stages];  // the latest step of this stage, counted from 1, with NaN or infinite values in Q or dO
  int special_k;        // whether K has some
};

// Iterations of a block: tiles of queries, head by head, from the first tile on; in the last `falling` parts from the
// last tile on. A part is some of the query heads that share a key head, or some of one's queries; here "head" is a
// part and its keys.
//
// With a causal mask a head's first keys meet most queries. A block may only wait for blocks that began before it. So
// that none has to, the blocks of a head begin with its last keys, each at the first tile of queries, which no other
// has added to yet; but then the longest block would begin last of all, and most of the device would idle. The last
// heads therefore fall: their first keys begin first, when short blocks of earlier heads leave room, spaced by as much
// as the later ones have to wait. Simulated with 8 heads of 4 each and 4096 tokens: 1.0 times the work divided by all
// multiprocessors, instead of 1.66.
template <class Policy, class T> struct GradientWalk {
  static constexpr int bm = Policy::config.bm, bn = Policy::config.bn;
  const GradientArguments<T>& a;
  // key_part: number of the part in its batch, below key heads * parts.
  int batch, key_part, first_key, first_tile, tiles, steps, falls;
  int tile, head;  // current tile of queries and its head

  // number: of the block, below batch * key heads * parts * tiles of keys
  __device__ __forceinline__ GradientWalk(const GradientArguments<T>& args, const GradientWork& work, unsigned number)
      : a(args) {
    const unsigned all = static_cast<unsigned>((a.sk + bm - 1) / bm);
    const unsigned heads = static_cast<unsigned>(a.key_heads * work.parts);
    const unsigned rising = static_cast<unsigned>(a.batch) * heads - work.falling;
    falls = number >= rising * all;
    // Blocks of `interleaved` heads, or of the rest, interleave: the same tile of keys of each head, then the next
    // tile.
    const unsigned first_head = falls ? rising : work.by_group_blocks(number) * work.interleaved;
    const bool whole_group = first_head + work.interleaved <= rising;
    const Divider& by_among = falls ? work.by_falling : whole_group ? work.by_interleaved : work.by_rest;
    unsigned among = number - first_head * all;  // the block's place among those of a tile of keys
    const unsigned place = by_among.divide(among), of_all = first_head + among;
    // Without an order, blocks that take longest with a causal mask come first.
    first_key = static_cast<int>(work.in_order && !falls ? all - 1 - place : place) * bm;
    unsigned of_batch = of_all;
    batch = static_cast<int>(work.by_batch_parts.divide(of_batch));
    key_part = static_cast<int>(of_batch);
    const Keys queries = Meeting<Side::keys>::range(a, first_key, ::min(first_key + bm, a.sk) - 1);
    unsigned range = static_cast<unsigned>(key_part);
    const auto head_part = static_cast<int>(work.by_ranges.divide(range));
    const int in_part = work.tiles_of_part, from = static_cast<int>(range) * in_part;
    first_tile = ::max(queries.first / bn, from);
    tiles = ::max(0, ::min((queries.last + bn - 1) / bn, from + in_part) - first_tile);
    if (queries.first >= queries.last) tiles = 0;
    steps = tiles * work.heads_of_part;
    head = head_part * work.heads_of_part;
    tile = begin();
  }
  // Makes the state warp-uniform in a form that the compiler recognizes: it need not keep a copy per thread.
  __device__ __forceinline__ void share() {
    for (int* number : {&batch, &key_part, &first_key, &first_tile, &tiles, &steps, &falls, &tile, &head})
      *number = __shfl_sync(~0u, *number, 0);
  }
  __device__ __forceinline__ void next() {
    tile += falls ? -1 : 1;
    if (tile >= first_tile && tile < first_tile + tiles) return;
    tile = begin();
    ++head;
  }
  // Key head of the current head.
  __device__ __forceinline__ int key_head() const { return head / a.group; }
  // Row of the block's first key in partial dK and dV.
  __device__ __forceinline__ std::int64_t partial_row(const GradientWork& work) const {
    return (std::int64_t{batch} * a.key_heads * work.parts + key_part) * a.sk + first_key;
  }
  __device__ __forceinline__ int begin() const { return falls ? first_tile + tiles - 1 : first_tile; }
  __device__ __forceinline__ int first_query() const { return tile * bn; }
  __device__ __forceinline__ int last_query() const { return ::min(first_query() + bn, a.sq) - 1; }
  // Whether all queries of a tile exist and attend to all of the `keys` keys from `first` on, which exist.
  __device__ __forceinline__ bool whole(int first, int keys) const {
    return first_query() + bn <= a.sq && all_attend(a, first_query(), last_query(), first, first + keys);
  }
  // Whether existing queries and keys may not meet: with a mask tensor, always.
  __device__ __forceinline__ bool at_edge() const {
    return Policy::config.masks || !all_attend(a, first_query(), last_query(), first_key, ::min(first_key + bm, a.sk));
  }
  // Queries of this tile that attend to a key, counted from the tile's first.
  __device__ __forceinline__ Span span(int key) const {
    const Keys queries = Meeting<Side::keys>::range(a, key, key);
    const int from = ::max(queries.first, first_query()), to = ::min(queries.last, first_query() + bn);
    return {from - first_query(), key < a.sk ? static_cast<unsigned>(::max(0, to - from)) : 0};
  }
  // Whether a query of this tile, counted from its first, attends to the key.
  __device__ __forceinline__ bool meets(int key, int query) const {
    if (!span(key).contains(query)) return false;
    if constexpr (!Policy::config.masks) return true;
    else return mask_at(a, batch, head, first_query() + query, key) != minus_infinity;
  }
  // Loads the mask's tile. Columns: of a panel.
  template <int Columns = panel>
  __device__ __forceinline__ void load_mask(const GradientMaskOf<Policy>& mask, unsigned char* to,
                                            tile::sm90::Barrier* full) const {
    if constexpr (Policy::config.masks)
      load_panels<bn, bm, Columns>(&mask.map, to, full, mask.per_query * first_query(), mask.per_head * head,
                                   mask.per_batch * batch, mma_tile_bytes(bn, panel), first_key);
  }
  __device__ __forceinline__ FloatMask float_mask() const {
    return {static_cast<const float*>(a.mask) + batch * a.at_mask.batch + head * a.at_mask.head,
            a.at_mask.row,
            a.at_mask.element,
            first_query(),
            a.sq - 1,
            first_key,
            a.sk - 1};
  }
  // Index of this tile among those of dQ; and the number of blocks that add to it before this one.
  __device__ __forceinline__ std::int64_t place(const GradientWork& work) const {
    return (std::int64_t{batch} * a.heads + head) * work.tiles + tile;
  }
  // The place of this tile's dQ.
  __device__ __forceinline__ float* dq(const GradientWork& work) const {
    return work.dq_accum + place(work) * (bn * Policy::config.d);
  }
  __device__ __forceinline__ unsigned predecessors() const {
    const int own = first_key / bm;
    return static_cast<unsigned>(falls ? own - keys_of(a, first_query()).first / bm
                                       : (keys_of(a, last_query()).last - 1) / bm - own);
  }
};

// Shared by consumers: a thread's position in tiles of 64 rows, and the steps from products to P and dS. AsIs: scores
// are products (arguments.cuh).
template <class Policy, class T, bool AsIs> class GradientSteps {
 public:
  static constexpr Config c = Policy::config;
  using Axis = tile::sm90::Axis;

  // first: this consumer's first key in the block's tile
  __device__ __forceinline__ explicit GradientSteps(int first)
      : first_(first),
        thread_(static_cast<int>(threadIdx.x) % 128),
        lane_(static_cast<int>(threadIdx.x) % 32),
        warp_(thread_ / 32) {}

  // Row r of this thread in a tile of 64; first element of its pair n.
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
  __device__ __forceinline__ bool any_base(const TileStats* stats) const {
    bool any = false;
#pragma unroll
    for (int n = 0; n < c.bn; n += 32) any = any || stats[n + lane_].has_base();
    return simt::tile<32>().any(any);
  }
  // Computes P and the slopes of scores from products: keep(n, r, p, slope) gets two neighbours of each.
  // bases: of the tile's queries, some of them nonzero (Far); P is then clamped to 1, as by p_of(). span(r): the tile's
  // queries that meet row r. mask: with Config::masks, the address of its tile in shared memory, or one of float32.
  // Pairs that do not meet get masked_p.
  template <bool Masked, bool Far, class MaskAt, class SpanOf, class Keep>
  __device__ __forceinline__ void compute_p_each(const float (&products)[c.bn / 2], const Scores<T>& scores,
                                                 const TileStats* stats, [[maybe_unused]] const float* bases,
                                                 [[maybe_unused]] const MaskAt& mask, SpanOf span, Keep keep) const {
    const Span spans[2] = {span(0), span(1)};
    // An additive mask keeps the scale out of the exponent's factor.
    const float scale_log2 = AsIs && c.masks && !Far ? scores.scale * scores.scale_log2 : scores.scale_log2;
    [[maybe_unused]] decltype(biases_at(mask, 0)) biases;  // for two n
#pragma unroll
    for (int n = 0; n < c.bn / 8; ++n) {
      if constexpr (c.masks)
        if (n % 2 == 0) biases = biases_at(mask, n);
      const auto two = simt::load<4>(reinterpret_cast<const float*>(stats + pair(n)));
      simt::vec<float, 2> base{0, 0};
      if constexpr (Far) base = simt::load<2>(bases + pair(n));
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float p[2], slope[2], bias[2] = {0, 0};
        if constexpr (c.masks) biases.get(n, r, bias);
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
            if constexpr (c.masks) score = AsIs ? fmaf(product, scores.scale, bias[e]) : score + bias[e];
            exponent = fmaf(score - base[e], scale_log2, -two[2 * e]);
            if (base[e] != 0 && exponent > 0) exponent = 0;
          } else {
            exponent = fmaf(score, scale_log2, c.masks ? fmaf(bias[e], log2_e, -two[2 * e]) : -two[2 * e]);
          }
          p[e] = simt::fast_exp2(exponent);
          const bool is_masked = (Masked && !spans[r].contains(pair(n) + e)) || (c.masks && bias[e] == minus_infinity);
          if (is_masked) p[e] = masked_p, slope[e] = 1;
        }
        keep(n, r, p, slope);
      }
    }
  }
  // Computes dS from dP: keep(n, r, ds) gets two neighbours. packed_p(n, r): their P times slopes, rounded; with a mask
  // tensor it says which pairs do not meet.
  template <bool Masked, class SpanOf, class PackedP, class Keep>
  __device__ __forceinline__ void compute_ds_each(const float (&dp)[c.bn / 2], const TileStats* stats, SpanOf span,
                                                  PackedP packed_p, Keep keep) const {
    const Span spans[2] = {span(0), span(1)};
#pragma unroll
    for (int n = 0; n < c.bn / 8; ++n) {
      const auto two = simt::load<4>(reinterpret_cast<const float*>(stats + pair(n)));
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float ds[2];
        tile::unpack_pair<T>(packed_p(n, r), ds[0], ds[1]);
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const bool is_masked = c.masks ? is_masked_p(ds[e]) : Masked && !spans[r].contains(pair(n) + e);
          ds[e] = is_masked ? 0 : ds[e] * (dp[4 * n + 2 * r + e] - two[2 * e + 1]);
        }
        keep(n, r, ds);
      }
    }
  }
  // The mask's elements for the pairs n and n + 1 of both rows: two of T in a word, or floats.
  struct TileBiases {
    unsigned words[4];
    __device__ __forceinline__ void get(int n, int r, float (&bias)[2]) const {
      tile::unpack_pair<T>(words[n % 2 * 2 + r], bias[0], bias[1]);
    }
  };
  struct FloatBiases {
    float values[2][2][2];
    __device__ __forceinline__ void get(int n, int r, float (&bias)[2]) const {
      bias[0] = values[n % 2][r][0], bias[1] = values[n % 2][r][1];
    }
  };
  __device__ __forceinline__ TileBiases biases_at(unsigned mask, int n) const {
    TileBiases biases;
    tile::sm80::load_matrices<true>(biases.words, mask_matrices_at(mask) + n / 2 * panel_rows_bytes);
    return biases;
  }
  __device__ __forceinline__ FloatBiases biases_at(const FloatMaskTile& mask, int n) const {
    FloatBiases biases;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int query = pair(n + i / 4) + i % 2, key = first_ + row(i / 2 % 2);
      const unsigned place =
          tile::sm90::swizzled(static_cast<unsigned>(query), static_cast<unsigned>(key % FloatMaskTile::columns * 4));
      biases.values[i / 4][i / 2 % 2][i % 2] = *reinterpret_cast<const float*>(
          mask.data + key / FloatMaskTile::columns * mma_tile_bytes(c.bn, panel) + place);
    }
    return biases;
  }
  __device__ __forceinline__ FloatBiases biases_at(const FloatMask& mask, int n) const {
    FloatBiases biases;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      biases.values[i / 4][i / 2 % 2][i % 2] = mask(pair(n + i / 4) + i % 2, first_ + row(i / 2 % 2));
    return biases;
  }
  // Address of the mask for the first 16 queries and this warp's keys: one line of 64 keys per query. The offset in a
  // line repeats every 16 queries.
  static constexpr int panel_rows_bytes = 16 * panel * 2;
  __device__ __forceinline__ unsigned mask_matrices_at(unsigned tile) const {
    const int query = lane_ / 16 * 8 + lane_ % 8, key = warp_ * 16 + lane_ / 8 % 2 * 8;
    return tile + static_cast<unsigned>(mma_tile_bytes(c.bn, first_)) +
           tile::sm90::swizzled(static_cast<unsigned>(query), static_cast<unsigned>(key * 2));
  }
  // Address of this lane's row of four 8 x 8 matrices, from query n on, in a tile at `tile`: one line of 64 queries per
  // key.
  __device__ __forceinline__ unsigned matrices_at(unsigned tile, int n) const {
    const int key = first_ + warp_ * 16 + lane_ / 8 % 2 * 8 + lane_ % 8, right = lane_ / 16 * 8;
    return tile + static_cast<unsigned>(mma_tile_bytes(c.bm, n / panel * panel)) +
           tile::sm90::swizzled(static_cast<unsigned>(key), static_cast<unsigned>((n % panel + right) * 2));
  }
  __device__ __forceinline__ void store_tile(unsigned to, const unsigned (&ds)[c.bn / 16][4]) const {
#pragma unroll
    for (int n = 0; n < c.bn; n += 16)
      tile::sm90::store_matrices(matrices_at(to, n), ds[n / 16][0], ds[n / 16][1], ds[n / 16][2], ds[n / 16][3]);
  }
  // Converts wgmma accumulators to a left operand.
  static __device__ __forceinline__ void round(unsigned (&to)[c.bn / 16][4], const float (&from)[c.bn / 2]) {
#pragma unroll
    for (int n = 0; n < c.bn / 16; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) to[n][i] = tile::pack_pair<T>(from[8 * n + 2 * i], from[8 * n + 2 * i + 1]);
  }
  // Stores sums as T to panels in shared memory, [bm][Columns].
  template <int Columns>
  __device__ __forceinline__ void store_rows(unsigned char* to, const float (&sums)[Columns / 2], float scale) const {
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
  // Stores sums in float32 to the block's first `rows` rows in global memory, [rows][Width].
  template <int Width, int Sums>
  __device__ __forceinline__ void store_partial_rows(float* to, const float (&sums)[Sums], float scale,
                                                     int rows) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int at = first_ + row(r);
      if (at >= rows) continue;
#pragma unroll
      for (int n = 0; n < Sums / 4; ++n)
        simt::store_global(to + at * Width + pair(n),
                           simt::vec<float, 2>{sums[4 * n + 2 * r] * scale, sums[4 * n + 2 * r + 1] * scale});
    }
  }
  // value(query, column): of dO, 0 if out of range. Adds NaN and infinite values to the keys that meet their queries,
  // meets(r, query); those already in the products are added once more, which changes nothing.
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
