// LaunchRecorder: what a run would launch. While one lives on a thread, that thread's GPU launches are told to it, with
// what the compiler made of each kernel, and are not made.
#pragma once
#include <ridge/core/api.hpp>

#include <cstdint>
#include <vector>

namespace ridge {

struct KernelRecord {
  std::int64_t blocks = 0;
  int threads = 0, registers = 0;  // registers of a thread
  int smem_bytes = 0;              // of a block, static and dynamic
  int local_bytes = 0;             // of a thread: what was spilled, and arrays that no register holds
};

class LaunchRecorder {
 public:
  RIDGE_API LaunchRecorder();
  RIDGE_API ~LaunchRecorder();
  LaunchRecorder(const LaunchRecorder&) = delete;
  LaunchRecorder& operator=(const LaunchRecorder&) = delete;

  RIDGE_API static LaunchRecorder* current();  // this thread's; null: launches are made

  std::vector<KernelRecord> kernels;

 private:
  LaunchRecorder* outer_;
};

}  // namespace ridge
