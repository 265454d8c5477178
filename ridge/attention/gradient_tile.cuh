// Gradients with tiles in the registers of each thread: of S and dP, and of dQ, or of dK and dV.
//
// Elements are float32 in shared memory, whatever their type in global memory; each tensor keeps its row layout. S and
// dP are products of rows: a thread reads four columns of each of its rows per access, and multiplies all pairs of
// rows. Sums over the other side's rows are outer products, as in outer_products.cuh.
#pragma once
#include <ridge/attention/gradient.cuh>
#include <ridge/attention/gradient_tile.hpp>
#include <ridge/attention/launch_table.cuh>
#include <ridge/attention/outer_products.cuh>

namespace ridge::attention_kernels {

// Position of a thread in a block. Consecutive lanes have consecutive rows of the other side, so that their accesses
// use different banks; two groups of own rows share a warp.
template <class Policy> struct GradientTile {
  static constexpr Config c = Policy::config;
  static constexpr int F = fragment, LM = lanes_m(c), LN = lanes_n(c);
  static constexpr int RM = c.rows, RN = c.bn / LN;    // own rows per thread, and rows of the other side
  static constexpr int RX = c.d / LN, RY = c.dv / LN;  // columns of its sums
  static constexpr int pitch_x = c.d + pad, pitch_y = c.dv + pad, pitch_m = c.bm + pad;
  static constexpr int step_m = F * LM, step_n = F * LN;
  static_assert(RM % F == 0 && RX % F == 0 && RY % F == 0 && c.bn % F == 0, "sums are whole fragments");
  static_assert(RM * LM == c.bm && RN * LN == c.bn && LM * LN == c.threads);

  int m, n;
  __device__ __forceinline__ GradientTile() : m(simt::thread_rank() / LN), n(simt::thread_rank() % LN) {}
  // For scores: own row r, and row j of the other side.
  __device__ __forceinline__ int row(int r) const { return r * LM + m; }
  __device__ __forceinline__ int other(int j) const { return j * LN + n; }
  // For sums: own row r, and column j.
  __device__ __forceinline__ int sum_row(int r) const { return r / F * step_m + m * F + r % F; }
  __device__ __forceinline__ int column(int j) const { return j / F * step_n + n * F + j % F; }
};

// products[i][j] = sum over columns of a[i * StepA] * b[j * StepB].   a, b: [rows][Pitch]
// Elements past `columns` are 0 up to the next multiple of 4.
template <int Pitch, int StepA, int StepB, int M, int N>
__device__ __forceinline__ void multiply_rows(const float* a, const float* b, int columns, float (&products)[M][N]) {
  RIDGE_UNROLL_ON_GPU
  for (int i = 0; i < M; ++i) RIDGE_UNROLL_ON_GPU
  for (int j = 0; j < N; ++j) products[i][j] = 0;
  if (columns <= 0) return;
  // Double buffering: the next fragments are read while these are multiplied, as few warps share a multiprocessor.
  simt::vec<float, fragment> x[2][M], y[2][N];
  const auto read = [&](int c, int to) {
    RIDGE_UNROLL_ON_GPU
    for (int i = 0; i < M; ++i) x[to][i] = simt::load<fragment>(a + i * (StepA * Pitch) + c);
    RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < N; ++j) y[to][j] = simt::load<fragment>(b + j * (StepB * Pitch) + c);
  };
  read(0, 0);
  RIDGE_KEEP_LOOP
  for (int first = 0; first < columns; first += 2 * fragment) {
    RIDGE_UNROLL_ON_GPU
    for (int now = 0; now < 2; ++now) {
      const int c = first + now * fragment;
      if (now == 1 && c >= columns) continue;
      if (c + fragment < columns) read(c + fragment, 1 - now);
      RIDGE_UNROLL_ON_GPU
      for (int e = 0; e < fragment; ++e) RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < M; ++i) RIDGE_UNROLL_ON_GPU
      for (int j = 0; j < N; ++j) products[i][j] = fmaf(x[now][i][e], y[now][j][e], products[i][j]);
    }
  }
}

// Starts to copy rows to [Rows][Width + pad] of float32; elements past `rows` and `width` become 0.
template <int Rows, int Width, int Threads, class T>
__device__ __forceinline__ void start_floats(float* to, const Matrix<const T>& from, int first, int rows, int width,
                                             bool vectors) {
  if constexpr (std::is_same_v<T, float>) {
    start_rows<Rows, Width, Threads, Width + pad>(to, from(first), {0, 0, from.row, from.element}, rows, width,
                                                  vectors);
  } else {
    constexpr int vector = 16 / sizeof(T), row_vectors = Width / vector;
    for (int n = simt::thread_rank(); n < Rows * row_vectors; n += Threads) {
      const int row = n / row_vectors, column = n % row_vectors * vector;
      const int valid = row < rows ? ::max(0, ::min(vector, width - column)) : 0;
      simt::vec<T, vector> values{};
      if (vectors && valid == vector) {
        values = simt::load<vector>(from(first + row) + column);
      } else {
        for (int e = 0; e < valid; ++e) values[e] = from(first + row)[(column + e) * from.element];
      }
      RIDGE_UNROLL_ON_GPU
      for (int f = 0; f < vector; f += fragment)
        simt::store(to + row * (Width + pad) + column + f,
                    simt::vec<float, fragment>{static_cast<float>(values[f]), static_cast<float>(values[f + 1]),
                                               static_cast<float>(values[f + 2]), static_cast<float>(values[f + 3])});
    }
  }
}

