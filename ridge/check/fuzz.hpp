// Fuzz: cases unlike those of models, and the conditions that each must meet. `ridge fuzz` tries them in a process that
// may crash, and reduces a finding to the simplest case that still shows it.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/check/draw.hpp>
#include <ridge/core/device.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::check {

struct Verdict {
  enum Kind : unsigned char {
    right,     // the case ran and agrees with the oracle
    refused,   // refused by a sentence that names the operator
    planned,   // planned, but too large to run on this machine
    wrong,     // the case ran and differs from the oracle, wrote outside its outputs or ended with an error
    sentence,  // refused by a sentence that does not name the operator
    plan,      // a plan's explanation on some device is impossible
    threw,     // an exception left the library
    crashed,   // the process died
    hung,      // the case was not done within the limit
  } kind = right;
  std::string case_text, why;
  bool is_finding() const { return kind >= wrong; }
};
std::string_view name(Verdict::Kind);

// The most work of one case, so that many can be tried.
inline constexpr Room room_of_fuzzing{6e4, 6e5, 1};

// A random case of this operator: made from its book's cases and its operator's description of options, with sizes of
// every kind, values at and beyond the options' limits, fills and placements. One in eight has sizes that can only be
// planned. `device` is the device of the runs; tell(case) is called for each case that is planned on the way.
Case fuzz_case(const CaseBook&, Draw&, const DeviceInfo& device, Room, const std::function<void(const Case&)>& tell);

// Checks a case: either a sentence refuses it; or it can be planned and explained for every device model and this
// device, and the chosen row agrees with the oracle, as does every other row that fits here, is within the room and is
// begun within ten seconds.
Verdict try_case(const Case&, const DeviceInfo&, Room);

// Cases that are each simpler in one way, the greatest simplifications first.
std::vector<Case> simpler_cases(const Case&);

}  // namespace ridge::check
