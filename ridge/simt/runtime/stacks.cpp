#include <ridge/simt/runtime/stacks.hpp>

#include <sys/mman.h>
#include <unistd.h>

namespace ridge::simt {

bool Stacks::map() {
  if (base_) return true;
  // Guards are wide, so that few frames reach across one. They are an odd number of pages, because otherwise the tops
  // of all stacks would share a few sets of the cache and of the TLB (which costs 7 ns a switch).
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  constexpr std::size_t most = 64 << 10;
  guard_ = page < most ? most - page : page;

  const std::size_t size = count * stride();
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return false;
  madvise(p, size, MADV_NOHUGEPAGE);  // a stack uses a page or two, not two megabytes
  base_ = static_cast<char*>(p);
  return true;
}

char* Stacks::stack(int i) {
  while (guarded_ <= i && mprotect(slot(guarded_), guard_, PROT_NONE) == 0) ++guarded_;
  return slot(i) + guard_;
}

bool Stacks::in_guard(std::uintptr_t address) const {
  const std::uintptr_t offset = address - reinterpret_cast<std::uintptr_t>(slot(0));
  return base_ && offset < count * stride() && offset % stride() < guard_;
}

}  // namespace ridge::simt
