#include <ridge/lab/record.hpp>

#include <ridge/lab/memory.hpp>
#include <ridge/simt/trace/symbols.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <type_traits>
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
          {"basic_blocks", launch.footprint.basic_blocks},
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

// ---- what tells records of one line and shape apart -----------------------------------------------------------------

bool is_same(dim3 a, dim3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
bool are_siblings(const Record& a, const Record& b) {
  return a.line == b.line && a.kernel == b.kernel && a.file == b.file && is_same(a.config.grid, b.config.grid) &&
         is_same(a.config.block, b.config.block) && a.config.smem == b.config.smem;
}

// "add<float>(float*, int), argument 2 = 16"
std::string told_apart(const Record& record, const std::vector<const Record*>& siblings) {
  const auto differs = [&](const auto& of) {
    return std::ranges::any_of(siblings, [&](const Record* s) { return of(*s) != of(record); });
  };
  const auto differs_at = [&](std::size_t i, auto member) {
    using Value = std::remove_cvref_t<decltype((record.*member)[i])>;
    return differs([&](const Record& r) { return i < (r.*member).size() ? (r.*member)[i] : Value(); });
  };
  std::vector<std::string> parts;
  const bool is_another = record.function && differs([](const Record& r) { return r.function; });
  if (is_another) {
    const auto address = reinterpret_cast<std::uintptr_t>(record.function);
    parts.push_back(simt::trace::find_symbols({address})[address].function);
  }
  for (std::size_t i = 0; i < record.arguments.size(); ++i) {
    const std::string number = "argument " + std::to_string(i + 1);
    if (!is_another && differs_at(i, &Record::types)) parts.push_back(number + " is " + std::string(record.types[i]));
    if (!record.arguments[i].empty() && differs_at(i, &Record::arguments))
      parts.push_back(number + " = " + record.arguments[i]);
  }
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return record.argument_sets > 1 ? text + (text.empty() ? "" : " ") + "and others that do the same" : text;
}

Json to_json(const Record& r, const std::vector<const Record*>& siblings, const simt::trace::Report& traced,
             const DeviceInfo& device, double live_bytes) {
  Json json = {{"kernel", r.kernel},
               {"file", r.file},
               {"line", r.line},
               {"grid", to_json(r.config.grid)},
               {"block", to_json(r.config.block)},
               {"dynamic_shared_bytes", r.config.smem},
               {"launches", r.launches},
               {"failures", r.failures},
               {"predicted_us", r.us}};
  if (!siblings.empty()) json.update({{"given", told_apart(r, siblings)}, {"numbers", r.numbers}});
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
  for (const Record& r : records) {
    std::vector<const Record*> siblings;
    for (const Record& other : records)
      if (&other != &r && are_siblings(r, other)) siblings.push_back(&other);
    launches.push_back(to_json(r, siblings, traced, device, live_bytes));
  }
  for (const Finding& f : findings) wrong.push_back({{"file", f.file}, {"line", f.line}, {"sentence", f.sentence}});
  for (const Allocation& a : leaks())
    left.push_back({{"file", a.at.file_name()}, {"line", a.at.line()}, {"call", a.call}, {"bytes", a.bytes}});
  const Json json = {{"device", device.name}, {"device_us", device_us}, {"peak_device_bytes", memory_use().peak},
                     {"launches", launches},  {"findings", wrong},      {"leaks", left}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ridge::lab
