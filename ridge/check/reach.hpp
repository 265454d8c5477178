// Which rows of an operator's table an architecture of NVIDIA's can run, as their fits() say: a test holds it against
// what an architecture can have at all, and `ridge devices --rows` prints it.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/core/device.hpp>

#include <array>
#include <string>
#include <vector>

namespace ridge::check {

// Compute capabilities that differ in what plans choose from.
inline constexpr std::array architectures{75, 80, 86, 89, 90, 100, 120};

struct Reach {
  std::string row;
  std::array<bool, architectures.size()> fits{};  // in one of the book's cases at least, on a GPU of each architecture
};

// In the table's order. The GPUs are alike in all but compute capability, so that a row that does not fit lacks
// instructions, and not room.
std::vector<Reach> reach_of(const CaseBook&);

// The rows that fit one of the book's cases at least on this device.
std::vector<std::string> rows_on(const CaseBook&, const DeviceInfo&);

// The book's cases as a plan sees them, each once: without variants, fills and seeds.
std::vector<Case> cases_to_plan(const CaseBook&);

}  // namespace ridge::check
