// From the sums of wgmma in registers to D. Each warp does its own 16 rows, through 4 KB of shared memory of its own:
// no warp waits for another.
//
// What takes next to nothing beside the store is written out for each part of 32 columns. Activations and late
// addends are there once, in a loop over parts, although sums in registers have then to be looked for: where a
// model's products follow other kernels, a kernel's instructions come from the L2 cache when they are first
// executed, about 50 clocks for a line of eight on an H100. Written out for each part, gelu took 13 us of that, and
// 3 us less when it was there.
#pragma once
#include <ridge/gemm/config.hpp>
#include <ridge/gemm/epilogue.cuh>
#include <ridge/tile/activate_many.cuh>
#include <ridge/tile/extreme.cuh>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/sm90/tma.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>
#include <ridge/tile/sm90/wgmma.cuh>

namespace ridge::gemm_kernels {

// Where a tensor of D's shape and type is added: C before the activation, or a residual after it.
enum class Addend : std::uint8_t { none, before_activation, after_activation };

// What D becomes where no element of it needs more than its sum, its column's bias and an element that TMA brings:
// scale * act(alpha * sum + bias + factor * addend), or scale * (act(alpha * sum + bias) + addend). It is computed
// where the sums are, and stored by TMA.
struct ColumnEpilogue {
  float alpha = 1, scale = 1;
  Activation activation = Activation::none;
  Tensor bias = {};
  bool plain = false;  // the sum itself
  Addend addend = Addend::none;
  float factor = 1;  // of an addend before the activation
};

// What a thread has of its warp's 16 rows and of 32 neighbouring columns, a part: x[4 j + i] as in wgmma.cuh.
inline constexpr int part_columns = 32, part_sums = 16;
using Sums = float[part_sums];
template <class Acc> using SumsOf = Acc[part_sums];

// Nothing is added.
struct NoAddend {
  __device__ __forceinline__ NoAddend below(int) const { return {}; }
  __device__ __forceinline__ void add(int, float, Sums&) const {}
};
// What is added to a warp's 16 rows, as TMA has brought it to a ring's stages (config.hpp).   T: of its elements
template <class Row, class T> struct TileAddend {
  static constexpr Config c = Row::config;
  static constexpr int pieces_down = c.bm / addend_rows, piece_columns = wgmma_line_bytes / static_cast<int>(sizeof(T));

  const unsigned char* stages;
  int first_stage, row;  // where the tile's first piece is; the warp's first row of the tile

  // x += factor * the addend's elements of a part.
  __device__ __forceinline__ void add(int part, float factor, Sums& x) const {
    each(part, [&](int i, float element) { x[i] += factor * element; });
  }
  // All sums begin with it.
  template <int N> __device__ __forceinline__ void begin(float factor, float (&sums)[N]) const {
#pragma unroll
    for (int part = 0; part < N / part_sums; ++part)
      each(part, [&](int i, float element) { sums[part * part_sums + i] = factor * element; });
  }
  // The same of the warp's rows so many blocks of 64 further down.
  __device__ __forceinline__ TileAddend below(int blocks) const { return {stages, first_stage, row + blocks * 64}; }

 private:
  // f(i, element) of a part's sum i.
  template <class F> __device__ __forceinline__ void each(int part, F f) const {
    namespace sm90 = tile::sm90;
    const int col = part * part_columns, piece = col / piece_columns * pieces_down + row / addend_rows;
    int stage = first_stage + piece / addend_pieces_of_stage(c);
    if (stage >= c.stages) stage -= c.stages;
    const unsigned char* from =
        stages + stage * wgmma_stage_bytes(c) + piece % addend_pieces_of_stage(c) * addend_piece_bytes;
    const unsigned lane = threadIdx.x % 32;
    const unsigned line = static_cast<unsigned>(row) % addend_rows + lane / 4;
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const unsigned byte = (static_cast<unsigned>(col % piece_columns + j * 8) + lane % 4 * 2) * sizeof(T);
        const auto pair = simt::load<2>(reinterpret_cast<const T*>(from + sm90::swizzled(line + 8 * i, byte)));
        f(4 * j + 2 * i, static_cast<float>(pair[0]));
        f(4 * j + 2 * i + 1, static_cast<float>(pair[1]));
      }
  }
};

