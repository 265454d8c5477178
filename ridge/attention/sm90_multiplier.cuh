// What a multiplying warpgroup on Hopper has: 64 queries' scores, weights and O in its registers, and the
// products that it starts on tiles in shared memory. Who brings the tiles and when
// they may be read is its caller's to know.
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

// The tensors as [batch, heads, rows, columns], in boxes of 64 (q, o, mask) and bn (k, v) rows and 64 columns.
struct WgmmaMaps {
  tile::sm90::TensorMap q, k, v, o;
};

// Where a block's tiles lie in shared memory, in panels of 64 columns whose rows are a line of 128 bytes: Q; stages of
// K and V; the place that O leaves through; barriers.
template <class Row> struct WgmmaKernel {
  static constexpr Config c = Row::config;
  static constexpr int multipliers = c.bm / 64, loaders = c.schedule == Schedule::alone ? 0 : 1;
  static constexpr bool in_turns = c.schedule == Schedule::turns;
  static_assert(!in_turns || (multipliers == 2 && c.bm <= c.bn), "two take turns, with as many tiles each");
  static_assert(c.threads == (multipliers + loaders) * 128 && c.bm % 64 == 0 && c.bn % 16 == 0);
  static_assert(c.d % 16 == 0 && c.dv % 16 == 0);  // of the last panel, products take the columns that there are

  static constexpr int q_bytes = mma_tile_bytes(c.bm, c.d), k_bytes = mma_tile_bytes(c.bn, c.d),
                       v_bytes = mma_tile_bytes(c.bn, c.dv);
  static constexpr int k_at = mma_q_bytes(c), v_at = k_at + c.stages * k_bytes, end_v = v_at + c.stages * v_bytes;
  static constexpr int o_columns = wgmma_o_columns(c), o_at = end_v, mask_at = o_at + wgmma_o_bytes(c);
  static constexpr int barriers_at = mask_at;  // where no mask is brought
  static_assert(o_columns == c.dv || (c.dv % o_columns == 0 && o_columns % panel == 0));
  static_assert(barriers_at + wgmma_barrier_bytes(c) == wgmma_bytes(c));
  static constexpr int q_panel = mma_tile_bytes(c.bm, panel);  // from one panel of Q, or O, to the next

  // Of the registers that a block is launched with, in steps of 8: the loader has few, and multipliers what is left.
  static constexpr int registers = 65536 / c.threads / 8 * 8 * (multipliers + 1);
  static constexpr int loader_registers = multipliers == 2 ? 40 : 32,
                       multiplier_registers = (registers - loader_registers) / multipliers / 8 * 8;
  // Named barriers: of a multiplier's threads, from this number on, of the checkers, and of each one's turn.
  static constexpr int own = 1, all_checkers = own + multipliers, turn = all_checkers + 1;
  static constexpr int checkers = 96;  // the loader's other warps
};

