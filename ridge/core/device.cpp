#include <ridge/core/calibration.hpp>
#include <ridge/core/device.hpp>
#include <ridge/core/gpu.hpp>
#include <ridge/core/nearest.hpp>
#include <ridge/core/text.hpp>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <thread>

namespace ridge {

std::string device_text(Device device) {
  return device.kind == DeviceKind::cpu ? "cpu" : "cuda:" + std::to_string(device.index);
}
std::string DeviceInfo::id_text() const { return device_text(id); }

DeviceInfo cpu(CpuOptions options) {
  DeviceInfo info;
  info.name = "CPU runtime";
  info.id = {DeviceKind::cpu, 0};
  info.sms = std::max(1u, std::thread::hardware_concurrency());
  info.warp = options.warp;
  info.threads_per_sm = 1024;                                         // one block at a time on each OS thread
  info.smem_per_sm = info.smem_per_block = info.smem_optin = 232448;  // as Hopper, so that the same rows fit
  info.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  // Orders of magnitude for a fiber-per-thread runtime, so that explain can show a least time; not measured.
  info.clock_ghz = 3;
  info.memory_gbs = 10;
  info.l2_gbs = 20;
  info.fp32_tflops = 0.002 * info.sms;
  info.fp64_tflops = 0.002 * info.sms;
  info.launch_us = 5;
  info.source = "orders of magnitude";
  return info;
}

Result<DeviceInfo> device(int index) {
  // The driver takes milliseconds to answer, and its answer does not change.
  static std::mutex lock;
  static std::map<int, DeviceInfo> known;
  std::lock_guard hold(lock);
  if (const auto found = known.find(index); found != known.end()) return found->second;
  auto info = gpu::query(index);
  if (!info) return info;
  if (const auto calibration = Calibration::read(info->name)) calibration->apply(*info);
  known.emplace(index, *info);
  return info;
}
int device_count() { return gpu::count(); }

Result<DeviceInfo> find_device(std::string_view text) {
  const auto wrong = [&] {
    return Status::error(Code::invalid_argument,
                         "device is '" + std::string(text) + "'; it must be cpu, cuda or cuda:N");
  };
  if (text == "cpu") return cpu();
  if (text == "cuda") return device(0);
  if (!text.starts_with("cuda:")) return wrong();
  int index = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 5, end, index);
  if (error != std::errc{} || rest != end || index < 0) return wrong();
  return device(index);
}

