// Progress: a line on the terminal for work that takes over a second, gone when the work is done. Silent where
// stderr is no terminal.
#pragma once
#include <ridge/core/text.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace ridge::cli {

class Progress {
 public:
  explicit Progress(std::string what, std::size_t steps = 1) : what_(std::move(what)), steps_(steps) {
    if (isatty(STDERR_FILENO)) clock_ = std::jthread([this](std::stop_token stop) { draw_each_second(stop); });
  }

  // Step `index` (from 0) begins: what it works on.
  void step(std::size_t index, std::string on) {
    const std::lock_guard lock(mutex_);
    index_ = index;
    share_ = 0;
    where_.clear();
    on_ = std::move(on);
  }

  // How much of the step is done, from 0 to 1, and where in it the work is.
  void part(double share, std::string where) {
    const std::lock_guard lock(mutex_);
    share_ = share;
    where_ = std::move(where);
  }

  // Takes the line away while something else is printed on the terminal.
  void erase() {
    const std::lock_guard lock(mutex_);
    erase_line();
  }

  ~Progress() {
    if (!clock_.joinable()) return;
    clock_.request_stop();
    clock_.join();
    erase_line();
  }

 private:
  void draw_each_second(std::stop_token stop) {
    using namespace std::chrono;
    const auto begin = steady_clock::now();
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, stop, seconds(1), [&] { return stop.stop_requested(); })) {
      const auto passed = duration_cast<seconds>(steady_clock::now() - begin).count();
      std::string line = what_;
      if (steps_ > 1) line += " " + std::to_string(index_ + 1) + "/" + std::to_string(steps_);
      if (!where_.empty()) line += ", " + where_;
      line += ", " + std::to_string(passed) + " s";
      // Assumes that the steps left take as long as those before them did, which the first seconds say too little of.
      const double done = (static_cast<double>(index_) + share_) / static_cast<double>(steps_);
      if (done > 0 && passed >= 3)
        line += ", about " + std::to_string(std::lround(static_cast<double>(passed) * (1 - done) / done)) + " s left";
      if (!on_.empty()) line += ": " + on_;
      line.resize(std::min<std::size_t>(line.size(), 100));  // a wrapped line could not be erased
      std::fprintf(stderr, "\r\033[K%s", printable(line).c_str());
      std::fflush(stderr);
      drawn_ = true;
    }
  }

  void erase_line() {
    if (!drawn_) return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    drawn_ = false;
  }

  std::string what_, on_, where_;
  std::size_t steps_ = 1, index_ = 0;
  double share_ = 0;
  bool drawn_ = false;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread clock_;  // last: the thread starts when all it uses is there
};

}  // namespace ridge::cli
