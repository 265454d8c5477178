// Case: one text for tests, benchmarks, explain and trace.
//
//   OP:DTYPE:k=v,k=v[:option[=value]]...      softmax:bf16:rows=8192,cols=50264:fill=overflow:variant=online
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/core/options.hpp>
#include <ridge/core/status.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridge::check {

struct Case {
  std::string op;
  DType dtype = DType::f32;
  std::vector<std::pair<std::string, std::int64_t>> dims;
  Options options;

  // Fails with one sentence on what is wrong with the text; the operator and its keys are checked when the case runs.
  static Result<Case> parse(std::string_view text);
  std::string text() const;  // without an operator: the rest

  bool has(std::string_view key) const;
  std::int64_t dim(std::string_view key, std::int64_t otherwise = 1) const;

  // The harness's own options: fill and placement of inputs, the warp width, and whether the case runs through the C
  // ABI.
  //   variant=NAME  fill=NAME[,X]  seed=N  warp=32|64  via=c
  //   place=plain|offset|padded|packed|strided|reversed|inplace|scattered|broadcast|windows|tangled
  static bool is_harness_option(std::string_view key);
  // The other options and `variant`, and each size that is an option of the operator (histogram's bins).
  Options operator_options() const;
};

}  // namespace ridge::check
