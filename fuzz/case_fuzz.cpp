// libFuzzer: a case text is refused with a sentence, or means the same after printing.
#include <ridge/check/case.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

using ridge::check::Case;

static void require(bool holds) {
  if (!holds) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = Case::parse({reinterpret_cast<const char*>(data), size});
  if (!parsed) {
    require(!parsed.error().message().empty());
    return 0;
  }
  const std::string text = parsed->text();
  const auto again = Case::parse(text);
  require(again.ok());
  require(again->op == parsed->op && again->dtype == parsed->dtype && again->dims == parsed->dims);
  require(again->options.pairs() == parsed->options.pairs());
  require(again->text() == text);
  return 0;
}
