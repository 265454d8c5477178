// The reductions. A reduction is a type with
//
//   Element, Partial, Output    types of elements, partial results and results
//   inputs                      1, or 2 for dot;   locates: whether the result is an index
//   neutral()                   an element that changes nothing (a missing one);   identity(): such a Partial
//   combine(a, b)               combines two partial results; commutative
//   lift(x, z, tile)            a Partial of one element (z: only for dot; tile: the element's, if R locates)
//   output(p, finish)           the result (locates: see finish.cuh)
//   Running<V>                  a thread's state for one row, which it reads V elements at a time
//   RunningColumns<V>           its state for V rows, of which it reads an element each at a time
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/simt/simt.hpp>
#include <ridge/tile/extreme.cuh>
#include <ridge/tile/packed.cuh>

#include <cstring>

namespace ridge::reduce_detail {

// What the last step needs besides the partial results.
struct Finish {
  bool mean;
  int access_elements;         // of the kernel that wrote the partial results,
  std::int64_t tile_elements;  // and of its tiles, which tile numbers count
};

// ---- additions ---------------------------------------------------------------------------------------------------

// The accumulator type of T. Integers wrap, which in C++ only unsigned arithmetic may.
template <class T>
using Accumulator = std::conditional_t<std::is_integral_v<T>, std::uint64_t,
                                       std::conditional_t<std::is_same_v<T, double>, double, float>>;

// An element in that type.
template <class T> __device__ __forceinline__ Accumulator<T> upcast(T x) {
  if constexpr (std::is_integral_v<T>) return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
  else return x;
}

// A sum for each of V rows.
template <class A, int V> struct ColumnSums {
  A sum[V] = {};
  __device__ __forceinline__ explicit ColumnSums(std::int64_t) {}
  __device__ __forceinline__ A result(int v) const { return sum[v]; }
};

template <class T> struct Additive {
  using Element = T;
  using Partial = Accumulator<T>;
  using Output = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  static constexpr bool locates = false;

  static __device__ __forceinline__ T neutral() { return T(0); }
  static __device__ __forceinline__ Partial identity() { return 0; }
  static __device__ __forceinline__ Partial combine(Partial a, Partial b) { return a + b; }
  // y of integers is int64 for a sum and double for a mean: eight bytes either way.
  static __device__ __forceinline__ Output output(Partial sum, std::int64_t count, const Finish& finish) {
    if constexpr (std::is_integral_v<T>) {
      if (!finish.mean) return sum;
      return __builtin_bit_cast(std::uint64_t,
                                static_cast<double>(static_cast<std::int64_t>(sum)) / static_cast<double>(count));
    } else if constexpr (std::is_same_v<T, double>) {
      return finish.mean ? sum / static_cast<double>(count) : sum;
    } else {
      return T(finish.mean ? sum / static_cast<float>(count) : sum);
    }
  }
};

// One accumulator for each element of an access: V chains of additions side by side, short and independent.
template <class A, int V> struct Chains {
  A chain[V] = {};
  __device__ __forceinline__ A result() const {  // as a tree
    A sum[V];
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) sum[v] = chain[v];
    RIDGE_UNROLL_ON_GPU
    for (int half = V / 2; half > 0; half /= 2) {
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < half; ++v) sum[v] += sum[v + half];
    }
    return sum[0];
  }
};

template <class T> struct Sum : Additive<T> {
  static constexpr int inputs = 1;
  using Partial = Accumulator<T>;
  static __device__ __forceinline__ Partial lift(T x, T, std::int64_t) { return upcast(x); }

  template <int V> struct Running : Chains<Partial, std::is_integral_v<T> ? 1 : V> {
    __device__ __forceinline__ void add(const simt::vec<T, V>& x) {
      if constexpr (std::is_integral_v<T>) {  // exact in any order; bytes add up in 32 bits first
        std::conditional_t<sizeof(T) == 1, std::int32_t, std::uint64_t> sum = 0;
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) sum += static_cast<decltype(sum)>(x[v]);
        this->chain[0] += static_cast<std::uint64_t>(static_cast<std::int64_t>(sum));
      } else if constexpr (std::is_same_v<T, double>) {
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) this->chain[v] += x[v];
      } else {
        float f[V];
        tile::to_floats(x, f);
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) this->chain[v] += f[v];
      }
    }
    __device__ __forceinline__ void end_of_tile(std::int64_t) {}
  };
  template <int V> struct RunningColumns : ColumnSums<Partial, V> {
    using ColumnSums<Partial, V>::ColumnSums;
    __device__ __forceinline__ void add(const simt::vec<T, V>& x, std::int64_t) {
      if constexpr (V == 1) {
        this->sum[0] += upcast(x[0]);
      } else {
        float f[V];
        tile::to_floats(x, f);
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) this->sum[v] += f[v];
      }
    }
  };
};

