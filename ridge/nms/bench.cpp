// What the command line's check and bench know of nms.
#include <ridge/nms/cases.hpp>

namespace ridge::nms_detail {

static const check::RegisterCases registered(book());

}  // namespace ridge::nms_detail
