// What plan.cpp knows of transpose.cu.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/transpose/transpose.hpp>

namespace ridge::transpose_detail {

// Preconditions: the form has units, fits() takes it for this variant, and the pointers are as it says.
template <class Backend> Status launch(int variant, const DeviceInfo&, const Form&, const void* x, void* y, Stream);

}  // namespace ridge::transpose_detail