// Stores sums * scale to the existing rows from `first` on.   to: [rows][columns]
template <class Policy, class T, int N>
__device__ __forceinline__ void store_sums(const GradientTile<Policy>& mine, const Matrix<T>& to, int first, int rows,
                                           int columns, bool vectors, const float (&sums)[Policy::config.rows][N],
                                           float scale) {
  RIDGE_UNROLL_ON_GPU
  for (int r = 0; r < Policy::config.rows; ++r) {
    const int row = first + mine.sum_row(r);
    if (row >= rows) continue;
    RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < N; j += fragment) {
      const int column = mine.column(j);
      simt::vec<T, fragment> values;
      RIDGE_UNROLL_ON_GPU
      for (int e = 0; e < fragment; ++e) values[e] = T(sums[r][j + e] * scale);
      if (vectors && column + fragment <= columns) {
        simt::store_global(to(row) + column, values);
      } else {
        RIDGE_UNROLL_ON_GPU
        for (int e = 0; e < fragment; ++e)
          if (column + e < columns) to(row)[(column + e) * to.element] = values[e];
      }
    }
  }
}

//   shared  own rows [bm][d + pad], [bm][dv + pad]; the other side's [bn][d + pad], [bn][dv + pad]; P, then dS,
//           transposed: [bn][bm + pad]; statistics of the tile's queries, [bm] or [bn]
// Preconditions: gridDim.x is batch * heads of side S * tiles of its rows, at least 1; d and dv are at most the
// Config's.
template <Side S, class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    attention_gradient_tile(GradientArguments<T> a) {
  constexpr Config c = Policy::config;
  using Tile = GradientTile<Policy>;
  constexpr bool of_keys = S == Side::keys;
  float* own_x = simt::dynamic_shared<float>();
  float *own_y = own_x + c.bm * Tile::pitch_x, *other_x = own_y + c.bm * Tile::pitch_y;
  float *other_y = other_x + c.bn * Tile::pitch_x, *p = other_y + c.bn * Tile::pitch_y;
  QueryStats* stats = reinterpret_cast<QueryStats*>(p + c.bn * Tile::pitch_m);
  static_assert(((c.bm + c.bn) * (Tile::pitch_x + Tile::pitch_y) + c.bn * Tile::pitch_m) * 4 +
                    (c.bm > c.bn ? c.bm : c.bn) * int{sizeof(QueryStats)} ==
                gradient_tile_bytes(c));

  const Meeting<S> at(a, c.bm);
  select_sequence(a, at.batch);
  if (at.first >= at.count(a)) return;
  const int last = ::min(at.first + c.bm, at.count(a)) - 1;
  const auto load = [&](float* x, float* y, const SideRows<T>& from, int first, int rows, auto tile_rows) {
    constexpr int most = decltype(tile_rows)::value;
    start_floats<most, c.d, c.threads>(x, from.x, first, rows - first, a.d, a.vectors);
    start_floats<most, c.dv, c.threads>(y, from.y, first, rows - first, a.dv, a.vectors);
  };
  // Queries that do not exist have no P: any statistics will do.
  const auto load_stats = [&](int head, int first, int rows) {
    for (int n = simt::thread_rank(); n < rows; n += c.threads)
      stats[n] = first + n < a.sq ? stats_of(a, at.batch, head, first + n) : QueryStats{};
  };
  load(own_x, own_y, rows_of<S>(a, at.batch, at.head), at.first, at.count(a), std::integral_constant<int, c.bm>{});
  if constexpr (!of_keys) load_stats(at.head, at.first, c.bm);

  const Tile mine;
  const Scores<T> scores(a);
  const Keys range = at.range(a, at.first, last);
  float of_x[Tile::RM][Tile::RX] = {}, of_y[of_keys ? Tile::RM : 1][Tile::RY] = {};  // dQ, or dK and dV
  RIDGE_KEEP_LOOP
  for (int h = 0; h < at.heads(a); ++h) {
    const int head = at.first_head(a) + h;
    const SideRows<T> other = rows_of<Meeting<S>::other>(a, at.batch, at.other_head(a, head));
    RIDGE_KEEP_LOOP
    for (int first = range.first; first < range.last; first += c.bn) {
      load(other_x, other_y, other, first, Meeting<Meeting<S>::other>::count(a), std::integral_constant<int, c.bn>{});
      if constexpr (of_keys) load_stats(head, first, c.bn);
      tile::wait_for_copies();
      __syncthreads();
      float p_tile[Tile::RM][Tile::RN], ds_tile[Tile::RM][Tile::RN];
      multiply_rows<Tile::pitch_x, Tile::LM, Tile::LN>(own_x + mine.m * Tile::pitch_x, other_x + mine.n * Tile::pitch_x,
                                                       a.d, p_tile);
      multiply_rows<Tile::pitch_y, Tile::LM, Tile::LN>(own_y + mine.m * Tile::pitch_y, other_y + mine.n * Tile::pitch_y,
                                                       a.dv, ds_tile);
      const int first_query = of_keys ? first : at.first, queries = of_keys ? c.bn : c.bm;
      const int first_key = of_keys ? at.first : first, keys = of_keys ? c.bm : c.bn;
      const bool inside = first_query + queries <= a.sq &&
                          all_attend(a, first_query, first_query + queries - 1, first_key, first_key + keys);
      const bool all = inside && a.mask == nullptr;
      // f(query, key, product, dP), with positions in the tile. Uniform conditions are tested outside of the loop.
      const auto for_scores = [&](auto f) {
        RIDGE_UNROLL_ON_GPU
        for (int r = 0; r < Tile::RM; ++r) RIDGE_UNROLL_ON_GPU
        for (int j = 0; j < Tile::RN; ++j)
          f(of_keys ? mine.other(j) : mine.row(r), of_keys ? mine.row(r) : mine.other(j), p_tile[r][j], ds_tile[r][j]);
      };
      if (scores.as_is) {
        for_scores([&](int i, int, float&, float& grad) { grad -= stats[i].delta; });
      } else {
        for_scores([&](int i, int, float& product, float& grad) { score_gradient(scores, stats[i], product, grad); });
      }
      if (a.mask != nullptr)
        for_scores([&](int i, int key, float& score, float&) {
          if (first_query + i < a.sq && first_key + key < a.sk)
            score = scores.masked(a, at.batch, head, first_query + i, first_key + key, score);
        });
      if (!inside)
        for_scores([&](int i, int key, float& score, float&) {
          score = span_of(a, first_query + i, first_key, first_key + keys).contains(key) ? score : minus_infinity;
        });
      for_scores(
          [&](int i, int, float& score, float& grad) { compute_p_ds(scores.scale_log2, stats[i], score, grad); });
      // Stores a tile of P or dS, and adds its products with the other side's rows.
      const auto add = [&](const auto& tile, const float* rows, int pitch, auto& sums) {
        RIDGE_UNROLL_ON_GPU
        for (int r = 0; r < Tile::RM; ++r) RIDGE_UNROLL_ON_GPU
        for (int j = 0; j < Tile::RN; ++j) p[mine.other(j) * Tile::pitch_m + mine.row(r)] = tile[r][j];
        __syncthreads();
        const float *my_p = p + mine.sum_row(0), *my_rows = rows + mine.column(0);
        if (all) add_products<false, Tile::step_m, Tile::step_n>(my_p, Tile::pitch_m, my_rows, pitch, c.bn, sums);
        else add_products<true, Tile::step_m, Tile::step_n>(my_p, Tile::pitch_m, my_rows, pitch, c.bn, sums);
        __syncthreads();
      };
      if constexpr (of_keys) add(p_tile, other_y, Tile::pitch_y, of_y);
      add(ds_tile, other_x, Tile::pitch_x, of_x);
    }
  }
  tile::wait_for_copies();
  if constexpr (of_keys) {
    const Matrix<T> k(a.grad_k, a.at_grad_k, at.batch, at.head), v(a.grad_v, a.at_grad_v, at.batch, at.head);
    store_sums<Policy, T>(mine, k, at.first, a.sk, a.d, a.vectors, of_x, a.scale);
    store_sums<Policy, T>(mine, v, at.first, a.sk, a.dv, a.vectors, of_y, 1);
  } else {
    const Matrix<T> q(a.grad_q, a.at_grad_q, at.batch, at.head);
    store_sums<Policy, T>(mine, q, at.first, a.sq, a.d, a.vectors, of_x, a.scale);
  }
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

template <class T> struct GradientTileRows : RowsOf<Algorithm::gradient_tile, T> {
  template <int I> static Status launch(const Call& call) {
    const auto args = gradient_arguments_of<T>(call);
    RIDGE_TRY(launch_stats(call, args));
    RIDGE_TRY(simt::launch(config_of_keys(call), attention_gradient_tile<Side::keys, Policy<I>, T>, args));
    return simt::launch(config_of_queries(call), attention_gradient_tile<Side::queries, Policy<I>, T>, args);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
