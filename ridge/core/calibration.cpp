#include <ridge/core/calibration.hpp>
#include <ridge/core/file.hpp>
#include <ridge/core/json.hpp>
#include <ridge/core/text.hpp>

#include <charconv>
#include <cstdlib>

namespace ridge {

namespace {

struct Figure {
  const char* name;  // in the file and to the user
  double Calibration::*value;
  double DeviceInfo::*place;  // null: kept, but plans do not use it
};
constexpr Figure figures[] = {{"memory_gbs", &Calibration::memory_gbs, &DeviceInfo::memory_gbs},
                              {"read_gbs", &Calibration::read_gbs, &DeviceInfo::read_gbs},
                              {"fp32_tflops", &Calibration::fp32_tflops, &DeviceInfo::fp32_tflops},
                              {"fp64_tflops", &Calibration::fp64_tflops, &DeviceInfo::fp64_tflops},
                              {"fp16_tflops", &Calibration::fp16_tflops, &DeviceInfo::fp16_tflops},
                              // The time of the shortest kernel. The model's launch time is fitted: it is what larger
                              // kernels cost before they reach memory's rate (roofline/predict.cpp).
                              {"shortest_kernel_us", &Calibration::shortest_kernel_us, nullptr}};

// The text that follows "key": in a flat object; empty where there is no such key.
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
  const std::string text(value.substr(0, value.find('"')));
  return text.find('\\') == text.npos && printable(text) == text ? text : std::string();  // no name needs an escape
}

// Whether this text may follow a number: after a comma comes the next member, not decimals.
bool ends_number(std::string_view rest) {
  if (rest.starts_with(',')) return rest.size() > 1 && !(rest[1] >= '0' && rest[1] <= '9');
  return rest.starts_with('}') || rest.starts_with(' ') || rest.starts_with('\n');
}

// Whether a figure is 0 or within what any hardware may reach. Far outside, a prediction leaves the range of doubles.
bool is_plausible(double figure) { return figure == 0 || (figure >= 1e-6 && figure <= 1e9); }

}  // namespace

std::filesystem::path Calibration::file_of(std::string_view device) {
  std::string name;
  for (char c : device) {
    const char lower = lower_case(c);
    name += (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ? c : '-';
  }
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path folder;
  if (cache && *cache) folder = cache;
  else if (home && *home) folder = std::filesystem::path(home) / ".cache";
  else return {};
  return folder / "ridge" / ("calibration-" + name + ".json");
}

std::optional<Calibration> Calibration::read(std::string_view device) {
  return parse(device, read_file(file_of(device)).value_or(""));
}

std::optional<Calibration> Calibration::parse(std::string_view device, std::string_view json) {
  Calibration c{.device = text_of(json, "device"), .date = text_of(json, "date")};
  if (c.device != device || c.device.empty() || c.date.empty()) return std::nullopt;
  for (const Figure& f : figures) {
    const std::string_view number = after_key(json, f.name);
    if (number.empty()) continue;
    double& value = c.*f.value;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    const std::string_view rest = number.substr(static_cast<std::size_t>(end - number.data()));
    if (error != std::errc() || !ends_number(rest) || !is_plausible(value)) return std::nullopt;
  }
  return c;
}

Result<std::filesystem::path> Calibration::write() const {
  const std::filesystem::path path = file_of(device);
  std::error_code error;
  if (!path.empty()) std::filesystem::create_directories(path.parent_path(), error);
  if (path.empty() || !replace_file(path, text()))
    return Status::error(Code::io, "calibration file '" + path.string() + "' cannot be written");
  return path;
}

std::string Calibration::text() const {
  std::string json = "{\n  \"device\": " + json_text(device) + ",\n  \"date\": " + json_text(date);
  for (const Figure& f : figures) {
    const double value = is_plausible(this->*f.value) ? this->*f.value : 0;
    json += ",\n  \"" + std::string(f.name) + "\": " + number_text(value);
  }
  return json + "\n}\n";
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
