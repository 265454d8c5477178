// Isolated: cases are tried in a child process, so that one that crashes or hangs is a finding like any other.
#pragma once
#include <ridge/check/fuzz.hpp>

#include <cstdint>
#include <functional>

namespace ridge::check {

// Memory that parent and child both see: the case at hand, and what was found of the last one.
class Board {
 public:
  Board();
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // The child's: this case begins now.
  void begin(const Case&);
  void report(const Verdict&);

  // Cases of a campaign: how many have begun, and how many ended in each kind.
  std::uint64_t begun() const;
  void count_begun();
  std::uint64_t ended(Verdict::Kind) const;
  void count_ended(Verdict::Kind);

  // Runs `work` in a child, to its end, its death, or until a case has taken so many seconds. What it reported, or how
  // it died; `right` where there is nothing to tell. A child may have so many bytes of memory; 0: as many as there are.
  Verdict run(const std::function<void()>& work, double seconds_of_a_case, std::size_t bytes);

 private:
  struct Shared;
  Shared* shared_;
};

}  // namespace ridge::check
