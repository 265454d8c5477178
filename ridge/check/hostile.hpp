// Hostile values for offsets, lengths, page tables, positions and indices. For tests.
#pragma once
#include <ridge/check/case_book.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace ridge::check {

// Overlapping sequences, and tokens that share a row, write to the same addresses, which the `race` build reports.
#ifdef RIDGE_SIMT_RACE
inline constexpr bool may_share_places = false;
#else
inline constexpr bool may_share_places = true;
#endif

inline bool is_of_places(DType dtype) { return dtype == i32 || dtype == i64; }

struct Hostile {
  std::string name;
  std::vector<double> values;
};

// The hostile values that replace the right ones of an i32 or i64 tensor.
inline std::vector<Hostile> hostile_numbers(const HostTensor& right) {
  const bool wide = right.type.dtype == i64;
  const double least = wide ? -0x1p63 : -0x1p31, most = wide ? 0x1p63 - 1024 : 0x1p31 - 1;  // a double's greatest
  std::vector<Hostile> all;
  const auto n = static_cast<std::int64_t>(right.values.size());
  // at(i, value) gives the replacement of the right value at index i.
  const auto add = [&](const char* name, auto at) {
    Hostile h{name, right.values};
    for (std::int64_t i = 0; i < n; ++i) {
      double& value = h.values[static_cast<std::size_t>(i)];
      value = std::clamp<double>(at(i, value), least, most);
    }
    if (n > 0) all.push_back(std::move(h));
  };
  add("all -1", [](auto, double) { return -1; });
  add("all the least", [=](auto, double) { return least; });
  add("all the greatest", [=](auto, double) { return most; });
  add("all 2^31 - 1", [](auto, double) { return 0x1p31 - 1; });
  add("each 100 more", [](auto, double value) { return value + 100; });
  add("falling", [=](std::int64_t i, double) { return 3 * (n - i); });
  add("the least and the greatest in turns", [=](std::int64_t i, double) { return i % 2 ? most : least; });
  add("the greatest in the middle", [=](std::int64_t i, double value) { return i == n / 2 ? most : value; });
  add("-1 at the end", [=](std::int64_t i, double value) { return i + 1 == n ? -1 : value; });
  add("the low words alone are right", [=](auto, double value) { return value + (wide ? 0x1p32 : 0x1p30); });
  return all;
}

}  // namespace ridge::check
