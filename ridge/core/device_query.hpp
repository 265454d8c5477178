// What plans need of a GPU and its driver does not say: the model whose rates it has, and which of the library's code
// runs on it. Plain C++, and so tested without one.
#pragma once
#include <ridge/core/device.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace ridge {

// ---- models --------------------------------------------------------------------------------------------------------

// Whether a name has the model's as whole words: "NVIDIA A100-SXM4-80GB" is an A100 and no A10, and "NVIDIA GeForce RTX
// 4090" is an RTX4090.
inline bool has_words(std::string_view name, std::string_view model) {
  std::vector<std::string> words(1);
  for (const char c : name)
    if (c != ' ' && c != '-') words.back() += c;
    else if (!words.back().empty()) words.emplace_back();
  for (std::size_t first = 0; first < words.size(); ++first) {
    std::string joined;
    for (std::size_t i = first; i < words.size() && joined.size() < model.size(); ++i) joined += words[i];
    if (joined == model) return true;
  }
  return false;
}

// The model of this name; null: there is none. One name may be that of several chips, which `sms` tells apart.
inline const DeviceInfo* model_of_name(std::string_view name, int sms = 0) {
  for (const DeviceInfo& model : device_models())
    if ((sms == 0 || sms == model.sms) && has_words(name, model.name)) return &model;
  return nullptr;
}

// The model that is nearest to a GPU of another name: of the greatest compute capability that is not above its own, and
// of those the one with the nearest number of multiprocessors. Null: all are above.
inline const DeviceInfo* nearest_model(int cc, int sms) {
  const DeviceInfo* best = nullptr;
  for (const DeviceInfo& model : device_models()) {
    if (model.cc == 0 || model.cc > cc) continue;
    const auto distance = [&](const DeviceInfo& m) { return std::abs(m.sms - sms); };
    if (!best || model.cc > best->cc || (model.cc == best->cc && distance(model) < distance(*best))) best = &model;
  }
  return best;
}

// Fills the rates of a GPU whose name, cc, sms, clock_ghz and peak_gbs the driver gave: its model's, or those of the
// nearest model for each multiprocessor and clock. Returns whether there is one.
inline bool fill_rates(DeviceInfo& gpu) {
  const DeviceInfo* same = model_of_name(gpu.name, gpu.sms);
  const DeviceInfo* model = same ? same : nearest_model(gpu.cc, gpu.sms);
  if (!model) return false;
  const double share = same ? 1 : gpu.sms * gpu.clock_ghz / (model->sms * model->clock_ghz);
  for (double DeviceInfo::*rate :
       {&DeviceInfo::fp32_tflops, &DeviceInfo::fp64_tflops, &DeviceInfo::tf32_tflops, &DeviceInfo::fp16_tflops,
        &DeviceInfo::fp8_tflops, &DeviceInfo::int8_tops, &DeviceInfo::l2_gbs})
    gpu.*rate = model->*rate * share;
  gpu.launch_us = model->launch_us;
  gpu.memory_latency_us = model->memory_latency_us;
  if (same) {
    gpu.clock_ghz = same->clock_ghz;
    gpu.peak_gbs = same->peak_gbs;
    gpu.memory_gbs = same->memory_gbs;
    gpu.read_gbs = same->read_gbs;
    gpu.source = same->source;
    return true;
  }
  gpu.memory_gbs = 0.9 * gpu.peak_gbs;              // as a good copy reaches
  gpu.l2_gbs = std::max(gpu.l2_gbs, gpu.peak_gbs);  // also of a slice of a GPU, which has all memory's width
  gpu.source = "the driver's clocks and widths; rates as a multiprocessor of the " + model->name + " has them";
  return true;
}

// ---- code ----------------------------------------------------------------------------------------------------------

// The compute capability that plans may count on, of a GPU of compute capability `cc` and a library that was built for
// these architectures, as CMake writes them ("75-real,90a-real,120"): that of the code which the driver takes. What
// only newer GPUs can do is compiled out of it, and its kernels would run and do nothing.
//
// A GPU runs machine code of its own major version, up to its minor one; else the driver compiles PTX of any version up
// to its own. "90a" is for 9.0 alone, and "100f" for the same major version. Hopper's own instructions are only in code
// for 90a: other code for 9.0 counts as 8.9.
inline Result<int> capability_of_code(int cc, std::string_view built) {
  int machine_code = 0, ptx = 0;
  for (std::string_view rest = built; !rest.empty();) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    int version = cc;  // of "native" and "all", for which CMake found this GPU, or took whatever there is
    std::from_chars(entry.data(), entry.data() + entry.size(), version);
    const auto has = [&](char suffix) { return entry.find(std::to_string(version) + suffix) == 0; };
    const bool same_major = version / 10 == cc / 10;
    if (version > cc || (has('a') && version != cc) || (has('f') && !same_major)) continue;
    const int counts_as = version == 90 && !has('a') ? 89 : version;
    if (same_major && !entry.ends_with("-virtual")) machine_code = std::max(machine_code, counts_as);
    if (!entry.ends_with("-real")) ptx = std::max(ptx, counts_as);
  }
  if (machine_code > 0) return machine_code;
  if (ptx > 0) return ptx;
  return Status::error(Code::no_device, "the GPU has compute capability " + std::to_string(cc / 10) + "." +
                                            std::to_string(cc % 10) + ", and this Ridge was built for " +
                                            std::string(built) + " (CMAKE_CUDA_ARCHITECTURES)");
}

}  // namespace ridge
