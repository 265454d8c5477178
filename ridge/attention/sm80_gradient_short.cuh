// Gradients of many short sequences with mma.sync, from Ampere on: f16 and bf16. The formulas are in gradient.cuh.
//
// A block has all keys of a key head and, one query head after the other, all queries: no sum leaves it, so that one
// kernel computes everything. A warp owns 16 keys. S and dP have keys as rows: P and dS are then in the warp's
// registers as the left operands of dV and dK, which accumulate in registers too. dQ needs the transpose: dS goes to
// shared memory, and once all warps' dS is there, each warp takes some of dQ's queries and columns.
//
// A head has little work, and most of a block's time is latency, of memory and of its own instructions, which are read
// from there too. Tiles are therefore as long as the sequences, all loads are asynchronous, several blocks share a
// multiprocessor, and what happens once per tile is one loop over the tiles.
#pragma once
#include <ridge/attention/gradient.cuh>
#include <ridge/attention/launch_table.cuh>
#include <ridge/attention/sm80_gradient_short.hpp>
#include <ridge/attention/sm80_warp.cuh>

namespace ridge::attention_kernels {

// A tile of 16-bit elements in shared memory, [panels][rows][64], whose number of rows is known at run time.
struct ShortTile {
  using Line = PanelTile<0>;  // places in one panel
  using Axis = tile::sm80::Axis;
  unsigned char* data;
  unsigned address, panel_bytes;

