// Registers the cases of the elementwise operators for the command line's check and bench.
#include <ridge/elementwise/cases.hpp>

namespace ridge::elementwise_detail {

static const check::RegisterCases registered[] = {
    check::RegisterCases(book_of(Elementwise::add)),       check::RegisterCases(book_of(Elementwise::mul)),
    check::RegisterCases(book_of(Elementwise::relu)),      check::RegisterCases(book_of(Elementwise::sigmoid)),
    check::RegisterCases(book_of(Elementwise::tanh)),      check::RegisterCases(book_of(Elementwise::gelu)),
    check::RegisterCases(book_of(Elementwise::gelu_tanh)), check::RegisterCases(book_of(Elementwise::silu)),
    check::RegisterCases(book_of(Elementwise::exp)),       check::RegisterCases(book_of(Elementwise::copy)),
};

}  // namespace ridge::elementwise_detail
