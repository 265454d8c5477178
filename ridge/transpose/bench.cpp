// Registers the cases of transpose and permute for the command line's check and bench.
#include <ridge/transpose/cases.hpp>

namespace ridge::transpose_detail {

static const check::RegisterCases registered[] = {check::RegisterCases(transpose_book()),
                                                  check::RegisterCases(permute_book())};

}  // namespace ridge::transpose_detail
