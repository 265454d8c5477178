#include <ridge/simt/trace/recorder.hpp>

#include <ridge/simt/runtime/scheduler.hpp>

#include <algorithm>
#include <bit>

namespace ridge::simt::trace {

constexpr int widest_access = 16;
constexpr std::size_t recent_sites = 1024;

static std::size_t hash(std::uint64_t x) {
  return static_cast<std::size_t>((x ^ x >> 32) * 0xd6e8feb86659fd93ull >> 32);
}

// ---- launches and blocks -----------------------------------------------------------------------------------------

void Recorder::begin(const Config& config, const detail::Entry& entry) {
  entry_ = entry;
  surveyed_ = false;
  width_ = static_cast<std::size_t>(config.warp);
  block_ = 0;
  streams_.assign(std::size_t(config.block.x) * config.block.y * config.block.z, {});
  global_.clear();
  read_.clear();
  written_.clear();
  atomic_.clear();
  load_steps_ = basic_blocks_ = 0;
  global_.begin(std::size_t(config.grid.x) * config.grid.y * config.grid.z);
  sites_.clear();
  recent_.assign(recent_sites, {});
  site_numbers_.clear();
  races_.clear();
}

void Recorder::begin_block(Worker& w) {
  worker_ = &w;
  ++block_;
  if (!surveyed_) {
    memory_.survey(w, entry_);
    shared_.resize(memory_.shared_bytes());
    surveyed_ = true;
  }
  for (Stream& stream : streams_) stream.clear(0);
  noted_ = 0;
  warp_ = 0;
}

void Recorder::end_block() {
  if (worker_->failure.cause == Cause::none) block_synced();
}

void Recorder::block_synced() {
  for (int warp = 0; warp < worker_->warps; ++warp) put_together(warp);
}

void Recorder::lanes_synced(int warp, lane_mask lanes) {
  if (lanes == worker_->warp[warp].exists) put_together(warp);
}

Footprint Recorder::footprint() const {
  return {.blocks = block_,
          .read_sectors = read_.all(),
          .written_sectors = written_.all(),
          .block_read_sectors = read_.in_blocks(),
          .atomic_sectors = atomic_.all(),
          .load_steps = load_steps_,
          .basic_blocks = basic_blocks_,
          .shared_bytes = shared_.most_used()};
}

// ---- what a thread does ------------------------------------------------------------------------------------------

std::uint32_t Recorder::site_of(Address pc, Site::Role role, Space space, Kind kind, int bytes) {
  // The hooks at one address are of one kind, but may access both spaces, in pieces of several sizes.
  const std::uint64_t key =
      std::uint64_t{pc} << 8 | static_cast<unsigned>(bytes) << 1 | static_cast<unsigned>(space == Space::shared);
  Known& recent = recent_[hash(key) % recent_sites];
  if (recent.key == key) return recent.site;
  const auto [found, made] = site_numbers_.try_emplace(key, static_cast<std::uint32_t>(sites_.size()));
  if (made) {
    Site& site = sites_.emplace_back();
    site.pc = pc;
    site.role = role;
    site.space = space;
    site.kind = kind;
    site.bytes = bytes;
  }
  recent = {key, found->second};
  return found->second;
}

void Recorder::access(Address at, int bytes, Kind kind, Address pc) {
  const MemoryMap::Place place = memory_.find(at);
  if (place.kind != MemoryMap::Kind::registers) piece(at, bytes, kind, pc, place);
}

// Structures move by several instructions: word by word in global memory, where nvcc does not know their alignment; as
// wide as the alignment allows in shared memory, where it does. Structures of whole vectors move vector by vector.
void Recorder::access_structure(Address at, std::size_t bytes, Kind kind, Address pc) {
  const MemoryMap::Place place = memory_.find(at);
  if (place.kind == MemoryMap::Kind::registers) return;
  const bool vectors = bytes > widest_access && bytes % widest_access == 0;
  const std::size_t widest = place.kind == MemoryMap::Kind::shared || vectors ? widest_access : 4;
  for (std::size_t done = 0; done < bytes;) {
    std::size_t size = std::min(std::bit_floor(bytes - done), widest);
    while ((at + done) % size) size /= 2;
    piece(at + done, static_cast<int>(size), kind, pc, {place.kind, place.shared_offset + done});
    done += size;
  }
}

void Recorder::piece(Address at, int bytes, Kind kind, Address pc, const MemoryMap::Place& place) {
  const bool is_shared = place.kind == MemoryMap::Kind::shared;
  const std::uint32_t number = site_of(pc, Site::Role::access, is_shared ? Space::shared : Space::global, kind, bytes);
  if (is_shared) {
    if (kind != Kind::store && !shared_.is_set(place.shared_offset, bytes, block_)) ++sites_[number].unset;
    if (kind != Kind::load) shared_.write(place.shared_offset, bytes, block_);
  } else {
    if (kind == Kind::atomic) global_.used_atomic(block_);
    const int site = static_cast<int>(number);
    const int other = kind == Kind::load    ? global_.load(at, bytes, block_, site)
                      : kind == Kind::store ? global_.store(at, bytes, block_, site)
                                            : global_.atomic(at, bytes, block_, site);
    if (other >= 0) ++races_[{site, other}];
    if (kind != Kind::store) read_.touch(at, bytes, block_);
    if (kind != Kind::load) written_.touch(at, bytes, block_);
    if (kind == Kind::atomic) atomic_.touch(at, bytes, block_);
  }
  note(number).at.push_back(at);
}

// A kernel without barriers runs warp after warp, so a warp that has ended is combined before the block ends.
void Recorder::change_warp() {
  const Warp& former = worker_->warp[warp_];
  if (former.returned == former.exists) put_together(warp_);
  warp_ = worker_->current->warp;
}

void Recorder::give_up() {
  fail(*worker_, *worker_->current, [this] {
    return "trace: the block has done " + std::to_string(most_noted) +
           " steps since its threads last met, more than can be kept; trace a smaller case, or does a loop not end?";
  });
}

// ---- what a warp does --------------------------------------------------------------------------------------------

void Recorder::put_together(int warp) {
  const std::size_t first = static_cast<std::size_t>(warp) * width_;
  const std::span<Stream> lanes(&streams_[first], std::min(width_, streams_.size() - first));
  for (const Stream& lane : lanes) noted_ -= lane.events.size();
  std::size_t taken[64] = {};  // addresses used so far, per lane
  Address at[64];
  bool has_begun = true;  // a basic block, since the last load
  const auto visit = [&](std::uint32_t number, std::uint64_t together, bool parted) {
    Site& site = sites_[number];
    if (site.role == Site::Role::block) {
      ++basic_blocks_;
      has_begun = true;
    } else if (site.role == Site::Role::access && site.space == Space::global && site.kind != Kind::store) {
      load_steps_ += has_begun;
      has_begun = false;
    }
    ++site.counts.requests;
    site.counts.lanes += std::popcount(together);
    site.divergent += parted;
    if (site.role != Site::Role::access) return;
    for (std::uint64_t left = together; left; left &= left - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(left));
      at[lane] = lanes[lane].at[taken[lane]++];
    }
    add_up(number, together, at);
  };
  lockstep(
      lanes, [this](std::uint32_t number) { return sites_[number].pc; }, visit);
  add_up_widened();
}

