#include "legend.hpp"

#include <algorithm>

namespace ridge::cli {

void Legend::add(const std::string& label, Marker marker, bool filled) {
  if (std::ranges::find(seen_, label) != seen_.end()) return;
  seen_.push_back(label);
  const double x = box_.right() + 24, y = box_.top + 8 + 20 * static_cast<double>(seen_.size() - 1);
  if (y > box_.bottom()) return;  // no room: the tables name them all
  svg_.marker(marker, x, y, filled);
  svg_.text(x + 14, y + 4, label, Anchor::start, 12);
}

}  // namespace ridge::cli
