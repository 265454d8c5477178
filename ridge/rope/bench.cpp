// What the command line's check and bench know of rope.
#include <ridge/rope/cases.hpp>

namespace ridge::rope_detail {

static const check::RegisterCases registered(book());

}  // namespace ridge::rope_detail
