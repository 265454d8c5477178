// Pieces of HTML whose text is escaped in one place. They are well-formed XML as well, so that any tool can read them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli::page {

// <name class="of_class">text</name>, the text escaped.
std::string tag(std::string_view name, std::string_view text, std::string_view of_class = {});

struct Cell {
  std::string text, href = {};  // href: where it leads; empty: nowhere
};
using Row = std::vector<Cell>;

// Columns whose title begins with '<' are flush left. What is wider than a screen scrolls in a frame of its own.
std::string table(const std::vector<std::string>& titles, const std::vector<Row>& rows);

// The same without the columns in which no row says anything.
std::string table_of_said(const std::vector<std::string>& titles, const std::vector<Row>& rows);

// A drawing inside a page takes the page's colours, light or dark.
std::string inlined(std::string svg);

}  // namespace ridge::cli::page
