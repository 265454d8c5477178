// A case under the trace, variant by variant: what `ridge trace` shows line by line and `ridge ladder` in sums.
#pragma once
#include "request.hpp"

#include <ridge/simt/trace.hpp>

#include <string>
#include <vector>

namespace ridge::cli {

struct Traced {
  std::string case_text, variant, step;  // step: what the variant is
  std::string refused;                   // why it does not take the case
  std::string error;                     // what a kernel did wrong
  simt::trace::Report report;
};

// Every variant named, in order; "" is the one that the plan chooses. Precondition: simt::trace::available().
Result<std::vector<Traced>> trace_variants(const KnownCase&, const std::vector<std::string>& variants);

std::vector<std::string> variant_names(const OpInfo&);

}  // namespace ridge::cli
