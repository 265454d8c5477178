// Fuzz: cases far from what models have, and what must hold of each. `ridge fuzz` tries them in a process that may die
// of one, and makes of a finding the simplest case that still shows it.
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
    right,     // it ran, and agrees with the oracle
    refused,   // by a sentence that names the operator
    planned,   // too large for this machine to run
    wrong,     // it ran, and differs from the oracle, wrote beside its outputs or ended with an error
    sentence,  // refused, and the sentence does not say by which operator
    plan,      // what a plan says of itself on some device cannot be
    threw,     // an exception left the library
    crashed,   // the process died
    hung,      // it was not done within the limit
  } kind = right;
  std::string case_text, why;
  bool is_finding() const { return kind >= wrong; }
};
std::string_view name(Verdict::Kind);

// What one case may take of the machine, so that many are tried.
inline constexpr Room room_of_fuzzing{6e4, 6e5, 1};

// A case of this operator at random: made of the cases that its book has and of what its operator says of its options,
// with sizes of every kind, values at and beyond the options' limits, fills and placements. One in eight is of sizes
// that can only be planned. `device` is that of the runs; `tell` learns each case that is planned on the way.
Case fuzz_case(const CaseBook&, Draw&, const DeviceInfo& device, Room, const std::function<void(const Case&)>& tell);

// What must hold of every case: it is refused by a sentence; or plans for every device model and this device explain
// themselves, and all rows agree with the oracle that fit here, are within the room, and are begun in ten seconds.
Verdict try_case(const Case&, const DeviceInfo&, Room);

// Cases that are simpler in one way each, the greatest steps first.
std::vector<Case> simpler_cases(const Case&);

}  // namespace ridge::check
