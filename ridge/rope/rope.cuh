// Pairs turned by angles: a thread per pair, and a unit of 16 or 8 bytes per thread.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/rope/variants.hpp>
#include <ridge/tile/packed.cuh>

#include <cmath>

namespace ridge::rope_detail {

struct Turn {
  float cos, sin;
};

// Cosine and sine of a part of a turn, in turns of 2^64: the nearest quarter turn, and polynomials within an eighth.
__device__ __forceinline__ Turn turn_of(std::uint64_t part) {
  const std::uint64_t shifted = part + (std::uint64_t{1} << 61);
  const unsigned quarter = static_cast<unsigned>(shifted >> 62);
  const std::int32_t rest = static_cast<std::int32_t>((shifted << 2 >> 32) ^ 0x80000000u);  // of a quarter, from -1/2
  const float angle = float(rest) * 3.6572951e-10f, z = angle * angle;                      // pi / 2 / 2^32
  const float s = fmaf(fmaf(fmaf(-1.9515295891e-4f, z, 8.3321608736e-3f), z, -1.6666654611e-1f) * z, angle, angle);
  const float c =
      fmaf(fmaf(fmaf(2.4433157118e-5f, z, -1.3887316255e-3f), z, 4.1666645683e-2f) * z, z, fmaf(-0.5f, z, 1));
  const float across = quarter & 1 ? s : c, up = quarter & 1 ? c : s;
  return {quarter == 1 || quarter == 2 ? -across : across, quarter >= 2 ? -up : up};
}

// Where the angles come from.
struct Angles {
  const void* positions = nullptr;  // null: the place along s
  bool wide_positions = false;      // i64
  std::int64_t stride_b = 0, stride_s = 0;
  const void *cos = nullptr, *sin = nullptr;  // null: computed
  DType table_dtype = DType::f32;
  std::int64_t rows = 0, cos_stride[2] = {}, sin_stride[2] = {};  // of the tables
  std::uint64_t turns[most_angles] = {};  // by which one position turns pair i, in turns of 2^64

  __device__ __forceinline__ std::int64_t position(std::int64_t b, std::int64_t s) const {
    if (!positions) return s;
    const std::int64_t at = b * stride_b + s * stride_s;
    return wide_positions ? static_cast<const std::int64_t*>(positions)[at]
                          : static_cast<const std::int32_t*>(positions)[at];
  }
  __device__ __forceinline__ Turn operator()(std::int64_t position, int i) const {
    if (cos) {
      if (position < 0 || position >= rows) return {NAN, NAN};
      return {table(cos, position * cos_stride[0] + i * cos_stride[1]),
              table(sin, position * sin_stride[0] + i * sin_stride[1])};
    }
    return turn_of(static_cast<std::uint64_t>(position) * turns[i]);  // whole turns overflow
  }

 private:
  __device__ __forceinline__ float table(const void* data, std::int64_t at) const {
    if (table_dtype == DType::f16) return static_cast<const half*>(data)[at];
    if (table_dtype == DType::bf16) return static_cast<const bfloat16*>(data)[at];
    return static_cast<const float*>(data)[at];
  }
};

__device__ __forceinline__ void turn(const Turn& t, float& a, float& b) {
  const float first = a * t.cos - b * t.sin;
  b = b * t.cos + a * t.sin;
  a = first;
}

struct PairsShape {
  std::int64_t heads, tokens, sequence;  // tokens: b s
  std::int64_t pairs, pieces;            // pieces: pairs and copied elements of a head
  std::int64_t x[4] = {}, y[4] = {};
  bool halves;
};

// y = x turned, a pair or a copied element per thread.  x, y: [b, s, h, d], any strides. y may be x.
// Precondition: gridDim.x * threads covers tokens * heads * pieces.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads) rope_pairs(const T* x, T* y, PairsShape p, Angles angles) {
  const std::uint64_t item = std::uint64_t{blockIdx.x} * Row::config.threads + threadIdx.x;
  const std::uint64_t head_of_all = quotient(item, p.pieces);
  const std::int64_t piece = static_cast<std::int64_t>(item - head_of_all * p.pieces);
  const std::int64_t token = static_cast<std::int64_t>(quotient(head_of_all, p.heads));
  const std::int64_t head = static_cast<std::int64_t>(head_of_all) - token * p.heads;
  if (token >= p.tokens) return;
  const std::int64_t b = static_cast<std::int64_t>(quotient(token, p.sequence)), s = token - b * p.sequence;
  x += b * p.x[0] + s * p.x[1] + head * p.x[2];
  y += b * p.y[0] + s * p.y[1] + head * p.y[2];
  if (piece >= p.pairs) {
    const std::int64_t at = p.pairs + piece;  // 2 pairs turned elements, and those before this one
    y[at * p.y[3]] = x[at * p.x[3]];
    return;
  }
  const std::int64_t first = p.halves ? piece : 2 * piece, second = p.halves ? piece + p.pairs : 2 * piece + 1;
  float u = float(x[first * p.x[3]]), v = float(x[second * p.x[3]]);
  turn(angles(angles.position(b, s), static_cast<int>(piece)), u, v);
  y[first * p.y[3]] = T(u);
  y[second * p.y[3]] = T(v);
}

