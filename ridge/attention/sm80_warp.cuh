// A warp that feeds tensor cores from registers (mma.sync): 16 or 32 queries, their scores with a tile of keys and
// their O; and the tiles of 16-bit elements in shared memory that it reads. Kernels for few queries and for gradients
// use it as well as sm80_mma.cuh.
#pragma once
#include <ridge/attention/arguments.cuh>
#include <ridge/attention/special.cuh>
#include <ridge/tile/async_copy.cuh>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/sm80/mma.cuh>

namespace ridge::attention_kernels {

// A tile of 16-bit elements in shared memory, [columns / 64][Rows][64], with swizzled lines.
template <int Rows> struct PanelTile {
  static constexpr int line = panel * 2;
  __device__ __forceinline__ static unsigned at(unsigned row, unsigned column) {
    return column / panel * (Rows * line) +
           tile::sm80::swizzled(tile::sm80::Reads::matrices, line, row, column % panel * 2);
  }
  // Address at which a lane begins to read fragments at `row`, a multiple of 8. Axis: the product's axis along a line.
  __device__ __forceinline__ static unsigned origin(tile::sm80::Axis axis, unsigned row) {
    const tile::sm80::At e = tile::sm80::matrix_row_at(axis, threadIdx.x % 32);
    return axis == tile::sm80::Axis::k ? at(row + e.outer, e.k) : at(row + e.k, e.outer);
  }
  // The address `row` and `column` further on; both are multiples of 16 known at compile time.
  __device__ __forceinline__ static unsigned advanced(unsigned from, unsigned row, unsigned column) {
    return (from ^ column % panel * 2) + column / panel * (Rows * line) + row * line;
  }
};

// Starts to load `rows` rows of `width` columns to a tile of Rows x Columns, zero-filled. row_at(r): address of row r.
// Without vectors, elements are copied one by one, synchronously.
template <int Rows, int Columns, int Threads, class T, class RowAt>
__device__ __forceinline__ void start_tile(unsigned char* to, int rows, int width, std::int64_t step, bool vectors,
                                           RowAt row_at) {
  constexpr int vector = 16 / sizeof(T), row_vectors = Columns / vector;
  static_assert(Rows * row_vectors % Threads == 0);
#pragma unroll 4  // more would need as many addresses
  for (int pass = 0; pass < Rows * row_vectors / Threads; ++pass) {
    const int n = pass * Threads + static_cast<int>(threadIdx.x), row = n / row_vectors,
              column = n % row_vectors * vector;
    const int valid = row < rows ? ::max(0, ::min(vector, width - column)) : 0;
    const T* from = row_at(valid ? row : 0);
    unsigned char* place = to + PanelTile<Rows>::at(row, column);
    if (vectors) {
      tile::copy_async<16>(place, from + (valid ? column : 0), valid * static_cast<int>(sizeof(T)));
    } else {
      simt::vec<T, vector> values{};
      for (int e = 0; e < valid; ++e) values[e] = from[(column + e) * step];
      simt::store(reinterpret_cast<T*>(place), values);
    }
  }
}

template <class T> inline constexpr unsigned one_bits = std::is_same_v<T, half> ? 0x3c00 : 0x3f80;

// Whether one of the pieces that this thread copied has a special element.
template <int Rows, int Columns, int Threads, class T>
__device__ __forceinline__ bool find_special(const unsigned char* tile) {
  constexpr int vector = 16 / sizeof(T), row_vectors = Columns / vector;
  bool found = false;
  for (int n = static_cast<int>(threadIdx.x); n < Rows * row_vectors; n += Threads) {
    const auto words = simt::load<4>(
        reinterpret_cast<const unsigned*>(tile + PanelTile<Rows>::at(n / row_vectors, n % row_vectors * vector)));
    for (int w = 0; w < 4; ++w) found = found || has_special<T>(words[w]);
  }
  return found;
}

// Special values (NaN, infinity) beside queries that may not attend to them: 0 times NaN would reach their O. The
// product is computed without such values, and a second product counts them, with P = 1 for keys that are attended to.
// One sum holds the counts of a tile of 64 keys: 1 stands for +inf, 128 for -inf, 16,384 for NaN; both types represent
// them.
inline constexpr float count_minus = 128, count_nan = 16384;

template <class T> __device__ __forceinline__ unsigned special_counts(unsigned word) {
  unsigned counts = 0;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const unsigned bits = word >> 16 * h & 0xffffu, magnitude = bits & 0x7fffu;
    const float count = magnitude < exponent_bits<T>   ? 0.0f
                        : magnitude > exponent_bits<T> ? count_nan
                        : bits & 0x8000u               ? count_minus
                                                       : 1.0f;
    counts |= static_cast<unsigned>(T(count).bits) << 16 * h;
  }
  return counts;
}
template <class T> __device__ __forceinline__ unsigned attended(unsigned p) {
  return ((p & 0xffffu) == 0x8000u ? 0 : one_bits<T>) | (p >> 16 == 0x8000u ? 0 : one_bits<T> << 16);
}
__device__ __forceinline__ float value_of_counts(float counts) {
  const float nan = floorf(counts / count_nan), minus = floorf((counts - nan * count_nan) / count_minus);
  const float plus = counts - nan * count_nan - minus * count_minus;
  if (nan > 0 || (minus > 0 && plus > 0)) return __int_as_float(0x7fc00000);
  return plus > 0 ? -minus_infinity : minus > 0 ? minus_infinity : 0.0f;
}

