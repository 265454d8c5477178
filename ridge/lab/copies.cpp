// Each thread of a block allocates and frees only its own: to ThreadSanitizer fibers are threads, and it watches new
// and delete wherever they are called.
#include <ridge/lab/copies.hpp>

#include <ridge/simt/runtime/here.hpp>

#include <forward_list>
#include <list>
#include <vector>

namespace ridge::lab {

namespace {

struct Queued {
  Copy copy;
  std::size_t group;
};
struct Attached {
  Copy copy;
  void* next;
};
struct Thread {
  std::size_t block = 0;  // what a thread of an earlier block did not wait for is gone
  std::size_t committed = 0;
  std::list<Queued> queue;
  // As long as the block, because barriers end without notice when shared memory is set up for the next one.
  std::forward_list<Attached> attached;
};

Thread& this_thread() {
  static thread_local std::vector<Thread> all(simt::max_threads);
  const simt::Worker& w = simt::here();
  Thread& t = all[static_cast<std::size_t>(w.current - w.threads)];
  if (t.block != w.number) {
    t.queue.clear();
    t.attached.clear();
    t.committed = 0;
    t.block = w.number;
  }
  return t;
}

}  // namespace

// ---- this thread's queue -----------------------------------------------------------------------------------------
void queue_copy(const Copy& copy) {
  Thread& t = this_thread();
  t.queue.push_back({copy, t.committed});
}

std::size_t commit_copies() { return ++this_thread().committed; }
std::size_t committed_groups() { return this_thread().committed; }

bool take_copy(std::size_t groups, Copy& copy) {
  Thread& t = this_thread();
  if (t.queue.empty() || t.queue.front().group >= groups) return false;
  copy = t.queue.front().copy;
  t.queue.pop_front();
  return true;
}

// ---- those of a barrier ------------------------------------------------------------------------------------------
void attach_copy(void*& list, const Copy& copy) { list = &this_thread().attached.emplace_front(Attached{copy, list}); }

bool detach_copy(void*& list, Copy& copy) {
  const auto* node = static_cast<const Attached*>(list);
  if (!node) return false;
  copy = node->copy;
  list = node->next;
  return true;
}

}  // namespace ridge::lab