  __device__ __forceinline__ ShortTile(unsigned char* at, int rows)
      : data(at), address(tile::sm80::shared_address(at)), panel_bytes(static_cast<unsigned>(rows) * Line::line) {}
  __device__ __forceinline__ unsigned char* place(int row, int column) const {
    return data + static_cast<unsigned>(column / panel) * panel_bytes +
           Line::at(static_cast<unsigned>(row), static_cast<unsigned>(column % panel));
  }
  // Address at which a lane begins to read fragments at `row` and column 0; and its address at another column. Both are
  // multiples of 16.
  __device__ __forceinline__ unsigned origin(Axis axis, int row) const {
    return address + Line::origin(axis, static_cast<unsigned>(row));
  }
  __device__ __forceinline__ unsigned at_column(unsigned from, int column) const {
    return Line::advanced(from, 0, static_cast<unsigned>(column % panel)) +
           static_cast<unsigned>(column / panel) * panel_bytes;
  }
};

// f(row, column) for a thread's share of a tile's 16-byte pieces.
template <int Columns, class F> __device__ __forceinline__ void for_pieces(int rows, F f) {
  constexpr int vector = 8, row_vectors = Columns / vector;
  RIDGE_KEEP_LOOP
  for (int n = static_cast<int>(threadIdx.x); n < rows * row_vectors; n += static_cast<int>(blockDim.x))
    f(n / row_vectors, n % row_vectors * vector);
}

// Starts to load a matrix of `rows` rows and `width` columns to a tile of tile_rows, whose other elements become 0.
template <int Columns, class T>
__device__ __forceinline__ void start_short_tile(const ShortTile& to, int tile_rows, const Matrix<const T>& from,
                                                 int rows, int width, bool vectors) {
  constexpr int vector = 8;
  const auto valid = [&](int row, int column) { return row < rows ? ::max(0, ::min(vector, width - column)) : 0; };
  if (vectors) {
    for_pieces<Columns>(tile_rows, [&](int row, int column) {
      const int count = valid(row, column);
      tile::copy_async<16>(to.place(row, column), count ? from(row) + column : from.data,
                           count * static_cast<int>(sizeof(T)));
    });
    return;
  }
  // Element by element, in short code.
  RIDGE_KEEP_LOOP
  for (int n = static_cast<int>(threadIdx.x); n < tile_rows * Columns; n += static_cast<int>(blockDim.x)) {
    const int row = n / Columns, column = n % Columns;
    *reinterpret_cast<T*>(to.place(row, column)) =
        row < rows && column < width ? from(row)[column * from.element] : T(0.0f);
  }
}

// Whether this thread's pieces of a tile have special elements.
template <int Columns, class T> __device__ __forceinline__ bool finds_special_in(const ShortTile& tile, int rows) {
  unsigned marks = 0;
  for_pieces<Columns>(rows, [&](int row, int column) {
    const auto words = simt::load<4>(reinterpret_cast<const unsigned*>(tile.place(row, column)));
#pragma unroll
    for (int w = 0; w < 4; ++w) marks |= marked<T>(words[w]);
  });
  return marks != 0;
}

// Copies the mask tensor of a batch and head to [queries][pitch] of floats in shared memory; elements that do not exist
// become 0. A warp takes rows, of which many are in flight. One code for all types of the mask.
template <class T>
__device__ __forceinline__ void copy_short_mask(float* to, int pitch, int queries, int keys,
                                                const GradientArguments<T>& a, int batch, int head) {
  constexpr int rows = 16;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32,
            warps = static_cast<int>(blockDim.x) / 32;
  const bool is_boolean = a.mask_dtype == DType::boolean, is_float = a.mask_dtype == DType::f32;
  const int size = is_boolean ? 1 : is_float ? 4 : 2;
  const auto load = [&](const char* from) -> unsigned {  // an element's bits
    if (is_float) return *reinterpret_cast<const unsigned*>(from);
    return is_boolean ? *reinterpret_cast<const unsigned char*>(from) : *reinterpret_cast<const unsigned short*>(from);
  };
  const char* const mask = static_cast<const char*>(a.mask) + (batch * a.at_mask.batch + head * a.at_mask.head) * size;
  const std::int64_t apart = warps * a.at_mask.row * size;
  RIDGE_KEEP_LOOP
  for (int key = lane; key < keys; key += 32) {
    const char* from = mask + (key * a.at_mask.element + warp * a.at_mask.row) * size;
    RIDGE_KEEP_LOOP
    for (int query = warp; query < queries; query += rows * warps) {
      unsigned bits[rows];
      RIDGE_UNROLL_ON_GPU
      for (int r = 0; r < rows; ++r, from += apart)
        bits[r] = key < a.sk && query + r * warps < a.sq ? load(from) : is_boolean ? 1 : 0;
      RIDGE_UNROLL_ON_GPU
      for (int r = 0; r < rows; ++r)
        if (query + r * warps < queries) to[(query + r * warps) * pitch + key] = mask_of_bits(a, bits[r]);
    }
  }
}

// The LSE of this thread's query, which is thread_rank() as there is a thread for every query; 0 for others.
template <class T> __device__ __forceinline__ float short_lse(const GradientArguments<T>& a, int batch, int head) {
  const int i = static_cast<int>(threadIdx.x);
  return i < a.sq ? a.lse[batch * a.at_lse.batch + head * a.at_lse.head + i * a.at_lse.row] : 0;
}
// Computes a head's statistics, [queries], from tiles of O and dO and this thread's query's LSE; those of queries that
// do not exist are 0. Returns whether the LSE is far from 0: then replace_far() has to compute its reference.
template <class Policy, class T>
__device__ __forceinline__ bool compute_short_stats(QueryStats* stats, int queries, float lse, const ShortTile& o,
                                                    const ShortTile& grad_o) {
  constexpr int vector = 8, lanes_of_row = Policy::config.dv / vector;
  const simt::tiles<lanes_of_row> lanes;
  RIDGE_KEEP_LOOP
  for (int i = lanes.index(); i < queries; i += static_cast<int>(blockDim.x) / lanes_of_row) {
    const auto row = [&](const ShortTile& tile) {
      return tile::unpack_floats<T>(
          tile::load_packed(reinterpret_cast<const T*>(tile.place(i, lanes.rank() * vector))));
    };
    const auto x = row(o), y = row(grad_o);
    float delta = 0;
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < vector; ++e) delta = fmaf(x[e], y[e], delta);
    delta = lanes.reduce(delta, [](float one, float other) { return one + other; });
    if (lanes.rank() == 0) stats[i].delta = delta;
  }
  const float lse_log2 = lse == minus_infinity ? 0 : lse * log2_e;  // a query without keys has no P
  const int i = static_cast<int>(threadIdx.x);
  if (i < queries) {
    stats[i].base = 0;
    stats[i].lse_log2 = lse_log2;
  }
  return !(fabsf(lse_log2) <= Reference::far);
}
template <class T>
__device__ __forceinline__ void replace_far(QueryStats* stats, const GradientArguments<T>& given, int batch, int head) {
  GradientArguments<T> a = given;
  a.sequences.from_q.data = nullptr;  // the sequence has been selected
  const simt::tile<32> lanes;
  RIDGE_KEEP_LOOP
  for (int i = lanes.index(); i < a.sq; i += static_cast<int>(blockDim.x) / 32) {
    const float lse = a.lse[batch * a.at_lse.batch + head * a.at_lse.head + i * a.at_lse.row];
    const Reference reference = reference_of_query(a, batch, head, i, lse, lanes);
    if (lanes.rank() == 0) stats[i].base = reference.base, stats[i].lse_log2 = reference.offset;
  }
}

