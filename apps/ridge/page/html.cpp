#include "html.hpp"

#include "../svg.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace ridge::cli::page {
namespace {

std::string cell_html(std::string_view name, const Cell& cell, bool flush_left) {
  const std::string text = escaped(cell.text);
  return fmt::format("<{0}{1}>{2}</{0}>", name, flush_left ? " class=\"l\"" : "",
                     cell.href.empty() ? text : fmt::format("<a href=\"{}\">{}</a>", escaped(cell.href), text));
}

}  // namespace

std::string tag(std::string_view name, std::string_view text, std::string_view of_class) {
  return fmt::format("<{0}{1}>{2}</{0}>", name, of_class.empty() ? "" : fmt::format(" class=\"{}\"", of_class),
                     escaped(text));
}

std::string table(const std::vector<std::string>& titles, const std::vector<Row>& rows) {
  const auto is_left = [&](std::size_t column) { return titles[column].starts_with('<'); };
  std::string html = "<div class=\"scroll\"><table class=\"figures\">\n<tr>";
  for (std::size_t i = 0; i < titles.size(); ++i)
    html += cell_html("th", {titles[i].substr(is_left(i) ? 1 : 0)}, is_left(i));
  html += "</tr>\n";
  for (const Row& row : rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) html += cell_html("td", row[i], is_left(i));
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string table_of_said(const std::vector<std::string>& titles, const std::vector<Row>& rows) {
  std::vector<std::string> said;
  std::vector<Row> shorter(rows.size());
  for (std::size_t i = 0; i < titles.size(); ++i) {
    if (std::ranges::all_of(rows, [&](const Row& row) { return row[i].text.empty(); })) continue;
    said.push_back(titles[i]);
    for (std::size_t r = 0; r < rows.size(); ++r) shorter[r].push_back(rows[r][i]);
  }
  return table(said, shorter);
}

std::string inlined(std::string svg) {
  // Its namespace is what a file of its own needs: in HTML it is known, and a page names no address.
  constexpr std::string_view space = " xmlns=\"http://www.w3.org/2000/svg\"";
  if (const std::size_t at = svg.find(space); at != svg.npos) svg.erase(at, space.size());
  return svg;
}

}  // namespace ridge::cli::page
