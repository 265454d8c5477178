// The launches that the .cu files define for plan.cpp, one per kind of reduction and backend, and the types
// instantiated.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/reduce/reduce.hpp>

namespace ridge::reduce_detail {

using Types = TypeList<float, half, bfloat16, double, std::int64_t, std::int32_t, std::int8_t, std::uint8_t>;

struct Arguments {
  const ReducePlan& plan;
  const void *x, *z;  // z is null except for dot
  void *y, *workspace;
  Stream stream;
};

// Preconditions: the plan's problem has rows, and the pointers are as planned.
template <class Backend> Status launch_sum(const Arguments&);      // sum, mean
template <class Backend> Status launch_extreme(const Arguments&);  // max, min
template <class Backend> Status launch_arg(const Arguments&);      // argmax, argmin
template <class Backend> Status launch_dot(const Arguments&);
template <class Backend> Status launch_two_float(const Arguments&);  // sum, mean, trace, dot

// Only on CUDA: Algorithm::cluster, for every function and type.
Status launch_cluster(const Arguments&);

}  // namespace ridge::reduce_detail