void Recorder::add_up(std::uint32_t number, std::uint64_t lanes, const Address* at) {
  Site& site = sites_[number];
  const Request request{lanes, site.bytes, at};
  if (site.space == Space::global) {
    const Cost cost = sectors(request);
    site.counts.sectors += cost.units;
    site.counts.least_sectors += cost.least;
    return;
  }
  const Cost cost = wavefronts(site.kind, request);
  site.counts.wavefronts += cost.units;
  site.counts.least_wavefronts += cost.least;
  if (!site.may_widen()) return;
  joinable_.push_back({number, lanes});
  joinable_at_.insert(joinable_at_.end(), at, at + width_);
}

// ---- neighbours that nvcc may join -------------------------------------------------------------------------------

// Whether request `index` continues where `former` ended, in every lane.
bool Recorder::continues(std::size_t former, std::size_t index) const {
  const Joinable &a = joinable_[former], &b = joinable_[index];
  const Site &x = sites_[a.site], &y = sites_[b.site];
  if (a.lanes != b.lanes || x.kind != y.kind || x.bytes != y.bytes) return false;
  for (std::uint64_t left = b.lanes; left; left &= left - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(left));
    if (joinable_at_[index * width_ + lane] != joinable_at_[former * width_ + lane] + static_cast<Address>(x.bytes))
      return false;
  }
  return true;
}

// nvcc joins neighbouring loads (or stores) of shared memory, whose alignment it knows, into one of up to 16 bytes. A
// few other accesses may be between them.
void Recorder::add_up_widened() {
  constexpr std::size_t few = 8, none = ~std::size_t(0);
  std::vector<std::size_t> next(joinable_.size(), none);
  std::vector<bool> joined(joinable_.size());
  std::vector<std::size_t> recent;  // requests that may be continued
  for (std::size_t i = 0; i < joinable_.size(); ++i) {
    const auto former = std::find_if(recent.rbegin(), recent.rend(), [&](std::size_t j) { return continues(j, i); });
    if (former != recent.rend()) {
      next[*former] = i;
      joined[i] = true;
      *former = i;
    } else {
      if (recent.size() == few) recent.erase(recent.begin());
      recent.push_back(i);
    }
  }
  for (std::size_t head = 0; head < joinable_.size(); ++head) {
    if (joined[head]) continue;
    const std::uint64_t lanes = joinable_[head].lanes;
    int length = 0;
    for (std::size_t i = head; i != none; i = next[i]) ++length;
    for (std::size_t i = head; length > 0;) {
      Site& site = sites_[joinable_[i].site];
      const Address* at = &joinable_at_[i * width_];
      Address bits = 0;  // the address bits of all lanes, for their common alignment
      for (std::uint64_t left = lanes; left; left &= left - 1) bits |= at[std::countr_zero(left)];
      int count = 1;
      while (count * 2 <= length && site.bytes * count * 2 <= widest_access &&
             bits % static_cast<Address>(site.bytes * count * 2) == 0)
        count *= 2;
      const Cost cost = wavefronts(site.kind, {lanes, site.bytes * count, at});
      ++site.widened_requests;
      site.widened_wavefronts += cost.units;
      site.widened_least += cost.least;
      length -= count;
      for (; count > 0; --count) i = next[i];
    }
  }
  joinable_.clear();
  joinable_at_.clear();
}

}  // namespace ridge::simt::trace
