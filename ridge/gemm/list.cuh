// Lists of products in one launch, with the tiles of thread_tile.cuh and sm80_mma.cuh. The device maps blocks to items.
#pragma once
#include <ridge/gemm/epilogue.cuh>
#include <ridge/gemm/list_launch.hpp>
#include <ridge/gemm/thread_tile.cuh>

namespace ridge::gemm_kernels {

// Scheduler of a persistent block over the tiles of all items, numbered item by item. Each lane holds one of 32
// consecutive items, the window, and the number of tiles up to it. All threads of the block call it, and get the same
// tile.
template <class Policy> class ListScheduler {
  static constexpr Config c = Policy::config;
  static constexpr int width = 32;
  using Warp = simt::tiles<width>;

 public:
  struct Tile {
    std::int64_t item = -1, index = 0;  // -1: no more tiles; index: among the item's tiles
  };
  __device__ ListScheduler(const GemmListItem* items, std::int64_t count) : items_(items), count_(count) {
    look_from(0);
  }

  // Tile `number`, at least that of the previous call.
  __device__ Tile at(std::int64_t number) {
    for (;;) {
      const std::int64_t tiles = Warp().shfl(until_, width - 1);
      if (number - before_ < tiles) break;
      if (window_ + width >= count_) return {};
      before_ += tiles;
      look_from(window_ + width);
    }
    const std::int64_t within = number - before_;
    const int found = __ffsll(static_cast<long long>(Warp().ballot(until_ > within))) - 1;
    const std::int64_t former = Warp().shfl(until_ - own_, found);
    return {window_ + found, within - former};
  }
  __device__ static Raster raster(const GemmListItem& item) { return raster_of(item.m, item.n, c.bm, c.bn); }

 private:
  __device__ void look_from(std::int64_t window) {
    const int lane = static_cast<int>(threadIdx.x) % width;
    window_ = window;
    own_ = 0;
    if (window + lane < count_) {
      const GemmListItem& item = items_[window + lane];
      if (item.m > 0 && item.n > 0) own_ = raster(item).tiles();
    }
    until_ = own_;
    RIDGE_UNROLL_ON_GPU
    for (int distance = 1; distance < width; distance *= 2) {
      const std::int64_t below = Warp().shfl_up(until_, distance);
      if (lane >= distance) until_ += below;
    }
  }

  const GemmListItem* items_;
  std::int64_t count_, window_ = 0, before_ = 0;  // the window's first item, and tiles of the items before it
  std::int64_t own_ = 0, until_ = 0;              // tiles of this lane's item, and of the window up to it
};

// What all items of a list have in common.
template <class X> struct ListWork {
  const GemmListItem* items;
  std::int64_t count;
  bool transposed_a, transposed_b, multiplies;  // multiplies: alpha is not 0
  X beta;
  StandardEpilogue<X> epilogue;  // each item sets d and c
};

template <class T> struct ListOperands { Operand<T> a, b; };
template <class T, class X>
__device__ __forceinline__ ListOperands<T> operands_of(const ListWork<X>& w, const GemmListItem& item) {
  ListOperands<T> o{{static_cast<const T*>(item.a), item.pitch_a, 1, 0},
                    {static_cast<const T*>(item.b), 1, item.pitch_b, 0}};
  if (w.transposed_a) o.a.outer_stride = 1, o.a.k_stride = item.pitch_a;
  if (w.transposed_b) o.b.outer_stride = item.pitch_b, o.b.k_stride = 1;
  return o;
}

// Calls tile(operands, place, shape, epilogue) for each tile of this block. All threads of the block call.
template <class Policy, class T, class X, class Compute>
__device__ __forceinline__ void for_tiles_of_list(const ListWork<X>& w, const Compute& tile) {
  ListScheduler<Policy> scheduler(w.items, w.count);
  for (std::int64_t number = blockIdx.x;; number += gridDim.x) {
    const auto at = scheduler.at(number);
    if (at.item < 0) return;
    const GemmListItem item = w.items[at.item];
    StandardEpilogue<X> epilogue = w.epilogue;
    epilogue.d.data = item.d;
    epilogue.d.row_stride = item.pitch_d;
    if (w.beta != X(0)) {
      epilogue.addends[epilogue.c] = epilogue.d;
      epilogue.factors[epilogue.c] = w.beta;
    }
    const std::int64_t k = w.multiplies && item.k > 0 ? item.k : 0;
    tile(operands_of<T>(w, item), ListScheduler<Policy>::raster(item).at(at.index), Shape{item.m, item.n, k, 1},
         epilogue);
  }
}

// D_i of all items                                   items: [count], in global memory
// Preconditions: those of list.hpp; blocks in x alone, of the Config's threads and shared memory.
template <class Policy, class T, class X>
__global__ void __launch_bounds__(thread_tile_threads(Policy::config), Policy::config.blocks_per_sm)
    gemm_list(ListWork<X> work) {
  for_tiles_of_list<Policy, T>(work,
                               [](const ListOperands<T>& o, TileAt place, const Shape& shape, const auto& epilogue) {
                                 compute_tile<Policy, T, Major::none, Major::none>(o.a, o.b, 0, place, shape, epilogue);
                               });
}

// Static: compiled by g++ for the CPU runtime and by nvcc, this is not one function.
template <class X> static ListWork<X> list_work(const gemm_detail::ListArguments& args) {
  const GemmListProblem& p = args.plan.problem;
  const GemmScalars& s = p.scalars;
  ListWork<X> w{.items = args.items,
                .count = p.count,
                .transposed_a = p.layout == GemmLayout::tn || p.layout == GemmLayout::tt,
                .transposed_b = p.layout == GemmLayout::nt || p.layout == GemmLayout::tt,
                .multiplies = s.alpha != 0,
                .beta = static_cast<X>(s.beta),
                .epilogue = {}};
  w.epilogue.alpha = static_cast<X>(s.alpha);
  w.epilogue.scale = static_cast<X>(s.scale);
  w.epilogue.activation = s.activation;
  w.epilogue.d.dtype = *p.out;
  w.epilogue.d.col_stride = 1;
  return w;
}

// A persistent grid: as many blocks as run at a time.
static inline simt::Config list_grid(const Config& c, int threads, int smem, const gemm_detail::ListArguments& args) {
  const DeviceInfo& device = args.plan.device;
  return {.grid = dim3(static_cast<unsigned>(std::max(1, device.sms) * c.blocks_per_sm)),
          .block = dim3(static_cast<unsigned>(threads)),
          .smem = static_cast<std::size_t>(smem),
          .stream = args.stream.handle,
          .warp = device.warp};
}

}  // namespace ridge::gemm_kernels
