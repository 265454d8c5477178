#include <ridge/core/file.hpp>
#include <ridge/core/text.hpp>
#include <ridge/core/tuning.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

namespace ridge {

namespace {

constexpr std::string_view first_line = "ridge tuning 1";

std::string key_of(std::string_view device, std::string_view op, std::string_view problem) {
  return std::string(device) + '\t' + std::string(op) + '\t' + std::string(problem);
}

std::set<std::string_view>& tuned_ops() {
  static std::set<std::string_view> names;  // filled by static initialisers
  return names;
}

}  // namespace

Result<Tuning> Tuning::read(const std::filesystem::path& path) {
  const auto wrong = [&](const std::string& why) {
    return Status::error(Code::io, "tuning file '" + path.string() + "' " + why);
  };
  const std::optional<std::string> text = read_file(path);
  if (!text || text->empty()) return wrong("cannot be read");
  std::size_t at = 0;
  const auto next_line = [&] {
    const std::size_t begin = at, end = text->find('\n', at);
    at = end == std::string::npos ? std::string::npos : end + 1;
    return text->substr(begin, end - begin);
  };
  if (next_line() != first_line) return wrong("does not begin with '" + std::string(first_line) + "'");
  Tuning tuning;
  for (int number = 2; at < text->size(); ++number) {
    const std::string line = next_line();
    const std::size_t us_at = line.rfind('\t');
    const std::size_t variant_at = us_at == 0 || us_at == std::string::npos ? us_at : line.rfind('\t', us_at - 1);
    const std::string key = line.substr(0, variant_at == std::string::npos ? 0 : variant_at);
    char* end = nullptr;
    const double us = us_at == std::string::npos ? 0 : std::strtod(line.c_str() + us_at + 1, &end);
    // A line that was cut off at the file's end lacks its end.
    if (std::count(key.begin(), key.end(), '\t') != 2 || variant_at + 1 == us_at || !std::isfinite(us) || us <= 0 ||
        *end != '\0' || at == std::string::npos)
      return wrong("is corrupt in line " + std::to_string(number));
    tuning.entries_[key] = {line.substr(variant_at + 1, us_at - variant_at - 1), us};
  }
  return tuning;
}

Result<const Tuning*> Tuning::from_environment() {
  struct Read {
    Result<Tuning> tuning{Tuning{}};
    bool named = false;
  };
  static const Read once = [] {
    const char* path = std::getenv("RIDGE_TUNE_CACHE");
    return path && *path ? Read{Tuning::read(path), true} : Read{};
  }();
  if (!once.tuning) return once.tuning.error();
  return once.named ? &once.tuning.value() : nullptr;
}

Status Tuning::write(const std::filesystem::path& path) const {
  Text text;
  text << first_line << "\n";
  for (const auto& [key, entry] : entries_) text << key << "\t" << entry.variant << "\t" << entry.us << "\n";
  if (replace_file(path, text.str())) return {};
  return Status::error(Code::io, "tuning file '" + path.string() + "' cannot be written");
}

const Tuning::Entry* Tuning::find(std::string_view device, std::string_view op, std::string_view problem) const {
  const auto found = entries_.find(key_of(device, op, problem));
  return found == entries_.end() ? nullptr : &found->second;
}

void Tuning::set(std::string_view device, std::string_view op, std::string_view problem, Entry entry) {
  entries_[key_of(device, op, problem)] = std::move(entry);
}

RegisterTuned::RegisterTuned(std::string_view op) { tuned_ops().insert(op); }
bool is_tuned(std::string_view op) { return tuned_ops().contains(op); }

}  // namespace ridge
