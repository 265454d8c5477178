// The runtime's notifications for an observer. A mode that observes kernels (such as the trace) defines these functions
// in a header of its own, which is included here; in every other build they do nothing.
#pragma once
#include <ridge/simt/cpu/runtime.hpp>
#include <ridge/simt/launch.hpp>

#ifdef RIDGE_SIMT_TRACE
#include <ridge/simt/runtime/trace.hpp>
#else

namespace ridge::simt::observe {

constexpr bool one_worker = false;  // whether the observer needs blocks one after the other

inline void launch_begin(const Config&, const detail::Entry&) {}
inline void launch_end() {}
inline void block_begin() {}
inline void block_end() {}
inline void block_synced() {}                         // every thread of the block passed a barrier
inline void lanes_synced(int /*warp*/, lane_mask) {}  // these lanes of a warp met, except returned ones

}  // namespace ridge::simt::observe

#endif
