// From wgmma's sums in registers to D. Each warp handles its own 16 rows, through its own 4 KB of shared memory: no
// warp waits for another.
//
// Code that costs little beside the store is unrolled for each part of 32 columns. Activations and late addends exist
// once, in a loop over parts, although sums in registers must then be selected: in a model, where other kernels run
// before a product, a kernel's instructions come from the L2 cache when they are first executed, about 50 clocks for a
// line of eight on an H100. Unrolled for each part, gelu spent 13 us on that, and 3 us less with one copy.
#pragma once
#include <ridge/gemm/epilogue.cuh>
#include <ridge/gemm/sm90_wgmma.hpp>
#include <ridge/tile/activate_many.cuh>
#include <ridge/tile/extreme.cuh>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/sm90/tma.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>
#include <ridge/tile/sm90/wgmma.cuh>

namespace ridge::gemm_kernels {

// Where a tensor of D's shape and type is added: C before the activation, or a residual after it.
enum class Addend : std::uint8_t { none, before_activation, after_activation };

// Parameters of D where each element needs only its sum, its column's bias and an element that TMA loads:
// scale * act(alpha * sum + bias + factor * addend), or scale * (act(alpha * sum + bias) + addend); with a gate the
// activation times (alpha * sum + gate_bias). It is computed in the registers of the sums, and stored by TMA.
struct ColumnEpilogue {
  float alpha = 1, scale = 1;
  Activation activation = Activation::none;
  Tensor bias = {}, gate_bias = {};
  bool plain = false;  // D is the sum itself
  Addend addend = Addend::none;
  float factor = 1;  // of an addend before the activation
};

// A part: a thread's sums in its warp's 16 rows and 32 neighbouring columns; x[4 j + i] as in wgmma.cuh.
inline constexpr int part_columns = 32, part_sums = 16;
inline constexpr int copy_bytes = 16 * wgmma_line_bytes;  // staging in shared memory on the way to D: 16 rows of a line
using Sums = float[part_sums];
template <class Acc> using SumsOf = Acc[part_sums];

// No addend.
struct NoAddend {
  __device__ __forceinline__ NoAddend below(int) const { return {}; }
  __device__ __forceinline__ void add(int, float, Sums&) const {}
};
// The addend of a warp's 16 rows, as TMA has loaded it to the pipeline's stages (sm90_wgmma.hpp).   T: its element type
template <class Policy, class T> struct TileAddend {
  static constexpr Config c = Policy::config;
  static constexpr int pieces_down = c.bm / addend_rows, piece_columns = wgmma_line_bytes / static_cast<int>(sizeof(T));

  const unsigned char* stages;
  int first_stage, row;  // the stage of the tile's first piece; the warp's first row in the tile

  // x += factor * the addend's elements of a part.
  __device__ __forceinline__ void add(int part, float factor, Sums& x) const {
    each(part, [&](int i, float element) { x[i] += factor * element; });
  }
  // Initializes all sums with it.
  template <int N> __device__ __forceinline__ void begin(float factor, float (&sums)[N]) const {
#pragma unroll
    for (int part = 0; part < N / part_sums; ++part)
      each(part, [&](int i, float element) { sums[part * part_sums + i] = factor * element; });
  }
  // The addend of the rows `blocks` blocks of 64 further down.
  __device__ __forceinline__ TileAddend below(int blocks) const { return {stages, first_stage, row + blocks * 64}; }

 private:
  // Calls f(i, element) for each sum i of a part.
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

// Takes part `part` of a warpgroup's sums, [blocks of 64 rows][N / 2], block after block, where the part is known only
// at run time: registers cannot be indexed, so a binary search selects it among the `Count` parts from `First` on.
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

// A cheap part of D's columns costs little beside the store: the sums, sums and bias or relu of them, and an addend.
RIDGE_HD constexpr bool is_cheap(const ColumnEpilogue& e) {
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
// A cheap epilogue with constants visible to the compiler: no scale, not plain, and this addend.
__device__ __forceinline__ ColumnEpilogue cheap(const ColumnEpilogue& e, Addend addend = Addend::none) {
  return {.alpha = e.alpha, .activation = e.activation, .addend = addend, .factor = e.factor};
}

// D where some of a warp's 16 rows may belong to another tile, which TMA would overwrite: then threads store their own.
// words: a part's elements, as ColumnStore packs them.
template <class T> struct BoundedRows {
  T* d;
  std::int64_t pitch;
  int rows, cols;  // past this tile's last row, and past D's last column

  __device__ __forceinline__ bool holds(int row) const { return row + 16 <= rows; }
  __device__ __forceinline__ void store(int row, int col, const unsigned* words) const {
    const int lane = threadIdx.x % 32, at_row = row + lane / 4, at_col = col + lane % 4 * 2;
    constexpr int of_pair = sizeof(T) / 2;
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)  // rows are whole vectors, hence whole pairs
        if (at_row + 8 * i < rows && at_col + 8 * j < cols) {
          simt::vec<T, 2> pair;
          memcpy(&pair, words + (2 * j + i) * of_pair, sizeof pair);
          simt::store(d + (at_row + 8 * i) * pitch + at_col + 8 * j, pair);
        }
  }
};
template <class T> struct AllRows {};

// The destination of a warp's 16 rows and N columns of D, and their staging in shared memory: 2 buffers of 16 lines. A
// line has 128 bytes, a part of float32 or two of 16 bits; or 64 bytes for one part, where the number of parts is odd.
// Leaves stores in flight that read the buffers.
template <class T, int N, bool Bounded = false> struct ColumnStore {
  static_assert(sizeof(T) == 2 || std::is_same_v<T, float>);
  static constexpr int parts = N / part_columns, of_copy = sizeof(T) == 2 && parts % 2 == 0 ? 2 : 1;
  static constexpr int copies = parts / of_copy, copy_columns = of_copy * part_columns;
  static constexpr int line = copy_columns * static_cast<int>(sizeof(T));
  static constexpr int words = part_sums * static_cast<int>(sizeof(T)) / 4;  // in a thread's part
  static_assert(N % part_columns == 0 && 16 * line <= copy_bytes);
  using Packed = unsigned[parts * words];

  unsigned char* staging;
  const tile::sm90::TensorMap* map;
  int row, col, batch;
  std::conditional_t<Bounded, BoundedRows<T>, AllRows<T>> bound = {};

  // The store of the rows `blocks` blocks of 64 further down.
  __device__ __forceinline__ ColumnStore below(int blocks) const {
    ColumnStore other = *this;
    other.row += blocks * 64;
    return other;
  }
  // Parts come in order.   packed: a part, x[2 i] and x[2 i + 1] in a word, or x[i]
  __device__ __forceinline__ void store(int part, const unsigned* packed) const {
    namespace sm90 = tile::sm90;
    if constexpr (Bounded) {
      if (!bound.holds(row)) return bound.store(row, col + part * part_columns, packed);
    }
    // Two buffers alternate; where a tile fills them an odd number of times, its first one is the last one of the tile
    // before.
    constexpr int under_way = copies % 2 ? 0 : 1;
    const unsigned lane = threadIdx.x % 32;
    unsigned char* buffer = staging + part / of_copy % 2 * copy_bytes;
    if (part % of_copy == 0) {
      if (lane == 0) sm90::wait_stores_read<under_way>();
      __syncwarp();
    }
    if constexpr (sizeof(T) == 2) {
      const unsigned row_of = lane % 16, piece = lane / 16;  // two matrices one below the other, then two side by side
#pragma unroll
      for (int j = 0; j < 4; j += 2)
        sm90::store_matrices(
            sm90::shared_address(buffer + sm90::swizzled(row_of, (part % of_copy * 4 + j + piece) * 16, line)),
            packed[2 * j], packed[2 * j + 1], packed[2 * j + 2], packed[2 * j + 3]);
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          simt::store(reinterpret_cast<unsigned*>(
                          buffer + sm90::swizzled(lane / 4 + 8 * i, (static_cast<unsigned>(j) * 8 + lane % 4 * 2) * 4)),
                      simt::vec<unsigned, 2>{packed[4 * j + 2 * i], packed[4 * j + 2 * i + 1]});
    }
    if (part % of_copy == of_copy - 1) {
      sm90::fence_shared_for_copies();
      __syncwarp();
      if (lane == 0) {
        sm90::store(map, buffer, col + part / of_copy * copy_columns, row, batch);
        sm90::commit_stores();
      }
    }
  }
  __device__ __forceinline__ void store(int part, const Sums& x) const {
    unsigned packed[words];
    pack(x, packed);
    store(part, packed);
  }
  // Stores one copy's parts of a packed tile, also in order.
  __device__ __forceinline__ void store_copy(int copy, const Packed& packed) const {
#pragma unroll
    for (int part = of_copy * copy; part < of_copy * (copy + 1); ++part) store(part, packed + part * words);
  }
  __device__ __forceinline__ void store_all(const Packed& packed) const {
#pragma unroll
    for (int copy = 0; copy < copies; ++copy) store_copy(copy, packed);
  }
  __device__ __forceinline__ static void pack(const Sums& x, unsigned* packed) {
#pragma unroll
    for (int i = 0; i < words; ++i) {
      if constexpr (sizeof(T) == 2) packed[i] = tile::pack_pair<T>(x[2 * i], x[2 * i + 1]);
      else packed[i] = __float_as_uint(x[i]);
    }
  }
};

// The same for contiguous rows of D that start anywhere, which TMA does not store: words of two elements, from a row's
// first even address on, and single elements at its ends.
template <class T> struct AnywhereStore {
  static_assert(sizeof(T) == 2);
  static constexpr int pitch = part_columns + 8;  // of staged rows: eight of them begin in different banks

  T* d;  // of this matrix of the batch
  std::int64_t d_pitch;
  unsigned char* staging;
  int row, col, rows, cols;

  __device__ __forceinline__ AnywhereStore below(int blocks) const {
    AnywhereStore other = *this;
    other.row += blocks * 64;
    return other;
  }
  __device__ __forceinline__ void store(int part, const Sums& x) const {
    using Pair = simt::vec<T, 2>;
    T* const staged = reinterpret_cast<T*>(staging);
    const int lane = static_cast<int>(threadIdx.x % 32);
    __syncwarp();  // the part before has been read
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const unsigned word = tile::pack_pair<T>(x[4 * j + 2 * i], x[4 * j + 2 * i + 1]);
        Pair pair;
        memcpy(&pair, &word, sizeof pair);
        simt::store(staged + (lane / 4 + 8 * i) * pitch + 8 * j + lane % 4 * 2, pair);
      }
    __syncwarp();
    constexpr int row_lanes = part_columns / 2, at_once = 32 / row_lanes;  // lanes of a row; rows
    const int first_col = col + part * part_columns, there = ::min(cols - first_col, part_columns),
              element = lane % row_lanes * 2;
#pragma unroll
    for (int line = lane / row_lanes; line < 16; line += at_once) {
      if (row + line >= rows) break;
      T* const to = d + (row + line) * d_pitch + first_col;
      const T* const from = staged + line * pitch;
      const bool odd = reinterpret_cast<std::uintptr_t>(to) % sizeof(Pair) != 0;
      const int at = element + odd;  // of this lane's word
      if (at + 1 < there) simt::store(to + at, odd ? Pair{from[at], from[at + 1]} : simt::load<2>(from + at));
      else if (at < there) to[at] = from[at];
      if (odd && element == 0 && there > 0) to[0] = from[0];
    }
  }
};

// The same for D of integers, stored by the threads that hold the sums: 8 rows of 32 bytes at a time.
template <class Acc> struct DirectStore {
  Acc* d;  // of this matrix of the batch
  std::int64_t pitch;
  int row, col, rows, cols;

  __device__ __forceinline__ void store(int part, const SumsOf<Acc>& x) const {
    const int lane = threadIdx.x % 32, at_row = row + lane / 4, at_col = col + part * part_columns + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      Acc* to = d + (at_row + 8 * i) * pitch + at_col;
#pragma unroll
      for (int j = 0; j < 4; ++j)  // rows are whole vectors: both neighbours exist or neither does
        if (at_row + 8 * i < rows && at_col + 8 * j < cols)
          simt::store(to + 8 * j, simt::vec<Acc, 2>{x[4 * j + 2 * i], x[4 * j + 2 * i + 1]});
    }
  }
  __device__ __forceinline__ DirectStore below(int blocks) const {
    return {d, pitch, row + blocks * 64, col, rows, cols};
  }
  // Stores sums unchanged.
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

// Packs a whole cheap tile for a later store.   pairs: [N / 4]
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
  // One instance of the parts' code for each case: without a condition inside where nothing is added.
  if (e.plain) pack({.plain = true});
  else if (e.addend == Addend::none) pack(cheap(e));
  else pack(cheap(e, e.addend));
}

