// What people read, on standard output or standard error. Text that files and arguments bring is shown without its
// control characters: a terminal would obey them.
#pragma once
#include <ridge/core/text.hpp>

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace ridge::cli {

inline std::string shown(std::string_view text) { return printable(text); }
template <class T>
requires(!std::convertible_to<const T&, std::string_view>) const T& shown(const T& value) { return value; }

template <class T> using Shown = decltype(shown(std::declval<const T&>()));

template <class... A> void say_to(std::FILE* to, fmt::format_string<Shown<A>...> pattern, const A&... a) {
  std::fputs(fmt::format(pattern, shown(a)...).c_str(), to);
}
template <class... A> void say(fmt::format_string<Shown<A>...> pattern, const A&... a) {
  std::fputs(fmt::format(pattern, shown(a)...).c_str(), stdout);
}

// Whether letters may be bold: on a terminal, unless the user asks for none (https://no-color.org).
inline bool has_styles(std::FILE* to) {
  const char* refused = std::getenv("NO_COLOR");
  return isatty(fileno(to)) && !(refused && *refused);
}

// The library's own text of several lines; those that end with `emphasised` are bold.
inline void say_lines(std::string_view text, std::FILE* to = stdout, std::string_view emphasised = {}) {
  std::string shown = printable(text, "\n\t");
  if (!emphasised.empty() && has_styles(to)) {
    std::string styled;
    for (std::size_t begin = 0; begin < shown.size();) {
      const std::size_t end = std::min(shown.find('\n', begin), shown.size());
      const std::string line = shown.substr(begin, end - begin);
      styled += (line.ends_with(emphasised) ? "\033[1m" + line + "\033[0m" : line) + "\n";
      begin = end + 1;
    }
    shown = std::move(styled);
  }
  std::fputs(shown.c_str(), to);
}

}  // namespace ridge::cli
