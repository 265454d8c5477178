// Files of results, as `ridge bench --json` writes them, and some that are none.
#pragma once
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace ridge {

// Results of two rows of the table, one of a peer, as ridge bench writes them.
inline std::string results_text(const char* device) {
  nlohmann::json file{{"device", device}, {"driver", "1.2"}, {"commit", "abc"}, {"date", "2026-01-01"}};
  const auto row = [](const char* variant, bool chosen, double us) {
    return nlohmann::json{{"case", "relu:f32:n=268435456"},
                          {"variant", variant},
                          {"device", "x"},
                          {"chosen", chosen},
                          {"us", us},
                          {"noise", 0.01},
                          {"gbs", 4000.0},
                          {"copy_share", 0.9},
                          {"tflops", 0.5},
                          {"predicted_us", us},
                          {"least_us", 500.0},
                          {"plan_us", 10.0},
                          {"peers", nlohmann::json::array({{{"name", "cudaMemcpy"}, {"us", 2 * us}}})}};
  };
  file["measurements"] = {row("scalar", false, 780), row("vec4", true, 502)};
  return file.dump();
}

// One row, with a field that is another.
inline std::string one_result(std::string_view field, const nlohmann::json& value) {
  nlohmann::json row{{"case", "relu:f32:n=1024"}, {"variant", "vec4"}, {"chosen", true}, {"us", 2.5}};
  if (value.is_discarded()) row.erase(std::string(field));
  else row[std::string(field)] = value;
  return nlohmann::json{{"device", "NVIDIA H200"}, {"measurements", nlohmann::json::array({row})}}.dump();
}

}  // namespace ridge
