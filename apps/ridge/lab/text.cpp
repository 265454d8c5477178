#include "text.hpp"

#include <ridge/core/text.hpp>

#include <fmt/core.h>

#include <cstdint>
#include <filesystem>

namespace ridge::cli::lab {

static std::string base(const std::string& file) { return std::filesystem::path(file).filename().string(); }

std::string place_text(const Json& at) {
  const int line = at.value("line", 0);
  return base(at.value("file", "")) + (line > 0 ? ":" + std::to_string(line) : "");
}
std::string place_text(const Finding& f) { return base(f.file) + ":" + std::to_string(f.line); }

std::string dim_text(const Json& d) {
  const auto n = [&](int i) { return d[static_cast<std::size_t>(i)].get<std::uint64_t>(); };
  std::string text = std::to_string(n(0));
  if (n(1) > 1 || n(2) > 1) text += "," + std::to_string(n(1));
  if (n(2) > 1) text += "," + std::to_string(n(2));
  return "(" + text + ")";
}

std::string summary_text(const Report& report) {
  std::int64_t launches = 0;
  double us = 0;
  for (const Json& launch : report.run["launches"]) {
    launches += launch["launches"].get<std::int64_t>();
    us += launch["predicted_us"].get<double>();
  }
  return fmt::format("{} on a model of {}: {} {}{}; at most {} of device memory", report.file,
                     report.run["device"].get<std::string>(), launches, launches == 1 ? "launch" : "launches",
                     us > 0 ? ", " + time_text(us) + " in kernels by prediction" : "",
                     bytes_text(report.run["peak_device_bytes"].get<double>()));
}

}  // namespace ridge::cli::lab
