// The interface of transpose.cu for plan.cpp.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/transpose/transpose.hpp>

namespace ridge::transpose_detail {

// `form` is that of the given tensors, whose alignment offsets may differ from the plan's. Preconditions: the form has
// units, the plan's row takes it, and the pointers match it.
template <class Backend> Status launch(const TransposePlan&, const Form&, const void* x, void* y, Stream);

}  // namespace ridge::transpose_detail
