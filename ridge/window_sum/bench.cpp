// What the command line's check and bench know of window_sum.
#include <ridge/window_sum/cases.hpp>

namespace ridge::window_sum_detail {

static const check::RegisterCases registered(book());

}  // namespace ridge::window_sum_detail
