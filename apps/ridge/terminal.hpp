// What people read, on standard output or standard error. Text that files and arguments bring is shown without its
// control characters: a terminal would obey them.
#pragma once
#include <ridge/core/text.hpp>

#include <fmt/core.h>

#include <concepts>
#include <cstdio>
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

// The library's own text of several lines.
inline void say_lines(std::string_view text, std::FILE* to = stdout) {
  std::fputs(printable(text, "\n\t").c_str(), to);
}

}  // namespace ridge::cli
