// Which launches of a program are one record of the report, and which of them are watched.
//
// A record is of one line, shape and kernel, and of arguments with which the kernel does the same: launches that are
// given other arguments are watched too, and have a record of their own if what they do differs. A loop may pass ever
// other arguments, and watching is some ten times slower than running: so of arguments that change nothing ever fewer
// are watched, and both watched launches and records are bounded.
#pragma once
#include <ridge/lab/given.hpp>
#include <ridge/lab/record.hpp>

#include <cstddef>
#include <unordered_map>
#include <vector>

namespace ridge::lab {

class Records {
 public:
  // A launch that is to run. What it belongs to may be known only afterwards.
  struct Claim {
    std::size_t group = 0;
    std::uint64_t arguments = 0;
    std::int64_t number = 0;  // among the launches of its line and shape
    bool is_watched = false;  // whether it is to be
    Record start;             // what a new record begins with
  };
  Claim claim(const LaunchSite&, const simt::Config&, Given);

  // What became of it, and its record. `work`: what it did, if it was watched; `trace`: which of the trace's launches.
  Record& failed(const Claim&);
  Record& ran(const Claim&, const Work* work, std::size_t trace);

  const std::vector<Record>& all() const { return records_; }

 private:
  // Launches of one line and shape: what a GPU's times are told apart by, too (launch_timer.hpp).
  struct Shape {
    LaunchSite site;
    simt::Config config;
    std::int64_t launches = 0;
  };
  // Those among them of one kernel.
  struct Group {
    std::size_t shape = 0;
    const void *kernel = nullptr, *body = nullptr;
    std::unordered_map<std::uint64_t, std::size_t> record_of;  // by the hash of arguments
    std::vector<std::size_t> records;
    int watched = 0;
    int unseen = 0;          // hashes since the last new record
    std::size_t latest = 0;  // record
  };

  std::size_t shape_of(const LaunchSite&, const simt::Config&);
  std::size_t group_of(std::size_t shape, const Given&);
  static bool is_worth_watching(const Group&, const std::vector<Record>&, std::uint64_t arguments);
  std::size_t record_for(Group&, const Claim&, const Work*);
  std::size_t add(Group&, const Claim&);

  std::vector<Shape> shapes_;
  std::vector<Group> groups_;
  std::vector<Record> records_;
};

}  // namespace ridge::lab
