// Epilogues: the computation from an accumulated product to D.
//
// An epilogue is a function object, copied into the kernel's arguments. For every group of V neighbours in a row of D,
// once, in any order and by any thread, a kernel calls
//
//   epilogue(simt::vec<Acc, V> sums, At at)          template <int V>, __device__, const
//
// with sums[v] = the sum over k of A[at.row, k] B[k, at.col + v]; sums from v = at.count on are outside D and have no
// meaning. 1 <= at.count <= V, and at.col is a multiple of V. The epilogue alone decides what it reads and where it
// stores:
//
//   struct Doubled {
//     float* d;
//     std::int64_t pitch;
//     template <int V> __device__ void operator()(simt::vec<float, V> sums, gemm_kernels::At at) const {
//       for (int v = 0; v < V; ++v)  // a constant trip count: sums stay in registers
//         if (v < at.count) d[at.row * pitch + at.col + v] = 2 * sums[v];
//     }
//   };
//
// A kernel with two operands B and G calls epilogue(sums, gates, at), with the sums of A G beside those of A B.
//
// Where a thread has several such vectors of V neighbours, an epilogue with a member many(sums, at), taking sums[] and
// Vectors, gets them together, so that its reads for one vector need not wait for its reads for another.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/tile/activate_many.cuh>
#include <ridge/tile/dependent_launch.cuh>

namespace ridge::gemm_kernels {

struct At {
  std::int64_t batch, row, col;
  int count;  // of elements from col on
};

// Vectors of V neighbours in D, at a constant distance in rows and columns. Elements past `rows` or `cols` are not D's,
// or not the caller's.
struct Vectors {
  std::int64_t batch, row, col;  // of the first one
  int rows_apart, cols_apart;
  std::int64_t rows, cols;
  bool down = false;  // the neighbours are of a column of D; else of a row

  // count: V or less; 0 for a vector outside D.
  template <int V> __device__ __forceinline__ At at(int i) const {
    const std::int64_t r = row + std::int64_t{i} * rows_apart, c = col + std::int64_t{i} * cols_apart;
    const std::int64_t left = r >= rows || c >= cols ? 0 : down ? rows - r : cols - c;
    return {batch, r, c, static_cast<int>(left < 0 ? 0 : left > V ? V : left)};
  }
};

// Hands a thread's vectors of sums to an epilogue, at once or one by one.
template <class Epilogue, class Acc, int V, int G>
__device__ __forceinline__ void finish_vectors(const Epilogue& epilogue, simt::vec<Acc, V> (&sums)[G],
                                               const Vectors& vectors) {
  if constexpr (requires { epilogue.many(sums, vectors); }) {
    epilogue.many(sums, vectors);
  } else {
    RIDGE_KEEP_LOOP
    for (int g = 0; g < G; ++g) {  // vectors rotate through place 0, so that the epilogue's code exists once
      const At at = vectors.at<V>(g);
      if (at.count > 0) epilogue(sums[0], at);
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i + 1 < G; ++i) sums[i] = sums[i + 1];
    }
  }
}

// Hands a warp's tile of Rows x Columns sums in shared memory to an epilogue, in vectors of V neighbours of a row.
// Where the epilogue says that rows of D are no whole vectors, in vectors of a column: a warp's single accesses are
// then to neighbours of one row.
//   tile: D's place of the first sum
template <int Rows, int Columns, int V, class Sum, class Epilogue>
__device__ __forceinline__ void finish_warp_tile(const Epilogue& epilogue, const Sum* sums, int pitch,
                                                 const Vectors& tile) {
  constexpr int row_vectors = Columns / V, rows_apart = 32 / row_vectors, vectors = Rows / rows_apart,
                at_once = vectors < 4 ? vectors : 4, column_parts = Columns / 32, passes = vectors / at_once;
  static_assert(32 % row_vectors == 0 && Columns % 32 == 0);
  static_assert(Rows % (V * at_once) == 0 && Rows / (V * at_once) * column_parts == passes);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Vectors at = tile;
  at.cols_apart = 0;
  if constexpr (requires { epilogue.takes_columns(); })
    at.down = epilogue.takes_columns() && tile.cols - tile.col > V;  // else most lanes would have no column
  at.rows_apart = at.down ? V : rows_apart;
  RIDGE_KEEP_LOOP
  for (int n = 0; n < passes; ++n) {
    const int row = at.down ? n / column_parts * (V * at_once) : lane / row_vectors + n * (at_once * rows_apart),
              col = at.down ? n % column_parts * 32 + lane : lane % row_vectors * V;
    const Sum* const from = sums + row * pitch + col;
    simt::vec<Sum, V> x[at_once];
    if (at.down) {
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < at_once * V; ++i) x[i / V][i % V] = from[i * pitch];
    } else {
      RIDGE_UNROLL_ON_GPU
      for (int g = 0; g < at_once; ++g) x[g] = simt::load<V>(from + g * rows_apart * pitch);
    }
    at.row = tile.row + row;
    at.col = tile.col + col;
    finish_vectors(epilogue, x, at);
  }
}

