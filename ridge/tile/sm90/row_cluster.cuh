// A row in slices of a cluster's blocks, each of which keeps its slice on chip: which slice a block has, and an
// all-gather of what blocks know of their slices, through distributed shared memory.
#pragma once
#include <ridge/tile/packed.cuh>
#include <ridge/tile/row_part.cuh>
#include <ridge/tile/sm90/bulk_copy.cuh>
#include <ridge/tile/sm90/cluster.cuh>

namespace ridge::tile::sm90 {

// For kernels whose clusters have a row each. Words are exchanged with a number, as row_ring.cuh does.
class RowCluster {
 public:
  static constexpr bool shares = true;
  static constexpr int most = 8, words = 4, exchanges = 2;  // blocks; words of a value; values of each block
  struct ExchangeBuffer {
    alignas(8) unsigned slots[exchanges][most][words][2];  // a word and its number
  };

  // All threads of the block call. The other blocks' buffers are ready after cluster_wait(), which the first
  // all_gather() calls.
  __device__ __forceinline__ explicit RowCluster(ExchangeBuffer& of_block) : buffer(of_block) {
    if constexpr (available) {
      rank = static_cast<int>(cluster_rank());
      size = static_cast<int>(cluster_size());
      constexpr int all = static_cast<int>(sizeof buffer.slots / word_bytes);
      for (int i = static_cast<int>(threadIdx.x); i < all; i += static_cast<int>(blockDim.x))
        (&buffer.slots[0][0][0][0])[i] = 0;  // no exchange's number
      cluster_arrive();
    }
  }
  template <class Team> __device__ __forceinline__ std::int64_t row() const {
    return static_cast<int>(blockIdx.x) / size;
  }
  template <class T> __device__ __forceinline__ RowPart part(const T* row, std::int64_t cols) const {
    return part_of(row, static_cast<int>(cols), size, rank);
  }

  // Sends `value` to all blocks; lane l of each warp gets that of block l % blocks(). All threads call, with the same
  // value, each time for the next `exchange`. No block ends before it has received all others' values, so none is sent
  // to a block that has ended.
  template <class V> __device__ __forceinline__ V all_gather(const V& value, int exchange) {
    static_assert(sizeof(V) <= words * word_bytes);
    V gathered = value;
    if constexpr (available) gathered = exchanged(value, exchange);
    return gathered;
  }
  __device__ __forceinline__ int blocks() const { return size; }

 private:
  template <class V> __device__ __forceinline__ V exchanged(const V& value, int exchange) {
    constexpr int used = static_cast<int>(sizeof(V) / word_bytes);
    const unsigned number = static_cast<unsigned>(exchange) + 1;
    if (exchange == 0) cluster_wait();
    unsigned word[used];
    if (const int to = static_cast<int>(threadIdx.x); to < size) {
      memcpy(word, &value, sizeof value);
#pragma unroll
      for (int w = 0; w < used; ++w) send(buffer.slots[exchange][rank][w], static_cast<unsigned>(to), word[w], number);
    }
    const int from = static_cast<int>(threadIdx.x) & (size - 1);
#pragma unroll
    for (int w = 0; w < used; ++w) word[w] = receive(buffer.slots[exchange][from][w], number);
    V gathered;
    memcpy(&gathered, word, sizeof gathered);
    return gathered;
  }
  ExchangeBuffer& buffer;
  int rank = 0, size = 1;  // of which blocks, a power of two
};

}  // namespace ridge::tile::sm90
