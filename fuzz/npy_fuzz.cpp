// libFuzzer: for any file, the .npy reader gives an array that is inside the file, or a sentence.
#include "../apps/ridge/npy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

using namespace ridge;

static void require(bool holds) {
  if (!holds) std::abort();
}

static void check(std::span<const std::byte> file, npy::ReadOptions options) {
  const auto header = npy::parse_header(file, file.size(), options);
  if (!header) {
    for (char c : header.error().message()) require(c >= ' ' && c <= '~');  // safe for a terminal
    return;
  }
  require(header->data_offset + header->data_bytes == file.size());
  const Layout layout = header->layout();
  const std::size_t size = size_of(header->dtype);
  require(static_cast<std::uint64_t>(layout.count()) * size == header->data_bytes);
  require(layout.span() == layout.count());  // the array has no gaps

  // The reader accepts the writer's output and finds the same array.
  const std::string written = npy::make_header({header->dtype, header->shape});
  const auto again = npy::parse_header(std::as_bytes(std::span(written)), written.size() + header->data_bytes, options);
  require(again.ok() && again->dtype == header->dtype && again->shape == header->shape && !again->fortran_order);
  require(again->data_offset % 64 == 0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check(bytes, {});
  check(bytes, {.bf16 = true});
  return 0;
}
