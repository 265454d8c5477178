// What the ladder by times and the ladder by counts share.
#pragma once
#include "request.hpp"

#include <string>
#include <vector>

namespace ridge::cli {

struct LadderRequest {
  std::string op;                  // an operator's name
  std::vector<std::string> cases;  // none: the usual one
  std::string device, from;
  bool counts = false, times = false, markdown = false, json = false;
  int repeats = 10;
};

// The case, which must be one of the operator and name no variant.
Result<KnownCase> find_ladder_case(const LadderRequest&, const std::string& text);

// Of these cases that more rows of the table take on the device than take any other one, the largest in float32;
// empty: none is a plain one.
Result<std::string> fullest_case(const std::vector<std::string>& texts, const DeviceInfo&);

// ridge ladder without times: what each row asks of memory. Traced, where ridge-trace is there or --counts asks for it;
// else what the operators' folders hold, and how to have the rest.
Result<int> show_ladder_by_counts(const LadderRequest&);

}  // namespace ridge::cli
