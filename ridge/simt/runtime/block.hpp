// The function of a fiber: runs threads of the block, one after the other.
#pragma once

namespace ridge::simt {

void fiber_main();

}  // namespace ridge::simt
