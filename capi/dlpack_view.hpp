// From DLPack's tensors to Ridge's views.
#pragma once
#include <ridge/dlpack.h>
#include <ridge/core/status.hpp>
#include <ridge/core/tensor.hpp>

#include <optional>
#include <string_view>

namespace ridge::capi {

// Where a tensor's memory is. Pinned and managed memory is reached by the CPU and by GPUs: it goes where the other
// tensors of a request are, and where all are of that kind, where `alone` says.
struct Place {
  Device alone;
  bool anywhere = false;
};

// Refusals name the tensor: "softmax: x.dtype is ...".
Result<Place> place_of(std::string_view op, std::string_view tensor, DLDevice);

// The tensor as a view on `device`. Strides of axes of one element, which say nothing, are those of a contiguous
// tensor, and so are all strides where there is no element. `keep_data` false: data is taken for NULL.
Result<TensorView> view_of(std::string_view op, std::string_view tensor, const DLTensor&, Device, bool keep_data);

DLDataType dlpack_type(DType);
std::optional<DType> ridge_type(DLDataType);

}  // namespace ridge::capi
