// Limits of dynamic shared memory per kernel, above the default. A limit never falls below what another thread that is
// about to launch the same kernel has asked for.
#pragma once
#include <ridge/core/api.hpp>

#include <cstddef>

namespace ridge {

// Calls set(kernel, bytes) to tell the driver the largest size requested so far for this kernel on this device. It
// calls every time, because a device reset loses the setting. Returns what set returns, 0 for success; a size that
// fails is not kept. Callable from any thread.
RIDGE_API int allow_shared_bytes(const void* kernel, int device, std::size_t bytes,
                                 int (*set)(const void* kernel, int bytes));

}  // namespace ridge
