// The observer that traces memory accesses (ridge/simt/trace).
#pragma once
#include <ridge/simt/cpu/runtime.hpp>

namespace ridge::simt::observe {

constexpr bool one_worker = true;  // one block at a time, so that what blocks do to each other has an order

void launch_begin(const Config&, const detail::Entry&);
void launch_end();
void block_begin();
void block_end();
void block_synced();
void lanes_synced(int warp, lane_mask);

}  // namespace ridge::simt::observe
