#include <ridge/bench/ceilings.hpp>
#include <ridge/bench/latencies.hpp>
#include <ridge/bench/pointer_chase.hpp>
#include <ridge/core/memory.hpp>

#include <algorithm>
#include <functional>
#include <utility>

#ifndef RIDGE_HAS_CUDA
#define RIDGE_HAS_CUDA 0
#endif

namespace ridge::bench {

namespace {

// Chains of links in lines of their own. Memory's is wider than every L2 cache; its stride is not a power of two, so
// that its links are in all banks and channels. The L2 cache's is wider than every L1 cache.
struct Chain {
  std::int64_t stride;
  std::uint32_t links;
  std::int64_t warm, steps;
  bool cold;  // the walk starts with nothing of it in the L2 cache, and meets each link once
};
constexpr std::int64_t line = 128;
constexpr Chain global_chain{255 * line, 16384, 0, 16384, true};
constexpr Chain l2_chain{line, 32768, 32768, 32768, false};
constexpr Chain l1_chain{line, 128, 256, 32768, false};
constexpr std::uint32_t shared_links = 4096;
constexpr std::int64_t shared_steps = 32768;
constexpr std::size_t half = std::size_t{512} << 20;  // of the memory: chains, and what is read to empty the L2 cache
constexpr int tries = 5;
static_assert(global_chain.stride * global_chain.links <= static_cast<std::int64_t>(half));

class Chaser {
 public:
  static Result<Chaser> make(const DeviceInfo& device) {
    Chaser chaser(device);
    for (const auto& [buffer, bytes] : {std::pair{&chaser.memory_, 2 * half},
                                        {&chaser.next_, l2_chain.links * sizeof(std::uint32_t)},
                                        {&chaser.walk_, sizeof(Walk)}}) {
      auto allocated = Buffer::allocate(device.id, bytes);
      if (!allocated) return allocated.error();
      *buffer = std::move(*allocated);
    }
    RIDGE_TRY(fill_bytes(chaser.memory_.data(), device.id, 0, 2 * half));
    return chaser;
  }

  Result<Latency> over(const Chain& chain) {
    RIDGE_TRY(give_order(chain.links));
    RIDGE_TRY(tie_links(device_, memory_.data(), chain.stride, next(), chain.links, {}));
    return least(chain.steps, [&]() -> Status {
      if (chain.cold) RIDGE_TRY(empty_l2());
      return walk_links(device_, memory_.data(), chain.warm, chain.steps, walk(), {});
    });
  }

  Result<Latency> over_shared() {
    RIDGE_TRY(give_order(shared_links));
    return least(shared_steps, [&] { return walk_shared(device_, next(), shared_links, shared_steps, walk(), {}); });
  }

 private:
  explicit Chaser(const DeviceInfo& device) : device_(device) {}

  Status give_order(std::uint32_t links) {
    constexpr std::uint32_t seed = 1;
    const auto order = random_cycle(links, seed);
    return copy_bytes(next_.data(), device_.id, order.data(), {}, order.size() * sizeof order[0]);
  }

  Status empty_l2() {
    return launch_ceiling(Ceiling::read, device_, static_cast<char*>(memory_.data()) + half, half, {});
  }

  // Of several walks the undisturbed one.
  Result<Latency> least(std::int64_t steps, const std::function<Status()>& start) {
    Latency best;
    for (int i = 0; i < tries; ++i) {
      RIDGE_TRY(start());
      Walk walked;
      RIDGE_TRY(copy_bytes(&walked, {}, walk(), device_.id, sizeof walked));
      const Latency now{static_cast<double>(walked.taken.cycles) / static_cast<double>(steps),
                        static_cast<double>(walked.taken.ns) / static_cast<double>(steps)};
      if (i == 0 || now.cycles < best.cycles) best = now;
    }
    return best;
  }

  const std::uint32_t* next() const { return static_cast<const std::uint32_t*>(next_.data()); }
  Walk* walk() const { return static_cast<Walk*>(walk_.data()); }

  DeviceInfo device_;
  Buffer memory_, next_, walk_;
};

Result<Latencies> chase(const DeviceInfo& device) {
  auto chaser = Chaser::make(device);
  if (!chaser) return chaser.error();
  Latencies found;
  for (const auto& [chain, place] :
       {std::pair{&global_chain, &found.global}, {&l2_chain, &found.l2}, {&l1_chain, &found.l1}}) {
    auto latency = chaser->over(*chain);
    if (!latency) return latency.error();
    *place = *latency;
  }
  auto shared = chaser->over_shared();
  if (!shared) return shared.error();
  found.shared = *shared;
  return found;
}

}  // namespace

Result<Latencies> measure_latencies(const DeviceInfo& device) {
  if (device.is_cpu())
    return Status::invalid("calibrate", "device", "the CPU runtime", "a GPU: the CPU runtime has no memory of its own");
  if constexpr (RIDGE_HAS_CUDA) return chase(device);
  return Status::error(Code::no_device, "this build of Ridge has no CUDA, whose GPUs alone are calibrated");
}

}  // namespace ridge::bench
