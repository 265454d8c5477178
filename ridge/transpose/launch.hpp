// What plan.cpp knows of transpose.cu.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/transpose/transpose.hpp>

namespace ridge::transpose_detail {

// Of the tensors given, which may start elsewhere than was planned for. Preconditions: the form has units, the plan's
// row takes it, and the pointers are as it says.
template <class Backend> Status launch(const TransposePlan&, const Form&, const void* x, void* y, Stream);

}  // namespace ridge::transpose_detail
