// What validation asks of several tensors together, and every run of what it is given. Of one tensor's memory:
// core/check_data.hpp.
#pragma once
#include <ridge/core/device.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/core/overlap.hpp>
#include <ridge/core/status.hpp>
#include <ridge/core/tensor.hpp>

#include <string>
#include <string_view>

namespace ridge {

// Refuses a tensor that has not the dtype, shape and device of another argument, ...
Status check_like(std::string_view op, std::string_view argument, const TensorView&, std::string_view other_argument,
                  const TensorView& other);
// ... and one on another device.
Status check_same_device(std::string_view op, std::string_view argument, Device, std::string_view other_argument,
                         Device other);

// Refuses an output that shares memory with an input; but, for the second, where both are the same elements.
Status check_no_overlap(std::string_view op, std::string_view output, const TensorView&, std::string_view input,
                        const TensorView&);
Status check_no_partial_overlap(std::string_view op, std::string_view output, const TensorView&, std::string_view input,
                                const TensorView&);

// Refuses an eps that is negative, or no number of the type that is computed in: f64's own, of others float32.
Status check_eps(std::string_view op, double eps, DType);

// The refusal of a run whose tensors are not those that were planned for, both as their problem's text says.
Status not_as_planned(std::string_view op, const std::string& given, const std::string& planned);

// Refuses a run on another device than was planned for, and one with too little workspace.
Status check_device(std::string_view op, Device given, const DeviceInfo& planned);
Status check_workspace(std::string_view op, const Workspace& given, std::size_t bytes);

}  // namespace ridge
