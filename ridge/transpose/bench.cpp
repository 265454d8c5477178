// What the command line's check and bench know of transpose and permute.
#include <ridge/transpose/cases.hpp>

namespace ridge::transpose_detail {

static const check::RegisterCases registered[] = {check::RegisterCases(transpose_book()),
                                                  check::RegisterCases(permute_book())};

}  // namespace ridge::transpose_detail
