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

// Whole numbers in global memory, [rows][elements], or [elements] with row 0. They say where kernels read and write,
// and nobody knows what they hold: each is taken into 0 to `most` where it is read, in two instructions, or six of
// int64.
struct Indices {
  const void* data;  // null: there is none
  std::int64_t row, element;
  int most;
  bool wide;  // int64, or int32
  __device__ __forceinline__ int operator()(int r, int e) const {
    const std::int64_t at = r * row + e * element;
    if (!wide) return ::max(0, ::min(static_cast<const int*>(data)[at], most));
    const std::int64_t number = static_cast<const std::int64_t*>(data)[at];
    return number < 0 ? 0 : number > most ? most : static_cast<int>(number);
  }
};

// What is known of uneven sequences, of each of which the arguments have the longest one's queries and keys.
struct Sequences {
  Indices from_q, from_k;  // [batch + 1]: where they begin among the rows of q, and of k and v
  Indices lengths;         // [batch]: keys
  // Of a cache: the numbers of a sequence's pages, [batch][pages of a sequence], of 2^page_bits keys each; how far
  // apart pages lie.
  Indices pages;
  int page_bits;
  std::int64_t page_k, page_v;
  bool lower_right;  // whether a sequence's last query stands at its last key
};

// The tensors are q [batch, heads, sq, d], k [batch, heads / group, sk, d], v [.., sk, dv], o [batch, heads, sq, dv].
template <class T> struct Arguments {
  const T *q, *k, *v;
  T* o;
  float* lse;                                       // [batch, heads, sq]; may be null
  const void* mask;                                 // [batch, heads, sq, sk]; null: none
  Strides at_q, at_k, at_v, at_o, at_lse, at_mask;  // batch: 0 of sequences that follow each other, and of pages
  int batch, heads, group;                          // queries' heads that share one of the keys
  int sq, sk, d, dv;
  int shift, left, right;  // query i attends to the keys from i + shift - left to i + shift + right
  float scale, softcap;    // softcap 0: none
  DType mask_dtype;
  bool vectors;                      // rows of q, k, v and o are contiguous and start on 16 bytes
  int pack;                          // heads of a query that share a block: 1, or group
  int splits;                        // parts of the keys that blocks of their own attend to
  float* partial_o;                  // [splits, batch, heads, sq, dv], of more than one
  float *partial_log, *partial_sum;  // [splits, batch, heads, sq]: see put_part
  std::int64_t rows;                 // of one of these splits: batch * heads * sq, or heads * rows of q
  Strides at_row;                    // and the place of a query among them; element is 0
  Sequences sequences;
};

inline constexpr float log2_e = 1.44269504f, ln_2 = 0.693147181f;
inline constexpr float minus_infinity = -__builtin_huge_valf();

// The weight of a key that is not attended to. It adds nothing, and tells the key from one whose weight is too small
// for its type: 0 of the former is not multiplied with a V that may be NaN.
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

// Where a sequence begins among the rows of q, and of k and v.
struct Begin {
  int query, key;
};

// Makes the arguments those of one sequence alone, with its own sq, sk and shift, whose rows count from 0. A tile of
// queries may then be beyond sq: the caller has to look. Where all sequences are of one length, nothing changes.
// Whatever offsets and lengths hold, the sequence's rows are rows of the tensors, and are at most as many as planned.
template <class T> __device__ __forceinline__ Begin take_sequence(Arguments<T>& a, int batch) {
  const Sequences& s = a.sequences;
  Begin begin{0, 0};
  const auto find = [batch](const Indices& from, int& first, int& count) {
    if (from.data == nullptr) return;
    first = from(0, batch);
    count = ::max(0, ::min(from(0, batch + 1) - first, count));
  };
  find(s.from_q, begin.query, a.sq);
  find(s.from_k, begin.key, a.sk);
  if (s.lengths.data != nullptr) a.sk = s.lengths(0, batch);
  if (s.lower_right) a.shift = a.sk - a.sq;
  a.q += begin.query * a.at_q.row;
  a.o += begin.query * a.at_o.row;
  a.k += begin.key * a.at_k.row;
  a.v += begin.key * a.at_v.row;
  if (a.lse) a.lse += begin.query * a.at_lse.row;
  if (a.splits > 1) {
    a.partial_o += std::int64_t{begin.query} * a.dv;
    a.partial_log += begin.query;
    a.partial_sum += begin.query;
  }
  return begin;
}

