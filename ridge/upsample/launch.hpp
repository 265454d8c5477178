// The interface of the .cu files for plan.cpp: one launch per element type and backend.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/upsample/upsample.hpp>

namespace ridge::upsample_detail {

using Means = TypeList<float, half, bfloat16>;       // of any mode, with gradients
using Copies = TypeList<std::int8_t, std::uint8_t>;  // nearest and nearest_exact alone

struct Arguments {
  const UpsamplePlan& plan;
  const void* in;  // x, or dy
  void* out;       // y, or dx
  Stream stream;
};

// Preconditions: the plan's problem writes elements, and the pointers match it.
template <class Backend> Status launch_f32(const Arguments&);
template <class Backend> Status launch_f16(const Arguments&);
template <class Backend> Status launch_bf16(const Arguments&);
template <class Backend> Status launch_bytes(const Arguments&);

}  // namespace ridge::upsample_detail
