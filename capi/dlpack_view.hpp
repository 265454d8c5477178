// From DLPack's tensors to Ridge's views.
#pragma once
#include <ridge/dlpack.h>
#include <ridge/core/status.hpp>
#include <ridge/core/tensor.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace ridge::capi {

// Where a tensor's memory is. Pinned and managed memory is reached by the CPU and by GPUs: it goes where the other
// tensors of a request are, and where all are of that kind, where `alone` says.
struct Place {
  Device alone;
  bool anywhere = false;
};

// The bytes of a tensor's elements, from its data pointer on: those below it, where strides are negative, and above.
struct Reach {
  std::int64_t below, above;
};
// Nothing where they are 2^63 or more. Sizes have to be 0 or more.
std::optional<Reach> reach_of(const Layout&, std::int64_t element_bytes);

// Where the first element is; nothing where some element would lie beyond an end of the address space.
std::optional<std::uintptr_t> address_of(const DLTensor&, const Reach&);

// Refusals name the tensor: "softmax: x.dtype is ...".
Result<Place> place_of(std::string_view op, std::string_view tensor, DLDevice);

// The tensor as a view on `device`. Strides of axes of one element, which say nothing, are those of a contiguous
// tensor, and so are all strides where there is no element. `keep_data` false: data is taken for NULL.
Result<TensorView> view_of(std::string_view op, std::string_view tensor, const DLTensor&, Device, bool keep_data);

DLDataType dlpack_type(DType);
std::optional<DType> ridge_type(DLDataType);

}  // namespace ridge::capi
