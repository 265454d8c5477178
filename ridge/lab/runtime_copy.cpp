// Copies and fills: what they may touch, and the time that they take on the device's clock.
#include <ridge/lab/runtime_checks.hpp>

#include <cstring>

namespace ridge::lab {

// PCIe 5.0 x16, the link of data-centre devices since Hopper: 63e9 bytes/s, of which 55e9 carry data.
constexpr double pinned_rate = 55e9;
constexpr double pinned_call_us = 4;  // of the driver, and of the copy engine's start
// Pageable memory is first copied to pinned buffers, by one thread of the host, which is the slower part.
constexpr double pageable_rate = 25e9;
constexpr double pageable_call_us = 10;

// ---- time --------------------------------------------------------------------------------------------------------

static void advance_transfer(double bytes, bool pinned) {
  advance_us(pinned ? pinned_call_us + bytes / pinned_rate * 1e6 : pageable_call_us + bytes / pageable_rate * 1e6);
}
// Reads and writes of the device's own memory; memory_gbs counts both.
static void advance_on_device(double bytes) {
  advance_us(device().launch_us + (device().memory_gbs > 0 ? bytes / (device().memory_gbs * 1e3) : 0));
}

// ---- one side of a copy ------------------------------------------------------------------------------------------

namespace {
struct Side {
  const char* name;  // "destination"
  const void* begin;
  std::size_t bytes;
  std::optional<Allocation> memory;  // none: the host's own

  Side(const char* of, const void* p, std::size_t n) : name(of), begin(p), bytes(n), memory(find_memory(p)) {}

