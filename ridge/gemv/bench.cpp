// Registers gemv with the command line's check and bench.
#include <ridge/gemv/cases.hpp>

namespace ridge::gemv_detail {

static const check::RegisterCases registered(book());

}  // namespace ridge::gemv_detail
