// What the command line's check and bench know of attention.
#include <ridge/attention/cases.hpp>

namespace ridge::attention_detail {

static const check::RegisterCases registered(book());

}  // namespace ridge::attention_detail
