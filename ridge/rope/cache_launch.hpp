// The interface of cache.cu for cache.cpp.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/rope/cache.hpp>

namespace ridge::rope_detail {

// Preconditions: the plan's grid is not 0, and the tensors match its problem.
template <class Backend> Status launch_cache(const RopeCachePlan&, const RopeCacheTensors&, Stream);

}  // namespace ridge::rope_detail
