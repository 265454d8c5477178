// cooperative_groups: reduce, and the operations it knows by name.
#pragma once
#include <ridge/lab/groups/lanes.hpp>

namespace cooperative_groups {

// clang-format off
template <class T> struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T> struct less { T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct greater { T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct bit_and { T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { T operator()(T a, T b) const { return a ^ b; } };
// clang-format on

// Every thread gets the result. Halves are added to halves, in the order of a butterfly of shuffles.
template <class T, class F>
RIDGE_LAB_UNCOUNTED T reduce_value(const lane_group& group, T sum, F& op, ridge::lab::where at) {
  const auto threads = static_cast<unsigned>(__builtin_popcount(group.members())), rank = group.thread_rank();
  unsigned distance = 1;
  while (distance < threads) distance *= 2;
  while (distance /= 2) {
    const auto other = group.from_rank(sum, rank + distance < threads ? rank + distance : rank, at);
    const T both = op(sum, other);  // by all threads, as on a device
    if (rank + distance < threads) sum = both;
  }
  return group.from_rank(sum, 0, at);
}
template <class T, class F>
auto reduce(const lane_group& group, const T& value, F&& op, ridge::lab::where at = ridge::lab::where::current())
    -> decltype(op(value, value)) {
  return reduce_value<std::decay_t<decltype(op(value, value))>>(group, value, op, at);
}

}  // namespace cooperative_groups
