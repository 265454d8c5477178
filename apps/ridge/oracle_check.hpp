// Compares what an operator made of a user's own tensors with the oracle of its case book.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/core/op.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace ridge::cli {

struct OracleCheck {
  std::string case_text;  // the case that the tensors are, as far as the book can say it
  std::int64_t elements = 0, wrong = 0;
  double worst = 0;         // greatest error as a share of its tolerance; infinite where none was allowed
  std::string first_wrong;  // a sentence on the first element that differs too much
  bool passed() const { return wrong == 0; }
};

// `inputs` and `outputs` lie in host memory; inputs may be strided, outputs are contiguous. An error where the book
// has no case of these shapes.
Result<OracleCheck> check_against_oracle(const OpInfo&, const Options&, Views inputs, Views outputs);

}  // namespace ridge::cli
