// Registers the norms' cases with the command line's check and bench.
#include <ridge/norm/cases.hpp>

namespace ridge::norm_detail {

static const check::RegisterCases registered[] = {
    check::RegisterCases(book_of("layer_norm")), check::RegisterCases(book_of("rms_norm")),
    check::RegisterCases(book_of("add_layer_norm")), check::RegisterCases(book_of("add_rms_norm"))};

}  // namespace ridge::norm_detail