// The products of a warp: fragments of 16 rows and 16 columns.
template <class T> struct ShortProducts {
  using Axis = tile::sm80::Axis;

  // sums = own other^T for 16 rows of one tile and 8 N of another; from_...: origins of their rows, along k.
  template <int Columns, int N>
  static __device__ __forceinline__ void multiply_rows(float (&sums)[N][4], const ShortTile& own, unsigned from_own,
                                                       const ShortTile& other, unsigned from_other) {
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[n][e] = 0;
#pragma unroll
    for (int d = 0; d < Columns; d += 16) {
      unsigned a[4], b[4];
      tile::sm80::load_matrices<false>(a, own.at_column(from_own, d));
#pragma unroll
      for (int n = 0; n < N; n += 2) {
        tile::sm80::load_matrices<false>(b, other.at_column(from_other, d) + n * 8 * ShortTile::Line::line);
        tile::sm80::multiply<T>(sums[n], a, b, 0);
        tile::sm80::multiply<T>(sums[n + 1], a, b, 1);
      }
    }
  }
  // Left operand of the next product: 16 columns from pair 2 n on.
  template <int N> static __device__ __forceinline__ void pack(unsigned (&to)[N / 2][4], const float (&from)[N][4]) {
#pragma unroll
    for (int n = 0; n < N / 2; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* pair = &from[2 * n + i / 2][i % 2 * 2];
        to[n][i] = tile::pack_pair<T>(pair[0], pair[1]);
      }
  }
  // sums += factors rows; from: origin of the tile's first row, along outer. Finite: without NaN and infinities.
  template <bool Finite, int C, int N>
  static __device__ __forceinline__ void add_rows(float (&sums)[C][4], const unsigned (&factors)[N][4],
                                                  const ShortTile& rows, unsigned from) {
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int d = 0; d < C; d += 2) {
        unsigned b[4];
        tile::sm80::load_matrices<true>(b, rows.at_column(from, d * 8) + n * 16 * ShortTile::Line::line);
        if constexpr (Finite) {
#pragma unroll
          for (int w = 0; w < 4; ++w) b[w] = without_special<T>(b[w]);
        }
        tile::sm80::multiply<T>(sums[d], factors[n], b, 0);
        tile::sm80::multiply<T>(sums[d + 1], factors[n], b, 1);
      }
  }
};

