// Registers the cases of pooling for the command line's check and bench.
#include <ridge/pool/cases.hpp>

namespace ridge::pool_detail {

static const check::RegisterCases registered[] = {check::RegisterCases(book_of(Pool::max)),
                                                  check::RegisterCases(book_of(Pool::avg)),
                                                  check::RegisterCases(book_of(Pool::adaptive_avg))};

}  // namespace ridge::pool_detail
