#include <ridge/core/text.hpp>

#include <atomic>
#include <cstdarg>
#include <cstdio>

#include <locale.h>

namespace ridge {

namespace {

// Sets the C locale for the calling thread, until the end of a scope.
class CLocale {
 public:
  CLocale() : before_(uselocale(c_locale())) {}
  ~CLocale() { uselocale(before_); }
  CLocale(const CLocale&) = delete;
  CLocale& operator=(const CLocale&) = delete;

 private:
  static locale_t c_locale() {
    static std::atomic<locale_t> known{};  // not by a static's guard, which a fork meanwhile would leave locked
    locale_t made = known.load(std::memory_order_acquire);
    if (made) return made;
    const locale_t mine = newlocale(LC_ALL_MASK, "C", nullptr);
    if (known.compare_exchange_strong(made, mine, std::memory_order_acq_rel)) return mine;
    if (mine) freelocale(mine);
    return made;
  }
  locale_t before_;
};

// The length in bytes of the UTF-8 character that `text` begins with; 0 if it is invalid or a control character.
std::size_t printable_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Refuses overlong forms, surrogates and values above the last character; and C1, which terminals treat as escapes.
  const unsigned second = byte(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
      (first == 0xf4 && second > 0x8f) || (first == 0xc2 && second < 0xa0))
    return 0;
  return size;
}

}  // namespace

std::string format(const char* pattern, ...) {
  const CLocale c;
  std::va_list values, again;
  va_start(values, pattern);
  va_copy(again, values);
  const int size = std::vsnprintf(nullptr, 0, pattern, values);
  std::string text(static_cast<std::size_t>(size > 0 ? size : 0), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  va_end(values);
  return text;
}

std::string printable(std::string_view text, std::string_view kept) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t bytes = kept.find(text.front()) != kept.npos ? 1 : printable_bytes(text);
    if (bytes == 0) shown += '?';
    else shown += text.substr(0, bytes);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return shown;
}

}  // namespace ridge
