// Recorder: records the lanes of one launch, combines their accesses into requests and adds these up.
//
// A warp's accesses are combined when all its lanes have met, at a barrier or in a collective, or when the block has
// ended: then every lane has reached the same point.
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

// An instruction, and the counts of what warps did there.
struct Site {
  enum class Role : std::uint8_t { access, comparison, block };

  Address pc = 0;
  Role role = Role::access;
  Space space = Space::global;
  Kind kind = Kind::load;
  int bytes = 0;
  Counts counts = {};  // requests: how often a warp executed it
  std::int64_t widened_requests = 0, widened_wavefronts = 0, widened_least = 0;
  std::int64_t unset = 0;
  std::int64_t divergent = 0;  // how often its lanes continued at different instructions

  bool may_widen() const { return role == Role::access && space == Space::shared && kind != Kind::atomic; }
};

class Recorder {
 public:
  // begin() is called on the launching thread, the functions of a block on the worker's.
  void begin(const Config&, const detail::Entry&);
  void begin_block(Worker&);
  void end_block();
  void block_synced();
  void lanes_synced(int warp, lane_mask);

  // Events of the block's current thread. `pc` is the address of the instruction.
  void access(Address at, int bytes, Kind, Address pc);
  // An access to a structure: its size is not a power of two up to 16, or its alignment is less than its size.
  void access_structure(Address at, std::size_t bytes, Kind, Address pc);
  void compare(Address pc) { note(site_of(pc, Site::Role::comparison)); }
  void enter_block(Address pc) { note(site_of(pc, Site::Role::block)); }
  void enter_function() { note(Stream::enter); }
  void leave_function() { note(Stream::leave); }
  void fence() { global_.fenced(block_); }

  // Whether the watchdog may abandon the block: it must not do so inside the recorder.
  void interruptible(bool yes) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    worker_->in_fiber.store(yes, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (yes) heed_stop(*worker_);
  }

  Footprint footprint() const;
  const std::vector<Site>& sites() const { return sites_; }
  // The number of accesses by (site, site of the other block).
  const std::map<std::pair<int, int>, std::int64_t>& races() const { return races_; }

 private:
  // A request of a warp that nvcc may join to others; its lanes' addresses are in joinable_at_.
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
  std::uint32_t block_ = 0;      // number of the current block, from 1
  std::vector<Stream> streams_;  // by thread
  std::size_t noted_ = 0;        // events in all streams
  int warp_ = 0;                 // warp of the thread that ran last
  MemoryMap memory_;
  SharedShadow shared_;
  GlobalShadow global_;
  SectorShadow read_, written_, atomic_;
  std::int64_t load_steps_ = 0, basic_blocks_ = 0;

  std::vector<Site> sites_;
  struct Known {
    std::uint64_t key = 0;
    std::uint32_t site = 0;
  };
  std::vector<Known> recent_;  // a cache of site_numbers_, indexed by a hash
  std::unordered_map<std::uint64_t, std::uint32_t> site_numbers_;
  std::map<std::pair<int, int>, std::int64_t> races_;

  std::vector<Joinable> joinable_;
  std::vector<Address> joinable_at_;  // width_ addresses for each request
};

}  // namespace ridge::simt::trace
