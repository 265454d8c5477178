// Isolated: tries cases in a child process, so that a crash or a hang is a finding like any other.
#pragma once
#include <ridge/check/fuzz.hpp>

#include <cstdint>
#include <functional>

namespace ridge::check {

// Memory shared by parent and child: the current case, and the last finding.
class Board {
 public:
  Board();
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // Called by the child: this case begins now.
  void begin(const Case&);
  void report(const Verdict&);

  // Counts of a campaign's cases: those begun, and those ended with each kind of verdict.
  std::uint64_t begun() const;
  void count_begun();
  std::uint64_t ended(Verdict::Kind) const;
  void count_ended(Verdict::Kind);

  // Runs `work` in a child until it ends, dies, or a case takes longer than `seconds_of_a_case`. Returns what the child
  // reported or how it died; `right` without a finding. `bytes` limits the child's memory; 0: no limit.
  Verdict run(const std::function<void()>& work, double seconds_of_a_case, std::size_t bytes);

 private:
  struct Shared;
  Shared* shared_;
};

}  // namespace ridge::check
