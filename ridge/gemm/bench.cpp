// What the command line's check and bench know of gemm.
#include <ridge/gemm/cases.hpp>

namespace ridge::gemm_detail {

static const check::RegisterCases registered(book());

}  // namespace ridge::gemm_detail
