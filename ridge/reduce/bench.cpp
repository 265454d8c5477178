// Registers the reductions' cases with the command line's check and bench.
#include <ridge/reduce/cases.hpp>

namespace ridge::reduce_detail {

static const check::RegisterCases registered[] = {
    check::RegisterCases(book_of(Reduce::sum)),    check::RegisterCases(book_of(Reduce::mean)),
    check::RegisterCases(book_of(Reduce::max)),    check::RegisterCases(book_of(Reduce::min)),
    check::RegisterCases(book_of(Reduce::argmax)), check::RegisterCases(book_of(Reduce::argmin)),
    check::RegisterCases(book_of(Reduce::dot)),    check::RegisterCases(book_of(Reduce::trace)),
};

}  // namespace ridge::reduce_detail