// Stores sums * scale to the existing rows and columns of a matrix, through the warp's own part of a tile, so that it
// writes whole sectors: 16 rows from `row` on, 8 C columns from `column` on.
template <int C, class T>
__device__ __forceinline__ void store_short_rows(const float (&sums)[C][4], float scale, const ShortTile& through,
                                                 int row, int column, const Matrix<T>& to, int rows, int width,
                                                 bool vectors) {
  constexpr int vector = 8;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  __syncwarp();  // all lanes have read what was there
#pragma unroll
  for (int n = 0; n < C; ++n)
#pragma unroll
    for (int r = 0; r < 2; ++r)
      *reinterpret_cast<unsigned*>(through.place(row + lane / 4 + r * 8, column + n * 8 + lane % 4 * 2)) =
          tile::pack_pair<T>(sums[n][2 * r] * scale, sums[n][2 * r + 1] * scale);
  __syncwarp();
  if (vectors && width % vector == 0) {
    RIDGE_KEEP_LOOP
    for (int n = lane; n < 16 * C; n += 32) {
      const int i = row + n / C, at = column + n % C * vector;
      if (i < rows && at < width)
        tile::store_packed(to(i) + at, tile::load_packed(reinterpret_cast<const T*>(through.place(i, at))));
    }
    return;
  }
  RIDGE_KEEP_LOOP
  for (int n = lane; n < 16 * 8 * C; n += 32) {
    const int i = row + n / (8 * C), at = column + n % (8 * C);
    if (i < rows && at < width) to(i)[at * to.element] = *reinterpret_cast<const T*>(through.place(i, at));
  }
}

