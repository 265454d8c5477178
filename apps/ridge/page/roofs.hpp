// The roofline of a page: kernels below the roofs of a device, each with its label, and their figures in a table.
#pragma once
#include <ridge/core/cost.hpp>
#include <ridge/core/device.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli::page {

// A kernel or a run of several. What is 0 is not known: without operations it has no place on the roofline, only the
// line of all places at its rate of memory.
struct RoofKernel {
  std::string label;
  double operations = 0, bytes = 0, us = 0;
  Unit unit = Unit::fp32;  // that does the operations
};

// The drawing, below it what it shows, and a table. Empty where there is nothing to draw.
std::string roofline_figure(const DeviceInfo&, const std::vector<RoofKernel>&, std::vector<Unit> units,
                            std::string_view caption);

}  // namespace ridge::cli::page
