// What the command line's check and bench know of embedding.
#include <ridge/embedding/cases.hpp>

namespace ridge::embedding_detail {

static const check::RegisterCases registered(book());

}  // namespace ridge::embedding_detail
