// MemoryMap: the kind of memory of an address, for the block that runs on a worker.
#pragma once
#include <ridge/simt/cpu/runtime.hpp>
#include <ridge/simt/runtime/worker.hpp>

#include <cstdint>
#include <vector>

namespace ridge::simt::trace {

class MemoryMap {
 public:
  enum class Kind : std::uint8_t { registers, shared, global };  // registers: locals, parameters, threadIdx
  struct Place {
    Kind kind = Kind::global;
    std::size_t shared_offset = 0;  // offset of a shared byte in all memory that a block can share
  };

  // Called on the worker's thread: finds the memory of shared arrays. Static ones are thread_local.
  void survey(const Worker&, const detail::Entry&);
  std::size_t shared_bytes() const { return shared_bytes_; }

  Place find(std::uintptr_t address) const {
    for (const Range& own : registers_)
      if (own.holds(address)) return {Kind::registers};
    for (const Range& shared : shared_)
      if (shared.holds(address)) return {Kind::shared, shared.offset + (address - shared.low)};
    return {};
  }

 private:
  struct Range {
    std::uintptr_t low = 0;
    std::size_t bytes = 0, offset = 0;
    bool holds(std::uintptr_t address) const { return address - low < bytes; }
  };
  std::vector<Range> registers_, shared_;
  std::size_t shared_bytes_ = 0;
};

}  // namespace ridge::simt::trace
