// The trace of a case as one static page: each variant's place below the roofs of a device, its launches, and the
// source with what each line does to memory.
#pragma once
#include "traced.hpp"

#include <ridge/core/device.hpp>
#include <ridge/core/plan.hpp>

#include <optional>
#include <string>
#include <vector>

namespace ridge::cli {

// A variant, and what its plan says on a model of a device.
struct TracedOnModel {
  Traced traced;
  std::optional<Explanation> planned;
  std::string not_planned;  // why the device does not take it
};

std::string trace_page(const std::string& case_text, const std::vector<TracedOnModel>&, const DeviceInfo& model);

}  // namespace ridge::cli
