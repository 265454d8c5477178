// libFuzzer: a tuning file is refused with a sentence, or its entries are the same after writing and reading.
#include <ridge/core/tuning.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

using namespace ridge;

static void require(bool holds) {
  if (!holds) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tuning = Tuning::parse({reinterpret_cast<const char*>(data), size}, "file");
  if (!tuning) {
    require(tuning.error().message().starts_with("tuning file 'file' "));
    return 0;
  }
  const std::string text = tuning->text();
  const auto again = Tuning::parse(text, "file");
  require(again.ok() && again->size() == tuning->size() && again->text() == text);
  return 0;
}
