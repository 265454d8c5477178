#include "measurements.hpp"

#include <ridge/core/output_file.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>

namespace ridge::cli {

using bench::Measurement;

namespace {

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// The kernel module's version; null where there is none, and on the CPU.
Json driver_version(const DeviceInfo& device) {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  if (device.is_cpu() || !std::getline(file, version)) return nullptr;
  return version;
}

Json to_json(const bench::Timing& t) { return {{"us", t.us}, {"noise", t.noise}}; }

// Not finite numbers become null.
Json to_json(const bench::Accuracy& a) {
  return {{"rms_error", a.rms_error}, {"largest_error", a.largest_error}, {"elements", a.elements}};
}

Json to_json(const Measurement& m, const bench::PeerMeasurement& peer) {
  Json json{{"name", peer.name},
            {"us", peer.time.us},
            {"noise", peer.time.noise},
            {"times_faster", m.time.us > 0 ? peer.time.us / m.time.us : 0}};
  if (!m.accuracy || !peer.accuracy) return json;
  json["accuracy"] = to_json(*peer.accuracy);
  json["error_ratio"] = {{"rms", bench::error_ratio(m.accuracy->rms_error, peer.accuracy->rms_error)},
                         {"largest", bench::error_ratio(m.accuracy->largest_error, peer.accuracy->largest_error)}};
  return json;
}

std::string peers_text(const Measurement& m) {
  std::string text;
  for (const bench::PeerMeasurement& peer : m.peers) {
    text += fmt::format("{}{:.2f}x {}", text.empty() ? "" : ", ", m.time.us > 0 ? peer.time.us / m.time.us : 0.0,
                        peer.name);
    if (m.accuracy && peer.accuracy)
      text += fmt::format(" ({:.2f}, {:.2f})", bench::error_ratio(m.accuracy->rms_error, peer.accuracy->rms_error),
                          bench::error_ratio(m.accuracy->largest_error, peer.accuracy->largest_error));
  }
  return text.empty() ? "-" : text;
}

// Three digits, from a CPU's fraction to a GPU's thousands.
std::string rate_text(double rate) {
  return rate >= 100 ? fmt::format("{:.0f}", rate) : rate >= 0.001 ? fmt::format("{:.3g}", rate) : "<0.001";
}

}  // namespace

Json to_json(const Measurement& m) {
  Json peers = Json::array();
  for (const bench::PeerMeasurement& peer : m.peers) peers.push_back(to_json(m, peer));
  Json json{{"case", m.case_text}, {"variant", m.variant}, {"device", m.device}, {"chosen", m.chosen}};
  if (!m.error.empty()) {
    json["error"] = m.error;
    return json;
  }
  json.update(to_json(m.time));
  json.update({{"gbs", m.gbs},
               {"copy_share", m.copy_share > 0 ? Json(m.copy_share) : Json(nullptr)},
               {"tflops", m.tflops},
               {"predicted_us", m.predicted_us},
               {"least_us", m.least_us},
               {"plan_us", m.plan_us},
               {"accuracy", m.accuracy ? to_json(*m.accuracy) : Json(nullptr)},
               {"peers", peers}});
  return json;
}

Json provenance(const DeviceInfo& device, const std::string& commit) {
  return {{"device", device.name},
          {"device_info", to_json(device)},
          {"driver", driver_version(device)},
          {"ridge", RIDGE_VERSION},
          {"commit", commit.empty() ? Json(nullptr) : Json(commit)},
          {"date", now_utc()}};
}

Table measurement_table(const std::vector<KnownCase>& cases, bool peers) {
  std::size_t case_width = 0, variant_width = 0;
  for (const KnownCase& known : cases) {
    case_width = std::max(case_width, known.c.text().size());
    for (const VariantInfo& v : known.op->variants) variant_width = std::max(variant_width, v.name.size());
  }
  return Table({{"case", Align::left, case_width},
                {"variant", Align::left, variant_width},
                {"us", Align::right, 11},
                {"noise", Align::right, 6},
                {"GB/s (% of copy)", Align::right},
                {"TFLOP/s", Align::right, 8},
                {peers ? "x peer (rms and largest error over the peer's)" : "x peer"}});
}

void print_line(const Table& table, const Measurement& m) {
  if (!m.error.empty()) {
    table.print_row({m.case_text, m.variant, "-", "-", "-", "-", m.error});
    return;
  }
  const std::string share = m.copy_share > 0 ? fmt::format(" ({:3.0f} %)", 100 * m.copy_share) : "";
  table.print_row({m.case_text, m.variant, fmt::format("{:.2f}", m.time.us),
                   fmt::format("{:.1f} %", 100 * m.time.noise), rate_text(m.gbs) + share,
                   m.tflops > 0 ? rate_text(m.tflops) : "-", peers_text(m)});
}

std::function<void(const bench::Turn&)> shown_by(Progress& progress) {
  return [&progress](const bench::Turn& turn) {
    std::string where = fmt::format("round {}/{}", turn.round + 1, turn.rounds);
    if (turn.contenders > 1) where += fmt::format(", variant {}/{} {}", turn.contender + 1, turn.contenders, turn.name);
    progress.part(turn.share_done(), std::move(where));
  };
}

Status check_json_target(const std::string& target) {
  if (target == "-") return {};
  if (target.find(':') != std::string::npos || find_op(target))
    return Status::error(Code::invalid_argument, "--json takes a file, and '" + target +
                                                     "' is a case or an operator; give --json last, or "
                                                     "--json - for standard output");
  return OutputFile::check(target).error();  // refuses now what could not be written after minutes of work
}

Status write_results(const std::string& path, const Json& results) {
  RIDGE_CLI_TAKE(file, OutputFile::create(path));
  RIDGE_TRY(file.write(dump(results)));
  return file.commit();
}

}  // namespace ridge::cli
