// JSON descriptions of plans and operators: `ridge explain --json`, `ridge ops --json`, the C ABI.
#pragma once
#include <ridge/core/op.hpp>
#include <ridge/core/plan.hpp>

#include <string>
#include <string_view>

namespace ridge {

RIDGE_API std::string json_text(std::string_view);  // a string, in quotes
RIDGE_API std::string json_text(const Explanation&);
RIDGE_API std::string json_text(const OpInfo&);

}  // namespace ridge