// A multiplier's part: 64 queries, of which a thread has two rows' scores with a tile of keys,
// their weights and their O.
template <class Row, class T> class WgmmaMultiplier {
  static constexpr Config c = Row::config;
  using K = WgmmaKernel<Row>;
  using Axis = tile::sm90::Axis;
  static constexpr int line = panel * 2;

 public:
  static constexpr int rows = 2, tile_keys = c.bn;  // a thread's rows; keys of a tile

  // first: the multiplier's first row in the block's tile
  __device__ __forceinline__ explicit WgmmaMultiplier(int first)
      : first_(first), lane_(static_cast<int>(threadIdx.x) % 32), warp_(static_cast<int>(threadIdx.x) / 32 % 4) {}

  // Before a tile of queries.
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int r = 0; r < rows; ++r) running[r] = RunningRow::nothing();
    is_far_ = false;
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
  // f(take(r, key), x, y) of the scores of each pair of neighbouring keys. What is taken of a turn's pairs is on its
  // way at once.
  template <class Take, class F> __device__ __forceinline__ void for_score_pairs(Take take, F f) {
    constexpr int turn = c.bn % 64 == 0 ? 8 : 4;
    static_assert(c.bn / 8 % turn == 0);
#pragma unroll
    for (int first = 0; first < c.bn / 8; first += turn) {
      decltype(take(0, 0)) taken[turn][rows];
#pragma unroll
      for (int n = 0; n < turn; ++n)
#pragma unroll
        for (int r = 0; r < rows; ++r) taken[n][r] = take(r, pair(first + n));
#pragma unroll
      for (int n = 0; n < turn; ++n)
#pragma unroll
        for (int r = 0; r < rows; ++r) {
          float* const scores = s_ + 4 * (first + n) + 2 * r;
          f(taken[n][r], scores[0], scores[1]);
        }
    }
  }
  // A score becomes factor * score + what lies at its place of [bm][bn] elements T in shared memory from `from` on, in
  // panels; or -inf where that is, whatever the score was.
  __device__ __forceinline__ void add_elements(unsigned from, float factor) {
    unsigned marks = 0;
    for_pairs_of_elements(from, [&](int i, unsigned pair) {
      marks |= marked<T>(pair);
      float more[2];
      tile::unpack_pair<T>(pair, more[0], more[1]);
#pragma unroll
      for (int j = 0; j < 2; ++j) s_[i + j] = fmaf(s_[i + j], factor, more[j]);
    });
    if (!simt::tile<32>().any(marks != 0)) return;
    for_pairs_of_elements(from, [&](int i, unsigned pair) {
      float more[2];
      tile::unpack_pair<T>(pair, more[0], more[1]);
#pragma unroll
      for (int j = 0; j < 2; ++j)
        if (more[j] == minus_infinity) s_[i + j] = minus_infinity;
    });
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
    float top[rows];
    bool far = false;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      float part[4];  // one maximum would wait for itself
#pragma unroll
      for (int n = 0; n < c.bn / 8; ++n) {
        const float pair = fmaxf(s_[4 * n + 2 * r], s_[4 * n + 2 * r + 1]);
        part[n % 4] = n < 4 ? pair : fmaxf(part[n % 4], pair);
      }
      top[r] = fmaxf(fmaxf(running[r].top, fmaxf(part[0], part[1])), fmaxf(part[2], part[3]));
      far = far || Reference::is_far(top[r], factor);
      top[r] = quad.reduce(top[r], [](float x, float y) { return fmaxf(x, y); });
    }
    const bool was_far = is_far_;
    is_far_ = simt::tile<32>().any(far);
    if (is_far_ || was_far) {
#pragma unroll
      for (int r = 0; r < rows; ++r) change_[r] = running[r].raise(top[r], factor);
      for_scores([&](int r, int, float score) { return running[r].relative(score); });
    } else {
#pragma unroll
      for (int r = 0; r < rows; ++r) change_[r] = running[r].raise_near(top[r], factor);
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

  // value(key, column): of V, 0 where there is none. Adds those of `keys` keys that are NaN or infinite, to the rows r
  // for which attends(r, key).
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
  // f(i, pair) of scores i and i + 1 and the two elements at their places. As matrices are loaded, a thread has the
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
  // Of row r, -inf in the place of scores of keys that f(key) names.
  template <class F> __device__ __forceinline__ void drop_keys(int r, F f) {
#pragma unroll
    for (int n = 0; n < c.bn / 8; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (f(n * 8 + i)) s_[4 * n + 2 * r + i] = minus_infinity;
  }

  int first_, lane_, warp_;
  bool is_far_;  // whether a row of this warp is
  float change_[rows];
  float s_[c.bn / 2], o_[c.dv / 2];  // sums of wgmma: [64][bn] and [64][dv] of the warpgroup
  unsigned p_[c.bn / 16][4];         // weights [64][bn], by 16 keys
};

}  // namespace ridge::attention_kernels
