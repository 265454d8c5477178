// Summary: converts the counts per instruction to counts per source line, for the launches of a session.
#pragma once
#include <ridge/simt/trace/recorder.hpp>

#include <map>
#include <utility>
#include <vector>

namespace ridge::simt::trace {

class Summary {
 public:
  void add(const Config&, const detail::Entry&, const Recorder&);
  Report report() const;
  Launch latest() const;  // sums by space and kind, for which no lines need be found

 private:
  struct Recorded {
    Launch launch;
    std::uintptr_t kernel = 0;
    std::vector<Site> sites;
    std::map<std::pair<int, int>, std::int64_t> races;
  };
  std::vector<Recorded> launches_;
};

}  // namespace ridge::simt::trace
