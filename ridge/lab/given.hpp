// What a launch is given: which kernel, and which arguments. Launches of one line that are given something else may do
// something else (records.hpp).
#pragma once
#include <ridge/core/text.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#pragma GCC visibility push(default)
namespace ridge::lab {

struct Given {
  const void* kernel = nullptr;        // the function; null where its name alone does not say which of a template's
  const void* body = nullptr;          // one for each instance of the code that launches
  std::uint64_t hash = 0;              // of all arguments
  std::vector<std::string> arguments;  // as a reader tells them apart: "16", "cudaMalloc of line 12"
  std::vector<std::string_view> types;
};

std::string spelled_pointer(const void*);

// FNV-1a: arguments are few bytes.
inline std::uint64_t hashed(std::uint64_t hash, const void* bytes, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3ull;
  return hash;
}

// "float*"
template <class T> constexpr std::string_view type_text() {
  const std::string_view here = __PRETTY_FUNCTION__;  // "... [with T = float*; std::string_view = ...]"
  const std::size_t begin = here.find("T = ") + 4;
  return here.substr(begin, here.find_first_of(";]", begin) - begin);
}

// Of classes only those count whose bytes are all that they are, and they are not spelled.
template <class T> void note_argument(Given& given, const T& argument) {
  using Value = std::remove_cvref_t<T>;
  given.types.push_back(type_text<std::decay_t<T>>());
  if constexpr (std::is_trivially_copyable_v<Value>) given.hash = hashed(given.hash, &argument, sizeof argument);
  if constexpr (std::same_as<Value, bool>) given.arguments.emplace_back(argument ? "true" : "false");
  else if constexpr (std::integral<Value>) given.arguments.push_back(std::to_string(argument));
  else if constexpr (std::floating_point<Value>) given.arguments.push_back(number_text(argument));
  else if constexpr (std::is_pointer_v<Value> && !std::is_function_v<std::remove_pointer_t<Value>>)
    given.arguments.push_back(spelled_pointer(const_cast<const void*>(static_cast<const volatile void*>(argument))));
  else given.arguments.emplace_back();
}

template <class... Arguments> Given given_by(const void* kernel, const void* body, const Arguments&... arguments) {
  Given given{.kernel = kernel, .body = body, .hash = 0xcbf29ce484222325ull, .arguments = {}, .types = {}};
  (note_argument(given, arguments), ...);
  return given;
}

}  // namespace ridge::lab
#pragma GCC visibility pop
