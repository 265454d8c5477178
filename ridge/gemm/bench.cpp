// Registers gemm, grouped_gemm and linear with the command line's check and bench.
#include <ridge/gemm/cases.hpp>

namespace ridge::gemm_detail {

static const check::RegisterCases registered(book()), registered_linear(linear_book()),
    registered_grouped(grouped_book());

}  // namespace ridge::gemm_detail
