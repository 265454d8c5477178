#include <ridge/check/harness.hpp>
#include <ridge/check/placement.hpp>

#include <cstring>

namespace ridge::check {

namespace {
constexpr std::int64_t fence = 64;  // elements of canary before and after
constexpr std::byte canary{0xa5}, poisoned_byte{0xdb};

// Calls f(offset) for the elements of a layout in row-major order.
template <class F> void for_each_offset(const Layout& layout, F&& f) {
  const std::int64_t count = layout.count();
  std::int64_t index[max_rank] = {}, offset = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    f(offset);
    for (int axis = layout.rank - 1; axis >= 0; --axis) {
      offset += layout.stride[axis];
      if (++index[axis] < layout.shape[axis]) break;
      offset -= layout.stride[axis] * layout.shape[axis];
      index[axis] = 0;
    }
  }
}
}  // namespace

Result<Place> place_of(const Case& c) {
  constexpr std::string_view names[] = {"plain", "offset", "padded", "strided", "reversed", "inplace"};
  const std::string_view text = c.options.text("place", "plain");
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (names[i] == text) return static_cast<Place>(i);
  return Status::invalid(c.op, "place", "'" + std::string(text) + "'",
                         "one of plain offset padded strided reversed inplace");
}

Result<Placed> Placed::make(const TensorType& type, Place place, Device device) {
  Placed p;
  p.layout_ = Layout::contiguous(type.shape);
  const int last = p.layout_.rank - 1;
  p.first_ = fence;
  if (place == Place::offset) p.first_ += 1;
  if (place == Place::padded && last >= 1) {
    std::int64_t pitch = p.layout_.shape[last] + 3;
    for (int axis = last - 1; axis >= 0; --axis) {
      p.layout_.stride[axis] = pitch;
      pitch *= p.layout_.shape[axis];
    }
  }
  if (place == Place::strided)
    for (int axis = 0; axis <= last; ++axis) p.layout_.stride[axis] *= 2;
  const std::int64_t span = p.layout_.span();
  if (place == Place::reversed && last >= 0 && p.layout_.count() > 0) {
    p.first_ += (p.layout_.shape[last] - 1) * p.layout_.stride[last];
    p.layout_.stride[last] = -p.layout_.stride[last];
  }
  p.elements_ = span + 2 * fence + 1;
  auto buffer = Buffer::allocate(device, static_cast<std::size_t>(p.elements_) * size_of(type.dtype));
  if (!buffer) return buffer.error();
  p.buffer_ = std::move(*buffer);
  p.view_ = {static_cast<std::byte*>(p.buffer_.data()) + p.first_ * static_cast<std::int64_t>(size_of(type.dtype)),
             type.dtype, p.layout_, device};
  return p;
}

Status Placed::upload(const std::vector<std::byte>& elements) {
  const auto size = static_cast<std::int64_t>(size_of(view_.dtype));
  std::vector<std::byte> image(static_cast<std::size_t>(elements_ * size), canary);
  std::int64_t i = 0;
  for_each_offset(layout_, [&](std::int64_t offset) {
    std::memcpy(image.data() + (first_ + offset) * size, elements.data() + i++ * size, static_cast<std::size_t>(size));
  });
  return copy_bytes(buffer_.data(), view_.device, image.data(), {}, image.size());
}

Status Placed::write(const std::vector<double>& values) { return upload(encode(view_.dtype, values)); }

Status Placed::poison() {
  return upload(std::vector<std::byte>(static_cast<std::size_t>(view_.count()) * size_of(view_.dtype), poisoned_byte));
}

Result<Placed::Read> Placed::read() const {
  const auto size = static_cast<std::int64_t>(size_of(view_.dtype));
  std::vector<std::byte> image(static_cast<std::size_t>(elements_ * size));
  RIDGE_TRY(copy_bytes(image.data(), {}, buffer_.data(), view_.device, image.size()));
  std::vector<std::byte> elements(static_cast<std::size_t>(view_.count() * size));
  Read read;
  read.poisoned.resize(static_cast<std::size_t>(view_.count()));
  std::int64_t i = 0;
  for_each_offset(layout_, [&](std::int64_t offset) {
    std::byte* from = image.data() + (first_ + offset) * size;
    bool all = true;
    for (std::int64_t b = 0; b < size; ++b) all = all && from[b] == poisoned_byte;
    read.poisoned[i] = all;
    std::memcpy(elements.data() + i++ * size, from, static_cast<std::size_t>(size));
    std::memset(from, static_cast<int>(canary), static_cast<std::size_t>(size));  // leaves canaries alone in the image
  });
  for (std::byte b : image) read.canaries_intact = read.canaries_intact && b == canary;
  read.values = decode(view_.dtype, elements.data(), view_.count());
  return read;
}

}  // namespace ridge::check
