// Registers the cases of embedding and embedding_norm for the command line's check and bench.
#include <ridge/embedding/cases.hpp>
#include <ridge/embedding/norm_cases.hpp>

namespace ridge {

static const check::RegisterCases registered(embedding_detail::book()), norm_registered(embedding_norm_detail::book());

}  // namespace ridge