// A sum of 128 bits, for means of integers: their sum may leave 64 bits.
struct WideSum {
  std::uint64_t low;
  std::int64_t high;
  __device__ __forceinline__ void add(std::int64_t x) { *this = plus(*this, {static_cast<std::uint64_t>(x), x >> 63}); }
  static __device__ __forceinline__ WideSum plus(const WideSum& a, const WideSum& b) {
    const std::uint64_t low = a.low + b.low;
    return {low, static_cast<std::int64_t>(static_cast<std::uint64_t>(a.high) + static_cast<std::uint64_t>(b.high) +
                                           (low < a.low))};
  }
  __device__ __forceinline__ double as_double() const {
    const auto small = static_cast<std::int64_t>(low);
    if (high == small >> 63) return static_cast<double>(small);  // rounded once
    return ::fma(static_cast<double>(high), 0x1p64, static_cast<double>(low));
  }
};

// The mean of integers of 32 and 64 bits, as float64. Those of 32 add up in 64 bits within a thread, as no thread has
// 2^32 of them.
template <class T> struct WideMean {
  using Element = T;
  using Partial = WideSum;
  using Output = std::uint64_t;  // the float64's bits
  static constexpr int inputs = 1;
  static constexpr bool locates = false;

  static __device__ __forceinline__ T neutral() { return T(0); }
  static __device__ __forceinline__ Partial identity() { return {0, 0}; }
  static __device__ __forceinline__ Partial combine(const Partial& a, const Partial& b) { return WideSum::plus(a, b); }
  static __device__ __forceinline__ Partial lift(T x, T, std::int64_t) {
    const auto wide = static_cast<std::int64_t>(x);
    return {static_cast<std::uint64_t>(wide), wide >> 63};
  }
  static __device__ __forceinline__ Output output(const Partial& sum, std::int64_t count, const Finish&) {
    return __builtin_bit_cast(std::uint64_t, sum.as_double() / static_cast<double>(count));
  }

  // A thread's sum over one row.
  struct OfThread {
    std::conditional_t<sizeof(T) == 8, WideSum, std::int64_t> sum = {};
    __device__ __forceinline__ void add_element(T x) {
      if constexpr (sizeof(T) == 8) sum.add(x);
      else sum += x;
    }
    __device__ __forceinline__ Partial result() const {
      if constexpr (sizeof(T) == 8) return sum;
      else return {static_cast<std::uint64_t>(sum), sum >> 63};
    }
  };
  template <int V> struct Running : OfThread {
    __device__ __forceinline__ void add(const simt::vec<T, V>& x) {
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) this->add_element(x[v]);
    }
    __device__ __forceinline__ void end_of_tile(std::int64_t) {}
  };
  template <int V> struct RunningColumns {
    OfThread of[V] = {};
    __device__ __forceinline__ explicit RunningColumns(std::int64_t) {}
    __device__ __forceinline__ void add(const simt::vec<T, V>& x, std::int64_t) {
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) of[v].add_element(x[v]);
    }
    __device__ __forceinline__ Partial result(int v) const { return of[v].result(); }
  };
};
template <class T> inline constexpr bool has_wide_mean = std::is_integral_v<T> && sizeof(T) >= 4;

