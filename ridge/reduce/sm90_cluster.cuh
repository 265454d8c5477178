// A cluster of blocks folds a single row, through distributed shared memory, without partial results in memory or a
// second launch.
#pragma once
#include <ridge/reduce/columns.cuh>
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/tile/sm90/cluster.cuh>

namespace ridge::reduce_detail {

// y[0] = R over everything                          x: [cols]  z: [cols] or none, any strides  y: [1]
// Thread t of block b has the elements b threads + t, and on in steps of all threads: elements that are far apart are
// also spread over the multiprocessors, each of which takes one of them in a clock.
// It may start before the kernel before it has ended (tile/dependent_launch.cuh).
// Preconditions: cc 90; the grid is one cluster of cluster_blocks; there is one row.
template <class S, class R>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    reduce_cluster(Input<typename R::Element> in, typename R::Output* y, Finish finish) {
  if constexpr (tile::sm90::available) {
    using Partial = typename R::Partial;
    struct alignas(Partial) Slot {  // shared memory takes no constructors
      unsigned char bytes[sizeof(Partial)];
    };
    __shared__ Slot slots[cluster_blocks];  // in the first block: each block's partial result
    const int rank = static_cast<int>(tile::sm90::cluster_rank());
    tile::sm90::cluster_arrive();
    tile::launch_dependents();
    tile::grid_dependency_wait();

    const std::int64_t first = std::int64_t{rank} * S::threads + threadIdx.x;
    const auto mine = fold_columns<S, R>(in, in.x, in.z, first, in.cols, S::threads * cluster_blocks);
    const Partial of_block = tile::block<S::threads>().reduce(mine[0], Combine<R>());

    tile::sm90::cluster_wait();  // the first block has started
    if (threadIdx.x == 0) memcpy(tile::sm90::map_shared_rank(slots + rank, 0), &of_block, sizeof of_block);
    tile::sm90::cluster_arrive();
    tile::sm90::cluster_wait();
    if (rank > 0 || threadIdx.x > 0) return;
    Partial all = of_block;
    for (int b = 1; b < cluster_blocks; ++b) {
      Partial other;
      memcpy(&other, slots + b, sizeof other);
      all = R::combine(all, other);
    }
    write_column<R>(in, y, all, finish);
  }
}

}  // namespace ridge::reduce_detail
