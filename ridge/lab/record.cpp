#include <ridge/lab/record.hpp>

#include <ridge/lab/memory.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <utility>

namespace ridge::lab {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(dim3 d) { return {d.x, d.y, d.z}; }
Json to_json(const simt::trace::Line& l) { return {{"file", l.file}, {"line", l.number}, {"source", l.text}}; }

Json to_json(const simt::trace::Access& a, int warp) {
  static constexpr std::array kinds{"load", "store", "atomic"};
  const bool global = a.space == simt::trace::Space::global;
  Json json = to_json(a.at);
  json.update({{"space", global ? "global" : "shared"},
               {"kind", kinds[static_cast<std::size_t>(a.kind)]},
               {"bytes", a.bytes},
               {"requests", a.requests},
               {"lanes", a.lanes},
               {"units", global ? a.sectors : a.wavefronts},
               {"least", global ? a.least_sectors : a.least_wavefronts},
               {"unset", a.unset},
               {"note", a.note(warp)}});
  return json;
}

Json to_json(const simt::trace::Launch& launch, std::int64_t blocks) {
  Json accesses = Json::array(), branches = Json::array(), races = Json::array();
  for (const simt::trace::Access& a : launch.accesses) accesses.push_back(to_json(a, launch.warp));
  for (const simt::trace::Branch& b : launch.branches) {
    Json json = to_json(b.at);
    json.update({{"executed", b.executed}, {"divergent", b.divergent}});
    branches.push_back(std::move(json));
  }
  for (const simt::trace::Race& r : launch.races)
    races.push_back({{"at", to_json(r.at)}, {"against", to_json(r.against)}, {"accesses", r.accesses}});
  return {{"watched_blocks", launch.footprint.blocks},
          {"blocks", blocks},
          {"accesses", accesses},
          {"branches", branches},
          {"races", races}};
}

Json to_json(const LaunchPrediction& p, const Work& work) {
  const roofline::Prediction& t = p.times;
  Json terms = Json::array();
  for (const auto& [name, us] : {std::pair{"launch", t.launch_us},
                                 {"DRAM", t.memory_us},
                                 {"L2 cache", t.cache_us},
                                 {"load-store or issue", t.arithmetic_us},
                                 {"latency", t.latency_us + t.tail_us},
                                 {"atomics", t.serial_us}})
    if (us > 0) terms.push_back({{"name", name}, {"us", us}});
  return {{"us", p.us()},
          {"bound", p.bound},
          {"terms", terms},
          {"occupancy", t.occupancy.share},
          {"blocks_per_sm", t.occupancy.blocks},
          {"limiter", t.occupancy.limiter},
          {"waves", t.waves.count()},
          {"shared_bytes", work.smem},
          {"dram_bytes", work.bytes_read + work.bytes_written},
          {"l2_bytes", work.l2_bytes}};
}

Json to_json(const Record& r, const simt::trace::Report& traced, const DeviceInfo& device, double live_bytes) {
  Json json = {{"kernel", r.kernel},
               {"file", r.file},
               {"line", r.line},
               {"grid", to_json(r.config.grid)},
               {"block", to_json(r.config.block)},
               {"dynamic_shared_bytes", r.config.smem},
               {"launches", r.launches},
               {"failures", r.failures},
               {"predicted_us", r.us}};
  if (!r.is_watched || r.trace >= traced.launches.size()) return json;
  const simt::trace::Launch& launch = traced.launches[r.trace];
  const std::int64_t blocks = std::int64_t(r.config.grid.x) * r.config.grid.y * r.config.grid.z;
  const Work work = work_of(launch, blocks);
  json["prediction"] = to_json(predict(work, device, live_bytes), work);
  json["trace"] = to_json(launch, blocks);
  Json advice = Json::array();
  for (const Advice& a : advise(launch, blocks, device, live_bytes)) {
    Json one = to_json(a.at);
    one.update({{"text", a.text}, {"saved_us", a.saved_us}});
    advice.push_back(std::move(one));
  }
  json["advice"] = std::move(advice);
  return json;
}

}  // namespace

std::string report_text(const std::vector<Record>& records, const std::vector<Finding>& findings,
                        const simt::trace::Report& traced, const DeviceInfo& device, double live_bytes,
                        double device_us) {
  Json launches = Json::array(), wrong = Json::array(), left = Json::array();
  for (const Record& r : records) launches.push_back(to_json(r, traced, device, live_bytes));
  for (const Finding& f : findings) wrong.push_back({{"file", f.file}, {"line", f.line}, {"sentence", f.sentence}});
  for (const Allocation& a : leaks())
    left.push_back({{"file", a.at.file_name()}, {"line", a.at.line()}, {"call", a.call}, {"bytes", a.bytes}});
  const Json json = {{"device", device.name}, {"device_us", device_us}, {"peak_device_bytes", memory_use().peak},
                     {"launches", launches},  {"findings", wrong},      {"leaks", left}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ridge::lab
