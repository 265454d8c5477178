#include <ridge/core/options.hpp>

#include <charconv>
#include <cmath>

namespace ridge {

template <class T>
static Result<T> number(std::string_view op, std::string_view key, std::string_view text, const char* kind) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && rest == end) return value;
  return Status::invalid(op, std::string(key), "'" + std::string(text) + "'", kind);
}

Result<std::int64_t> Options::integer(std::string_view op, std::string_view key, std::int64_t otherwise) const {
  if (!has(key)) return otherwise;
  return number<std::int64_t>(op, key, text(key), "a whole number");
}

Result<double> Options::real(std::string_view op, std::string_view key, double otherwise) const {
  if (!has(key)) return otherwise;
  auto value = number<double>(op, key, text(key), "a finite number");
  if (!value || std::isfinite(*value)) return value;
  return Status::invalid(op, std::string(key), "'" + std::string(text(key)) + "'", "a finite number");
}

Result<float> Options::real32(std::string_view op, std::string_view key, float otherwise) const {
  const auto value = real(op, key, otherwise);
  if (!value) return value.error();
  if (const auto rounded = static_cast<float>(*value); std::isfinite(rounded)) return rounded;
  return Status::invalid(op, std::string(key), "'" + std::string(text(key)) + "'", "a finite number of type float32");
}

Result<bool> Options::flag(std::string_view op, std::string_view key) const {
  const std::string_view value = text(key, "0");
  if (value == "0" || value == "1") return value == "1";
  return Status::invalid(op, std::string(key), "'" + std::string(value) + "'", "0 or 1");
}

Result<std::optional<bool>> Options::flag_if_given(std::string_view op, std::string_view key) const {
  if (!has(key)) return std::optional<bool>();
  auto given = flag(op, key);
  if (!given) return given.error();
  return std::optional(*given);
}

void Options::erase(std::string_view key) {
  std::erase_if(pairs_, [&](const auto& pair) { return pair.first == key; });
}

}  // namespace ridge
