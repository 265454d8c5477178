// Bulk copies: contiguous bytes between global and shared memory, by the copy engine; and words from one block of a
// cluster to another.
#pragma once
#include <ridge/tile/sm90/mbarrier.cuh>

#if !RIDGE_SIMT_ON_CUDA
#include <ridge/tile/sm90/cpu/bulk_copy.hpp>
#else
namespace ridge::tile::sm90 {

// Preconditions: both addresses and `bytes` are multiples of 16. `full` receives the bytes.
__device__ __forceinline__ void copy_bulk(void* to, const void* from, unsigned bytes, Barrier* full) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(full))
               : "memory");
}

// Stores from shared to global memory, in a group of stores (tma.cuh has the fences before and the waits after); and
// adds floats to those there, each by one atomic addition. Preconditions as above; what the engine reads is not changed
// meanwhile.
__device__ __forceinline__ void store_bulk(void* to, const void* from, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
               "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void add_bulk(float* to, const void* from, unsigned bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}

// send() stores a word and its number to `to` in block `rank` of the cluster; receive() waits there until a word of
// that number has arrived. They order nothing else.
__device__ __forceinline__ void send(void* to, unsigned rank, unsigned word, unsigned number) {
  asm volatile(
      "{\n.reg .b32 place;\n"
      ".reg .b64 pair;\n"
      "mapa.shared::cluster.u32 place, %0, %1;\n"
      "mov.b64 pair, {%2, %3};\n"
      "st.relaxed.cluster.shared::cluster.b64 [place], pair;\n}" ::"r"(shared_address(to)),
      "r"(rank), "r"(word), "r"(number)
      : "memory");
}
__device__ __forceinline__ unsigned receive(const void* from, unsigned number) {
  unsigned word, has;
  do
    asm volatile(
        "{\n.reg .b64 pair;\n"
        "ld.relaxed.cluster.shared::cta.b64 pair, [%2];\n"
        "mov.b64 {%0, %1}, pair;\n}"
        : "=r"(word), "=r"(has)
        : "r"(shared_address(from))
        : "memory");
  while (has != number);
  return word;
}

}  // namespace ridge::tile::sm90
#endif
