// An argument together with the line of the call that gives it. A function that takes its caller's line so has as many
// parameters as CUDA's: a pointer to it can be called, as by a deleter.
#pragma once
#include <source_location>
#include <type_traits>
#include <utility>

namespace ridge::lab {

template <class T> struct Placed {
  Placed(T given, std::source_location line = std::source_location::current()) : value(given), at(line) {}
  // What converts to it by itself: an argument is converted only once without being asked.
  template <class U>
  requires(std::is_class_v<std::remove_cvref_t<U>>&& std::is_convertible_v<U, T>)
      Placed(U&& given, std::source_location line = std::source_location::current())
      : value(std::forward<U>(given)), at(line) {}

  T value;
  std::source_location at;
};

}  // namespace ridge::lab
