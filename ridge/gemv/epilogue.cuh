// From a row's sum to y.
#pragma once
#include <ridge/tile/activation.cuh>

namespace ridge::gemv_detail {

// The type in which sums are computed.
template <class T> using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T> struct Vector {
  T* data = nullptr;  // null: absent
  std::int64_t stride = 1;
  __device__ __forceinline__ T& operator[](std::int64_t i) const { return data[i * stride]; }
};

// y[row] = act(alpha * sum + beta * c[row] + bias[row]). One kernel serves all forms: they are uniform over the
// threads, and tested once per row.
template <class T> struct Epilogue {
  Sum<T> alpha, beta;
  Activation activation;
  Vector<const T> c, bias;
  Vector<T> y;

  __device__ __forceinline__ void operator()(std::int64_t row, Sum<T> sum) const {
    sum *= alpha;
    if (c.data) sum += beta * static_cast<Sum<T>>(c[row]);
    if (bias.data) sum += static_cast<Sum<T>>(bias[row]);
    if (activation != Activation::none) sum = tile::activate<T>(activation, sum);
    y[row] = static_cast<T>(sum);
  }
};

template <class A> struct Add {
  __device__ __forceinline__ A operator()(A a, A b) const { return a + b; }
};

}  // namespace ridge::gemv_detail
