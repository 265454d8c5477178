#include <ridge/core/gpu.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/tuning/clock.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

namespace ridge::tuning {

namespace {

Status check(const char* what, cudaError_t error) {
  if (error == cudaSuccess) return {};
  (void)cudaGetLastError();
  return Status::error(Code::device_error, std::string(what) + ": " + cudaGetErrorString(error));
}

class GpuClock final : public Clock {
 public:
  GpuClock(const DeviceInfo& device, Buffer scratch)
      : device_(device.id), sms_(device.sms), current_(device.id), scratch_(std::move(scratch)) {}
  ~GpuClock() override {
    if (stream_) cudaStreamDestroy(stream_);
    if (start_) cudaEventDestroy(start_);
    if (stop_) cudaEventDestroy(stop_);
  }
  Status create() {
    RIDGE_TRY(check("cudaStreamCreate", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)));
    RIDGE_TRY(check("cudaEventCreate", cudaEventCreate(&start_)));
    return check("cudaEventCreate", cudaEventCreate(&stop_));
  }
  Stream stream() const override { return {stream_}; }
  Status nothing() override { return launch_nothing(stream()); }

  Result<std::function<Result<double>()>> prepare(int runs, std::function<Status(int)> work, bool queued) override {
    RIDGE_TRY(work(0));  // loads the kernels, which is not allowed under capture
    RIDGE_TRY(check("warm-up", cudaStreamSynchronize(stream_)));
    if (queued)
      return timed(runs, [runs, work = std::move(work)] {
        Status status;
        for (int i = 0; i < runs && status.ok(); ++i) status = work(i);
        return status;
      });
    RIDGE_TRY(check("capture", cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal)));
    Status captured;
    for (int i = 0; i < runs && captured.ok(); ++i) captured = work(i);
    cudaGraph_t graph = nullptr;
    const Status ended = check("capture", cudaStreamEndCapture(stream_, &graph));
    if (!captured.ok()) return captured;
    if (!ended.ok()) return ended;
    cudaGraphExec_t executable = nullptr;
    const Status made = check("cudaGraphInstantiate", cudaGraphInstantiate(&executable, graph, 0));
    cudaGraphDestroy(graph);
    if (!made.ok()) return made;
    std::shared_ptr<CUgraphExec_st> owned(executable, [](cudaGraphExec_t g) { cudaGraphExecDestroy(g); });
    // The graph holds addresses, so everything that `work` owns must live as long.
    return timed(runs, [this, owned, work] { return check("graph", cudaGraphLaunch(owned.get(), stream_)); });
  }

 private:
  // Times the work that `queue` puts on the stream, between two events.
  template <class Queue> std::function<Result<double>()> timed(int runs, Queue queue) {
    return [this, runs, queue = std::move(queue)]() -> Result<double> {
      float ms = 0;
      void* const word = static_cast<char*>(scratch_.data()) + scratch_.bytes() - 16;
      RIDGE_TRY(flush_instruction_caches(sms_, word, stream()));
      RIDGE_TRY(flush_l2(scratch_.data(), scratch_.bytes() - 16, word, stream()));
      RIDGE_TRY(check("event", cudaEventRecord(start_, stream_)));
      RIDGE_TRY(queue());
      RIDGE_TRY(check("event", cudaEventRecord(stop_, stream_)));
      RIDGE_TRY(check("run", cudaEventSynchronize(stop_)));
      RIDGE_TRY(check("event", cudaEventElapsedTime(&ms, start_, stop_)));
      return ms * 1e3 / runs;
    };
  }

  Device device_;
  int sms_;
  gpu::Guard current_;
  Buffer scratch_;  // twice the L2 cache
  cudaStream_t stream_ = nullptr;
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Clock>> make_gpu_clock(const DeviceInfo& device) {
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(2 * device.l2_bytes, 1 << 20));
  auto scratch = Buffer::allocate(device.id, bytes);
  if (!scratch) return scratch.error();
  void* const data = scratch->data();
  auto clock = std::make_unique<GpuClock>(device, std::move(*scratch));
  RIDGE_TRY(clock->create());
  RIDGE_TRY(fill_bytes(data, device.id, 0, bytes, clock->stream()));
  return std::unique_ptr<Clock>(std::move(clock));
}

}  // namespace ridge::tuning
