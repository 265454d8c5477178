#include "page.hpp"

#include "../svg.hpp"
#include "text.hpp"

#include <ridge/core/file.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

namespace ridge::cli::lab {
namespace {

constexpr std::string_view style = R"(
:root {
  color-scheme: light dark;
  --ink: #1a1a1a; --soft: #6b6b6b; --line: #d8d8d8; --paper: #fff;
  --bad: #b3261e; --warm: #fff3d6; --hot: #ffd9d4; --bar: #3a6ea5;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6e6e6; --soft: #9a9a9a; --line: #3a3a3a; --paper: #161616;
    --bad: #ff8a80; --warm: #3a3218; --hot: #4a211d; --bar: #6fa3d8;
  }
}
body {
  margin: 0 auto; max-width: 72rem; padding: 1rem;
  background: var(--paper); color: var(--ink); font: 16px/1.45 system-ui, sans-serif;
}
h1 { font-size: 1.4rem; }
h2 { font-size: 1.1rem; margin: 1.6rem 0 .4rem; }
code, .src { font-family: ui-monospace, monospace; font-size: .82rem; }
.soft { color: var(--soft); }
.bad { color: var(--bad); }
.bars { display: grid; grid-template-columns: max-content 1fr max-content; gap: .15rem .6rem; max-width: 40rem; }
.bars div.bar { height: .7rem; background: var(--bar); min-width: 1px; align-self: center; }
.scroll { overflow-x: auto; }
table.src { border-collapse: collapse; width: 100%; }
table.src td { padding: 0 .5rem; white-space: pre; vertical-align: top; }
table.src td.n, table.src td.g { color: var(--soft); text-align: right; border-right: 1px solid var(--line); }
tr.warm td { background: var(--warm); }
tr.hot td { background: var(--hot); }
tr.note td { white-space: normal; color: var(--bad); padding-bottom: .25rem; }
)";
std::string tag(std::string_view name, std::string_view text, std::string_view of_class = {}) {
  std::string html = "<" + std::string(name);
  if (!of_class.empty()) html += " class=\"" + std::string(of_class) + "\"";
  return html + ">" + escaped(text) + "</" + std::string(name) + ">";
}

// What is to be said beside one line.
struct Gutter {
  double requests = 0, units = 0, least = 0;
  std::int64_t divergent = 0, branches = 0;
  std::set<std::string> notes;
  double excess() const { return least > 0 ? units / least : 1; }
};
using Gutters = std::map<std::pair<std::string, int>, Gutter>;

Gutters gutters_of(const Report& report) {
  Gutters gutters;
  const auto at = [&](const Json& place) -> Gutter& {
    return gutters[{place["file"].get<std::string>(), place["line"].get<int>()}];
  };
  if (!report.run.is_null())
    for (const Json& launch : report.run["launches"]) {
      if (!launch.contains("trace")) continue;
      for (const Json& a : launch["trace"]["accesses"]) {
        Gutter& gutter = at(a);
        gutter.requests += a["requests"].get<double>();
        gutter.units += a["units"].get<double>();
        gutter.least += a["least"].get<double>();
        if (const std::string note = a["note"]; !note.empty()) gutter.notes.insert(note);
      }
      for (const Json& b : launch["trace"]["branches"]) {
        Gutter& gutter = at(b);
        gutter.divergent += b["divergent"].get<std::int64_t>();
        gutter.branches += b["executed"].get<std::int64_t>();
      }
      for (const Json& a : launch["advice"])
        if (a["line"].get<int>() > 0) at(a).notes.insert(a["text"].get<std::string>());
    }
  for (const Finding& f : all_findings(report)) gutters[{f.file, f.line}].notes.insert(f.sentence);
  return gutters;
}

