// The result for one element, once its row's maximum and sum are known, and its gradient.
#pragma once
#include <ridge/tile/online_softmax.cuh>

namespace ridge::softmax_detail {

template <class T> struct ComputeType { using type = float; };
template <> struct ComputeType<double> { using type = double; };
template <class T> using Compute = typename ComputeType<T>::type;

__device__ __forceinline__ float logarithm(float x) { return logf(x); }
__device__ __forceinline__ double logarithm(double x) { return ::log(x); }

// The result for one element, from its row's base and sum.
template <class X> struct Normalise {
  X base, scale, log_sum;
  bool log;
  Normalise() = default;
  __device__ __forceinline__ Normalise(X max, X sum, bool as_log)
      : base(tile::softmax_base(max)), scale(X(1) / sum), log_sum(as_log ? logarithm(sum) : X(0)), log(as_log) {}
  __device__ __forceinline__ X operator()(X x) const {
    return log ? x - base - log_sum : tile::exponential(x - base) * scale;
  }
};

// dx of softmax and log_softmax, from y and dy: y (dy - sum dy y), and dy - exp(y) sum dy.
template <class X> struct Gradient {
  bool log;
  __device__ __forceinline__ X term(X y, X dy) const { return log ? dy : dy * y; }  // a term of the row's sum
  __device__ __forceinline__ X dx(X y, X dy, X sum) const {
    return log ? dy - tile::exponential(y) * sum : y * (dy - sum);
  }
};

}  // namespace ridge::softmax_detail
