// ridge report: results as a page of tables and drawings, in one file that needs no network and no script; the drawings
// as files of their own as well; and how well the model predicts them.
#include "commands.hpp"
#include "page/document.hpp"
#include "plots.hpp"
#include "request.hpp"
#include "results.hpp"
#include "table.hpp"
#include "terminal.hpp"

#include <ridge/core/output_file.hpp>
#include <ridge/roofline/bound.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace ridge::cli {
namespace {

struct Request {
  std::vector<std::string> files;
  std::string folder;
};

// A measurement beside what the library says of it today.
struct Line {
  ResultRow row;
  KnownCase known;
  Explanation explanation;
  double error() const { return explanation.predicted_us / row.us - 1; }
  double share() const { return explanation.least_us / row.us; }
};

Result<std::vector<Line>> lines_of(const std::vector<Results>& files, const DeviceInfo& device) {
  std::vector<Line> lines;
  std::set<std::pair<std::string, std::string>> seen;
  for (const Results& results : files)
    for (const ResultRow& row : results.rows) {
      if (!seen.emplace(row.case_text, row.variant).second) continue;  // the first file's counts
      RIDGE_CLI_TAKE(known, find_case(row.case_text));
      known.c.options.set("variant", row.variant);
      RIDGE_CLI_TAKE(case_device, device_of(known.c, device));
      auto explanation = explain_case(known, case_device);
      if (!explanation) continue;  // a row that is gone, or that takes this case no more
      lines.push_back({row, std::move(known), std::move(*explanation)});
    }
  if (lines.empty())
    return Status::error(Code::invalid_argument, "none of the results are of rows that the operators still have");
  return lines;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

struct Errors {
  double chosen = 0, all = 0;  // medians
  std::vector<const Line*> worst;
};

Errors errors_of(const std::vector<Line>& lines) {
  Errors e;
  std::vector<double> chosen, all;
  for (const Line& line : lines) {
    all.push_back(std::fabs(line.error()));
    if (line.row.chosen) chosen.push_back(all.back());
    e.worst.push_back(&line);
  }
  e.chosen = median(chosen);
  e.all = median(all);
  // As a ratio: half and twice are equally wrong.
  std::ranges::stable_sort(e.worst, std::greater(),
                           [](const Line* l) { return std::fabs(std::log(l->explanation.predicted_us / l->row.us)); });
  e.worst.resize(std::min<std::size_t>(e.worst.size(), 10));
  return e;
}

// The term that the model counts most.
std::string greatest_term(const Explanation& e) {
  const auto& terms = e.analysis.terms;
  const auto most = std::ranges::max_element(terms, {}, &Analysis::Term::us);
  return most == terms.end() ? "-" : most->name + ": " + most->why;
}

// ---- drawings ------------------------------------------------------------------------------------------------------

// A marker for each family, hollow where elements have two bytes or fewer.
std::string draw_roofline(const std::vector<Line>& lines, const DeviceInfo& device) {
  std::map<std::string_view, Marker> markers;
  std::vector<RoofPoint> points;
  std::set<Unit> used;
  for (const Line& line : lines) {
    const Analysis& a = line.explanation.analysis;
    if (!line.row.chosen || a.unit.empty()) continue;
    for (int u = 0; u < unit_count; ++u) {
      if (name(static_cast<Unit>(u)) != a.unit) continue;
      used.insert(static_cast<Unit>(u));
      const auto [at, fresh] =
          markers.emplace(line.known.op->family, static_cast<Marker>(markers.size() % marker_count));
      const bool narrow = size_of(line.known.c.dtype) <= 2;
      points.push_back({fmt::format("{}, {}", line.known.op->family, narrow ? "8 and 16 bit" : "32 and 64 bit"),
                        a.intensity, line.explanation.cost.operations[u] / line.row.us * 1e-6, at->second, !narrow,
                        fmt::format("{}: {:.2f} us", line.row.case_text, line.row.us)});
    }
  }
  return roofline_svg(device, {used.begin(), used.end()}, points, "Measured on " + device.name);
}

// The chosen rows of a family, and its peers, over the bytes moved: a series for each type.
std::string draw_bandwidth(const std::vector<Line>& lines, std::string_view family, const DeviceInfo& device) {
  std::map<std::string, Series> series;
  const auto add = [&](const Line& line, const std::string& peer, double us) {
    const std::string label = std::string(name(line.known.c.dtype)) + (peer.empty() ? "" : ", " + peer);
    auto [at, fresh] = series.try_emplace(label);
    if (fresh) at->second = {label, {}, static_cast<Marker>((series.size() - 1) % marker_count), peer.empty()};
    const double bytes = line.explanation.cost.bytes();
    at->second.points.push_back({bytes, bytes / us * 1e-3, fmt::format("{}: {:.2f} us", line.row.case_text, us)});
  };
  for (const Line& line : lines) {
    if (!line.row.chosen || line.known.op->family != family || line.explanation.cost.bytes() <= 0) continue;
    add(line, "", line.row.us);
    for (const ResultPeer& peer : line.row.peers)
      if (peer.us > 0) add(line, peer.name, peer.us);
  }
  std::vector<Series> list;
  for (auto& [label, s] : series) {
    std::ranges::sort(s.points, {}, &SizePoint::bytes);
    list.push_back(std::move(s));
  }
  return bandwidth_svg(list, device.memory_gbs, fmt::format("a copy, {:.0f} GB/s", device.memory_gbs),
                       fmt::format("{} on {}", family, device.name));
}

// ---- the page ------------------------------------------------------------------------------------------------------

using page::Document;

Status write(const std::filesystem::path& path, const std::string& text) {
  RIDGE_CLI_TAKE(file, OutputFile::create(path));
  RIDGE_TRY(file.write(text));
  return file.commit();
}

// In the page, and as a file beside it for documents of other kinds.
Status add_drawing(Document& page, const std::filesystem::path& file, const std::string& svg) {
  page.add("<figure class=\"wide\">" + page::inlined(svg) + "</figure>\n");
  return write(file, svg);
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }
std::string signed_percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }

void add_measurements(Document& page, const std::vector<Line>& lines) {
  page.heading("Measured");
  std::vector<std::vector<std::string>> rows;
  for (const Line& line : lines)
    if (line.row.chosen)
      rows.push_back({line.row.case_text, line.row.variant, fmt::format("{:.2f}", line.row.us),
                      line.row.noise ? fmt::format("{:.1f} %", 100 * *line.row.noise) : "-",
                      line.row.gbs > 0 ? fmt::format("{:.0f}", line.row.gbs) : "-",
                      line.row.copy_share > 0 ? percent(line.row.copy_share) : "-", line.explanation.bound,
                      percent(line.share())});
  page.table({"<case", "<variant", "us", "noise", "GB/s", "of a copy", "<bound", "of the roof"}, rows);
}

void add_ratios(Document& page, const std::vector<Line>& lines) {
  std::vector<std::vector<std::string>> rows;
  for (const Line& line : lines)
    for (const ResultPeer& peer : line.row.peers)
      if (line.row.chosen)
        rows.push_back({line.row.case_text, peer.name, fmt::format("{:.2f}", line.row.us),
                        fmt::format("{:.2f}", peer.us), fmt::format("{:.2f}x", peer.us / line.row.us)});
  page.heading("Beside the peers");
  if (rows.empty()) return page.paragraph("No peer was measured in these files (ridge bench --peers).");
  page.paragraph("How many times faster than the peer, measured in the same run.");
  page.table({"<case", "<peer", "us", "peer us", "ratio"}, rows);
}

// Each file by itself: times of one run are compared with one another.
void add_beaten_choices(Document& page, const std::vector<Results>& files) {
  std::vector<std::vector<std::string>> rows;
  for (const Results& results : files)
    for (const BeatenChoice& b : beaten_choices(results.rows))
      rows.push_back({b.case_text, b.chosen, fmt::format("{:.2f}", b.chosen_us), b.fastest,
                      fmt::format("{:.2f}", b.fastest_us), signed_percent(b.slower())});
  if (rows.empty()) return;
  page.heading("Choices that another row beats");
  page.paragraph(
      "Of the files that have all rows (ridge bench --all-variants): where the row that the plan chose was "
      "slower than another of the same run, by more than the noise of both.");
  page.table({"<case", "<chosen", "us", "<fastest", "us", "slower by"}, rows);
}

void add_predictions(Document& page, const std::vector<Line>& lines, const Errors& e) {
  page.heading("Predicted");
  page.paragraph(
      fmt::format("The model of today against these times: median error {:.1f} % over the rows that the plans chose, "
                  "{:.1f} % over all {} measurements. The {} that are furthest off, with the term that the model "
                  "counts most:",
                  100 * e.chosen, 100 * e.all, lines.size(), e.worst.size()));
  std::vector<std::vector<std::string>> rows;
  for (const Line* line : e.worst)
    rows.push_back({line->row.case_text, line->row.variant + (line->row.chosen ? " (chosen)" : ""),
                    fmt::format("{:.2f}", line->row.us), fmt::format("{:.2f}", line->explanation.predicted_us),
                    signed_percent(line->error()), greatest_term(line->explanation)});
  page.table({"<case", "<variant", "us", "predicted", "error", "<greatest term"}, rows);
}

void print_errors(const Errors& e, std::size_t count) {
  say("median error of the prediction: {:.1f} % over the chosen rows, {:.1f} % over all {} measurements\n",
      100 * e.chosen, 100 * e.all, count);
  Table table(
      {{"furthest off"}, {"variant"}, {"us", Align::right}, {"predicted", Align::right}, {"error", Align::right}},
      "  ");
  for (const Line* line : e.worst)
    table.add({line->row.case_text, line->row.variant, fmt::format("{:.2f}", line->row.us),
               fmt::format("{:.2f}", line->explanation.predicted_us), signed_percent(line->error())});
  table.print();
}

// The files that hold results. Of several, what holds none (measurements that another program made) is left out, with
// a sentence: all files of a folder can be named.
Result<std::vector<Results>> read_files(const std::vector<std::string>& paths, std::vector<std::string>& left_out) {
  std::vector<Results> files;
  for (const std::string& path : paths) {
    auto results = read_results(path);
    if (!results) {
      if (results.error().code() != Code::invalid_argument) return results.error();
      left_out.emplace_back(results.error().message());
      continue;
    }
    if (!files.empty() && files.front().device != results->device)
      return Status::invalid("report", "the device of '" + path + "'", results->device,
                             "that of the first file, " + files.front().device);
    files.push_back(std::move(*results));
  }
  if (files.empty()) return Status::error(Code::invalid_argument, left_out.front());
  return files;
}

Result<int> report(const Request& request) {
  std::vector<std::string> left_out;
  RIDGE_CLI_TAKE(files, read_files(request.files, left_out));
  for (const std::string& why : left_out) say_to(stderr, "ridge: left out: {}\n", why);
  RIDGE_CLI_TAKE(device, model_of_results(files.front()));
  RIDGE_CLI_TAKE(lines, lines_of(files, device));

  const std::filesystem::path folder = request.folder;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Status::error(Code::io, "folder '" + request.folder + "' cannot be made: " + error.message());

  Document page("Ridge on " + files.front().device);
  page.heading("Roofline");
  page.paragraph(
      "Each point is a benchmark case: the operations of the unit that it keeps busiest, over the bytes that it must "
      "move and over the measured time. Slopes are the levels of memory, as on the data sheet; horizontal lines the "
      "units.");
  RIDGE_TRY(add_drawing(page, folder / "roofline.svg", draw_roofline(lines, device)));

  page.heading("Bandwidth over size");
  std::vector<std::string_view> families;
  for (const Line& line : lines)
    if (line.row.chosen && std::ranges::find(families, line.known.op->family) == families.end())
      families.push_back(line.known.op->family);
  for (std::string_view family : families) {
    const std::string svg = draw_bandwidth(lines, family, device);
    if (!svg.empty()) RIDGE_TRY(add_drawing(page, folder / fmt::format("bandwidth-{}.svg", family), svg));
  }
  add_measurements(page, lines);
  add_ratios(page, lines);
  add_beaten_choices(page, files);
  if (!device.is_cpu()) {  // whose model knows orders of magnitude alone
    const Errors errors = errors_of(lines);
    add_predictions(page, lines, errors);
    print_errors(errors, lines.size());
  }
  page.heading("From");
  std::vector<std::vector<std::string>> sources;
  for (const Results& r : files) sources.push_back({r.path, r.date, r.commit, r.driver});
  page.table({"<results", "<date", "<commit", "<driver"}, sources);
  for (const std::string& why : left_out) page.paragraph("Left out: " + why + ".");
  RIDGE_TRY(write(folder / "index.html", page.str()));
  say("report in {}\n", (folder / "index.html").native());
  return exit_done;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("report", "A page of results: roofline, bandwidth, peers, predictions");
  command->add_option("RESULTS", request->files, "Files of ridge bench --json, of one device")->required();
  command->add_option("-o,--output", request->folder, "The folder of the page")->required();
  command->callback([request, &action] { action = [request] { return report(*request); }; });
}

}  // namespace ridge::cli
