// LaunchRecorder: the launches that a run would make. While one lives on a thread, that thread's GPU launches are
// recorded, with the compiler's figures of each kernel, and not made.
#pragma once
#include <ridge/core/api.hpp>

#include <cstdint>
#include <vector>

namespace ridge {

struct KernelRecord {
  std::int64_t blocks = 0;
  int threads = 0, registers = 0;  // registers per thread
  int smem_bytes = 0;              // per block, static and dynamic
  int local_bytes = 0;             // per thread: spills, and arrays that are not in registers
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
