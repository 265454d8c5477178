// The common part of all plans: the choice among a table of variants, and the explanation of that choice.
//
// Planning is a pure function of (problem, device info, options). The table searched is the table instantiated;
// fits() is the only capability predicate, and its sentence reaches the user.
#pragma once
#include <ridge/core/cost.hpp>
#include <ridge/core/device.hpp>
#include <ridge/core/status.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ridge {

struct PlanOptions {
  std::string variant;  // a row of the table by name; empty: the plan chooses
  // Whether a run first checks the numbers on the device that say where kernels read and write, and refuses wrong ones
  // (core/check_indices.hpp). Not set: the CPU runtime checks those whose effect the contract leaves undefined. On a
  // GPU the check waits for the stream, and the run cannot be captured into a graph.
  std::optional<bool> checked = {};
};

// The role of a table's row decides when the plan chooses it among the rows that fit:
//   general   where its predicted time is the least
//   fallback  takes what others refuse, such as strides of any kind. Where others fit, its predicted time must be less
//             than half of theirs, because the time of small work is the model's least certain figure
//   trial     newer than the measurements that its predicted time would be fitted to: runs by name, where tuning finds
//             it fastest, and where nothing else fits
//   lesson    a step of the textbook: runs by name, and where nothing else fits
enum class Role : std::uint8_t { general, fallback, trial, lesson };
inline constexpr int role_count = 4;
inline constexpr double fallback_handicap = 2;
RIDGE_API std::string_view name(Role);

struct Candidate {
  std::string variant;
  std::string refusal;      // empty: it fits
  double predicted_us = 0;  // meaningful where it fits
  Role role = Role::general;
  bool fits() const { return refusal.empty(); }
};

// How the chosen kernel uses the device, as roofline computes it. Times are us of the whole device.
struct Analysis {
  // A term of the predicted time. Memory, latency and arithmetic overlap; the others are added.
  struct Term {
    std::string name;
    double us = 0;
    std::string why;
  };
  std::vector<Term> terms;

  // A level of memory against the operator's busiest unit: the operations per byte at which they balance.
  struct Level {
    std::string name;  // DRAM, L2, shared
    double gbs = 0;
    double balance = 0;  // operations per byte at which this level stops being the bound; 0: unknown
  };
  double intensity = 0;  // operations of that unit per byte
  std::string unit;      // empty: the operator computes nothing
  std::vector<Level> levels;

  std::int64_t blocks = 0;
  int threads = 0, smem_bytes = 0, registers = 0;
  std::string registers_source;  // where that figure comes from
  int blocks_per_sm = 0;         // resident at once
  std::string limiter;           // the limiting resource: threads, blocks, registers, shared memory or the grid
  double occupancy = 0;          // resident threads over what a multiprocessor holds
  double waves = 0, wave_efficiency = 0, tail_share = 0;  // tail_share: share of the device that the last wave fills
  double tile_efficiency = 1;                             // the share of covered elements that exist
  double bytes_in_flight = 0, bytes_needed = 0;           // per multiprocessor; needed: rate times latency

  std::vector<std::string> advice;  // changes that would raise the bound, or move the kernel closer to it
};

struct Explanation {
  std::string op, problem, device, variant;
  Cost cost;
  std::string bound;  // memory, arithmetic or latency
  double least_us = 0, predicted_us = 0;
  std::size_t workspace_bytes = 0;
  Analysis analysis = {};
  std::vector<Candidate> candidates;  // in the table's order

  // Several lines for people. all: lists every row that does not fit with its refusal, in the table's order; else each
  // refusal once.
  RIDGE_API std::string text(bool all = false) const;
};

// The refusal of an unknown variant's name, which lists the nearest names.
RIDGE_API Status no_such_variant(std::string_view op, std::string_view wanted, std::span<const std::string_view> known);

template <class Row> constexpr Role role_of(const Row& row) {
  if constexpr (requires { row.role; }) return row.role;
  else return Role::general;
}

// Whether the plan prefers one row to another, given their predicted times in us.
constexpr bool is_preferred(Role role, double us, Role to, double to_us) {
  const auto last_resort = [](Role r) { return r == Role::lesson ? 2 : r == Role::trial ? 1 : 0; };
  if (last_resort(role) != last_resort(to)) return last_resort(role) < last_resort(to);
  const auto weighted = [](Role r, double time) { return r == Role::fallback ? time * fallback_handicap : time; };
  return weighted(role, us) < weighted(to, to_us);
}

// The preferred one of the rows that fit, or the row that options name.
//   fits(row) -> std::string, the sentence of a refusal or empty;  predict_us(row) -> double
// `record`, if given, receives every row with its refusal or predicted time.
template <class Row, class Fits, class Predict>
Result<int> select(std::string_view op, std::span<const Row> table, const PlanOptions& options, Fits&& fits,
                   Predict&& predict_us, std::vector<Candidate>* record = nullptr) {
  int chosen = -1;
  double least = 0;
  std::string refusals;
  for (int i = 0; i < static_cast<int>(table.size()); ++i) {
    const Row& row = table[i];
    const bool named = options.variant == row.name;
    if (!options.variant.empty() && !named && !record) continue;
    std::string refusal = fits(row);
    const double us = refusal.empty() ? predict_us(row) : 0;
    if (named && !refusal.empty() && !record)
      return Status::refuse(Code::unsupported, op, "variant", std::string(row.name), "another one here: " + refusal);
    const bool eligible = refusal.empty() && (options.variant.empty() || named);
    if (eligible && (chosen < 0 || is_preferred(role_of(row), us, role_of(table[chosen]), least))) {
      chosen = i;
      least = us;
    }
    if (!refusal.empty()) refusals += (refusals.empty() ? "" : "; ") + std::string(row.name) + ": " + refusal;
    if (record) record->push_back(Candidate{std::string(row.name), refusal, us, role_of(row)});
  }
  if (chosen >= 0) return chosen;
  if (refusals.empty() && !options.variant.empty()) {
    std::vector<std::string_view> known;
    for (const Row& row : table) known.push_back(row.name);
    return no_such_variant(op, options.variant, known);
  }
  return Status::error(Code::unsupported, std::string(op) + ": no variant takes this problem (" + refusals + ")");
}

}  // namespace ridge
