#include <ridge/simt/trace/summary.hpp>

#include <ridge/simt/trace/symbols.hpp>

#include <algorithm>
#include <set>
#include <tuple>

namespace ridge::simt::trace {

using Symbols = std::map<std::uintptr_t, Symbol>;

static Dim dim(dim3 d) { return {d.x, d.y, d.z}; }

// The hook returns to the instruction after the call, which may belong to the next line.
static Address call_of(const Site& site) { return site.pc - 1; }

void Summary::add(const Config& config, const detail::Entry& entry, const Recorder& recorder) {
  Recorded r;
  r.launch.grid = dim(config.grid);
  r.launch.block = dim(config.block);
  r.launch.smem = config.smem;
  r.launch.warp = config.warp;
  r.kernel = reinterpret_cast<std::uintptr_t>(entry.kernel);
  r.launch.footprint = recorder.footprint();
  r.sites = recorder.sites();
  r.races = recorder.races();
  launches_.push_back(std::move(r));
}

Launch Summary::latest() const {
  if (launches_.empty()) return {};
  Launch launch = launches_.back().launch;
  for (const Site& site : launches_.back().sites) {
    if (site.role != Site::Role::access) continue;
    const auto same = [&](const Access& a) {
      return a.space == site.space && a.kind == site.kind && a.bytes == site.bytes;
    };
    auto row = std::ranges::find_if(launch.accesses, same);
    if (row == launch.accesses.end()) {
      row = launch.accesses.insert(row, Access{});
      row->space = site.space;
      row->kind = site.kind;
      row->bytes = site.bytes;
    }
    *row += site.counts;
  }
  return launch;
}

// Copies of a line from unrolling and inlining become one row.
static std::vector<Access> accesses(const std::vector<Site>& sites, const Symbols& symbols) {
  std::map<std::tuple<std::string, int, Space, Kind, int>, Access> rows;
  for (const Site& site : sites) {
    if (site.role != Site::Role::access || site.counts.requests == 0) continue;
    const Line& line = symbols.at(call_of(site)).line;
    Access& row = rows[{line.file, line.number, site.space, site.kind, site.bytes}];
    row.at = line;
    row.space = site.space;
    row.kind = site.kind;
    row.bytes = site.bytes;
    row += site.counts;
    row.widened_requests += site.widened_requests;
    row.widened_wavefronts += site.widened_wavefronts;
    row.widened_least += site.widened_least;
    row.unset += site.unset;
  }
  std::vector<Access> list;
  for (auto& [key, row] : rows) list.push_back(std::move(row));
  return list;
}

static std::vector<Branch> branches(const std::vector<Site>& sites, const Symbols& symbols) {
  std::map<std::pair<std::string, int>, Branch> rows;
  for (const Site& site : sites) {
    if (site.divergent == 0) continue;
    const Line& line = symbols.at(call_of(site)).line;
    Branch& row = rows[{line.file, line.number}];
    row.at = line;
    row.executed += site.counts.requests;
    row.divergent += site.divergent;
  }
  std::vector<Branch> list;
  for (auto& [key, row] : rows) list.push_back(std::move(row));
  return list;
}

static std::vector<Race> races(const std::map<std::pair<int, int>, std::int64_t>& pairs, const std::vector<Site>& sites,
                               const Symbols& symbols) {
  std::map<std::tuple<std::string, int, std::string, int>, Race> rows;
  for (const auto& [pair, count] : pairs) {
    const Line& line = symbols.at(call_of(sites[static_cast<std::size_t>(pair.first)])).line;
    const Line& other = symbols.at(call_of(sites[static_cast<std::size_t>(pair.second)])).line;
    Race& row = rows[{line.file, line.number, other.file, other.number}];
    row.at = line;
    row.against = other;
    row.accesses += count;
  }
  std::vector<Race> list;
  for (auto& [key, row] : rows) list.push_back(std::move(row));
  return list;
}

Report Summary::report() const {
  std::set<std::uintptr_t> addresses;
  for (const Recorded& r : launches_) {
    addresses.insert(r.kernel);
    for (const Site& site : r.sites) addresses.insert(call_of(site));
  }
  const Symbols symbols = find_symbols(addresses);
  Report report;
  for (const Recorded& r : launches_) {
    Launch launch = r.launch;
    launch.kernel = symbols.at(r.kernel).function;
    launch.accesses = accesses(r.sites, symbols);
    launch.branches = branches(r.sites, symbols);
    launch.races = races(r.races, r.sites, symbols);
    report.launches.push_back(std::move(launch));
  }
  return report;
}

}  // namespace ridge::simt::trace
