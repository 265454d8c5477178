// What the block tells the collectives.
#pragma once
#include <ridge/simt/runtime/worker.hpp>

namespace ridge::simt {

// A lane that has returned does not hold up the collectives of its warp.
void lane_returned(Worker&, const Thread&);

}  // namespace ridge::simt