// Wraps an epilogue for a group: adds the group's first row to the row.
template <class Epilogue> struct RowsFrom {
  const Epilogue& epilogue;
  std::int64_t first;
  template <class Sums> __device__ __forceinline__ void operator()(const Sums& sums, At at) const {
    at.row += first;
    epilogue(sums, at);
  }
  template <class Sums> __device__ __forceinline__ void operator()(const Sums& sums, const Sums& gates, At at) const {
    at.row += first;
    epilogue(sums, gates, at);
  }
};

// A tensor whose type is known only at run time; element (batch, row, col) is addressed by its strides.
struct Tensor {
  void* data = nullptr;  // null: not there
  DType dtype = DType::f32;
  bool vectors = false;  // col_stride is 1, and every row is aligned to 4 elements
  std::int64_t row_stride = 0, col_stride = 0, batch_stride = 0;

  __device__ __forceinline__ std::int64_t offset(At at) const {
    return at.batch * batch_stride + at.row * row_stride + at.col * col_stride;
  }
};

// Calls f(T{}) for the T of dtype: the types that convert to and from X.
template <class X, class F> __device__ __forceinline__ void with_type_of(DType dtype, F f) {
  if constexpr (std::is_same_v<X, double>) {
    f(double{});
  } else if constexpr (std::is_same_v<X, std::int32_t>) {
    f(std::int32_t{});
  } else {
    switch (dtype) {
      case DType::f32: return f(float{});
      case DType::f16: return f(half{});
      case DType::bf16: return f(bfloat16{});
      case DType::f8e4m3: return f(float8_e4m3{});
      case DType::f8e5m2: return f(float8_e5m2{});
      default: return f(std::int8_t{});
    }
  }
}

// Converts x to T for storing.
template <class T, class X> __device__ __forceinline__ T stored(X x) {
  if constexpr (std::is_same_v<T, std::int8_t> && std::is_same_v<X, float>)
    return static_cast<T>(__float2int_rn(fminf(fmaxf(x == x ? x : 0.0f, -128.0f), 127.0f)));
  else return static_cast<T>(x);
}

// Loads at.count neighbours of a tensor, zeros past them.
template <int V, class X> __device__ __forceinline__ simt::vec<X, V> load_row(const Tensor& t, At at) {
  simt::vec<X, V> x;
  with_type_of<X>(t.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* from = static_cast<const T*>(t.data) + t.offset(at);
    simt::vec<T, V> row;
    if (t.vectors && at.count == V) {
      row = simt::load<V>(from);
    } else {
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) row[v] = v < at.count ? from[v * t.col_stride] : T{};
    }
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) x[v] = static_cast<X>(row[v]);
  });
  return x;
}

template <int V, class X> __device__ __forceinline__ void store_row(const Tensor& t, At at, simt::vec<X, V> x) {
  with_type_of<X>(t.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* to = static_cast<T*>(t.data) + t.offset(at);
    simt::vec<T, V> row;
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) row[v] = stored<T>(x[v]);
    if (t.vectors && at.count == V) {
      simt::store(to, row);
    } else {
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v)
        if (v < at.count) to[v * t.col_stride] = row[v];
    }
  });
}

