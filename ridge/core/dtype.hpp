// Element types: the run-time tag DType, its C++ type, and the bridge between the two.
#pragma once
#include <ridge/core/api.hpp>
#include <ridge/core/float16.hpp>
#include <ridge/core/float8.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace ridge {

enum class DType : std::uint8_t { f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i8, u8, boolean };
using enum DType;
inline constexpr int dtype_count = 11;

constexpr std::string_view name(DType dtype) {
  constexpr std::string_view names[dtype_count] = {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2",
                                                   "i64", "i32", "i8",  "u8",   "bool"};
  return names[static_cast<int>(dtype)];
}

constexpr std::size_t size_of(DType dtype) {
  constexpr std::uint8_t sizes[dtype_count] = {8, 4, 2, 2, 1, 1, 8, 4, 1, 1, 1};
  return sizes[static_cast<int>(dtype)];
}

constexpr bool is_floating(DType dtype) { return dtype <= DType::f8e5m2; }

constexpr std::optional<DType> parse_dtype(std::string_view text) {
  for (int i = 0; i < dtype_count; ++i)
    if (name(static_cast<DType>(i)) == text) return static_cast<DType>(i);
  return std::nullopt;
}

template <class T>
inline constexpr DType dtype_of = [] {
  static_assert(!sizeof(T), "not an element type of Ridge");
  return DType::f32;
}();
template <> inline constexpr DType dtype_of<double> = DType::f64;
template <> inline constexpr DType dtype_of<float> = DType::f32;
template <> inline constexpr DType dtype_of<half> = DType::f16;
template <> inline constexpr DType dtype_of<bfloat16> = DType::bf16;
template <> inline constexpr DType dtype_of<float8_e4m3> = DType::f8e4m3;
template <> inline constexpr DType dtype_of<float8_e5m2> = DType::f8e5m2;
template <> inline constexpr DType dtype_of<std::int64_t> = DType::i64;
template <> inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <> inline constexpr DType dtype_of<std::int8_t> = DType::i8;
template <> inline constexpr DType dtype_of<std::uint8_t> = DType::u8;
template <> inline constexpr DType dtype_of<bool> = DType::boolean;

// A list of element types: those that an operator instantiates and that its plan() accepts.
template <class... T> struct TypeList {
  static constexpr bool contains(DType dtype) { return ((dtype_of<T> == dtype) || ...); }

  // Calls f.template operator()<T>() for the T of `dtype`; returns `otherwise` where the list has none.
  template <class R, class F> static R visit(DType dtype, R otherwise, F&& f) {
    ((dtype_of<T> == dtype ? void(otherwise = f.template operator()<T>()) : void()), ...);
    return otherwise;
  }
};

using AllTypes = TypeList<double, float, half, bfloat16, float8_e4m3, float8_e5m2, std::int64_t, std::int32_t,
                          std::int8_t, std::uint8_t, bool>;

}  // namespace ridge
