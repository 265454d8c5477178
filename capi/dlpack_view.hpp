// Converts DLPack's tensors to Ridge's views.
#pragma once
#include <ridge/dlpack.h>
#include <ridge/core/status.hpp>
#include <ridge/core/tensor.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace ridge::capi {

// The device of a tensor's memory. The CPU and GPUs both reach pinned and managed memory: it counts as on the device of
// the request's other tensors, and where all tensors are of that kind, as on the device `alone`.
struct Place {
  Device alone;
  bool anywhere = false;
};

// The extent of a tensor's elements in bytes from its data pointer: below it, where strides are negative, and above it.
struct Reach {
  std::int64_t below, above;
};
// Nothing for 2^63 bytes or more. Precondition: sizes are 0 or more.
std::optional<Reach> reach_of(const Layout&, std::int64_t element_bytes);

// The address of the first element; nothing where an element would be beyond an end of the address space.
std::optional<std::uintptr_t> address_of(const DLTensor&, const Reach&);

// Whether a tensor is on a GPU of this build: DLPack has a kind of device for NVIDIA's, and one for AMD's.
bool is_gpu(int device_type);

// Refusals name the tensor: "softmax: x.dtype is ...".
Result<Place> place_of(std::string_view op, std::string_view tensor, DLDevice);

// The tensor as a view on `device`. Strides of axes of one element have no meaning and become those of a contiguous
// tensor, as do all strides of an empty tensor. `keep_data` false: data counts as NULL.
Result<TensorView> view_of(std::string_view op, std::string_view tensor, const DLTensor&, Device, bool keep_data);

DLDataType dlpack_type(DType);
std::optional<DType> ridge_type(DLDataType);

}  // namespace ridge::capi
