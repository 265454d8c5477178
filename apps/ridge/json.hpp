// JSON for programs: the same names wherever a thing appears.
#pragma once
#include <ridge/core/device.hpp>
#include <ridge/core/json.hpp>
#include <ridge/core/op.hpp>
#include <ridge/core/plan.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace ridge::cli {

using Json = nlohmann::ordered_json;  // keys in the order written

// In ASCII: paths need not be UTF-8, and a terminal obeys control characters beyond ASCII as well.
inline std::string dump(const Json& json) { return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n"; }

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

inline Json to_json(const Explanation& e) { return Json::parse(json_text(e)); }

}  // namespace ridge::cli
