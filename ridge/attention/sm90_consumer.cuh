// A consumer warpgroup on Hopper: scores, P and O of 64 queries in registers, and the wgmma products that it starts on
// tiles in shared memory. The caller loads the tiles and synchronizes with the loads.
#pragma once
#include <ridge/attention/arguments.cuh>
#include <ridge/attention/sm90_wgmma.hpp>
#include <ridge/attention/special.cuh>
#include <ridge/tile/opaque.cuh>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/sm80/mma.cuh>
#include <ridge/tile/sm90/launch.cuh>
#include <ridge/tile/sm90/tma.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>
#include <ridge/tile/sm90/wgmma.cuh>

namespace ridge::attention_kernels {

// Tensor maps of [batch, heads, rows, columns], in boxes of 64 (q, o, mask) and bn (k, v) rows and 64 columns.
struct WgmmaMaps {
  tile::sm90::TensorMap q, k, v, o;
};

// Shared-memory layout of a block, in panels of 64 columns with rows of 128 bytes: Q; stages of K and V; the staging
// buffer of O; barriers.
template <class Policy> struct WgmmaKernel {
  static constexpr Config c = Policy::config;
  static constexpr int consumers = c.bm / 64, producers = c.schedule == Schedule::alone ? 0 : 1;
  static constexpr bool ping_pong = c.schedule == Schedule::ping_pong;
  static_assert(!ping_pong || (consumers == 2 && c.bm <= c.bn), "two consumers, with as many tiles each");
  static_assert(c.threads == (consumers + producers) * 128 && c.bm % 64 == 0 && c.bn % 16 == 0);
  static_assert(c.d % 16 == 0 && c.dv % 16 == 0);  // products read only the existing columns of the last panel

  static constexpr int q_bytes = mma_tile_bytes(c.bm, c.d), k_bytes = mma_tile_bytes(c.bn, c.d),
                       v_bytes = mma_tile_bytes(c.bn, c.dv);
  static constexpr int k_at = mma_q_bytes(c), v_at = k_at + c.stages * k_bytes, end_v = v_at + c.stages * v_bytes;
  static constexpr int o_columns = wgmma_o_columns(c), o_at = end_v, mask_at = o_at + wgmma_o_bytes(c);
  static constexpr int barriers_at = mask_at;  // where TMA loads no mask
  static_assert(o_columns == c.dv || (c.dv % o_columns == 0 && o_columns % panel == 0));
  static_assert(barriers_at + wgmma_barrier_bytes(c) == wgmma_bytes(c));
  static constexpr int q_panel = mma_tile_bytes(c.bm, panel);  // from one panel of Q, or O, to the next

  // Registers of the block, in steps of 8: the producer has few, and consumers share the rest.
  static constexpr int registers = 65536 / (c.threads * c.blocks_per_sm) / 8 * 8 * (consumers + 1);
  static constexpr int producer_registers = consumers <= 2 ? 40 : 32,
                       consumer_registers = (registers - producer_registers) / consumers / 8 * 8;
  // Named barriers: one per consumer, starting at `own`; one of the checkers; one per consumer for the ping-pong order.
  static constexpr int own = 1, all_checkers = own + consumers, order = all_checkers + 1;
  static constexpr int checkers = 96;  // the other warps of the producer warpgroup
};

// Consumer of 64 queries. A thread has two rows of scores with a tile of keys, their P and their O.
template <class Policy, class T> class WgmmaConsumer {
  static constexpr Config c = Policy::config;
  using K = WgmmaKernel<Policy>;
  using Axis = tile::sm90::Axis;
  static constexpr int line = panel * 2;

 public:
  static constexpr int rows = 2, tile_keys = c.bn;  // rows per thread; keys of a tile

  // first: the consumer's first row in the block's tile
  __device__ __forceinline__ explicit WgmmaConsumer(int first)
      : first_(first), lane_(static_cast<int>(threadIdx.x) % 32), warp_(static_cast<int>(threadIdx.x) / 32 % 4) {}

  // Resets the state before a tile of queries.
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int r = 0; r < rows; ++r) running[r] = SoftmaxState::empty();
    is_far_ = false;
#pragma unroll
    for (int i = 0; i < c.dv / 2; ++i) o_[i] = 0;
  }

  // Position of this thread's row r in the block's tile; first key or column of its pair n.
  __device__ __forceinline__ int row(int r) const { return first_ + warp_ * 16 + r * 8 + lane_ / 4; }
  __device__ __forceinline__ int pair(int n) const { return n * 8 + lane_ % 4 * 2; }

  // Starts S = Q K^T.
  __device__ __forceinline__ void start_qk(unsigned q, unsigned k) {
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
  // Starts O += P V.
  __device__ __forceinline__ void start_pv(unsigned v) {
    const std::uint64_t b = tile::sm90::descriptor(Axis::outer, v, c.bn);
#pragma unroll
    for (int n = 0; n < c.bn; n += 16)
      tile::sm90::multiply_kept<T, Axis::outer, c.dv>(
          o_, p_[n / 16], tile::sm90::advanced(b, tile::sm90::k_offset(Axis::outer, n)), true);
    tile::sm90::commit_products();
  }

  // f(r, key, score) for every score, which is replaced by the result.
  template <class F> __device__ __forceinline__ void for_scores(F f) {
#pragma unroll
    for (int n = 0; n < c.bn / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) s_[4 * n + i] = f(i / 2, pair(n) + i % 2, s_[4 * n + i]);
  }
  // f(take(r, key), x, y) for the scores x, y of each pair of neighbouring keys. The loads of a batch of pairs are in
  // flight together.
  template <class Take, class F> __device__ __forceinline__ void for_score_pairs(Take take, F f) {
    // As many as registers hold beside narrow sums.
    constexpr int batch = c.bn == 128 && c.dv <= 64 ? 16 : c.bn % 64 == 0 ? 8 : 4;
    static_assert(c.bn / 8 % batch == 0);
#pragma unroll
    for (int first = 0; first < c.bn / 8; first += batch) {
      decltype(take(0, 0)) taken[batch][rows];
#pragma unroll
      for (int n = 0; n < batch; ++n)
#pragma unroll
        for (int r = 0; r < rows; ++r) taken[n][r] = take(r, pair(first + n));
#pragma unroll
      for (int n = 0; n < batch; ++n)
#pragma unroll
        for (int r = 0; r < rows; ++r) {
          float* const scores = s_ + 4 * (first + n) + 2 * r;
          f(taken[n][r], scores[0], scores[1]);
        }
    }
  }
  // Adds a bias for each key, the same for all queries. biases: of the keys 64 p + 2 lane and the next one.
  template <int Pieces> __device__ __forceinline__ void add_row(const float (&biases)[Pieces][2]) {
    for_scores_and_biases(biases, [](float& score, float bias) { score += bias; });
  }
  // Sets scores of keys whose bias is -inf to -inf, whatever they were. Other scores that are NaN may become +inf,
  // which makes their row NaN too.
  template <int Pieces> __device__ __forceinline__ void exclude_row(const float (&biases)[Pieces][2]) {
    float limits[Pieces][2];
#pragma unroll
    for (int i = 0; i < 2 * Pieces; ++i)
      limits[i / 2][i % 2] = biases[i / 2][i % 2] == minus_infinity ? minus_infinity : -minus_infinity;
    for_scores_and_biases(limits, [](float& score, float limit) { score = fminf(score, limit); });
  }
  // Replaces each score by factor * score + element, with [bm][bn] elements T in panels in shared memory from `from`
  // on; by -inf where the element is -inf, whatever the score was.
  __device__ __forceinline__ void add_elements(unsigned from, float factor) {
    unsigned marks = 0;
    for_pairs_of_elements(from, [&](int i, unsigned pair) {
      marks |= marked<T>(pair);
      float bias[2];
      tile::unpack_pair<T>(pair, bias[0], bias[1]);
#pragma unroll
      for (int j = 0; j < 2; ++j) s_[i + j] = fmaf(s_[i + j], factor, bias[j]);
    });
    if (!simt::tile<32>().any(marks != 0)) return;
    for_pairs_of_elements(from, [&](int i, unsigned pair) {
      float bias[2];
      tile::unpack_pair<T>(pair, bias[0], bias[1]);
#pragma unroll
      for (int j = 0; j < 2; ++j)
        if (bias[j] == minus_infinity) s_[i + j] = minus_infinity;
    });
  }
  // The same with floats, in panels of as many bytes: 32 columns.
  __device__ __forceinline__ void add_floats(unsigned char* from, float factor) {
    constexpr int columns = panel / 2;
    unsigned lane = static_cast<unsigned>(lane_);
    tile::make_opaque(lane);  // or addresses stay in registers until the next tile, as in store()
    const unsigned first = static_cast<unsigned>(first_ + warp_ * 16) + lane / 4;
#pragma unroll
    for (int n = 0; n < c.bn / 8; ++n)
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const unsigned place = tile::sm90::swizzled(first + r * 8, n * 8 % columns * 4 + lane % 4 * 8);
        const auto bias = simt::load<2>(reinterpret_cast<const float*>(from + n * 8 / columns * K::q_panel + place));
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          float& score = s_[4 * n + 2 * r + j];
          score = bias[j] == minus_infinity ? minus_infinity : fmaf(score, factor, bias[j]);
        }
      }
  }
  // Sets scores of keys outside span(r) to -inf, for each row r.
  template <class F> __device__ __forceinline__ void apply_mask(F span) {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const Span keys = span(r);
      // Counted from this thread's first key. Most spans begin with the tile: those comparisons are skipped.
      const int end = keys.count == 0 ? 0 : keys.first + static_cast<int>(keys.count);
      mask_keys(r, [last = end - pair(0)](int key) { return key >= last; });
      if (keys.first > 0) mask_keys(r, [first = keys.first - pair(0)](int key) { return key < first; });
    }
  }

  // Replaces scores by P, 0 for -inf. Keeps the factor for O, where the maximum has risen, for rescale().
  __device__ __forceinline__ void compute_p(float scale_log2) {
    const simt::tiles<4> quad;  // lanes that share a row
    float row_max[rows];
    bool far = false;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      float part[4];  // four independent chains hide latency
#pragma unroll
      for (int n = 0; n < c.bn / 8; ++n) {
        const float pair = fmaxf(s_[4 * n + 2 * r], s_[4 * n + 2 * r + 1]);
        part[n % 4] = n < 4 ? pair : fmaxf(part[n % 4], pair);
      }
      row_max[r] = fmaxf(fmaxf(running[r].row_max, fmaxf(part[0], part[1])), fmaxf(part[2], part[3]));
      far = far || Reference::is_far(row_max[r], scale_log2);
      row_max[r] = quad.reduce(row_max[r], [](float x, float y) { return fmaxf(x, y); });
    }
    const bool was_far = is_far_;
    is_far_ = simt::tile<32>().any(far);
    if (is_far_ || was_far) {
#pragma unroll
      for (int r = 0; r < rows; ++r) change_[r] = running[r].update_max(row_max[r], scale_log2);
      for_scores([&](int r, int, float score) { return running[r].relative(score); });
    } else {
#pragma unroll
      for (int r = 0; r < rows; ++r) change_[r] = running[r].update_max_near(row_max[r], scale_log2);
    }
    for_scores([&](int r, int, float score) {
      const float p = running[r].p(score, scale_log2);
      running[r].sum += p;
      return p;
    });
  }
  __device__ __forceinline__ void rescale() {
    if (is_step(c) || simt::tile<32>().any(!(change_[0] == 1) || !(change_[1] == 1))) {
#pragma unroll
      for (int i = 0; i < c.dv / 2; ++i) o_[i] *= change_[i / 2 % 2];
    }
    settle();
  }
  // Used after a branch that changes O: otherwise the compiler delays the changes past the start of the next products,
  // and has to wait for those.
  __device__ __forceinline__ void settle() {
#pragma unroll
    for (int i = 0; i < c.dv / 2; ++i) tile::make_opaque(o_[i]);
  }
  // Converts P to the next product's operand, as soon as the last product has read the old one.
  __device__ __forceinline__ void pack_p() {
#pragma unroll
    for (int n = 0; n < c.bn / 16; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) p_[n][i] = tile::pack_pair<T>(s_[8 * n + 2 * i], s_[8 * n + 2 * i + 1]);
  }

  // After the last tile: reduces row sums, and divides O by them.
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

  // Stores K::o_columns columns of O from `first` on, as T, to panels in shared memory at `to`.
  __device__ __forceinline__ void store(unsigned to, int first) const {
    unsigned lane = static_cast<unsigned>(lane_);
    tile::make_opaque(lane);  // or the addresses of all elements stay in registers until the next tile of queries
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

  // Stores the columns of O that exist, of this consumer's rows that exist, from registers.
  //   to: [rows][dv] of float32, from the block's first row on
  __device__ __forceinline__ void store_floats(float* to, int existing, int dv) const {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if (row(r) >= existing) continue;
#pragma unroll
      for (int n = 0; n < c.dv / 8; ++n)
        if (pair(n) < dv)
          simt::store_global(to + row(r) * std::int64_t{dv} + pair(n),
                             simt::vec<float, 2>{o_[4 * n + 2 * r], o_[4 * n + 2 * r + 1]});
    }
  }

  SoftmaxState running[rows];

 protected:
  // f(i, pair) for scores i and i + 1 and the pair of elements at their positions. Matrix loads give a thread the
  // elements of its own scores.
  template <class F> __device__ __forceinline__ void for_pairs_of_elements(unsigned from, F f) const {
    const unsigned row = static_cast<unsigned>(first_ + warp_ * 16 + lane_ % 16),
                   piece = static_cast<unsigned>(lane_ / 16);
#pragma unroll
    for (int n = 0; n < c.bn; n += 16) {
      unsigned pairs[4];
      tile::sm80::load_matrices<false>(pairs, from + mma_tile_bytes(c.bm, n / panel * panel) +
                                                  tile::sm90::swizzled(row, (n % panel / 8 + piece) * 16));
#pragma unroll
      for (int i = 0; i < 4; ++i) f(n / 2 + 2 * i, pairs[i]);
    }
  }
  // f(score, bias) for every score, with biases as in add_row().
  template <int Pieces, class F>
  __device__ __forceinline__ void for_scores_and_biases(const float (&biases)[Pieces][2], F f) {
#pragma unroll
    for (int n = 0; n < c.bn / 8; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float bias = __shfl_sync(~0u, biases[n / 8][e], n % 8 * 4 + lane_ % 4);
#pragma unroll
        for (int r = 0; r < rows; ++r) f(s_[4 * n + 2 * r + e], bias);
      }
  }
  // Sets scores of row r to -inf for keys where f(key).
  template <class F> __device__ __forceinline__ void mask_keys(int r, F f) {
#pragma unroll
    for (int n = 0; n < c.bn / 8; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (f(n * 8 + i)) s_[4 * n + 2 * r + i] = minus_infinity;
  }

  int first_, lane_, warp_;
  bool is_far_;  // whether a row of this warp is far (Reference)
  float change_[rows];
  float s_[c.bn / 2], o_[c.dv / 2];  // accumulators of wgmma: [64][bn] and [64][dv] per warpgroup
  unsigned p_[c.bn / 16][4];         // P [64][bn], by 16 keys
};

