// What the command line's check and bench know of softmax.
#include <ridge/softmax/cases.hpp>

namespace ridge::softmax_detail {

static const check::RegisterCases registered[] = {check::RegisterCases(book_of(false)),
                                                  check::RegisterCases(book_of(true))};

}  // namespace ridge::softmax_detail
