// Registers the cases of the histogram for the command line's check and bench.
#include <ridge/histogram/cases.hpp>

namespace ridge::histogram_detail {

static const check::RegisterCases registered(book());

}  // namespace ridge::histogram_detail