// Queries of a warp, their scores with a tile of keys, and their O.
template <class Policy, class T> class MmaWarp {
  static constexpr Config c = Policy::config;
  static constexpr int M = c.rows / 16, N = c.bn / 16, D = c.d / 16, V = c.dv / 16;  // fragments
  static constexpr bool keeps_q = M * D * 4 <= 32;                                   // registers to spare
  using TileQ = PanelTile<c.bm>;
  using TileK = PanelTile<c.bn>;
  using Axis = tile::sm80::Axis;
  static_assert(c.threads / 32 * c.rows == c.bm && c.rows % 16 == 0 && c.bn % 16 == 0);
  static_assert(c.bn <= 64, "counts of special values");

 public:
  static constexpr int rows = 2 * M;  // rows per lane

  // first: this warp's first query in the block's tile.
  __device__ __forceinline__ explicit MmaWarp(int first = static_cast<int>(threadIdx.x) / 32 * c.rows)
      : first_(first),
        lane_(static_cast<int>(threadIdx.x) % 32),
        from_q_(TileQ::origin(Axis::k, first_)),
        from_k_(TileK::origin(Axis::k, 0)),
        from_v_(TileK::origin(Axis::outer, 0)) {
#pragma unroll
    for (int r = 0; r < rows; ++r) running[r] = SoftmaxState::empty();
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int v = 0; v < 2 * V; ++v)
#pragma unroll
        for (int e = 0; e < 4; ++e) o_[m][v][e] = 0;
  }

  // Position of this lane's row r in the block's tile; first key of its pair n.
  __device__ __forceinline__ int row(int r) const { return first_ + r / 2 * 16 + r % 2 * 8 + lane_ / 4; }
  __device__ __forceinline__ int key(int n) const { return n * 8 + lane_ % 4 * 2; }

  __device__ __forceinline__ void read_q(unsigned q) {
    if constexpr (keeps_q) {
#pragma unroll
      for (int d = 0; d < D; ++d)
#pragma unroll
        for (int m = 0; m < M; ++m)
          tile::sm80::load_matrices<false>(q_[d][m], TileQ::advanced(q + from_q_, m * 16, d * 16));
    }
  }

  // S = Q K^T
  __device__ __forceinline__ void multiply_qk(unsigned q, unsigned k) { multiply_rows<keeps_q>(s_, q, k); }

  // f(r, key, score) for every score, which is replaced by the result.
  template <class F> __device__ __forceinline__ void for_scores(F f) {
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
      for (int n = 0; n < 2 * N; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = s_[r / 2][n][r % 2 * 2 + e];
          score = f(r, key(n) + e, score);
        }
  }
  // Sets scores of keys outside span(r) to -inf, for each row r.
  template <class F> __device__ __forceinline__ void apply_mask(F span) {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const Span keys = span(r);
#pragma unroll
      for (int n = 0; n < 2 * N; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          if (!keys.contains(key(n) + e)) s_[r / 2][n][r % 2 * 2 + e] = minus_infinity;
    }
  }

  // Replaces scores by P; rescales O where a maximum has risen.
  template <bool Masked> __device__ __forceinline__ void compute_p(float scale_log2) {
    const simt::tiles<4> quad;  // lanes that share a row
    float row_max[rows], change[rows];
    bool rescale = false, far = false;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      row_max[r] = running[r].row_max;
#pragma unroll
      for (int n = 0; n < 2 * N; ++n) {
        const float* pair = &s_[r / 2][n][r % 2 * 2];
        row_max[r] = fmaxf(row_max[r], fmaxf(pair[0], pair[1]));
      }
      far = far || Reference::is_far(row_max[r], scale_log2);
      row_max[r] = quad.reduce(row_max[r], [](float x, float y) { return fmaxf(x, y); });
    }
    const bool was_far = is_far_;
    is_far_ = simt::tile<32>().any(far);
    if (is_far_ || was_far) {
#pragma unroll
      for (int r = 0; r < rows; ++r) change[r] = running[r].update_max(row_max[r], scale_log2);
      for_scores([&](int r, int, float score) { return running[r].relative(score); });
    } else {
#pragma unroll
      for (int r = 0; r < rows; ++r) change[r] = running[r].update_max_near(row_max[r], scale_log2);
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) rescale = rescale || !(change[r] == 1);
    if (simt::tile<32>().any(rescale)) {
#pragma unroll
      for (int r = 0; r < rows; ++r)
#pragma unroll
        for (int v = 0; v < 2 * V; ++v)
#pragma unroll
          for (int e = 0; e < 2; ++e) o_[r / 2][v][r % 2 * 2 + e] *= change[r];
    }
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
      for (int n = 0; n < 2 * N; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& s = s_[r / 2][n][r % 2 * 2 + e];
          s = Masked ? running[r].p_or_masked(s, scale_log2) : running[r].p(s, scale_log2);
          running[r].sum += s;
        }
  }

  // O += P V
  __device__ __forceinline__ void add_pv(unsigned v) {
#pragma unroll
    for (int n = 0; n < N; ++n) {
      unsigned p[M][4];
#pragma unroll
      for (int m = 0; m < M; ++m) pack_p(n, m, p[m]);
#pragma unroll
      for (int d = 0; d < V; ++d) {
        unsigned values[4];
        tile::sm80::load_matrices<true>(values, TileK::advanced(v + from_v_, n * 16, d * 16));
#pragma unroll
        for (int m = 0; m < M; ++m)
#pragma unroll
          for (int h = 0; h < 2; ++h) tile::sm80::multiply<T>(o_[m][2 * d + h], p[m], values, h);
      }
    }
  }

  // The same where values are special: eight columns of O at a time, which leaves registers for the counts.
  __device__ __forceinline__ void add_special_values(unsigned v, int columns) {
#pragma unroll
    for (int d = 0; d < 2 * V; ++d)
#pragma unroll
      for (int m = 0; m < M; ++m) {
        if (d * 8 >= columns) continue;  // the branch also keeps the compiler from interleaving all columns
        float counts[4] = {};
#pragma unroll
        for (int n = 0; n < N; ++n) {
          unsigned p[4], values[4];
          pack_p(n, m, p);
          tile::sm80::load_matrices<true>(values, TileK::advanced(v + from_v_, n * 16, d / 2 * 16));
          unsigned special[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            special[i] = special_counts<T>(values[i]);
            values[i] = without_special<T>(values[i]);
          }
          tile::sm80::multiply<T>(o_[m][d], p, values, d % 2);
#pragma unroll
          for (int i = 0; i < 4; ++i) p[i] = attended<T>(p[i]);
          tile::sm80::multiply<T>(counts, p, special, d % 2);
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) o_[m][d][e] += value_of_counts(counts[e]);
      }
  }

  // After the last tile: reduces row sums ...
  __device__ __forceinline__ void finish_sums() {
    const simt::tiles<4> quad;
#pragma unroll
    for (int r = 0; r < rows; ++r) running[r].sum = quad.reduce(running[r].sum, [](float x, float y) { return x + y; });
  }
  // ... and divides O by them.
  __device__ __forceinline__ void finish() {
    finish_sums();
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const float inverse = running[r].inverse();
#pragma unroll
      for (int v = 0; v < 2 * V; ++v)
#pragma unroll
        for (int e = 0; e < 2; ++e) o_[r / 2][v][r % 2 * 2 + e] *= inverse;
    }
  }

  // f(r, column, two neighbours of O)
  template <class F> __device__ __forceinline__ void for_pairs(F f) const {
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
      for (int v = 0; v < 2 * V; ++v)
        f(r, key(v), simt::vec<float, 2>{o_[r / 2][v][r % 2 * 2], o_[r / 2][v][r % 2 * 2 + 1]});
  }

  SoftmaxState running[rows];

 protected:
  // sums = Q K^T for any tiles; Kept: with the Q that was read.
  template <bool Kept>
  __device__ __forceinline__ void multiply_rows(float (&sums)[M][2 * N][4], unsigned q, unsigned k) {
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int n = 0; n < 2 * N; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[m][n][e] = 0;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      unsigned fresh[M][4];
      if constexpr (!Kept) {
#pragma unroll
        for (int m = 0; m < M; ++m)
          tile::sm80::load_matrices<false>(fresh[m], TileQ::advanced(q + from_q_, m * 16, d * 16));
      }
#pragma unroll
      for (int n = 0; n < N; ++n) {
        unsigned keys[4];
        tile::sm80::load_matrices<false>(keys, TileK::advanced(k + from_k_, n * 16, d * 16));
#pragma unroll
        for (int m = 0; m < M; ++m)
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            if constexpr (Kept) tile::sm80::multiply<T>(sums[m][2 * n + h], q_[d][m], keys, h);
            else tile::sm80::multiply<T>(sums[m][2 * n + h], fresh[m], keys, h);
          }
      }
    }
  }

  // Packs P of 16 queries and 16 keys as the operand of the next product.
  __device__ __forceinline__ void pack_p(int n, int m, unsigned (&to)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float* pair = &s_[m][2 * n + i / 2][i % 2 * 2];
      to[i] = tile::pack_pair<T>(pair[0], pair[1]);
    }
  }

  int first_, lane_;
  bool is_far_ = false;                // whether a row of this warp is far (Reference)
  unsigned from_q_, from_k_, from_v_;  // offsets at which this lane reads in the tiles
  unsigned q_[keeps_q ? D : 1][M][4];
  float s_[M][2 * N][4], o_[M][2 * V][4];  // [16 queries][8 keys or columns]
};

