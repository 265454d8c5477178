// cooperative_groups: groups within a warp: tiles, and lanes that happen to be together.
//
// A group's collectives and its sync() are those of its own lanes, so groups of one warp may be in different branches.
#pragma once
#include <ridge/lab/converge.hpp>
#include <ridge/lab/groups/group.hpp>

namespace ridge::lab {

inline void check_tile_size(unsigned size) {
  if (size == 0 || size > warp_lanes || (size & (size - 1)) != 0)
    throw std::runtime_error("tiled_partition: a tile is 1, 2, 4, 8, 16 or 32 threads");
}

}  // namespace ridge::lab

namespace cooperative_groups {

// What every group of lanes has.
class lane_group : public thread_group {
 public:
  unsigned size() const { return static_cast<unsigned>(__builtin_popcount(lanes_)); }
  unsigned num_threads() const { return size(); }
  RIDGE_LAB_UNCOUNTED unsigned thread_rank() const {
    return static_cast<unsigned>(__builtin_popcount(lanes_ & below(ridge::lab::this_lane())));
  }
  unsigned meta_group_rank() const { return meta_rank_; }
  unsigned meta_group_size() const { return meta_size_; }

  void sync(ridge::lab::where at = ridge::lab::where::current()) const { ridge::simt::detail::sync_warp(lanes_, at); }
  int any(int predicate, ridge::lab::where at = ridge::lab::where::current()) const {
    return vote(predicate != 0, at) != 0;
  }
  int all(int predicate, ridge::lab::where at = ridge::lab::where::current()) const {
    return vote(predicate == 0, at) == 0;
  }
  // Bit r is of the thread of rank r, here and in the functions below.
  unsigned ballot(int predicate, ridge::lab::where at = ridge::lab::where::current()) const {
    return by_rank(vote(predicate != 0, at));
  }
  // The threads whose values are equal to this one's.
  template <class T> unsigned match_any(T value, ridge::lab::where at = ridge::lab::where::current()) const {
    return by_rank(equal_lanes(value, at));
  }
  // All threads if all values are equal, else none.
  template <class T>
  unsigned match_all(T value, int& predicate, ridge::lab::where at = ridge::lab::where::current()) const {
    const unsigned here = vote(true, at);
    predicate = vote(equal_lanes(value, at) != here, at) == 0;
    return predicate ? by_rank(here) : 0;
  }

  // ---- for the functions of groups -------------------------------------------------------------------------------
  unsigned lane_mask() const { return lanes_; }
  // The lanes that the block has. A tile at the end of the block may have fewer than its size.
  RIDGE_LAB_UNCOUNTED unsigned members() const {
    const unsigned rank = thread_block::thread_rank(),
                   left = thread_block::size() - (rank - rank % ridge::lab::warp_lanes);
    return left < ridge::lab::warp_lanes ? lanes_ & below(left) : lanes_;
  }
  // The value of one lane of the warp.
  template <class T> RIDGE_LAB_UNCOUNTED T from_lane(T value, unsigned lane, ridge::lab::where at) const {
    constexpr int whole_mask = 8 * sizeof(ridge::simt::lane_mask);
    return ridge::simt::detail::move_words(value, [=, this](ridge::simt::detail::lane_word word) RIDGE_LAB_UNCOUNTED {
      return ridge::simt::detail::shuffle(lanes_, word, ridge::simt::detail::Source::index, static_cast<int>(lane),
                                          whole_mask, at);
    });
  }
  // The value of the thread of a rank; undefined (all ones) if there is none.
  template <class T> RIDGE_LAB_UNCOUNTED T from_rank(T value, unsigned rank, ridge::lab::where at) const {
    return from_lane(value, lane_of(rank), at);
  }
  RIDGE_LAB_UNCOUNTED unsigned vote(bool predicate, ridge::lab::where at) const {
    return static_cast<unsigned>(ridge::simt::detail::ballot(lanes_, predicate, at));
  }
  template <class T> RIDGE_LAB_UNCOUNTED unsigned equal_lanes(T value, ridge::lab::where at) const {
    unsigned equal = 0;
    for (unsigned m = vote(true, at); m; m &= m - 1) {
      const auto lane = static_cast<unsigned>(__builtin_ctz(m));
      equal |= unsigned{from_lane(value, lane, at) == value} << lane;
    }
    return equal;
  }

