// The two drawings of the analyst: a roofline, and a rate over a size.
#pragma once
#include "svg.hpp"

#include <ridge/core/cost.hpp>
#include <ridge/core/device.hpp>

#include <string>
#include <vector>

namespace ridge::cli {

// A measured or predicted kernel on a roofline. Points of one label share an entry of the legend.
struct RoofPoint {
  std::string label;
  double intensity = 0;  // operations per byte of memory
  double tera = 0;       // 1e12 operations/s
  Marker marker = Marker::circle;
  bool filled = true;
  std::string hint = {};  // shown under the pointer
  // 1e9 bytes/s of memory, of a kernel whose operations nobody counted: it is somewhere on a line, and that is drawn.
  double gbs = 0;
};

// For a desk: with a legend beside it. For a phone: narrow, with the labels at the points.
enum class PlotSize { desk, phone };

// The roofs of a device's memory levels and of the units named, and the points below them.
std::string roofline_svg(const DeviceInfo&, const std::vector<Unit>& units, const std::vector<RoofPoint>& points,
                         const std::string& title, PlotSize = PlotSize::desk);

struct SizePoint {
  double bytes = 0, gbs = 0;
  std::string hint;
};
struct Series {
  std::string label;
  std::vector<SizePoint> points;
  Marker marker = Marker::circle;
  bool filled = true;
};

// Bandwidth over size; `roof` is a horizontal line, 0 for none.
std::string bandwidth_svg(const std::vector<Series>&, double roof_gbs, const std::string& roof_label,
                          const std::string& title);

}  // namespace ridge::cli
