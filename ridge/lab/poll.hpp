// For loops that wait for another thread.
#pragma once
#include <ridge/core/api.hpp>

namespace ridge::lab {

// Lets the block's other threads run, if a kernel calls it, else the process's.
RIDGE_API void let_others_run();

// Called at each look at an atomic variable: a device runs the others while a loop looks again and again, and a fiber
// has to let them.
RIDGE_API void looked();

}  // namespace ridge::lab