// V elements as the words they are loaded in: nvcc splits a struct of 16-bit members into as many registers before it
// sees that they stay together.
template <class T, int V> inline constexpr int words_of = V* static_cast<int>(sizeof(T)) / tile::word_bytes;
template <class T, int V> using Words = simt::vec<unsigned, words_of<T, V>>;
template <class T, int V> __device__ __forceinline__ simt::vec<T, V> elements_of(const Words<T, V>& words) {
  simt::vec<T, V> elements;
  memcpy(&elements, &words, sizeof elements);
  return elements;
}
template <class T, int V> __device__ __forceinline__ Words<T, V> load_words(const T* p) {
  if constexpr (RIDGE_SIMT_ON_CUDA) return simt::load<words_of<T, V>>(reinterpret_cast<const unsigned*>(p));
  else {
    const auto elements = simt::load<V>(p);
    Words<T, V> words;
    memcpy(&words, &elements, sizeof words);
    return words;
  }
}

struct UnitsShape {
  unsigned items;
  Divider pieces, head_groups, sequence;
  int heads, turned, pairs;  // turned: pieces of a head that are
  std::int64_t x[3] = {}, y[3] = {};
};

// The same, Config::unit_bytes (Halves: of each half) of Config::heads heads per thread.
//                                                       x, y: [b, s, h, d], d contiguous. y may be x.
// Preconditions: gridDim.x * threads covers items < 2^31; heads start on units; what is turned (Halves: a half of it)
// and what is copied are whole units.
template <class Row, class T, bool Halves>
__global__ void __launch_bounds__(Row::config.threads) rope_units(const T* x, T* y, UnitsShape p, Angles angles) {
  constexpr int V = Row::config.unit_bytes / static_cast<int>(sizeof(T)), H = Row::config.heads, parts = Halves ? 2 : 1;
  const unsigned item = blockIdx.x * Row::config.threads + threadIdx.x;
  if (item >= p.items) return;
  unsigned piece = item;
  unsigned group = p.pieces.divide(piece);
  unsigned s = p.head_groups.divide(group);
  const unsigned b = p.sequence.divide(s);
  const bool turns = static_cast<int>(piece) < p.turned;
  const int first_head = static_cast<int>(group) * H;
  // Elements of a head: those turned, then those copied.
  const int at = turns ? static_cast<int>(piece) * V : 2 * p.pairs + (static_cast<int>(piece) - p.turned) * V;
  x += b * p.x[0] + s * p.x[1] + first_head * p.x[2] + at;
  y += b * p.y[0] + s * p.y[1] + first_head * p.y[2] + at;

  Words<T, V> in[H][parts];
#pragma unroll
  for (int h = 0; h < H; ++h)
#pragma unroll
    for (int part = 0; part < parts; ++part)
      in[h][part] = first_head + h < p.heads && (turns || part == 0) ? load_words<T, V>(x + h * p.x[2] + part * p.pairs)
                                                                     : Words<T, V>{};
  if (!turns) {
#pragma unroll
    for (int h = 0; h < H; ++h)
      if (first_head + h < p.heads) simt::store_global(y + h * p.y[2], elements_of<T, V>(in[h][0]));
    return;
  }
  constexpr int N = Halves ? V : V / 2;  // pairs in a unit
  const std::int64_t position = angles.position(b, s);
  Turn turns_of[N];
#pragma unroll
  for (int i = 0; i < N; ++i) turns_of[i] = angles(position, static_cast<int>(piece) * N + i);
#pragma unroll
  for (int h = 0; h < H; ++h) {
    simt::vec<T, V> out[parts];
#pragma unroll
    for (int part = 0; part < parts; ++part) out[part] = elements_of<T, V>(in[h][part]);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      T& first = out[0][Halves ? i : 2 * i];
      T& second = out[parts - 1][Halves ? i : 2 * i + 1];
      float u = float(first), v = float(second);
      turn(turns_of[i], u, v);
      first = T(u);
      second = T(v);
    }
    if (first_head + h < p.heads) {
#pragma unroll
      for (int part = 0; part < parts; ++part) simt::store_global(y + h * p.y[2] + part * p.pairs, out[part]);
    }
  }
}

}  // namespace ridge::rope_detail
