// What a warp has that feeds tensor cores from registers (mma.sync): 16 or 32 queries, their scores with a tile of keys
// and their O; and tiles of 16-bit elements in shared memory, as it reads them. Kernels of few queries and of gradients
// stand on it as well as sm80_mma.cuh.
#pragma once
#include <ridge/attention/arguments.cuh>
#include <ridge/attention/special.cuh>
#include <ridge/tile/async_copy.cuh>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/sm80/mma.cuh>

namespace ridge::attention_kernels {

// A tile of 16-bit elements in shared memory, [columns / 64][Rows][64], its lines swizzled.
template <int Rows> struct PanelTile {
  static constexpr int line = panel * 2;
  __device__ __forceinline__ static unsigned at(unsigned row, unsigned column) {
    return column / panel * (Rows * line) +
           tile::sm80::swizzled(tile::sm80::Reads::matrices, line, row, column % panel * 2);
  }
  // Where a lane begins to read fragments at `row`, a multiple of 8. Axis: in which of the product's axes a line lies.
  __device__ __forceinline__ static unsigned origin(tile::sm80::Axis axis, unsigned row) {
    const tile::sm80::At e = tile::sm80::matrix_row_at(axis, threadIdx.x % 32);
    return axis == tile::sm80::Axis::k ? at(row + e.outer, e.k) : at(row + e.k, e.outer);
  }
  // The same `row` and `column` further on, multiples of 16 that are known when the kernel is compiled.
  __device__ __forceinline__ static unsigned further(unsigned from, unsigned row, unsigned column) {
    return (from ^ column % panel * 2) + column / panel * (Rows * line) + row * line;
  }
};

// Starts to bring `rows` rows of `width` columns to a tile of Rows x Columns; the rest becomes 0. row(r): where row r
// begins. Without vectors, elements are read one by one and are there at once.
template <int Rows, int Columns, int Threads, class T, class RowAt>
__device__ __forceinline__ void start_tile(unsigned char* to, int rows, int width, std::int64_t step, bool vectors,
                                           RowAt row_at) {
  constexpr int unit = 16 / sizeof(T), units = Columns / unit;
  static_assert(Rows * units % Threads == 0);
#pragma unroll 4  // more would keep as many addresses
  for (int pass = 0; pass < Rows * units / Threads; ++pass) {
    const int n = pass * Threads + static_cast<int>(threadIdx.x), row = n / units, column = n % units * unit;
    const int there = row < rows ? ::max(0, ::min(unit, width - column)) : 0;
    const T* from = row_at(there ? row : 0);
    unsigned char* place = to + PanelTile<Rows>::at(row, column);
    if (vectors) {
      tile::copy_async<16>(place, from + (there ? column : 0), there * static_cast<int>(sizeof(T)));
    } else {
      simt::vec<T, unit> values{};
      for (int e = 0; e < there; ++e) values[e] = from[(column + e) * step];
      simt::store(reinterpret_cast<T*>(place), values);
    }
  }
}

template <class T> inline constexpr unsigned one_bits = std::is_same_v<T, half> ? 0x3c00 : 0x3f80;

// Whether one of the pieces that this thread copied has one.
template <int Rows, int Columns, int Threads, class T>
__device__ __forceinline__ bool find_special(const unsigned char* tile) {
  constexpr int unit = 16 / sizeof(T), units = Columns / unit;
  bool found = false;
  for (int n = static_cast<int>(threadIdx.x); n < Rows * units; n += Threads) {
    const auto words =
        simt::load<4>(reinterpret_cast<const unsigned*>(tile + PanelTile<Rows>::at(n / units, n % units * unit)));
    for (int w = 0; w < 4; ++w) found = found || has_special<T>(words[w]);
  }
  return found;
}

// Values that are NaN or infinite, beside queries that may not attend to them: 0 times NaN would reach their O. The
// product is taken without such values, and they are counted in a product of their own, in which a weight is 1 for a
// key that is attended to. The counts of a tile of 64 keys have places of their own in one sum: 1 is +inf, 128 -inf,
// 16,384 NaN, each of which both types have.
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
template <class T> __device__ __forceinline__ unsigned attended(unsigned weights) {
  return ((weights & 0xffffu) == 0x8000u ? 0 : one_bits<T>) | (weights >> 16 == 0x8000u ? 0 : one_bits<T> << 16);
}
__device__ __forceinline__ float value_of_counts(float counts) {
  const float nan = floorf(counts / count_nan), minus = floorf((counts - nan * count_nan) / count_minus);
  const float plus = counts - nan * count_nan - minus * count_minus;
  if (nan > 0 || (minus > 0 && plus > 0)) return __int_as_float(0x7fc00000);
  return plus > 0 ? -minus_infinity : minus > 0 ? minus_infinity : 0.0f;
}

// The queries of a warp, their scores with a tile of keys, and their O.
template <class Row, class T> class MmaWarp {
  static constexpr Config c = Row::config;
  static constexpr int M = c.rows / 16, N = c.bn / 16, D = c.d / 16, V = c.dv / 16;  // fragments
  static constexpr bool keeps_q = M * D * 4 <= 32;                                   // registers that are to spare
  using TileQ = PanelTile<c.bm>;
  using TileK = PanelTile<c.bn>;
  using Axis = tile::sm80::Axis;
  static_assert(c.threads / 32 * c.rows == c.bm && c.rows % 16 == 0 && c.bn % 16 == 0);
  static_assert(c.bn <= 64, "counts of special values");

 public:
  static constexpr int rows = 2 * M;  // of this lane

  // first: this warp's first query in the block's tile.
  __device__ __forceinline__ explicit MmaWarp(int first = static_cast<int>(threadIdx.x) / 32 * c.rows)
      : first_(first),
        lane_(static_cast<int>(threadIdx.x) % 32),
        from_q_(TileQ::origin(Axis::k, first_)),
        from_k_(TileK::origin(Axis::k, 0)),
        from_v_(TileK::origin(Axis::outer, 0)) {
#pragma unroll
    for (int r = 0; r < rows; ++r) running[r] = RunningRow::nothing();
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int v = 0; v < 2 * V; ++v)
#pragma unroll
        for (int e = 0; e < 4; ++e) o_[m][v][e] = 0;
  }

