// The lanes of a warp that are at one place together: CUDA's __activemask() and coalesced_threads().
#pragma once
#include <ridge/simt/cpu/runtime.hpp>

namespace ridge::lab {

// Waits until every other lane of this warp is here too, waits elsewhere, or has returned, and returns those that are
// here. A device promises less: its answer may be any part of them, so a correct kernel does not depend on more.
RIDGE_API simt::lane_mask lanes_here(simt::detail::where at);

}  // namespace ridge::lab
