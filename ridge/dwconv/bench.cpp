// What the command line's check and bench know of dwconv.
#include <ridge/dwconv/cases.hpp>

namespace ridge::dwconv_detail {

static const check::RegisterCases registered{book()};

}  // namespace ridge::dwconv_detail