// Stores N cheap columns, to which nothing is added. bias: of the columns. to: a ColumnStore of the first block's rows.
template <int N, int Blocks, class To>
__device__ __forceinline__ void store_cheap_columns(const float (&sums)[Blocks][N / 2], const ColumnEpilogue& e,
                                                    const float* bias, const To& to) {
  const auto store = [&](const ColumnEpilogue& of) {
#pragma unroll
    for (int block = 0; block < Blocks; ++block)
#pragma unroll
      for (int part = 0; part < N / part_columns; ++part) {
        Sums x;
        cheap_part(sums[block], part, of, bias, x);
        to.below(block).store(part, x);
      }
  };
  if (e.plain) store({.plain = true});
  else store(cheap(e));
}

// The same for columns of any kind, in a loop. T: D's type. Chains: of tile::activate_many().
template <class T, int N, int Chains = part_sums, int Blocks, class To, class Added = NoAddend>
__device__ __forceinline__ void store_columns_in_loop(const float (&sums)[Blocks][N / 2], const ColumnEpilogue& e,
                                                      const float* bias, const To& to, const Added& addend = {}) {
  constexpr int parts = N / part_columns;
  RIDGE_KEEP_LOOP
  for (int all = 0; all < Blocks * parts; ++all) {
    const int block = all / parts, part = all % parts;
    Sums x;
    take(sums, all, x);
    add_bias(e, bias, part, x);
    if (e.addend == Addend::before_activation) addend.below(block).add(part, e.factor, x);
    tile::activate_many<T, Chains>(e.activation, x);
    if (e.addend == Addend::after_activation) addend.below(block).add(part, 1, x);
    if (e.scale != 1) {
#pragma unroll
      for (int i = 0; i < part_sums; ++i) x[i] *= e.scale;
    }
    to.below(block).store(part, x);
  }
}

