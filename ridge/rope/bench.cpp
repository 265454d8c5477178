// Registers the cases of rope and rope_cache for the command line's check and bench.
#include <ridge/rope/cache_cases.hpp>
#include <ridge/rope/cases.hpp>

namespace ridge::rope_detail {

static const check::RegisterCases registered(book()), cache_registered(cache_book());

}  // namespace ridge::rope_detail
