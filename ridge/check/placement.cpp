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
  constexpr std::string_view names[] = {"plain", "offset", "padded", "packed", "strided", "reversed", "inplace"};
  const std::string_view text = c.options.text("place", "plain");
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (names[i] == text) return static_cast<Place>(i);
  return Status::invalid(c.op, "place", "'" + std::string(text) + "'",
                         "one of plain offset padded packed strided reversed inplace");
}

Placing placing_of(const TensorType& type, Place place) {
  Layout layout = Layout::contiguous(type.shape);
  const int last = layout.rank - 1;
  std::int64_t first = fence, beside = 0;
  // Rows of the axes from `inner` on, so far apart.
  const auto set_pitch = [&](int inner, std::int64_t pitch) {
    for (int axis = inner - 1; axis >= 0; --axis) {
      layout.stride[axis] = pitch;
      pitch *= layout.shape[axis];
    }
  };
  if (place == Place::offset) first += 1;
  if (place == Place::padded && last >= 1) set_pitch(last, layout.shape[last] + 3);
  if (place == Place::packed && last >= 1 && is_floating(type.dtype)) {
    const int inner = layout.rank >= 4 ? last - 1 : last;  // a row is one head, or all heads of a token
    const std::int64_t row = layout.stride[inner - 1];
    set_pitch(inner, 3 * row);
    first += row;
    beside = 2 * row;
  }
  if (place == Place::strided)
    for (int axis = 0; axis <= last; ++axis) layout.stride[axis] *= 2;
  const std::int64_t span = layout.span();
  if (place == Place::reversed && last >= 0 && layout.count() > 0) {
    first += (layout.shape[last] - 1) * layout.stride[last];
    layout.stride[last] = -layout.stride[last];
  }
  return {layout, first, span + beside + 2 * fence + 1};
}

std::vector<TensorView> views_to_plan(const std::vector<TensorType>& types, Place place, Device device,
                                      std::uintptr_t& at) {
  constexpr std::uintptr_t unit = 256;  // as memory is allocated
  std::vector<TensorView> views;
  for (const TensorType& type : types) {
    const Placing lies = placing_of(type, place);
    const auto bytes = [&](std::int64_t elements) {
      return static_cast<std::uintptr_t>(elements) * size_of(type.dtype);
    };
    at = (at + unit - 1) / unit * unit;
    views.push_back({reinterpret_cast<void*>(at + bytes(lies.first)), type.dtype, lies.layout, device});
    at += bytes(lies.elements);
  }
  return views;
}

Result<Placed> Placed::make(const TensorType& type, Place place, Device device) {
  Placed p;
  const Placing lies = placing_of(type, place);
  p.layout_ = lies.layout;
  p.first_ = lies.first;
  p.elements_ = lies.elements;
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
