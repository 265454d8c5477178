#include <ridge/simt/trace/shadow.hpp>

#include <algorithm>

namespace ridge::simt::trace {

GlobalShadow::Cell& GlobalShadow::cell(std::uintptr_t at) {
  const std::uintptr_t number = at >> page_bits;
  if (!cached_ || number != cached_number_) {
    Page& page = pages_[number];
    if (!page) page = std::make_unique<Cell[]>((std::size_t(1) << page_bits) / cell_bytes);
    cached_ = page.get();
    cached_number_ = number;
  }
  return cached_[(at & ((std::uintptr_t(1) << page_bits) - 1)) / cell_bytes];
}

int GlobalShadow::touch(std::uintptr_t at, int bytes, std::uint32_t block, int site, bool write) {
  int clash = -1;
  for (const std::uintptr_t end = at + static_cast<std::uintptr_t>(bytes); at < end;) {
    Cell& c = cell(at);
    const std::uintptr_t next = std::min(end, (at / cell_bytes + 1) * cell_bytes);
    const auto mask = static_cast<std::uint8_t>(((1u << (next - at)) - 1) << at % cell_bytes);
    const auto s = static_cast<std::uint16_t>(site);

    if (c.writer != nobody && c.writer != block && (c.written & mask) && !ordered(c.writer, block))
      clash = c.writer_site;
    if (write) {
      if (clash < 0 && c.reader != nobody && c.reader != block && (c.read & mask) &&
          (c.reader == several || !ordered(c.reader, block)))
        clash = c.reader_site;
      c.written = static_cast<std::uint8_t>(c.writer == block ? c.written | mask : mask);
      c.writer = block;
      c.writer_site = s;
    } else {
      const bool another = c.reader != nobody && c.reader != block && (c.read & mask);
      c.read = static_cast<std::uint8_t>(c.reader == block || another ? c.read | mask : mask);
      if (!another) c.reader_site = s;
      c.reader = another ? several : block;
    }
    at = next;
  }
  return clash;
}

}  // namespace ridge::simt::trace
