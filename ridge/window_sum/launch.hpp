// The interface of window_sum.cu for plan.cpp.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/window_sum/window_sum.hpp>

namespace ridge::window_sum_detail {

using Types = TypeList<float, half, bfloat16, std::int32_t>;

// Preconditions: the plan's problem has elements, the pointers match it, and the workspace is large enough.
template <class Backend> Status launch(const WindowSumPlan&, const void* x, void* y, void* workspace, Stream);

}  // namespace ridge::window_sum_detail
