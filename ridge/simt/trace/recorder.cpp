#include <ridge/simt/trace/recorder.hpp>

#include <ridge/simt/runtime/worker.hpp>

#include <algorithm>
#include <bit>

namespace ridge::simt::trace {

constexpr int widest_access = 16;

static std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
  return x ^ x >> 32;
}

// ---- launches and blocks -----------------------------------------------------------------------------------------

void Recorder::begin(const Config& config, const detail::Entry& entry) {
  entry_ = entry;
  surveyed_ = false;
  width_ = config.warp;
  block_ = 0;
  const std::size_t threads = std::size_t(config.block.x) * config.block.y * config.block.z;
  lanes_.assign(threads, {});
  warps_.assign((threads + static_cast<std::size_t>(width_) - 1) / static_cast<std::size_t>(width_), {});
  global_.clear();
  global_.begin(config.grid.x * config.grid.y * config.grid.z);
  sites_.clear();
  visits_.clear();
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
  for (Lane& lane : lanes_) {
    lane.position.start();
    lane.compared = 0;
  }
}

void Recorder::end_block() { block_synced(); }

void Recorder::block_synced() {
  for (int warp = 0; warp < static_cast<int>(warps_.size()); ++warp) close(warp);
}

void Recorder::lanes_synced(int warp, lane_mask lanes) {
  if (lanes == worker_->warp[warp].exists) close(warp);
}

// ---- sites -------------------------------------------------------------------------------------------------------

int Recorder::site_of(Address pc, bool branch, Space space, Kind kind, int bytes) {
  const std::uint64_t key = std::uint64_t{pc} << 8 | static_cast<unsigned>(bytes) << 3 |
                            static_cast<unsigned>(branch) << 2 | static_cast<unsigned>(space) << 1 |
                            static_cast<unsigned>(kind == Kind::atomic);
  Known& recent = recent_[mix(key) % recent_sites];
  if (recent.site >= 0 && recent.key == key) return recent.site;
  const auto [found, made] = site_numbers_.try_emplace(key, static_cast<int>(sites_.size()));
  if (made) {
    sites_.push_back({.pc = pc, .branch = branch, .space = space, .kind = kind, .bytes = bytes});
    visits_.emplace_back(lanes_.size());
  }
  recent = {key, found->second};
  return found->second;
}

// ---- what a thread does ------------------------------------------------------------------------------------------

void Recorder::access(Address at, std::size_t bytes, Kind kind, Address pc) {
  const MemoryMap::Place place = memory_.find(at);
  if (place.kind == MemoryMap::Kind::registers) return;
  if (bytes <= widest_access && std::has_single_bit(bytes) && at % bytes == 0)
    return piece(at, static_cast<int>(bytes), kind, pc, place);
  // A structure moves by several instructions: of its words where it lies in global memory, whose alignment nvcc does
  // not know; by what its place allows where it is shared.
  const std::size_t most = place.kind == MemoryMap::Kind::global && bytes % widest_access ? 4 : widest_access;
  for (std::size_t done = 0; done < bytes;) {
    std::size_t size = std::min(std::bit_floor(bytes - done), most);
    while ((at + done) % size) size /= 2;
    piece(at + done, static_cast<int>(size), kind, pc, {place.kind, place.shared_offset + done});
    done += size;
  }
}

void Recorder::piece(Address at, int bytes, Kind kind, Address pc, const MemoryMap::Place& place) {
  const bool shared = place.kind == MemoryMap::Kind::shared;
  const int site = site_of(pc, false, shared ? Space::shared : Space::global, kind, bytes);
  Site& s = sites_[static_cast<std::size_t>(site)];
  if (shared) {
    if (kind != Kind::store && !shared_.is_set(place.shared_offset, bytes, block_)) ++s.unset;
    if (kind != Kind::load) shared_.write(place.shared_offset, bytes, block_);
  } else {
    if (kind == Kind::atomic) global_.used_atomic(block_);
    const int other = kind == Kind::load    ? global_.load(at, bytes, block_, site)
                      : kind == Kind::store ? global_.store(at, bytes, block_, site)
                                            : global_.atomic(at, bytes, block_, site);
    if (other >= 0) ++races_[{site, other}];
  }
  add(site, lane().position.key(), at);
}

void Recorder::compare(Address pc) {
  Lane& l = lane();
  l.compared = pc;
  l.compared_at = l.position.key();
}

void Recorder::enter_block(Address pc) {
  Lane& l = lane();
  if (l.compared) {
    add(site_of(l.compared, true, Space::global, Kind::load, 0), l.compared_at, pc);
    l.compared = 0;
  }
  l.position.enter_block(pc);
}

// A comparison before a call is not the branch that the callee's first block comes from.
void Recorder::enter_function(Address return_address) {
  lane().compared = 0;
  lane().position.enter_function(return_address);
}
void Recorder::leave_function() {
  lane().compared = 0;
  lane().position.leave_function();
}

// ---- requests ----------------------------------------------------------------------------------------------------

void Recorder::add(int site, std::uint64_t place, Address at) {
  const auto thread = static_cast<std::size_t>(worker_->current - worker_->threads);
  const int warp = worker_->current->warp, lane = worker_->current->lane;
  Requests& requests = warps_[static_cast<std::size_t>(warp)];
  Visit& visit = visits_[static_cast<std::size_t>(site)][thread];
  if (visit.generation == requests.generation && visit.key == place) ++visit.repeat;
  else visit = {place, 0, requests.generation};

  const std::uint64_t key = mix(place + static_cast<unsigned>(site) * 0x9e3779b97f4a7c15ull +
                                std::uint64_t{visit.repeat} * 0xc2b2ae3d27d4eb4full);
  const int index = find_or_open(requests, key, site);
  requests.open[static_cast<std::size_t>(index)].lanes |= lane_mask(1) << lane;
  requests.at[static_cast<std::size_t>(index) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(lane)] = at;
}

