// nearest(): the known names closest to a mistyped one, for the sentences of refusals.
#pragma once
#include <ridge/core/api.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace ridge {

// The `count` names that differ from `wanted` in the fewest letters, ignoring case; nearest first.
RIDGE_API std::vector<std::string_view> nearest(std::string_view wanted, std::span<const std::string_view> known,
                                                std::size_t count = 1);

}  // namespace ridge
