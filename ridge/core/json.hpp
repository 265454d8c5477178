// JSON of what Ridge says of itself: `ridge explain --json`, `ridge ops --json`, the C ABI.
#pragma once
#include <ridge/core/op.hpp>
#include <ridge/core/plan.hpp>

#include <string>

namespace ridge {

RIDGE_API std::string json_text(const Explanation&);
RIDGE_API std::string json_text(const OpInfo&);

}  // namespace ridge
