// Attention in float32 with a tile of scores, and one of O, in the registers of each thread.
//
// Both products are sums of outer products: a thread reads 4 or 8 neighbours of both operands by 16-byte accesses, and
// multiplies all pairs. Q and K are transposed on the way to shared memory, so that the neighbours are queries and
// keys; P is stored in the order in which it is read, and V keeps its layout. While one product runs, the other's
// operand is copied. With few tiles of queries, blocks take parts of the keys.
#pragma once
#include <ridge/attention/launch_table.cuh>
#include <ridge/attention/outer_products.cuh>
#include <ridge/attention/parts.cuh>
#include <ridge/attention/register_tile.hpp>

namespace ridge::attention_kernels {

// Position of a thread in a block. 2 lanes_n consecutive threads have two groups of queries and lanes_n groups of keys:
// lanes l and l ^ 1 share keys, so that the hardware serves half a warp by one access of 128 bytes.
template <class Policy> struct RegisterTile {
  static constexpr Config c = Policy::config;
  static constexpr int F = fragment, LN = lanes_n(c), LM = lanes_m(c);
  static constexpr int RM = c.rows, RN = c.bn / LN, RV = c.dv / LN;  // per thread: queries, keys, columns of V
  static constexpr int pitch_m = c.bm + pad, pitch_n = c.bn + pad;
  static_assert(RM % F == 0 && RN % F == 0 && RV % F == 0, "a thread's tiles are whole fragments");
  static_assert((LN & (LN - 1)) == 0 && LN <= 16 && LM % 2 == 0, "a query's threads are part of a warp");

  int m, n;  // index of the group of queries, and of keys
  __device__ __forceinline__ RegisterTile() {
    const int rank = simt::thread_rank();
    m = rank / (2 * LN) * 2 + rank % 2;
    n = rank / 2 % LN;
  }
  // Position of this thread's query r, and of its key or column j, in the block's tile.
  __device__ __forceinline__ int query(int r) const { return r / F * (F * LM) + m * F + r % F; }
  __device__ __forceinline__ int column(int j) const { return j / F * (F * LN) + n * F + j % F; }

  // Reduces with f over the threads that share this one's queries.
  template <class Combine> __device__ __forceinline__ static float reduce(float value, Combine f) {
    const simt::tile<2 * LN> lanes;
    RIDGE_UNROLL
    for (int bits = LN; bits > 1; bits /= 2) value = f(value, lanes.shfl_xor(value, bits));
    return value;
  }
};

// The textbook product: sums[i][j] += sum over columns of a[at_a(i)] * b[at_b(j)].    a, b: [rows][pitch]
template <int M, int N, class AtA, class AtB>
__device__ __forceinline__ void add_products_of_rows(const float* a, int pitch_a, AtA at_a, const float* b, int pitch_b,
                                                     AtB at_b, int columns, float (&sums)[M][N]) {
  RIDGE_KEEP_LOOP
  for (int c = 0; c < columns; ++c) {
    float x[M], y[N];
    RIDGE_UNROLL_ON_GPU
    for (int i = 0; i < M; ++i) x[i] = a[at_a(i) * pitch_a + c];
    RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < N; ++j) y[j] = b[at_b(j) * pitch_b + c];
    RIDGE_UNROLL_ON_GPU
    for (int i = 0; i < M; ++i) RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < N; ++j) sums[i][j] = fmaf(x[i], y[j], sums[i][j]);
  }
}

// Starts to copy and transpose `Rows` rows of `width` columns, to [width][pitch]. Rows past `rows`, and columns past
// `width` up to the next multiple of 4, become 0. A warp's lanes copy 8 columns of 4 rows: whole sectors, different
// banks.
template <int Rows, int Width, int Threads>
__device__ __forceinline__ void start_transposed(float* to, int pitch, const float* from, const Strides& s, int rows,
                                                 int width) {
  constexpr int across = 8, down = Threads / across;
  static_assert(Rows % down == 0 && Width % across == 0);
  const int row = simt::thread_rank() / across, column = simt::thread_rank() % across;
  float* place = to + column * pitch + row;
  const float* source = from + row * s.row + column * s.element;
  if (rows >= Rows && width == Width && s.element == 1) {  // no bounds checks, and constant address differences
    RIDGE_UNROLL_ON_GPU
    for (int r = 0; r < Rows; r += down, source += down * s.row) RIDGE_UNROLL_ON_GPU
    for (int c = 0; c < Width; c += across) tile::copy_async<4>(place + c * pitch + r, source + c);
    return;
  }
  const int whole = (width + 3) / 4 * 4;
  RIDGE_KEEP_LOOP
  for (int r = 0; r < Rows; r += down, source += down * s.row) RIDGE_KEEP_LOOP
  for (int c = 0; column + c < whole; c += across) {
    const bool valid = row + r < rows && column + c < width;
    tile::copy_async<4>(place + c * pitch + r, valid ? source + c * s.element : from, valid ? 4 : 0);
  }
}