// Dense rates at boost clock. fp64 of A100 and Hopper is the tensor cores'. memory_gbs and read_gbs of the H200 are
// just above the fastest kernels measured on one (bench/results/h200: relu, dot); for the others they are 90 % of the
// data sheet, which a good copy reaches. launch_us and the latency were fitted to the H200's results and are the same
// in every NVIDIA model: `ridge calibrate` replaces the figures that it measures.
// clang-format off
static const DeviceInfo models[] = {
    {.name = "V100", .id = {DeviceKind::cuda, 0}, .cc = 70, .sms = 80, .smem_per_sm = 98304, .smem_reserved = 0,
     .smem_optin = 98304, .l2_bytes = 6 << 20, .memory_bytes = 16ll << 30, .clock_ghz = 1.53, .peak_gbs = 900,
     .memory_gbs = 810, .l2_gbs = 3100, .fp32_tflops = 15.7, .fp64_tflops = 7.8, .fp16_tflops = 125, .launch_us = 1.5,
     .source = "V100 data sheet (SXM2); L2: NVIDIA, GPU Performance Background (2,048 bytes a clock)"},
    {.name = "A100", .id = {DeviceKind::cuda, 0}, .cc = 80, .sms = 108, .smem_per_sm = 167936, .smem_optin = 166912,
     .l2_bytes = 40 << 20, .memory_bytes = 80ll << 30, .clock_ghz = 1.41, .peak_gbs = 2039, .memory_gbs = 1835,
     .l2_gbs = 7200, .fp32_tflops = 19.5, .fp64_tflops = 19.5, .tf32_tflops = 156, .fp16_tflops = 312,
     .int8_tops = 624, .launch_us = 1.5,
     .source = "A100 80GB SXM data sheet; L2: Ampere white paper, 5,120 bytes a clock"},
    {.name = "H100", .id = {DeviceKind::cuda, 0}, .cc = 90, .sms = 132, .smem_per_sm = 233472, .smem_optin = 232448,
     .l2_bytes = 50 << 20, .memory_bytes = 80ll << 30, .clock_ghz = 1.98, .peak_gbs = 3350, .memory_gbs = 3015,
     .l2_gbs = 6500, .fp32_tflops = 67, .fp64_tflops = 67, .tf32_tflops = 495, .fp16_tflops = 990,
     .fp8_tflops = 1979, .int8_tops = 1979, .launch_us = 1.5,
     .source = "H100 SXM data sheet; occupancy: Hopper tuning guide; L2 bandwidth estimated"},
    {.name = "H200", .id = {DeviceKind::cuda, 0}, .cc = 90, .sms = 132, .smem_per_sm = 233472, .smem_optin = 232448,
     .l2_bytes = 60 << 20, .memory_bytes = 141ll << 30, .clock_ghz = 1.98, .peak_gbs = 4800, .memory_gbs = 4280,
     .read_gbs = 4600, .l2_gbs = 6500, .fp32_tflops = 67, .fp64_tflops = 67, .tf32_tflops = 495, .fp16_tflops = 990,
     .fp8_tflops = 1979, .int8_tops = 1979, .launch_us = 1.5,
     .source = "H200 SXM data sheet; memory: measured, latency and launch: fitted (bench/results/h200)"},
    {.name = "B200", .id = {DeviceKind::cuda, 0}, .cc = 100, .sms = 148, .smem_per_sm = 233472, .smem_optin = 232448,
     .l2_bytes = 126 << 20, .memory_bytes = 180ll << 30, .clock_ghz = 1.965, .peak_gbs = 7700, .memory_gbs = 6930,
     .l2_gbs = 10000, .fp32_tflops = 75, .fp64_tflops = 37, .tf32_tflops = 1100, .fp16_tflops = 2250,
     .fp8_tflops = 4500, .int8_tops = 4500, .launch_us = 1.5,
     .source = "HGX B200 data sheet, one GPU; Blackwell tuning guide; L2 bandwidth estimated"},
    {.name = "RTX4090", .id = {DeviceKind::cuda, 0}, .cc = 89, .sms = 128, .threads_per_sm = 1536,
     .blocks_per_sm = 24, .smem_per_sm = 102400, .smem_optin = 101376, .l2_bytes = 72 << 20,
     .memory_bytes = 24ll << 30, .clock_ghz = 2.52, .peak_gbs = 1008, .memory_gbs = 907, .l2_gbs = 5000,
     .fp32_tflops = 82.6, .fp64_tflops = 1.29, .tf32_tflops = 82.6, .fp16_tflops = 165, .fp8_tflops = 330,
     .int8_tops = 660, .launch_us = 1.5,
     .source = "Ada white paper (float32 accumulation); Ada tuning guide; L2 bandwidth estimated"},
    {.name = "MI250X", .id = {DeviceKind::cuda, 0}, .cc = 0, .sms = 110, .warp = 64, .registers_per_sm = 131072,
     .smem_per_sm = 65536, .smem_reserved = 0, .smem_per_block = 65536, .smem_optin = 65536, .l2_bytes = 8 << 20,
     .memory_bytes = 64ll << 30, .clock_ghz = 1.7, .peak_gbs = 1638, .memory_gbs = 1475, .l2_gbs = 6960,
     .fp32_tflops = 23.9, .fp64_tflops = 23.9, .fp16_tflops = 191, .int8_tops = 191, .launch_us = 5,
     .source = "MI250X data sheet, one of its two dies; L2 bandwidth estimated, 4,096 bytes a clock"},
};
// clang-format on

std::span<const DeviceInfo> device_models() { return models; }

Result<DeviceInfo> device_model(std::string_view name) {
  const auto same = [](char a, char b) { return lower_case(a) == lower_case(b); };
  std::string known;
  std::vector<std::string_view> names;
  for (const DeviceInfo& model : models) {
    if (std::ranges::equal(model.name, name, same)) return model;
    known += " " + model.name;
    names.push_back(model.name);
  }
  return Status::error(Code::invalid_argument, "device model is '" + std::string(name) + "', nearest to " +
                                                   std::string(nearest(name, names).front()) + "; it must be one of" +
                                                   known);
}

}  // namespace ridge
