// What the command line's check and bench know of attention.
#include <ridge/attention/cases.hpp>
#include <ridge/attention/merge_cases.hpp>

namespace ridge::attention_detail {

static const check::RegisterCases registered(book()), merge_registered(merge_book());

}  // namespace ridge::attention_detail
