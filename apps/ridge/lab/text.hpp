// Figures and places as the report spells them.
#pragma once
#include "../page/quantities.hpp"
#include "report.hpp"

#include <string>

namespace ridge::cli::lab {

using page::bytes_text;
using page::time_text;
std::string dim_text(const Json& xyz);   // "(128)", "(16,16)"
std::string place_text(const Json& at);  // "a.cu:12"; empty where there is none
std::string place_text(const Finding&);
std::string summary_text(const Report&);  // of a run that got to its end

}  // namespace ridge::cli::lab
