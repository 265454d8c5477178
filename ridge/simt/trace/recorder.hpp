// Recorder: what the lanes of one launch did, put together into requests and added up.
//
// A warp's accesses are put together when it has met as a whole, at a barrier or in a collective, or when the block has
// ended: then every lane has done all that the others did until there.
#pragma once
#include <ridge/simt/runtime/faults.hpp>
#include <ridge/simt/trace/lockstep.hpp>
#include <ridge/simt/trace/memory_map.hpp>
#include <ridge/simt/trace/model.hpp>
#include <ridge/simt/trace/shadow.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ridge::simt::trace {

// An instruction, and what warps did there.
struct Site {
  enum class Role : std::uint8_t { access, comparison, block };

  Address pc = 0;
  Role role = Role::access;
  Space space = Space::global;
  Kind kind = Kind::load;
  int bytes = 0;
  Counts counts = {};  // requests: how often a warp came by
  std::int64_t widened_requests = 0, widened_wavefronts = 0, widened_least = 0;
  std::int64_t unset = 0;
  std::int64_t divergent = 0;  // how often its lanes went on to different places

  bool may_widen() const { return role == Role::access && space == Space::shared && kind != Kind::atomic; }
};

class Recorder {
 public:
  // A launch, on the launching thread; a block, on the worker's.
  void begin(const Config&, const detail::Entry&);
  void begin_block(Worker&);
  void end_block();
  void block_synced();
  void lanes_synced(int warp, lane_mask);

  // What the current thread of the block does. `pc` is the instruction's.
  void access(Address at, int bytes, Kind, Address pc);
  // A structure: its size is no power of two up to 16, or its alignment is less.
  void access_structure(Address at, std::size_t bytes, Kind, Address pc);
  void compare(Address pc) { note(site_of(pc, Site::Role::comparison)); }
  void enter_block(Address pc) { note(site_of(pc, Site::Role::block)); }
  void enter_function() { note(Stream::enter); }
  void leave_function() { note(Stream::leave); }
  void fence() { global_.fenced(block_); }

  // The watchdog may give up the kernel, and not what is done for it here.
  void interruptible(bool yes) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    worker_->in_fiber.store(yes, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (yes) heed_stop(*worker_);
  }

  const std::vector<Site>& sites() const { return sites_; }
  // Accesses by (site, site of the other block).
  const std::map<std::pair<int, int>, std::int64_t>& races() const { return races_; }

 private:
  // Requests of a warp that nvcc may join to others: lane addresses are in joinable_at_.
  struct Joinable {
    std::uint32_t site = 0;
    std::uint64_t lanes = 0;
  };

  static constexpr std::size_t most_noted = std::size_t(1) << 26;  // half a gigabyte

  Stream& note(std::uint32_t event) {
    if (++noted_ > most_noted) [[unlikely]]
      give_up();
    if (worker_->current->warp != warp_) [[unlikely]]
      change_warp();
    Stream& s = stream();
    s.events.push_back(event);
    return s;
  }
  [[noreturn]] void give_up();
  void change_warp();
  Stream& stream() { return streams_[static_cast<std::size_t>(worker_->current - worker_->threads)]; }
  std::uint32_t site_of(Address pc, Site::Role, Space = Space::global, Kind = Kind::load, int bytes = 0);
  void piece(Address at, int bytes, Kind, Address pc, const MemoryMap::Place&);
  void put_together(int warp);
  void add_up(std::uint32_t site, std::uint64_t lanes, const Address* at);
  void add_up_widened();
  bool continues(std::size_t former, std::size_t index) const;

  Worker* worker_ = nullptr;
  detail::Entry entry_{};
  bool surveyed_ = false;
  std::size_t width_ = 32;
  std::uint32_t block_ = 0;      // number of the block that runs, from 1
  std::vector<Stream> streams_;  // by thread
  std::size_t noted_ = 0;        // events in them
  int warp_ = 0;                 // of the thread that ran last
  MemoryMap memory_;
  SharedShadow shared_;
  GlobalShadow global_;

  std::vector<Site> sites_;
  struct Known {
    std::uint64_t key = 0;
    std::uint32_t site = 0;
  };
  std::vector<Known> recent_;  // of site_numbers_, by a hash
  std::unordered_map<std::uint64_t, std::uint32_t> site_numbers_;
  std::map<std::pair<int, int>, std::int64_t> races_;

  std::vector<Joinable> joinable_;
  std::vector<Address> joinable_at_;  // width_ each
};

}  // namespace ridge::simt::trace
