#include <ridge/core/calibration.hpp>
#include <ridge/core/file.hpp>

#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace ridge {

namespace {

struct Figure {
  const char* name;  // in the file and to the user
  double Calibration::*value;
  double DeviceInfo::*place;  // null: kept, and not used by plans
};
constexpr Figure figures[] = {{"memory_gbs", &Calibration::memory_gbs, &DeviceInfo::memory_gbs},
                              {"read_gbs", &Calibration::read_gbs, &DeviceInfo::read_gbs},
                              {"fp32_tflops", &Calibration::fp32_tflops, &DeviceInfo::fp32_tflops},
                              {"fp64_tflops", &Calibration::fp64_tflops, &DeviceInfo::fp64_tflops},
                              {"fp16_tflops", &Calibration::fp16_tflops, &DeviceInfo::fp16_tflops},
                              // The shortest kernel there is; the model's launch is what larger ones cost before they
                              // reach memory's rate, fitted (roofline/predict.cpp).
                              {"shortest_kernel_us", &Calibration::shortest_kernel_us, nullptr}};

// What follows "key": in a flat object; empty where the key is not there.
std::string_view after_key(std::string_view json, std::string_view key) {
  const std::string quoted = "\"" + std::string(key) + "\":";
  const std::size_t at = json.find(quoted);
  if (at == std::string_view::npos) return {};
  json.remove_prefix(at + quoted.size());
  while (!json.empty() && json.front() == ' ') json.remove_prefix(1);
  return json;
}

std::string text_of(std::string_view json, std::string_view key) {
  std::string_view value = after_key(json, key);
  if (!value.starts_with('"')) return {};
  value.remove_prefix(1);
  return std::string(value.substr(0, value.find('"')));
}

}  // namespace

std::filesystem::path Calibration::file_of(std::string_view device) {
  std::string name;
  for (char c : device) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path folder;
  if (cache && *cache) folder = cache;
  else if (home && *home) folder = std::filesystem::path(home) / ".cache";
  else return {};
  return folder / "ridge" / ("calibration-" + name + ".json");
}

std::optional<Calibration> Calibration::read(std::string_view device) {
  const std::string json = read_file(file_of(device)).value_or("");
  Calibration c{.device = text_of(json, "device"), .date = text_of(json, "date")};
  if (c.device != device || c.device.empty() || c.date.empty()) return std::nullopt;
  for (const Figure& f : figures) {
    const std::string number(after_key(json, f.name).substr(0, 32));
    if (number.empty()) continue;
    const double value = std::strtod(number.c_str(), nullptr);
    if (!std::isfinite(value) || value < 0) return std::nullopt;
    c.*f.value = value;
  }
  return c;
}

Result<std::filesystem::path> Calibration::write() const {
  const std::filesystem::path path = file_of(device);
  std::error_code error;
  if (!path.empty()) std::filesystem::create_directories(path.parent_path(), error);
  std::string json = "{\n  \"device\": \"" + device + "\",\n  \"date\": \"" + date + "\"";
  for (const Figure& f : figures) {
    char line[64];
    std::snprintf(line, sizeof line, ",\n  \"%s\": %.17g", f.name, this->*f.value);
    json += line;
  }
  if (path.empty() || !replace_file(path, json + "\n}\n"))
    return Status::error(Code::io, "calibration file '" + path.string() + "' cannot be written");
  return path;
}

void Calibration::apply(DeviceInfo& info) const {
  std::string names;
  for (const Figure& f : figures)
    if (f.place && this->*f.value > 0) {
      info.*f.place = this->*f.value;
      names += (names.empty() ? "" : ", ") + std::string(f.name);
    }
  if (!names.empty()) info.measured = names + " (" + date + ")";
}

}  // namespace ridge
