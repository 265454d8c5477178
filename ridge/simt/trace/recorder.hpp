// Recorder: groups the accesses of one launch into requests, and adds up what these cost.
//
// A request is open until its warp has met as a whole, at a barrier or in a collective, or the block has ended; then
// every lane that takes part has done so.
#pragma once
#include <ridge/simt/trace/memory_map.hpp>
#include <ridge/simt/trace/model.hpp>
#include <ridge/simt/trace/position.hpp>
#include <ridge/simt/trace/shadow.hpp>

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ridge::simt::trace {

// An instruction, and what it did. Branches are instructions too: what their lanes "access" is the block they go to.
struct Site {
  Address pc = 0;
  bool branch = false;
  Space space = Space::global;
  Kind kind = Kind::load;
  int bytes = 0;
  Counts counts = {};
  std::int64_t widened_requests = 0, widened_wavefronts = 0, widened_least = 0;
  std::int64_t unset = 0, divergent = 0;
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
  void access(Address at, std::size_t bytes, Kind, Address pc);
  void compare(Address pc);
  void enter_block(Address pc);
  void enter_function(Address return_address);
  void leave_function();
  void fence() { global_.fenced(block_); }

  const std::vector<Site>& sites() const { return sites_; }
  // Accesses by (site, site of the other block).
  const std::map<std::pair<int, int>, std::int64_t>& races() const { return races_; }

 private:
  // The lanes of a warp at one place: one request in the making.
  struct Open {
    int site = 0;
    std::uint64_t lanes = 0;
  };
  // The open requests of a warp, found by site and place through a table whose rows are valid in one generation.
  struct Requests {
    struct Row {
      std::uint64_t key = 0;
      std::uint32_t generation = 0;
      int index = 0;
    };
    std::vector<Row> rows = std::vector<Row>(64);
    std::uint32_t generation = 1;
    std::vector<Open> open;
    std::vector<Address> at;  // width of them for each
  };
  // What a thread has done at a site since its warp last met: how often in a row at the same place.
  struct Visit {
    std::uint64_t key = 0;
    std::uint32_t repeat = 0, generation = 0;
  };
  struct Lane {
    Position position;
    Address compared = 0;  // the comparison before the next branch, and the place it was made at
    std::uint64_t compared_at = 0;
  };

  Lane& lane() { return lanes_[static_cast<std::size_t>(worker_->current - worker_->threads)]; }
  int site_of(Address pc, bool branch, Space, Kind, int bytes);
  void piece(Address at, int bytes, Kind, Address pc, const MemoryMap::Place&);
  void add(int site, std::uint64_t place, Address at);
  int find_or_open(Requests&, std::uint64_t key, int site);
  void close(int warp);
  void add_up(const Requests&, std::size_t index);
  void add_up_widened(const Requests&);
  bool continues(const Requests&, std::size_t former, std::size_t index) const;

  Worker* worker_ = nullptr;
  detail::Entry entry_{};
  bool surveyed_ = false;
  int width_ = 32;
  std::uint32_t block_ = 0;  // number of the block that runs, from 1
  std::vector<Lane> lanes_;
  std::vector<Requests> warps_;
  MemoryMap memory_;
  SharedShadow shared_;
  GlobalShadow global_;
  std::vector<Site> sites_;
  std::vector<std::vector<Visit>> visits_;  // by site, by thread
  struct Known {
    std::uint64_t key = 0;
    int site = -1;
  };
  static constexpr std::size_t recent_sites = 1024;
  std::vector<Known> recent_;
  std::unordered_map<std::uint64_t, int> site_numbers_;
  std::map<std::pair<int, int>, std::int64_t> races_;
};

}  // namespace ridge::simt::trace