template <class T> struct Dot : Additive<T> {
  static constexpr int inputs = 2;
  using Partial = Accumulator<T>;
  static __device__ __forceinline__ Partial lift(T x, T z, std::int64_t) { return upcast(x) * upcast(z); }

  template <int V> struct Running : Chains<Partial, std::is_integral_v<T> ? 1 : V> {
    __device__ __forceinline__ void add(const simt::vec<T, V>& x, const simt::vec<T, V>& z) {
      if constexpr (sizeof(T) == 1) {  // products of bytes fit in 16 bits, and add up in 32 first
        std::int32_t sum = 0;
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) sum += std::int32_t{x[v]} * std::int32_t{z[v]};
        this->chain[0] += upcast(sum);
      } else if constexpr (std::is_integral_v<T>) {
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) this->chain[0] += upcast(x[v]) * upcast(z[v]);
      } else if constexpr (std::is_same_v<T, double>) {
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) this->chain[v] += x[v] * z[v];
      } else {
        float f[V], g[V];
        tile::to_floats(x, f);
        tile::to_floats(z, g);
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) this->chain[v] += f[v] * g[v];
      }
    }
    __device__ __forceinline__ void end_of_tile(std::int64_t) {}
  };
  template <int V> struct RunningColumns : ColumnSums<Partial, V> {
    using ColumnSums<Partial, V>::ColumnSums;
    __device__ __forceinline__ void add(const simt::vec<T, V>& x, const simt::vec<T, V>& z, std::int64_t) {
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) this->sum[v] += upcast(x[v]) * upcast(z[v]);
    }
  };
};

// ---- the greatest and the least ----------------------------------------------------------------------------------

template <bool Greatest, class T> struct Extremum {
  using Element = T;
  using Partial = T;
  using Output = T;
  using Order = tile::Extreme<Greatest>;
  static constexpr int inputs = 1;
  static constexpr bool locates = false;

  static __device__ __forceinline__ T neutral() { return Order::template neutral<T>(); }
  static __device__ __forceinline__ T identity() { return neutral(); }
  static __device__ __forceinline__ T combine(T a, T b) { return Order::pick(a, b); }
  static __device__ __forceinline__ T lift(T x, T, std::int64_t) { return x; }
  static __device__ __forceinline__ T output(T extreme, std::int64_t, const Finish&) { return extreme; }

  // V neighbours in the form in which they are compared: 16-bit floats two to an instruction.
  template <int V> struct Packing {
    static constexpr bool packed = tile::is_packed<T> && V % 2 == 0;
    static constexpr int count = packed ? V / 2 : V;
    using Part = std::conditional_t<packed, std::uint32_t, T>;
    static __device__ __forceinline__ Part none() {
      const T pair[2] = {neutral(), neutral()};
      Part part;
      memcpy(&part, pair, sizeof part);
      return part;
    }
    static __device__ __forceinline__ Part pick(Part a, Part b) {
      if constexpr (packed) return Order::template packed_pick<T>(a, b);
      else return Order::pick(a, b);
    }
  };

  // Bytes, by words: halves of a word compare by their upper bytes, and so do those of the word shifted left by a byte,
  // whose upper bytes were the lower ones.
  template <int V> struct ByteRunning {
    unsigned upper, lower;

    __device__ __forceinline__ ByteRunning() { clear(); }
    __device__ __forceinline__ void clear() { upper = lower = 0x01010101u * static_cast<std::uint8_t>(neutral()); }
    __device__ __forceinline__ void add(const simt::vec<T, V>& x) {
      unsigned words[V / 4];
      memcpy(words, &x, sizeof words);
      RIDGE_UNROLL_ON_GPU
      for (unsigned word : words) {
        upper = Order::template pick_halves<std::is_signed_v<T>>(upper, word);
        lower = Order::template pick_halves<std::is_signed_v<T>>(lower, word << 8);
      }
    }
    __device__ __forceinline__ void end_of_tile(std::int64_t) {}
    __device__ __forceinline__ T result() const {
      return Order::pick(Order::pick(T(upper >> 24), T(upper >> 8)), Order::pick(T(lower >> 24), T(lower >> 8)));
    }
  };

  template <int V> struct ElementRunning {
    using P = Packing<V>;
    using Chain = typename P::Part;
    static constexpr int chains = P::count < 4 ? P::count : 4;
    Chain chain[chains];

    __device__ __forceinline__ ElementRunning() { clear(); }
    __device__ __forceinline__ void clear() {
      RIDGE_UNROLL_ON_GPU
      for (int k = 0; k < chains; ++k) chain[k] = P::none();
    }
    __device__ __forceinline__ void add(const simt::vec<T, V>& x) {
      Chain part[P::count];
      memcpy(part, &x, sizeof part);
      RIDGE_UNROLL_ON_GPU
      for (int k = 0; k < P::count; ++k) chain[k % chains] = P::pick(chain[k % chains], part[k]);
    }
    __device__ __forceinline__ void end_of_tile(std::int64_t) {}
    __device__ __forceinline__ T result() const {
      Chain last = chain[0];
      RIDGE_UNROLL_ON_GPU
      for (int k = 1; k < chains; ++k) last = P::pick(last, chain[k]);
      T pair[sizeof(Chain) / sizeof(T)];
      memcpy(pair, &last, sizeof pair);
      if constexpr (P::packed) pair[0] = Order::pick(pair[0], pair[1]);
      return pair[0];
    }
  };
  template <int V> using Running = std::conditional_t<sizeof(T) == 1 && V % 4 == 0, ByteRunning<V>, ElementRunning<V>>;

  template <int V> struct RunningColumns {
    using P = Packing<V>;
    typename P::Part part[P::count];

    __device__ __forceinline__ explicit RunningColumns(std::int64_t) {
      RIDGE_UNROLL_ON_GPU
      for (int k = 0; k < P::count; ++k) part[k] = P::none();
    }
    __device__ __forceinline__ void add(const simt::vec<T, V>& x, std::int64_t) {
      typename P::Part other[P::count];
      memcpy(other, &x, sizeof other);
      RIDGE_UNROLL_ON_GPU
      for (int k = 0; k < P::count; ++k) part[k] = P::pick(part[k], other[k]);
    }
    __device__ __forceinline__ T result(int v) const {
      T all[V];
      memcpy(all, part, sizeof all);
      return all[v];
    }
  };
};