// dQ, dK and dV.                                                                      shapes: see GradientArguments
//   shared  K [keys][d]  V [keys][dv]  Q [queries][d]  dO [queries][dv]  dS [keys][queries]; see ShortBlock
// Preconditions: cc 80 or later; gridDim.x is batch * key heads; the block is short_block() of sq, sk and the mask, and
// has its threads; sq and sk are at most bn and bm, d and dv at most the Config's.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    attention_short_gradient(GradientArguments<T> a, ShortBlock block) {
  if constexpr (tile::sm80::available) {
    constexpr Config c = Policy::config;
    static_assert(c.d == c.dv && c.rows == short_keys && c.threads == c.bm / c.rows * 32);
    using Axis = tile::sm80::Axis;
    using Products = ShortProducts<T>;
    constexpr int pairs = short_queries / 8, dq_columns = 32,  // that a warp computes at a time
        column_parts = c.d / dq_columns;
    unsigned char* const shared = simt::dynamic_shared<unsigned char>();
    const ShortTile k(shared, block.keys), v(shared + block.v_at, block.keys), q(shared + block.q_at, block.queries),
        grad_o(shared + block.grad_o_at, block.queries), ds(shared + block.ds_at, block.keys),
        o(shared + block.ds_at, block.queries);  // until dS is stored
    auto* const stats = reinterpret_cast<QueryStats*>(shared + block.stats_at);
    auto* const biases = reinterpret_cast<float*>(shared + block.bias_at);
    const int batch = static_cast<int>(blockIdx.x) / a.key_heads, key_head = static_cast<int>(blockIdx.x) % a.key_heads;
    const int warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32,
              lane = static_cast<int>(threadIdx.x) % 32;
    select_sequence(a, batch);

    RIDGE_KEEP_LOOP
    for (int t = 0; t < 2; ++t)
      start_short_tile<c.d>(
          t == 0 ? k : v, block.keys,
          t == 0 ? Matrix<const T>(a.k, a.at_k, batch, key_head) : Matrix<const T>(a.v, a.at_v, batch, key_head), a.sk,
          t == 0 ? a.d : a.dv, a.vectors);
    const Scores<T> scores(a);
    const bool edges = a.mask != nullptr || !all_attend(a, 0, a.sq - 1, 0, a.sk);
    const int first_key = warp * short_keys;
    float dk[c.d / 8][4] = {}, dv[c.dv / 8][4] = {};
    RIDGE_KEEP_LOOP
    for (int h = 0; h < a.group; ++h) {
      const int head = key_head * a.group + h;
      if (h > 0) __syncthreads();  // the last head's tiles have been read
      const float lse = short_lse(a, batch, head);
      RIDGE_KEEP_LOOP
      for (int t = 0; t < 3; ++t)
        start_short_tile<c.d>(t == 0   ? q
                              : t == 1 ? grad_o
                                       : o,
                              block.queries,
                              t == 0   ? Matrix<const T>(a.q, a.at_q, batch, head)
                              : t == 1 ? Matrix<const T>(a.grad_o, a.at_grad_o, batch, head)
                                       : Matrix<const T>(a.o, a.at_o, batch, head),
                              a.sq, t == 0 ? a.d : a.dv, a.vectors);
      if (a.mask != nullptr) copy_short_mask(biases, block.bias_pitch(), block.queries, block.keys, a, batch, head);
      tile::wait_for_copies();
      __syncthreads();
      const bool far = compute_short_stats<Policy, T>(stats, block.queries, lse, o, grad_o);
      // Zero times NaN would reach sums from rows that a pair may not meet in, so they are over rows without special
      // values: a pair that meets one of Q or K has NaN for dS anyway, and those of dO are added to dV afterwards.
      bool special = false;
      RIDGE_KEEP_LOOP
      for (int t = 0; edges && !special && t < 3; ++t)
        special = finds_special_in<c.d, T>(t == 0 ? k : t == 1 ? q : grad_o, t == 0 ? block.keys : block.queries);
      if (__syncthreads_or(far || special)) {
        replace_far(stats, a, batch, head);
        special = __syncthreads_or(special);
      }

      const auto key_of = [&](int r) { return first_key + r * 8 + lane / 4; };
      // Of the queries from `first` on, those that meet row r.
      const auto span = [&](int r, int first) -> Span {
        const Keys meets = Meeting<Side::keys>::range(a, key_of(r), key_of(r));
        const int from = ::max(meets.first, first), to = ::min(meets.last, first + short_queries);
        return {from - first, key_of(r) < a.sk ? static_cast<unsigned>(::max(0, to - from)) : 0};
      };
      const unsigned from_k = k.origin(Axis::k, first_key), from_v = v.origin(Axis::k, first_key);
      RIDGE_KEEP_LOOP
      for (int first = 0; first < a.sq && first_key < a.sk; first += short_queries) {
        float s[pairs][4], dp[pairs][4];
        Products::template multiply_rows<c.d>(s, k, from_k, q, q.origin(Axis::k, first));
        Products::template multiply_rows<c.dv>(dp, v, from_v, grad_o, grad_o.origin(Axis::k, first));
        // f(r, query, score, dP) for every pair; the query counts from `first`.
        const auto for_pairs = [&](auto f) {
#pragma unroll
          for (int n = 0; n < pairs; ++n)
#pragma unroll
            for (int e = 0; e < 2; ++e)
#pragma unroll
              for (int r = 0; r < 2; ++r) f(r, n * 8 + lane % 4 * 2 + e, s[n][2 * r + e], dp[n][2 * r + e]);
        };
        // dP becomes dS / P. Uniform conditions are tested outside of the loop over pairs.
        if (scores.as_is) for_pairs([&](int, int query, float&, float& grad) { grad -= stats[first + query].delta; });
        else
          for_pairs([&](int, int query, float& product, float& grad) {
            score_gradient(scores, stats[first + query], product, grad);
          });
        if (a.mask != nullptr)
          for_pairs([&](int r, int query, float& score, float&) {
            const float bias = biases[(first + query) * block.bias_pitch() + key_of(r)];
            score = bias == minus_infinity ? bias : score + bias;
          });
        if (first + short_queries > a.sq ||
            !all_attend(a, first, first + short_queries - 1, first_key, first_key + short_keys)) {
          const Span spans[2] = {span(0, first), span(1, first)};
          for_pairs([&](int r, int query, float& score, float&) {
            if (!spans[r].contains(query)) score = minus_infinity;
          });
        }
        for_pairs([&](int, int query, float& score, float& grad) {
          compute_p_ds(scores.scale_log2, stats[first + query], score, grad);
        });
        unsigned factors[pairs / 2][4];
        Products::pack(factors, s);
        const unsigned from_o = grad_o.origin(Axis::outer, first), from_q = q.origin(Axis::outer, first);
        if (special) Products::template add_rows<true>(dv, factors, grad_o, from_o);
        else Products::template add_rows<false>(dv, factors, grad_o, from_o);
        Products::pack(factors, dp);
#pragma unroll
        for (int n = 0; n < pairs; ++n)
#pragma unroll
          for (int r = 0; r < 2; ++r)
            *reinterpret_cast<unsigned*>(ds.place(key_of(r), first + n * 8 + lane % 4 * 2)) =
                factors[n / 2][n % 2 * 2 + r];
        if (special) Products::template add_rows<true>(dk, factors, q, from_q);
        else Products::template add_rows<false>(dk, factors, q, from_q);
      }
      if (special) {
        RIDGE_KEEP_LOOP
        for (int i = 0; i < a.sq && first_key < a.sk; ++i) {
          const auto meets = [&](int r) {
            const bool excluded = a.mask != nullptr && biases[i * block.bias_pitch() + key_of(r)] == minus_infinity;
            return !excluded && span(r, i / short_queries * short_queries).contains(i % short_queries);
          };
          const bool meets_row[2] = {meets(0), meets(1)};
#pragma unroll
          for (int n = 0; n < c.dv / 8; ++n) {
            float two[2];
            tile::unpack_pair<T>(*reinterpret_cast<const unsigned*>(grad_o.place(i, n * 8 + lane % 4 * 2)), two[0],
                                 two[1]);
#pragma unroll
            for (int e = 0; e < 4; ++e)
              if (meets_row[e / 2] && !(fabsf(two[e % 2]) < -minus_infinity)) dv[n][e] += two[e % 2];
          }
        }
      }
      __syncthreads();  // dS is there, and Q has been read

      // dQ: 16 queries and some columns at a time.
      const Matrix<T> to(a.grad_q, a.at_grad_q, batch, head);
      RIDGE_KEEP_LOOP
      for (int n = warp; n < (a.sq + 15) / 16 * column_parts; n += warps) {
        const int query = n / column_parts * 16, column = n % column_parts * dq_columns;
        float dq[dq_columns / 8][4] = {};
        const unsigned from_ds = ds.at_column(ds.origin(Axis::outer, 0), query),
                       from_keys = k.at_column(k.origin(Axis::outer, 0), column);
        RIDGE_KEEP_LOOP
        for (int key = 0; key < a.sk; key += short_keys) {
          unsigned factors[1][4];
          tile::sm80::load_matrices<true>(factors[0], from_ds + key * ShortTile::Line::line);
          const unsigned from = from_keys + key * ShortTile::Line::line;
          if (special) Products::template add_rows<true>(dq, factors, k, from);
          else Products::template add_rows<false>(dq, factors, k, from);
        }
        store_short_rows(dq, a.scale, q, query, column, to, a.sq, a.d, a.vectors);
      }
    }
    if (a.group == 0) {  // without queries the copies of K and V are still under way
      tile::wait_for_copies();
      __syncthreads();
    }
    if (first_key >= a.sk) return;
    // A warp's own rows of V are read by this warp alone.
    store_short_rows(dv, 1, v, first_key, 0, Matrix<T>(a.grad_v, a.at_grad_v, batch, key_head), a.sk, a.dv, a.vectors);
    store_short_rows(dk, a.scale, v, first_key, 0, Matrix<T>(a.grad_k, a.at_grad_k, batch, key_head), a.sk, a.d,
                     a.vectors);
  }
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

template <class T> struct ShortGradientRows : RowsOf<Algorithm::short_gradient, T> {
  template <int I> static Status launch(const Call& call) {
    const ShortBlock block = short_gradient::block_of(variants[I].config, call.problem);
    simt::Config at = launch_config(call, call.plan.blocks, block.threads);
    at.smem = static_cast<std::size_t>(call.plan.smem);
    return simt::launch(at, attention_short_gradient<Policy<I>, T>, gradient_arguments_of<T>(call), block);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
