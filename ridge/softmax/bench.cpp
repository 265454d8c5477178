// Registers softmax's cases with the command line's check and bench.
#include <ridge/softmax/cases.hpp>

namespace ridge::softmax_detail {

static const check::RegisterCases registered[] = {check::RegisterCases(book_of(false)),
                                                  check::RegisterCases(book_of(true))};

}  // namespace ridge::softmax_detail
