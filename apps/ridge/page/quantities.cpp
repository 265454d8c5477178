#include "quantities.hpp"

#include <fmt/core.h>

namespace ridge::cli::page {

std::string time_text(double us) {
  if (us >= 1e6) return fmt::format("{:.3g} s", us * 1e-6);
  if (us >= 1e3) return fmt::format("{:.3g} ms", us * 1e-3);
  return fmt::format("{:.3g} us", us);
}

std::string bytes_text(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.3g} GB", bytes * 1e-9);
  if (bytes >= 1e6) return fmt::format("{:.3g} MB", bytes * 1e-6);
  if (bytes >= 1e3) return fmt::format("{:.3g} KB", bytes * 1e-3);
  return fmt::format("{:.0f} bytes", bytes);
}

std::string figures(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

}  // namespace ridge::cli::page
