// JSON for programs: the same names wherever a thing appears.
#pragma once
#include <ridge/core/device.hpp>
#include <ridge/core/op.hpp>
#include <ridge/core/plan.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace ridge::cli {

using Json = nlohmann::ordered_json;  // keys in the order written

// Paths need not be UTF-8; JSON has to be.
inline std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

inline Json to_json(const DeviceInfo& d) {
  return {{"id", d.id_text()},
          {"name", d.name},
          {"compute_capability", d.cc},
          {"multiprocessors", d.sms},
          {"warp", d.warp},
          {"threads_per_multiprocessor", d.threads_per_sm},
          {"shared_bytes_per_block", d.smem_optin},
          {"l2_bytes", d.l2_bytes},
          {"memory_bytes", d.memory_bytes},
          {"clock_ghz", d.clock_ghz},
          {"memory_gbs", d.memory_gbs},
          {"tflops",
           {{"fp64", d.fp64_tflops},
            {"fp32", d.fp32_tflops},
            {"tf32", d.tf32_tflops},
            {"fp16", d.fp16_tflops},
            {"fp8", d.fp8_tflops},
            {"int8", d.int8_tops}}}};
}

inline Json to_json(const Explanation& e) {
  Json units = Json::object(), candidates = Json::array();
  for (int u = 0; u < unit_count; ++u)
    if (e.cost.operations[u] > 0) units[std::string(name(static_cast<Unit>(u)))] = e.cost.operations[u];
  for (const Candidate& c : e.candidates)
    candidates.push_back({{"variant", c.variant},
                          {"fits", c.fits()},
                          {"reason", c.refusal},
                          {"predicted_us", c.fits() ? Json(c.predicted_us) : Json(nullptr)}});
  return {{"operator", e.op},
          {"problem", e.problem},
          {"device", e.device},
          {"variant", e.variant},
          {"bound", e.bound},
          {"bytes", e.cost.bytes()},
          {"bytes_read", e.cost.bytes_read},
          {"bytes_written", e.cost.bytes_written},
          {"operations", e.cost.all_operations()},
          {"operations_by_unit", units},
          {"least_us", e.least_us},
          {"predicted_us", e.predicted_us},
          {"workspace_bytes", e.workspace_bytes},
          {"candidates", candidates}};
}

template <class Strings> Json strings(const Strings& list) {
  Json array = Json::array();
  for (const auto& s : list) array.push_back(std::string(s));
  return array;
}

}  // namespace ridge::cli
