// What the command line's check and bench know of conv2d.
#include <ridge/conv/cases.hpp>

namespace ridge::conv_detail {

static const check::RegisterCases registered(book());

}  // namespace ridge::conv_detail
