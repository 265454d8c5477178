// Registers the cases of window_sum for the command line's check and bench.
#include <ridge/window_sum/cases.hpp>

namespace ridge::window_sum_detail {

static const check::RegisterCases registered(book());

}  // namespace ridge::window_sum_detail