//   shared  Q^T [d][pitch_m]  K^T [d][pitch_n]  V [bn][dv]  P^T [bn][pitch_m]; not transposed, Q [bm][d]  K [bn][d]
// With more than one split, gridDim.y is their number, and O and its statistics are stored as parts of a.partial_o etc.
// Preconditions: gridDim.x is batch * heads * tiles of queries, at least 1; d and dv are at most the Config's; one
// split, unless the Config splits.
template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    attention_register_tile(Arguments<float> a) {
  constexpr Config c = Policy::config;
  using Tile = RegisterTile<Policy>;
  constexpr int RM = Tile::RM, RN = Tile::RN, RV = Tile::RV, step_m = Tile::F * Tile::LM, step_n = Tile::F * Tile::LN;
  float* q = simt::dynamic_shared<float>();
  float *k = q + c.d * Tile::pitch_m, *v = k + c.d * Tile::pitch_n, *p = v + c.bn * c.dv;
  static_assert((c.d * (Tile::pitch_m + Tile::pitch_n) + c.bn * (c.dv + Tile::pitch_m)) * 4 == register_tile_bytes(c));

  const BlockCoord at((a.sq + c.bm - 1) / c.bm, a.heads);
  select_sequence(a, at.batch);
  if (at.tile * c.bm >= a.sq) return;
  const int first_query = at.tile * c.bm, last_query = ::min(first_query + c.bm, a.sq) - 1;
  const float* from_q = a.q + at.batch * a.at_q.batch + at.head * a.at_q.head + first_query * a.at_q.row;
  const float* from_k = a.k + at.batch * a.at_k.batch + at.head / a.group * a.at_k.head;
  const float* from_v = a.v + at.batch * a.at_v.batch + at.head / a.group * a.at_v.head;
  const Keys all_keys = keys_of(a, first_query, last_query);
  const Keys keys = c.split ? part_of(all_keys, c.bn, static_cast<int>(blockIdx.y), a.splits) : all_keys;
  [[maybe_unused]] const int steps_d = (a.d + 3) / 4 * 4;
  const auto start_k = [&](int first) {
    const float* from = from_k + first * a.at_k.row;
    if constexpr (Policy::config.transposed)
      start_transposed<c.bn, c.d, c.threads>(k, Tile::pitch_n, from, a.at_k, a.sk - first, a.d);
    else start_rows<c.bn, c.d, c.threads>(k, from, a.at_k, a.sk - first, a.d, a.vectors);
  };
  const auto start_v = [&](int first) {
    start_rows<c.bn, c.dv, c.threads>(v, from_v + first * a.at_v.row, a.at_v, a.sk - first, a.dv, a.vectors);
  };
  const Tile mine;
  const Scores<float> scores(a);
  SoftmaxState running[RM];
  bool is_far = false;  // whether a row is
  float o[RM][RV];
  RIDGE_UNROLL_ON_GPU
  for (int r = 0; r < RM; ++r) {
    running[r] = SoftmaxState::empty();
    RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < RV; ++j) o[r][j] = 0;
  }

  if constexpr (Policy::config.transposed)
    start_transposed<c.bm, c.d, c.threads>(q, Tile::pitch_m, from_q, a.at_q, a.sq - first_query, a.d);
  else start_rows<c.bm, c.d, c.threads>(q, from_q, a.at_q, a.sq - first_query, a.d, a.vectors);
  if (keys.first < keys.last) start_k(keys.first);
  RIDGE_KEEP_LOOP
  for (int first = keys.first; first < keys.last; first += c.bn) {
    tile::wait_for_copies();
    __syncthreads();  // K is here; no thread still reads V and P of the tile before
    start_v(first);
    float s[RM][RN];  // part of [bm][bn]
    RIDGE_UNROLL_ON_GPU
    for (int r = 0; r < RM; ++r) RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < RN; ++j) s[r][j] = 0;
    if constexpr (Policy::config.transposed)
      add_products<false, step_m, step_n>(q + mine.query(0), Tile::pitch_m, k + mine.column(0), Tile::pitch_n, steps_d,
                                          s);
    else
      add_products_of_rows(
          q, c.d, [&](int r) { return mine.query(r); }, k, c.d, [&](int j) { return mine.column(j); }, a.d, s);
    const bool inside = all_attend(a, first_query, last_query, first, first + c.bn), all = inside && a.mask == nullptr;
    if (!scores.as_is) {
      RIDGE_UNROLL_ON_GPU
      for (int r = 0; r < RM; ++r) RIDGE_UNROLL_ON_GPU
      for (int j = 0; j < RN; ++j) s[r][j] = scores.of(s[r][j]);
    }
    if (a.mask != nullptr) {
      RIDGE_UNROLL_ON_GPU
      for (int r = 0; r < RM; ++r) RIDGE_UNROLL_ON_GPU
      for (int j = 0; j < RN; ++j) {
        const int i = ::min(first_query + mine.query(r), last_query), key = first + mine.column(j);
        if (key < a.sk) s[r][j] = scores.masked(a, at.batch, at.head, i, key, s[r][j]);
      }
    }
    if (!inside) {
      RIDGE_UNROLL_ON_GPU
      for (int r = 0; r < RM; ++r) {
        const int last = c.split ? ::min(first + c.bn, keys.last) : first + c.bn;
        const Span span = span_of(a, first_query + mine.query(r), first, last);
        RIDGE_UNROLL_ON_GPU
        for (int j = 0; j < RN; ++j) s[r][j] = span.contains(mine.column(j)) ? s[r][j] : minus_infinity;
      }
    }
    float row_max[RM], change[RM];
    const bool was_far = is_far;
    is_far = false;
    RIDGE_UNROLL_ON_GPU
    for (int r = 0; r < RM; ++r) {
      row_max[r] = running[r].row_max;
      RIDGE_UNROLL_ON_GPU
      for (int j = 0; j < RN; ++j) row_max[r] = fmaxf(row_max[r], s[r][j]);
      row_max[r] = Tile::reduce(row_max[r], [](float x, float y) { return fmaxf(x, y); });
      is_far = is_far || Reference::is_far(row_max[r], scores.scale_log2);
    }
    if (is_far || was_far) {
      RIDGE_UNROLL_ON_GPU
      for (int r = 0; r < RM; ++r) {
        change[r] = running[r].update_max(row_max[r], scores.scale_log2);
        RIDGE_UNROLL_ON_GPU
        for (int j = 0; j < RN; ++j) s[r][j] = running[r].relative(s[r][j]);
      }
    } else {
      RIDGE_UNROLL_ON_GPU
      for (int r = 0; r < RM; ++r) change[r] = running[r].update_max_near(row_max[r], scores.scale_log2);
    }
    RIDGE_UNROLL_ON_GPU
    for (int r = 0; r < RM; ++r) RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < RN; ++j) {
      s[r][j] = all ? running[r].p(s[r][j], scores.scale_log2) : running[r].p_or_masked(s[r][j], scores.scale_log2);
      running[r].sum += s[r][j];
    }
    RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < RN; ++j) RIDGE_UNROLL_ON_GPU
    for (int r = 0; r < RM; r += fragment)
      simt::store(p + mine.column(j) * Tile::pitch_m + mine.query(r),
                  simt::vec<float, fragment>{s[r][j], s[r + 1][j], s[r + 2][j], s[r + 3][j]});
    RIDGE_UNROLL_ON_GPU
    for (int r = 0; r < RM; ++r) RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < RV; ++j) o[r][j] *= change[r];
    tile::wait_for_copies();
    __syncthreads();  // V and P are here; no thread still reads K
    if (first + c.bn < keys.last) start_k(first + c.bn);
    const float *my_p = p + mine.query(0), *my_v = v + mine.column(0);
    if (all) add_products<false, step_m, step_n>(my_p, Tile::pitch_m, my_v, c.dv, c.bn, o);
    else add_products<true, step_m, step_n>(my_p, Tile::pitch_m, my_v, c.dv, c.bn, o);
  }
  tile::wait_for_copies();

  RIDGE_UNROLL_ON_GPU
  for (int r = 0; r < RM; ++r) {
    running[r].sum = Tile::reduce(running[r].sum, [](float x, float y) { return x + y; });
    const int i = first_query + mine.query(r);
    if (i >= a.sq) continue;
    const float inverse = running[r].inverse();
    const bool is_part = c.split && a.splits > 1;
    const std::int64_t place = blockIdx.y * a.rows + at.batch * a.at_row.batch + at.head * a.at_row.head + i;
    float* to =
        is_part ? a.partial_o + place * a.dv : a.o + at.batch * a.at_o.batch + at.head * a.at_o.head + i * a.at_o.row;
    RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < RV; j += fragment) {
      const int column = mine.column(j);
      simt::vec<float, fragment> values;
      RIDGE_UNROLL_ON_GPU
      for (int e = 0; e < fragment; ++e) values[e] = o[r][j + e] * inverse;
      if ((is_part ? a.dv % fragment == 0 : a.vectors) && column + fragment <= a.dv) {
        simt::store_global(to + column, values);
      } else {
        RIDGE_UNROLL_ON_GPU
        for (int e = 0; e < fragment; ++e)
          if (column + e < a.dv) to[(column + e) * (is_part ? 1 : a.at_o.element)] = values[e];
      }
    }
    if (mine.n != 0) continue;
    if (is_part) store_part(a, place, running[r], scores.scale_log2);
    else store_lse(a, at.batch, at.head, i, running[r].lse(scores.scale_log2));
  }
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

struct RegisterTileRows : RowsOf<Algorithm::register_tile, float> {
  template <int I> static Status launch(const Call& call) {
    const Arguments<float> args = arguments_of<float>(call);
    RIDGE_TRY(simt::launch(launch_config(call, call.plan.blocks), attention_register_tile<Policy<I>>, args));
    if constexpr (variants[I].config.split) return launch_parts<float>(call, args);
    else return {};
  }
};

}  // namespace
}  // namespace ridge::attention_detail