// Stores a warp's rows of O, times `scale`; `rows` rows of `width` columns exist in the block's tile. They go through
// the warp's own rows of a tile in shared memory, so that it writes whole sectors. row_at(r): address of row r of the
// block's tile.
template <class Policy, class T, class RowAt>
__device__ __forceinline__ void store_rows(const MmaWarp<Policy, T>& warp, unsigned char* place, int rows, int width,
                                           std::int64_t step, bool vectors, float scale, RowAt row_at) {
  constexpr Config c = Policy::config;
  using Tile = PanelTile<c.bm>;
  __syncwarp();  // all lanes have read it
  warp.for_pairs([&](int r, int column, simt::vec<float, 2> o) {
    *reinterpret_cast<unsigned*>(place + Tile::at(warp.row(r), column)) =
        tile::pack_pair<T>(o[0] * scale, o[1] * scale);
  });
  __syncwarp();
  constexpr int vector = 16 / sizeof(T), row_vectors = c.dv / vector;
  const int warp_first = static_cast<int>(threadIdx.x) / 32 * c.rows;
  for (int n = static_cast<int>(threadIdx.x) % 32; n < c.rows * row_vectors; n += 32) {
    const int row = warp_first + n / row_vectors, column = n % row_vectors * vector;
    if (row >= rows || column >= width) continue;
    const auto values = simt::load<vector>(reinterpret_cast<const T*>(place + Tile::at(row, column)));
    T* to = row_at(row);
    if (vectors && column + vector <= width) {
      simt::store_global(to + column, values);
    } else {
      for (int e = 0; e < vector && column + e < width; ++e) to[(column + e) * step] = values[e];
    }
  }
}

}  // namespace ridge::attention_kernels
