// The quantisation staircase: the predicted time of a case over one of its sizes. Blocks and waves are whole, so the
// time rises in steps, and a size just beyond a step pays for work that is not there.
#pragma once
#include "json.hpp"
#include "request.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ridge::cli {

// NAME=FROM:TO[:STEP]
struct SizeRange {
  std::string name;
  std::int64_t from = 0, to = 0, step = 1;
};
Result<SizeRange> parse_size_range(const std::string& text);

struct Stair {
  std::int64_t size = 0;
  std::string case_text, refusal;  // refusal: no variant takes this size, and the rest is empty
  Explanation plan;

  double of_roof() const { return plan.predicted_us > 0 ? plan.least_us / plan.predicted_us : 0; }
  bool has_grid() const { return plan.analysis.blocks > 0; }
};

struct Staircase {
  std::string case_text;  // without the size, which differs
  DeviceInfo device;
  SizeRange range;
  std::vector<Stair> stairs;
};

// The plan's choice for every size of the range. The case may give the size or leave it out.
Result<Staircase> climb(const std::string& case_text, const SizeRange&, const DeviceInfo& on);

void print(const Staircase&, std::FILE* to);
Json to_json(const Staircase&);
// Predicted and least time over the size.
std::string staircase_svg(const Staircase&);

}  // namespace ridge::cli
