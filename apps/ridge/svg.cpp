#include "svg.hpp"

#include <ridge/core/text.hpp>

#include <fmt/core.h>

#include <cmath>
#include <iterator>

namespace ridge::cli {

std::string escaped(std::string_view text) {
  std::string safe;
  for (char c : printable(text)) switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += c;
    }
  return safe;
}

std::string_view dashes(int index) {
  constexpr std::string_view patterns[] = {"", "8 4", "2 3", "10 3 2 3", "4 2", "12 4 2 4 2 4"};
  return patterns[index % std::ssize(patterns)];
}

Svg::Svg(double width, double height, std::string_view title) {
  body_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" height=\"{1:g}\" "
      "role=\"img\" font-family=\"sans-serif\" color=\"#111\" fill=\"currentColor\">\n<title>{2}</title>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\" class=\"paper\"/>\n",
      width, height, escaped(title));
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view style) {
  body_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"currentColor\" {}/>\n",
                       x1, y1, x2, y2, style);
}

void Svg::polyline(const std::vector<std::pair<double, double>>& points, std::string_view style) {
  std::string list;
  for (const auto& [x, y] : points) list += fmt::format("{}{:.1f},{:.1f}", list.empty() ? "" : " ", x, y);
  body_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"currentColor\" {}/>\n", list, style);
}

void Svg::text(double x, double y, std::string_view text, Anchor anchor, double size, double degrees) {
  constexpr std::string_view anchors[] = {"start", "middle", "end"};
  // An edge of the paper's colour keeps words readable where they cross a line.
  body_ += fmt::format(
      "<text x=\"{0:.1f}\" y=\"{1:.1f}\" font-size=\"{2:g}\" text-anchor=\"{3}\" stroke=\"#fff\" class=\"edge\" "
      "stroke-width=\"3\" paint-order=\"stroke\"{4}>{5}</text>\n",
      x, y, size, anchors[static_cast<int>(anchor)],
      degrees != 0 ? fmt::format(" transform=\"rotate({:.2f} {:.1f} {:.1f})\"", degrees, x, y) : "", escaped(text));
}

void Svg::marker(Marker shape, double x, double y, bool filled, std::string_view hint) {
  constexpr double size = 5;
  body_ += hint.empty() ? "<g>" : "<g><title>" + escaped(hint) + "</title>\n";
  const std::string paint = fmt::format("stroke=\"currentColor\" stroke-width=\"1.5\" {}",
                                        filled ? "fill=\"currentColor\"" : "fill=\"#fff\" class=\"paper\"");
  const auto polygon = [&](int corners, double turn, double inner) {
    std::string list;
    for (int i = 0; i < corners; ++i) {
      const double angle = turn + 2 * M_PI * i / corners, r = inner > 0 && i % 2 ? size * inner : size * 1.2;
      list += fmt::format("{:.2f},{:.2f} ", x + r * std::sin(angle), y - r * std::cos(angle));
    }
    body_ += fmt::format("<polygon points=\"{}\" {}/>\n", list, paint);
  };
  const auto stroke = [&](double dx, double dy) {
    line(x - dx, y - dy, x + dx, y + dy, filled ? "stroke-width=\"3\"" : "stroke-width=\"1.5\"");
  };
  switch (shape) {
    case Marker::circle:
      body_ += fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:g}\" {}/>\n", x, y, size, paint);
      break;
    case Marker::square: polygon(4, M_PI / 4, 0); break;
    case Marker::triangle: polygon(3, 0, 0); break;
    case Marker::diamond: polygon(4, 0, 0); break;
    case Marker::down: polygon(3, M_PI, 0); break;
    case Marker::cross: stroke(size, size), stroke(size, -size); break;
    case Marker::plus: stroke(size * 1.3, 0), stroke(0, size * 1.3); break;
    case Marker::star: polygon(10, 0, 0.5); break;
  }
  body_ += "</g>\n";
}

}  // namespace ridge::cli
