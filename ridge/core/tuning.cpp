#include <ridge/core/tuning.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
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
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) return wrong("cannot be read");
  if (line != first_line) return wrong("does not begin with '" + std::string(first_line) + "'");
  Tuning tuning;
  for (int number = 2; std::getline(file, line); ++number) {
    const std::size_t us_at = line.rfind('\t');
    const std::size_t variant_at = us_at == 0 || us_at == std::string::npos ? us_at : line.rfind('\t', us_at - 1);
    const std::string key = line.substr(0, variant_at == std::string::npos ? 0 : variant_at);
    char* end = nullptr;
    const double us = us_at == std::string::npos ? 0 : std::strtod(line.c_str() + us_at + 1, &end);
    // getline() ends a line at the file's end too: one that was cut off there lacks its end.
    if (std::count(key.begin(), key.end(), '\t') != 2 || variant_at + 1 == us_at || !std::isfinite(us) || us <= 0 ||
        *end != '\0' || file.eof())
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
  std::filesystem::path whole = path;
  whole += "." + std::to_string(getpid());
  std::ofstream file(whole);
  file << first_line << '\n';
  for (const auto& [key, entry] : entries_) {
    char us[32];
    std::snprintf(us, sizeof us, "%.6g", entry.us);
    file << key << '\t' << entry.variant << '\t' << us << '\n';
  }
  file.close();
  std::error_code error;
  if (file.good()) std::filesystem::rename(whole, path, error);
  if (!file.good() || error) {
    std::filesystem::remove(whole, error);
    return Status::error(Code::io, "tuning file '" + path.string() + "' cannot be written");
  }
  return {};
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
