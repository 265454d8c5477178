#include "axes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace ridge::cli {

void draw_axes(Svg& svg, const PlotBox& box, const AxisText& x, const AxisText& y) {
  constexpr std::string_view grid = "stroke-width=\"0.5\" stroke-opacity=\"0.3\"";
  const double letters = box.letters;
  for (const auto& [at, name] : x.ticks) {
    svg.line(at, box.top, at, box.bottom(), grid);
    svg.text(at, box.bottom() + 1.5 * letters, name, Anchor::middle, letters);
  }
  for (const auto& [at, name] : y.ticks) {
    svg.line(box.left, at, box.right(), at, grid);
    svg.text(box.left - 8, at + 4, name, Anchor::end, letters);
  }
  svg.line(box.left, box.bottom(), box.right(), box.bottom(), "stroke-width=\"1.2\"");
  svg.line(box.left, box.top, box.left, box.bottom(), "stroke-width=\"1.2\"");
  svg.text(box.left + box.width / 2, box.bottom() + 3.5 * letters, x.title, Anchor::middle, letters + 1);
  svg.text(letters + 3, box.top + box.height / 2, y.title, Anchor::middle, letters + 1, -90);
}

// ---- decades --------------------------------------------------------------------------------------------------------

LogAxes::LogAxes(const PlotBox& box, double x_low, double x_high, double y_low, double y_high)
    : box_(box),
      x0_(std::floor(decade(x_low))),
      x1_(std::ceil(decade(x_high))),
      y0_(std::floor(decade(y_low))),
      y1_(std::ceil(decade(y_high))) {
  if (x1_ <= x0_) x1_ = x0_ + 1;
  if (y1_ <= y0_) y1_ = y0_ + 1;
}

double LogAxes::x(double value) const { return box_.left + (std::log10(value) - x0_) / (x1_ - x0_) * box_.width; }
double LogAxes::y(double value) const { return box_.top + (y1_ - std::log10(value)) / (y1_ - y0_) * box_.height; }
double LogAxes::x_low() const { return std::pow(10, x0_); }
double LogAxes::x_high() const { return std::pow(10, x1_); }
double LogAxes::y_low() const { return std::pow(10, y0_); }
double LogAxes::slope() const { return std::atan2(box_.height / (y1_ - y0_), box_.width / (x1_ - x0_)) * 180 / M_PI; }

void LogAxes::draw(Svg& svg, const std::string& x_title, const std::string& y_title, const Name& x_name,
                   const Name& y_name) const {
  AxisText along{x_title, {}}, up{y_title, {}};
  for (double value : ticks(x0_, x1_)) along.ticks.push_back({x(value), x_name(value)});
  for (double value : ticks(y0_, y1_)) up.ticks.push_back({y(value), y_name(value)});
  draw_axes(svg, box_, along, up);
}

// Of any number, infinities and NaN too: an axis ends.
double LogAxes::decade(double value) { return value > 0 ? std::clamp(std::log10(value), -30.0, 30.0) : -30; }

// Powers of ten, and 2 and 5 times those where they are few.
std::vector<double> LogAxes::ticks(double from, double to) {
  std::vector<double> values;
  for (double d = from; d <= to; ++d)
    for (double step : {1.0, 2.0, 5.0})
      if (step == 1 || (to - from <= 2 && d < to)) values.push_back(step * std::pow(10, d));
  return values;
}

// ---- whole steps ----------------------------------------------------------------------------------------------------

LinearAxes::LinearAxes(const PlotBox& box, double x_low, double x_high, double y_low, double y_high)
    : box_(box), x_(range(x_low, x_high)), y_(range(y_low, y_high)) {}

double LinearAxes::x(double value) const { return box_.left + x_.share(value) * box_.width; }
double LinearAxes::y(double value) const { return box_.top + (1 - y_.share(value)) * box_.height; }

void LinearAxes::draw(Svg& svg, const std::string& x_title, const std::string& y_title) const {
  AxisText along{x_title, {}}, up{y_title, {}};
  for (double value : ticks(x_)) along.ticks.push_back({x(value), fmt::format("{:g}", value)});
  for (double value : ticks(y_)) up.ticks.push_back({y(value), fmt::format("{:g}", value)});
  draw_axes(svg, box_, along, up);
}

LinearAxes::Range LinearAxes::range(double low, double high) {
  constexpr double most_steps = 8;
  const double least_step = std::max((high - low) / most_steps, 1e-9),
               power = std::pow(10, std::floor(std::log10(least_step)));
  double step = 10 * power;
  for (double times : {5.0, 2.0, 1.0})
    if (times * power >= least_step) step = times * power;
  const double from = std::floor(low / step) * step;
  return {from, std::max(std::ceil(high / step) * step, from + step), step};
}

std::vector<double> LinearAxes::ticks(const Range& range) {
  std::vector<double> values;
  for (double i = 0; i <= std::round((range.high - range.low) / range.step); ++i)
    values.push_back(range.low + i * range.step);
  return values;
}

}  // namespace ridge::cli
