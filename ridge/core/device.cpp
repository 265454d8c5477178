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
// in every NVIDIA model: `ridge calibrate` replaces the figures that it measures. Where a chip's tensor cores are
// slower with float32 sums (GeForce), that is the rate.
// clang-format off
static const DeviceInfo models[] = {
    {.name = "V100", .id = {DeviceKind::cuda, 0}, .cc = 70, .sms = 80, .smem_per_sm = 98304, .smem_reserved = 0,
     .smem_optin = 98304, .l2_bytes = 6 << 20, .memory_bytes = 16ll << 30, .clock_ghz = 1.53, .peak_gbs = 900,
     .memory_gbs = 810, .l2_gbs = 3100, .fp32_tflops = 15.7, .fp64_tflops = 7.8, .fp16_tflops = 125, .launch_us = 1.5,
     .source = "V100 data sheet (SXM2); L2: NVIDIA, GPU Performance Background (2,048 bytes a clock)"},
    {.name = "T4", .id = {DeviceKind::cuda, 0}, .cc = 75, .sms = 40, .threads_per_sm = 1024, .blocks_per_sm = 16,
     .smem_per_sm = 65536, .smem_reserved = 0, .smem_optin = 65536, .l2_bytes = 4 << 20, .memory_bytes = 16ll << 30,
     .clock_ghz = 1.59, .peak_gbs = 320, .memory_gbs = 288, .l2_gbs = 1270, .fp32_tflops = 8.1, .fp64_tflops = 0.25,
     .fp16_tflops = 65, .int8_tops = 130, .launch_us = 1.5,
     .source = "T4 data sheet; Turing tuning guide; L2: Jia et al., Dissecting the Turing T4, measured"},
    {.name = "A100", .id = {DeviceKind::cuda, 0}, .cc = 80, .sms = 108, .smem_per_sm = 167936, .smem_optin = 166912,
     .l2_bytes = 40 << 20, .memory_bytes = 80ll << 30, .clock_ghz = 1.41, .peak_gbs = 2039, .memory_gbs = 1835,
     .l2_gbs = 7200, .fp32_tflops = 19.5, .fp64_tflops = 19.5, .tf32_tflops = 156, .fp16_tflops = 312,
     .int8_tops = 624, .launch_us = 1.5,
     .source = "A100 80GB SXM data sheet; L2: Ampere white paper, 5,120 bytes a clock"},
    {.name = "A10", .id = {DeviceKind::cuda, 0}, .cc = 86, .sms = 72, .threads_per_sm = 1536, .blocks_per_sm = 16,
     .smem_per_sm = 102400, .smem_optin = 101376, .l2_bytes = 6 << 20, .memory_bytes = 24ll << 30,
     .clock_ghz = 1.695, .peak_gbs = 600, .memory_gbs = 540, .l2_gbs = 2500, .fp32_tflops = 31.2, .fp64_tflops = 0.49,
     .tf32_tflops = 62.5, .fp16_tflops = 125, .int8_tops = 250, .launch_us = 1.5,
     .source = "A10 data sheet; Ampere tuning guide; L2 bandwidth estimated"},
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
    {.name = "L4", .id = {DeviceKind::cuda, 0}, .cc = 89, .sms = 58, .threads_per_sm = 1536, .blocks_per_sm = 24,
     .smem_per_sm = 102400, .smem_optin = 101376, .l2_bytes = 48 << 20, .memory_bytes = 24ll << 30,
     .clock_ghz = 2.04, .peak_gbs = 300, .memory_gbs = 270, .l2_gbs = 2000, .fp32_tflops = 30.3, .fp64_tflops = 0.47,
     .tf32_tflops = 60, .fp16_tflops = 121, .fp8_tflops = 242, .int8_tops = 242, .launch_us = 1.5,
     .source = "L4 data sheet, at a clock that its 72 W do not hold; Ada tuning guide; L2 bandwidth estimated"},
    {.name = "L40S", .id = {DeviceKind::cuda, 0}, .cc = 89, .sms = 142, .threads_per_sm = 1536,
     .blocks_per_sm = 24, .smem_per_sm = 102400, .smem_optin = 101376, .l2_bytes = 96 << 20,
     .memory_bytes = 48ll << 30, .clock_ghz = 2.52, .peak_gbs = 864, .memory_gbs = 778, .l2_gbs = 5000,
     .fp32_tflops = 91.6, .fp64_tflops = 1.43, .tf32_tflops = 183, .fp16_tflops = 362, .fp8_tflops = 733,
     .int8_tops = 733, .launch_us = 1.5,
     .source = "L40S data sheet; Ada tuning guide; L2 bandwidth estimated"},
    {.name = "RTX4090", .id = {DeviceKind::cuda, 0}, .cc = 89, .sms = 128, .threads_per_sm = 1536,
     .blocks_per_sm = 24, .smem_per_sm = 102400, .smem_optin = 101376, .l2_bytes = 72 << 20,
     .memory_bytes = 24ll << 30, .clock_ghz = 2.52, .peak_gbs = 1008, .memory_gbs = 907, .l2_gbs = 5000,
     .fp32_tflops = 82.6, .fp64_tflops = 1.29, .tf32_tflops = 82.6, .fp16_tflops = 165, .fp8_tflops = 330,
     .int8_tops = 660, .launch_us = 1.5,
     .source = "Ada white paper (float32 accumulation); Ada tuning guide; L2 bandwidth estimated"},
    {.name = "RTX5090", .id = {DeviceKind::cuda, 0}, .cc = 120, .sms = 170, .threads_per_sm = 1536,
     .blocks_per_sm = 24, .smem_per_sm = 102400, .smem_optin = 101376, .l2_bytes = 96 << 20,
     .memory_bytes = 32ll << 30, .clock_ghz = 2.407, .peak_gbs = 1792, .memory_gbs = 1613, .l2_gbs = 7000,
     .fp32_tflops = 104.8, .fp64_tflops = 1.64, .tf32_tflops = 104.8, .fp16_tflops = 209.5, .fp8_tflops = 419,
     .int8_tops = 838, .launch_us = 1.5,
     .source = "RTX Blackwell white paper (float32 accumulation); CUDA programming guide; L2 bandwidth estimated"},
    {.name = "MI250X", .id = {DeviceKind::cuda, 0}, .cc = 0, .sms = 110, .warp = 64, .registers_per_sm = 131072,
     .smem_per_sm = 65536, .smem_reserved = 0, .smem_per_block = 65536, .smem_optin = 65536, .l2_bytes = 8 << 20,
     .memory_bytes = 64ll << 30, .clock_ghz = 1.7, .peak_gbs = 1638, .memory_gbs = 1475, .l2_gbs = 6960,
     .fp32_tflops = 23.9, .fp64_tflops = 23.9, .fp16_tflops = 191, .int8_tops = 191, .launch_us = 5,
     .source = "MI250X data sheet, one of its two dies; L2 bandwidth estimated, 4,096 bytes a clock"},
    {.name = "MI300X", .id = {DeviceKind::cuda, 0}, .cc = 0, .sms = 304, .warp = 64, .registers_per_sm = 131072,
     .smem_per_sm = 65536, .smem_reserved = 0, .smem_per_block = 65536, .smem_optin = 65536, .l2_bytes = 32 << 20,
     .memory_bytes = 192ll << 30, .clock_ghz = 2.1, .peak_gbs = 5300, .memory_gbs = 4770, .l2_gbs = 34400,
     .fp32_tflops = 163.4, .fp64_tflops = 81.7, .tf32_tflops = 653.7, .fp16_tflops = 1307, .fp8_tflops = 2615,
     .int8_tops = 2615, .launch_us = 5,
     .source = "MI300X data sheet, float32 and double by vectors; CDNA 3 white paper: its eight L2 caches together, "
               "2,048 bytes a clock each"},
    {.name = "RX7900XTX", .id = {DeviceKind::cuda, 0}, .cc = 0, .sms = 96, .threads_per_sm = 1024,
     .registers_per_sm = 98304, .smem_per_sm = 65536, .smem_reserved = 0, .smem_per_block = 65536,
     .smem_optin = 65536, .l2_bytes = 6 << 20, .memory_bytes = 24ll << 30, .clock_ghz = 2.5, .peak_gbs = 960,
     .memory_gbs = 864, .l2_gbs = 5100, .fp32_tflops = 61.4, .fp64_tflops = 1.92, .fp16_tflops = 122.8,
     .int8_tops = 122.8, .launch_us = 5,
     .source = "RX 7900 XTX data sheet, RDNA 3 white paper; half of a work group processor; L2 bandwidth estimated"},
    // The vendors of the next three announced rates and memory. Registers, caches and lanes are those of other GPUs, in
    // as many multiprocessors as the rate asks for.
    {.name = "S4000", .id = {DeviceKind::cuda, 0}, .cc = 0, .sms = 64, .warp = 128,
     .registers_per_sm = 131072, .smem_per_sm = 65536, .smem_reserved = 0, .l2_bytes = 24 << 20, .memory_bytes = 48ll << 30, .clock_ghz = 1.53, .peak_gbs = 768,
     .memory_gbs = 691, .l2_gbs = 2300, .fp32_tflops = 25, .fp64_tflops = 0.39, .tf32_tflops = 50,
     .fp16_tflops = 100, .int8_tops = 200, .launch_us = 5,
     .source = "Moore Threads' announcement of the MTT S4000, 2023: rates, memory; MUSA code for mp_22: warps of 128; "
               "the rest estimated"},
    {.name = "C500", .id = {DeviceKind::cuda, 0}, .cc = 0, .sms = 104, .warp = 64, .registers_per_sm = 131072,
     .smem_per_sm = 65536, .smem_reserved = 0, .smem_per_block = 65536, .smem_optin = 65536, .l2_bytes = 8 << 20,
     .memory_bytes = 64ll << 30, .clock_ghz = 1.13, .peak_gbs = 1800, .memory_gbs = 1620, .l2_gbs = 4000,
     .fp32_tflops = 15, .fp64_tflops = 7.5, .tf32_tflops = 120, .fp16_tflops = 240, .int8_tops = 480, .launch_us = 5,
     .source = "press on MetaX' MXC500: 15 TFLOP/s of float32, 240 of half; warps of 64; the rest estimated"},
    {.name = "BI-V150", .id = {DeviceKind::cuda, 0}, .cc = 0, .sms = 96, .warp = 64, .registers_per_sm = 131072,
     .smem_per_sm = 65536, .smem_reserved = 0, .smem_per_block = 65536, .smem_optin = 65536, .l2_bytes = 8 << 20,
     .memory_bytes = 32ll << 30, .clock_ghz = 1.5, .peak_gbs = 1200, .memory_gbs = 1080, .l2_gbs = 4000,
     .fp32_tflops = 37, .fp64_tflops = 1.2, .fp16_tflops = 147, .int8_tops = 295, .launch_us = 5,
     .source = "Iluvatar's announcement of the BI-V100, 2021, for one chip of two: rates, memory; CoreX' headers: "
               "warps of 64; the rest estimated"},
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
