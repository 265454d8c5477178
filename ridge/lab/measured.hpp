// The launches of a program as the trace predicts them (record.hpp) and as a GPU took them (launch_timer.hpp), side by
// side. Pure functions.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::lab {

// Launches of one line with one shape that do the same.
struct Compared {
  std::string kernel, file;
  int line = 0;
  std::array<std::int64_t, 3> grid{}, block{};
  std::int64_t shared = 0;             // bytes of dynamic shared memory
  std::string given;                   // what tells them from others of their line and shape
  std::vector<std::int64_t> numbers;   // of these launches among those of their line and shape; empty: all
  std::vector<double> us;              // those that were timed, in the program's order
  std::optional<double> predicted_us;  // of one; none where the trace has not seen it
  std::string bound;                   // the prediction's

  // The median, without the first where there are more: a first launch may find nothing in any cache.
  std::optional<double> measured_us() const;
  bool is_first_alone() const { return us.size() == 1; }
  // Predicted / measured.
  std::optional<double> ratio() const;
  bool is_memory_bound() const { return bound == "DRAM" || bound == "L2 cache"; }
};

// First those of the run's report, each in its place, then those that only the GPU had. `run`: the report, or null;
// `times`: a line of JSON for each launch that was timed. Lines that are none are passed over.
std::vector<Compared> compare(const nlohmann::ordered_json& run, std::string_view times);

// The median of |predicted / measured - 1|, over those that have both.
struct Error {
  std::optional<double> median;
  int of = 0;
};
struct Errors {
  Error memory_bound, all;
};
Errors errors_of(const std::vector<Compared>&);

}  // namespace ridge::lab
