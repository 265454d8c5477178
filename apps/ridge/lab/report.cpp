#include "report.hpp"

#include "../table.hpp"
#include "text.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <filesystem>

namespace ridge::cli::lab {
namespace {

void print_prediction(const Json& launch) {
  const Json& p = launch["prediction"];
  std::string terms;
  for (const Json& term : p["terms"])
    terms += (terms.empty() ? "" : ", ") + fmt::format("{} {}", term["name"].get<std::string>(), time_text(term["us"]));
  say("  {} each, bound by {}: {}\n", time_text(p["us"]), p["bound"].get<std::string>(), terms);
  say("  moves {} of memory and {} through the L2 cache; occupancy {:.0f} % ({} blocks on a multiprocessor, limited by "
      "{}), {} {}\n",
      bytes_text(p["dram_bytes"]), bytes_text(p["l2_bytes"]), 100 * p["occupancy"].get<double>(),
      p["blocks_per_sm"].get<int>(), p["limiter"].get<std::string>(), p["waves"].get<std::int64_t>(),
      p["waves"] == 1 ? "wave" : "waves");
}

void print_lines(const Json& trace) {
  if (trace["watched_blocks"] != trace["blocks"])
    say("  {} of its {} blocks were watched\n", trace["watched_blocks"].get<std::int64_t>(),
        trace["blocks"].get<std::int64_t>());
  Table table({{"line"}, {"access"}, {"requests", Align::right}, {"sectors or wavefronts (least)", Align::right}, {""}},
              "    ");
  for (const Json& a : trace["accesses"]) {
    const double requests = std::max(1.0, a["requests"].get<double>());
    table.add(
        {place_text(a),
         fmt::format("{} {} {} B", a["space"].get<std::string>(), a["kind"].get<std::string>(), a["bytes"].get<int>()),
         std::to_string(a["requests"].get<std::int64_t>()),
         fmt::format("{:.2f} ({:.2f})", a["units"].get<double>() / requests, a["least"].get<double>() / requests),
         a["note"].get<std::string>()});
  }
  if (!trace["accesses"].empty()) table.print();
  for (const Json& b : trace["branches"])
    say("    {} divergent: lanes part at {} of {} branches\n", place_text(b), b["divergent"].get<std::int64_t>(),
        b["executed"].get<std::int64_t>());
}

void print_advice(const Json& advice) {
  if (advice.empty()) return;
  say("  what would gain most:\n");
  int number = 1;
  for (const Json& a : advice) {
    const std::string at = place_text(a);
    say("    {}. {}{}{}\n", number++, at.empty() ? "" : at + ": ", a["text"].get<std::string>(),
        a["saved_us"].get<double>() > 0 ? " (saves " + time_text(a["saved_us"]) + ")" : "");
  }
}

void print_launch(const Json& launch) {
  const auto times = launch["launches"].get<std::int64_t>();
  say("\n{} {}  grid {}, block {}{}{}\n", place_text(launch), launch["kernel"].get<std::string>(),
      dim_text(launch["grid"]), dim_text(launch["block"]),
      launch["dynamic_shared_bytes"].get<std::uint64_t>() > 0
          ? ", " + bytes_text(launch["dynamic_shared_bytes"].get<double>()) + " of dynamic shared memory"
          : "",
      times > 1 ? fmt::format(", {} times", times) : "");
  if (const std::string given = launch.value("given", ""); !given.empty()) say("  {}\n", given);
  if (launch["failures"].get<std::int64_t>() > 0) say("  failed: see below\n");
  if (launch.contains("measured")) say("  {} measured\n", time_text(launch["measured"]["us"]));
  if (launch.contains("prediction")) {
    print_prediction(launch);
    print_lines(launch["trace"]);
    print_advice(launch["advice"]);
  }
}

// Findings of the trace itself, which come without a sentence.
std::vector<Finding> traced_findings(const Json& run) {
  std::vector<Finding> all;
  const auto add = [&](const Json& at, std::string sentence) {
    Finding finding{at["file"], at["line"], std::move(sentence)};
    if (std::ranges::find(all, finding) == all.end()) all.push_back(std::move(finding));
  };
  for (const Json& launch : run["launches"]) {
    if (!launch.contains("trace")) continue;
    for (const Json& a : launch["trace"]["accesses"])
      if (a["unset"].get<std::int64_t>() > 0) add(a, "reads shared memory that no thread of the block has written");
    for (const Json& r : launch["trace"]["races"])
      add(r["at"], "race between blocks: one writes what another accesses at " + place_text(r["against"]));
  }
  return all;
}

}  // namespace

// Addresses differ from run to run; the fault is the same.
static std::string without_addresses(std::string_view sentence) {
  std::string text;
  for (std::size_t i = 0; i < sentence.size(); ++i) {
    text += sentence[i];
    if (sentence.substr(i).starts_with("0x"))
      for (++i; i + 1 < sentence.size() && std::isxdigit(static_cast<unsigned char>(sentence[i + 1]));) ++i;
  }
  return text;
}

std::vector<Finding> all_findings(const Report& report) {
  std::vector<Finding> all;
  const auto add = [&](Finding finding) {
    const auto same = [&](const Finding& f) {
      return f.file == finding.file && f.line == finding.line &&
             without_addresses(f.sentence) == without_addresses(finding.sentence);
    };
    if (std::ranges::none_of(all, same)) all.push_back(std::move(finding));
  };
  for (const Finding& f : report.findings) add(f);
  if (report.run.is_null()) return all;
  for (const Json& f : report.run["findings"]) add({f["file"], f["line"], f["sentence"]});
  for (const Finding& f : traced_findings(report.run)) add(f);
  return all;
}

void print_launches(const Report& report) {
  if (report.run.is_null()) return;
  say("{}\n", summary_text(report));
  for (const Json& launch : report.run["launches"]) print_launch(launch);
  if (!report.is_whole) return;  // a program that was stopped had not come to free it
  for (const Json& leak : report.run["leaks"])
    say("\nnever freed: {} that {} gave at {}\n", bytes_text(leak["bytes"].get<double>()),
        leak["call"].get<std::string>(), place_text(leak));
}

void print_findings(const Report& report) {
  const std::vector<Finding> findings = all_findings(report);
  std::puts("");
  for (const std::string& remark : report.remarks) say("{}\n", remark);
  if (!findings.empty()) say("wrong:\n");
  else if (report.is_whole) say("nothing wrong was found\n");
  else say("nothing wrong was found until then\n");
  for (const Finding& f : findings) say("  {}: {}\n", place_text(f), f.sentence);
}

Json to_json(const Report& report) {
  Json findings = Json::array();
  for (const Finding& f : all_findings(report))
    findings.push_back({{"file", f.file}, {"line", f.line}, {"sentence", f.sentence}});
  Json json = {{"file", report.file}, {"findings", findings}, {"remarks", report.remarks}, {"run", report.run}};
  if (!report.times.is_null()) json["times"] = report.times;
  return json;
}

}  // namespace ridge::cli::lab
