#include "labels.hpp"

#include <algorithm>
#include <cmath>

namespace ridge::cli {

// Of a letter's height: what a letter of a sans-serif font is wide on the average, a bit more than less.
constexpr double letter_width = 0.58;

double Labels::width(std::string_view text) const {
  return letter_width * box_.letters * static_cast<double>(text.size());
}

std::vector<Labels::Spot> Labels::spots(double x, double y, std::string_view text, Anchor anchor,
                                        double degrees) const {
  const double all = width(text), step = box_.letters / 2, angle = degrees * M_PI / 180;
  const double begin = anchor == Anchor::start ? 0 : anchor == Anchor::end ? -all : -all / 2;
  const double middle = -0.35 * box_.letters;  // of the letters, above the line they stand on
  std::vector<Spot> list;
  for (double along = begin; along <= begin + all; along += step)
    list.push_back({x + along * std::cos(angle) - middle * std::sin(angle),
                    y + along * std::sin(angle) + middle * std::cos(angle)});
  return list;
}

bool Labels::is_inside(const std::vector<Spot>& spots) const {
  return std::ranges::all_of(spots, [&](const Spot& spot) {
    return spot.x > box_.left && spot.x < box_.right() && spot.y > box_.top + box_.letters / 2 &&
           spot.y < box_.bottom() - box_.letters / 2;
  });
}

bool Labels::is_apart(const std::vector<Spot>& spots, const std::vector<Spot>& others, double distance) {
  return std::ranges::none_of(spots, [&](const Spot& spot) {
    return std::ranges::any_of(
        others, [&](const Spot& other) { return std::hypot(other.x - spot.x, other.y - spot.y) < distance; });
  });
}

bool Labels::is_free(const std::vector<Spot>& spots, Over over) const {
  return is_apart(spots, taken_, 1.1 * box_.letters) &&
         (over == Over::lines || is_apart(spots, lines_, 0.65 * box_.letters));
}

// The line to a word that stands away from its point crosses no other word.
bool Labels::is_free_to(double x, double y, double dx, double dy, double reach) const {
  const double letters = box_.letters;
  std::vector<Spot> list;
  for (double r = 1.2 * letters; r < reach; r += letters / 2) list.push_back({x + r * dx, y + r * dy});
  return is_apart(list, taken_, 0.55 * letters);
}

void Labels::write(double x, double y, std::string_view text, Anchor anchor, double degrees) {
  svg_.text(x, y, text, anchor, box_.letters, degrees);
}

void Labels::keep_free(double x1, double y1, double x2, double y2) {
  const double steps = std::ceil(std::hypot(x2 - x1, y2 - y1) / (box_.letters / 2));
  for (double i = 0; i <= steps && steps > 0; ++i)
    lines_.push_back({x1 + (x2 - x1) * i / steps, y1 + (y2 - y1) * i / steps});
}

void Labels::at(double x, double y, std::string_view text, Anchor anchor, double degrees) {
  write(x, y, text, anchor, degrees);
  for (const Spot& spot : spots(x, y, text, anchor, degrees)) taken_.push_back(spot);
}

void Labels::on(double x1, double x2, double y, std::string_view text) {
  const double above = y - box_.letters / 2;
  for (const Over over : {Over::nothing, Over::lines})
    for (double end = x2; end - width(text) > x1; end -= box_.letters)
      if (is_free(spots(end, above, text, Anchor::end, 0), over)) return at(end, above, text, Anchor::end);
  at(x2, above, text, Anchor::end);
}

void Labels::near(double x, double y, std::string_view text) {
  const double letters = box_.letters;
  for (const double away : {1.4, 2.6, 4.0, 6.0, 8.5}) {
    for (const double turn : {0.0, 180.0, 90.0, -90.0, 45.0, -45.0, 135.0, -135.0}) {
      const double dx = std::cos(turn * M_PI / 180), dy = std::sin(turn * M_PI / 180);
      const double to_x = x + away * letters * dx, to_y = y + away * letters * dy + 0.35 * letters;
      const Anchor anchor = dx > 0.1 ? Anchor::start : dx < -0.1 ? Anchor::end : Anchor::middle;
      const auto wanted = spots(to_x, to_y, text, anchor, 0);
      const double reach = (away - 0.4) * letters;
      if (!is_inside(wanted) || !is_free(wanted, Over::nothing) || !is_free_to(x, y, dx, dy, reach)) continue;
      if (away > 2) svg_.line(x, y, x + reach * dx, y + reach * dy, "stroke-width=\"0.7\"");
      at(to_x, to_y, text, anchor);
      return;
    }
  }
}

void Labels::along(double x1, double y1, double x2, double y2, std::string_view text,
                   std::initializer_list<double> above, bool must) {
  const double degrees = std::atan2(y2 - y1, x2 - x1) * 180 / M_PI, angle = degrees * M_PI / 180;
  const auto place = [&](double share, double letters) {
    const double away = letters * box_.letters;
    return Spot{x1 + share * (x2 - x1) + away * std::sin(angle), y1 + share * (y2 - y1) - away * std::cos(angle)};
  };
  constexpr double shares[] = {0.45, 0.6, 0.3, 0.75, 0.15, 0.9};
  for (const Over over : {Over::nothing, Over::lines})
    for (const double letters : above)
      for (const double share : shares) {
        const auto [x, y] = place(share, letters);
        const auto wanted = spots(x, y, text, Anchor::middle, degrees);
        if (is_inside(wanted) && is_free(wanted, over)) return at(x, y, text, Anchor::middle, degrees);
      }
  if (!must) return;
  const auto [x, y] = place(shares[0], *above.begin());
  at(x, y, text, Anchor::middle, degrees);
}

}  // namespace ridge::cli
