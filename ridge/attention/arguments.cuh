// Arguments of every attention kernel, and the device functions that all of them share: which keys a query may attend
// to, and how scores become P. Positions are int, offsets 64-bit.
#pragma once
#include <ridge/attention/config.hpp>
#include <ridge/core/dtype.hpp>
#include <ridge/simt/fast_math.hpp>
#include <ridge/simt/simt.hpp>
#include <ridge/tile/packed.cuh>

namespace ridge::attention_kernels {

struct Strides {
  std::int64_t batch, head, row, element;
};

// Integers in global memory, [rows][elements], or [elements] with row 0. They say where kernels read and write, and
// their contents are not trusted: each is clamped to 0 .. `most` when it is read, by two instructions, or six for
// int64.
struct Indices {
  const void* data;  // null: not given
  std::int64_t row, element;
  int most;
  bool wide;  // int64, else int32
  __device__ __forceinline__ int operator()(int r, int e) const {
    const std::int64_t at = r * row + e * element;
    if (!wide) return ::max(0, ::min(static_cast<const int*>(data)[at], most));
    const std::int64_t number = static_cast<const std::int64_t*>(data)[at];
    return number < 0 ? 0 : number > most ? most : static_cast<int>(number);
  }
};

// Description of variable-length sequences. The arguments' sq and sk are then those of the longest sequence.
struct Sequences {
  Indices from_q, from_k;  // [batch + 1]: first rows of q, and of k and v
  Indices lengths;         // [batch]: keys
  // Paged cache: the page numbers of a sequence, [batch][pages of a sequence], with 2^page_bits keys per page; strides
  // of pages.
  Indices pages;
  int page_bits;
  std::int64_t page_k, page_v;
  bool lower_right;  // whether a sequence's last query has the position of its last key
};

// Tensors: q [batch, heads, sq, d], k [batch, heads / group, sk, d], v [.., sk, dv], o [batch, heads, sq, dv].
template <class T> struct Arguments {
  const T *q, *k, *v;
  T* o;
  float* lse;                                       // [batch, heads, sq]; may be null
  const void* mask;                                 // [batch, heads, sq, sk]; null: none
  Strides at_q, at_k, at_v, at_o, at_lse, at_mask;  // batch: 0 for packed sequences and for pages
  int batch, heads, group;                          // group: query heads per key head
  int sq, sk, d, dv;
  int shift, left, right;  // query i attends to the keys from i + shift - left to i + shift + right
  float scale, softcap;    // softcap 0: none
  DType mask_dtype;
  bool vectors;                      // rows of q, k, v and o are contiguous and aligned to 16 bytes
  int pack;                          // heads of a query that share a block: 1, or group (PackGQA)
  int splits;                        // split-KV: parts of the keys with blocks of their own
  float* partial_o;                  // [splits, batch, heads, sq, dv], with more than one split
  float *partial_log, *partial_sum;  // [splits, batch, heads, sq]: see store_part
  std::int64_t rows;                 // rows per split: batch * heads * sq, or heads * rows of q
  Strides at_row;                    // strides of queries among these rows; element is 0
  Sequences sequences;
};

inline constexpr float log2_e = 1.44269504f, ln_2 = 0.693147181f;
inline constexpr float minus_infinity = -__builtin_huge_valf();

// P of a key that is not attended to. It adds nothing, and differs from a P that underflows its type: a masked one is
// not multiplied by a V that may be NaN.
inline constexpr float masked_p = -0.0f;
__device__ __forceinline__ bool is_masked_p(float p) { return __float_as_uint(p) == 0x80000000u; }

// Block coordinates: tiles of queries vary fastest, then heads, then the batch. A head's last queries come first: with
// a causal mask they take longest.
struct BlockCoord {
  int batch, head, tile;
  __device__ __forceinline__ BlockCoord with_head(int other) const {
    BlockCoord place = *this;
    place.head = other;
    return place;
  }
  __device__ __forceinline__ BlockCoord(int batch_, int head_, int tile_) : batch(batch_), head(head_), tile(tile_) {}
  __device__ __forceinline__ BlockCoord(int tiles, int heads) {
    const unsigned block = blockIdx.x, rest = block / static_cast<unsigned>(tiles);
    tile = tiles - 1 - static_cast<int>(block % static_cast<unsigned>(tiles));
    head = static_cast<int>(rest % static_cast<unsigned>(heads));
    batch = static_cast<int>(rest / static_cast<unsigned>(heads));
  }
};

// First row of a sequence in q, and in k and v.
struct Begin {
  int query, key;
};

// Restricts the arguments to one sequence, with its own sq, sk and shift, and rows that count from 0. A tile of queries
// may then be beyond sq: the caller checks. Does nothing where all sequences have one length. Whatever offsets and
// lengths hold, the sequence's rows are rows of the tensors, and at most as many as planned.
template <class T> __device__ __forceinline__ Begin select_sequence(Arguments<T>& a, int batch) {
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

// Rows of the keys, or values, of a sequence and head: contiguous, or in pages.
template <class T> struct KeyRows {
  const T* from;
  std::int64_t row, page;
  Indices pages;
  int batch, bits;
  __device__ __forceinline__ const T* operator()(int key) const {
    return pages.data == nullptr ? from + key * row : in_page(pages(batch, key >> bits), key);
  }
  // Row of a key whose page number is known.
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

// Keys that query i may attend to, without the mask tensor.
template <class T> __device__ __forceinline__ Keys keys_of(const Arguments<T>& a, int i) {
  return {::max(0, i + a.shift - a.left), ::min(a.sk, i + a.shift + a.right + 1)};
}
// Union of the ranges of queries i to j.
template <class T> __device__ __forceinline__ Keys keys_of(const Arguments<T>& a, int i, int j) {
  return {keys_of(a, i).first, keys_of(a, j).last};
}
// Whether every query from i to j may attend to all keys in [first, last), without the mask tensor.
template <class T>
__device__ __forceinline__ bool all_attend(const Arguments<T>& a, int i, int j, int first, int last) {
  return first >= keys_of(a, j).first && last <= keys_of(a, i).last;
}

// Keys in [first, last) that query i may attend to, counted from `first`. A query that does not exist has none.
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

// Split number `part` of the keys, in whole tiles of `tile` except the last one.
__device__ __forceinline__ Keys part_of(Keys keys, int tile, int part, int parts) {
  if (parts == 1) return keys;
  const int tiles = (::max(0, keys.last - keys.first) + tile - 1) / tile, each = (tiles + parts - 1) / parts;
  const int first = ::min(keys.last, keys.first + part * each * tile);
  return {first, ::min(keys.last, first + each * tile)};
}

// Value that a mask tensor adds to the score of a query and a key.
template <class T>
__device__ __forceinline__ float mask_at(const Arguments<T>& a, int batch, int head, int i, int key) {
  const std::int64_t at = batch * a.at_mask.batch + head * a.at_mask.head + i * a.at_mask.row + key * a.at_mask.element;
  if (a.mask_dtype == DType::boolean) return static_cast<const unsigned char*>(a.mask)[at] ? 0.0f : minus_infinity;
  if (a.mask_dtype == DType::f32) return static_cast<const float*>(a.mask)[at];
  return static_cast<float>(static_cast<const T*>(a.mask)[at]);
}

// The same of an element's bits, which were loaded by an instruction for its size.
template <class T> __device__ __forceinline__ float mask_of_bits(const Arguments<T>& a, unsigned bits) {
  if (a.mask_dtype == DType::boolean) return bits ? 0.0f : minus_infinity;
  if (a.mask_dtype == DType::f32) return __uint_as_float(bits);
  if constexpr (sizeof(T) == 2) {
    float first, second;
    tile::unpack_pair<T>(bits, first, second);
    return first;
  } else {
    return 0;  // masks of another type have 16 bits
  }
}

// cap tanh(x / cap). For 16-bit types by e^x and the quotient of the special-function unit; the error of about 2^-21 of
// the cap is small beside that of a product.
template <class T> __device__ __forceinline__ float capped(float x, float cap) {
  if constexpr (sizeof(T) == 2) return cap - __fdividef(2 * cap, simt::fast_exp2(x * (2 * log2_e / cap)) + 1);
  else return cap * tanhf(x / cap);
}

// Turns products into scores. Without softcap and additive mask, products stay as they are and the scale is folded into
// the exponent: exp(scale s) = 2^(scale_log2 s). A negative scale negates the products first, so that the largest
// product is the largest score; a scale of 0 is not folded, so that -inf stays -inf.
template <class T> struct Scores {
  float scale;       // applied to products
  float scale_log2;  // applied to scores, in the exponent of 2
  float softcap;
  bool as_is;  // scores are products
  __device__ __forceinline__ explicit Scores(const Arguments<T>& a) : softcap(a.softcap) {
    const bool folded = a.scale != 0 && a.softcap == 0 && (a.mask == nullptr || a.mask_dtype == DType::boolean);
    const float size = fabsf(a.scale);
    scale_log2 = folded ? size * log2_e : log2_e;
    scale = folded ? (a.scale < 0 ? -1.0f : 1.0f) : a.scale;
    as_is = folded && a.scale > 0;
  }
  __device__ __forceinline__ float of(float product) const {
    return softcap == 0 ? product * scale : capped<T>(product * scale, softcap);
  }
  // Adds the mask tensor; query and key must exist.
  __device__ __forceinline__ float masked(const Arguments<T>& a, int batch, int head, int i, int key,
                                          float score) const {
    const float bias = mask_at(a, batch, head, i, key);
    return bias == minus_infinity ? bias : score + bias;
  }
  // The same for query i and any key: -inf where it may not attend to the key.
  __device__ __forceinline__ float where_attends(const Arguments<T>& a, int batch, int head, int i, int key,
                                                 float score) const {
    if (!span_of(a, i, key, key + 1).contains(0)) return minus_infinity;
    return a.mask == nullptr ? score : masked(a, batch, head, i, key, score);
  }
  // Score of a product, with all of the above.
  __device__ __forceinline__ float operator()(const Arguments<T>& a, const BlockCoord& at, int i, int key,
                                              float product) const {
    return where_attends(a, at.batch, at.head, i, key, of(product));
  }
};

// What P of a query is relative to: 2^(scale_log2 base + offset), where base or offset is 0. P is 2^(scale_log2 s -
// offset), one instruction. The rounding of the offset cancels, because all P of the query use the same offset. Far
// from 0 that fails: once the offset's error exceeds the exponent's range, all P become 0 or infinite. There the base
// is subtracted first, which is exact for scores near it.
struct Reference {
  // The error of an offset of this size is at most 2^-13, less than the rounding of scores of this size.
  static constexpr float far = 4096;
  // At this difference P is 0. The difference is finite, so that a key that is attended to stays so.
  static constexpr float least = -3.4e38f;

  float base, offset;
  // Reference for the largest score; -inf: there is none.
  static __device__ __forceinline__ Reference of(float row_max, float scale_log2) {
    const float scaled = row_max * scale_log2;
    const bool is_near = fabsf(scaled) <= far;
    return {is_near || row_max == minus_infinity ? 0 : row_max, is_near ? scaled : 0};
  }
  // Whether a score's offset is beyond `far`.
  static __device__ __forceinline__ bool is_far(float score, float scale_log2) {
    return fabsf(score * scale_log2) > far && score > minus_infinity;
  }
  // Score relative to the base.
  __device__ __forceinline__ float relative(float score) const {
    const float difference = score - base;
    return score != minus_infinity && difference < least ? least : difference;
  }
  // Factor that rescales P from this reference to another one.
  __device__ __forceinline__ float change_to(const Reference& other, float scale_log2) const {
    return simt::fast_exp2(fmaf(base - other.base, scale_log2, offset - other.offset));
  }
  // Natural logarithm of a sum of P.
  __device__ __forceinline__ float log_of(float sum, float scale_log2) const {
    return fmaf(base, scale_log2 * ln_2, fmaf(offset, ln_2, logf(sum)));
  }
  __device__ __forceinline__ float log_of_one(float scale_log2) const {
    return fmaf(base, scale_log2 * ln_2, offset * ln_2);
  }
};

// Online softmax of one query, relative to the running maximum.
struct SoftmaxState {
  float row_max, offset, sum;  // sum: of P, over this thread's keys or the whole row
  static __device__ __forceinline__ SoftmaxState empty() { return {minus_infinity, 0, 0}; }

  // The base is derived, which saves a register: without an offset it is the maximum.
  __device__ __forceinline__ float base() const { return offset == 0 && row_max > minus_infinity ? row_max : 0; }
  __device__ __forceinline__ Reference reference() const { return {base(), offset}; }
  // Sets a greater or equal maximum; returns the factor that rescales earlier P.
  __device__ __forceinline__ float update_max(float to, float scale_log2) {
    const Reference before = reference();
    const bool had_none = row_max == minus_infinity;
    row_max = to;
    offset = Reference::of(to, scale_log2).offset;
    return scaled(had_none ? 0 : before.change_to(reference(), scale_log2));
  }
  // The same where neither maximum is far from 0: a shorter dependency chain. Threads that share a row decide by the
  // largest of their own scores and the last maximum (Reference::is_far), before they share the new one.
  __device__ __forceinline__ float update_max_near(float to, float scale_log2) {
    const float now = to == minus_infinity ? 0 : to * scale_log2;
    const float change = row_max == minus_infinity ? 0 : simt::fast_exp2(offset - now);
    row_max = to;
    offset = now;
    return scaled(change);
  }
  __device__ __forceinline__ float scaled(float change) {
    sum *= change;
    return change;
  }
  // P of a score relative to the base.
  __device__ __forceinline__ float p(float relative, float scale_log2) const {
    return simt::fast_exp2(fmaf(relative, scale_log2, -offset));
  }
  // The same for a score that may be -inf, which means a key not attended to.
  __device__ __forceinline__ float p_or_masked(float relative, float scale_log2) const {
    return relative == minus_infinity ? masked_p : p(relative, scale_log2);
  }
  __device__ __forceinline__ float relative(float score) const { return reference().relative(score); }
  __device__ __forceinline__ bool is_empty() const { return row_max == minus_infinity && sum == 0; }
  // With the sum of the whole row: the factor that normalizes O, and the row's LSE.
  __device__ __forceinline__ float inverse() const { return is_empty() ? 0 : 1 / sum; }
  __device__ __forceinline__ float lse(float scale_log2) const {
    return is_empty() ? minus_infinity : reference().log_of(sum, scale_log2);
  }
};

// Stores the statistics of a split, beside its O: the sum of P, and the logarithm of its reference. They are stored
// separately, because far from 0 the logarithm of the sum would be lost in rounding.
template <class T>
__device__ __forceinline__ void store_part(const Arguments<T>& a, std::int64_t place, const SoftmaxState& row,
                                           float scale_log2) {
  a.partial_log[place] = row.is_empty() ? minus_infinity : row.reference().log_of_one(scale_log2);
  a.partial_sum[place] = row.sum;
}

template <class T>
__device__ __forceinline__ void store_lse(const Arguments<T>& a, int batch, int head, int i, float value) {
  if (a.lse) a.lse[batch * a.at_lse.batch + head * a.at_lse.head + i * a.at_lse.row] = value;
}

// Dot product of a query and a key in global memory.   q, k: [d]
template <class T>
__device__ __forceinline__ float product_of(const T* q, std::int64_t q_step, const T* k, std::int64_t k_step, int d) {
  float sum = 0;
  for (int c = 0; c < d; ++c) sum += static_cast<float>(q[c * q_step]) * static_cast<float>(k[c * k_step]);
  return sum;
}

}  // namespace ridge::attention_kernels