// Part `part` of a warpgroup's sums, [blocks of 64 rows][N / 2], block after block, where the part is known only when
// it runs: registers have no index, so halves of the places are tried until one is left. It is one of Count from First
// on.
template <int First, int Count, int Blocks, int N, class Acc>
__device__ __forceinline__ void take_among(const Acc (&sums)[Blocks][N], int part, SumsOf<Acc>& x) {
  if constexpr (Count > 1) {
    constexpr int half = Count / 2;
    if (part < First + half) take_among<First, half>(sums, part, x);
    else take_among<First + half, Count - half>(sums, part, x);
  } else {
    constexpr int parts = N / part_sums;
#pragma unroll
    for (int i = 0; i < part_sums; ++i) x[i] = sums[First / parts][First % parts * part_sums + i];
  }
}
template <int Blocks, int N, class Acc>
__device__ __forceinline__ void take(const Acc (&sums)[Blocks][N], int part, SumsOf<Acc>& x) {
  take_among<0, Blocks*(N / part_sums)>(sums, part, x);
}

__device__ __forceinline__ void add_bias(const ColumnEpilogue& e, const float* bias, int part, Sums& x) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const auto b = simt::load<2>(bias + part * part_columns + j * 8 + threadIdx.x % 4 * 2);
#pragma unroll
    for (int i = 0; i < 4; ++i) x[4 * j + i] = e.alpha * x[4 * j + i] + b[i % 2];
  }
}

// A part of D's columns where that takes next to nothing beside the store: the sums, or sums and bias or relu of them,
// and what is added.
__device__ __forceinline__ bool is_cheap(const ColumnEpilogue& e) {
  return e.plain || ((e.activation == Activation::none || e.activation == Activation::relu) && e.scale == 1);
}
template <int N, class Acc, class Added = NoAddend>
__device__ __forceinline__ void cheap_part(const Acc (&sums)[N], int part, const ColumnEpilogue& e, const float* bias,
                                           Sums& x, const Added& addend = {}) {
#pragma unroll
  for (int i = 0; i < part_sums; ++i) x[i] = static_cast<float>(sums[part * part_sums + i]);
  if (e.plain) return;
  add_bias(e, bias, part, x);
  if (e.addend == Addend::before_activation) addend.add(part, e.factor, x);
  const float least = e.activation == Activation::relu ? 0.0f : tile::Extreme<true>::neutral<float>();
#pragma unroll
  for (int i = 0; i < part_sums; ++i) x[i] = tile::Extreme<true>::pick(x[i], least);  // a NaN stays
  if (e.addend == Addend::after_activation) addend.add(part, 1, x);
}
// A cheap epilogue with the constants that the compiler is to see: no scale, not plain, and this addend.
__device__ __forceinline__ ColumnEpilogue cheap(const ColumnEpilogue& e, Addend addend = Addend::none) {
  return {.alpha = e.alpha, .activation = e.activation, .addend = addend, .factor = e.factor};
}

// D where some of a warp's 16 rows may be another tile's, which TMA would overwrite: then threads store theirs.
template <class T> struct BoundedRows {
  T* d;
  std::int64_t pitch;
  int rows, cols;  // past the last row that is this tile's, and past D's last column

  __device__ __forceinline__ bool holds(int row) const { return row + 16 <= rows; }
  __device__ __forceinline__ void store(int row, int col, const unsigned* pairs) const {
    const int lane = threadIdx.x % 32, at_row = row + lane / 4, at_col = col + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)  // rows are whole accesses, of pairs too
        if (at_row + 8 * i < rows && at_col + 8 * j < cols) {
          simt::vec<T, 2> pair;
          memcpy(&pair, pairs + 2 * j + i, sizeof pair);
          simt::store(d + (at_row + 8 * i) * pitch + at_col + 8 * j, pair);
        }
  }
};
template <class T> struct AllRows {};