 protected:
  explicit lane_group(unsigned lanes, unsigned meta_rank = 0, unsigned meta_size = 1)
      : thread_group(Kind::lanes, lanes, meta_rank, meta_size) {}

  __forceinline__ static unsigned below(unsigned lane) {
    return lane < ridge::lab::warp_lanes ? (1u << lane) - 1 : ~0u;
  }
  RIDGE_LAB_UNCOUNTED unsigned lane_of(unsigned rank) const {
    unsigned m = lanes_;
    for (; rank && m; --rank) m &= m - 1;
    return m ? static_cast<unsigned>(__builtin_ctz(m)) : 8 * sizeof(ridge::simt::lane_mask) - 1;  // no such lane
  }
  RIDGE_LAB_UNCOUNTED unsigned by_rank(unsigned lanes) const {
    unsigned ranks = 0, bit = 1;
    for (unsigned m = lanes_; m; m &= m - 1, bit <<= 1) ranks |= lanes & m & -m ? bit : 0;
    return ranks;
  }
};

// ---- tiles -------------------------------------------------------------------------------------------------------
template <unsigned Size, class Parent = void> class thread_block_tile;

// A tile whose parent is not part of its type; every other is one too.
template <unsigned Size> class thread_block_tile<Size, void> : public lane_group {
  static_assert(Size >= 1 && (Size & (Size - 1)) == 0, "a tile is a power of two of threads");
  static_assert(Size <= ridge::lab::warp_lanes, "ridge lab: tiles of more than 32 threads are not supported");
  using Source = ridge::simt::detail::Source;

 public:
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  __forceinline__ static unsigned thread_rank() { return thread_block::thread_rank() % Size; }

  template <class T> T shfl(T value, int source, ridge::lab::where at = ridge::lab::where::current()) const {
    return shuffle(value, Source::index, source, at);
  }
  template <class T>
  T shfl_down(T value, unsigned distance, ridge::lab::where at = ridge::lab::where::current()) const {
    return shuffle(value, Source::down, static_cast<int>(distance), at);
  }
  template <class T> T shfl_up(T value, unsigned distance, ridge::lab::where at = ridge::lab::where::current()) const {
    return shuffle(value, Source::up, static_cast<int>(distance), at);
  }
  template <class T> T shfl_xor(T value, unsigned bits, ridge::lab::where at = ridge::lab::where::current()) const {
    return shuffle(value, Source::flip, static_cast<int>(bits), at);
  }

 protected:
  thread_block_tile(unsigned meta_rank, unsigned meta_size)
      : lane_group((~0u >> (ridge::lab::warp_lanes - Size)) << (ridge::lab::this_lane() & ~(Size - 1)), meta_rank,
                   meta_size) {}

 private:
  template <class T> RIDGE_LAB_UNCOUNTED T shuffle(T value, Source source, int operand, ridge::lab::where at) const {
    return ridge::simt::detail::move_words(value, [=, this](ridge::simt::detail::lane_word word) RIDGE_LAB_UNCOUNTED {
      return ridge::simt::detail::shuffle(lanes_, word, source, operand, static_cast<int>(Size), at);
    });
  }
  friend thread_block_tile<1, void> this_thread();
};

template <unsigned Size, class Parent> class thread_block_tile : public thread_block_tile<Size, void> {
 public:
  explicit thread_block_tile(const Parent& parent)
      : thread_block_tile<Size, void>(static_cast<unsigned>(parent.thread_rank()) / Size,
                                      (static_cast<unsigned>(parent.size()) + Size - 1) / Size) {}
};

inline thread_block_tile<1, void> this_thread() { return {0, 1}; }

template <unsigned Size> thread_block_tile<Size, thread_block> tiled_partition(const thread_block& block) {
  return thread_block_tile<Size, thread_block>(block);
}
template <unsigned Size, unsigned ParentSize, class Grandparent>
auto tiled_partition(const thread_block_tile<ParentSize, Grandparent>& parent) {
  static_assert(Size <= ParentSize, "a tile of a tile is no larger than it");
  return thread_block_tile<Size, thread_block_tile<ParentSize, Grandparent>>(parent);
}

// ---- any lanes ---------------------------------------------------------------------------------------------------
class coalesced_group : public lane_group {
 public:
  template <class T> T shfl(T value, int source, ridge::lab::where at = ridge::lab::where::current()) const {
    return from_rank(value, static_cast<unsigned>(source), at);
  }
  // A thread without such a neighbour keeps its own value.
  template <class T>
  T shfl_down(T value, unsigned distance, ridge::lab::where at = ridge::lab::where::current()) const {
    const unsigned rank = thread_rank();
    return from_rank(value, distance < size() - rank ? rank + distance : rank, at);
  }
  template <class T> T shfl_up(T value, unsigned distance, ridge::lab::where at = ridge::lab::where::current()) const {
    const unsigned rank = thread_rank();
    return from_rank(value, distance <= rank ? rank - distance : rank, at);
  }

