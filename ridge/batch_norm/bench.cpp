// Registers batch norm's cases with the command line's check and bench.
#include <ridge/batch_norm/cases.hpp>

namespace ridge::batch_norm_detail {

static const check::RegisterCases registered[] = {check::RegisterCases(book_of(BatchNorm::inference)),
                                                  check::RegisterCases(book_of(BatchNorm::stats)),
                                                  check::RegisterCases(book_of(BatchNorm::train))};

}  // namespace ridge::batch_norm_detail
