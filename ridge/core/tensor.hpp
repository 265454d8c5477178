// TensorView: data on a device with a shape and strides. A view owns nothing.
#pragma once
#include <ridge/core/api.hpp>
#include <ridge/core/dtype.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

namespace ridge {

inline constexpr int max_rank = 8;

// The most elements of a tensor: multiplied by element sizes, tiles and padding it stays within 64 bits.
inline constexpr std::int64_t most_elements = std::int64_t{1} << 56;

enum class DeviceKind : std::uint8_t { cpu, cuda };

// A device: the CPU runtime, or GPU number `index`.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

// Shape and strides, in elements. Strides may be zero (broadcast) or negative.
struct Layout {
  int rank = 0;
  std::array<std::int64_t, max_rank> shape{};
  std::array<std::int64_t, max_rank> stride{};

  RIDGE_API static Layout contiguous(std::span<const std::int64_t> shape);
  static Layout contiguous(std::initializer_list<std::int64_t> shape) {
    return contiguous(std::span(shape.begin(), shape.size()));
  }

  RIDGE_API std::int64_t count() const;  // elements; saturates at the end of int64
  RIDGE_API bool is_contiguous() const;  // row-major without gaps
  RIDGE_API std::int64_t span() const;   // elements from the lowest to one past the highest address
  RIDGE_API bool same_shape(const Layout&) const;
  RIDGE_API std::string text() const;  // "8192x1024", or "8192x1024 strides 2048,1" when not contiguous
  bool operator==(const Layout&) const = default;
};

// The same elements in the same order with as few axes as possible: axes of size 1 are removed, axes that continue each
// other are merged. All layouts of `views` (of one shape) are collapsed together, so that one loop can walk them all.
RIDGE_API void collapse(std::span<Layout> views);

struct TensorView {
  void* data = nullptr;
  DType dtype = DType::f32;
  Layout layout;
  Device device;

  std::int64_t count() const { return layout.count(); }
  std::int64_t size(int axis) const { return layout.shape[axis < 0 ? layout.rank + axis : axis]; }
  std::int64_t stride(int axis) const { return layout.stride[axis < 0 ? layout.rank + axis : axis]; }
  int rank() const { return layout.rank; }
};

template <class T> TensorView view(T* data, std::initializer_list<std::int64_t> shape, Device device = {}) {
  return {const_cast<std::remove_const_t<T>*>(data), dtype_of<std::remove_const_t<T>>, Layout::contiguous(shape),
          device};
}

// The view broadcast to `shape` by NumPy's rule, with stride 0: axes are matched from the last, and an axis that is 1
// or missing is repeated. A view that cannot be broadcast is returned unchanged, for the operator to refuse.
RIDGE_API TensorView broadcast_to(const TensorView&, const Layout& shape);

// The same elements with the last two axes exchanged; no data moves. Precondition: rank 2 or more.
inline TensorView transposed(TensorView v) {
  const int last = v.layout.rank - 1;
  std::swap(v.layout.shape[last], v.layout.shape[last - 1]);
  std::swap(v.layout.stride[last], v.layout.stride[last - 1]);
  return v;
}

// The greatest power of two, at most `most`, that divides the address (the widest vector access there).
RIDGE_API int alignment_of(const void* data, int most = 16);

}  // namespace ridge
