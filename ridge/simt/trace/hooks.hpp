// The recorder behind the hooks of compiled kernels.
#pragma once
#include <ridge/simt/trace/recorder.hpp>

namespace ridge::simt::trace {

// From now on this recorder receives the hooks of the calling OS thread's kernel; null: none does.
void listen(Recorder*);

// The recorder of the calling OS thread, if any; while this object lives, no signal abandons the thread's block.
class Listener {
 public:
  Listener();
  ~Listener() {
    if (recorder_) recorder_->interruptible(true);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  explicit operator bool() const { return recorder_; }
  Recorder* operator->() const { return recorder_; }

 private:
  Recorder* recorder_;
};

}  // namespace ridge::simt::trace
