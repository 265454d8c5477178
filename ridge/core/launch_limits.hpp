// The shared memory that kernels are allowed, beyond what every kernel has: never less than another thread, about to
// launch the same kernel, has asked for.
#pragma once
#include <ridge/core/api.hpp>

#include <cstddef>

namespace ridge {

// Tells the driver, by set(kernel, bytes), the most that was asked for of this kernel on this device, now or before:
// every time, for a device that was reset has forgotten. Returns what set returns, 0 for success; what fails is not
// asked for again. From any thread.
RIDGE_API int allow_shared_bytes(const void* kernel, int device, std::size_t bytes,
                                 int (*set)(const void* kernel, int bytes));

}  // namespace ridge
