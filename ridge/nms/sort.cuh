// Boxes by descending score: the order, and the boxes in it. Keys are unique, so the order is unique.
#pragma once
#include <ridge/nms/variants.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::nms_detail {

using Key = unsigned long long;
inline constexpr Key no_key = ~Key{0};  // after every key

struct Box {
  float x1, y1, x2, y2;
};

// The inputs with their strides.
template <class T> struct Input {
  const T *boxes, *scores;
  const void* classes;  // null: none
  bool wide_classes;    // i64
  std::int64_t box_pitch, box_step, score_step, class_step;
  unsigned n;

  // Ascending keys are descending scores, then ascending indices; NaN comes last.
  __device__ __forceinline__ Key key(unsigned i) const {
    const float score = float(scores[i * score_step]);
    const unsigned bits = __builtin_bit_cast(unsigned, score + 0.0f);  // -0 becomes 0
    const unsigned rising = bits >> 31 ? ~bits : bits | 0x80000000u;
    return Key{score != score ? ~0u : ~rising} << 32 | i;
  }
  __device__ __forceinline__ Box box(unsigned i) const {
    const T* at = boxes + i * box_pitch;
    return {float(at[0]), float(at[box_step]), float(at[2 * box_step]), float(at[3 * box_step])};
  }
  __device__ __forceinline__ std::int64_t class_of(unsigned i) const {
    return wide_classes ? static_cast<const std::int64_t*>(classes)[i * class_step]
                        : static_cast<const std::int32_t*>(classes)[i * class_step];
  }
};

struct Sorted {
  unsigned* order;
  Box* boxes;
  std::int64_t* classes;  // null: none

  template <class T> __device__ __forceinline__ void put(unsigned rank, Key key, const Input<T>& in) const {
    const unsigned i = static_cast<unsigned>(key);
    order[rank] = i;
    const Box box = in.box(i);
    simt::store(reinterpret_cast<float*>(boxes + rank), simt::vec<float, 4>{box.x1, box.y1, box.x2, box.y2});
    if (classes) classes[rank] = in.class_of(i);
  }
};

// A block per tile, a key per thread: bitonic, within 32 keys by shuffles.                   keys: [tiles][sort_tile]
// Precondition: gridDim.x tiles cover n. One tile writes its boxes in order at once; several write keys.
template <class T> __global__ void __launch_bounds__(sort_tile) nms_sort(Input<T> in, Key* keys, Sorted sorted) {
  __shared__ Key shared[sort_tile];
  const simt::tile<32> warp;
  const unsigned thread = threadIdx.x, i = blockIdx.x * sort_tile + thread;
  Key key = i < in.n ? in.key(i) : no_key;
  for (unsigned run = 2; run <= sort_tile; run *= 2) {  // sorts runs of this length, every other one descending
    for (unsigned distance = run / 2; distance > 0; distance /= 2) {
      Key other;
      if (distance < 32) {
        other = warp.shfl_xor(key, static_cast<int>(distance));
      } else {
        __syncthreads();
        shared[thread] = key;
        __syncthreads();
        other = shared[thread ^ distance];
      }
      const bool least = (thread & distance) == 0, rising = (thread & run) == 0;
      key = (key < other) == (least == rising) ? key : other;
    }
  }
  if (gridDim.x > 1) keys[i] = key;
  else if (key != no_key) sorted.put(thread, key, in);
}

// A key's rank is its position in its own tile, plus the number of keys before it in each other tile. A thread per key.
// Precondition: gridDim.x * rank_threads covers tiles * sort_tile.
template <class T>
__global__ void __launch_bounds__(rank_threads) nms_rank(Input<T> in, const Key* keys, Sorted sorted) {
  constexpr int at_once = 4;  // searches in flight, to hide latency
  const unsigned tiles = (in.n + sort_tile - 1) / sort_tile;
  const unsigned i = blockIdx.x * rank_threads + threadIdx.x;
  if (i >= tiles * sort_tile) return;
  const Key key = keys[i];
  if (key == no_key) return;
  unsigned rank = i % sort_tile;
  for (unsigned tile = 0; tile < tiles; tile += at_once) {
    unsigned before[at_once] = {};
#pragma unroll
    for (unsigned step = sort_tile / 2; step > 0; step /= 2)
#pragma unroll
      for (int s = 0; s < at_once; ++s)
        if (tile + s < tiles && keys[(tile + s) * sort_tile + before[s] + step - 1] < key) before[s] += step;
#pragma unroll
    for (int s = 0; s < at_once; ++s) {
      if (tile + s >= tiles || tile + s == i / sort_tile) continue;
      // The search ends one short of the whole tile.
      rank += before[s] + (keys[(tile + s) * sort_tile + before[s]] < key);
    }
  }
  sorted.put(rank, key, in);
}

}  // namespace ridge::nms_detail
