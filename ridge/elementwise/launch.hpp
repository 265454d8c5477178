// The interface of elementwise.cu for plan.cpp: one launch() per backend, and the instantiated types.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/elementwise/elementwise.hpp>

namespace ridge::elementwise_detail {

using FloatTypes = TypeList<float, half, bfloat16, double>;
using ArithmeticTypes = TypeList<float, half, bfloat16, double, std::int32_t>;

// Preconditions: the plan's problem has elements, and the pointers match it.
template <class Backend> Status launch(const ElementwisePlan&, const void* a, const void* b, void* y, Stream);

}  // namespace ridge::elementwise_detail