  explicit coalesced_group(unsigned lanes, unsigned meta_rank = 0, unsigned meta_size = 1)
      : lane_group(lanes, meta_rank, meta_size) {}
};

// The lanes of the warp that reach this line while the others wait elsewhere or have returned.
inline coalesced_group coalesced_threads(ridge::lab::where at = ridge::lab::where::current()) {
  return coalesced_group(static_cast<unsigned>(ridge::lab::lanes_here(at)));
}

// ---- parts whose size is not known before run time -----------------------------------------------------------------
// Every `size` threads of the group, by rank.
RIDGE_LAB_UNCOUNTED inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
  ridge::lab::check_tile_size(size);
  const unsigned tile = parent.thread_rank() / size;
  unsigned lanes = 0, rank = 0;
  for (unsigned m = parent.lane_mask(); m; m &= m - 1, ++rank) lanes |= rank / size == tile ? m & -m : 0;
  return coalesced_group(lanes, tile, (parent.size() + size - 1) / size);
}
RIDGE_LAB_UNCOUNTED inline thread_group tiled_partition(const thread_group& parent, unsigned size) {
  ridge::lab::check_tile_size(size);
  if (parent.kind_ == thread_group::Kind::lanes) return tiled_partition(coalesced_group(parent.lanes_), size);
  const auto threads = static_cast<unsigned>(parent.size());
  return coalesced_group((~0u >> (ridge::lab::warp_lanes - size)) << (ridge::lab::this_lane() & ~(size - 1)),
                         thread_block::thread_rank() / size, (threads + size - 1) / size);
}

// The threads of the group that have this one's label, or that agree with this one.
template <class Label>
coalesced_group labeled_partition(const lane_group& parent, Label label,
                                  ridge::lab::where at = ridge::lab::where::current()) {
  const unsigned mine = parent.equal_lanes(label, at), here = parent.vote(true, at);
  // Parts are in the order of their first threads.
  const bool first = (mine & -mine) == 1u << ridge::lab::this_lane();
  const unsigned firsts = parent.vote(first, at);
  return coalesced_group(mine & here, static_cast<unsigned>(__builtin_popcount(firsts & ((mine & -mine) - 1))),
                         static_cast<unsigned>(__builtin_popcount(firsts)));
}
inline coalesced_group binary_partition(const lane_group& parent, bool predicate,
                                        ridge::lab::where at = ridge::lab::where::current()) {
  const unsigned yes = parent.vote(predicate, at), no = parent.vote(!predicate, at);
  return coalesced_group(predicate ? yes : no, predicate ? 0 : 1, 2);
}

// ---- one thread for all ------------------------------------------------------------------------------------------
template <class Group, class F, class... A> void invoke_one(const Group& group, F&& f, A&&... arguments) {
  if (group.thread_rank() == 0) std::forward<F>(f)(std::forward<A>(arguments)...);
}
template <class F, class... A> auto invoke_one_broadcast(const lane_group& group, F&& f, A&&... arguments) {
  std::remove_cvref_t<decltype(std::forward<F>(f)(std::forward<A>(arguments)...))> result{};
  if (group.thread_rank() == 0) result = std::forward<F>(f)(std::forward<A>(arguments)...);
  return group.from_rank(result, 0, ridge::lab::where::current());
}

}  // namespace cooperative_groups
