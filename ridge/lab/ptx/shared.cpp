#include <ridge/lab/ptx/shared.hpp>

#include <ridge/lab/ptx/uninterrupted.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include <link.h>

namespace ridge::lab {
namespace {

struct Range {
  std::uintptr_t begin = 0, bytes = 0;
};

// Where static shared variables are: thread-local ones, and in a bounds build ordinary ones (ridge/simt/cpu/names.hpp).
int add_ranges(dl_phdr_info* object, std::size_t, void* to) {
  auto& ranges = *static_cast<std::vector<Range>*>(to);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type == PT_TLS && object->dlpi_tls_data)
      ranges.push_back({reinterpret_cast<std::uintptr_t>(object->dlpi_tls_data), segment.p_memsz});
#ifdef RIDGE_SIMT_SERIAL
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W))
      ranges.push_back({object->dlpi_addr + segment.p_vaddr, segment.p_memsz});
#endif
  }
  return 0;
}
const std::vector<Range>& static_ranges() {
  static thread_local std::vector<Range> ranges;
  if (ranges.empty()) {
    const Uninterrupted here;
    dl_iterate_phdr(add_ranges, &ranges);
  }
  return ranges;
}

Range dynamic_range() {
  const simt::Worker* w = simt::worker_or_null();
  return w ? Range{reinterpret_cast<std::uintptr_t>(w->smem.get()), w->smem_bytes} : Range{};
}

template <class Visit> void each_range(Visit visit) {
  if (const Range dynamic = dynamic_range(); dynamic.bytes) visit(dynamic);
  for (const Range& range : static_ranges()) visit(range);
}

}  // namespace

// Of an address outside of all ranges, a kernel's mistake, the pointer is the one at the nearest range: the sanitizers
// then say what lies beside it. Of two ranges whose lower halves overlap, which is unlikely, the dynamic one is taken.
void* shared_pointer(std::uint64_t address) {
  if (address >> 32) return reinterpret_cast<void*>(address);
  constexpr std::int64_t near = 1 << 20;
  std::int64_t least = near;
  std::uintptr_t found = 0;
  each_range([&](const Range& range) {
    const auto from_begin = static_cast<std::int32_t>(static_cast<std::uint32_t>(address - range.begin));
    const std::int64_t beyond = from_begin - static_cast<std::int64_t>(range.bytes) + 1;
    const std::int64_t distance = std::max<std::int64_t>({0, -std::int64_t{from_begin}, beyond});
    if (distance >= least) return;
    least = distance;
    found = range.begin + static_cast<std::uintptr_t>(std::int64_t{from_begin});
  });
  if (least == near) {
    char text[96];
    std::snprintf(text, sizeof text, "PTX: %#llx is no address of shared memory",
                  static_cast<unsigned long long>(address));
    throw std::runtime_error(text);
  }
  return reinterpret_cast<void*>(found);
}

bool is_shared(const void* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  bool within = false;
  each_range([&](const Range& range) { within = within || address - range.begin < range.bytes; });
  return within;
}

}  // namespace ridge::lab
