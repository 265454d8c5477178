// Notifications from the block to the collectives.
#pragma once
#include <ridge/simt/runtime/worker.hpp>

namespace ridge::simt {

// Marks a lane as returned: the collectives of its warp no longer wait for it.
void lane_returned(Worker&, const Thread&);

}  // namespace ridge::simt
