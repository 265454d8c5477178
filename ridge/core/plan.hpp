// What every plan has in common: the choice among a table of variants, and the account of that choice.
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
  // Whether a run first looks at the numbers on the device that say where kernels read and write, and refuses wrong
  // ones (core/check_indices.hpp). Where it is not said, the CPU runtime looks at those whose effect the contract
  // leaves open. On a GPU it waits for the stream, and cannot be captured into a graph.
  std::optional<bool> checked = {};
};

// What a row of a table is there for, and so when the plan chooses it among those that fit:
//   general   where its predicted time is the least
//   fallback  takes what others refuse, as strides of any kind. Where they refuse nothing, it must be predicted at less
//             than half of their time: how long its little work takes is the model's least certain figure
//   lesson    a step of the textbook, which runs by name, and where nothing else fits
enum class Role : std::uint8_t { general, fallback, lesson };
inline constexpr double fallback_handicap = 2;
RIDGE_API std::string_view name(Role);

struct Candidate {
  std::string variant;
  std::string refusal;      // empty: it fits
  double predicted_us = 0;  // meaningful where it fits
  Role role = Role::general;
  bool fits() const { return refusal.empty(); }
};

// How the chosen kernel meets the device: what roofline works out of it. Times are us of the whole device.
struct Analysis {
  // What the predicted time is made of. Memory, latency and arithmetic overlap; the others come on top.
  struct Term {
    std::string name;
    double us = 0;
    std::string why;
  };
  std::vector<Term> terms;

  // The operator's operations per byte against what each level of memory feeds the unit that it keeps busiest.
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
  std::string limiter;           // what allows no more: threads, blocks, registers, shared memory or the grid
  double occupancy = 0;          // resident threads over what a multiprocessor holds
  double waves = 0, wave_efficiency = 0, tail_share = 0;  // tail_share: of the device that the last wave fills
  double tile_efficiency = 1;                             // of the elements that the tiles cover, those that exist
  double bytes_in_flight = 0, bytes_needed = 0;           // per multiprocessor; needed: rate times latency

  std::vector<std::string> advice;  // what would raise the ceiling, or bring the kernel nearer to it
};

struct Explanation {
  std::string op, problem, device, variant;
  Cost cost;
  std::string bound;  // memory, arithmetic or latency
  double least_us = 0, predicted_us = 0;
  std::size_t workspace_bytes = 0;
  Analysis analysis = {};
  std::vector<Candidate> candidates;  // in the table's order

  // For people, several lines. all: every row that does not fit with its refusal, in the table's order; else each
  // refusal once.
  RIDGE_API std::string text(bool all = false) const;
};

// The refusal of a variant's name: the nearest that there are.
RIDGE_API Status no_such_variant(std::string_view op, std::string_view wanted, std::span<const std::string_view> known);

template <class Row> constexpr Role role_of(const Row& row) {
  if constexpr (requires { row.role; }) return row.role;
  else return Role::general;
}

// Whether the plan prefers one row to another, of predicted times in us.
constexpr bool is_preferred(Role role, double us, Role to, double to_us) {
  if ((role == Role::lesson) != (to == Role::lesson)) return to == Role::lesson;
  const auto weighted = [](Role r, double time) { return r == Role::fallback ? time * fallback_handicap : time; };
  return weighted(role, us) < weighted(to, to_us);
}

// The row that fits and is preferred to the others, or the row that options name.
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
