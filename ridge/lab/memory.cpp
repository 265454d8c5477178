#include <ridge/lab/memory.hpp>

#include <ridge/lab/host_access.hpp>
#include <ridge/lab/pages.hpp>
#include <ridge/lab/session.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include <unistd.h>

namespace ridge::lab {
namespace {

// A process has 65,530 mappings, and a guarded allocation takes two. Those beyond this number are not guarded.
constexpr int most_guarded = 8192;
// Freed allocations whose addresses stay unused, so that their use is found.
constexpr std::size_t most_freed = 256;

struct Table {
  std::mutex lock;
  std::map<std::uintptr_t, Allocation> living;  // by begin
  std::deque<Allocation> freed;                 // the latest last
  MemoryUse use;
  int guarded = 0;
  int open = 0;  // number of OpenDeviceMemory

  const Allocation* find(std::uintptr_t p) const {
    auto next = living.upper_bound(p);
    if (next == living.begin()) return nullptr;
    const Allocation& a = std::prev(next)->second;
    return a.holds(p) ? &a : nullptr;
  }
};

// Never destroyed: the program may free memory in its last destructors.
Table& table() {
  static Table& t = *new Table;
  return t;
}

void* pointer(const Allocation& a) { return reinterpret_cast<void*>(a.begin); }
std::uintptr_t number(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

// The addresses that belong to an allocation: with its guard, which nothing else uses.
std::size_t extent(const Allocation& a) { return a.guarded ? whole_pages(a.bytes) + guard_bytes : a.bytes; }

// Drops the records of freed memory that has these addresses now.
void forget_freed(Table& t, std::uintptr_t begin, std::size_t bytes) {
  std::erase_if(t.freed, [&](const Allocation& a) {
    return !a.guarded && a.begin < begin + bytes && begin < a.begin + std::max<std::size_t>(a.bytes, 1);
  });
}

void add(Table& t, const Allocation& a) {
  forget_freed(t, a.begin, a.bytes);
  t.living.emplace(a.begin, a);
  if (!a.counts_on_device()) return;
  t.use.bytes += a.bytes;
  t.use.peak = std::max(t.use.peak, t.use.bytes);
}

// Gives the memory back, but not a guarded allocation's addresses: only the oldest one's.
void retire(Table& t, Allocation a) {
  if (a.counts_on_device()) t.use.bytes -= a.bytes;
  if (a.guarded) {
    empty_pages(pointer(a), a.bytes);
    --t.guarded;
  } else if (a.kind != MemoryKind::registered && a.kind != MemoryKind::symbol) {
    return_host_memory(pointer(a));
  }
  t.freed.push_back(a);
  if (t.freed.size() <= most_freed) return;
  if (const Allocation& oldest = t.freed.front(); oldest.guarded) return_pages(pointer(oldest), oldest.bytes);
  t.freed.pop_front();
}

// With a seed, memory that the program has not written yet reads as NaN and -1, as dynamic shared memory does.
bool starts_as_nan() {
  const char* seed = std::getenv("RIDGE_SEED");
  return seed && *seed && std::strcmp(seed, "0") != 0;
}

void describe(const Allocation& a, std::uintptr_t p, Sentence& s) {
  if (p - a.begin < a.bytes) s << std::uint64_t{p - a.begin} << " bytes into";
  else s << std::uint64_t{p - a.begin - a.bytes} << " bytes beyond the end of";
  const bool own = a.kind != MemoryKind::registered && a.kind != MemoryKind::symbol;
  s << " the " << std::uint64_t{a.bytes} << " bytes that " << a.call << (own ? " gave at " : " named at ") << a.at;
  if (a.freed_by) s << " and " << a.freed_by << " took back at " << a.freed_at;
}

// The allocation that has this address, in its guard too: a living one, or else the one that was freed last. Freed
// memory of the heap is not looked at: its addresses may be the program's own by now.
const Allocation* nearest(const Table& t, std::uintptr_t p) {
  if (auto next = t.living.upper_bound(p); next != t.living.begin()) {
    const Allocation& a = std::prev(next)->second;
    if (p - a.begin < extent(a)) return &a;
  }
  for (auto a = t.freed.rbegin(); a != t.freed.rend(); ++a)
    if (a->guarded && p - a->begin < extent(*a)) return &*a;
  return nullptr;
}

const Allocation* freed_at(const Table& t, std::uintptr_t begin) {
  for (auto a = t.freed.rbegin(); a != t.freed.rend(); ++a)
    if (a->begin == begin) return &*a;
  return nullptr;
}

// Why this pointer, which no living allocation begins with, cannot be freed.
void describe_unknown(const Table& t, std::uintptr_t p, Sentence& s) {
  s.address(p) << " is ";
  if (const Allocation* before = freed_at(t, p)) {
    s << "freed already: it is ";
    describe(*before, p, s);
  } else if (const Allocation* a = nearest(t, p)) {
    describe(*a, p, s);
    if (!a->freed_by) s << "; free the pointer that it gave";
  } else {
    s << "no memory that CUDA gave";
  }
}

}  // namespace

// ---- allocating and freeing --------------------------------------------------------------------------------------

void* allocate(MemoryKind kind, std::size_t bytes, const char* call, Place at) {
  const auto memory = static_cast<std::size_t>(device().memory_bytes);
  Allocation a{.bytes = bytes, .kind = kind, .call = call, .at = at};
  Table& t = table();
  std::lock_guard hold(t.lock);
  // The host has as much pinned memory as the system gives; managed memory beyond the device's would be paged.
  if (kind == MemoryKind::device && (bytes > memory || t.use.bytes > memory - bytes)) return nullptr;
  a.guarded = pages_close && kind == MemoryKind::device && t.guarded < most_guarded;
  void* p = a.guarded ? take_pages(bytes) : take_host_memory(std::max<std::size_t>(bytes, 1));
  if (!p) return nullptr;
  a.begin = number(p);
  if (a.guarded) {
    watch_host_access();
    ++t.guarded;
  }
  if (starts_as_nan()) {
    if (a.guarded) open_pages(p, bytes);
    std::memset(p, 0xff, bytes);
    if (a.guarded && !t.open) close_pages(p, bytes);
  } else if (a.guarded && t.open) {
    open_pages(p, bytes);
  }
  add(t, a);
  return p;
}

void enter_memory(MemoryKind kind, const void* begin, std::size_t bytes, const char* call, Place at) {
  Table& t = table();
  std::lock_guard hold(t.lock);
  if (t.living.contains(number(begin))) return;
  add(t, {.begin = number(begin), .bytes = bytes, .kind = kind, .call = call, .at = at});
}

std::string release(void* p, MemoryKind kind, MemoryKind or_this, const char* call, Place at) {
  Table& t = table();
  std::lock_guard hold(t.lock);
  Sentence s;
  s << call << ": ";
  const auto found = t.living.find(number(p));
  if (found == t.living.end()) {
    describe_unknown(t, number(p), s);
    return std::string(s.text());
  }
  Allocation a = found->second;
  if (a.kind != kind && a.kind != or_this) {
    describe(a, number(p), s);
    s << (a.counts_on_device()               ? "; cudaFree frees it"
          : a.kind == MemoryKind::registered ? "; cudaHostUnregister gives it up"
                                             : "; cudaFreeHost frees it");
    return std::string(s.text());
  }
  a.freed_by = call;
  a.freed_at = at;
  t.living.erase(found);
  retire(t, a);
  return {};
}

void release_device_memory(const char* call, Place at) {
  Table& t = table();
  std::lock_guard hold(t.lock);
  for (auto i = t.living.begin(); i != t.living.end();) {
    Allocation a = i->second;
    if (!a.counts_on_device()) {
      ++i;
      continue;
    }
    a.freed_by = call;
    a.freed_at = at;
    i = t.living.erase(i);
    retire(t, a);
  }
}

// ---- asking ------------------------------------------------------------------------------------------------------

std::optional<Allocation> find_memory(const void* p) {
  Table& t = table();
  std::lock_guard hold(t.lock);
  const Allocation* a = t.find(number(p));
  return a ? std::optional(*a) : std::nullopt;
}

std::string describe_memory(const void* p) {
  Table& t = table();
  std::lock_guard hold(t.lock);
  const Allocation* a = nearest(t, number(p));
  Sentence s;
  if (a) describe(*a, number(p), s);
  return std::string(s.text());
}

MemoryUse memory_use() {
  Table& t = table();
  std::lock_guard hold(t.lock);
  return t.use;
}

std::vector<Allocation> leaks() {
  Table& t = table();
  std::lock_guard hold(t.lock);
  std::vector<Allocation> found;
  for (const auto& [begin, a] : t.living)
    if (a.kind != MemoryKind::registered && a.kind != MemoryKind::symbol) found.push_back(a);
  return found;
}

// ---- opening and closing -----------------------------------------------------------------------------------------

OpenDeviceMemory::OpenDeviceMemory() {
  Table& t = table();
  std::lock_guard hold(t.lock);
  if (t.open++) return;
  for (const auto& [begin, a] : t.living)
    if (a.guarded) open_pages(pointer(a), a.bytes);
}

OpenDeviceMemory::~OpenDeviceMemory() {
  Table& t = table();
  std::lock_guard hold(t.lock);
  if (--t.open) return;
  for (const auto& [begin, a] : t.living)
    if (a.guarded) close_pages(pointer(a), a.bytes);
}

// Host code holds no lock of ours when it faults; another thread may, for a moment.
bool describe_host_access(std::uintptr_t address, Sentence& s) noexcept {
  Table& t = table();
  for (int attempt = 0; !t.lock.try_lock(); ++attempt) {
    if (attempt == 1000) return false;
    usleep(1000);
  }
  const Allocation* a = nearest(t, address);
  // A fault in living memory is host code's, because kernels run while that is open. Elsewhere it may be a kernel's.
  const bool host = a && a->guarded && (t.open == 0 || (!a->freed_by && a->holds(address)));
  if (host) describe(*a, address, s);
  t.lock.unlock();
  return host;
}

}  // namespace ridge::lab
