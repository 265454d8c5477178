#include <ridge/check/draw.hpp>
#include <ridge/check/harness.hpp>
#include <ridge/check/placement.hpp>

#include <algorithm>
#include <cstring>

namespace ridge::check {

namespace {
constexpr std::int64_t fence = 64;  // canary elements before and after the tensor
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
  constexpr std::string_view names[] = {"plain",   "offset", "padded",    "packed",    "strided", "reversed",
                                        "inplace", "mixed",  "scattered", "broadcast", "windows", "tangled"};
  const std::string_view text = c.options.text("place", "plain");
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (names[i] == text) return static_cast<Place>(i);
  return Status::invalid(
      c.op, "place", "'" + std::string(text) + "'",
      "one of plain offset padded packed strided reversed inplace mixed scattered broadcast windows tangled");
}

std::uint64_t salt_of(const Case& c, std::size_t tensor, bool output) {
  const auto seed = c.options.integer(c.op, "seed", 1);
  return static_cast<std::uint64_t>(seed ? *seed : 1) * 64 + (output ? 32 : 0) + tensor;
}

// Gives the axes a random order from innermost to outermost, with gaps of a few elements between them.
static std::int64_t scatter(Layout& layout, std::uint64_t salt) {
  Draw d(salt);
  std::array<int, max_rank> order{};
  for (int i = 0; i < layout.rank; ++i) order[i] = layout.rank - 1 - i;
  if (d.chance(50))
    for (int i = layout.rank - 1; i > 0; --i) std::swap(order[i], order[d.below(i + 1)]);
  std::int64_t pitch = d.pick<std::int64_t>({{70, 1}, {15, 2}, {15, 3}});
  for (int i = 0; i < layout.rank; ++i) {
    const int axis = order[i];
    layout.stride[axis] = d.chance(25) ? -pitch : pitch;
    pitch *= std::max<std::int64_t>(layout.shape[axis], 1);
    if (d.chance(40)) pitch += d.pick<std::int64_t>({{40, 1 + d.below(7)}, {30, 8}, {30, 16}});
  }
  return d.chance(50) ? 0 : 1 + d.below(15);
}

Placing placing_of(const TensorType& type, Place place, std::uint64_t salt) {
  std::int64_t gap = 3;  // of padded rows
  if (place == Place::mixed) {
    Draw d(salt);
    gap = d.pick<std::int64_t>({{25, 3}, {50, 8}, {25, 16}});
    place = d.pick<Place>({{40, Place::plain}, {45, Place::padded}, {15, Place::offset}});
  }
  Layout layout = Layout::contiguous(type.shape);
  const int last = layout.rank - 1;
  std::int64_t first = fence, beside = 0;
  // Sets the distance of rows, which consist of the axes from `inner` on, to `pitch`.
  const auto set_pitch = [&](int inner, std::int64_t pitch) {
    for (int axis = inner - 1; axis >= 0; --axis) {
      layout.stride[axis] = pitch;
      pitch *= layout.shape[axis];
    }
  };
  if (place == Place::offset) first += 1;
  if (place == Place::padded && last >= 1) set_pitch(last, layout.shape[last] + gap);
  if (place == Place::packed && last >= 1 && is_floating(type.dtype)) {
    const int inner = layout.rank >= 4 ? last - 1 : last;  // a row is one head or all heads of a token
    const std::int64_t row = layout.stride[inner - 1];
    set_pitch(inner, 3 * row);
    first += row;
    beside = 2 * row;
  }
  if (place == Place::strided)
    for (int axis = 0; axis <= last; ++axis) layout.stride[axis] *= 2;
  if (place == Place::reversed && last >= 0) layout.stride[last] = -layout.stride[last];
  if (place == Place::scattered) first += scatter(layout, salt);
  if (place == Place::broadcast && last >= 1 && is_floating(type.dtype)) layout.stride[0] = 0;
  if (place == Place::windows && last >= 1 && is_floating(type.dtype))
    layout.stride[0] = std::max<std::int64_t>(layout.stride[0] / 2, 1);
  if (place == Place::tangled) layout.stride[0] = last >= 1 ? 1 : 0;
  const std::int64_t span = layout.span();
  if (layout.count() > 0)
    for (int axis = 0; axis <= last; ++axis)  // the origin is not the lowest address
      first += std::max<std::int64_t>(-layout.stride[axis], 0) * (layout.shape[axis] - 1);
  return {layout, first, span + beside + 2 * fence + 1};
}

std::vector<TensorView> views_to_plan(const std::vector<TensorType>& types, Place place, Device device,
                                      std::uintptr_t& at, std::uint64_t salt) {
  constexpr std::uintptr_t alignment = 256;  // that of allocated memory
  std::vector<TensorView> views;
  for (const TensorType& type : types) {
    const Placing placing = placing_of(type, place, salt++);
    const auto bytes = [&](std::int64_t elements) {
      return static_cast<std::uintptr_t>(elements) * size_of(type.dtype);
    };
    at = (at + alignment - 1) / alignment * alignment;
    views.push_back({reinterpret_cast<void*>(at + bytes(placing.first)), type.dtype, placing.layout, device});
    at += bytes(placing.elements);
  }
  return views;
}

Result<PlacedRequest> placed_request(const Case& c, Device device) {
  auto book = find_case_book(c.op);
  if (!book) return book.error();
  auto op = find_op(c.op);
  if (!op) return op.error();
  auto place = place_of(c);
  if (!place) return place.error();
  PlacedRequest r{.book = *book, .op = *op, .place = *place, .inputs = {}, .outputs = {}};
  auto types = case_inputs(**book, c);
  if (!types) return types.error();

  std::uintptr_t at = std::uintptr_t{1} << 40;
  const auto views = [&](const std::vector<TensorType>& placed, Place lies,
                         bool outputs) -> Result<std::vector<TensorView>> {
    for (const TensorType& type : placed) {
      auto bytes = static_cast<double>(size_of(type.dtype));
      for (std::int64_t size : type.shape) bytes *= static_cast<double>(std::max<std::int64_t>(size, 1));
      r.bytes += bytes;
    }
    if (r.bytes >= 0x1p60) return Status::invalid(c.op, "the size of all tensors", "2^60 bytes or more", "less");
    return views_to_plan(placed, lies, device, at, salt_of(c, 0, outputs));
  };
  auto inputs = views(*types, place_of_inputs(*place), false);
  if (!inputs) return inputs.error();
  r.inputs = std::move(*inputs);
  auto output_types = infer_op(**op, r.inputs, c.operator_options());
  if (!output_types) return output_types.error();
  auto outputs = views(*output_types, place_of_outputs(*place), true);
  if (!outputs) return outputs.error();
  r.outputs = std::move(*outputs);
  if (*place == Place::inplace && !r.outputs.empty()) {
    const TensorType &in = (*types)[0], &out = (*output_types)[0];
    if (out.dtype != in.dtype || out.shape != in.shape)
      return Status::invalid(c.op, "place", "inplace", "another: the output is not like the input");
    r.outputs[0] = r.inputs[0];
  }
  return r;
}

Result<Placed> Placed::make(const TensorType& type, Place place, Device device, std::uint64_t salt) {
  Placed p;
  const Placing lies = placing_of(type, place, salt);
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
    const std::byte* from = image.data() + (first_ + offset) * size;
    bool all = true;
    for (std::int64_t b = 0; b < size; ++b) all = all && from[b] == poisoned_byte;
    read.poisoned[i] = all;
    std::memcpy(elements.data() + i++ * size, from, static_cast<std::size_t>(size));
  });
  for_each_offset(layout_, [&](std::int64_t offset) {  // overwrites the elements, so that the image has only canaries
    std::memset(image.data() + (first_ + offset) * size, static_cast<int>(canary), static_cast<std::size_t>(size));
  });
  for (std::byte b : image) read.canaries_intact = read.canaries_intact && b == canary;
  read.values = decode(view_.dtype, elements.data(), view_.count());
  return read;
}

}  // namespace ridge::check
