// Where the runtime tells an observer what happens. A mode that watches kernels run (memory traces, say) defines
// these functions in a header of its own and includes it here; in every other build they are nothing.
#pragma once
#include <ridge/simt/cpu/runtime.hpp>
#include <ridge/simt/launch.hpp>

#ifdef RIDGE_SIMT_TRACE
#include <ridge/simt/runtime/trace.hpp>
#else

namespace ridge::simt::observe {

constexpr bool one_worker = false;  // does the observer want blocks one after the other?

inline void launch_begin(const Config&, const detail::Entry&) {}
inline void launch_end() {}
inline void block_begin() {}
inline void block_end() {}
inline void block_synced() {}                         // every thread of the block passed a barrier
inline void lanes_synced(int /*warp*/, lane_mask) {}  // these lanes of a warp, but for returned ones, met

}  // namespace ridge::simt::observe

#endif
