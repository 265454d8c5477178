// The kernels of a pointer chase. What compilers spell in different ways is the Machine's: now() reads the clocks, and
// next(link) loads from global memory. (Of a pointer that was loaded, a compiler does not know that it is global.)
#pragma once
#include <ridge/bench/pointer_chase.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::bench {

// Holds where the next one is, not which: no arithmetic stands between two loads.
struct Link {
  const Link* next;
};

__global__ void tie_links_kernel(char* chain, std::int64_t stride, const std::uint32_t* next, std::uint32_t links) {
  const auto link_at = [&](std::uint32_t i) { return reinterpret_cast<Link*>(chain + i * stride); };
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < links) link_at(i)->next = link_at(next[i]);
}

template <class Machine> __device__ void write_walk(Walk* walk, std::int64_t at, const Reading& begin) {
  const Reading end = Machine::now();
  *walk = {at, {end.cycles - begin.cycles, end.ns - begin.ns}};
}

template <class Machine>
__global__ void walk_links_kernel(const Link* first, std::int64_t warm, std::int64_t steps, Walk* walk) {
  const Link* at = first;
  for (std::int64_t i = 0; i < warm; ++i) at = Machine::next(at);
  const Reading begin = Machine::now();
  for (std::int64_t i = 0; i < steps; ++i) at = Machine::next(at);
  write_walk<Machine>(walk, reinterpret_cast<const char*>(at) - reinterpret_cast<const char*>(first), begin);
}

// The words hold bytes from the first one on, as addresses of shared memory do.
template <class Machine>
__global__ void walk_shared_kernel(const std::uint32_t* next, std::uint32_t links, std::int64_t steps, Walk* walk) {
  auto* chain = simt::dynamic_shared<std::uint32_t>();
  constexpr std::uint32_t word = sizeof(std::uint32_t);
  for (std::uint32_t i = threadIdx.x; i < links; i += blockDim.x) chain[i] = next[i] * word;
  __syncthreads();
  if (threadIdx.x > 0) return;
  std::uint32_t at = 0;
  const Reading begin = Machine::now();
  for (std::int64_t i = 0; i < steps; ++i)
    at = *reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const char*>(chain) + at);
  write_walk<Machine>(walk, at, begin);
}

}  // namespace ridge::bench
