// Attention on the tensor cores that warps feed from registers (mma.sync), from Ampere on: f16 and bf16.
//
// A warp has 16 or 32 queries, and their scores and their O in its registers: the sums of one product lie in the lanes
// as the next one's operand does, so that weights never leave them. K and V come by asynchronous copies, each while the
// product before its own runs. (Dao, "FlashAttention-2", 2023.)
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

// Where a block's tiles lie in shared memory: Q, then stages of K and V.
template <class Row> struct MmaKernel {
  static constexpr Config c = Row::config;
  static constexpr int k_bytes = mma_tile_bytes(c.bn, c.d), stage_bytes = k_bytes + mma_tile_bytes(c.bn, c.dv);
  static constexpr int stages_at = mma_q_bytes(c);
  static_assert(stages_at + mma_stages * stage_bytes == smem_bytes(c, c.d, c.dv));
};

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

// The pages of a tile of `Tile` keys: the lanes of each warp have their numbers. Without Paged there are none.
template <int Tile, bool Paged> struct TilePages {
  static_assert(Tile / 16 < 32, "pages of 16 keys and more");
  int first = 0, number = 0;  // the first one's place in the table; that of this lane's page, if there is one

  // Asks for them. Keys past the sequence's have none.
  template <class T> __device__ __forceinline__ void look_up(const Arguments<T>& a, int batch, int first_key) {
    if constexpr (Paged) {
      const Sequences& s = a.sequences;
      if (s.pages.data == nullptr) return;
      first = first_key >> s.page_bits;
      const int page = first + static_cast<int>(threadIdx.x) % 32;
      const bool there = page <= (::min(first_key + Tile, a.sk) - 1) >> s.page_bits;
      number = there ? s.pages(batch, page) : 0;
    }
  }
  // The row of one of its keys. All lanes of a warp ask.
  template <class T> __device__ __forceinline__ const T* row_of(const KeyRows<T>& rows, int key) const {
    if constexpr (Paged)
      if (rows.pages.data != nullptr)
        return rows.in_page(simt::tile<32>().shfl(number, (key >> rows.bits) - first), key);
    return rows.from + key * rows.row;
  }
};

