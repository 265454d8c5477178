#include <ridge/core/gpu.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/core/vendor/vendor.hpp>
#include <ridge/tuning/clock.hpp>

#include <algorithm>
#include <string>

namespace ridge::tuning {

namespace {

Status check(const char* what, vendor::Error error) {
  if (error == vendor::success) return {};
  (void)vendor::take_last_error();
  return Status::error(Code::device_error, std::string(what) + ": " + vendor::text_of(error));
}

class GpuClock final : public Clock {
 public:
  GpuClock(const DeviceInfo& device, Buffer scratch)
      : device_(device.id), sms_(device.sms), current_(device.id), scratch_(std::move(scratch)) {}
  ~GpuClock() override {
    if (stream_) (void)vendor::destroy(stream_);
    if (start_) (void)vendor::destroy(start_);
    if (stop_) (void)vendor::destroy(stop_);
  }
  Status create() {
    RIDGE_TRY(check("stream", vendor::create_stream(&stream_)));
    RIDGE_TRY(check("event", vendor::create_event(&start_)));
    return check("event", vendor::create_event(&stop_));
  }
  Stream stream() const override { return {stream_}; }
  Status nothing() override { return launch_nothing(stream()); }

  Result<std::function<Result<double>()>> prepare(int runs, std::function<Status(int)> work, bool queued) override {
    RIDGE_TRY(work(0));  // loads the kernels, which is not allowed under capture
    RIDGE_TRY(check("warm-up", vendor::synchronize(stream_)));
    if (queued)
      return timed(runs, [runs, work = std::move(work)] {
        Status status;
        for (int i = 0; i < runs && status.ok(); ++i) status = work(i);
        return status;
      });
    RIDGE_TRY(check("capture", vendor::begin_capture(stream_)));
    Status captured;
    for (int i = 0; i < runs && captured.ok(); ++i) captured = work(i);
    vendor::Graph graph = nullptr;
    const Status ended = check("capture", vendor::end_capture(stream_, &graph));
    if (!captured.ok()) return captured;
    if (!ended.ok()) return ended;
    vendor::GraphExec executable = nullptr;
    const Status made = check("graph", vendor::instantiate(&executable, graph));
    (void)vendor::destroy(graph);
    if (!made.ok()) return made;
    const std::shared_ptr<void> owned(executable, [](vendor::GraphExec g) { (void)vendor::destroy(g); });
    // The graph holds addresses, so everything that `work` owns must live as long.
    return timed(runs, [this, owned, work] {
      return check("graph", vendor::launch(static_cast<vendor::GraphExec>(owned.get()), stream_));
    });
  }

 private:
  // Times the work that `queue` puts on the stream, between two events.
  template <class Queue> std::function<Result<double>()> timed(int runs, Queue queue) {
    return [this, runs, queue = std::move(queue)]() -> Result<double> {
      float ms = 0;
      void* const word = static_cast<char*>(scratch_.data()) + scratch_.bytes() - 16;
      RIDGE_TRY(flush_instruction_caches(sms_, word, stream()));
      RIDGE_TRY(flush_l2(scratch_.data(), scratch_.bytes() - 16, word, stream()));
      RIDGE_TRY(check("event", vendor::record(start_, stream_)));
      RIDGE_TRY(queue());
      RIDGE_TRY(check("event", vendor::record(stop_, stream_)));
      RIDGE_TRY(check("run", vendor::synchronize(stop_)));
      RIDGE_TRY(check("event", vendor::elapsed_ms(&ms, start_, stop_)));
      return ms * 1e3 / runs;
    };
  }

  Device device_;
  int sms_;
  gpu::Guard current_;
  Buffer scratch_;  // twice the L2 cache
  vendor::Stream stream_ = nullptr;
  vendor::Event start_ = nullptr, stop_ = nullptr;
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
