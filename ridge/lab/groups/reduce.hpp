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
auto reduce(const lane_group& group, const T& value, F&& op, ridge::lab::where at = ridge::lab::where::current())
    -> decltype(op(value, value)) {
  const auto threads = static_cast<unsigned>(std::popcount(group.members())), rank = group.thread_rank();
  std::decay_t<decltype(op(value, value))> sum = value;
  for (unsigned distance = std::bit_ceil(threads) / 2; distance > 0; distance /= 2) {
    const auto other = group.from_rank(sum, rank + distance < threads ? rank + distance : rank, at);
    if (rank + distance < threads) sum = op(sum, other);
  }
  return group.from_rank(sum, 0, at);
}

}  // namespace cooperative_groups
