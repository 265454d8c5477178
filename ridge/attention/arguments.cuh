// What every attention kernel is given, and what all of them ask of it: which keys a query may attend to, and what its
// scores become. Positions are int, offsets 64-bit.
#pragma once
#include <ridge/attention/config.hpp>
#include <ridge/core/dtype.hpp>
#include <ridge/simt/fast_math.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::attention_kernels {

struct Strides {
  std::int64_t batch, head, row, element;
};

// The tensors are q [batch, heads, sq, d], k [batch, heads / group, sk, d], v [.., sk, dv], o [batch, heads, sq, dv].
template <class T> struct Arguments {
  const T *q, *k, *v;
  T* o;
  float* lse;        // [batch, heads, sq]; may be null
  const void* mask;  // [batch, heads, sq, sk]; null: none
  Strides at_q, at_k, at_v, at_o, at_lse, at_mask;
  int batch, heads, group;  // queries' heads that share one of the keys
  int sq, sk, d, dv;
  int shift, left, right;  // query i attends to the keys from i + shift - left to i + shift + right
  float scale, softcap;    // softcap 0: none
  DType mask_dtype;
  bool vectors;                    // rows of q, k, v and o are contiguous and start on 16 bytes
  int pack;                        // heads of a query that share a block: 1, or group
  int splits;                      // parts of the keys that blocks of their own attend to
  float *partial_o, *partial_lse;  // [splits, batch, heads, sq, dv] and [splits, batch, heads, sq], of more than one
};

inline constexpr float log2_e = 1.44269504f, ln_2 = 0.693147181f;
inline constexpr float minus_infinity = -__builtin_huge_valf();

// The weight of a key that is not attended to. It adds nothing, and tells the key from one whose weight is too small for
// its type: 0 of the former is not multiplied with a V that may be NaN.
inline constexpr float no_weight = -0.0f;
__device__ __forceinline__ bool is_no_weight(float weight) { return __float_as_uint(weight) == 0x80000000u; }

// The block's place: tiles of queries first, then heads, then the batch. A head's last queries come first: behind a
// causal mask they take longest.
struct Place {
  int batch, head, tile;
  __device__ __forceinline__ Place with_head(int other) const {
    Place place = *this;
    place.head = other;
    return place;
  }
  __device__ __forceinline__ Place(int batch_, int head_, int tile_) : batch(batch_), head(head_), tile(tile_) {}
  __device__ __forceinline__ Place(int tiles, int heads) {
    const unsigned block = blockIdx.x, rest = block / static_cast<unsigned>(tiles);
    tile = tiles - 1 - static_cast<int>(block % static_cast<unsigned>(tiles));
    head = static_cast<int>(rest % static_cast<unsigned>(heads));
    batch = static_cast<int>(rest / static_cast<unsigned>(heads));
  }
};

struct Keys {
  int first, last;  // one past
};

// Keys that query i may attend to, but for the mask tensor.
template <class T> __device__ __forceinline__ Keys keys_of(const Arguments<T>& a, int i) {
  return {::max(0, i + a.shift - a.left), ::min(a.sk, i + a.shift + a.right + 1)};
}
// And those of any query from i on to j.
template <class T> __device__ __forceinline__ Keys keys_of(const Arguments<T>& a, int i, int j) {
  return {keys_of(a, i).first, keys_of(a, j).last};
}
// Whether every query from i to j may attend to all of the keys from `first` on to `last`, which is not among them, but
// for the mask tensor.
template <class T>
__device__ __forceinline__ bool all_attend(const Arguments<T>& a, int i, int j, int first, int last) {
  return first >= keys_of(a, j).first && last <= keys_of(a, i).last;
}

// Of the keys from `first` on to `last`, those that query i may attend to, counted from `first`. A query that does not
// exist has none.
struct Span {
  int first;
  unsigned count;
  __device__ __forceinline__ bool contains(int place) const { return static_cast<unsigned>(place - first) < count; }
};
template <class T> __device__ __forceinline__ Span span_of(const Arguments<T>& a, int i, int first, int last) {
  const Keys keys = keys_of(a, i);
  const int from = ::max(keys.first, first), to = ::min(keys.last, last);
  return {from - first, i < a.sq ? static_cast<unsigned>(::max(0, to - from)) : 0};
}

// Part number `part` of the keys, of whole tiles of `tile` but for the last one.
__device__ __forceinline__ Keys part_of(Keys keys, int tile, int part, int parts) {
  if (parts == 1) return keys;
  const int tiles = (::max(0, keys.last - keys.first) + tile - 1) / tile, each = (tiles + parts - 1) / parts;
  const int first = ::min(keys.last, keys.first + part * each * tile);
  return {first, ::min(keys.last, first + each * tile)};
}