// An element of a consumer's rows of O in the staging buffer, which begins with column `first`.
template <class Policy, class T> struct StagedO {
  unsigned char* out;
  int first_row, first;  // first_row: of the consumer, in the block's tile
  __device__ __forceinline__ T& operator()(int row, int column) const {
    const int in_buffer = column - first;
    return *reinterpret_cast<T*>(
        out + in_buffer / panel * WgmmaKernel<Policy>::q_panel +
        tile::sm90::swizzled(static_cast<unsigned>(first_row + row), static_cast<unsigned>(in_buffer % panel * 2)));
  }
};

// Adds to a consumer's rows of O, where they were stored, the NaN and infinite values of V that were cleared in tiles
// with edges: those of keys that a query attends to. Once for a tile of queries and element by element, so that the
// loop over keys has no code for it.
//   special: tiles of keys from the first to the last such one     first_row: of the consumer, in the block's tile
//   columns [first, first + Columns) of O     stored(row, column): that element; the row is the consumer's
template <class Policy, bool TakesMask, int Columns, class T, class Walk, class Stored>
__device__ __forceinline__ void add_special(const Arguments<T>& a, const BlockCoord& at, const Walk& walk,
                                            const typename Walk::Tiles& special, int first_row, int first,
                                            Stored stored) {
  constexpr Config c = Policy::config;
  const T* const values = a.v + at.batch * a.at_v.batch + at.head / a.group * a.at_v.head;
  for (int n = static_cast<int>(threadIdx.x) % 128; n < 64 * Columns; n += 128) {
    const int row = n / Columns, column = first + n % Columns, query = walk.first_query + first_row + row;
    if (query >= a.sq || column >= a.dv) continue;
    auto& o = stored(row, column);
    float sum = static_cast<float>(o);
    for (int tile = special.from; tile < special.to; ++tile) {
      if (walk.whole.contains(tile)) continue;  // the product had the values as they are
      const int first_key = walk.first(tile);
      const Span keys = span_of(a, query, first_key, ::min(first_key + c.bn, walk.keys.last));
      for (int key = keys.first; key < keys.first + static_cast<int>(keys.count); ++key) {
        const float v = static_cast<float>(values[(first_key + key) * a.at_v.row + column * a.at_v.element]);
        if (fabsf(v) < -minus_infinity) continue;
        if constexpr (TakesMask)
          if (a.mask && mask_at(a, at.batch, at.head, query, first_key + key) == minus_infinity) continue;
        sum += v;
      }
    }
    o = static_cast<std::remove_reference_t<decltype(o)>>(sum);
  }
}

}  // namespace ridge::attention_kernels