  // This lane's row r, in the block's tile; and the first key of its pair n.
  __device__ __forceinline__ int row(int r) const { return first_ + r / 2 * 16 + r % 2 * 8 + lane_ / 4; }
  __device__ __forceinline__ int key(int n) const { return n * 8 + lane_ % 4 * 2; }

  __device__ __forceinline__ void read_q(unsigned q) {
    if constexpr (keeps_q) {
#pragma unroll
      for (int d = 0; d < D; ++d)
#pragma unroll
        for (int m = 0; m < M; ++m)
          tile::sm80::load_matrices<false>(q_[d][m], TileQ::further(q + from_q_, m * 16, d * 16));
    }
  }

  // s = q k^T
  __device__ __forceinline__ void multiply_keys(unsigned q, unsigned k) { multiply_rows<keeps_q>(s_, q, k); }

  // f(r, key, score) of every score, which becomes what it returns.
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
  // Leaves of each row the keys of span(r).
  template <class F> __device__ __forceinline__ void keep_spans(F span) {
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

  // Scores become weights; O so far is brought to their scale, where a maximum has risen.
  template <bool MayMiss> __device__ __forceinline__ void weigh(float factor) {
    const simt::tiles<4> quad;  // lanes that share a row
    float top[rows], change[rows];
    bool rescale = false, far = false;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      top[r] = running[r].top;
#pragma unroll
      for (int n = 0; n < 2 * N; ++n) {
        const float* pair = &s_[r / 2][n][r % 2 * 2];
        top[r] = fmaxf(top[r], fmaxf(pair[0], pair[1]));
      }
      far = far || Reference::is_far(top[r], factor);
      top[r] = quad.reduce(top[r], [](float x, float y) { return fmaxf(x, y); });
    }
    const bool was_far = is_far_;
    is_far_ = simt::tile<32>().any(far);
    if (is_far_ || was_far) {
#pragma unroll
      for (int r = 0; r < rows; ++r) change[r] = running[r].raise(top[r], factor);
      for_scores([&](int r, int, float score) { return running[r].relative(score); });
    } else {
#pragma unroll
      for (int r = 0; r < rows; ++r) change[r] = running[r].raise_near(top[r], factor);
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
          s = MayMiss ? running[r].weight_or_none(s, factor) : running[r].weight(s, factor);
          running[r].sum += s;
        }
  }

  // o += weights v
  __device__ __forceinline__ void add_values(unsigned v) {
#pragma unroll
    for (int n = 0; n < N; ++n) {
      unsigned weights[M][4];
#pragma unroll
      for (int m = 0; m < M; ++m) pack_weights(n, m, weights[m]);
#pragma unroll
      for (int d = 0; d < V; ++d) {
        unsigned values[4];
        tile::sm80::load_matrices<true>(values, TileK::further(v + from_v_, n * 16, d * 16));
#pragma unroll
        for (int m = 0; m < M; ++m)
#pragma unroll
          for (int h = 0; h < 2; ++h) tile::sm80::multiply<T>(o_[m][2 * d + h], weights[m], values, h);
      }
    }
  }