// Either of the two.
template <class T, int N, int Chains = part_sums, int Blocks, class To, class Added = NoAddend>
__device__ __forceinline__ void store_columns(const float (&sums)[Blocks][N / 2], const ColumnEpilogue& e,
                                              const float* bias, const To& to, const Added& addend = {}) {
  if (is_cheap(e) && e.addend == Addend::none) store_cheap_columns<N>(sums, e, bias, to);
  else store_columns_in_loop<T, N, Chains>(sums, e, bias, to, addend);
}

// The same as the loop for sums of N columns of A B followed by the same columns of A G. bias: N of B's columns, and N
// of G's where they have any.
template <class T, int N, int Blocks, class To, class Added>
__device__ __forceinline__ void store_gated_columns(const float (&sums)[Blocks][N], const ColumnEpilogue& e,
                                                    const float* bias, const To& to, const Added& addend) {
  constexpr int parts = N / part_columns;
  RIDGE_KEEP_LOOP
  for (int all = 0; all < Blocks * parts; ++all) {
    const int block = all / parts, part = all % parts;
    Sums x, gates;
    take(sums, block * 2 * parts + part, x);
    take(sums, (block * 2 + 1) * parts + part, gates);
    add_bias(e, bias, part, x);
    if (e.addend == Addend::before_activation) addend.below(block).add(part, e.factor, x);
    tile::activate_many<T>(e.activation, x);
    if (e.gate_bias.data) {
      add_bias(e, bias + N, part, gates);
#pragma unroll
      for (int i = 0; i < part_sums; ++i) x[i] *= gates[i];
    } else {
#pragma unroll
      for (int i = 0; i < part_sums; ++i) x[i] *= e.alpha * gates[i];
    }
    if (e.addend == Addend::after_activation) addend.below(block).add(part, 1, x);
#pragma unroll
    for (int i = 0; i < part_sums; ++i) x[i] *= e.scale;
    to.below(block).store(part, x);
  }
}