// The epilogue of ridge::gemm: D = scale * (act(alpha * sum + beta * C + bias) + residual), computed in X; with a gate
// D = scale * (act(alpha * sum + beta * C + bias) * (alpha * gate + gate_bias) + residual). One kernel serves all forms
// of it and all types of D, which every thread has in common.
template <class X> struct StandardEpilogue {
  enum Addend { c, bias, residual };  // in the order of addition; the activation comes before the last
  X alpha, scale;
  Activation activation;
  Tensor addends[3];  // for bias, row_stride or col_stride is 0
  X factors[3];       // beta, 1, 1
  Tensor gate_bias;   // row_stride is 0
  Tensor d;
  std::int64_t gate_sums = 0;  // not 0: D is a slice's sums, and sums of A G are stored so many elements after A B's

  template <int V, class Acc> __device__ __forceinline__ void operator()(simt::vec<Acc, V> sums, At at) const {
    store_row<V, X>(d, at, compute(sums, at));
  }
  template <int V, class Acc>
  __device__ __forceinline__ void operator()(simt::vec<Acc, V> sums, simt::vec<Acc, V> gates, At at) const {
    if (gate_sums == 0) return store_row<V, X>(d, at, compute(sums, at, gates));
    static_assert(4 % V == 0, "rows of sums are filled up to whole vectors of 4: slice_pitch()");
    X* const to = static_cast<X*>(d.data) + d.offset(at);
    simt::store_global(to, converted(sums));
    simt::store_global(to + gate_sums, converted(gates));
  }

  // Whether rows of D are contiguous, but no whole vectors.
  __device__ __forceinline__ bool takes_columns() const { return !d.vectors && d.col_stride == 1; }

  // Issues all reads of an addend together, where its rows and D's are whole vectors. gates: none, or the sums of A G.
  template <int V, int G, class Acc, class... Gates>
  __device__ __forceinline__ void many(const simt::vec<Acc, V> (&sums)[G], const Vectors& at,
                                       const Gates&... gates) const {
    X x[G * V];
    int count[G];
    bool whole = !at.down;
    RIDGE_UNROLL_ON_GPU
    for (int g = 0; g < G; ++g) {
      count[g] = at.at<V>(g).count;
      whole = whole && (count[g] == 0 || count[g] == V);
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) x[g * V + v] = multiply(alpha, static_cast<X>(sums[g][v]));
    }
    if constexpr (std::is_same_v<X, float>) {
      if (whole && are_alike(DType::bf16)) return finish_alike<bfloat16, V>(x, at, count, gates...);
      if (whole && are_alike(DType::f16)) return finish_alike<half, V>(x, at, count, gates...);
    }
    RIDGE_KEEP_LOOP
    for (int i = c; i <= residual; ++i) {
      if (i == residual && activation != Activation::none) activate_many(x);
      if (i == residual) (multiply_all<V>(x, gates, at, count, whole), ...);
      if (addends[i].data) add_many<V>(x, addends[i], factors[i], at, count, whole);
    }
    RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < G * V; ++j) x[j] = multiply(scale, x[j]);
    store_many<V>(x, at, count, whole);
  }

  // Prefetches to L2 what will be added to these vectors.
  template <int V, int G> __device__ __forceinline__ void prefetch(const Vectors& at) const {
    RIDGE_KEEP_LOOP
    for (int i = c; i <= residual; ++i) {
      const Tensor& t = addends[i];
      if (!t.data || i == bias) continue;
      RIDGE_UNROLL_ON_GPU
      for (int g = 0; g < G; ++g)
        if (const At one = at.at<V>(g); one.count > 0)
          tile::prefetch_line_l2(static_cast<const char*>(t.data) + t.offset(one) * static_cast<int>(size_of(t.dtype)));
    }
  }

 private:
  // gates: none, or the sums of A G.
  template <int V, class Acc, class... Gates>
  __device__ __forceinline__ simt::vec<X, V> compute(simt::vec<Acc, V> sums, At at, const Gates&... gates) const {
    simt::vec<X, V> x;
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) x[v] = multiply(alpha, static_cast<X>(sums[v]));
    RIDGE_KEEP_LOOP
    for (int i = c; i <= residual; ++i) {
      if (i == residual && activation != Activation::none) activate_all(x);
      if (i == residual) (multiply_all(x, gates, at), ...);
      if (addends[i].data) add(x, load_row<V, X>(addends[i], at), factors[i]);
    }
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) x[v] = multiply(scale, x[v]);
    return x;
  }

  template <int V, class Acc> __device__ __forceinline__ static simt::vec<X, V> converted(simt::vec<Acc, V> sums) {
    simt::vec<X, V> x;
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) x[v] = static_cast<X>(sums[v]);
    return x;
  }
  // Integers wrap; in C++ only unsigned ones may.
  __device__ __forceinline__ static X multiply(X a, X b) {
    if constexpr (std::is_integral_v<X>) return static_cast<X>(static_cast<unsigned>(a) * static_cast<unsigned>(b));
    else return a * b;
  }
  // x *= alpha * gates + gate_bias
  template <int V, class Acc>
  __device__ __forceinline__ void multiply_all(simt::vec<X, V>& x, const simt::vec<Acc, V>& gates, At at) const {
    simt::vec<X, V> factor;
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) factor[v] = multiply(alpha, static_cast<X>(gates[v]));
    if (gate_bias.data) add(factor, load_row<V, X>(gate_bias, at), X(1));
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) x[v] = multiply(x[v], factor[v]);
  }
  template <int V, int G, class Acc>
  __device__ __forceinline__ void multiply_all(X (&x)[G * V], const simt::vec<Acc, V> (&gates)[G], const Vectors& at,
                                               const int (&count)[G], bool whole) const {
    X factor[G * V];
    RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < G * V; ++j) factor[j] = multiply(alpha, static_cast<X>(gates[j / V][j % V]));
    if (gate_bias.data) add_many<V>(factor, gate_bias, X(1), at, count, whole);
    RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < G * V; ++j) x[j] = multiply(x[j], factor[j]);
  }
  template <int V> __device__ __forceinline__ void activate_all(simt::vec<X, V>& x) const {
    RIDGE_KEEP_LOOP
    for (int i = 0; i < V; ++i) {  // elements rotate through place 0, so that the code exists once
      X first = x[0];
      if constexpr (std::is_integral_v<X>) first = tile::relu(first);
      else first = tile::activate<X>(activation, first);
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v + 1 < V; ++v) x[v] = x[v + 1];
      x[V - 1] = first;
    }
  }
  // Whether D and all addends have one type, in rows of whole vectors.
  __device__ __forceinline__ bool are_alike(DType dtype) const {
    bool alike = d.dtype == dtype && d.vectors;
    RIDGE_UNROLL_ON_GPU
    for (int i = c; i <= residual; ++i)
      if (addends[i].data) alike = alike && addends[i].dtype == dtype && addends[i].vectors;
    return alike;
  }
  // Then all addends are read before any of them is waited for.   T: that type
  template <class T, int V, int G, class... Gates>
  __device__ __forceinline__ void finish_alike(X (&x)[G * V], const Vectors& at, const int (&count)[G],
                                               const Gates&... gates) const {
    simt::vec<T, V> rows[residual + 1][G];
    RIDGE_UNROLL_ON_GPU
    for (int i = c; i <= residual; ++i) {
      const Tensor& t = addends[i];
      const T* from = static_cast<const T*>(t.data) + t.offset(at.at<V>(0));
      const std::int64_t apart = at.rows_apart * t.row_stride + at.cols_apart * t.col_stride;
      RIDGE_UNROLL_ON_GPU
      for (int g = 0; g < G; ++g)
        rows[i][g] = t.data && count[g] > 0 ? simt::load<V>(from + g * apart) : simt::vec<T, V>{};
    }
    const auto add_rows = [&](int i) {
      RIDGE_UNROLL_ON_GPU
      for (int j = 0; j < G * V; ++j) add_to(x[j], static_cast<X>(rows[i][j / V][j % V]), factors[i]);
    };
    if (addends[c].data) add_rows(c);
    if (addends[bias].data) add_rows(bias);
    if (activation != Activation::none) tile::activate_many<T>(activation, x);
    (multiply_all<V>(x, gates, at, count, true), ...);
    if (addends[residual].data) add_rows(residual);
    T* to = static_cast<T*>(d.data) + d.offset(at.at<V>(0));
    const std::int64_t apart = at.rows_apart * d.row_stride + at.cols_apart * d.col_stride;
    RIDGE_UNROLL_ON_GPU
    for (int g = 0; g < G; ++g) {
      simt::vec<T, V> row;
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) row[v] = T(multiply(scale, x[g * V + v]));
      if (count[g] > 0) simt::store(to + g * apart, row);
    }
  }
  template <int N> __device__ __forceinline__ void activate_many(X (&x)[N]) const {
    if constexpr (std::is_same_v<X, float>) {
      tile::activate_many<float>(activation, x);
    } else {
      RIDGE_KEEP_LOOP
      for (int j = 0; j < N; ++j) {  // elements rotate through place 0
        if constexpr (std::is_integral_v<X>) x[0] = tile::relu(x[0]);
        else x[0] = tile::activate<X>(activation, x[0]);
        rotate<1>(x);
      }
    }
  }
  __device__ __forceinline__ static void add_to(X& x, X other, X factor) {
    if constexpr (std::is_integral_v<X>)
      x = static_cast<X>(static_cast<unsigned>(x) + static_cast<unsigned>(multiply(factor, other)));
    else x += factor * other;
  }
  template <int V> __device__ __forceinline__ static void add(simt::vec<X, V>& x, simt::vec<X, V> other, X factor) {
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) add_to(x[v], other[v], factor);
  }

  template <int V, int G>
  __device__ __forceinline__ static void add_many(X (&x)[G * V], const Tensor& t, X factor, const Vectors& at,
                                                  const int (&count)[G], bool whole) {
    with_type_of<X>(t.dtype, [&](auto tag) {
      using T = decltype(tag);
      const T* from = static_cast<const T*>(t.data) + t.offset(at.at<V>(0));
      const std::int64_t apart = at.rows_apart * t.row_stride + at.cols_apart * t.col_stride;
      if (t.vectors && whole) {
        simt::vec<T, V> rows[G];
        RIDGE_UNROLL_ON_GPU
        for (int g = 0; g < G; ++g) rows[g] = count[g] > 0 ? simt::load<V>(from + g * apart) : simt::vec<T, V>{};
        RIDGE_UNROLL_ON_GPU
        for (int j = 0; j < G * V; ++j) add_to(x[j], static_cast<X>(rows[j / V][j % V]), factor);
      } else if (t.col_stride == 0 && !at.down) {  // a bias along m
        T one[G];
        RIDGE_UNROLL_ON_GPU
        for (int g = 0; g < G; ++g) one[g] = count[g] > 0 ? from[g * apart] : T{};
        RIDGE_UNROLL_ON_GPU
        for (int j = 0; j < G * V; ++j) add_to(x[j], static_cast<X>(one[j / V]), factor);
      } else {
        // Elements of several vectors are on their way together; vectors rotate through the first places.
        constexpr int elements = 16, at_once = G * V <= elements ? G : elements / V;
        static_assert(G % at_once == 0);
        const std::int64_t next = at.down ? t.row_stride : t.col_stride;
        RIDGE_KEEP_LOOP
        for (int g = 0; g < G; g += at_once, from += at_once * apart) {
          T rows[at_once][V];
          RIDGE_UNROLL_ON_GPU
          for (int i = 0; i < at_once; ++i) {
            const int there = at.at<V>(g + i).count;
            RIDGE_UNROLL_ON_GPU
            for (int v = 0; v < V; ++v) rows[i][v] = v < there ? from[i * apart + v * next] : T{};
          }
          RIDGE_UNROLL_ON_GPU
          for (int j = 0; j < at_once * V; ++j) add_to(x[j], static_cast<X>(rows[j / V][j % V]), factor);
          rotate<at_once * V>(x);
        }
      }
    });
  }
  template <int V, int G>
  __device__ __forceinline__ void store_many(X (&x)[G * V], const Vectors& at, const int (&count)[G],
                                             bool whole) const {
    with_type_of<X>(d.dtype, [&](auto tag) {
      using T = decltype(tag);
      T* to = static_cast<T*>(d.data) + d.offset(at.at<V>(0));
      const std::int64_t apart = at.rows_apart * d.row_stride + at.cols_apart * d.col_stride;
      if (d.vectors && whole) {
        RIDGE_UNROLL_ON_GPU
        for (int g = 0; g < G; ++g) {
          simt::vec<T, V> row;
          RIDGE_UNROLL_ON_GPU
          for (int v = 0; v < V; ++v) row[v] = stored<T>(x[g * V + v]);
          if (count[g] > 0) simt::store(to + g * apart, row);
        }
      } else {
        const std::int64_t next = at.down ? d.row_stride : d.col_stride;
        RIDGE_KEEP_LOOP
        for (int g = 0; g < G; ++g, to += apart) {
          const int there = at.at<V>(g).count;
          RIDGE_UNROLL_ON_GPU
          for (int v = 0; v < V; ++v)
            if (v < there) to[v * next] = stored<T>(x[v]);
          rotate<V>(x);
        }
      }
    });
  }
  // Moves the next elements to the first places, and the first `Count` to the last.
  template <int Count, int N> __device__ __forceinline__ static void rotate(X (&x)[N]) {
    X first[Count];
    RIDGE_UNROLL_ON_GPU
    for (int i = 0; i < Count; ++i) first[i] = x[i];
    RIDGE_UNROLL_ON_GPU
    for (int j = 0; j + Count < N; ++j) x[j] = x[j + Count];
    RIDGE_UNROLL_ON_GPU
    for (int i = 0; i < Count; ++i) x[N - Count + i] = first[i];
  }
};

}  // namespace ridge::gemm_kernels
