// The bin of a sample: a guess in the sample's own precision, and float64 if the guess is too near an edge.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/simt/simt.hpp>

#include <cfloat>
#include <cmath>
#include <limits>

namespace ridge::histogram_detail {

// The type that samples are compared in. It represents every value of the sample's type exactly.
template <class T> struct ValueType { using type = T; };
template <> struct ValueType<half> { using type = float; };
template <> struct ValueType<bfloat16> { using type = float; };
template <> struct ValueType<std::uint8_t> { using type = std::int32_t; };
template <class T> using Value = typename ValueType<T>::type;

__device__ __forceinline__ float floor_of(float x) { return floorf(x); }
__device__ __forceinline__ double floor_of(double x) { return ::floor(x); }
__device__ __forceinline__ float magnitude(float x) { return fabsf(x); }
__device__ __forceinline__ double magnitude(double x) { return ::fabs(x); }

// count uniform bins over [lo, hi], for values of type V: float, double, int32_t or int64_t.
//
// Preconditions (validated by the plan): 1 <= count <= 2^30, lo < hi finite, step >= 2^-47 max(|lo|, |hi|). They keep
// the errors of edges and of positions in float64 together below half a bin.
template <class V> struct Bins {
  using Guess = std::conditional_t<sizeof(V) == 4, float, double>;
  static constexpr bool whole_numbers = std::is_integral_v<V>;

  V first, last;  // the smallest and the largest V in [lo, hi]; first > last if there is none
  Guess origin;   // position = (x - origin) * scale + offset, in bins from lo
  Guess scale, offset;
  Guess margin;  // a position at most this far from the middle of a bin is certain to be in it; -1: none is
  double lo, step, per_unit;
  int count;

  static Bins of(std::int64_t count, double lo, double hi);

  // The bins of N samples, `none` for samples that are not counted. Branches only for guesses too near an edge.
  template <int N, class T>
  __device__ __forceinline__ void find(const simt::vec<T, N>& x, int none, int (&bin)[N]) const {
    bool near_edge[N], any_near = false;
    RIDGE_UNROLL
    for (int v = 0; v < N; ++v) {
      const V value = static_cast<V>(x[v]);
      const bool counted = (value >= first) & (value <= last);  // & and |: no branches. False for NaN
      const Guess position = distance(value) * scale + offset, whole = floor_of(position);
      const bool certain = counted & (magnitude(position - whole - Guess(0.5)) <= margin);
      bin[v] = certain ? min(static_cast<int>(whole), count - 1) : none;  // hi is in the last bin
      near_edge[v] = counted & !certain;
      any_near = any_near | near_edge[v];
    }
    if (any_near) {
      unsigned near = 0;  // samples of this thread, a bit each
      RIDGE_UNROLL
      for (int v = 0; v < N; ++v) near |= unsigned{near_edge[v]} << v;
#pragma unroll 1
      for (; near != 0; near &= near - 1) {  // mostly one sample: not unrolled, so a warp executes the code once
        const int which = __ffs(static_cast<int>(near)) - 1;
        V value{};
        RIDGE_UNROLL
        for (int v = 0; v < N; ++v) value = v == which ? static_cast<V>(x[v]) : value;
        const int exact = find_exact(value);
        RIDGE_UNROLL
        for (int v = 0; v < N; ++v) bin[v] = v == which ? exact : bin[v];
      }
    }
  }

  // Compares with an edge itself; the position in float64 is off by less than half a bin, so one edge decides.
  // Precondition: first <= x <= last.
  __device__ __forceinline__ int find_exact(V x) const {
    const double nearest = ::rint((static_cast<double>(x) - lo) * per_unit);
    return min(static_cast<int>(nearest) - is_below(x, edge(nearest)), count - 1);
  }

  // Rounded twice, as in NumPy; a fused multiply-add would differ in the last bit.
  __device__ __forceinline__ double edge(double k) const { return __dadd_rn(__dmul_rn(k, step), lo); }

 private:
  __device__ __forceinline__ Guess distance(V x) const {
    if constexpr (whole_numbers) {  // modulo 2^32 or 2^64: never overflows, correct because first <= x
      using U = std::make_unsigned_t<V>;
      return static_cast<Guess>(static_cast<U>(static_cast<U>(x) - static_cast<U>(first)));
    } else {
      return x - origin;
    }
  }
  // x < edge, exactly, even if no double equals the int64_t.
  static __device__ __forceinline__ bool is_below(V x, double edge) {
    const double rounded = static_cast<double>(x);
    if constexpr (sizeof(V) == 8 && whole_numbers)
      if (rounded == edge) return edge >= 0x1p63 || x < static_cast<V>(edge);
    return rounded < edge;
  }
};

template <class V> Bins<V> Bins<V>::of(std::int64_t count, double lo, double hi) {
  using Limits = std::numeric_limits<V>;
  const auto is_power_of_two = [](double x) {
    int exponent;
    return std::frexp(x, &exponent) == 0.5;
  };
  Bins b{};
  b.lo = lo;
  b.step = (hi - lo) / static_cast<double>(count);
  b.per_unit = static_cast<double>(count) / (hi - lo);
  b.count = static_cast<int>(count);
  // Without a V in the range: first > last, and a guess that is always certain.
  b.first = 1, b.last = 0, b.offset = Guess(0.5), b.margin = Guess(0.5);

  // int64's maximum is no double: `most` is 2^63, and only lo at or above it leaves no values.
  const double least = static_cast<double>(Limits::lowest()), most = static_cast<double>(Limits::max());
  if (hi < least || lo > most ||
      (whole_numbers && (std::floor(hi) < std::ceil(lo) || (sizeof(V) == 8 && std::ceil(lo) >= most))))
    return b;
  const double low = std::fmax(lo, least), high = std::fmin(hi, most);
  double offset;
  bool exact_distance;
  if constexpr (whole_numbers) {
    b.first = std::ceil(low) <= least ? Limits::lowest() : static_cast<V>(std::ceil(low));
    b.last = std::floor(high) >= most ? Limits::max() : static_cast<V>(std::floor(high));
    offset = (static_cast<double>(b.first) - lo) * b.per_unit;
    // Whole-number edges: moved by half a number, no whole number is on an edge, and each stays in its bin.
    if (std::floor(lo) == lo && std::floor(b.step) == b.step) offset += 0.5 * b.per_unit;
    exact_distance = static_cast<double>(b.last) - static_cast<double>(b.first) < (sizeof(V) == 4 ? 0x1p24 : 0x1p53);
  } else {
    b.origin = b.first = static_cast<V>(low);
    if (b.first < low) b.first = std::nextafter(b.first, Limits::infinity());
    b.last = static_cast<V>(high);
    if (b.last > high) b.last = std::nextafter(b.last, -Limits::infinity());
    if (b.first > b.last) return b;
    offset = (static_cast<double>(b.origin) - lo) * b.per_unit;
    exact_distance = lo == 0;
  }
  // Bound of the guess's error, in bins: its roundings, and those of the edges.
  const bool exact_scale = static_cast<double>(static_cast<Guess>(b.per_unit)) == b.per_unit,
             shift = is_power_of_two(b.per_unit);
  const int roundings = !exact_distance + !exact_scale + !shift + (offset != 0);
  const double unit = sizeof(Guess) == 4 ? 0x1p-24 : 0x1p-53;
  const double edges =
      lo == 0 && shift && is_power_of_two(b.step) ? 0 : 12 * 0x1p-53 * std::fmax(std::fabs(lo), std::fabs(hi)) / b.step;
  const double size = static_cast<double>(count) + 1 + std::fabs(offset);
  const double error = 1.01 * unit * (roundings * size + std::fabs(offset)) + edges;
  const bool sound = error < 0.5 && b.per_unit > 0x1p-100 && b.per_unit < 0x1p100 && std::fabs(offset) < 0x1p30;
  b.margin = sound ? static_cast<Guess>(0.5 - error) : Guess(-1);
  b.scale = sound ? static_cast<Guess>(b.per_unit) : Guess(0);
  b.offset = sound ? static_cast<Guess>(offset) : Guess(0);
  return b;
}

// Keys that index a table of counters. Bytes are counted by value, and values are mapped to bins at the end; other
// types by bin, with one more row for samples that are not counted, so that counting needs no branch.
template <class T> struct Keys {
  Bins<Value<T>> bins;

  __device__ __forceinline__ int rows() const { return bins.count + 1; }
  template <int N> __device__ __forceinline__ void find(const simt::vec<T, N>& x, int (&key)[N]) const {
    bins.find(x, bins.count, key);
  }
  // The bin of a key, or -1.
  __device__ __forceinline__ int bin(int key) const { return key < bins.count ? key : -1; }
};

template <> struct Keys<std::uint8_t> {
  Bins<std::int32_t> bins;
  bool is_signed;

  __device__ __forceinline__ int rows() const { return 256; }
  template <int N> __device__ __forceinline__ void find(const simt::vec<std::uint8_t, N>& x, int (&key)[N]) const {
    RIDGE_UNROLL
    for (int v = 0; v < N; ++v) key[v] = x[v];
  }
  __device__ __forceinline__ int bin(int key) const {
    const simt::vec<std::int32_t, 1> value{is_signed ? static_cast<std::int8_t>(key) : key};
    int bin[1];
    bins.find(value, -1, bin);
    return bin[0];
  }
};

// The key of one sample.
template <class T> __device__ __forceinline__ int find_key(const Keys<T>& keys, T x) {
  int key[1];
  keys.find(simt::vec<T, 1>{x}, key);
  return key[0];
}

}  // namespace ridge::histogram_detail
