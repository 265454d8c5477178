// The interface of rope.cu for plan.cpp.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/rope/rope.hpp>

namespace ridge::rope_detail {

using Types = TypeList<float, half, bfloat16>;

// Preconditions: the plan's problem has elements, and the tensors match it.
template <class Backend> Status launch(const RopePlan&, const RopeTensors&, Stream);

}  // namespace ridge::rope_detail
