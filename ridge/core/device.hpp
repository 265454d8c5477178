// DeviceInfo: what a plan needs to know about a device. It is queried from the machine, or taken by name from a model,
// so that the choice for an H200 can be tested and explained without one.
#pragma once
#include <ridge/core/status.hpp>
#include <ridge/core/tensor.hpp>

#include <span>
#include <string>
#include <string_view>

namespace ridge {

RIDGE_API std::string device_text(Device);  // "cpu", "cuda:0"

struct DeviceInfo {
  std::string name;
  Device id;
  int cc = 0;     // CUDA compute capability, 90 for 9.0; 0 where the device is not CUDA's
  int sms = 1;    // multiprocessors (compute units; OS threads on the CPU runtime)
  int warp = 32;  // lanes
  int threads_per_sm = 2048;
  int blocks_per_sm = 32;
  int registers_per_sm = 65536;  // 32-bit
  int smem_per_sm = 0;           // bytes
  int smem_reserved = 1024;      // bytes of these that the system reserves for each block
  int smem_per_block = 49152;    // bytes, without opting in
  int smem_optin = 49152;        // bytes, the most one block can have
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  double clock_ghz = 0;             // boost
  double peak_gbs = 0;              // memory's 1e9 bytes/s on the data sheet
  double memory_gbs = 0;            // the rate of a copy, counting read and written bytes
  double read_gbs = 0;              // the rate of reading alone; 0: as a copy
  double memory_latency_us = 0.42;  // one load that waits for memory; fitted to an H200
  double l2_gbs = 0;
  // 1e12 operations/s, one fused multiply-add is two; dense.
  double fp32_tflops = 0, fp64_tflops = 0, tf32_tflops = 0, fp16_tflops = 0, fp8_tflops = 0, int8_tops = 0;
  double launch_us = 0;       // least time from the end of one kernel to the end of the next
  std::string source = {};    // where the figures come from
  std::string measured = {};  // the figures that `ridge calibrate` measured on this machine, and when; empty: none
  bool operator==(const DeviceInfo&) const = default;

  bool is_cpu() const { return id.kind == DeviceKind::cpu; }
  RIDGE_API std::string id_text() const;
};

struct CpuOptions {
  int warp = 32;  // 32 or 64: the warp width of the runtime
};

// The CPU runtime of this machine.
RIDGE_API DeviceInfo cpu(CpuOptions = {});

// GPU number `index`. NO_DEVICE with the reason, where this build or this machine has none.
RIDGE_API Result<DeviceInfo> device(int index = 0);
RIDGE_API int device_count();

// "cpu", "cuda", "cuda:1": a device of this machine.
RIDGE_API Result<DeviceInfo> find_device(std::string_view text);

// Models of devices, which need not be in this machine: T4 A100 H200 RTX5090 MI300X and others, upper or lower case.
RIDGE_API std::span<const DeviceInfo> device_models();
RIDGE_API Result<DeviceInfo> device_model(std::string_view name);

}  // namespace ridge
