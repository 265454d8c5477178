// Where the hooks of compiled kernels lead.
#pragma once
#include <ridge/simt/trace/recorder.hpp>

namespace ridge::simt::trace {

// From now on the calling OS thread's kernel is heard by this recorder; null: by none.
void listen(Recorder*);

// The recorder that hears the calling OS thread, if any; while this lives, no signal takes the thread away from it.
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
