#include <ridge/core/nearest.hpp>
#include <ridge/core/text.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace ridge {

static int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i) + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (lower_case(a[i]) != lower_case(b[j]))});
      diagonal = above;
    }
  }
  return row.back();
}

std::vector<std::string_view> nearest(std::string_view wanted, std::span<const std::string_view> known,
                                      std::size_t count) {
  std::vector<std::pair<int, std::string_view>> by_distance;
  for (std::string_view name : known) by_distance.emplace_back(edit_distance(wanted, name), name);
  std::ranges::stable_sort(by_distance);
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < std::min(count, by_distance.size()); ++i) names.push_back(by_distance[i].second);
  return names;
}

}  // namespace ridge