// The rows of a sequence's keys, or of their values, of one head: one after the other, or in pages.
template <class T> struct KeyRows {
  const T* from;
  std::int64_t row, page;
  Indices pages;
  int batch, bits;
  __device__ __forceinline__ const T* operator()(int key) const {
    return pages.data == nullptr ? from + key * row : in_page(pages(batch, key >> bits), key);
  }
  // Of a key whose page's number is known.
  __device__ __forceinline__ const T* in_page(int number, int key) const {
    return from + number * page + (key & ((1 << bits) - 1)) * row;
  }
};
template <class T>
__device__ __forceinline__ KeyRows<T> key_rows(const Arguments<T>& a, const T* from, const Strides& at,
                                               std::int64_t page, int batch, int head) {
  const Sequences& s = a.sequences;
  return {from + batch * at.batch + head / a.group * at.head, at.row, page, s.pages, batch, s.page_bits};
}
template <class T> __device__ __forceinline__ KeyRows<T> k_rows(const Arguments<T>& a, int batch, int head) {
  return key_rows(a, a.k, a.at_k, a.sequences.page_k, batch, head);
}
template <class T> __device__ __forceinline__ KeyRows<T> v_rows(const Arguments<T>& a, int batch, int head) {
  return key_rows(a, a.v, a.at_v, a.sequences.page_v, batch, head);
}

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
// that the greatest product is the greatest score; a scale of 0 is not folded, so that -inf stays -inf.
template <class T> struct Scores {
  float scale;   // of products
  float factor;  // of scores, in the exponent of 2
  float softcap;
  bool as_is;  // scores are products
  __device__ __forceinline__ explicit Scores(const Arguments<T>& a) : softcap(a.softcap) {
    const bool folded = a.scale != 0 && a.softcap == 0 && (a.mask == nullptr || a.mask_dtype == DType::boolean);
    const float size = fabsf(a.scale);
    factor = folded ? size * log2_e : log2_e;
    scale = folded ? (a.scale < 0 ? -1.0f : 1.0f) : a.scale;
    as_is = folded && a.scale > 0;
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

// What the weights of a query are relative to: 2^(factor base + offset), of which one is 0. Weights are 2^(factor s -
// offset): one instruction, in which the rounding of the offset cancels, for all of the query's weights are taken
// relative to it. Far from 0 it would not: where it is off by more than exponents have room for, all weights become 0
// or infinite. There the base is subtracted first, which is exact for scores that are near it.
struct Reference {
  // An offset as great as this is off by 2^-13 at most: less than what scores as great are rounded by.
  static constexpr float far = 4096;
  // At this difference nothing is left of a weight. It is finite, so that a key which is attended to stays so.
  static constexpr float least = -3.4e38f;

  float base, offset;
  // Of the greatest score; -inf: there is none.
  static __device__ __forceinline__ Reference of(float top, float factor) {
    const float scaled = top * factor;
    const bool is_near = fabsf(scaled) <= far;
    return {is_near || top == minus_infinity ? 0 : top, is_near ? scaled : 0};
  }
  // Whether a score's offset is beyond that.
  static __device__ __forceinline__ bool is_far(float score, float factor) {
    return fabsf(score * factor) > far && score > minus_infinity;
  }
  // A score, relative to the base.
  __device__ __forceinline__ float relative(float score) const {
    const float difference = score - base;
    return score != minus_infinity && difference < least ? least : difference;
  }
  // What weights that are relative to this are multiplied with, to be relative to another one.
  __device__ __forceinline__ float change_to(const Reference& other, float factor) const {
    return simt::fast_exp2(fmaf(base - other.base, factor, offset - other.offset));
  }
  // The natural logarithm of a sum of weights.
  __device__ __forceinline__ float log_of(float sum, float factor) const {
    return fmaf(base, factor * ln_2, fmaf(offset, ln_2, logf(sum)));
  }
  __device__ __forceinline__ float log_of_one(float factor) const { return fmaf(base, factor * ln_2, offset * ln_2); }
};

// The online softmax of one query, relative to the greatest score so far.
struct RunningRow {
  float top, offset, sum;  // sum: of weights, this thread's or the row's
  static __device__ __forceinline__ RunningRow nothing() { return {minus_infinity, 0, 0}; }

  // The base is no number of its own, which would be one more register: without an offset it is the greatest score.
  __device__ __forceinline__ float base() const { return offset == 0 && top > minus_infinity ? top : 0; }
  __device__ __forceinline__ Reference reference() const { return {base(), offset}; }
  // Takes a greater or equal maximum; what weights so far are to be multiplied with.
  __device__ __forceinline__ float raise(float to, float factor) {
    const Reference before = reference();
    const bool had_none = top == minus_infinity;
    top = to;
    offset = Reference::of(to, factor).offset;
    return scaled(had_none ? 0 : before.change_to(reference(), factor));
  }
  // The same where neither maximum is far from 0: less to wait for. Whether one is, threads that share a row find out
  // by the greatest of their own scores and the last maximum (Reference::is_far), before they share the new one.
  __device__ __forceinline__ float raise_near(float to, float factor) {
    const float now = to == minus_infinity ? 0 : to * factor;
    const float change = top == minus_infinity ? 0 : simt::fast_exp2(offset - now);
    top = to;
    offset = now;
    return scaled(change);
  }
  __device__ __forceinline__ float scaled(float change) {
    sum *= change;
    return change;
  }
  // Of scores relative to the base.
  __device__ __forceinline__ float weight(float relative, float factor) const {
    return simt::fast_exp2(fmaf(relative, factor, -offset));
  }
  // The same of a score that may be -inf, which is that of a key not attended to.
  __device__ __forceinline__ float weight_or_none(float relative, float factor) const {
    return relative == minus_infinity ? no_weight : weight(relative, factor);
  }
  __device__ __forceinline__ float relative(float score) const { return reference().relative(score); }
  __device__ __forceinline__ bool is_empty() const { return top == minus_infinity && sum == 0; }
  // With the whole row's sum: what the weighted sum of V is multiplied with, and the row's log-sum-exp.
  __device__ __forceinline__ float inverse() const { return is_empty() ? 0 : 1 / sum; }
  __device__ __forceinline__ float log_sum(float factor) const {
    return is_empty() ? minus_infinity : reference().log_of(sum, factor);
  }
};

// What a part of the keys has come to, beside its O: the sum of its weights, and the logarithm of what they are
// relative to. Apart, or far from 0 the sum would be lost in rounding.
template <class T>
__device__ __forceinline__ void put_part(const Arguments<T>& a, std::int64_t place, const RunningRow& row,
                                         float factor) {
  a.partial_log[place] = row.is_empty() ? minus_infinity : row.reference().log_of_one(factor);
  a.partial_sum[place] = row.sum;
}

template <class T>
__device__ __forceinline__ void put_lse(const Arguments<T>& a, int batch, int head, int i, float value) {
  if (a.lse) a.lse[batch * a.at_lse.batch + head * a.at_lse.head + i * a.at_lse.row] = value;
}

// A query and a key multiplied, from global memory.   q, k: [d]
template <class T>
__device__ __forceinline__ float product_of(const T* q, std::int64_t q_step, const T* k, std::int64_t k_step, int d) {
  float sum = 0;
  for (int c = 0; c < d; ++c) sum += static_cast<float>(q[c * q_step]) * static_cast<float>(k[c * k_step]);
  return sum;
}

}  // namespace ridge::attention_kernels
