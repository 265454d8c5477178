// Registers the cases of nms for the command line's check and bench.
#include <ridge/nms/cases.hpp>

namespace ridge::nms_detail {

static const check::RegisterCases registered(book());

}  // namespace ridge::nms_detail