std::string launch_html(const Json& launch) {
  std::string html = "<h2><code>" + escaped(launch["kernel"].get<std::string>()) + "</code> <span class=\"soft\">" +
                     escaped(place_text(launch)) + ", grid " + dim_text(launch["grid"]) + ", block " +
                     dim_text(launch["block"]) + ", " + std::to_string(launch["launches"].get<std::int64_t>()) +
                     " launched" + "</span></h2>\n";
  if (!launch.contains("prediction")) return html;
  const Json& p = launch["prediction"];
  html += tag("p", fmt::format("{} each, bound by {}; {} of memory, {} through the L2 cache; occupancy {:.0f} %",
                               time_text(p["us"]), p["bound"].get<std::string>(), bytes_text(p["dram_bytes"]),
                               bytes_text(p["l2_bytes"]), 100 * p["occupancy"].get<double>())) +
          "\n<div class=\"bars\">";
  double most = 1e-9;
  for (const Json& term : p["terms"]) most = std::max(most, term["us"].get<double>());
  for (const Json& term : p["terms"])
    html += tag("span", term["name"].get<std::string>()) +
            fmt::format("<div class=\"bar\" style=\"width:{:.1f}%\"></div>", 100 * term["us"].get<double>() / most) +
            tag("span", time_text(term["us"]), "soft");
  html += "</div>\n";
  if (!launch["advice"].empty()) {
    html += "<ol>";
    for (const Json& a : launch["advice"]) {
      const std::string at = place_text(a);
      html += tag("li", (at.empty() ? "" : at + ": ") + a["text"].get<std::string>() +
                            (a["saved_us"].get<double>() > 0 ? " (saves " + time_text(a["saved_us"]) + ")" : ""));
    }
    html += "</ol>\n";
  }
  return html;
}

std::string source_html(const std::string& file, const Gutters& gutters) {
  const std::string text = read_file(file).value_or("");
  std::string html =
      tag("h2", std::filesystem::path(file).filename().string()) +
      "\n<div class=\"scroll\"><table class=\"src\">\n<tr><td class=\"n\">line</td><td "
      "class=\"g\">requests</td><td class=\"g\">each (least)</td><td class=\"g\">divergent</td><td></td></tr>\n";
  int line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string source = text.substr(begin, end - begin);
    begin = end + 1;
    ++line;
    const auto found = gutters.find({file, line});
    const Gutter gutter = found == gutters.end() ? Gutter{} : found->second;
    const double excess = gutter.excess();
    html += fmt::format(
                "<tr{}><td class=\"n\">{}</td><td class=\"g\">{}</td><td class=\"g\">{}</td><td class=\"g\">{}</td>",
                excess > 4      ? " class=\"hot\""
                : excess > 1.05 ? " class=\"warm\""
                                : "",
                line, gutter.requests > 0 ? fmt::format("{:.0f}", gutter.requests) : "",
                gutter.requests > 0
                    ? fmt::format("{:.2f} ({:.2f})", gutter.units / gutter.requests, gutter.least / gutter.requests)
                    : "",
                gutter.divergent > 0 ? fmt::format("{} of {}", gutter.divergent, gutter.branches) : "") +
            tag("td", source) + "</tr>\n";
    for (const std::string& note : gutter.notes)
      html +=
          "<tr class=\"note\"><td class=\"n\"></td><td class=\"g\"></td><td class=\"g\"></td><td class=\"g\"></td>" +
          tag("td", note) + "</tr>\n";
  }
  return html + "</table></div>\n";
}

}  // namespace

std::string page_of(const Report& report) {
  const std::string title = std::filesystem::path(report.file).filename().string();
  std::string html =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>" +
      escaped(title) + "</title><style>" + std::string(style) + "</style></head><body>\n" + tag("h1", title) + "\n";
  const std::vector<Finding> findings = all_findings(report);
  if (!report.run.is_null()) html += tag("p", summary_text(report)) + "\n";
  for (const std::string& remark : report.remarks) html += tag("p", remark, "soft") + "\n";
  if (findings.empty()) {
    html += tag("p", report.is_whole ? "nothing wrong was found" : "nothing wrong was found until then") + "\n";
  } else {
    html += "<ul>";
    for (const Finding& f : findings) html += tag("li", place_text(f) + ": " + f.sentence, "bad");
    html += "</ul>\n";
  }
  std::vector<std::string> files;
  const Gutters gutters = gutters_of(report);
  if (!report.run.is_null())
    for (const Json& launch : report.run["launches"]) html += launch_html(launch);
  for (const auto& [place, gutter] : gutters)
    if (std::ranges::find(files, place.first) == files.end()) files.push_back(place.first);
  for (const std::string& file : files) html += source_html(file, gutters);
  return html + "</body></html>\n";
}

}  // namespace ridge::cli::lab
