// The stopwatch of NVIDIA's samples: the host's time in milliseconds. Kernels run on the CPU here, so it says how long
// that took; the device's predicted time is what cudaEventElapsedTime gives.
#pragma once
#include <chrono>

class StopWatchInterface {
 public:
  void start() {
    began_ = Clock::now();
    running_ = true;
  }
  void stop() {
    last_ = since_start();
    total_ += last_;
    ++sessions_;
    running_ = false;
  }
  void reset() {
    total_ = last_ = 0;
    sessions_ = 0;
    if (running_) began_ = Clock::now();
  }
  float getTime() const { return running_ ? total_ + since_start() : total_; }
  float getAverageTime() const { return sessions_ > 0 ? total_ / static_cast<float>(sessions_) : 0; }

 private:
  using Clock = std::chrono::steady_clock;
  float since_start() const { return std::chrono::duration<float, std::milli>(Clock::now() - began_).count(); }
  Clock::time_point began_{};
  float total_ = 0, last_ = 0;
  int sessions_ = 0;
  bool running_ = false;
};

inline bool sdkCreateTimer(StopWatchInterface** timer) {
  *timer = new StopWatchInterface;
  return true;
}
inline bool sdkDeleteTimer(StopWatchInterface** timer) {
  delete *timer;
  *timer = nullptr;
  return true;
}
inline bool sdkStartTimer(StopWatchInterface** timer) {
  if (*timer) (*timer)->start();
  return true;
}
inline bool sdkStopTimer(StopWatchInterface** timer) {
  if (*timer) (*timer)->stop();
  return true;
}
inline bool sdkResetTimer(StopWatchInterface** timer) {
  if (*timer) (*timer)->reset();
  return true;
}
inline float sdkGetTimerValue(StopWatchInterface** timer) { return *timer ? (*timer)->getTime() : 0; }
inline float sdkGetAverageTimerValue(StopWatchInterface** timer) { return *timer ? (*timer)->getAverageTime() : 0; }
