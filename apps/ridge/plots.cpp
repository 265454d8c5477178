#include "plots.hpp"

#include <ridge/roofline/bound.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace ridge::cli {

namespace {

using roofline::Level;

constexpr double left = 80, top = 44, plot_width = 560, plot_height = 380, legend_width = 240, bottom = 56;

// Decades along both sides.
class LogAxes {
 public:
  LogAxes(double x_low, double x_high, double y_low, double y_high)
      : x0_(std::floor(decade(x_low))),
        x1_(std::ceil(decade(x_high))),
        y0_(std::floor(decade(y_low))),
        y1_(std::ceil(decade(y_high))) {
    if (x1_ <= x0_) x1_ = x0_ + 1;
    if (y1_ <= y0_) y1_ = y0_ + 1;
  }
  double x(double value) const { return left + (std::log10(value) - x0_) / (x1_ - x0_) * plot_width; }
  double y(double value) const { return top + (y1_ - std::log10(value)) / (y1_ - y0_) * plot_height; }
  double x_low() const { return std::pow(10, x0_); }
  double x_high() const { return std::pow(10, x1_); }
  double y_low() const { return std::pow(10, y0_); }
  // Degrees by which a line of y proportional to x rises.
  double slope() const { return std::atan2(plot_height / (y1_ - y0_), plot_width / (x1_ - x0_)) * 180 / M_PI; }

  using Name = std::function<std::string(double)>;
  void draw(Svg& svg, const std::string& x_title, const std::string& y_title, const Name& x_name,
            const Name& y_name) const {
    constexpr std::string_view grid = "stroke-width=\"0.5\" stroke-opacity=\"0.3\"";
    for (double value : ticks(x0_, x1_)) {
      svg.line(x(value), top, x(value), top + plot_height, grid);
      svg.text(x(value), top + plot_height + 18, x_name(value), Anchor::middle);
    }
    for (double value : ticks(y0_, y1_)) {
      svg.line(left, y(value), left + plot_width, y(value), grid);
      svg.text(left - 8, y(value) + 4, y_name(value), Anchor::end);
    }
    svg.line(left, top + plot_height, left + plot_width, top + plot_height, "stroke-width=\"1.2\"");
    svg.line(left, top, left, top + plot_height, "stroke-width=\"1.2\"");
    svg.text(left + plot_width / 2, top + plot_height + 42, x_title, Anchor::middle, 13);
    svg.text(20, top + plot_height / 2, y_title, Anchor::middle, 13, -90);
  }

 private:
  // Of any number, infinities and NaN too: an axis ends.
  static double decade(double value) { return value > 0 ? std::clamp(std::log10(value), -30.0, 30.0) : -30; }

  // Powers of ten, and 2 and 5 times those where they are few.
  static std::vector<double> ticks(double from, double to) {
    std::vector<double> values;
    for (double d = from; d <= to; ++d)
      for (double step : {1.0, 2.0, 5.0})
        if (step == 1 || (to - from <= 2 && d < to)) values.push_back(step * std::pow(10, d));
    return values;
  }

  double x0_, x1_, y0_, y1_;
};

class Legend {
 public:
  explicit Legend(Svg& svg) : svg_(svg) {}
  // Once for every label.
  void add(const std::string& label, Marker marker, bool filled) {
    if (std::ranges::find(seen_, label) != seen_.end()) return;
    seen_.push_back(label);
    const double x = left + plot_width + 24, y = top + 8 + 20 * static_cast<double>(seen_.size() - 1);
    if (y > top + plot_height) return;  // no room: the tables name them all
    svg_.marker(marker, x, y, filled);
    svg_.text(x + 14, y + 4, label, Anchor::start, 12);
  }

 private:
  Svg& svg_;
  std::vector<std::string> seen_;
};

std::string plain(double value) { return fmt::format("{:g}", value); }
std::string bytes_name(double bytes) {
  return bytes >= 1e12  ? fmt::format("{:g} TB", bytes * 1e-12)
         : bytes >= 1e9 ? fmt::format("{:g} GB", bytes * 1e-9)
         : bytes >= 1e6 ? fmt::format("{:g} MB", bytes * 1e-6)
         : bytes >= 1e3 ? fmt::format("{:g} kB", bytes * 1e-3)
                        : fmt::format("{:g} B", bytes);
}

}  // namespace

