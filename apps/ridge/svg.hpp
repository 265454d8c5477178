// Svg: a drawing, written by hand. What differs is told apart by shape, dashes and words, so a print or a reader
// without colour loses nothing. It is black on white, unless the page around it gives the classes `paper` and `edge`,
// and the drawing's `color`, others.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridge::cli {

// Text that stands in XML or HTML.
std::string escaped(std::string_view text);

enum class Marker { circle, square, triangle, diamond, down, cross, plus, star };
inline constexpr int marker_count = 8;

enum class Anchor { start, middle, end };

class Svg {
 public:
  Svg(double width, double height, std::string_view title);

  void line(double x1, double y1, double x2, double y2, std::string_view style = "");  // style: attributes
  void polyline(const std::vector<std::pair<double, double>>& points, std::string_view style = "");
  void text(double x, double y, std::string_view text, Anchor = Anchor::start, double size = 12, double degrees = 0);
  // `hint` appears under the pointer.
  void marker(Marker, double x, double y, bool filled, std::string_view hint = "");

  std::string str() const { return body_ + "</svg>\n"; }

 private:
  std::string body_;
};

// Dashes by number, from a whole line on.
std::string_view dashes(int index);

}  // namespace ridge::cli
