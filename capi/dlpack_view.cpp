#include "dlpack_view.hpp"

#include <algorithm>
#include <string>

namespace ridge::capi {

// Indexed by DType.
static constexpr DLDataType types[dtype_count] = {{kDLFloat, 64, 1},  {kDLFloat, 32, 1},        {kDLFloat, 16, 1},
                                                  {kDLBfloat, 16, 1}, {kDLFloat8_e4m3fn, 8, 1}, {kDLFloat8_e5m2, 8, 1},
                                                  {kDLInt, 64, 1},    {kDLInt, 32, 1},          {kDLInt, 8, 1},
                                                  {kDLUInt, 8, 1},    {kDLBool, 8, 1}};

DLDataType dlpack_type(DType dtype) { return types[static_cast<int>(dtype)]; }

std::optional<DType> ridge_type(DLDataType type) {
  for (int i = 0; i < dtype_count; ++i)
    if (types[i].code == type.code && types[i].bits == type.bits && types[i].lanes == type.lanes)
      return static_cast<DType>(i);
  return std::nullopt;
}

static std::string of(std::string_view tensor, const char* field) { return std::string(tensor) + "." + field; }

bool is_gpu(int device_type) {
#if RIDGE_HAS_HIP
  if (device_type == kDLROCM) return true;
#endif
  return device_type == kDLCUDA;
}

Result<Place> place_of(std::string_view op, std::string_view tensor, DLDevice device) {
  const bool gpu = is_gpu(device.device_type);
  if ((gpu || device.device_type == kDLCUDAManaged) && device.device_id < 0)
    return Status::invalid(op, of(tensor, "device.device_id"), std::to_string(device.device_id), "0 or more");
  if (gpu) return Place{{DeviceKind::cuda, device.device_id}};
  switch (static_cast<int>(device.device_type)) {
    case kDLCPU: return Place{{DeviceKind::cpu, 0}};
    case kDLCUDAHost: return Place{{DeviceKind::cpu, 0}, true};
    case kDLCUDAManaged: return Place{{DeviceKind::cuda, device.device_id}, true};
    default: break;
  }
  return Status::invalid(op, of(tensor, "device.device_type"), std::to_string(static_cast<int>(device.device_type)),
                         "kDLCPU (1), kDLCUDA (2), kDLCUDAHost (3) or kDLCUDAManaged (13)");
}

static std::string joined(const std::int64_t* values, int count, const char* between) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i ? between : "") + std::to_string(values[i]);
  return text;
}

std::optional<Reach> reach_of(const Layout& layout, std::int64_t element_bytes) {
  std::int64_t low = 0, high = element_bytes;
  for (int axis = 0; axis < layout.rank; ++axis) {
    if (layout.shape[axis] == 0) return Reach{0, 0};
    std::int64_t reach = 0;
    std::int64_t& end = layout.stride[axis] < 0 ? low : high;
    if (__builtin_mul_overflow(layout.shape[axis] - 1, layout.stride[axis], &reach) ||
        __builtin_mul_overflow(reach, element_bytes, &reach) || __builtin_add_overflow(end, reach, &end))
      return std::nullopt;
  }
  std::int64_t span = 0;
  if (__builtin_sub_overflow(high, low, &span)) return std::nullopt;
  return Reach{-low, high};
}

std::optional<std::uintptr_t> address_of(const DLTensor& t, const Reach& reach) {
  std::uintptr_t address = 0, end = 0;
  if (__builtin_add_overflow(reinterpret_cast<std::uintptr_t>(t.data), t.byte_offset, &address) ||
      __builtin_add_overflow(address, static_cast<std::uintptr_t>(reach.above), &end) ||
      address < static_cast<std::uintptr_t>(reach.below))
    return std::nullopt;
  return address;
}

Result<TensorView> view_of(std::string_view op, std::string_view tensor, const DLTensor& t, Device device,
                           bool keep_data) {
  if (t.ndim < 0 || t.ndim > max_rank)
    return Status::invalid(op, of(tensor, "ndim"), std::to_string(t.ndim), "from 0 to " + std::to_string(max_rank));
  if (t.dtype.lanes != 1) return Status::invalid(op, of(tensor, "dtype.lanes"), std::to_string(t.dtype.lanes), "1");
  const auto dtype = ridge_type(t.dtype);
  if (!dtype)
    return Status::invalid(
        op, of(tensor, "dtype"),
        "DLPack's code " + std::to_string(t.dtype.code) + " of " + std::to_string(t.dtype.bits) + " bits",
        "one of f64 f32 f16 (code 2) bf16 (4) f8e4m3 (10) f8e5m2 (12) i64 i32 i8 (0) u8 (1) bool (6)");
  if (t.ndim > 0 && !t.shape) return Status::invalid(op, of(tensor, "shape"), "NULL", "an array of ndim sizes");

  const auto bytes = static_cast<std::int64_t>(size_of(*dtype));
  std::int64_t padded = bytes;  // sizes of 0 count as 1, because contiguous strides are products too
  bool empty = false;
  for (int axis = 0; axis < t.ndim; ++axis) {
    if (t.shape[axis] < 0)
      return Status::invalid(op, of(tensor, "shape"), joined(t.shape, t.ndim, "x"), "of sizes that are not negative");
    empty = empty || t.shape[axis] == 0;
    if (__builtin_mul_overflow(padded, std::max<std::int64_t>(t.shape[axis], 1), &padded))
      return Status::invalid(op, of(tensor, "shape"), joined(t.shape, t.ndim, "x"), "of fewer than 2^63 bytes");
  }

  const std::span<const std::int64_t> shape(t.shape, static_cast<std::size_t>(t.ndim));
  TensorView view{nullptr, *dtype, Layout::contiguous(shape), device};
  if (t.strides && !empty)
    for (int axis = 0; axis < t.ndim; ++axis)
      if (t.shape[axis] != 1) view.layout.stride[axis] = t.strides[axis];
  const auto reach = reach_of(view.layout, bytes);
  if (!reach)
    return Status::invalid(op, of(tensor, "strides"), joined(view.layout.stride.data(), t.ndim, ","),
                           "such that elements lie within 2^63 bytes");
  if (keep_data && t.data) {
    const auto address = address_of(t, *reach);
    if (!address)
      return Status::invalid(op, of(tensor, "data"), "at an address from which elements lie beyond the address space",
                             "such that elements lie in memory, byte_offset and strides counted");
    view.data = reinterpret_cast<void*>(*address);
    if (*address % size_of(*dtype) != 0)
      return Status::invalid(op, of(tensor, "data"), "at an address that is not a multiple of " + std::to_string(bytes),
                             "aligned to its elements, " + std::string(name(*dtype)));
  }
  return view;
}

}  // namespace ridge::capi
