// A cluster of blocks folds the one row there is, and needs neither partial results in memory nor a second launch.
#pragma once
#include <ridge/reduce/columns.cuh>
#include <ridge/tile/overlap.cuh>
#include <ridge/tile/sm90/cluster.cuh>

namespace ridge::reduce_detail {

// y[0] = R over everything                          x: [cols]  z: [cols] or none, any strides  y: [1]
// Thread t of block b has the elements b threads + t, and on in steps of all threads: also elements that lie far apart
// are spread over the multiprocessors, each of which takes one of them in a clock.
// It may be launched before the kernel in front of it has ended (tile/overlap.cuh).
// Preconditions: cc 90; the grid is one cluster of cluster_blocks; there is one row.
template <class S, class R>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    reduce_cluster(Input<typename R::Element> in, typename R::Output* y, Finish finish) {
  if constexpr (tile::sm90::available) {
    using Partial = typename R::Partial;
    struct alignas(Partial) Slot {  // shared memory takes no constructors
      unsigned char bytes[sizeof(Partial)];
    };
    __shared__ Slot slots[cluster_blocks];  // of the first block: what each has found
    const int rank = static_cast<int>(tile::sm90::cluster_rank());
    tile::sm90::arrive_cluster();
    tile::let_next_begin();
    tile::await_last();

    const std::int64_t first = std::int64_t{rank} * S::threads + threadIdx.x;
    const auto mine = fold_columns<S, R>(in, in.x, in.z, first, in.cols, S::threads * cluster_blocks);
    const Partial of_block = tile::block<S::threads>().reduce(mine[0], Combine<R>());

    tile::sm90::await_cluster();  // the first block has begun
    if (threadIdx.x == 0) memcpy(tile::sm90::in_block(slots + rank, 0), &of_block, sizeof of_block);
    tile::sm90::arrive_cluster();
    tile::sm90::await_cluster();
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
