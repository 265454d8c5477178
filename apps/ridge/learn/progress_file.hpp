// What a learner has done and seen so far, in $XDG_STATE_HOME/ridge/learn.json.
#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace ridge::cli::learn {

class ProgressFile {
 public:
  ProgressFile();  // as the file says; nothing done where there is none, or where it says something else

  bool is_done(const std::string& exercise) const { return done_.contains(exercise); }
  std::size_t hints_shown(const std::string& exercise) const;

  // Each writes the file. That it cannot be written is said on stderr, and is no reason to fail.
  void set_done(const std::string& exercise);
  void set_hints_shown(const std::string& exercise, std::size_t count);

 private:
  void write() const;

  std::string path_;  // empty: there is no place for it
  std::set<std::string> done_;
  std::map<std::string, std::size_t> hints_;
};

}  // namespace ridge::cli::learn
