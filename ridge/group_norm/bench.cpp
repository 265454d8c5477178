// Registers group norm's cases with the command line's check and bench.
#include <ridge/group_norm/cases.hpp>

namespace ridge::group_norm_detail {

static const check::RegisterCases registered(book());

}  // namespace ridge::group_norm_detail