int Recorder::find_or_open(Requests& r, std::uint64_t key, int site) {
  std::size_t mask = r.rows.size() - 1, i = key & mask;
  while (r.rows[i].generation == r.generation) {
    if (r.rows[i].key == key) return r.rows[i].index;
    i = (i + 1) & mask;
  }
  const int index = static_cast<int>(r.open.size());
  r.rows[i] = {key, r.generation, index};
  r.open.push_back({site, 0});
  r.at.resize(r.at.size() + static_cast<std::size_t>(width_));
  if (r.open.size() * 2 > r.rows.size()) {
    std::vector<Requests::Row> wider(r.rows.size() * 2);
    mask = wider.size() - 1;
    for (const Requests::Row& row : r.rows) {
      if (row.generation != r.generation) continue;
      for (i = row.key & mask; wider[i].generation == r.generation; i = (i + 1) & mask) {}
      wider[i] = row;
    }
    r.rows = std::move(wider);
  }
  return index;
}

void Recorder::close(int warp) {
  Requests& r = warps_[static_cast<std::size_t>(warp)];
  if (r.open.empty()) return;
  for (std::size_t i = 0; i < r.open.size(); ++i) add_up(r, i);
  add_up_widened(r);
  r.open.clear();
  r.at.clear();
  ++r.generation;
}

void Recorder::add_up(const Requests& r, std::size_t index) {
  const Open& open = r.open[index];
  Site& site = sites_[static_cast<std::size_t>(open.site)];
  const Address* at = &r.at[index * static_cast<std::size_t>(width_)];
  ++site.counts.requests;
  site.counts.lanes += std::popcount(open.lanes);
  if (site.branch) {
    const Address first = at[std::countr_zero(open.lanes)];
    for (std::uint64_t left = open.lanes; left; left &= left - 1)
      if (at[std::countr_zero(left)] != first) {
        ++site.divergent;
        break;
      }
  } else if (site.space == Space::global) {
    const Cost cost = sectors({open.lanes, site.bytes, at});
    site.counts.sectors += cost.units;
    site.counts.least_sectors += cost.least;
  } else {
    const Cost cost = wavefronts(site.kind, {open.lanes, site.bytes, at});
    site.counts.wavefronts += cost.units;
    site.counts.least_wavefronts += cost.least;
  }
}

// ---- neighbours that nvcc may join -------------------------------------------------------------------------------

// Whether every lane goes on with request `index` where `former` ended.
bool Recorder::continues(const Requests& r, std::size_t former, std::size_t index) const {
  const Open &a = r.open[former], &b = r.open[index];
  const Site &x = sites_[static_cast<std::size_t>(a.site)], &y = sites_[static_cast<std::size_t>(b.site)];
  if (a.lanes != b.lanes || x.branch || x.space != y.space || x.kind != y.kind || x.bytes != y.bytes) return false;
  const auto width = static_cast<std::size_t>(width_);
  for (std::uint64_t left = b.lanes; left; left &= left - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(left));
    if (r.at[index * width + lane] != r.at[former * width + lane] + static_cast<Address>(x.bytes)) return false;
  }
  return true;
}

// Neighbouring loads (or stores) of shared memory, whose alignment nvcc knows, become one of up to 16 bytes. They may
// stand a few accesses apart.
void Recorder::add_up_widened(const Requests& r) {
  constexpr std::size_t few = 8;
  constexpr std::size_t none = ~std::size_t(0);
  std::vector<std::size_t> next(r.open.size(), none);
  std::vector<bool> joined(r.open.size());
  std::vector<std::size_t> recent;  // that may be gone on with
  for (std::size_t i = 0; i < r.open.size(); ++i) {
    const Site& site = sites_[static_cast<std::size_t>(r.open[i].site)];
    if (site.branch || site.space != Space::shared || site.kind == Kind::atomic) continue;
    const auto former = std::find_if(recent.rbegin(), recent.rend(), [&](std::size_t j) { return continues(r, j, i); });
    if (former != recent.rend()) {
      next[*former] = i;
      joined[i] = true;
      *former = i;
    } else {
      if (recent.size() == few) recent.erase(recent.begin());
      recent.push_back(i);
    }
  }
  const auto width = static_cast<std::size_t>(width_);
  for (std::size_t head = 0; head < r.open.size(); ++head) {
    const Open& open = r.open[head];
    const Site& first = sites_[static_cast<std::size_t>(open.site)];
    if (first.branch || first.space != Space::shared || first.kind == Kind::atomic || joined[head]) continue;
    int length = 1;
    for (std::size_t i = next[head]; i != none; i = next[i]) ++length;
    std::size_t i = head;
    while (length > 0) {
      Site& site = sites_[static_cast<std::size_t>(r.open[i].site)];
      const Address* at = &r.at[i * width];
      Address together = 0;
      for (std::uint64_t left = open.lanes; left; left &= left - 1) together |= at[std::countr_zero(left)];
      int count = 1;
      while (count * 2 <= length && site.bytes * count * 2 <= widest_access &&
             together % static_cast<Address>(site.bytes * count * 2) == 0)
        count *= 2;
      ++site.widened_requests;
      const Cost cost = wavefronts(site.kind, {open.lanes, site.bytes * count, at});
      site.widened_wavefronts += cost.units;
      site.widened_least += cost.least;
      length -= count;
      for (; count > 0; --count) i = next[i];
    }
  }
}

}  // namespace ridge::simt::trace
