// Table: rows of text in aligned columns. Printed whole, or line by line where the widths are known beforehand.
#pragma once
#include "terminal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace ridge::cli {

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  std::size_t width = 0;  // at least
};

class Table {
 public:
  explicit Table(std::vector<Column> columns, std::string indent = "")
      : columns_(std::move(columns)), indent_(std::move(indent)) {
    for (Column& column : columns_) column.width = std::max(column.width, column.title.size());
  }

  void add(std::vector<std::string> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) columns_[i].width = std::max(columns_[i].width, cells[i].size());
    rows_.push_back(std::move(cells));
  }

  void print(std::FILE* to = stdout) const {
    print_titles(to);
    print_rows(to);
  }

  void print_rows(std::FILE* to = stdout) const {
    for (const auto& row : rows_) print_row(row, to);
  }

  void print_titles(std::FILE* to = stdout) const {
    std::vector<std::string> titles;
    for (const Column& column : columns_) titles.push_back(column.title);
    print_row(titles, to);
  }

  // Prints a row at once; a cell wider than its column pushes the rest of the line to the right.
  void print_row(const std::vector<std::string>& cells, std::FILE* to = stdout) const {
    std::string line = indent_;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::size_t gap = columns_[i].width - std::min(columns_[i].width, cells[i].size());
      if (i > 0) line += "  ";
      if (columns_[i].align == Align::right) line.append(gap, ' ');
      line += cells[i];
      if (columns_[i].align == Align::left) line.append(gap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    say_to(to, "{}\n", line);
  }

 private:
  std::vector<Column> columns_;
  std::string indent_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ridge::cli
