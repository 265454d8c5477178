#include "plots.hpp"

#include "axes.hpp"
#include "labels.hpp"
#include "legend.hpp"
#include "page/quantities.hpp"

#include <ridge/roofline/bound.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace ridge::cli {

namespace {

using roofline::Level;

// Its letters are large beside the desk's: there it is shown at three quarters of its size.
constexpr PlotBox phone{.left = 66, .top = 8, .width = 340, .height = 290, .letters = 13};
constexpr double phone_margin = 14;

std::string plain(double value) { return fmt::format("{:g}", value); }
std::string bytes_name(double bytes) {
  return bytes >= 1e12  ? fmt::format("{:g} TB", bytes * 1e-12)
         : bytes >= 1e9 ? fmt::format("{:g} GB", bytes * 1e-9)
         : bytes >= 1e6 ? fmt::format("{:g} MB", bytes * 1e-6)
         : bytes >= 1e3 ? fmt::format("{:g} kB", bytes * 1e-3)
                        : fmt::format("{:g} B", bytes);
}

// ---- the roofline ---------------------------------------------------------------------------------------------------

class Roofline {
 public:
  Roofline(const DeviceInfo& device, const std::vector<Unit>& units, const std::vector<RoofPoint>& points,
           PlotSize size)
      : device_(device),
        units_(units),
        points_(points),
        size_(size),
        box_(size == PlotSize::desk ? desk : phone),
        ceiling_(ceiling()),
        axes_(axes()) {}

  std::string draw(const std::string& title) {
    const bool is_desk = size_ == PlotSize::desk;
    Svg svg(box_.right() + (is_desk ? legend_width : phone_margin), box_.bottom() + bottom_margin, title);
    if (is_desk) svg.text(box_.left, 26, title, Anchor::start, 15);
    axes_.draw(svg, "operations per byte of memory", "1e12 operations/s", plain, plain);
    Labels labels(svg, box_);
    draw_lines(svg, labels);
    draw_points(svg, labels);
    name_roofs(labels);
    if (!is_desk) name_points(labels);
    return svg.str();
  }

 private:
  double ceiling() const {
    double tera = 0;
    for (Unit unit : units_) tera = std::max(tera, roofline::rate(device_, unit));
    for (const RoofPoint& p : points_) tera = std::max(tera, p.tera);
    return tera;
  }

  LogAxes axes() const {
    double x_low = 0.05, x_high = 100, y_low = 0.1;
    for (const RoofPoint& p : points_) {
      if (p.gbs > 0) {
        y_low = std::min(y_low, p.gbs * 1e-3);  // so that much of the line is seen
        continue;
      }
      x_low = std::min(x_low, p.intensity), x_high = std::max(x_high, p.intensity);
      y_low = std::min(y_low, p.tera);
    }
    const double y_high = std::max(ceiling_, y_low * 10);
    const double dram = roofline::bandwidth_gbs(device_, Level::dram);
    if (dram > 0) x_high = std::max(x_high, 2e3 * ceiling_ / dram);
    const double air = size_ == PlotSize::desk ? 1 : 0.7;  // no point is on an axis, where its label has no room
    return {box_, x_low * air, x_high, y_low * air, y_high * 1.05};
  }

  // From where a slope enters the drawing to where it meets the highest unit.
  struct Slope {
    double from = 0, to = 0;
  };
  Slope slope(double gbs) const {
    return {std::max(axes_.x_low(), axes_.y_low() / gbs * 1e3), std::min(ceiling_ / gbs * 1e3, axes_.x_high())};
  }
  void draw_line(Svg& svg, Labels& labels, double x1, double y1, double x2, double y2, std::string_view style) const {
    svg.line(axes_.x(x1), axes_.y(y1), axes_.x(x2), axes_.y(y2), style);
    labels.keep_free(axes_.x(x1), axes_.y(y1), axes_.x(x2), axes_.y(y2));
  }
  void draw_slope(Svg& svg, Labels& labels, double gbs, std::string_view style) const {
    const Slope s = slope(gbs);
    if (s.from < s.to) draw_line(svg, labels, s.from, s.from * gbs * 1e-3, s.to, s.to * gbs * 1e-3, style);
  }

  // Shared memory's slope is left to the desk: no kernel of a trace is compared with it.
  Level highest_level() const { return size_ == PlotSize::desk ? Level::shared : Level::l2; }
  double shown_gbs(Level level) const {
    return level > highest_level() ? 0 : std::max(roofline::bandwidth_gbs(device_, level), 0.0);
  }

