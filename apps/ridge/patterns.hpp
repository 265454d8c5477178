// Patterns of cases: a case whose braces list alternatives. "softmax:{f32,bf16}:rows={1,64},cols={17,4096}" is eight
// cases. A file beside an operator's kernels has a pattern a line, and how far from the least time the furthest of its
// cases may be:
//
//   PATTERN | most times the least | why no less
#pragma once
#include <ridge/core/status.hpp>

#include <limits>
#include <string>
#include <vector>

namespace ridge::cli {

struct Pattern {
  std::string text;
  double most = std::numeric_limits<double>::infinity();
};

// A pattern as it is, or those of a file.
Result<std::vector<Pattern>> patterns_in(const std::string& place);

// The case texts that a pattern stands for.
Result<std::vector<std::string>> cases_of(const std::string& pattern);

}  // namespace ridge::cli