// Where a warp's 16 rows and N columns of D go, and the shared memory that they pass: 2 buffers of 16 lines of 128
// bytes, each of which takes two parts. Leaves stores under way that read it.
template <class T, int N, bool Bounded = false> struct ColumnStore {
  static constexpr int parts = N / part_columns, copies = parts / 2;
  static_assert(parts % 2 == 0, "a copy takes two parts");
  using Packed = unsigned[N / 4];

  unsigned char* staging;
  const tile::sm90::TensorMap* map;
  int row, col, batch;
  std::conditional_t<Bounded, BoundedRows<T>, AllRows<T>> bound = {};

  // Of the warp's rows so many blocks of 64 further down.
  __device__ __forceinline__ ColumnStore below(int blocks) const {
    ColumnStore other = *this;
    other.row += blocks * 64;
    return other;
  }
  // Parts come in their order.   pairs: x[2 i] and x[2 i + 1] of a part
  __device__ __forceinline__ void store(int part, const unsigned* pairs) const {
    namespace sm90 = tile::sm90;
    if constexpr (Bounded) {
      if (!bound.holds(row)) return bound.store(row, col + part * part_columns, pairs);
    }
    // The buffers take turns; where they are filled an odd number of times, a tile's first one is the former's last.
    constexpr int under_way = parts / 2 % 2 ? 0 : 1;
    const unsigned lane = threadIdx.x % 32;
    const unsigned line = lane % 16, piece = lane / 16;  // of stmatrix: two matrices below each other, then two beside
    unsigned char* buffer = staging + part / 2 % 2 * 2048;
    if (part % 2 == 0) {
      if (lane == 0) sm90::wait_stores_read<under_way>();
      __syncwarp();
    }
#pragma unroll
    for (int j = 0; j < 4; j += 2)
      sm90::store_matrices(sm90::shared_address(buffer + sm90::swizzled(line, (part % 2 * 4 + j + piece) * 16)),
                           pairs[2 * j], pairs[2 * j + 1], pairs[2 * j + 2], pairs[2 * j + 3]);
    if (part % 2 == 1) {
      sm90::fence_shared_for_copies();
      __syncwarp();
      if (lane == 0) {
        sm90::store(map, buffer, col + part / 2 * 64, row, batch);
        sm90::commit_stores();
      }
    }
  }
  __device__ __forceinline__ void store(int part, const Sums& x) const {
    unsigned pairs[part_sums / 2];
    pack(x, pairs);
    store(part, pairs);
  }
  // Two parts of a packed tile, in their order too.
  __device__ __forceinline__ void store_copy(int copy, const Packed& pairs) const {
#pragma unroll
    for (int part = 2 * copy; part < 2 * copy + 2; ++part) store(part, pairs + part * part_sums / 2);
  }
  __device__ __forceinline__ void store_all(const Packed& pairs) const {
#pragma unroll
    for (int copy = 0; copy < copies; ++copy) store_copy(copy, pairs);
  }
  __device__ __forceinline__ static void pack(const Sums& x, unsigned* pairs) {
#pragma unroll
    for (int i = 0; i < part_sums / 2; ++i) pairs[i] = tile::pack_pair<T>(x[2 * i], x[2 * i + 1]);
  }
};

