#include "findings.hpp"

#include "../strings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace ridge::cli::lab {
namespace {

namespace fs = std::filesystem;

struct Place {
  std::string file;
  int line = 0;
};

// "...in kernel(float*) /home/me/a.cu:12:5" names a file of the user's.
std::optional<Place> place_in(std::string_view line, const std::vector<fs::path>& files) {
  for (const fs::path& file : files) {
    const std::string name = file.string() + ":";
    const std::size_t at = line.find(name);
    if (at == line.npos) continue;
    Place place{.file = file.string()};
    std::from_chars(line.data() + at + name.size(), line.data() + line.size(), place.line);
    if (place.line > 0) return place;
  }
  return std::nullopt;
}

// The first frame of the user's from a line on, up to the blank line that ends the frames.
std::optional<Place> first_frame(const std::vector<std::string>& lines, std::size_t from,
                                 const std::vector<fs::path>& files) {
  for (std::size_t i = from; i < lines.size() && !lines[i].empty(); ++i)
    if (lines[i].find(" #") != lines[i].npos)
      if (const auto place = place_in(lines[i], files)) return place;
  return std::nullopt;
}

std::string spelled(const Place& place) {
  return fs::path(place.file).filename().string() + ":" + std::to_string(place.line);
}

// The word before " of size N": "read", "write", "atomic write"; and its size.
struct Access {
  std::string what;
  std::string size;
};
std::optional<Access> access_in(std::string_view line) {
  const std::size_t of = line.find(" of size ");
  if (of == line.npos) return std::nullopt;
  Access access;
  for (const char c : line.substr(0, of)) access.what += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  access.what.erase(0, access.what.find_first_not_of(' '));
  if (access.what.starts_with("previous ")) access.what.erase(0, 9);
  const std::size_t digits = of + 9;
  access.size = line.substr(digits, line.find(' ', digits) - digits);
  return access;
}

std::string verb(const std::string& what) {
  if (what.ends_with("write")) return "writes";
  return what.ends_with("read") ? "reads" : "accesses";
}

class Collector {
 public:
  Collector(std::string_view messages, const std::vector<fs::path>& files)
      : files_(files), lines_(text_lines(messages)) {}

  std::vector<Finding> all() {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::string_view line = lines_[i];
      if (line.find("ThreadSanitizer: data race") != line.npos) race(i);
      else if (line.find("ERROR: AddressSanitizer: ") != line.npos) bad_address(i);
      else if (line.find(": runtime error: ") != line.npos) undefined(line);
    }
    return std::move(findings_);
  }

 private:
  void add(const Place& at, std::string sentence) {
    Finding finding{at.file, at.line, std::move(sentence)};
    if (std::ranges::find(findings_, finding) == findings_.end()) findings_.push_back(std::move(finding));
  }

  void race(std::size_t from) {
    std::vector<std::pair<Access, Place>> sides;
    for (std::size_t i = from + 1; i < lines_.size() && !lines_[i].starts_with("====") && sides.size() < 2; ++i)
      if (const auto access = access_in(lines_[i]))
        if (const auto place = first_frame(lines_, i + 1, files_)) sides.push_back({*access, *place});
    if (sides.size() < 2) return;
    // The same two lines, whichever comes first.
    if (std::pair(sides[1].second.file, sides[1].second.line) < std::pair(sides[0].second.file, sides[0].second.line))
      std::swap(sides[0], sides[1]);
    add(sides[0].second, fmt::format("race: a thread {} what another {} at {}, and no barrier orders them",
                                     verb(sides[0].first.what), verb(sides[1].first.what), spelled(sides[1].second)));
  }

  void bad_address(std::size_t from) {
    std::string_view kind = lines_[from];
    kind.remove_prefix(kind.find("AddressSanitizer: ") + 18);
    kind = kind.substr(0, kind.find(' '));
    std::string sentence, where, thread;
    std::optional<Place> at, allocated;
    for (std::size_t i = from + 1; i < lines_.size() && !lines_[i].starts_with("SUMMARY: "); ++i) {
      const std::string_view line = lines_[i];
      if (const auto access = access_in(line); access && !at) {
        sentence = verb(access->what) + " " + access->size + " bytes";
        at = first_frame(lines_, i + 1, files_);
      }
      if (line.find(" #0 ") != line.npos && !at) at = first_frame(lines_, i, files_);
      if (const std::size_t is = line.find(" is located "); is != line.npos && where.empty()) {
        where = line.substr(is + 12);
        where = where.substr(0, where.find(" ["));
      }
      if (line.find("allocated by ") != line.npos && !allocated) allocated = first_frame(lines_, i + 1, files_);
    }
    for (const std::string_view line : lines_)  // the runtime's own note (ridge/lab/reporter.hpp)
      if (line.starts_with("ridge lab: ") && thread.empty()) thread = line.substr(11);
    if (!at) return;
    if (sentence.empty()) sentence = "accesses memory";
    std::string how = " out of bounds";
    if (kind == "heap-use-after-free") how = " after it was freed";
    else if (kind == "SEGV") how = " at an address that nobody has";
    else if (kind == "stack-overflow") how = ": the stack is full";
    add(*at,
        fmt::format("{}{}{}{}{} ({})", thread.empty() ? "" : thread + " ", sentence, how,
                    where.empty() ? "" : ": " + where, allocated ? ", allocated at " + spelled(*allocated) : "", kind));
  }

  void undefined(std::string_view line) {
    if (const auto at = place_in(line, files_)) add(*at, std::string(line.substr(line.find(": runtime error: ") + 17)));
  }

  const std::vector<fs::path>& files_;
  std::vector<std::string> lines_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> findings_of(std::string_view messages, const std::vector<fs::path>& files) {
  return Collector(messages, files).all();
}

}  // namespace ridge::cli::lab
