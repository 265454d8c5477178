// The harness: runs a case on a device with its inputs placed as the case says, outputs poisoned and fenced by
// canaries, and compares every element with the oracle.
#pragma once
#include <ridge/check/case_book.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::check {

struct Outcome {
  enum Kind { passed, failed, refused } kind = passed;
  std::string case_text;  // paste it into `ridge check`
  std::string variant, device;
  std::string why;   // the reason of a failure or refusal
  double worst = 0;  // greatest error over its tolerance; 0 if exact
  std::int64_t elements = 0;
};

// The case's inputs, filled as it says (fill=, seed=) and rounded to their dtypes.
Result<std::vector<HostTensor>> fill_inputs(const CaseBook&, const Case&);

// Runs one case with the variant of its options; without one, with the variant that the plan chooses, or with
// all_variants also with every row that is wanted (null: all). A row that does not fit is `refused`.
std::vector<Outcome> run_case(const Case&, const DeviceInfo&, bool all_variants,
                              const std::function<bool(std::string_view variant)>& wanted = nullptr);

// Converts values to the bytes of a dtype, and back.
std::vector<std::byte> encode(DType, const std::vector<double>& values);
std::vector<double> decode(DType, const std::byte* bytes, std::int64_t count);

}  // namespace ridge::check