// The same for D of the sums' type, by the threads that have them: 8 rows of 32 bytes at a time.
template <class Acc> struct DirectStore {
  Acc* d;  // of this batch
  std::int64_t pitch;
  int row, col, rows, cols;

  __device__ __forceinline__ void store(int part, const SumsOf<Acc>& x) const {
    const int lane = threadIdx.x % 32, at_row = row + lane / 4, at_col = col + part * part_columns + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      Acc* to = d + (at_row + 8 * i) * pitch + at_col;
#pragma unroll
      for (int j = 0; j < 4; ++j)  // rows are whole accesses: of two neighbours either both are there or none is
        if (at_row + 8 * i < rows && at_col + 8 * j < cols)
          simt::store(to + 8 * j, simt::vec<Acc, 2>{x[4 * j + 2 * i], x[4 * j + 2 * i + 1]});
    }
  }
  __device__ __forceinline__ DirectStore below(int blocks) const {
    return {d, pitch, row + blocks * 64, col, rows, cols};
  }
  // Sums as they are.
  template <int Blocks, int N> __device__ __forceinline__ void store_all(const Acc (&sums)[Blocks][N]) const {
#pragma unroll
    for (int block = 0; block < Blocks; ++block)
#pragma unroll
      for (int part = 0; part < N / part_sums; ++part) {
        SumsOf<Acc> x;
#pragma unroll
        for (int i = 0; i < part_sums; ++i) x[i] = sums[block][part * part_sums + i];
        below(block).store(part, x);
      }
  }
};

// All of a tile that is cheap, as it will be stored.   pairs: [N / 4]
template <class T, int N, class Acc, class Added>
__device__ __forceinline__ void pack_columns(const Acc (&sums)[N / 2], const ColumnEpilogue& e, const float* bias,
                                             const Added& addend, unsigned* pairs) {
  const auto pack = [&](const ColumnEpilogue& of) {
#pragma unroll
    for (int part = 0; part < N / part_columns; ++part) {
      Sums x;
      cheap_part<N / 2>(sums, part, of, bias, x, addend);
      ColumnStore<T, N>::pack(x, pairs + part * part_sums / 2);
    }
  };
  // The parts' code once for each: without a condition in it where nothing is added.
  if (e.plain) pack({.plain = true});
  else if (e.addend == Addend::none) pack(cheap(e));
  else pack(cheap(e, e.addend));
}

// T: of D. bias: of the N columns. To: ColumnStore or DirectStore, of the first block's rows. Turns: of
// tile::activate_many().
template <class T, int N, int Turns = part_sums, int Blocks, class To, class Added = NoAddend>
__device__ __forceinline__ void store_columns(const float (&sums)[Blocks][N / 2], const ColumnEpilogue& e,
                                              const float* bias, const To& to, const Added& addend = {}) {
  constexpr int parts = N / part_columns;
  const auto store_cheap = [&](const ColumnEpilogue& of) {
#pragma unroll
    for (int block = 0; block < Blocks; ++block)
#pragma unroll
      for (int part = 0; part < parts; ++part) {
        Sums x;
        cheap_part(sums[block], part, of, bias, x);
        to.below(block).store(part, x);
      }
  };
  if (e.plain) return store_cheap({.plain = true});
  if (is_cheap(e) && e.addend == Addend::none) return store_cheap(cheap(e));
  RIDGE_KEEP_LOOP
  for (int all = 0; all < Blocks * parts; ++all) {
    const int block = all / parts, part = all % parts;
    Sums x;
    take(sums, all, x);
    add_bias(e, bias, part, x);
    if (e.addend == Addend::before_activation) addend.below(block).add(part, e.factor, x);
    tile::activate_many<T, Turns>(e.activation, x);
    if (e.addend == Addend::after_activation) addend.below(block).add(part, 1, x);
    if (e.scale != 1) {
#pragma unroll
      for (int i = 0; i < part_sums; ++i) x[i] *= e.scale;
    }
    to.below(block).store(part, x);
  }
}

