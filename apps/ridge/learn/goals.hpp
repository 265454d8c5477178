// What an exercise asks for besides the right result: bounds of figures in the lab's report (ridge/lab/record.cpp).
//
//   {"what": "sectors", "kind": "store", "of": "least", "at_most": 1.05,
//    "goal": "the stores take no more sectors than they must",
//    "else": "the stores of a warp take {value} times the sectors that they must"}
//
// what  sectors, wavefronts, requests, lanes of the accesses; divergent: branches at which a warp parts; launches;
//       predicted_us, dram_bytes, l2_bytes of all launches; blocks, threads, occupancy and shared_bytes of the launch
//       that is furthest from the goal
// of    what the figure is divided by: least, requests, warps, blocks, threads or launches; nothing where it is missing
#pragma once
#include "../json.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace ridge::cli::learn {

struct Goal {
  std::string what, space, kind, of;  // space, kind: only such accesses; empty: all
  std::optional<double> at_most, at_least;
  std::string goal, otherwise;
  bool is_met_by(double value) const { return !(at_most && value > *at_most) && !(at_least && value < *at_least); }
};

// Throws Json::exception where a member is missing or of another type.
Goal goal_of(const Json&);

// A goal's figure, and the line that does most about it.
struct Figure {
  double value = 0;
  Json line;  // file, line and perhaps source; null where no line is to blame
};

// Of the launches of `kernel`, all where it is empty. None where there is no such launch, or none that was watched.
std::optional<Figure> figure_of(const Goal&, const Json& run, std::string_view kernel);

std::string failing_text(const Goal&, double value);  // "the stores ... take 8 times ...; the goal: ..."
std::string figure_text(const Goal&, double value);   // "store sectors / least 1 (at most 1.05)"

}  // namespace ridge::cli::learn