// ---- indices of the greatest and the least -----------------------------------------------------------------------

// Comparing indices at every element would cost as much as reading it. A thread keeps only the greatest value, and
// checks once per tile whether it grew; the threads that write the result then search that one tile again.
template <class T> struct Place {
  T value;
  std::int64_t tile;  // none_yet: no element has been seen
};
inline constexpr std::int64_t none_yet = 0x7fffffffffffffff;

template <bool Greatest, class T> struct ArgExtremum {
  using Element = T;
  using Partial = Place<T>;
  using Output = std::int64_t;
  using Value = Extremum<Greatest, T>;
  using Order = tile::Extreme<Greatest>;
  static constexpr int inputs = 1;
  static constexpr bool locates = true;

  static __device__ __forceinline__ T neutral() { return Value::neutral(); }
  static __device__ __forceinline__ Partial identity() { return {neutral(), none_yet}; }
  static __device__ __forceinline__ Partial lift(T x, T, std::int64_t tile) { return {x, tile}; }
  static __device__ __forceinline__ Partial combine(Partial a, Partial b) {
    if (Order::beats(b.value, a.value)) return b;
    if (!Order::beats(a.value, b.value) && b.tile < a.tile) return b;  // equal: the earlier tile
    return a;
  }
  static __device__ __forceinline__ bool is_result(T x, T extreme) {
    return !Order::beats(x, extreme) && !Order::beats(extreme, x);
  }

  template <int V> struct Running {
    typename Value::template Running<V> tile_extreme;
    Partial best = identity();

    __device__ __forceinline__ void add(const simt::vec<T, V>& x) { tile_extreme.add(x); }
    __device__ __forceinline__ void end_of_tile(std::int64_t tile) {  // tiles come in ascending order
      const T x = tile_extreme.result();
      if (best.tile == none_yet || Order::beats(x, best.value)) best = {x, tile};
      tile_extreme.clear();
    }
    __device__ __forceinline__ Partial result() const { return best; }
  };

  // Here a thread keeps the index itself, as a tile of one element. A value that was never beaten equals the first
  // element.
  template <int V> struct RunningColumns {
    T value[V];
    std::int64_t at[V];

    __device__ __forceinline__ explicit RunningColumns(std::int64_t first) {
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) value[v] = neutral(), at[v] = first;
    }
    __device__ __forceinline__ void add(const simt::vec<T, V>& x, std::int64_t index) {  // indices ascend
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v)
        if (Order::beats(x[v], value[v])) value[v] = x[v], at[v] = index;
    }
    __device__ __forceinline__ Partial result(int v) const { return {value[v], at[v]}; }
  };
};

}  // namespace ridge::reduce_detail
