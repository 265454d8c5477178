// The report as one static HTML page: launches with what bounds them, and the source with a gutter of what each line
// does to memory. No script, no network.
#pragma once
#include "report.hpp"

#include <string>

namespace ridge::cli::lab {

std::string page_of(const Report&);

}  // namespace ridge::cli::lab
