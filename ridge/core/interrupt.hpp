// Whether long work on the CPU is still wanted: what a launch asks while it runs, on the thread that made it.
#pragma once
#include <ridge/core/api.hpp>

namespace ridge {

// Asked by the calling thread's launches on the CPU runtime, when one starts and some twenty times a second while it
// runs; other threads and GPUs are not concerned. Where it answers that the work is not wanted, the launch ends within
// a second, kernels in the middle of a block included, with Code::interrupted; the outputs are undefined then.
// Other launches wait for this one meanwhile: it must not call Ridge, nor wait for a thread that does.
struct Interrupt {
  int (*asked)(void* context) = nullptr;  // not 0: the work is not wanted. Null: nobody is asked
  void* context = nullptr;
};

RIDGE_API void set_interrupt(Interrupt);  // of the calling thread
RIDGE_API bool can_be_interrupted();
RIDGE_API bool is_interrupted();  // asks

}  // namespace ridge
