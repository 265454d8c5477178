#include "choices.hpp"

#include "table.hpp"

#include <fmt/core.h>

#include <cstdio>

namespace ridge::cli {

std::vector<ResultRow> rows_of(std::span<const bench::Measurement> measurements) {
  std::vector<ResultRow> rows;
  for (const bench::Measurement& m : measurements) {
    if (!m.error.empty()) continue;
    ResultRow row;
    row.case_text = m.case_text;
    row.variant = m.variant;
    row.chosen = m.chosen;
    row.us = m.time.us;
    row.noise = m.time.noise;
    rows.push_back(std::move(row));
  }
  return rows;
}

Json to_json(const std::vector<BeatenChoice>& beaten) {
  Json list = Json::array();
  for (const BeatenChoice& b : beaten)
    list.push_back({{"case", b.case_text},
                    {"chosen", b.chosen},
                    {"us", b.chosen_us},
                    {"fastest", b.fastest},
                    {"fastest_us", b.fastest_us},
                    {"slower", b.slower()}});
  return list;
}

void print(const std::vector<BeatenChoice>& beaten) {
  if (beaten.empty()) {
    std::puts("no row was faster than the plan's choice, by more than the noise");
    return;
  }
  Table table({{"faster than the plan's choice"},
               {"chosen"},
               {"us", Align::right},
               {"fastest"},
               {"us", Align::right},
               {"slower by", Align::right}},
              "  ");
  for (const BeatenChoice& b : beaten)
    table.add({b.case_text, b.chosen, fmt::format("{:.2f}", b.chosen_us), b.fastest,
               fmt::format("{:.2f}", b.fastest_us), fmt::format("{:.1f} %", 100 * b.slower())});
  table.print();
}

}  // namespace ridge::cli
