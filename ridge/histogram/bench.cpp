// What the command line's check and bench know of the histogram.
#include <ridge/histogram/cases.hpp>

namespace ridge::histogram_detail {

static const check::RegisterCases registered(book());

}  // namespace ridge::histogram_detail
