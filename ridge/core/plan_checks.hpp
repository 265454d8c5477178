// Validation of several tensors together, and of every run's arguments. For one tensor's memory: core/check_data.hpp.
#pragma once
#include <ridge/core/device.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/core/overlap.hpp>
#include <ridge/core/status.hpp>
#include <ridge/core/tensor.hpp>

#include <string>
#include <string_view>

namespace ridge {

// Refuses a tensor whose dtype, shape or device differs from another argument's, ...
Status check_like(std::string_view op, std::string_view argument, const TensorView&, std::string_view other_argument,
                  const TensorView& other);
// ... and one on another device.
Status check_same_device(std::string_view op, std::string_view argument, Device, std::string_view other_argument,
                         Device other);

// Both refuse an output that shares memory with an input; the second allows it where both are the same elements.
Status check_no_overlap(std::string_view op, std::string_view output, const TensorView&, std::string_view input,
                        const TensorView&);
Status check_no_partial_overlap(std::string_view op, std::string_view output, const TensorView&, std::string_view input,
                                const TensorView&);

// Refuses an eps that is negative, NaN or beyond the range of the computing type: f64 for f64, float32 for the others.
Status check_eps(std::string_view op, double eps, DType);

// The refusal of a run whose tensors differ from the planned ones; gives both problems' texts.
Status not_as_planned(std::string_view op, const std::string& given, const std::string& planned);

// Refuses a run on another device than the planned one, and a run with too little workspace.
Status check_device(std::string_view op, Device given, const DeviceInfo& planned);
Status check_workspace(std::string_view op, const Workspace& given, std::size_t bytes);

}  // namespace ridge
