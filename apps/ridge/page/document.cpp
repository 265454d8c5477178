#include "document.hpp"

#include "../svg.hpp"
#include "style.hpp"

#include <fmt/core.h>

namespace ridge::cli::page {

// A case is one long word: it may be broken after a comma or a colon.
static std::string broken(std::string_view text) {
  std::string html;
  for (const char c : escaped(text)) {
    html += c;
    if (c == ',' || c == ':') html += "<wbr/>";
  }
  return html;
}

Document::Document(std::string_view title) {
  html_ = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{0}</title>\n<style>{1}</style></head><body>\n<h1>{2}</h1>\n",
      escaped(title), style, broken(title));
}

void Document::heading(std::string_view text) { html_ += tag("h2", text) + "\n"; }

void Document::paragraph(std::string_view text, std::string_view of_class) { html_ += tag("p", text, of_class) + "\n"; }

void Document::table(const std::vector<std::string>& titles, const std::vector<std::vector<std::string>>& rows) {
  std::vector<Row> cells;
  for (const auto& row : rows) cells.emplace_back(row.begin(), row.end());
  html_ += page::table(titles, cells);
}

}  // namespace ridge::cli::page