// The same for an arbitrary epilogue, which stores by itself: sums pass through shared memory to become rows of four
// neighbours, and the epilogue's code exists once.
template <int N, int Blocks, class Acc, class Epilogue>
__device__ __forceinline__ void store_by_epilogue(const Acc (&sums)[Blocks][N / 2], const Epilogue& epilogue,
                                                  unsigned char* staging, std::int64_t rows, std::int64_t cols,
                                                  int first_row, int col, int batch) {
  constexpr int parts = N / part_columns;
  constexpr int pitch = part_columns + 8;  // in 4-byte elements; 8 banks from row to row
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
    finish_warp_tile<16, part_columns, 4>(epilogue, static_cast<const Acc*>(buffer), pitch,
                                          Vectors{batch, row, col + part * part_columns, 0, 0, rows, cols});
  }
}

// The same for sums and gates: in pairs, from registers.
template <int N, int Blocks, class Epilogue>
__device__ __forceinline__ void store_gated_by_epilogue(const float (&sums)[Blocks][N], const Epilogue& epilogue,
                                                        std::int64_t rows, std::int64_t cols, int row, int col,
                                                        int batch) {
  constexpr int parts = N / part_columns;
  const int lane = threadIdx.x % 32;
  RIDGE_KEEP_LOOP
  for (int all = 0; all < Blocks * parts; ++all) {
    const int block = all / parts, part = all % parts;
    Sums x, gates;
    take(sums, block * 2 * parts + part, x);
    take(sums, (block * 2 + 1) * parts + part, gates);
    RIDGE_KEEP_LOOP
    for (int pair = 0; pair < part_sums / 2; ++pair) {  // at places 0 and 1
      const std::int64_t at_row = row + block * 64 + lane / 4 + pair % 2 * 8,
                         at_col = col + part * part_columns + pair / 2 * 8 + lane % 4 * 2, left = cols - at_col;
      if (at_row < rows && left > 0)
        epilogue(simt::vec<float, 2>{x[0], x[1]}, simt::vec<float, 2>{gates[0], gates[1]},
                 At{batch, at_row, at_col, static_cast<int>(::min(left, std::int64_t{2}))});
#pragma unroll
      for (int i = 0; i + 2 < part_sums; ++i) x[i] = x[i + 2], gates[i] = gates[i + 2];
    }
  }
}

}  // namespace ridge::gemm_kernels
