// JSON of what Ridge says of itself: `ridge explain --json`, `ridge ops --json`, the C ABI.
#pragma once
#include <ridge/core/op.hpp>
#include <ridge/core/plan.hpp>

#include <string>

namespace ridge {

RIDGE_API std::string to_json(const Explanation&);
RIDGE_API std::string to_json(const OpInfo&);

}  // namespace ridge
