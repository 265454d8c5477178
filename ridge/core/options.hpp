// Options: the k=v pairs that the command line, the case text, the C ABI and Python pass to an operator.
#pragma once
#include <ridge/core/status.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridge {

class Options {
 public:
  Options() = default;
  Options(std::initializer_list<std::pair<std::string, std::string>> pairs) : pairs_(pairs) {}

  bool has(std::string_view key) const { return find(key) != nullptr; }
  std::string_view text(std::string_view key, std::string_view otherwise = "") const {
    const std::string* value = find(key);
    return value ? std::string_view(*value) : otherwise;
  }
  // The value as a number; where it is not a number, a Status that names the operator and the option. Real numbers are
  // finite: no operator has a meaning for others.
  RIDGE_API Result<std::int64_t> integer(std::string_view op, std::string_view key, std::int64_t otherwise) const;
  RIDGE_API Result<double> real(std::string_view op, std::string_view key, double otherwise) const;
  RIDGE_API Result<float> real32(std::string_view op, std::string_view key, float otherwise) const;  // rounded

  // Whether the option is on: given alone or as 1. 0 is off.
  RIDGE_API Result<bool> flag(std::string_view op, std::string_view key) const;
  // The same, with nothing as a third answer where the option is not given.
  RIDGE_API Result<std::optional<bool>> flag_if_given(std::string_view op, std::string_view key) const;

  void set(std::string key, std::string value) {
    if (auto* old = const_cast<std::string*>(find(key))) *old = std::move(value);
    else pairs_.emplace_back(std::move(key), std::move(value));
  }
  RIDGE_API void erase(std::string_view key);
  const std::vector<std::pair<std::string, std::string>>& pairs() const { return pairs_; }

 private:
  const std::string* find(std::string_view key) const {
    for (const auto& [k, v] : pairs_)
      if (k == key) return &v;
    return nullptr;
  }
  std::vector<std::pair<std::string, std::string>> pairs_;  // in the order given, so that a case prints as written
};

}  // namespace ridge
