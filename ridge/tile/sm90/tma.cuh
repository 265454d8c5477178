// TMA: tiles between global and shared memory, copied by an engine of their own. One thread starts a copy. A tensor map
// (tensor_map.cuh) has the tensor's layout; the part of a tile outside of the tensor is read as zero and not written.
#pragma once
#include <ridge/tile/sm90/mbarrier.cuh>
#include <ridge/tile/sm90/tensor_map.cuh>

#if !RIDGE_SIMT_ON_CUDA
#include <ridge/tile/sm90/cpu/tma.hpp>
#else
namespace ridge::tile::sm90 {

__device__ __forceinline__ void prefetch(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Loads the tile at (x, y, z), x being the contiguous axis; `full` receives its bytes. Lines that are not swizzled
// start on 16 bytes: x is a multiple of 16 bytes, also where it is negative.
__device__ __forceinline__ void load(const TensorMap* map, void* to, Barrier* full, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
          "r"(shared_address(to)),
      "l"(map), "r"(shared_address(full)), "r"(x), "r"(y), "r"(z)
      : "memory");
}
// The same to the L2 cache alone, a prefetch.
__device__ __forceinline__ void fetch(const TensorMap* map, int x, int y, int z) {
  asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global [%0, {%1, %2, %3}];" ::"l"(map), "r"(x), "r"(y), "r"(z)
               : "memory");
}
// Loads the tile at (x, y, z, w) by a map of four axes.
__device__ __forceinline__ void load(const TensorMap* map, void* to, Barrier* full, int x, int y, int z, int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(full)), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}
// Loads a tile to the same address in all blocks of the cluster that `mask` names, with the same barrier in each.
__device__ __forceinline__ void load_multicast(const TensorMap* map, void* to, Barrier* full, int x, int y, int z,
                                               std::uint16_t mask) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, "
      "%4, %5}], [%2], %6;" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(full)), "r"(x), "r"(y), "r"(z), "h"(mask)
      : "memory");
}
// Loads a column of pixels, from channel c on, by an image's map (im2col): it starts with the window whose first tap is
// at (w, h) of image n; for each window it has the pixel at tap (tap_w, tap_h). Windows outside of the image give
// zeros.
__device__ __forceinline__ void load_image(const TensorMap* map, void* to, Barrier* full, int c, int w, int h, int n,
                                           int tap_w, int tap_h) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
      "%6}], "
      "[%2], {%7, %8};" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(full)), "r"(c), "r"(w), "r"(h), "r"(n), "h"(static_cast<std::uint16_t>(tap_w)),
      "h"(static_cast<std::uint16_t>(tap_h))
      : "memory");
}
// The same of volumes: from the window whose first tap is at (w, h, d) of volume n.
__device__ __forceinline__ void load_volume(const TensorMap* map, void* to, Barrier* full, int c, int w, int h, int d,
                                            int n, int tap_w, int tap_h, int tap_d) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
      "%6, %7}], "
      "[%2], {%8, %9, %10};" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(full)), "r"(c), "r"(w), "r"(h), "r"(d), "r"(n),
      "h"(static_cast<std::uint16_t>(tap_w)), "h"(static_cast<std::uint16_t>(tap_h)),
      "h"(static_cast<std::uint16_t>(tap_d))
      : "memory");
}

// Orders this thread's ordinary stores to shared memory before copies from there that it starts later.
__device__ __forceinline__ void fence_shared_for_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// Orders ordinary stores to global memory that this thread sees before copies from there that it starts later.
__device__ __forceinline__ void fence_global_for_copies() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
__device__ __forceinline__ void store(const TensorMap* map, const void* from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(x), "r"(y), "r"(z)
               : "memory");
}
__device__ __forceinline__ void store(const TensorMap* map, const void* from, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
}
__device__ __forceinline__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Waits until all but this thread's latest `Pending` groups of stores have read their shared memory.
template <int Pending> __device__ __forceinline__ void wait_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}
// Waits until they are done: what they wrote is visible.
template <int Pending> __device__ __forceinline__ void wait_stores() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Pending) : "memory");
}

}  // namespace ridge::tile::sm90
#endif
