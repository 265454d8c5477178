// cooperative_groups: inclusive_scan and exclusive_scan.
#pragma once
#include <ridge/lab/groups/reduce.hpp>

namespace cooperative_groups {

template <class T, class F>
RIDGE_LAB_UNCOUNTED T scan_value(const lane_group& group, T sum, F& op, ridge::lab::where at) {
  const auto threads = static_cast<unsigned>(__builtin_popcount(group.members())), rank = group.thread_rank();
  for (unsigned distance = 1; distance < threads; distance *= 2) {
    const auto other = group.from_rank(sum, rank >= distance ? rank - distance : rank, at);
    const T both = op(other, sum);  // by all threads, as on a device
    if (rank >= distance) sum = both;
  }
  return sum;
}
template <class T, class F>
auto inclusive_scan(const lane_group& group, const T& value, F&& op,
                    ridge::lab::where at = ridge::lab::where::current()) -> decltype(op(value, value)) {
  return scan_value<std::decay_t<decltype(op(value, value))>>(group, value, op, at);
}
template <class T>
T inclusive_scan(const lane_group& group, T value, ridge::lab::where at = ridge::lab::where::current()) {
  return inclusive_scan(group, value, plus<T>(), at);
}

// The first thread gets T{}.
template <class T, class F>
auto exclusive_scan(const lane_group& group, const T& value, F&& op,
                    ridge::lab::where at = ridge::lab::where::current()) -> decltype(op(value, value)) {
  const unsigned rank = group.thread_rank();
  const auto sum = inclusive_scan(group, value, op, at);
  const auto before = group.from_rank(sum, rank ? rank - 1 : 0, at);
  return rank ? before : decltype(before){};
}
template <class T>
T exclusive_scan(const lane_group& group, T value, ridge::lab::where at = ridge::lab::where::current()) {
  return exclusive_scan(group, value, plus<T>(), at);
}

}  // namespace cooperative_groups