  // The same where values are NaN or infinite: eight columns of O at a time, which leaves room for the counts.
  __device__ __forceinline__ void add_special_values(unsigned v, int columns) {
#pragma unroll
    for (int d = 0; d < 2 * V; ++d)
#pragma unroll
      for (int m = 0; m < M; ++m) {
        if (d * 8 >= columns) continue;  // and the branch keeps the compiler from weaving all of them together
        float counts[4] = {};
#pragma unroll
        for (int n = 0; n < N; ++n) {
          unsigned weights[4], values[4];
          pack_weights(n, m, weights);
          tile::sm80::load_matrices<true>(values, TileK::further(v + from_v_, n * 16, d / 2 * 16));
          unsigned special[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            special[i] = special_counts<T>(values[i]);
            values[i] = without_special<T>(values[i]);
          }
          tile::sm80::multiply<T>(o_[m][d], weights, values, d % 2);
#pragma unroll
          for (int i = 0; i < 4; ++i) weights[i] = attended<T>(weights[i]);
          tile::sm80::multiply<T>(counts, weights, special, d % 2);
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) o_[m][d][e] += value_of_counts(counts[e]);
      }
  }

  // After the last tile: sums of whole rows ...
  __device__ __forceinline__ void finish_sums() {
    const simt::tiles<4> quad;
#pragma unroll
    for (int r = 0; r < rows; ++r) running[r].sum = quad.reduce(running[r].sum, [](float x, float y) { return x + y; });
  }
  // ... and O divided by them.
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

  RunningRow running[rows];

 protected:
  // sums = q k^T of any tiles; Kept: of the Q that was read.
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
          tile::sm80::load_matrices<false>(fresh[m], TileQ::further(q + from_q_, m * 16, d * 16));
      }
#pragma unroll
      for (int n = 0; n < N; ++n) {
        unsigned keys[4];
        tile::sm80::load_matrices<false>(keys, TileK::further(k + from_k_, n * 16, d * 16));
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

  // The weights of 16 queries and 16 keys, as the operand of the next product.
  __device__ __forceinline__ void pack_weights(int n, int m, unsigned (&to)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float* pair = &s_[m][2 * n + i / 2][i % 2 * 2];
      to[i] = tile::pack_pair<T>(pair[0], pair[1]);
    }
  }

  int first_, lane_;
  bool is_far_ = false;                // whether a row of this warp is
  unsigned from_q_, from_k_, from_v_;  // where this lane reads in their tiles
  unsigned q_[keeps_q ? D : 1][M][4];
  float s_[M][2 * N][4], o_[M][2 * V][4];  // [16 queries][8 keys or columns]
};

// Writes a warp's rows of O, times `scale`, of whose block's tile `rows` rows of `width` columns exist. They go through
// its rows of a tile in shared memory that nobody else reads, so that it writes whole sectors. row_at(r): where row r
// of the block's tile begins.
template <class Row, class T, class RowAt>
__device__ __forceinline__ void put_rows(const MmaWarp<Row, T>& warp, unsigned char* place, int rows, int width,
                                         std::int64_t step, bool vectors, float scale, RowAt row_at) {
  constexpr Config c = Row::config;
  using Tile = PanelTile<c.bm>;
  __syncwarp();  // all lanes have read it
  warp.for_pairs([&](int r, int column, simt::vec<float, 2> o) {
    *reinterpret_cast<unsigned*>(place + Tile::at(warp.row(r), column)) =
        tile::pack_pair<T>(o[0] * scale, o[1] * scale);
  });
  __syncwarp();
  constexpr int unit = 16 / sizeof(T), units = c.dv / unit;
  const int warp_first = static_cast<int>(threadIdx.x) / 32 * c.rows;
  for (int n = static_cast<int>(threadIdx.x) % 32; n < c.rows * units; n += 32) {
    const int row = warp_first + n / units, column = n % units * unit;
    if (row >= rows || column >= width) continue;
    const auto values = simt::load<unit>(reinterpret_cast<const T*>(place + Tile::at(row, column)));
    T* to = row_at(row);
    if (vectors && column + unit <= width) {
      simt::store_global(to + column, values);
    } else {
      for (int e = 0; e < unit && column + e < width; ++e) to[(column + e) * step] = values[e];
    }
  }
}

}  // namespace ridge::attention_kernels
