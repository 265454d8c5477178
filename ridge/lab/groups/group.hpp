// cooperative_groups: a thread block, the grid and a cluster of one block as groups of threads.
#pragma once
#include <ridge/lab/uncounted.hpp>
#include <ridge/simt/simt.hpp>

#include <bit>
#include <stdexcept>
#include <string>

// In cooperative_groups itself only CUDA's names and lane_group: programs often use the whole namespace.
namespace ridge::lab {

using where = simt::detail::where;

inline constexpr unsigned warp_lanes = 32;
__forceinline__ unsigned this_lane() { return static_cast<unsigned>(simt::thread_rank()) % warp_lanes; }

// Blocks run one after the other, so that a block which waits for a later one would wait for ever.
[[noreturn]] inline void refuse_blocks_together(const char* what) {
  throw std::runtime_error(std::string(what) +
                           " needs all of its blocks at once, and the CPU runtime runs a grid's blocks one after the "
                           "other; launch one block, or split the kernel where it waits");
}

}  // namespace ridge::lab

namespace cooperative_groups {

// Any group, by value: a group of a derived class that is assigned to a thread_group stays what it is.
class thread_group {
 public:
  unsigned long long size() const;
  unsigned long long num_threads() const { return size(); }
  unsigned long long thread_rank() const;
  void sync(ridge::lab::where at = ridge::lab::where::current()) const;

 protected:
  enum class Kind : unsigned char { block, lanes, grid, cluster };
  explicit thread_group(Kind kind, unsigned lanes = 0, unsigned meta_rank = 0, unsigned meta_size = 1)
      : kind_(kind), lanes_(lanes), meta_rank_(meta_rank), meta_size_(meta_size) {}

  Kind kind_;
  unsigned lanes_;                  // of Kind::lanes: those of the warp, also ones that the block is too small to have
  unsigned meta_rank_, meta_size_;  // which part of its parent it is, of how many

  friend thread_group tiled_partition(const thread_group& parent, unsigned tile_size);
};

// What barrier_arrive returns. The wait is the barrier: nobody may notice that arriving is put off until then.
struct arrival_token {};

class thread_block : public thread_group {
 public:
  thread_block() : thread_group(Kind::block) {}

  static void sync(ridge::lab::where at = ridge::lab::where::current()) { ridge::simt::detail::barrier(at); }
  __forceinline__ static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned num_threads() { return size(); }
  __forceinline__ static unsigned thread_rank() { return static_cast<unsigned>(ridge::simt::thread_rank()); }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }

  using arrival_token = cooperative_groups::arrival_token;
  static arrival_token barrier_arrive() { return {}; }
  static void barrier_wait(arrival_token&&, ridge::lab::where at = ridge::lab::where::current()) { sync(at); }
};
inline thread_block this_thread_block() { return {}; }

class grid_group : public thread_group {
 public:
  grid_group() : thread_group(Kind::grid) {}

  // Whether the grid can synchronise.
  static bool is_valid() { return num_blocks() == 1; }
  static void sync(ridge::lab::where at = ridge::lab::where::current()) {
    if (!is_valid()) ridge::lab::refuse_blocks_together("grid.sync()");
    ridge::simt::detail::barrier(at);
  }
  using arrival_token = cooperative_groups::arrival_token;
  static arrival_token barrier_arrive() { return {}; }
  static void barrier_wait(arrival_token&&, ridge::lab::where at = ridge::lab::where::current()) { sync(at); }

  static unsigned long long size() { return num_blocks() * thread_block::size(); }
  static unsigned long long num_threads() { return size(); }
  static unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
  static unsigned long long num_blocks() { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
  static unsigned long long block_rank() {
    return blockIdx.x + 1ull * gridDim.x * (blockIdx.y + 1ull * gridDim.y * blockIdx.z);
  }
  static dim3 group_dim() { return gridDim; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 block_index() { return blockIdx; }
  static dim3 dim_threads() { return {gridDim.x * blockDim.x, gridDim.y * blockDim.y, gridDim.z * blockDim.z}; }
  static dim3 thread_index() {
    return {blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
            blockIdx.z * blockDim.z + threadIdx.z};
  }
};
inline grid_group this_grid() { return {}; }

// A cluster needs its blocks at once, so it is refused where a kernel asks for it; with one block it is that block.
class cluster_group : public thread_group {
 public:
  cluster_group() : thread_group(Kind::cluster) {
    if (grid_group::num_blocks() != 1) ridge::lab::refuse_blocks_together("this_cluster()");
  }
  static void sync(ridge::lab::where at = ridge::lab::where::current()) { ridge::simt::detail::barrier(at); }
  using arrival_token = cooperative_groups::arrival_token;
  static arrival_token barrier_arrive() { return {}; }
  static void barrier_wait(ridge::lab::where at = ridge::lab::where::current()) { sync(at); }
  static void barrier_wait(arrival_token&&, ridge::lab::where at = ridge::lab::where::current()) { sync(at); }

  static unsigned size() { return thread_block::size(); }
  static unsigned num_threads() { return size(); }
  static unsigned thread_rank() { return thread_block::thread_rank(); }
  static unsigned num_blocks() { return 1; }
  static unsigned block_rank() { return 0; }
  static dim3 dim_blocks() { return {}; }
  static dim3 block_index() { return {0, 0, 0}; }
  static dim3 dim_threads() { return blockDim; }
  static dim3 thread_index() { return threadIdx; }
  static unsigned query_shared_rank(const void*) { return 0; }
  template <class T> static T* map_shared_rank(T* p, int) { return p; }
};
inline cluster_group this_cluster() { return {}; }

// ---- any group ---------------------------------------------------------------------------------------------------
RIDGE_LAB_UNCOUNTED inline unsigned long long thread_group::size() const {
  if (kind_ == Kind::lanes) return static_cast<unsigned>(std::popcount(lanes_));
  return kind_ == Kind::grid ? grid_group::size() : thread_block::size();
}
RIDGE_LAB_UNCOUNTED inline unsigned long long thread_group::thread_rank() const {
  if (kind_ == Kind::lanes) return static_cast<unsigned>(std::popcount(lanes_ & ((1u << ridge::lab::this_lane()) - 1)));
  return kind_ == Kind::grid ? grid_group::thread_rank() : thread_block::thread_rank();
}
RIDGE_LAB_UNCOUNTED inline void thread_group::sync(ridge::lab::where at) const {
  if (kind_ == Kind::lanes) ridge::simt::detail::sync_warp(lanes_, at);
  else if (kind_ == Kind::grid) grid_group::sync(at);
  else ridge::simt::detail::barrier(at);
}

template <class Group> void sync(const Group& group, ridge::lab::where at = ridge::lab::where::current()) {
  group.sync(at);
}
template <class Group> auto thread_rank(const Group& group) { return group.thread_rank(); }
template <class Group> auto group_size(const Group& group) { return group.num_threads(); }

}  // namespace cooperative_groups
