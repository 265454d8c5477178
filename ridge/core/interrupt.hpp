// Interrupt: the question whether long work on the CPU is still wanted. A launch asks it on the launching thread.
#pragma once
#include <ridge/core/api.hpp>

namespace ridge {

// Launches of the calling thread on the CPU runtime call `asked` when they start and about twenty times a second while
// they run; other threads and GPUs do not. If it says that the work is not wanted, the launch ends within a second,
// even in the middle of a block, with Code::interrupted and undefined outputs. Other launches wait meanwhile: `asked`
// must not call Ridge, nor wait for a thread that does.
struct Interrupt {
  int (*asked)(void* context) = nullptr;  // returns not 0: the work is not wanted. Null: never interrupted
  void* context = nullptr;
};

RIDGE_API void set_interrupt(Interrupt);  // for the calling thread
RIDGE_API bool can_be_interrupted();
RIDGE_API bool is_interrupted();  // calls `asked`

}  // namespace ridge
