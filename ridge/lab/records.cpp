#include <ridge/lab/records.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>
#include <utility>

namespace ridge::lab {
namespace {

// A record's first launches are watched: what comes first may differ (cold flags, first pivots).
constexpr std::int64_t most_watched_launches = 2;
// Of other arguments: these many in turn that change nothing, then every second, fourth, eighth, ...
constexpr int watched_in_turn = 4;
// In all, of a line, shape and kernel.
constexpr int most_watched = 64;
constexpr std::size_t most_records_of_group = 16, most_remembered = 4096;
constexpr std::size_t most_records = 4096;
constexpr std::int64_t most_numbers = 200;  // as many launches of a line and shape as are timed

// What differs by less is the same work.
constexpr double tolerance = 0.05;

bool is_same(dim3 a, dim3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
bool is_same(const simt::Config& a, const simt::Config& b) {
  return is_same(a.grid, b.grid) && is_same(a.block, b.block) && a.smem == b.smem;
}
bool is_same(const LaunchSite& a, const LaunchSite& b) {
  return a.line == b.line && std::string_view(a.kernel) == b.kernel && std::string_view(a.file) == b.file;
}

// Each figure is compared with the largest of its kind: a counter's few bytes beside an array are no other work.
double difference(const Work& a, const Work& b) {
  constexpr double sector = 32, clocks_of_nothing = 64, steps_of_nothing = 1, atomics_of_nothing = 100;
  double most = 0;
  const auto compare = [&](double of, std::initializer_list<std::pair<double, double>> figures) {
    for (const auto& [x, y] : figures) of = std::max({of, x, y});
    for (const auto& [x, y] : figures) most = std::max(most, std::abs(x - y) / of);
  };
  compare(sector, {{a.bytes_read, b.bytes_read},
                   {a.bytes_written, b.bytes_written},
                   {a.l2_bytes, b.l2_bytes},
                   {sector * a.l1_sectors, sector * b.l1_sectors}});
  compare(clocks_of_nothing, {{a.memory_clocks, b.memory_clocks}, {a.issue_clocks, b.issue_clocks}});
  compare(steps_of_nothing, {{a.load_steps, b.load_steps}});
  compare(atomics_of_nothing, {{a.atomics_in_turn, b.atomics_in_turn}});
  compare(1, {{static_cast<double>(a.smem), static_cast<double>(b.smem)}});
  return most;
}

}  // namespace

Records::Claim Records::claim(const LaunchSite& site, const simt::Config& config, Given given) {
  const std::size_t shape = shape_of(site, config);
  Claim claim{
      .group = group_of(shape, given), .arguments = given.hash, .number = shapes_[shape].launches++, .start = {}};
  claim.is_watched = is_worth_watching(groups_[claim.group], records_, given.hash);
  Record& start = claim.start;
  start.kernel = site.kernel;
  start.file = site.file;
  start.line = site.line;
  start.config = config;
  start.function = given.kernel;
  start.arguments = std::move(given.arguments);
  start.types = std::move(given.types);
  return claim;
}

Record& Records::failed(const Claim& claim) {
  Record& record = records_[record_for(groups_[claim.group], claim, nullptr)];
  ++record.launches;
  ++record.failures;
  return record;
}

Record& Records::ran(const Claim& claim, const Work* work, std::size_t trace) {
  Group& group = groups_[claim.group];
  const bool is_known = group.record_of.contains(claim.arguments);
  Record& record = records_[record_for(group, claim, work)];
  ++record.launches;
  if (claim.number < most_numbers) record.numbers.push_back(claim.number);
  if (!work) return record;
  ++group.watched;
  // Shown is a later launch of the same arguments, and not of others that do the same.
  if (record.is_watched && !is_known) return record;
  record.work = *work;
  record.trace = trace;
  record.is_watched = true;
  return record;
}

std::size_t Records::shape_of(const LaunchSite& site, const simt::Config& config) {
  const auto found =
      std::ranges::find_if(shapes_, [&](const Shape& s) { return is_same(s.site, site) && is_same(s.config, config); });
  if (found != shapes_.end()) return static_cast<std::size_t>(found - shapes_.begin());
  if (shapes_.size() < most_records) shapes_.push_back({.site = site, .config = config});
  return shapes_.size() - 1;  // the last one is that of a program that launches ever other shapes, too
}

std::size_t Records::group_of(std::size_t shape, const Given& given) {
  const auto found = std::ranges::find_if(
      groups_, [&](const Group& g) { return g.shape == shape && g.kernel == given.kernel && g.body == given.body; });
  if (found != groups_.end()) return static_cast<std::size_t>(found - groups_.begin());
  if (groups_.size() < most_records)
    groups_.push_back({.shape = shape, .kernel = given.kernel, .body = given.body, .record_of = {}, .records = {}});
  return groups_.size() - 1;
}

bool Records::is_worth_watching(const Group& group, const std::vector<Record>& records, std::uint64_t arguments) {
  if (group.records.empty()) return true;
  if (group.watched >= most_watched) return false;
  if (const auto known = group.record_of.find(arguments); known != group.record_of.end())
    return records[known->second].launches < most_watched_launches;
  return group.unseen < watched_in_turn || std::has_single_bit(static_cast<unsigned>(group.unseen));
}

std::size_t Records::record_for(Group& group, const Claim& claim, const Work* work) {
  if (const auto known = group.record_of.find(claim.arguments); known != group.record_of.end()) return known->second;
  std::size_t record = group.latest;
  if (group.records.empty()) {
    record = add(group, claim);
  } else {
    ++group.unseen;
    if (work) {
      const auto differs = [&](std::size_t r) {
        return records_[r].is_watched ? difference(records_[r].work, *work) : 0;
      };
      record = *std::ranges::min_element(group.records, {}, differs);
      const bool has_room = group.records.size() < most_records_of_group && records_.size() < most_records;
      if (differs(record) > tolerance && has_room) record = add(group, claim);
      else ++records_[record].argument_sets;
    }
  }
  group.latest = record;
  if (group.record_of.size() < most_remembered) group.record_of.emplace(claim.arguments, record);
  return record;
}

std::size_t Records::add(Group& group, const Claim& claim) {
  if (records_.size() < most_records) records_.push_back(claim.start);
  group.records.push_back(records_.size() - 1);
  group.unseen = 0;
  return records_.size() - 1;
}

}  // namespace ridge::lab
