// The axes of a drawing, with grid, figures and titles: decades along both sides, or whole steps.
#pragma once
#include "svg.hpp"

#include <functional>
#include <string>
#include <vector>

namespace ridge::cli {

// Where a drawing's axes lie, and how large its letters are.
struct PlotBox {
  double left = 0, top = 0, width = 0, height = 0, letters = 12;
  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

// Where lines of the grid are, in the drawing's pixels, and what stands at them.
struct Tick {
  double at = 0;
  std::string name;
};
struct AxisText {
  std::string title;
  std::vector<Tick> ticks;
};
void draw_axes(Svg&, const PlotBox&, const AxisText& x, const AxisText& y);

class LogAxes {
 public:
  LogAxes(const PlotBox&, double x_low, double x_high, double y_low, double y_high);

  double x(double value) const;
  double y(double value) const;
  double x_low() const;
  double x_high() const;
  double y_low() const;
  // Degrees by which a line of y proportional to x rises.
  double slope() const;

  using Name = std::function<std::string(double)>;
  void draw(Svg&, const std::string& x_title, const std::string& y_title, const Name& x_name, const Name& y_name) const;

 private:
  static double decade(double value);
  static std::vector<double> ticks(double from, double to);

  PlotBox box_;
  double x0_, x1_, y0_, y1_;
};

// From a round number to another, in steps of 1, 2 or 5 times a power of ten.
class LinearAxes {
 public:
  LinearAxes(const PlotBox&, double x_low, double x_high, double y_low, double y_high);

  double x(double value) const;
  double y(double value) const;
  void draw(Svg&, const std::string& x_title, const std::string& y_title) const;

 private:
  struct Range {
    double low = 0, high = 1, step = 1;
    double share(double value) const { return (value - low) / (high - low); }
  };
  static Range range(double low, double high);
  static std::vector<double> ticks(const Range&);

  PlotBox box_;
  Range x_, y_;
};

}  // namespace ridge::cli
