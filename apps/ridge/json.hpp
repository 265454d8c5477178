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
          {"peak_gbs", d.peak_gbs},
          {"memory_gbs", d.memory_gbs},
          {"read_gbs", d.read_gbs > 0 ? d.read_gbs : d.memory_gbs},
          {"l2_gbs", d.l2_gbs},
          {"launch_us", d.launch_us},
          {"memory_latency_us", d.memory_latency_us},
          {"source", d.source},
          {"measured", d.measured.empty() ? Json(nullptr) : Json(d.measured)},
          {"tflops",
           {{"fp64", d.fp64_tflops},
            {"fp32", d.fp32_tflops},
            {"tf32", d.tf32_tflops},
            {"fp16", d.fp16_tflops},
            {"fp8", d.fp8_tflops},
            {"int8", d.int8_tops}}}};
}

inline Json to_json(const Analysis& a) {
  Json terms = Json::array(), levels = Json::array(), advice = Json::array();
  for (const Analysis::Term& t : a.terms) terms.push_back({{"name", t.name}, {"us", t.us}, {"why", t.why}});
  for (const Analysis::Level& l : a.levels)
    levels.push_back(
        {{"level", l.name}, {"gbs", l.gbs}, {"operations_per_byte", l.balance > 0 ? Json(l.balance) : Json(nullptr)}});
  for (const std::string& s : a.advice) advice.push_back(s);
  return {{"terms", terms},
          {"unit", a.unit.empty() ? Json(nullptr) : Json(a.unit)},
          {"intensity", a.intensity},
          {"levels", levels},
          {"blocks", a.blocks},
          {"threads", a.threads},
          {"shared_bytes", a.smem_bytes},
          {"registers", a.registers},
          {"registers_source", a.registers_source},
          {"blocks_per_multiprocessor", a.blocks_per_sm},
          {"limiter", a.limiter},
          {"occupancy", a.occupancy},
          {"waves", a.waves},
          {"wave_efficiency", a.wave_efficiency},
          {"tail_share", a.tail_share},
          {"tile_efficiency", a.tile_efficiency},
          {"bytes_in_flight", a.bytes_in_flight},
          {"bytes_needed", a.bytes_needed},
          {"advice", advice}};
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
          {"analysis", to_json(e.analysis)},
          {"candidates", candidates}};
}

template <class Strings> Json strings(const Strings& list) {
  Json array = Json::array();
  for (const auto& s : list) array.push_back(std::string(s));
  return array;
}

}  // namespace ridge::cli
