// The program's memory as CUDA sees it: what was allocated where, and whether the host may touch it. Device memory is
// closed while host code runs, and open during kernels, copies and fills: so host code that follows a device's pointer
// is found, as it would be on a device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace ridge::lab {

using Place = std::source_location;  // a line of the user's program

enum class MemoryKind : unsigned char {
  device,      // cudaMalloc: the host must not touch it
  managed,     // both sides may
  pinned,      // the host's own, locked in memory
  registered,  // the program's own memory, pinned later by cudaHostRegister
  symbol,      // a __device__ or __constant__ variable whose address was asked for
};

struct Allocation {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::device;
  const char* call = "";  // "cudaMalloc"
  Place at = {};
  const char* freed_by = nullptr;  // "cudaFree"; null while it lives
  Place freed_at = {};
  bool guarded = false;  // in pages of its own, which close

  bool holds(std::uintptr_t p) const { return p - begin < bytes; }
  bool counts_on_device() const { return kind == MemoryKind::device || kind == MemoryKind::managed; }
};

// Null where the device (or this machine) has no memory left for it.
void* allocate(MemoryKind, std::size_t bytes, const char* call, Place);
// Adds memory that is there already: registered or symbol. Does nothing if it is known.
void enter_memory(MemoryKind, const void* begin, std::size_t bytes, const char* call, Place);
// Frees what allocate() gave as one of two kinds, or forgets what enter_memory() added. Returns what is wrong with the
// call, in a sentence; empty: nothing.
std::string release(void*, MemoryKind, MemoryKind or_this, const char* call, Place);
void release_device_memory(const char* call, Place);  // all of it: cudaDeviceReset

// The living allocation that holds this address.
std::optional<Allocation> find_memory(const void*);
// "12 bytes into the 4096 bytes that cudaMalloc gave at file.cu:31", also of memory that was freed lately, and of
// addresses beyond an allocation's end; empty: no memory of CUDA's.
std::string describe_memory(const void*);

struct MemoryUse {
  std::size_t bytes = 0, peak = 0;  // of device and managed memory
};
MemoryUse memory_use();
std::vector<Allocation> leaks();  // what allocate() gave and nobody freed, in the order of addresses

// Device memory is open while one of these exists.
class [[nodiscard]] OpenDeviceMemory {
 public:
  OpenDeviceMemory();
  ~OpenDeviceMemory();
  OpenDeviceMemory(const OpenDeviceMemory&) = delete;
  OpenDeviceMemory& operator=(const OpenDeviceMemory&) = delete;
};
inline OpenDeviceMemory open_device_memory() { return {}; }

}  // namespace ridge::lab
#pragma GCC visibility pop
