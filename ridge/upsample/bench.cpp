// Registers the cases of upsample for the command line's check and bench.
#include <ridge/upsample/cases.hpp>

namespace ridge::upsample_detail {

static const check::RegisterCases registered(book());

}  // namespace ridge::upsample_detail
