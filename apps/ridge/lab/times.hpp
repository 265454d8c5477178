// The table of measured times beside predicted ones.
#pragma once
#include "report.hpp"
#include "timing.hpp"

namespace ridge::cli::lab {

// Puts what was measured into the report: as a table of its own, and beside each launch that was also traced. A remark
// where the program did not end well.
void add_times(Report&, const Gpu&, const Timing&);
void print_times(const Report&);

}  // namespace ridge::cli::lab