// What a mask tensor adds to the score of a query and a key.
template <class T>
__device__ __forceinline__ float mask_at(const Arguments<T>& a, int batch, int head, int i, int key) {
  const std::int64_t at = batch * a.at_mask.batch + head * a.at_mask.head + i * a.at_mask.row + key * a.at_mask.element;
  if (a.mask_dtype == DType::boolean) return static_cast<const unsigned char*>(a.mask)[at] ? 0.0f : minus_infinity;
  if (a.mask_dtype == DType::f32) return static_cast<const float*>(a.mask)[at];
  return static_cast<float>(static_cast<const T*>(a.mask)[at]);
}

// cap tanh(x / cap). For 16-bit types by e^x and quotient of the special-function unit, whose error of some 2^-21 of
// the cap is small beside a product's.
template <class T> __device__ __forceinline__ float capped(float x, float cap) {
  if constexpr (sizeof(T) == 2) return cap - __fdividef(2 * cap, simt::fast_exp2(x * (2 * log2_e / cap)) + 1);
  else return cap * tanhf(x / cap);
}

// What a kernel makes of products before they are exponentiated. Without softcap and additive mask they stay as they
// are, and the scale is folded into the exponent: exp(scale s) = 2^(factor s). A negative scale changes their sign, so
// that the greatest product is the greatest score.
template <class T> struct Scores {
  float scale;   // of products
  float factor;  // of scores, in the exponent of 2
  float softcap;
  bool as_is;  // scores are products
  __device__ __forceinline__ explicit Scores(const Arguments<T>& a) : softcap(a.softcap) {
    const bool folded = a.softcap == 0 && (a.mask == nullptr || a.mask_dtype == DType::boolean);
    const float size = fabsf(a.scale);
    factor = folded ? size * log2_e : log2_e;
    scale = folded ? (a.scale < 0 ? -1.0f : 1.0f) : a.scale;
    as_is = folded && a.scale >= 0;
  }
  __device__ __forceinline__ float of(float product) const {
    return softcap == 0 ? product * scale : capped<T>(product * scale, softcap);
  }
  // With the mask tensor, of a query and a key that exist.
  __device__ __forceinline__ float masked(const Arguments<T>& a, int batch, int head, int i, int key,
                                          float score) const {
    const float more = mask_at(a, batch, head, i, key);
    return more == minus_infinity ? more : score + more;
  }
  // The same of query i and any key: -inf where it may not attend to the key.
  __device__ __forceinline__ float where_attends(const Arguments<T>& a, int batch, int head, int i, int key,
                                                 float score) const {
    if (!span_of(a, i, key, key + 1).contains(0)) return minus_infinity;
    return a.mask == nullptr ? score : masked(a, batch, head, i, key, score);
  }
  // All of it.
  __device__ __forceinline__ float operator()(const Arguments<T>& a, const Place& at, int i, int key,
                                              float product) const {
    return where_attends(a, at.batch, at.head, i, key, of(product));
  }
};

// The online softmax of one query. Weights are 2^(factor s - offset), with the offset of the greatest score so far;
// that its product with the factor is rounded cancels, for all of the query's weights are taken relative to it.
struct RunningRow {
  float top, offset, sum;  // sum: of weights, this thread's or the row's
  static __device__ __forceinline__ RunningRow nothing() { return {minus_infinity, 0, 0}; }

  // Takes a greater or equal maximum; what weights so far are to be multiplied with.
  __device__ __forceinline__ float raise(float to, float factor) {
    const float now = to == minus_infinity ? 0 : to * factor;
    const float change = top == minus_infinity ? 0 : simt::fast_exp2(offset - now);
    top = to;
    offset = now;
    sum *= change;
    return change;
  }
  __device__ __forceinline__ float weight(float score, float factor) const {
    return simt::fast_exp2(fmaf(score, factor, -offset));
  }
  // The same of a score that may be -inf, which is that of a key not attended to.
  __device__ __forceinline__ float weight_or_none(float score, float factor) const {
    return score == minus_infinity ? no_weight : weight(score, factor);
  }
  // With the whole row's sum: what the weighted sum of V is multiplied with, and the row's log-sum-exp.
  __device__ __forceinline__ float inverse() const { return top == minus_infinity && sum == 0 ? 0 : 1 / sum; }
  __device__ __forceinline__ float log_sum() const {
    return top == minus_infinity && sum == 0 ? minus_infinity : fmaf(offset, ln_2, logf(sum));
  }
};

template <class T>
__device__ __forceinline__ void put_lse(const Arguments<T>& a, int batch, int head, int i, float value) {
  if (a.lse) a.lse[batch * a.at_lse.batch + head * a.at_lse.head + i * a.at_lse.row] = value;
}

}  // namespace ridge::attention_kernels
