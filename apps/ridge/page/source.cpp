#include "source.hpp"

#include "../strings.hpp"
#include "../svg.hpp"
#include "html.hpp"

#include <ridge/core/file.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace ridge::cli::page {
namespace {

constexpr int context = 4;  // lines shown before and after one with figures
constexpr double warm = 1.05, hot = 4;

std::string each_text(const Units& u) {
  return u.requests > 0 ? fmt::format("{:.2f} ({:.2f})", u.units / u.requests, u.least / u.requests) : "";
}

// What one column of the gutter says of a line.
struct Column {
  const char* title;
  std::string (*text)(const Gutter&);
};
constexpr std::array columns{Column{"requests",
                                    [](const Gutter& g) {
                                      const double requests = g.sectors.requests + g.wavefronts.requests;
                                      return requests > 0 ? fmt::format("{:.0f}", requests) : std::string();
                                    }},
                             Column{"sectors (least)", [](const Gutter& g) { return each_text(g.sectors); }},
                             Column{"wavefronts (least)", [](const Gutter& g) { return each_text(g.wavefronts); }},
                             Column{"divergent", [](const Gutter& g) {
                                      return g.divergent > 0 ? fmt::format("{} of {}", g.divergent, g.branches)
                                                             : std::string();
                                    }}};

// What may stand in an anchor without being spelled in another way.
std::string anchor_name(const std::string& file) {
  std::string name = std::filesystem::path(file).filename().string();
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
    if (!plain) c = '_';
  }
  return name;
}

// One file's lines with their gutters.
class Table {
 public:
  Table(const std::string& file, const Gutters& gutters, std::string anchor)
      : anchor_(std::move(anchor)), text_(text_lines(read_file(file).value_or(""))) {
    for (const auto& [place, gutter] : gutters)
      if (place.first == file) lines_.emplace(place.second, &gutter);
    for (const Column& column : columns)
      if (std::ranges::any_of(lines_, [&](const auto& line) { return !column.text(*line.second).empty(); }))
        shown_.push_back(&column);
  }

  std::string html(Lines which) {
    html_ = "<div class=\"scroll\"><table class=\"src\">\n<tr class=\"titles\"><th class=\"n\">line</th>";
    for (const Column* column : shown_) html_ += tag("th", column->title, "g");
    html_ += "<th></th></tr>\n";
    int last = 0;
    for (const int line : numbers(which)) {
      if (line > last + 1) gap(last + 1, line - 1);
      add(line);
      last = line;
    }
    if (last < static_cast<int>(text_.size())) gap(last + 1, static_cast<int>(text_.size()));
    return html_ + "</table></div>\n";
  }

 private:
  std::vector<int> numbers(Lines which) const {
    std::set<int> chosen;
    const int count = static_cast<int>(text_.size());
    for (const auto& [line, gutter] : lines_) {
      chosen.insert(line);
      for (int near = std::max(1, line - context); near <= std::min(line + context, count); ++near) chosen.insert(near);
    }
    if (which == Lines::all)
      for (int line = 1; line <= count; ++line) chosen.insert(line);
    return {chosen.begin(), chosen.end()};
  }

  void gap(int first, int last) {
    const std::string what = first == last ? fmt::format("line {}", first) : fmt::format("lines {} to {}", first, last);
    html_ += fmt::format("<tr class=\"gap\"><td class=\"n\"></td>{}{}</tr>\n", empty_gutter(), tag("td", what, "c"));
  }

  void add(int line) {
    const auto found = lines_.find(line);
    const Gutter none, &gutter = found == lines_.end() ? none : *found->second;
    const double excess = std::max(gutter.sectors.excess(), gutter.wavefronts.excess());
    const std::string id = fmt::format("{}-{}", anchor_, line);
    html_ += fmt::format("<tr id=\"{0}\"{1}><td class=\"n\"><a href=\"#{0}\">{2}</a></td>", id,
                         excess > hot    ? " class=\"hot\""
                         : excess > warm ? " class=\"warm\""
                                         : "",
                         line > 0 ? std::to_string(line) : "?");
    for (const Column* column : shown_)
      html_ += fmt::format("<td class=\"g\" data-of=\"{}\">{}</td>", column->title, escaped(column->text(gutter)));
    const bool is_read = line > 0 && line <= static_cast<int>(text_.size());
    html_ += tag("td", with_spaces(is_read ? text_[static_cast<std::size_t>(line - 1)] : gutter.text), "c") + "</tr>\n";
    for (const std::string& note : gutter.notes)
      html_ += fmt::format("<tr class=\"note\"><td class=\"n\"></td>{}{}</tr>\n", empty_gutter(), tag("td", note, "c"));
  }

  std::string empty_gutter() const {
    return shown_.empty() ? "" : fmt::format("<td class=\"g\" colspan=\"{}\"></td>", shown_.size());
  }

  // Tabs are control characters, which no page shows.
  static std::string with_spaces(std::string_view line) {
    std::string spaced;
    for (const char c : line)
      if (c == '\t') spaced.append(8 - spaced.size() % 8, ' ');
      else if (c != '\r') spaced += c;
    return spaced;
  }

  std::string anchor_, html_;
  std::vector<std::string> text_;
  std::map<int, const Gutter*> lines_;
  std::vector<const Column*> shown_;
};

}  // namespace

Sources::Sources(Gutters gutters, std::string prefix) : gutters_(std::move(gutters)), prefix_(std::move(prefix)) {
  std::set<std::string> taken;
  for (const auto& [place, gutter] : gutters_) {
    if (names_.contains(place.first)) continue;
    const std::string plain = prefix_ + anchor_name(place.first);
    std::string name = plain;
    for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}.{}", plain, n);
    names_.emplace(place.first, name);
  }
}

std::string Sources::link(const std::string& file, int line) const {
  const auto found = names_.find(file);
  return found == names_.end() || line <= 0 ? "" : fmt::format("#{}-{}", found->second, line);
}

std::string Sources::file_html(const std::string& file, Lines which) const {
  const std::filesystem::path path = file;
  const std::string folder = path.parent_path().filename().string();
  return tag("h3", (which == Lines::all || folder.empty() ? "" : folder + "/") + path.filename().string()) + "\n" +
         Table(file, gutters_, names_.at(file)).html(which);
}

std::string Sources::html(Lines which) const {
  std::string html;
  for (const auto& [file, name] : names_) html += file_html(file, which);
  return html;
}

}  // namespace ridge::cli::page