// The same where the sums are of N columns of A B and then of the same ones of A G.
template <class T, int N, class To, class Added>
__device__ __forceinline__ void store_gated_columns(const float (&sums)[1][N], const ColumnEpilogue& e,
                                                    const float* bias, const To& to, const Added& addend) {
  constexpr int parts = N / part_columns;
  RIDGE_KEEP_LOOP
  for (int part = 0; part < parts; ++part) {
    Sums x, gates;
    take(sums, part, x);
    take(sums, parts + part, gates);
    add_bias(e, bias, part, x);
    if (e.addend == Addend::before_activation) addend.add(part, e.factor, x);
    tile::activate_many<T>(e.activation, x);
#pragma unroll
    for (int i = 0; i < part_sums; ++i) x[i] *= e.alpha * gates[i];
    if (e.addend == Addend::after_activation) addend.add(part, 1, x);
#pragma unroll
    for (int i = 0; i < part_sums; ++i) x[i] *= e.scale;
    to.store(part, x);
  }
}

// The same by an epilogue of any kind, which stores by itself: sums pass through shared memory to become rows of four
// neighbours, and the epilogue's code is there once.
template <int N, int Blocks, class Acc, class Epilogue>
__device__ __forceinline__ void store_by_epilogue(const Acc (&sums)[Blocks][N / 2], const Epilogue& epilogue,
                                                  unsigned char* staging, std::int64_t rows, std::int64_t cols,
                                                  int first_row, int col, int batch) {
  constexpr int parts = N / part_columns;
  constexpr int pitch = part_columns + 8;  // of 4 bytes; 8 banks from row to row
  Acc* buffer = reinterpret_cast<Acc*>(staging);
  const int lane = threadIdx.x % 32;
  RIDGE_KEEP_LOOP
  for (int all = 0; all < Blocks * parts; ++all) {
    const int part = all % parts, row = first_row + all / parts * 64;
    SumsOf<Acc> x;
    take(sums, all, x);
    __syncwarp();
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        simt::store(buffer + (lane / 4 + 8 * i) * pitch + j * 8 + lane % 4 * 2,
                    simt::vec<Acc, 2>{x[4 * j + 2 * i], x[4 * j + 2 * i + 1]});
    __syncwarp();
    constexpr int groups = 4, rows_apart = 4;
    const int r = lane / 8, c = lane % 8 * 4;
    simt::vec<Acc, 4> of_rows[groups];
#pragma unroll
    for (int g = 0; g < groups; ++g)
      of_rows[g] = simt::load<4>(static_cast<const Acc*>(buffer) + (r + g * rows_apart) * pitch + c);
    finish_vectors(epilogue, of_rows,
                   Vectors{batch, row + r, col + part * part_columns + c, rows_apart, 0, rows, cols});
  }
}

// And such an epilogue of sums and gates: in pairs from where they are.
template <int N, class Epilogue>
__device__ __forceinline__ void store_gated_by_epilogue(const float (&sums)[1][N], const Epilogue& epilogue,
                                                        std::int64_t rows, std::int64_t cols, int row, int col,
                                                        int batch) {
  constexpr int parts = N / part_columns;
  const int lane = threadIdx.x % 32;
  RIDGE_KEEP_LOOP
  for (int part = 0; part < parts; ++part) {
    Sums x, gates;
    take(sums, part, x);
    take(sums, parts + part, gates);
    RIDGE_KEEP_LOOP
    for (int turn = 0; turn < part_sums / 2; ++turn) {  // at places 0 and 1
      const std::int64_t at_row = row + lane / 4 + turn % 2 * 8,
                         at_col = col + part * part_columns + turn / 2 * 8 + lane % 4 * 2, left = cols - at_col;
      if (at_row < rows && left > 0)
        epilogue(simt::vec<float, 2>{x[0], x[1]}, simt::vec<float, 2>{gates[0], gates[1]},
                 At{batch, at_row, at_col, static_cast<int>(::min(left, std::int64_t{2}))});
#pragma unroll
      for (int i = 0; i + 2 < part_sums; ++i) x[i] = x[i + 2], gates[i] = gates[i + 2];
    }
  }
}

}  // namespace ridge::gemm_kernels
