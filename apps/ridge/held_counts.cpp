#include "held_counts.hpp"

#include "bar_line.hpp"
#include "commands.hpp"
#include "request.hpp"
#include "terminal.hpp"
#include "traced.hpp"

#include <ridge/core/output_file.hpp>

#include <fmt/core.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace ridge::cli {
namespace {

// The files, as CMake read them.
constexpr const char* texts[] = {
#include "held_counts_texts.inc"
};

struct Line {
  std::string text;  // as it is in the file
  std::string case_text;
  std::optional<MemoryCounts> counts;
  std::string why;
};

constexpr std::int64_t MemoryCounts::*numbers[] = {&MemoryCounts::sectors, &MemoryCounts::least_sectors,
                                                   &MemoryCounts::wavefronts, &MemoryCounts::least_wavefronts};

Result<Line> parse(const std::string& text, const std::string& place) {
  Line line{.text = text, .case_text = {}, .counts = {}, .why = {}};
  const std::vector<std::string> cells = bar_cells(text);
  if (cells.empty()) return line;
  line.case_text = cells[0];
  if (cells.size() == 1) return line;
  if (cells.size() != std::size(numbers) + 2)
    return Status::error(Code::io, fmt::format("{}: the line has {} columns; it must have CASE | sectors | least | "
                                               "wavefronts | least | why, or a case alone",
                                               place, cells.size()));
  MemoryCounts counts;
  for (std::size_t i = 0; i < std::size(numbers); ++i) {
    const std::string& cell = cells[i + 1];
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), counts.*numbers[i]);
    if (error != std::errc() || end != cell.data() + cell.size())
      return Status::error(Code::io, fmt::format("{}: the count is '{}'; it must be a whole number", place, cell));
  }
  line.counts = counts;
  line.why = cells.back();
  return line;
}

Result<std::vector<Line>> read_lines(const std::string& file) {
  std::ifstream in(file);
  if (!in) return Status::error(Code::io, fmt::format("file of counts '{}' cannot be read", file));
  std::vector<Line> lines;
  for (std::string text; std::getline(in, text);) {
    RIDGE_CLI_TAKE(line, parse(text, fmt::format("{}:{}", file, lines.size() + 1)));
    lines.push_back(std::move(line));
  }
  return lines;
}

Result<MemoryCounts> count(const std::string& case_text) {
  RIDGE_CLI_TAKE(known, find_case(case_text));
  RIDGE_CLI_TAKE(traced, trace_variants(known, {std::string(known.c.options.text("variant"))}));
  const std::string wrong = traced[0].refused + traced[0].error;
  if (!wrong.empty()) return Status::error(Code::unsupported, fmt::format("{}: {}", case_text, wrong));
  return counts_of(traced[0].report);
}

std::string spell(const MemoryCounts& c) {
  return fmt::format("{} | {} | {} | {}", c.sectors, c.least_sectors, c.wavefronts, c.least_wavefronts);
}

Status write_lines(const std::string& file, const std::vector<Line>& lines) {
  RIDGE_CLI_TAKE(out, OutputFile::create(file));
  for (const Line& line : lines)
    RIDGE_TRY(
        out.write((line.counts ? trimmed(fmt::format("{} | {} | {}", line.case_text, spell(*line.counts), line.why))
                               : line.text) +
                  "\n"));
  return out.commit();
}

}  // namespace

MemoryCounts counts_of(const simt::trace::Report& report) {
  MemoryCounts counts;
  for (const simt::trace::Launch& launch : report.launches)
    for (const simt::trace::Access& a : launch.accesses) {
      if (a.space == simt::trace::Space::global) {
        counts.sectors += a.sectors;
        counts.least_sectors += a.least_sectors;
      } else {
        counts.wavefronts += a.neighbours() ? a.widened_wavefronts : a.wavefronts;
        counts.least_wavefronts += a.neighbours() ? a.widened_least : a.least_wavefronts;
      }
    }
  return counts;
}

std::vector<std::pair<std::string, MemoryCounts>> held_counts() {
  std::vector<std::pair<std::string, MemoryCounts>> held;
  for (const char* file : texts) {
    std::istringstream in(file);
    for (std::string text; std::getline(in, text);)
      if (const auto line = parse(text, "counts.txt"); line && line->counts)
        held.emplace_back(line->case_text, *line->counts);
  }
  return held;
}

Result<int> hold_counts(const std::vector<std::string>& files, bool update) {
  int held = 0, broken = 0;
  for (const std::string& file : files) {
    RIDGE_CLI_TAKE(lines, read_lines(file));
    for (Line& line : lines) {
      if (line.case_text.empty()) continue;
      RIDGE_CLI_TAKE(now, count(line.case_text));
      const bool as_held = line.counts == now;
      const bool more = now.sectors > now.least_sectors || now.wavefronts > now.least_wavefronts;
      if (update) {
        line.counts = now;
      } else if (!as_held) {
        ++broken;
        say("{}\n  held   {}\n  counts {}\n", line.case_text, line.counts ? spell(*line.counts) : "nothing",
            spell(now));
      } else if (more && line.why.empty()) {
        ++broken;
        say("{}\n  {}: more than the least, and no reason is given\n", line.case_text, spell(now));
      }
      ++held;
    }
    if (update) RIDGE_TRY(write_lines(file, lines));
  }
  say("{} kernels traced{}, {} count otherwise than held\n", held, update ? " and written" : "", broken);
  return broken ? exit_check_failed : exit_done;
}

}  // namespace ridge::cli
