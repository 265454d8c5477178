// What the runtime API knows of kernels: the shared memory that each may have, and their occupancy.
#include <ridge/lab/runtime_checks.hpp>
#include <ridge/roofline/occupancy.hpp>

#include <algorithm>
#include <map>
#include <mutex>

namespace ridge::lab {

// g++ does not say how many registers nvcc would give a thread: 32 is what small kernels take, and the most with which
// a multiprocessor of 65536 holds 2048 threads.
constexpr int assumed_registers = 32;
constexpr int most_threads = 1024;

static std::mutex lock;
static std::map<const void*, std::size_t>& allowed() {
  static auto& all = *new std::map<const void*, std::size_t>;
  return all;
}

std::size_t allowed_shared_bytes(const void* kernel) {
  std::lock_guard hold(lock);
  const auto found = allowed().find(kernel);
  return found == allowed().end() ? static_cast<std::size_t>(device().smem_per_block) : found->second;
}

std::size_t most_allowed_shared_bytes() {
  std::lock_guard hold(lock);
  auto most = static_cast<std::size_t>(device().smem_per_block);
  for (const auto& [kernel, bytes] : allowed()) most = std::max(most, bytes);
  return most;
}

static std::map<const void*, LaunchOfPointer>& entered() {
  static auto& all = *new std::map<const void*, LaunchOfPointer>;
  return all;
}
void enter_kernel(const void* kernel, LaunchOfPointer launch) {
  std::lock_guard hold(lock);
  entered()[kernel] = launch;
}
LaunchOfPointer find_kernel(const void* kernel) {
  std::lock_guard hold(lock);
  const auto found = entered().find(kernel);
  return found == entered().end() ? nullptr : found->second;
}

cudaError_t set_kernel_attribute(const void* kernel, cudaFuncAttribute attribute, int value, Place at) {
  if (!kernel) return misuse(cudaErrorInvalidDeviceFunction, at, "cudaFuncSetAttribute: the kernel is null");
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;  // hints
  const DeviceInfo& d = device();
  if (value < 0 || value > d.smem_optin)
    return misuse(cudaErrorInvalidValue, at,
                  "cudaFuncSetAttribute: " + std::to_string(value) + " bytes of shared memory; a block of " + d.name +
                      " has at most " + std::to_string(d.smem_optin));
  std::lock_guard hold(lock);
  allowed()[kernel] = std::max(static_cast<std::size_t>(value), static_cast<std::size_t>(d.smem_per_block));
  return cudaSuccess;
}

cudaError_t kernel_attributes(cudaFuncAttributes* attributes, const void* kernel) {
  if (!attributes || !kernel) return fail(kernel ? cudaErrorInvalidValue : cudaErrorInvalidDeviceFunction);
  const int version = device().cc > 0 ? device().cc : 70;
  *attributes = {};
  attributes->maxThreadsPerBlock = most_threads;
  attributes->numRegs = assumed_registers;
  attributes->ptxVersion = attributes->binaryVersion = version;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(allowed_shared_bytes(kernel));
  attributes->preferredShmemCarveout = cudaSharedmemCarveoutDefault;
  return cudaSuccess;
}

cudaError_t resident_blocks(int* blocks, int threads, std::size_t shared, Place at) {
  if (!blocks || threads < 1)
    return misuse(cudaErrorInvalidValue, at, "occupancy of blocks of " + std::to_string(threads) + " threads");
  const bool fits = threads <= most_threads && shared <= static_cast<std::size_t>(device().smem_optin);
  *blocks = fits ? roofline::occupancy(device(), {threads, assumed_registers, static_cast<int>(shared)}).blocks : 0;
  return cudaSuccess;
}

cudaError_t refuse_launch(const char* call, const char* reason, Place at) {
  return misuse(cudaErrorNotSupported, at, std::string(call) + ": " + reason);
}

cudaError_t error_of_launch(int before) {
  if (const cudaError_t sticky = device_error()) return sticky;
  const int now = peek_error();
  return now == before ? cudaSuccess : static_cast<cudaError_t>(now);
}

}  // namespace ridge::lab
