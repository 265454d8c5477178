// What every plan has in common: the choice among a table of variants, and the account of that choice.
//
// Planning is a pure function of (problem, device info, options). The table searched is the table instantiated;
// fits() is the only capability predicate, and its sentence reaches the user.
#pragma once
#include <ridge/core/cost.hpp>
#include <ridge/core/device.hpp>
#include <ridge/core/status.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ridge {

struct PlanOptions {
  std::string variant;  // a row of the table by name; empty: the plan chooses
};

struct Candidate {
  std::string variant;
  std::string refusal;      // empty: it fits
  double predicted_us = 0;  // meaningful where it fits
  bool fits() const { return refusal.empty(); }
};

struct Explanation {
  std::string op, problem, device, variant;
  Cost cost;
  std::string bound;  // memory, arithmetic or latency
  double least_us = 0, predicted_us = 0;
  std::size_t workspace_bytes = 0;
  std::vector<Candidate> candidates;  // in the table's order

  RIDGE_API std::string text() const;
};

// The row that fits with the least predicted time, or the row that options name.
//   fits(row) -> std::string, the sentence of a refusal or empty;  predict_us(row) -> double
// `record`, if given, receives every row with its refusal or predicted time.
template <class Row, class Fits, class Predict>
Result<int> select(std::string_view op, std::span<const Row> table, const PlanOptions& options, Fits&& fits,
                   Predict&& predict_us, std::vector<Candidate>* record = nullptr) {
  int chosen = -1;
  double least = 0;
  std::string known, refusals;
  for (int i = 0; i < static_cast<int>(table.size()); ++i) {
    const Row& row = table[i];
    const bool named = options.variant == row.name;
    if (!options.variant.empty() && !named && !record) continue;
    std::string refusal = fits(row);
    const double us = refusal.empty() ? predict_us(row) : 0;
    if (named && !refusal.empty() && !record)
      return Status::refuse(Code::unsupported, op, "variant", std::string(row.name), "another one here: " + refusal);
    const bool eligible = refusal.empty() && (options.variant.empty() || named);
    if (eligible && (chosen < 0 || us < least)) {
      chosen = i;
      least = us;
    }
    if (!refusal.empty()) refusals += (refusals.empty() ? "" : "; ") + std::string(row.name) + ": " + refusal;
    if (record) record->push_back(Candidate{std::string(row.name), refusal, us});
  }
  if (chosen >= 0) return chosen;
  if (refusals.empty() && !options.variant.empty()) {
    for (const Row& row : table) known += (known.empty() ? "" : " ") + std::string(row.name);
    return Status::invalid(op, "variant", "'" + options.variant + "'", "one of " + known);
  }
  return Status::error(Code::unsupported, std::string(op) + ": no variant takes this problem (" + refusals + ")");
}

}  // namespace ridge