  bool is(MemoryKind kind) const { return memory && memory->kind == kind; }
  bool for_device() const { return memory.has_value(); }  // mapped host memory has the same address there
  bool for_host() const { return !is(MemoryKind::device) && !is(MemoryKind::symbol); }
  bool pinned() const { return is(MemoryKind::pinned) || is(MemoryKind::registered); }
  bool on_host() const { return !memory || pinned(); }
  std::string text() const {
    return memory ? describe_memory(begin) : std::string("memory of the host that CUDA does not know");
  }
};
}  // namespace

// What is wrong with a side's memory: null, freed, or too short. Empty: nothing.
static std::string wrong_with(const Side& s) {
  if (!s.begin) return std::string("the ") + s.name + " is null";
  if (!s.memory) {
    const std::string text = describe_memory(s.begin);  // freed, or beyond an allocation's end
    return text.empty() ? text : std::string("the ") + s.name + " is " + text;
  }
  const std::size_t left = s.memory->bytes - (reinterpret_cast<std::uintptr_t>(s.begin) - s.memory->begin);
  if (s.bytes <= left) return {};
  return "the copy of " + std::to_string(s.bytes) + " bytes goes " + std::to_string(s.bytes - left) +
         " beyond the end of the " + s.name + ", which is " + describe_memory(s.begin);
}

static const char* name(cudaMemcpyKind kind) {
  constexpr const char* names[] = {"cudaMemcpyHostToHost", "cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost",
                                   "cudaMemcpyDeviceToDevice"};
  return names[kind];
}

// What is wrong with the direction. Empty: nothing.
static std::string wrong_direction(const Side& to, const Side& from, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return {};
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool wrong_to = !(to_device ? to.for_device() : to.for_host());
  const bool wrong_from = !(from_device ? from.for_device() : from.for_host());
  if (!wrong_to && !wrong_from) return {};
  if (wrong_to && wrong_from && to_device != from_device)
    return "destination and source are the wrong way round for " + std::string(name(kind)) + ": the destination is " +
           to.text() + ", the source is " + from.text();
  const Side& wrong = wrong_to ? to : from;
  const bool says_device = wrong_to ? to_device : from_device;
  return std::string("the ") + wrong.name + " is " + wrong.text() + ", where " + name(kind) + " says " +
         (says_device ? "memory of the device" : "memory of the host");
}

// ---- the copy ----------------------------------------------------------------------------------------------------

static std::size_t span_of(std::size_t width, std::size_t rows, std::size_t pitch) {
  return rows == 0 || width == 0 ? 0 : pitch * (rows - 1) + width;
}

cudaError_t copy(const char* call, void* to, const void* from, Rows r, cudaMemcpyKind kind, Place at) {
  RIDGE_LAB_TRY(device_error());
  const std::string prefix = std::string(call) + ": ";
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return misuse(cudaErrorInvalidMemcpyDirection, at,
                  prefix + "the kind is " + std::to_string(static_cast<int>(kind)));
  if (r.rows > 1 && (r.width > r.to_pitch || r.width > r.from_pitch))
    return misuse(cudaErrorInvalidPitchValue, at,
                  prefix + "rows of " + std::to_string(r.width) + " bytes do not fit pitches of " +
                      std::to_string(r.to_pitch) + " and " + std::to_string(r.from_pitch));
  if (r.width == 0 || r.rows == 0) return cudaSuccess;
  const Side target("destination", to, span_of(r.width, r.rows, r.to_pitch));
  const Side source("source", from, span_of(r.width, r.rows, r.from_pitch));
  for (const Side* side : {&target, &source})
    if (const std::string wrong = wrong_with(*side); !wrong.empty())
      return misuse(cudaErrorInvalidValue, at, prefix + wrong);
  if (const std::string wrong = wrong_direction(target, source, kind); !wrong.empty())
    return misuse(cudaErrorInvalidValue, at, prefix + wrong);

  const OpenDeviceMemory open;
  if (r.rows == 1) std::memmove(to, from, r.width);
  else
    for (std::size_t y = 0; y < r.rows; ++y)
      std::memmove(static_cast<char*>(to) + y * r.to_pitch, static_cast<const char*>(from) + y * r.from_pitch, r.width);

  const double bytes = static_cast<double>(r.width) * static_cast<double>(r.rows);
  if (!target.on_host() && !source.on_host()) advance_on_device(2 * bytes);
  else if (!target.on_host() || !source.on_host()) advance_transfer(bytes, target.pinned() || source.pinned());
  return cudaSuccess;  // between memory of the host: no time of the device's
}

cudaError_t fill(const char* call, void* to, std::size_t pitch, int value, std::size_t width, std::size_t rows,
                 Place at) {
  RIDGE_LAB_TRY(device_error());
  const std::string prefix = std::string(call) + ": ";
  if (rows > 1 && width > pitch)
    return misuse(
        cudaErrorInvalidPitchValue, at,
        prefix + "rows of " + std::to_string(width) + " bytes do not fit a pitch of " + std::to_string(pitch));
  if (width == 0 || rows == 0) return cudaSuccess;
  const Side target("destination", to, span_of(width, rows, pitch));
  if (const std::string wrong = wrong_with(target); !wrong.empty())
    return misuse(cudaErrorInvalidValue, at, prefix + wrong);
  if (!target.for_device()) return misuse(cudaErrorInvalidValue, at, prefix + "the destination is " + target.text());

  const OpenDeviceMemory open;
  for (std::size_t y = 0; y < rows; ++y) std::memset(static_cast<char*>(to) + y * pitch, value, width);
  advance_on_device(static_cast<double>(width) * static_cast<double>(rows));
  return cudaSuccess;
}

// ---- symbols -----------------------------------------------------------------------------------------------------

void enter_symbol(const void* symbol, std::size_t size, Place at) {
  enter_memory(MemoryKind::symbol, symbol, size, "the variable", at);
}

static std::string beyond_symbol(const char* call, std::size_t size, std::size_t bytes, std::size_t offset) {
  if (offset <= size && bytes <= size - offset) return {};
  return std::string(call) + ": " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
         " go beyond the variable's " + std::to_string(size);
}

cudaError_t copy_to_symbol(const void* symbol, std::size_t size, const void* from, std::size_t bytes,
                           std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream, Place at) {
  RIDGE_LAB_TRY(check_stream("cudaMemcpyToSymbol", stream, at));
  if (const std::string wrong = beyond_symbol("cudaMemcpyToSymbol", size, bytes, offset); !wrong.empty())
    return misuse(cudaErrorInvalidValue, at, wrong);
  enter_symbol(symbol, size, at);
  return copy("cudaMemcpyToSymbol", static_cast<char*>(const_cast<void*>(symbol)) + offset, from, {bytes}, kind, at);
}
cudaError_t copy_from_symbol(void* to, const void* symbol, std::size_t size, std::size_t bytes, std::size_t offset,
                             cudaMemcpyKind kind, cudaStream_t stream, Place at) {
  RIDGE_LAB_TRY(check_stream("cudaMemcpyFromSymbol", stream, at));
  if (const std::string wrong = beyond_symbol("cudaMemcpyFromSymbol", size, bytes, offset); !wrong.empty())
    return misuse(cudaErrorInvalidValue, at, wrong);
  enter_symbol(symbol, size, at);
  return copy("cudaMemcpyFromSymbol", to, static_cast<const char*>(symbol) + offset, {bytes}, kind, at);
}

// ---- prefetches --------------------------------------------------------------------------------------------------

// Which pages are where is not followed, so every prefetch takes its time.
static cudaError_t prefetch(const void* p, std::size_t bytes, bool valid, cudaStream_t stream, Place at) {
  RIDGE_LAB_TRY(device_error());
  RIDGE_LAB_TRY(check_stream("cudaMemPrefetchAsync", stream, at));
  const Side memory("memory", p, bytes);
  if (!valid) return misuse(cudaErrorInvalidDevice, at, "cudaMemPrefetchAsync: there is one device, number 0");
  if (!memory.is(MemoryKind::managed))
    return misuse(cudaErrorInvalidValue, at, "cudaMemPrefetchAsync of memory that is not cudaMallocManaged's");
  if (const std::string wrong = wrong_with(memory); !wrong.empty())
    return misuse(cudaErrorInvalidValue, at, "cudaMemPrefetchAsync: " + wrong);
  advance_transfer(static_cast<double>(bytes), true);
  return cudaSuccess;
}

static cudaError_t advise(const void* p, Place at) {
  const auto memory = find_memory(p);
  if (memory && memory->kind == MemoryKind::managed) return cudaSuccess;
  return misuse(cudaErrorInvalidValue, at, "cudaMemAdvise of memory that is not cudaMallocManaged's");
}

}  // namespace ridge::lab

using namespace ridge::lab;

cudaError_t cudaMemPrefetchAsync(const void* p, std::size_t bytes, int device, cudaStream_t stream, Place at) {
  return prefetch(p, bytes, device == 0 || device == cudaCpuDeviceId, stream, at);
}
cudaError_t cudaMemPrefetchAsync(const void* p, std::size_t bytes, cudaMemLocation where, unsigned, cudaStream_t stream,
                                 Place at) {
  return prefetch(p, bytes, where.type != cudaMemLocationTypeDevice || where.id == 0, stream, at);
}
cudaError_t cudaMemAdvise(const void* p, std::size_t, cudaMemoryAdvise, int, Place at) { return advise(p, at); }
cudaError_t cudaMemAdvise(const void* p, std::size_t, cudaMemoryAdvise, cudaMemLocation, Place at) {
  return advise(p, at);
}
