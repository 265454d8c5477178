// Labels: words of a drawing, none of which is written over another or over a point.
#pragma once
#include "axes.hpp"
#include "svg.hpp"

#include <initializer_list>
#include <string_view>
#include <vector>

namespace ridge::cli {

class Labels {
 public:
  Labels(Svg& svg, const PlotBox& box) : svg_(svg), box_(box) {}

  // A point, over which nothing is written.
  void keep_free(double x, double y) { taken_.push_back({x, y}); }
  // A line of the drawing, over which words are written only where there is no other room.
  void keep_free(double x1, double y1, double x2, double y2);
  // Where it must be.
  void at(double x, double y, std::string_view text, Anchor, double degrees = 0);
  // On a level line, as far to the right as there is room; at its end where there is none.
  void on(double x1, double x2, double y, std::string_view text);
  // Near a point, with a line to it where there is no room beside it. Nothing where there is none at all: a table below
  // the drawing names every point.
  void near(double x, double y, std::string_view text);
  // Along a line, so many letters' heights above it, wherever there is room; where there is none, only if it must be.
  void along(double x1, double y1, double x2, double y2, std::string_view text, std::initializer_list<double> above,
             bool must);

 private:
  // A word takes as much room as the letters of it: discs in a row.
  struct Spot {
    double x = 0, y = 0;
  };
  double width(std::string_view text) const;
  std::vector<Spot> spots(double x, double y, std::string_view text, Anchor, double degrees) const;
  bool is_inside(const std::vector<Spot>&) const;
  static bool is_apart(const std::vector<Spot>&, const std::vector<Spot>& others, double distance);
  // What a word may be written over, if it must be somewhere: a line behind it can still be followed.
  enum class Over { nothing, lines };
  bool is_free(const std::vector<Spot>&, Over) const;
  bool is_free_to(double x, double y, double dx, double dy, double reach) const;
  void write(double x, double y, std::string_view text, Anchor, double degrees);

  Svg& svg_;
  PlotBox box_;
  std::vector<Spot> taken_, lines_;
};

}  // namespace ridge::cli