  // Where a unit's line begins: at the slope of the widest level.
  double start_of(double tera) const {
    const double widest = shown_gbs(highest_level());
    return std::max(axes_.x_low(), widest > 0 ? tera * 1e3 / widest : 0);
  }

  // All lines, then all words, for a line over a word hides it.
  void draw_lines(Svg& svg, Labels& labels) const {
    for (Unit unit : units_) {
      const double tera = roofline::rate(device_, unit);
      if (tera <= 0) continue;
      draw_line(svg, labels, start_of(tera), tera, axes_.x_high(), tera, "stroke-width=\"1.6\"");
    }
    int dash = 0;
    for (Level level : roofline::levels)
      if (const double gbs = shown_gbs(level); gbs > 0)
        draw_slope(svg, labels, gbs, fmt::format("stroke-width=\"1.6\" stroke-dasharray=\"{}\"", dashes(dash++)));
    for (const RoofPoint& p : points_)
      if (p.gbs > 0)
        draw_slope(svg, labels, p.gbs, "stroke-width=\"1.2\" stroke-dasharray=\"1 4\" stroke-linecap=\"round\"");
  }

  void name_slope(Labels& labels, double gbs, const std::string& text, std::initializer_list<double> above,
                  bool must) const {
    const Slope s = slope(gbs);
    if (s.from < s.to)
      labels.along(axes_.x(s.from), axes_.y(s.from * gbs * 1e-3), axes_.x(s.to), axes_.y(s.to * gbs * 1e-3), text,
                   above, must);
  }

  // Each level of memory is named along its slope, each unit above its line.
  void name_roofs(Labels& labels) const {
    for (Level level : roofline::levels) {
      const double gbs = shown_gbs(level);
      if (gbs <= 0) continue;
      // DRAM's name stands below its line, for the L2 cache's is close above.
      const double above = level == Level::dram ? -1.3 : 0.6;
      name_slope(labels, gbs, fmt::format("{} {:.3g} TB/s", roofline::name(level), gbs * 1e-3), {above}, true);
    }
    for (Unit unit : units_)
      if (const double tera = roofline::rate(device_, unit); tera > 0)
        labels.on(axes_.x(start_of(tera)), axes_.x(axes_.x_high()) - 4, axes_.y(tera),
                  fmt::format("{} {} T/s", name(unit), page::figures(tera)));
  }

  void draw_points(Svg& svg, Labels& labels) const {
    Legend legend(svg, desk);
    for (const RoofPoint& p : points_) {
      if (p.gbs > 0) continue;
      svg.marker(p.marker, axes_.x(p.intensity), axes_.y(p.tera), p.filled, p.hint);
      if (size_ == PlotSize::desk) legend.add(p.label, p.marker, p.filled);
      else labels.keep_free(axes_.x(p.intensity), axes_.y(p.tera));
    }
  }

  void name_points(Labels& labels) const {
    for (const RoofPoint& p : points_)
      if (p.gbs > 0) name_slope(labels, p.gbs, p.label, {0.6, -1.5, 1.7, -2.6, 2.8}, false);
      else labels.near(axes_.x(p.intensity), axes_.y(p.tera), p.label);
  }

  const DeviceInfo& device_;
  const std::vector<Unit>& units_;
  const std::vector<RoofPoint>& points_;
  PlotSize size_;
  PlotBox box_;
  double ceiling_;
  LogAxes axes_;
};

}  // namespace

std::string roofline_svg(const DeviceInfo& device, const std::vector<Unit>& units, const std::vector<RoofPoint>& points,
                         const std::string& title, PlotSize size) {
  return Roofline(device, units, points, size).draw(title);
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
  const LogAxes axes(desk, x_low, x_high * 1.01, y_low, y_high * 1.01);
  Svg svg(desk.right() + legend_width, desk.bottom() + bottom_margin, title);
  svg.text(desk.left, 26, title, Anchor::start, 15);
  axes.draw(svg, "bytes moved", "GB/s", bytes_name, plain);
  if (roof_gbs > 0) {
    svg.line(desk.left, axes.y(roof_gbs), desk.right(), axes.y(roof_gbs),
             "stroke-width=\"1.6\" stroke-dasharray=\"8 4\"");
    svg.text(desk.left + 6, axes.y(roof_gbs) - 6, roof_label);
  }
  Legend legend(svg, desk);
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
