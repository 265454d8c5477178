// Epilogues: what becomes of an accumulated product on its way to D.
//
// An epilogue is a function object, copied into the kernel's arguments. For every group of V neighbours in a row of D,
// once, in any order and by any thread, a kernel calls
//
//   epilogue(simt::vec<Acc, V> sums, At at)          template <int V>, __device__, const
//
// with sums[v] = the sum over k of A[at.row, k] B[k, at.col + v]; those from v = at.count on are not D's and have no
// meaning. 1 <= at.count <= V, and at.col is a multiple of V. What is read, and where the result goes, is the
// epilogue's affair:
//
// A kernel with two operands B and G calls epilogue(sums, gates, at), with the sums of A G beside those of A B.
//
//   struct Doubled {
//     float* d;
//     std::int64_t pitch;
//     template <int V> __device__ void operator()(simt::vec<float, V> sums, gemm_kernels::At at) const {
//       for (int v = 0; v < V; ++v)  // a constant number of turns: sums stay in registers
//         if (v < at.count) d[at.row * pitch + at.col + v] = 2 * sums[v];
//     }
//   };
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/tile/activation.cuh>

namespace ridge::gemm_kernels {

struct At {
  std::int64_t batch, row, col;
  int count;  // of elements from col on
};

// An epilogue that counts rows from the first of a group.
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

// A tensor whose type is known only when it runs; element (batch, row, col) by its strides.
struct Tensor {
  void* data = nullptr;  // null: not there
  DType dtype = DType::f32;
  bool vectors = false;  // col_stride is 1, and every row starts on 4 elements
  std::int64_t row_stride = 0, col_stride = 0, batch_stride = 0;

  __device__ __forceinline__ std::int64_t offset(At at) const {
    return at.batch * batch_stride + at.row * row_stride + at.col * col_stride;
  }
};

// Calls f(T{}) for the T of dtype: those that can be converted to and from X.
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

// x as it is stored in a T.
template <class T, class X> __device__ __forceinline__ T stored(X x) {
  if constexpr (std::is_same_v<T, std::int8_t> && std::is_same_v<X, float>)
    return static_cast<T>(__float2int_rn(fminf(fmaxf(x == x ? x : 0.0f, -128.0f), 127.0f)));
  else return static_cast<T>(x);
}

// at.count neighbours of a tensor; those past them are zero.
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
// D = scale * (act(alpha * sum + beta * C + bias) * (alpha * gate) + residual). One kernel
// serves all of its forms and types of D: they are the same for every thread, and met once per element against k
// multiply-adds.
//
// A kernel that stores D by means of its own calls compute() alone.
template <class X> struct StandardEpilogue {
  enum Addend { c, bias, residual };  // in the order in which they are added; the activation comes before the last
  X alpha, scale;
  Activation activation;
  Tensor addends[3];  // of bias, row_stride or col_stride is 0
  X factors[3];       // beta, 1, 1
  Tensor d;

  // `gates`: nothing, or the sums of A G.
  template <int V, class Acc, class... Gates>
  __device__ __forceinline__ simt::vec<X, V> compute(simt::vec<Acc, V> sums, At at, const Gates&... gates) const {
    simt::vec<X, V> x;
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) x[v] = multiply(alpha, static_cast<X>(sums[v]));
    RIDGE_KEEP_LOOP
    for (int i = c; i <= residual; ++i) {
      if (i == residual && activation != Activation::none) activate_all(x);
      if (i == residual) (multiply_all(x, gates), ...);
      if (addends[i].data) add(x, load_row<V, X>(addends[i], at), factors[i]);
    }
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) x[v] = multiply(scale, x[v]);
    return x;
  }

  template <int V, class Acc> __device__ __forceinline__ void operator()(simt::vec<Acc, V> sums, At at) const {
    store_row<V, X>(d, at, compute(sums, at));
  }
  template <int V, class Acc>
  __device__ __forceinline__ void operator()(simt::vec<Acc, V> sums, simt::vec<Acc, V> gates, At at) const {
    store_row<V, X>(d, at, compute(sums, at, gates));
  }

 private:
  // Integers wrap; in C++ only unsigned ones may.
  __device__ __forceinline__ static X multiply(X a, X b) {
    if constexpr (std::is_integral_v<X>) return static_cast<X>(static_cast<unsigned>(a) * static_cast<unsigned>(b));
    else return a * b;
  }
  template <int V, class Acc>
  __device__ __forceinline__ void multiply_all(simt::vec<X, V>& x, const simt::vec<Acc, V>& gates) const {
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) x[v] = multiply(x[v], multiply(alpha, static_cast<X>(gates[v])));
  }
  template <int V> __device__ __forceinline__ void activate_all(simt::vec<X, V>& x) const {
    RIDGE_KEEP_LOOP
    for (int turn = 0; turn < V; ++turn) {  // the elements take turns at place 0, so that the code is there once
      X first = x[0];
      if constexpr (std::is_integral_v<X>) first = tile::relu(first);
      else first = tile::activate<X>(activation, first);
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v + 1 < V; ++v) x[v] = x[v + 1];
      x[V - 1] = first;
    }
  }
  template <int V> __device__ __forceinline__ static void add(simt::vec<X, V>& x, simt::vec<X, V> other, X factor) {
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) {
      if constexpr (std::is_integral_v<X>)
        x[v] = static_cast<X>(static_cast<unsigned>(x[v]) + static_cast<unsigned>(multiply(factor, other[v])));
      else x[v] += factor * other[v];
    }
  }
};

}  // namespace ridge::gemm_kernels
