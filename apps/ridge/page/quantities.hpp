// Times, bytes and rates as pages and reports spell them: three figures.
#pragma once
#include <string>

namespace ridge::cli::page {

std::string time_text(double us);
std::string bytes_text(double bytes);
std::string figures(double value);  // "0.0123", "1980"

}  // namespace ridge::cli::page
