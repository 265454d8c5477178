// Launches the walks on a GPU.
#include <ridge/bench/pointer_chase.cuh>
#include <ridge/core/gpu.hpp>

namespace ridge::bench {

namespace {

struct Gpu {
  // Readings and loads keep their order. A walk's last load may still be under way, those before it are not.
  static __device__ Reading now() {
    Reading r;
    asm volatile("mov.u64 %0, %%clock64; mov.u64 %1, %%globaltimer;" : "=l"(r.cycles), "=l"(r.ns) : : "memory");
    return r;
  }
  static __device__ const Link* next(const Link* link) {
    const Link* next;
    asm volatile("ld.global.u64 %0, [%1];" : "=l"(next) : "l"(link));
    return next;
  }
};

}  // namespace

Status tie_links(const DeviceInfo& device, void* chain, std::int64_t stride, const std::uint32_t* next,
                 std::uint32_t links, Stream stream) {
  constexpr unsigned threads = 256;
  gpu::Guard current(device.id);
  return simt::launch({.grid = dim3((links + threads - 1) / threads), .block = dim3(threads), .stream = stream.handle},
                      tie_links_kernel, static_cast<char*>(chain), stride, next, links);
}

Status walk_links(const DeviceInfo& device, const void* chain, std::int64_t warm, std::int64_t steps, Walk* walk,
                  Stream stream) {
  gpu::Guard current(device.id);
  return simt::launch({.grid = dim3(1), .block = dim3(1), .stream = stream.handle}, walk_links_kernel<Gpu>,
                      static_cast<const Link*>(chain), warm, steps, walk);
}

Status walk_shared(const DeviceInfo& device, const std::uint32_t* next, std::uint32_t links, std::int64_t steps,
                   Walk* walk, Stream stream) {
  gpu::Guard current(device.id);
  return simt::launch({.grid = dim3(1), .block = dim3(32), .smem = links * sizeof *next, .stream = stream.handle},
                      walk_shared_kernel<Gpu>, next, links, steps, walk);
}

}  // namespace ridge::bench
