// A stretch in which the runtime's signal handlers do not abandon the kernel: it takes locks, or memory.
#pragma once
#include <ridge/simt/runtime/here.hpp>

namespace ridge::lab {

class Uninterrupted {
 public:
  Uninterrupted() : worker_(simt::worker_or_null()) {
    if (worker_) former_ = worker_->in_fiber.exchange(false, std::memory_order_relaxed);
  }
  ~Uninterrupted() {
    if (worker_) worker_->in_fiber.store(former_, std::memory_order_relaxed);
  }
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

 private:
  simt::Worker* worker_;
  bool former_ = false;
};

}  // namespace ridge::lab
