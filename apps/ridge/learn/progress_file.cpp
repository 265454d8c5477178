#include "progress_file.hpp"

#include "../json.hpp"
#include "../terminal.hpp"

#include <ridge/core/file.hpp>

#include <cstdlib>
#include <filesystem>

namespace ridge::cli::learn {

namespace fs = std::filesystem;

// The XDG base directories: a path that is not absolute counts as none.
static std::string state_path() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && *state == '/') return (fs::path(state) / "ridge/learn.json").string();
  const char* home = std::getenv("HOME");
  return home && *home == '/' ? (fs::path(home) / ".local/state/ridge/learn.json").string() : "";
}

ProgressFile::ProgressFile() : path_(state_path()) {
  try {
    const Json json = Json::parse(read_file(path_).value_or("{}"));
    const Json done = json.value("done", Json::array()), hints = json.value("hints", Json::object());
    for (const Json& name : done) done_.insert(name);
    for (const auto& [name, count] : hints.items()) hints_[name] = count;
  } catch (const Json::exception&) {
    done_.clear();
    hints_.clear();
  }
}

std::size_t ProgressFile::hints_shown(const std::string& exercise) const {
  const auto at = hints_.find(exercise);
  return at == hints_.end() ? 0 : at->second;
}

void ProgressFile::set_done(const std::string& exercise) {
  if (done_.insert(exercise).second) write();
}

void ProgressFile::set_hints_shown(const std::string& exercise, std::size_t count) {
  hints_[exercise] = count;
  write();
}

void ProgressFile::write() const {
  if (path_.empty()) return say_to(stderr, "progress is not kept: neither XDG_STATE_HOME nor HOME is set\n");
  std::error_code ignored;
  fs::create_directories(fs::path(path_).parent_path(), ignored);
  if (!replace_file(path_, dump({{"done", done_}, {"hints", hints_}})))
    say_to(stderr, "progress is not kept: {} cannot be written\n", path_);
}

}  // namespace ridge::cli::learn
