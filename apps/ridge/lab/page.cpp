#include "page.hpp"

#include "../page/document.hpp"
#include "../page/launches.hpp"
#include "../page/roofs.hpp"
#include "../page/source.hpp"
#include "../svg.hpp"
#include "text.hpp"

#include <ridge/core/device.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>

namespace ridge::cli::lab {
namespace {

// An empty list where the run did not get to its end.
Json launches_of(const Report& report) { return report.run.is_null() ? Json::array() : report.run["launches"]; }

// ---- the gutter ----------------------------------------------------------------------------------------------------

void add(page::Units& units, const Json& access) {
  units.requests += access["requests"].get<double>();
  units.units += access["units"].get<double>();
  units.least += access["least"].get<double>();
}

bool is_global(const Json& access) { return access["space"] == "global"; }

page::Gutters gutters_of(const Report& report) {
  page::Gutters gutters;
  const auto at = [&](const Json& place) -> page::Gutter& {
    return gutters[{place["file"].get<std::string>(), place["line"].get<int>()}];
  };
  for (const Json& launch : launches_of(report)) {
    if (!launch.contains("trace")) continue;
    for (const Json& a : launch["trace"]["accesses"]) {
      page::Gutter& gutter = at(a);
      add(gutter.of(is_global(a)), a);
      if (const std::string note = a["note"]; !note.empty()) gutter.notes.insert(note);
    }
    for (const Json& b : launch["trace"]["branches"]) {
      page::Gutter& gutter = at(b);
      gutter.divergent += b["divergent"].get<std::int64_t>();
      gutter.branches += b["executed"].get<std::int64_t>();
    }
    for (const Json& a : launch["advice"])
      if (a["line"].get<int>() > 0) at(a).notes.insert(a["text"].get<std::string>());
  }
  for (const Finding& f : all_findings(report)) gutters[{f.file, f.line}].notes.insert(f.sentence);
  return gutters;
}

// ---- findings ------------------------------------------------------------------------------------------------------

// "<a href="#a.cu-12">a.cu:12</a>: ", or nothing where no place is known.
std::string link_html(const page::Sources& sources, const std::string& file, int line, const std::string& place) {
  if (place.empty()) return "";
  const std::string href = sources.link(file, line);
  return (href.empty() ? escaped(place) : fmt::format("<a href=\"{}\">{}</a>", escaped(href), escaped(place))) + ": ";
}

std::string findings_html(const Report& report, const page::Sources& sources) {
  const std::vector<Finding> findings = all_findings(report);
  if (findings.empty())
    return page::tag("p", report.is_whole ? "nothing wrong was found" : "nothing wrong was found until then") + "\n";
  std::string html = "<ul>";
  for (const Finding& f : findings)
    html += "<li class=\"bad\">" + link_html(sources, f.file, f.line, place_text(f)) + escaped(f.sentence) + "</li>\n";
  return html + "</ul>\n";
}

// ---- launches ------------------------------------------------------------------------------------------------------

// "add, argument 2 = 16"
std::string kernel_text(const Json& launch) {
  const std::string given = launch.value("given", "");
  return launch["kernel"].get<std::string>() + (given.empty() ? "" : ", " + given);
}

page::LaunchRow row_of(const Json& launch, const page::Sources& sources) {
  page::LaunchRow row{
      .kernel = kernel_text(launch),
      .at = place_text(launch),
      .href = sources.link(launch["file"], launch["line"]),
      .grid = dim_text(launch["grid"]),
      .block = dim_text(launch["block"]),
      .launches = launch["launches"] == 1 ? "" : std::to_string(launch["launches"].get<std::int64_t>())};
  if (launch.contains("measured"))
    row.measured =
        time_text(launch["measured"]["us"]) + (launch["measured"]["is_first_alone"].get<bool>() ? " first" : "");
  if (!launch.contains("prediction")) return row;
  const Json& p = launch["prediction"];
  for (const Json& a : launch["trace"]["accesses"]) add(is_global(a) ? row.sectors : row.wavefronts, a);
  if (p["shared_bytes"].get<double>() > 0) row.shared = bytes_text(p["shared_bytes"]);
  row.memory = bytes_text(p["dram_bytes"]);
  row.l2 = bytes_text(p["l2_bytes"]);
  row.occupancy = page::occupancy_text(p["occupancy"], p["limiter"].get<std::string>());
  row.waves = std::to_string(p["waves"].get<std::int64_t>());
  row.us = time_text(p["us"]);
  row.bound = p["bound"];
  return row;
}

std::string bars_html(const Json& terms) {
  double most = 1e-9;
  for (const Json& term : terms) most = std::max(most, term["us"].get<double>());
  std::string html = "<div class=\"bars\">";
  for (const Json& term : terms)
    html += page::tag("span", term["name"].get<std::string>()) +
            fmt::format("<div class=\"bar\" style=\"width:{:.1f}%\"></div>", 100 * term["us"].get<double>() / most) +
            page::tag("span", time_text(term["us"]), "soft");
  return html + "</div>\n";
}

// What bounds one launch, and what would gain most.
std::string launch_html(const Json& launch, std::size_t number, const page::Sources& sources) {
  if (!launch.contains("prediction")) return {};
  const Json& p = launch["prediction"];
  std::string html = page::tag("h3", fmt::format("{} {}: {} each, bound by {}", number, kernel_text(launch),
                                                 time_text(p["us"]), p["bound"].get<std::string>())) +
                     "\n" + bars_html(p["terms"]);
  if (launch["advice"].empty()) return html;
  html += "<ol>";
  for (const Json& a : launch["advice"]) {
    const double saved = a["saved_us"];
    html += "<li>" + link_html(sources, a["file"], a["line"], place_text(a)) + escaped(a["text"].get<std::string>()) +
            (saved > 0 ? " (saves " + time_text(saved) + ")" : "") + "</li>\n";
  }
  return html + "</ol>\n";
}

// ---- the roofline --------------------------------------------------------------------------------------------------

std::optional<DeviceInfo> model_named(const std::string& name) {
  for (const DeviceInfo& model : device_models())
    if (model.name == name) return model;
  return std::nullopt;
}

std::string roofline_html(const Report& report) {
  const auto device = model_named(report.run["device"].get<std::string>());
  if (!device) return {};
  std::vector<page::RoofKernel> kernels;
  for (const Json& launch : launches_of(report)) {
    kernels.push_back({.label = page::short_name(launch["kernel"].get<std::string>())});
    if (!launch.contains("prediction")) continue;
    kernels.back().bytes = launch["prediction"]["dram_bytes"];
    kernels.back().us = launch["prediction"]["us"];
  }
  return page::roofline_figure(
      *device, kernels, {Unit::fp32, Unit::fp16_tensor},
      fmt::format(
          "The lab counts a kernel's bytes and not its operations, so a kernel is not a point here but a dotted "
          "line: all places at the rate at which it moves memory, by the time predicted on a model of {}. What "
          "is left to gain is the distance to the slope above it; beyond the place where it meets a level roof, "
          "arithmetic would take longer than that.",
          device->name));
}

}  // namespace

std::string page_of(const Report& report) {
  page::Document document(std::filesystem::path(report.file).filename().string());
  const page::Sources sources(gutters_of(report));
  const Json launches = launches_of(report);
  if (!report.run.is_null()) document.paragraph(summary_text(report));
  for (const std::string& remark : report.remarks) document.paragraph(remark, "soft");
  document.add(findings_html(report, sources));
  if (!launches.empty()) {
    std::vector<page::LaunchRow> rows;
    for (const Json& launch : launches) rows.push_back(row_of(launch, sources));
    document.heading("Launches");
    document.add(page::launches_table(rows));
    for (std::size_t i = 0; i < launches.size(); ++i) document.add(launch_html(launches[i], i + 1, sources));
    if (const std::string figure = roofline_html(report); !figure.empty()) {
      document.heading("Roofline");
      document.add(figure);
    }
  }
  if (!sources.empty()) document.heading("Source");
  document.add(sources.html(page::Lines::all));
  return document.str();
}

}  // namespace ridge::cli::lab
