#include <ridge/core/check_indices.hpp>
#include <ridge/core/gpu.hpp>
#include <ridge/core/memory.hpp>

#include <cstddef>
#include <cstring>

namespace ridge {

namespace {

// The index of the n-th element in row-major order, as text: "[3]", "[0, 5]".
std::string place_text(const Layout& layout, std::int64_t n) {
  std::string text;
  for (int axis = layout.rank - 1; axis >= 0; --axis) {
    text.insert(0, (axis > 0 ? ", " : "") + std::to_string(n % layout.shape[axis]));
    n /= layout.shape[axis];
  }
  return "[" + text + "]";
}

// Calls f with the offset of each element, in row-major order.
template <class F> void for_each_offset(const Layout& layout, F&& f) {
  const std::int64_t count = layout.count();
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t rest = n, offset = 0;
    for (int axis = layout.rank - 1; axis >= 0; --axis) {
      offset += rest % layout.shape[axis] * layout.stride[axis];
      rest /= layout.shape[axis];
    }
    f(offset);
  }
}

}  // namespace

Result<std::vector<std::int64_t>> read_indices(std::string_view op, std::string_view argument, const TensorView& view,
                                               Stream stream) {
  std::vector<std::int64_t> numbers;
  if (view.count() == 0) return numbers;
  const std::size_t size = size_of(view.dtype);
  const auto* data = static_cast<const std::byte*>(view.data);
  std::int64_t lowest = 0;  // the offset of the element that `data` points to
  std::vector<std::byte> copy;
  if (view.device.kind != DeviceKind::cpu) {
    if (gpu::is_capturing(view.device.index, stream))
      return Status::invalid(op, "checked", "given under graph capture",
                             "left out there: " + std::string(argument) + " would have to be copied to the host");
    for (int axis = 0; axis < view.rank(); ++axis)
      if (view.stride(axis) < 0) lowest += (view.size(axis) - 1) * view.stride(axis);
    copy.resize(static_cast<std::size_t>(view.layout.span()) * size);
    RIDGE_TRY(synchronize(view.device, stream));
    RIDGE_TRY(copy_bytes(copy.data(), {}, data + lowest * static_cast<std::int64_t>(size), view.device, copy.size()));
    data = copy.data();
  }
  numbers.reserve(static_cast<std::size_t>(view.count()));
  for_each_offset(view.layout, [&](std::int64_t offset) {
    const std::byte* at = data + (offset - lowest) * static_cast<std::int64_t>(size);
    if (view.dtype == DType::i64) {
      std::int64_t number;
      std::memcpy(&number, at, sizeof number);
      numbers.push_back(number);
    } else {
      std::int32_t number;
      std::memcpy(&number, at, sizeof number);
      numbers.push_back(number);
    }
  });
  return numbers;
}

Status check_index(std::string_view op, std::string place, std::int64_t number, std::int64_t least, std::int64_t most,
                   std::string_view of) {
  if (number >= least && number <= most) return {};
  const std::string range = most < least ? "left out: there are none of "
                                         : "from " + std::to_string(least) + " to " + std::to_string(most) + ", ";
  return Status::invalid(op, std::move(place), std::to_string(number), range + std::string(of));
}

Status check_indices(std::string_view op, std::string_view argument, const TensorView& view, std::int64_t count,
                     std::string_view of, Stream stream) {
  const auto numbers = read_indices(op, argument, view, stream);
  if (!numbers) return numbers.error();
  for (std::size_t n = 0; n < numbers->size(); ++n)
    if (const std::int64_t number = (*numbers)[n]; number < 0 || number >= count)
      return check_index(op, std::string(argument) + place_text(view.layout, static_cast<std::int64_t>(n)), number, 0,
                         count - 1, of);
  return {};
}

Status check_offsets(std::string_view op, std::string_view argument, const TensorView& view, std::int64_t rows,
                     std::string_view of, Stream stream) {
  const auto numbers = read_indices(op, argument, view, stream);
  if (!numbers) return numbers.error();
  const auto place = [&](std::size_t n) { return std::string(argument) + "[" + std::to_string(n) + "]"; };
  for (std::size_t n = 0; n < numbers->size(); ++n) {
    const std::int64_t number = (*numbers)[n], before = n == 0 ? 0 : (*numbers)[n - 1];
    RIDGE_TRY(check_index(op, place(n), number, 0, rows, of));
    if (number < before)
      return Status::invalid(op, place(n), std::to_string(number),
                             "at least " + place(n - 1) + ", " + std::to_string(before));
  }
  return {};
}

}  // namespace ridge
