#include <ridge/core/file.hpp>
#include <ridge/core/text.hpp>
#include <ridge/core/tuning.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <unistd.h>

namespace ridge {

namespace {

constexpr std::string_view first_line = "ridge tuning 2";

std::string key_of(std::string_view device, std::string_view op, std::string_view problem) {
  return std::string(RIDGE_VERSION) + '\t' + std::string(device) + '\t' + std::string(op) + '\t' + std::string(problem);
}

// A lock that is held while a file is read and rewritten. It locks a file beside it, because the file is replaced.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& path) {
    // A name at the system's limit is cut. Two files may then share a lock, and only wait for one another.
    constexpr std::string_view end = ".lock";
    const std::string name = path.filename().string().substr(0, NAME_MAX - end.size()) + std::string(end);
    file_ = open((path.parent_path() / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    while (file_ >= 0 && flock(file_, LOCK_EX) != 0)
      if (errno != EINTR) close(std::exchange(file_, -1));
  }
  ~FileLock() {
    if (file_ < 0) return;
    flock(file_, LOCK_UN);  // closing alone would leave the lock with a process that was forked meanwhile
    close(file_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  bool held() const { return file_ >= 0; }

 private:
  int file_ = -1;
};

constexpr int not_set = -1;
std::atomic<int> mode_set = not_set;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::optional<TuneMode> tune_mode_of(std::string_view text) {
  if (text == "0") return TuneMode::off;
  if (text == "1") return TuneMode::measure;
  if (text == "read") return TuneMode::read;
  return std::nullopt;
}

void set_tuning(TuneMode mode) { mode_set = static_cast<int>(mode); }

Result<TuneMode> tuning_mode() {
  if (const int set = mode_set; set != not_set) return static_cast<TuneMode>(set);
  const std::string_view wanted = environment("RIDGE_TUNE");
  if (const auto mode = tune_mode_of(wanted)) return *mode;
  if (wanted.empty()) return environment("RIDGE_TUNE_CACHE").empty() ? TuneMode::off : TuneMode::read;
  return Status::error(Code::invalid_argument, "RIDGE_TUNE is '" + std::string(wanted) + "'; it must be 0, 1 or read");
}

std::filesystem::path tuning_path() {
  if (const auto named = environment("RIDGE_TUNE_CACHE"); !named.empty()) return named;
  if (const auto cache = environment("XDG_CACHE_HOME"); !cache.empty())
    return std::filesystem::path(cache) / "ridge" / "tuning";
  return std::filesystem::path(environment("HOME")) / ".cache" / "ridge" / "tuning";
}

static Status wrong_file(const std::filesystem::path& path, const std::string& why) {
  return Status::error(Code::io, "tuning file '" + path.string() + "' " + why);
}

Result<Tuning> Tuning::read(const std::filesystem::path& path) {
  const std::optional<std::string> text = read_file(path);
  if (!text || text->empty()) return wrong_file(path, "cannot be read");
  return parse(*text, path);
}

Result<Tuning> Tuning::parse(std::string_view text, const std::filesystem::path& path) {
  const auto wrong = [&](const std::string& why) { return wrong_file(path, why); };
  std::size_t at = 0;
  const auto next_line = [&] {
    const std::size_t begin = at, end = text.find('\n', at);
    at = end == std::string::npos ? std::string::npos : end + 1;
    return text.substr(begin, end - begin);
  };
  if (next_line() != first_line) return wrong("does not begin with '" + std::string(first_line) + "'");
  Tuning tuning;
  for (int number = 2; at < text.size(); ++number) {
    const std::string_view line = next_line();
    const std::size_t us_at = line.rfind('\t');
    const std::size_t variant_at = us_at == 0 || us_at == std::string::npos ? us_at : line.rfind('\t', us_at - 1);
    const std::string key(line.substr(0, variant_at == std::string::npos ? 0 : variant_at));
    double us = 0;
    const char* const line_end = line.data() + line.size();
    const char* digits = line.data() + (us_at == std::string::npos ? line.size() : us_at + 1);
    const char* const end = std::from_chars(digits, line_end, us).ptr;
    // A line that was cut off at the file's end has no newline.
    if (std::count(key.begin(), key.end(), '\t') != 3 || variant_at + 1 == us_at || !std::isfinite(us) || us <= 0 ||
        end != line_end || at == std::string::npos)
      return wrong("is corrupt in line " + std::to_string(number));
    tuning.entries_[key] = {std::string(line.substr(variant_at + 1, us_at - variant_at - 1)), us};
  }
  return tuning;
}

Result<Tuning> Tuning::kept(TuneMode mode) {
  const std::filesystem::path path = tuning_path();
  const bool must_be_there = mode == TuneMode::read && !environment("RIDGE_TUNE_CACHE").empty();
  if (std::error_code ignored; !must_be_there && !std::filesystem::exists(path, ignored)) return Tuning{};
  return read(path);
}

Result<const Tuning*> Tuning::from_environment() {
  struct Read {
    Result<Tuning> tuning{Tuning{}};
    bool on = false;
  };
  // Read once, without a lock: a child that was forked meanwhile would wait for it for ever. Two threads may both read;
  // the first one's is kept.
  static std::atomic<const Read*> known{nullptr};
  const Read* read = known.load(std::memory_order_acquire);
  if (!read) {
    const auto mode = tuning_mode();
    auto mine = std::make_unique<const Read>(!mode                    ? Read{mode.error(), true}
                                             : *mode == TuneMode::off ? Read{}
                                                                      : Read{kept(*mode), true});
    if (known.compare_exchange_strong(read, mine.get(), std::memory_order_acq_rel)) read = mine.release();
  }
  if (!read->tuning) return read->tuning.error();
  return read->on ? &read->tuning.value() : nullptr;
}

std::string Tuning::text() const {
  Text text;
  text << first_line << "\n";
  for (const auto& [key, entry] : entries_) text << key << "\t" << entry.variant << "\t" << entry.us << "\n";
  return text.str();
}

Status Tuning::write(const std::filesystem::path& path) const {
  return replace_file(path, text()) ? Status{} : wrong_file(path, "cannot be written");
}

Status Tuning::add_to(const std::filesystem::path& path) const {
  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  const FileLock lock(path);
  if (!lock.held()) return wrong_file(path, "cannot be written");
  Tuning all;
  if (std::filesystem::exists(path, ignored)) {
    auto before = read(path);
    if (!before) return before.error();
    all = std::move(*before);
  }
  for (const auto& [key, entry] : entries_) all.entries_[key] = entry;
  return all.write(path);
}

const Tuning::Entry* Tuning::find(std::string_view device, std::string_view op, std::string_view problem) const {
  const auto found = entries_.find(key_of(device, op, problem));
  return found == entries_.end() ? nullptr : &found->second;
}

void Tuning::set(std::string_view device, std::string_view op, std::string_view problem, Entry entry) {
  entries_[key_of(device, op, problem)] = std::move(entry);
}

}  // namespace ridge
