// Clock: times queued work on one device. gpu_clock.cpp uses events and graphs, cpu_clock.cpp the steady clock.
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
  // the device's and not the launching thread's. Returns a function that measures once, in microseconds per call. On a
  // GPU each measurement starts with a cold and clean cache: otherwise a run after a copy pays for writing back the
  // copy's lines (12 us of a 237 us sum on an H200). The measured code is not in a multiprocessor's caches either, as
  // in a model, where other kernels run in between (13 of the 53 us of a product on an H100). `queued` puts the calls
  // on the stream instead of a graph: a copy needs that, because as a graph node it runs at half its speed.
  virtual Result<std::function<Result<double>()>> prepare(int runs, std::function<Status(int)> work,
                                                          bool queued = false) = 0;
  // Queues a kernel that does nothing, for the least time of a run.
  virtual Status nothing() = 0;
};

// Queues a read of `bytes` of scratch, so that the L2 cache (if it is smaller) holds only those and no dirty lines.
Status flush_l2(const void* scratch, std::size_t bytes, void* word, Stream);

// Queues enough other code to evict all earlier code from the caches of `multiprocessors`.
Status flush_instruction_caches(int multiprocessors, void* word, Stream);

// Queues an empty kernel of one warp.
Status launch_nothing(Stream);

RIDGE_API Result<std::unique_ptr<Clock>> make_cpu_clock();
RIDGE_API Result<std::unique_ptr<Clock>> make_gpu_clock(const DeviceInfo&);

}  // namespace ridge::tuning
