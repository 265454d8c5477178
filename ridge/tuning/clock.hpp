// Clock: how one device times queued work. gpu_clock.cpp stands on CUDA events and graphs, cpu_clock.cpp on the
// steady clock.
#pragma once
#include <ridge/core/device.hpp>
#include <ridge/core/stream.hpp>

#include <functional>
#include <memory>

namespace ridge::tuning {

class RIDGE_API Clock {
 public:
  virtual ~Clock() = default;
  virtual Stream stream() const = 0;
  // Prepares `runs` calls of work(i), i = 0.., to be timed as one: on a GPU they become a graph, so that the time is
  // the device's and not the launching thread's. Returns what measures once, in microseconds per call.
  // On a GPU each measurement starts with a cache that is cold and clean: without this, whoever comes after a copy
  // pays for writing back what the copy left there (12 us of a 237 us sum on an H200). And none of the code that was
  // measured before is left in a multiprocessor's caches, as in a model, where other kernels come between (13 of the
  // 53 us of a product on an H100).
  // `queued` puts the calls on the stream instead: what a copy needs, whose graph node runs at half its speed.
  virtual Result<std::function<Result<double>()>> prepare(int runs, std::function<Status(int)> work,
                                                          bool queued = false) = 0;
  // Queues a kernel that does nothing: what a run takes at least.
  virtual Status nothing() = 0;
};

// Queues a read of `bytes` of scratch, so that the L2 cache (if it is smaller) holds those and no written lines.
Status chill(const void* scratch, std::size_t bytes, void* word, Stream);

// And so much other code that none of anybody else's is left in the caches of `multiprocessors`.
Status chill_code(int multiprocessors, void* word, Stream);

// Queues an empty kernel of one warp.
Status launch_nothing(Stream);

RIDGE_API Result<std::unique_ptr<Clock>> make_cpu_clock();
RIDGE_API Result<std::unique_ptr<Clock>> make_gpu_clock(const DeviceInfo&);

}  // namespace ridge::tuning
