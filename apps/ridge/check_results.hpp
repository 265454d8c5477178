// CheckResults: what cases came to that were compared with the oracle, for people and for programs.
#pragma once
#include "json.hpp"

#include <ridge/check/harness.hpp>

#include <string>
#include <vector>

namespace ridge::cli {

struct CheckResults {
  struct Tally {
    std::string op;
    int cases = 0, passed = 0, refused = 0, failed = 0;
    double worst = 0;
  };
  std::vector<Tally> tallies;  // by operator, in the order they were run
  std::vector<check::Outcome> outcomes;
  int failed = 0;

  void add(const std::string& op, const std::vector<check::Outcome>& of_case);
};

void print_failure(const check::Outcome&);
void print_summary(const CheckResults&);
Json to_json(const CheckResults&);

}  // namespace ridge::cli
