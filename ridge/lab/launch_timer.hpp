// Times the launches of a user's program on a GPU. `ridge lab --time` has nvcc include it first; timed.hpp says what
// becomes of a launch. Each comes with two events; when these have passed, its time is a line of JSON in the file that
// RIDGE_LAB_TIMES names. CUDA's runtime and nothing of Ridge, for the host code of one source file.
#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// A kernel's name that a macro has pasted together.
#define RIDGE_LAB_LITERAL(...) #__VA_ARGS__

namespace ridge_lab_time {

// Of launches of one line with one shape, this many are timed: programs that launch for seconds need not wait for more.
constexpr int most_timed = 200;
// Launches whose events have not passed. Beyond them launches are not timed: to wait for one could be to wait for ever.
constexpr std::size_t most_waiting = 1024;
// The stream is held this long before a launch, 20 us at 1.75 GHz, for the host to enqueue it with its two events: else
// the time between these would be the host's. Chosen by what launches take on usual hosts; not fitted to any.
constexpr long long hold_clocks = 35000;

struct LaunchSite {
  LaunchSite(const char* k, const char* f, int l) : kernel(k), file(f), line(l) {}
  const char *kernel, *file;
  int line;
};

// As <<<>>> takes it.
struct LaunchConfig {
  LaunchConfig() = default;
  LaunchConfig(dim3 g, dim3 b, std::size_t s = 0, cudaStream_t t = nullptr) : grid(g), block(b), shared(s), stream(t) {}
  dim3 grid, block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
};

static __global__ void hold(long long clocks) {
  for (const long long begin = clock64(); clock64() - begin < clocks;) continue;
}

// Calls of CUDA that the program does not notice: errors of ours are not left for it to find, and its capture of
// another stream goes on.
class Aside {
 public:
  Aside() : before_(cudaPeekAtLastError()) { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~Aside() {
    cudaThreadExchangeStreamCaptureMode(&mode_);
    if (before_ == cudaSuccess && cudaPeekAtLastError() != cudaSuccess) cudaGetLastError();
  }
  Aside(const Aside&) = delete;
  cudaError_t before() const { return before_; }

 private:
  cudaError_t before_;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

struct Launch {
  LaunchSite site;
  LaunchConfig config;
  Launch* outer;                             // that is under way: this one is within its arguments
  int number = 0;                            // among those of its line and shape
  cudaEvent_t from = nullptr, to = nullptr;  // none where it is not timed
  cudaError_t before = cudaSuccess;
};

class Timer {
 public:
  Timer() {
    const char* name = std::getenv("RIDGE_LAB_TIMES");
    file_ = name ? std::fopen(name, "a") : nullptr;
    if (file_) std::setvbuf(file_, nullptr, _IOLBF, BUFSIZ);  // whole lines, however the program ends
  }

  // Before the launch.
  void start(Launch& launch) {
    if (!file_) return;
    const std::lock_guard<std::mutex> hold_lock(lock_);
    const Aside aside;
    launch.number = launched_[shape_of(launch)]++;
    if (aside.before() == cudaSuccess) take_passed();  // asking makes an error, which would cover the program's
    launch.before = aside.before();
    if (launch.outer) drop(*launch.outer);  // its time would hold this one's
    if (!is_wanted(launch)) return;
    if (!take_event(launch.from) || !take_event(launch.to)) return drop(launch);
    hold<<<1, 1, 0, launch.config.stream>>>(hold_clocks);
    if (cudaEventRecord(launch.from, launch.config.stream) != cudaSuccess) drop(launch);
  }

  // After it. One that has failed has no time.
  void stop(Launch& launch) {
    if (!launch.from) return;
    const std::lock_guard<std::mutex> hold_lock(lock_);
    const Aside aside;
    const bool failed = aside.before() != launch.before;
    if (failed || cudaEventRecord(launch.to, launch.config.stream) != cudaSuccess) return drop(launch);
    waiting_.push_back(launch);
  }

  // Waits for all that is not yet written.
  void finish() {
    const std::lock_guard<std::mutex> hold_lock(lock_);
    const Aside aside;
    for (const Launch& launch : waiting_) {
      cudaEventSynchronize(launch.to);
      write(launch);
    }
    waiting_.clear();
    for (const cudaEvent_t event : events_) cudaEventDestroy(event);
    events_.clear();  // which a reset of the device would destroy, too
  }

 private:
  using Shape = std::tuple<std::string, int, std::string, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           std::size_t>;
  static Shape shape_of(const Launch& launch) {
    const LaunchConfig& c = launch.config;
    return {launch.site.file, launch.site.line, launch.site.kernel, c.grid.x,  c.grid.y,
            c.grid.z,         c.block.x,        c.block.y,          c.block.z, c.shared};
  }

  // A stream that is being captured runs nothing.
  bool is_wanted(const Launch& launch) {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(launch.config.stream, &capture) != cudaSuccess) return false;
    if (capture != cudaStreamCaptureStatusNone || waiting_.size() >= most_waiting) return false;
    return launch.number < most_timed;
  }

  bool take_event(cudaEvent_t& event) {
    if (events_.empty()) return cudaEventCreate(&event) == cudaSuccess;
    event = events_.back();
    events_.pop_back();
    return true;
  }
  void drop(Launch& launch) {
    if (launch.from) events_.push_back(launch.from);
    if (launch.to) events_.push_back(launch.to);
    launch.from = launch.to = nullptr;
  }

  void take_passed() {
    while (!waiting_.empty() && cudaEventQuery(waiting_.front().to) == cudaSuccess) {
      write(waiting_.front());
      waiting_.pop_front();
    }
  }

  void write(const Launch& launch) {
    float ms = 0;
    const bool has_time = cudaEventElapsedTime(&ms, launch.from, launch.to) == cudaSuccess;
    events_.push_back(launch.from);
    events_.push_back(launch.to);
    if (!has_time) return;
    const LaunchConfig& c = launch.config;
    std::fprintf(file_,
                 "{\"file\":\"%s\",\"line\":%d,\"kernel\":\"%s\",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],"
                 "\"dynamic_shared_bytes\":%zu,\"number\":%d,\"us\":%.3f}\n",
                 escaped(launch.site.file).c_str(), launch.site.line, escaped(launch.site.kernel).c_str(), c.grid.x,
                 c.grid.y, c.grid.z, c.block.x, c.block.y, c.block.z, c.shared, launch.number,
                 1e3 * static_cast<double>(ms));
  }

  static std::string escaped(const char* text) {
    std::string result;
    for (; *text; ++text) {
      if (*text == '"' || *text == '\\') result += '\\';
      result += *text;
    }
    return result;
  }

  std::mutex lock_;
  std::FILE* file_ = nullptr;
  std::deque<Launch> waiting_;
  std::vector<cudaEvent_t> events_;  // that no launch has now
  std::map<Shape, int> launched_;
};

// Never destroyed, since static objects of the program may launch at its end.
inline Timer& timer() {
  static Timer& the_timer = *[] {
    auto* made = new Timer;
    std::atexit([] { timer().finish(); });
    return made;
  }();
  return the_timer;
}

// ---- what the copy of the user's file calls -------------------------------------------------------------------------

inline thread_local Launch* under_way = nullptr;
inline thread_local LaunchConfig latest;

// `config` is evaluated once, here, and then given to the launch.
inline void begin_launch(const LaunchSite& site, const LaunchConfig& config) {
  latest = config;
  under_way = new Launch{site, config, under_way};
  timer().start(*under_way);
}
inline dim3 launch_grid() { return latest.grid; }
inline dim3 launch_block() { return latest.block; }
inline std::size_t launch_shared() { return latest.shared; }
inline cudaStream_t launch_stream() { return latest.stream; }
inline void end_launch() {
  Launch* const launch = std::exchange(under_way, under_way->outer);
  timer().stop(*launch);
  delete launch;
}

// A call of cudaLaunchKernel.
struct LaunchKernel {
  explicit LaunchKernel(const LaunchSite& s) : site(s) {}
  LaunchSite site;
  template <class Kernel>
  cudaError_t operator()(Kernel kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared = 0,
                         cudaStream_t stream = nullptr) const {
    begin_launch(site, LaunchConfig(grid, block, shared, stream));
    const cudaError_t error = cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
    end_launch();
    return error;
  }
};

// Events do not outlive their device.
inline cudaError_t reset_device() {
  timer().finish();
  return cudaDeviceReset();
}

}  // namespace ridge_lab_time
