// Legend: which marker is whose, beside a drawing for a desk.
#pragma once
#include "axes.hpp"
#include "svg.hpp"

#include <string>
#include <vector>

namespace ridge::cli {

// The drawing for a desk: its box, and the room beside and below it.
inline constexpr PlotBox desk{.left = 80, .top = 44, .width = 560, .height = 380, .letters = 12};
inline constexpr double legend_width = 240, bottom_margin = 56;

class Legend {
 public:
  Legend(Svg& svg, const PlotBox& box) : svg_(svg), box_(box) {}
  // Once for every label.
  void add(const std::string& label, Marker, bool filled);

 private:
  Svg& svg_;
  PlotBox box_;
  std::vector<std::string> seen_;
};

}  // namespace ridge::cli
