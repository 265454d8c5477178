// Gradients on the tensor cores that warps feed from registers (mma.sync), from Ampere on: f16 and bf16, with
// everything that the forward pass knows but pages and lengths. What is computed is in gradient.cuh.
//
// A block owns rows of one side and walks over those of the other, and a kernel takes one sum: dQ of queries, dK or dV
// of keys. With its own rows as those of the products, weights and dX lie in a warp's registers as the left operand of
// the sum does: what sm80_warp.cuh has for one query's O serves all three, and nothing but the other side's tiles goes
// through shared memory. Scores are computed in each kernel and dP in two, eight products in place of five; in exchange
// a warp has room for the sums of 32 rows, each of which has one writer, and one order.
#pragma once
#include <ridge/attention/gradient.cuh>
#include <ridge/attention/launch_table.cuh>
#include <ridge/attention/sm80_gradient.hpp>
#include <ridge/attention/sm80_warp.cuh>

namespace ridge::attention_kernels {

enum class Sum { dq, dk, dv };

// Where tiles lie in shared memory: a block's own rows of x and y (gradient.cuh, SideRows); stages of the other side's
// x and y, and of facts of queries.
template <class Row> struct MmaGradientKernel {
  static constexpr Config c = Row::config;
  static_assert(c.d == c.dv, "x and y share what tiles are");
  static constexpr int own_bytes = mma_tile_bytes(c.bm, c.d), other_bytes = mma_tile_bytes(c.bn, c.d),
                       facts_at = 2 * other_bytes, stage_bytes = facts_at + c.bn * static_cast<int>(sizeof(QueryFacts)),
                       stages_at = 2 * own_bytes;
  static_assert(stages_at + mma_stages * stage_bytes == mma_gradient_bytes(c) && stage_bytes % 128 == 0);
};

// The rows of a warp: scores and dP with a tile of the other side's, and their sum, which is the base's O.
template <class Row, class T> class MmaGradientWarp : public MmaWarp<Row, T> {
  using Base = MmaWarp<Row, T>;
  static constexpr Config c = Row::config;
  static constexpr int pairs = c.bn / 8;

 public:
  // dp = y y^T
  __device__ __forceinline__ void multiply_gradients(unsigned own, unsigned other) {
    this->template multiply_rows<false>(dp_, own, other);
  }
  // f(r, column, score, dP) of every pair.
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
  float dp_[Base::rows / 2][pairs][4];  // as scores
};

// 0 in the place of NaN and infinite values, in the pieces that this thread copied.
template <int Rows, int Columns, int Threads, class T>
__device__ __forceinline__ void clear_special(unsigned char* tile) {
  constexpr int unit = 16 / sizeof(T), units = Columns / unit;
#pragma unroll 1
  for (int n = static_cast<int>(threadIdx.x); n < Rows * units; n += Threads) {
    auto* piece = reinterpret_cast<unsigned*>(tile + PanelTile<Rows>::at(n / units, n % units * unit));
    simt::vec<unsigned, 4> words = simt::load<4>(piece);
#pragma unroll
    for (int w = 0; w < 4; ++w) words[w] = without_special<T>(words[w]);
    simt::store(piece, words);
  }
}

// Rows of the gradient that the kernel is for.                                          shapes: see GradientArguments
//   shared  own x [bm][d]  y [bm][d]; 2 x (the other's x [bn][d]  y [bn][d], facts [bn])
// Preconditions: cc 80 or later; facts are there; gridDim.x is batch * heads of the side that it is a gradient of *
// tiles of its rows, at least 1; d and dv are at most the Config's.
template <Sum Of, class Row, class T>
__global__ void __launch_bounds__(Row::config.threads, Row::config.blocks_per_sm)
    attention_gradient_mma(GradientArguments<T> a) {
  if constexpr (tile::sm80::available) {
    constexpr Config c = Row::config;
    constexpr bool of_keys = Of != Sum::dq, of_products = Of != Sum::dv;  // the latter are sums of dX
    constexpr Side S = of_keys ? Side::keys : Side::queries;
    using K = MmaGradientKernel<Row>;
    unsigned char* own_x = simt::dynamic_shared<unsigned char>();
    unsigned char* own_y = own_x + K::own_bytes;
    const auto stage_x = [=](int stage) { return own_x + K::stages_at + stage * K::stage_bytes; };
    const auto stage_y = [=](int stage) { return stage_x(stage) + K::other_bytes; };
    const auto stage_facts = [=](int stage) { return reinterpret_cast<QueryFacts*>(stage_x(stage) + K::facts_at); };

    const Meeting<S> at(a, c.bm);
    take_sequence(a, at.batch);
    const int rows = at.count(a);
    if (at.first >= rows) return;
    const Keys range = at.range(a, at.first, ::min(at.first + c.bm, rows) - 1);
    const int tiles = ::max(0, (range.last - range.first + c.bn - 1) / c.bn), steps = tiles * at.heads(a);
    const auto head_of = [&](int step) { return at.first_head(a) + step / tiles; };
    const auto first_of = [&](int step) { return range.first + step % tiles * c.bn; };
    const auto start = [&](int step, int stage) {
      const int head = head_of(step), first = first_of(step), there = Meeting<Meeting<S>::other>::count(a) - first;
      const SideRows<T> other = rows_of<Meeting<S>::other>(a, at.batch, at.other_head(a, head));
      start_tile<c.bn, c.d, c.threads, T>(stage_x(stage), there, a.d, other.x.element, a.vectors,
                                          [&](int row) { return other.x(first + row); });
      start_tile<c.bn, c.d, c.threads, T>(stage_y(stage), there, a.dv, other.y.element, a.vectors,
                                          [&](int row) { return other.y(first + row); });
      if constexpr (of_keys)
        for (int n = static_cast<int>(threadIdx.x); n < c.bn; n += c.threads)
          tile::copy_async<sizeof(QueryFacts)>(stage_facts(stage) + n,
                                               &facts_of(a, at.batch, head, n < there ? first + n : first),
                                               n < there ? sizeof(QueryFacts) : 0);
    };
    const SideRows<T> own = rows_of<S>(a, at.batch, at.head);
    start_tile<c.bm, c.d, c.threads, T>(own_x, rows - at.first, a.d, own.x.element, a.vectors,
                                        [&](int row) { return own.x(at.first + row); });
    if constexpr (of_products)
      start_tile<c.bm, c.d, c.threads, T>(own_y, rows - at.first, a.dv, own.y.element, a.vectors,
                                          [&](int row) { return own.y(at.first + row); });
    if (steps > 0) start(0, 0);

    const Scores<T> scores(a);
    MmaGradientWarp<Row, T> warp;
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
      // What is summed over: dO, Q or K.
      unsigned char* const summed = Of == Sum::dv ? stage_y(stage) : stage_x(stage);
      // The tile is here, and nobody still reads the one before: its place is filled next.
      tile::wait_for_copies();
      bool special = false;
      if (inside && a.mask == nullptr) __syncthreads();
      else special = __syncthreads_or(find_special<c.bn, c.d, c.threads, T>(summed));
      if (step + 1 < steps) start(step + 1, stage ^ 1);
      warp.multiply_keys(x_at, tile::sm80::shared_address(stage_x(stage)));
      if constexpr (of_products) warp.multiply_gradients(y_at, tile::sm80::shared_address(stage_y(stage)));

      const QueryFacts* theirs = stage_facts(stage);
      QueryFacts mine[warp.rows];
      if constexpr (!of_keys) {
#pragma unroll
        for (int r = 0; r < warp.rows; ++r)
          mine[r] = facts_of(a, at.batch, at.head, ::min(at.first + warp.row(r), rows - 1));
      }
      const auto facts = [&](int r, int column) {
        if constexpr (of_keys) return theirs[column];
        else return mine[r];
      };
      // What is asked of all pairs alike is asked before, not in their midst.
      if (!scores.as_is) {
        warp.for_pairs_of_rows([&](int r, int column, float& product, float& grad) {
          if constexpr (of_products) score_gradient(scores, facts(r, column), product, grad);
          else product = scores.of(product);
        });
      } else if constexpr (of_products) {
        warp.for_pairs_of_rows([&](int r, int column, float&, float& grad) { grad -= facts(r, column).delta; });
      }
      if (a.mask != nullptr)
        warp.for_pairs_of_rows([&](int r, int column, float& score, float&) {
          const int i = first_query + (of_keys ? column : warp.row(r)),
                    key = first_key + (of_keys ? warp.row(r) : column);
          if (i < a.sq && key < a.sk) score = scores.masked(a, at.batch, head, i, key, score);
        });
      if (!inside)
        warp.keep_spans([&](int r) -> Span {
          const int i = at.first + warp.row(r);
          const Keys meets = at.range(a, i, i);
          const int from = ::max(meets.first, first), to = ::min(meets.last, first + c.bn);
          return {from - first, i < rows ? static_cast<unsigned>(::max(0, to - from)) : 0};
        });
      warp.for_pairs_of_rows([&](int r, int column, float& score, float& grad) {
        if constexpr (of_products) {
          weigh_gradient(scores.factor, facts(r, column), score, grad);
          score = grad;
        } else {
          score = score == minus_infinity ? no_weight : weight_of(scores.factor, facts(r, column), score);
        }
      });
      const unsigned sum_over = tile::sm80::shared_address(summed);
      if constexpr (of_products) {
        // A pair that meets a NaN in Q or K has a NaN for dX anyway, and others must not meet it. With softcap one that
        // meets an infinite number has 0.
        if (special) {
          __syncthreads();  // all have their scores
          clear_special<c.bn, c.d, c.threads, T>(summed);
          __syncthreads();
        }
        warp.add_values(sum_over);
      } else {
        if (!special) warp.add_values(sum_over);
        else warp.add_special_values(sum_over, a.dv);
      }
    }
    tile::wait_for_copies();

    const int width = Of == Sum::dv ? a.dv : a.d;
    const Matrix<T> to = Of == Sum::dq   ? Matrix<T>(a.grad_q, a.at_grad_q, at.batch, at.head)
                         : Of == Sum::dk ? Matrix<T>(a.grad_k, a.at_grad_k, at.batch, at.head)
                                         : Matrix<T>(a.grad_v, a.at_grad_v, at.batch, at.head);
    put_rows<Row, T>(warp, own_x, rows - at.first, width, to.element, a.vectors, of_products ? a.scale : 1,
                     [&](int row) { return to(at.first + row); });
  }
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

template <class T> struct MmaGradientRows : RowsOf<Algorithm::mma_gradient, T> {
  template <int I> static Status launch(const Call& call) {
    const auto args = gradient_arguments_of<T>(call);
    RIDGE_TRY(launch_facts(call, args));
    RIDGE_TRY(simt::launch(config_of_keys(call), attention_gradient_mma<Sum::dk, Row<I>, T>, args));
    RIDGE_TRY(simt::launch(config_of_keys(call), attention_gradient_mma<Sum::dv, Row<I>, T>, args));
    return simt::launch(config_of_queries(call), attention_gradient_mma<Sum::dq, Row<I>, T>, args);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
