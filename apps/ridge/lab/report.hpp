// What the lab found out about a file, for people. The run's own report (ridge/lab/record.hpp) is JSON.
#pragma once
#include "../json.hpp"
#include "findings.hpp"

#include <string>
#include <vector>

namespace ridge::cli::lab {

struct Report {
  std::string file;
  Json run;                          // of the traced run; null where it did not get to its end
  std::vector<Finding> findings;     // of all runs
  bool is_whole = true;              // every run got to its end
  std::vector<std::string> remarks;  // "bounds: stopped after 120 s"
  Json times;                        // measured on a GPU (times.hpp); null where none were
};

// Those of the run and of the sanitizers, each once.
std::vector<Finding> all_findings(const Report&);

void print_launches(const Report&);  // of the traced run, with its lines
void print_findings(const Report&);
Json to_json(const Report&);

}  // namespace ridge::cli::lab
