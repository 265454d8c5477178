// Gradients with mma.sync, tensor cores that warps feed from registers, from Ampere on: f16 and bf16, with every
// feature of the forward pass but pages and lengths. The formulas are in gradient.cuh.
//
// A block owns rows of one side and iterates over those of the other, and a kernel computes one gradient: dQ for
// queries, dK or dV for keys. Its own rows are those of the products: P and dS are then in a warp's registers as the
// left operand of the sum. The code for one query's O (sm80_warp.cuh) serves all three, and only the other side's tiles
// go through shared memory. S is computed in each kernel and dP in two, eight products instead of five; in exchange a
// warp has registers for the sums of 32 rows, and each sum has one writer and one order.
#pragma once
#include <ridge/attention/gradient.cuh>
#include <ridge/attention/launch_table.cuh>
#include <ridge/attention/sm80_gradient.hpp>
#include <ridge/attention/sm80_warp.cuh>

namespace ridge::attention_kernels {

enum class Sum { dq, dk, dv };

// Shared-memory layout: a block's own rows of x and y (gradient.cuh, SideRows); stages of the other side's x and y, and
// of the queries' statistics.
template <class Policy> struct MmaGradientKernel {
  static constexpr Config c = Policy::config;
  static_assert(c.d == c.dv, "x and y share what tiles are");
  static constexpr int own_bytes = mma_tile_bytes(c.bm, c.d), other_bytes = mma_tile_bytes(c.bn, c.d),
                       stats_at = 2 * other_bytes, stage_bytes = stats_at + c.bn * static_cast<int>(sizeof(QueryStats)),
                       stages_at = 2 * own_bytes;
  static_assert(stages_at + mma_stages * stage_bytes == mma_gradient_bytes(c) && stage_bytes % 128 == 0);
};

// Rows of a warp: S and dP with a tile of the other side, and their sum, which is the base class's O.
template <class Policy, class T> class MmaGradientWarp : public MmaWarp<Policy, T> {
  using Base = MmaWarp<Policy, T>;
  static constexpr Config c = Policy::config;
  static constexpr int pairs = c.bn / 8;

 public:
  // dP = y y^T
  __device__ __forceinline__ void multiply_dp(unsigned own, unsigned other) {
    this->template multiply_rows<false>(dp_, own, other);
  }
  // f(r, column, score, dP) for every pair.
  template <class F> __device__ __forceinline__ void for_pairs_of_rows(F f) {
#pragma unroll
    for (int n = 0; n < pairs; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e)
#pragma unroll
        for (int r = 0; r < Base::rows; ++r)
          f(r, this->key(n) + e, this->s_[r / 2][n][r % 2 * 2 + e], dp_[r / 2][n][r % 2 * 2 + e]);
  }

 private:
  float dp_[Base::rows / 2][pairs][4];  // layout of scores
};

// Replaces NaN and infinite values by 0, in the pieces that this thread copied.
template <int Rows, int Columns, int Threads, class T>
__device__ __forceinline__ void clear_special(unsigned char* tile) {
  constexpr int vector = 16 / sizeof(T), row_vectors = Columns / vector;
#pragma unroll 1
  for (int n = static_cast<int>(threadIdx.x); n < Rows * row_vectors; n += Threads) {
    auto* piece = reinterpret_cast<unsigned*>(tile + PanelTile<Rows>::at(n / row_vectors, n % row_vectors * vector));
    simt::vec<unsigned, 4> words = simt::load<4>(piece);
#pragma unroll
    for (int w = 0; w < 4; ++w) words[w] = without_special<T>(words[w]);
    simt::store(piece, words);
  }
}

// Computes the rows of one gradient.                                                    shapes: see GradientArguments
//   shared  own x [bm][d]  y [bm][d]; 2 x (the other's x [bn][d]  y [bn][d], stats [bn])
// Preconditions: cc 80 or later; statistics are stored; gridDim.x is batch * heads of the gradient's side * tiles of
// its rows, at least 1; d and dv are at most the Config's.
template <Sum Of, class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    attention_gradient_mma(GradientArguments<T> a) {
  if constexpr (tile::sm80::available) {
    constexpr Config c = Policy::config;
    constexpr bool of_keys = Of != Sum::dq, of_products = Of != Sum::dv;  // dQ and dK are sums of dS
    constexpr Side S = of_keys ? Side::keys : Side::queries;
    using K = MmaGradientKernel<Policy>;
    unsigned char* own_x = simt::dynamic_shared<unsigned char>();
    unsigned char* own_y = own_x + K::own_bytes;
    const auto stage_x = [=](int stage) { return own_x + K::stages_at + stage * K::stage_bytes; };
    const auto stage_y = [=](int stage) { return stage_x(stage) + K::other_bytes; };
    const auto stage_stats = [=](int stage) { return reinterpret_cast<QueryStats*>(stage_x(stage) + K::stats_at); };

    const Meeting<S> at(a, c.bm);
    select_sequence(a, at.batch);
    const int rows = at.count(a);
    if (at.first >= rows) return;
    const Keys range = at.range(a, at.first, ::min(at.first + c.bm, rows) - 1);
    const int tiles = ::max(0, (range.last - range.first + c.bn - 1) / c.bn), steps = tiles * at.heads(a);
    const auto head_of = [&](int step) { return at.first_head(a) + step / tiles; };
    const auto first_of = [&](int step) { return range.first + step % tiles * c.bn; };
    const auto start = [&](int step, int stage) {
      const int head = head_of(step), first = first_of(step), valid = Meeting<Meeting<S>::other>::count(a) - first;
      const SideRows<T> other = rows_of<Meeting<S>::other>(a, at.batch, at.other_head(a, head));
      start_tile<c.bn, c.d, c.threads, T>(stage_x(stage), valid, a.d, other.x.element, a.vectors,
                                          [&](int row) { return other.x(first + row); });
      start_tile<c.bn, c.d, c.threads, T>(stage_y(stage), valid, a.dv, other.y.element, a.vectors,
                                          [&](int row) { return other.y(first + row); });
      if constexpr (of_keys)
        for (int n = static_cast<int>(threadIdx.x); n < c.bn; n += c.threads)
          tile::copy_async<sizeof(QueryStats)>(stage_stats(stage) + n,
                                               &stats_of(a, at.batch, head, n < valid ? first + n : first),
                                               n < valid ? sizeof(QueryStats) : 0);
    };
    const SideRows<T> own = rows_of<S>(a, at.batch, at.head);
    start_tile<c.bm, c.d, c.threads, T>(own_x, rows - at.first, a.d, own.x.element, a.vectors,
                                        [&](int row) { return own.x(at.first + row); });
    if constexpr (of_products)
      start_tile<c.bm, c.d, c.threads, T>(own_y, rows - at.first, a.dv, own.y.element, a.vectors,
                                          [&](int row) { return own.y(at.first + row); });
    if (steps > 0) start(0, 0);

    const Scores<T> scores(a);
    MmaGradientWarp<Policy, T> warp;
    tile::wait_for_copies();
    __syncthreads();
    const unsigned x_at = tile::sm80::shared_address(own_x), y_at = tile::sm80::shared_address(own_y);
    warp.read_q(x_at);
    int stage = 0;
    RIDGE_KEEP_LOOP
    for (int step = 0; step < steps; ++step, stage ^= 1) {
      const int head = head_of(step), first = first_of(step);
      const int first_query = of_keys ? first : at.first, queries = of_keys ? c.bn : c.bm;
      const int first_key = of_keys ? at.first : first, keys = of_keys ? c.bm : c.bn;
      const bool inside = first_query + queries <= a.sq &&
                          all_attend(a, first_query, first_query + queries - 1, first_key, first_key + keys);
      // Operand that is summed over: dO, Q or K.
      unsigned char* const summed = Of == Sum::dv ? stage_y(stage) : stage_x(stage);
      // The tile is here, and no warp still reads the one before: its place is filled next.
      tile::wait_for_copies();
      bool special = false;
      if (inside && a.mask == nullptr) __syncthreads();
      else special = __syncthreads_or(find_special<c.bn, c.d, c.threads, T>(summed));
      if (step + 1 < steps) start(step + 1, stage ^ 1);
      warp.multiply_qk(x_at, tile::sm80::shared_address(stage_x(stage)));
      if constexpr (of_products) warp.multiply_dp(y_at, tile::sm80::shared_address(stage_y(stage)));

      const QueryStats* theirs = stage_stats(stage);
      QueryStats mine[warp.rows];
      if constexpr (!of_keys) {
#pragma unroll
        for (int r = 0; r < warp.rows; ++r)
          mine[r] = stats_of(a, at.batch, at.head, ::min(at.first + warp.row(r), rows - 1));
      }
      const auto stats = [&](int r, int column) {
        if constexpr (of_keys) return theirs[column];
        else return mine[r];
      };
      // Uniform conditions are tested outside of the loop over pairs.
      if (!scores.as_is) {
        warp.for_pairs_of_rows([&](int r, int column, float& product, float& grad) {
          if constexpr (of_products) score_gradient(scores, stats(r, column), product, grad);
          else product = scores.of(product);
        });
      } else if constexpr (of_products) {
        warp.for_pairs_of_rows([&](int r, int column, float&, float& grad) { grad -= stats(r, column).delta; });
      }
      if (a.mask != nullptr)
        warp.for_pairs_of_rows([&](int r, int column, float& score, float&) {
          const int i = first_query + (of_keys ? column : warp.row(r)),
                    key = first_key + (of_keys ? warp.row(r) : column);
          if (i < a.sq && key < a.sk) score = scores.masked(a, at.batch, head, i, key, score);
        });
      if (!inside)
        warp.apply_mask([&](int r) -> Span {
          const int i = at.first + warp.row(r);
          const Keys meets = at.range(a, i, i);
          const int from = ::max(meets.first, first), to = ::min(meets.last, first + c.bn);
          return {from - first, i < rows ? static_cast<unsigned>(::max(0, to - from)) : 0};
        });
      warp.for_pairs_of_rows([&](int r, int column, float& score, float& grad) {
        if constexpr (of_products) {
          compute_p_ds(scores.scale_log2, stats(r, column), score, grad);
          score = grad;
        } else {
          score = score == minus_infinity ? masked_p : p_of(scores.scale_log2, stats(r, column), score);
        }
      });
      const unsigned sum_over = tile::sm80::shared_address(summed);
      if constexpr (of_products) {
        // A pair that meets a NaN in Q or K has NaN for dS anyway, and others must not meet it. With a softcap, a pair
        // that meets an infinity has dS = 0.
        if (special) {
          __syncthreads();  // all have computed their scores
          clear_special<c.bn, c.d, c.threads, T>(summed);
          __syncthreads();
        }
        warp.add_pv(sum_over);
      } else {
        if (!special) warp.add_pv(sum_over);
        else warp.add_special_values(sum_over, a.dv);
      }
    }
    tile::wait_for_copies();

    const int width = Of == Sum::dv ? a.dv : a.d;
    const Matrix<T> to = Of == Sum::dq   ? Matrix<T>(a.grad_q, a.at_grad_q, at.batch, at.head)
                         : Of == Sum::dk ? Matrix<T>(a.grad_k, a.at_grad_k, at.batch, at.head)
                                         : Matrix<T>(a.grad_v, a.at_grad_v, at.batch, at.head);
    store_rows<Policy, T>(warp, own_x, rows - at.first, width, to.element, a.vectors, of_products ? a.scale : 1,
                          [&](int row) { return to(at.first + row); });
  }
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

template <class T> struct MmaGradientRows : RowsOf<Algorithm::mma_gradient, T> {
  template <int I> static Status launch(const Call& call) {
    const auto args = gradient_arguments_of<T>(call);
    RIDGE_TRY(launch_stats(call, args));
    RIDGE_TRY(simt::launch(config_of_keys(call), attention_gradient_mma<Sum::dk, Policy<I>, T>, args));
    RIDGE_TRY(simt::launch(config_of_keys(call), attention_gradient_mma<Sum::dv, Policy<I>, T>, args));
    return simt::launch(config_of_queries(call), attention_gradient_mma<Sum::dq, Policy<I>, T>, args);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