// Rows of a block's tile are queries, `pack` heads of each: query first + row / pack of head first + row % pack, so
// that heads which share K and V share a block. With more than one split, gridDim.y is their number, and O and LSE go
// to `partial`, for attention_merge_kernel.
//   shared  Q [bm][d], 2 x (K [bn][d]  V [bn][dv])
// Preconditions: cc 80 or later; gridDim.x is batch * heads / pack * tiles of rows; d and dv are at most the Config's;
// without Uneven, all sequences are of one length; keys in pages need Uneven and split.
template <class Row, class T, bool Uneven>
__global__ void __launch_bounds__(Row::config.threads, Row::config.blocks_per_sm) attention_mma(Arguments<T> a) {
  if constexpr (tile::sm80::available) {
    constexpr Config c = Row::config;
    unsigned char* q = simt::dynamic_shared<unsigned char>();
    using K = MmaKernel<Row>;
    const auto stage_k = [=](int stage) { return q + K::stages_at + stage * K::stage_bytes; };
    const auto stage_v = [=](int stage) { return stage_k(stage) + K::k_bytes; };
    const unsigned q_at = tile::sm80::shared_address(q);

    const Place at((a.sq * a.pack + c.bm - 1) / c.bm, a.heads / a.pack);
    if constexpr (Uneven) {
      take_sequence(a, at.batch);
      if (at.tile * c.bm >= a.sq * a.pack) return;
    }
    const int rows = a.sq * a.pack;
    const int first_row = at.tile * c.bm, first_query = first_row / a.pack, first_head = at.head * a.pack;
    const int last_query = (::min(first_row + c.bm, rows) - 1) / a.pack;
    const T* from_q = a.q + at.batch * a.at_q.batch;
    const KeyRows<T> from_k = k_rows(a, at.batch, first_head), from_v = v_rows(a, at.batch, first_head);
    const Keys keys = part_of(keys_of(a, first_query, last_query), c.bn, static_cast<int>(blockIdx.y), a.splits);
    TilePages<c.bn, Uneven && c.split> pages;
    pages.look_up(a, at.batch, keys.first);
    const auto start = [&](int first, int stage) {
      start_tile<c.bn, c.d, c.threads, T>(stage_k(stage), a.sk - first, a.d, a.at_k.element, a.vectors,
                                          [&](int row) { return pages.row_of(from_k, first + row); });
      start_tile<c.bn, c.dv, c.threads, T>(stage_v(stage), a.sk - first, a.dv, a.at_v.element, a.vectors,
                                           [&](int row) { return pages.row_of(from_v, first + row); });
      pages.look_up(a, at.batch, first + c.bn);  // one tile before they are needed
    };

    start_tile<c.bm, c.d, c.threads, T>(q, rows - first_row, a.d, a.at_q.element, a.vectors, [&](int row) {
      const int r = first_row + row;
      return from_q + r / a.pack * a.at_q.row + (first_head + r % a.pack) * a.at_q.head;
    });
    if (keys.first < keys.last) start(keys.first, 0);
    const Scores<T> scores(a);
    MmaWarp<Row, T> warp;
    tile::wait_for_copies();
    __syncthreads();
    warp.read_q(q_at);
    const bool idle = c.split && first_row + static_cast<int>(threadIdx.x) / 32 * c.rows >= rows;  // no rows of its own
    int stage = 0;
    RIDGE_KEEP_LOOP
    for (int first = keys.first; first < keys.last; first += c.bn, stage ^= 1) {
      const bool inside = first + c.bn <= keys.last && all_attend(a, first_query, last_query, first, first + c.bn);
      const bool all = inside && a.mask == nullptr;
      // The tile is here, and nobody still reads the one before: its place is filled next.
      tile::wait_for_copies();
      bool special = false;
      if (all) __syncthreads();
      else special = __syncthreads_or(find_special<c.bn, c.dv, c.threads, T>(stage_v(stage)));
      if (first + c.bn < keys.last) start(first + c.bn, stage ^ 1);
      if (idle) continue;
      warp.multiply_keys(q_at, tile::sm80::shared_address(stage_k(stage)));
      if (!scores.as_is) warp.for_scores([&](int, int, float product) { return scores.of(product); });
      if (a.mask != nullptr)
        warp.for_scores([&](int r, int key, float score) {
          const int row = ::min(first_row + warp.row(r), rows - 1);
          return first + key >= a.sk
                     ? score
                     : scores.masked(a, at.batch, first_head + row % a.pack, row / a.pack, first + key, score);
        });
      if (!inside)
        warp.keep_spans([&](int r) {
          return span_of(a, (first_row + warp.row(r)) / a.pack, first, ::min(first + c.bn, keys.last));
        });
      if (all) warp.template weigh<false>(scores.factor);
      else warp.template weigh<true>(scores.factor);
      const unsigned v = tile::sm80::shared_address(stage_v(stage));
      if (!special) warp.add_values(v);
      else warp.add_special_values(v, a.dv);
    }
    warp.finish();

    if (a.splits > 1) {
      const std::int64_t part = blockIdx.y * a.rows + at.batch * a.at_row.batch;
      const auto place_of = [&](int r) {
        const int row = first_row + warp.row(r);
        return part + (first_head + row % a.pack) * a.at_row.head + row / a.pack;
      };
      warp.for_pairs([&](int r, int column, simt::vec<float, 2> o) {
        if (first_row + warp.row(r) >= rows) return;
        float* to = a.partial_o + place_of(r) * a.dv + column;
        if (column < a.dv) to[0] = o[0];
        if (column + 1 < a.dv) to[1] = o[1];
      });
      for (int r = 0; r < warp.rows; ++r)
        if (threadIdx.x % 4 == 0 && first_row + warp.row(r) < rows)
          put_part(a, place_of(r), warp.running[r], scores.factor);
      return;
    }
    put_rows(warp, q, rows - first_row, a.dv, a.at_o.element, a.vectors, 1, [&](int in_tile) {
      const int row = first_row + in_tile;
      return a.o + at.batch * a.at_o.batch + (first_head + row % a.pack) * a.at_o.head + row / a.pack * a.at_o.row;
    });
#pragma unroll
    for (int r = 0; r < warp.rows; ++r) {
      const int row = first_row + warp.row(r);
      if (threadIdx.x % 4 == 0 && row < rows)
        put_lse(a, at.batch, first_head + row % a.pack, row / a.pack, warp.running[r].log_sum(scores.factor));
    }
  }
}

}  // namespace ridge::attention_kernels