std::string roofline_svg(const DeviceInfo& device, const std::vector<Unit>& units, const std::vector<RoofPoint>& points,
                         const std::string& title) {
  double x_low = 0.05, x_high = 100, y_low = 0.1, y_high = 1;
  for (const RoofPoint& p : points) {
    x_low = std::min(x_low, p.intensity), x_high = std::max(x_high, p.intensity);
    y_low = std::min(y_low, p.tera);
  }
  double ceiling = 0;
  for (Unit unit : units) ceiling = std::max(ceiling, roofline::rate(device, unit));
  for (const RoofPoint& p : points) ceiling = std::max(ceiling, p.tera);
  y_high = std::max(ceiling, y_low * 10);
  const double dram = roofline::bandwidth_gbs(device, Level::dram);
  if (dram > 0) x_high = std::max(x_high, 2e3 * ceiling / dram);
  const LogAxes axes(x_low, x_high, y_low, y_high * 1.05);

  Svg svg(left + plot_width + legend_width, top + plot_height + bottom, title);
  svg.text(left, 26, title, Anchor::start, 15);
  axes.draw(svg, "operations per byte of memory", "1e12 operations/s", plain, plain);
  // Each level of memory: a slope up to the highest ceiling, named along it.
  int dash = 0;
  for (Level level : roofline::levels) {
    const double gbs = roofline::bandwidth_gbs(device, level);
    if (gbs <= 0) continue;
    const double from = std::max(axes.x_low(), axes.y_low() / gbs * 1e3),
                 to = std::min(ceiling / gbs * 1e3, axes.x_high());
    if (from >= to) continue;
    svg.line(axes.x(from), axes.y(from * gbs * 1e-3), axes.x(to), axes.y(to * gbs * 1e-3),
             fmt::format("stroke-width=\"1.6\" stroke-dasharray=\"{}\"", dashes(dash++)));
    // DRAM's name stands below its line, for the L2 cache's is close above.
    const bool below = level == Level::dram;
    const double at = from * std::pow(to / from, below ? 0.15 : 0.6);
    const double shift = below ? 14 : -7;
    svg.text(axes.x(at), axes.y(at * gbs * 1e-3) + shift,
             fmt::format("{} {:.3g} TB/s", roofline::name(level), gbs * 1e-3), Anchor::middle, 12, -axes.slope());
  }
  for (Unit unit : units) {
    const double rate = roofline::rate(device, unit);
    if (rate <= 0) continue;
    const double from = dram > 0 ? rate * 1e3 / roofline::bandwidth_gbs(device, Level::shared) : 0;
    svg.line(axes.x(std::max(axes.x_low(), from)), axes.y(rate), axes.x(axes.x_high()), axes.y(rate),
             "stroke-width=\"1.6\"");
    svg.text(axes.x(axes.x_high()) - 4, axes.y(rate) - 6, fmt::format("{} {:.3g} T/s", name(unit), rate), Anchor::end);
  }
  Legend legend(svg);
  for (const RoofPoint& p : points) {
    svg.marker(p.marker, axes.x(p.intensity), axes.y(p.tera), p.filled, p.hint);
    legend.add(p.label, p.marker, p.filled);
  }
  return svg.str();
}

std::string bandwidth_svg(const std::vector<Series>& series, double roof_gbs, const std::string& roof_label,
                          const std::string& title) {
  double x_low = 1e18, x_high = 0, y_low = 1e18, y_high = roof_gbs;
  for (const Series& s : series)
    for (const auto& [bytes, gbs, hint] : s.points) {
      x_low = std::min(x_low, bytes), x_high = std::max(x_high, bytes);
      y_low = std::min(y_low, gbs), y_high = std::max(y_high, gbs);
    }
  if (x_high <= 0) return {};
  const LogAxes axes(x_low, x_high * 1.01, y_low, y_high * 1.01);
  Svg svg(left + plot_width + legend_width, top + plot_height + bottom, title);
  svg.text(left, 26, title, Anchor::start, 15);
  axes.draw(svg, "bytes moved", "GB/s", bytes_name, plain);
  if (roof_gbs > 0) {
    svg.line(left, axes.y(roof_gbs), left + plot_width, axes.y(roof_gbs),
             "stroke-width=\"1.6\" stroke-dasharray=\"8 4\"");
    svg.text(left + 6, axes.y(roof_gbs) - 6, roof_label);
  }
  Legend legend(svg);
  for (std::size_t i = 0; i < series.size(); ++i) {
    const Series& s = series[i];
    std::vector<std::pair<double, double>> line;
    bool sweep = s.points.size() > 2;  // one point for each size
    for (const SizePoint& p : s.points) {
      const double x = axes.x(p.bytes);
      if (!line.empty() && x - line.back().first < 1) sweep = false;
      line.emplace_back(x, axes.y(p.gbs));
    }
    if (sweep)
      svg.polyline(line, fmt::format("stroke-width=\"0.8\" stroke-dasharray=\"{}\"", dashes(static_cast<int>(i))));
    for (std::size_t k = 0; k < line.size(); ++k)
      svg.marker(s.marker, line[k].first, line[k].second, s.filled, s.points[k].hint);
    legend.add(s.label, s.marker, s.filled);
  }
  return svg.str();
}

}  // namespace ridge::cli
