// A row in slices of a cluster's blocks, each of which has its slice on chip: which slice is a block's, and how blocks
// tell each other what they know of theirs.
#pragma once
#include <ridge/tile/packed.cuh>
#include <ridge/tile/row_part.cuh>
#include <ridge/tile/sm90/bulk_copy.cuh>
#include <ridge/tile/sm90/cluster.cuh>

namespace ridge::tile::sm90 {

// Of a kernel whose clusters have a row each. A message is words with a number, as those of row_ring.cuh.
class RowCluster {
 public:
  static constexpr bool shares = true;
  static constexpr int most = 8, words = 4, exchanges = 2;  // blocks; words of a message; messages of each block
  struct Inbox {
    alignas(8) unsigned message[exchanges][most][words][2];  // a word, and its number
  };

  // All threads of the block. The other blocks' inboxes are ready behind await_cluster(), which the first tell() calls.
  __device__ __forceinline__ explicit RowCluster(Inbox& of_block) : inbox(of_block) {
    if constexpr (available) {
      rank = static_cast<int>(cluster_rank());
      size = static_cast<int>(cluster_size());
      constexpr int all = static_cast<int>(sizeof inbox.message / word_bytes);
      for (int i = static_cast<int>(threadIdx.x); i < all; i += static_cast<int>(blockDim.x))
        (&inbox.message[0][0][0][0])[i] = 0;  // no message's number
      arrive_cluster();
    }
  }
  template <class Team> __device__ __forceinline__ std::int64_t row() const {
    return static_cast<int>(blockIdx.x) / size;
  }
  template <class T> __device__ __forceinline__ RowPart part(const T* row, std::int64_t cols) const {
    return part_of(row, static_cast<int>(cols), size, rank);
  }

  // Sends `value` to all blocks; lane l of each warp gets that of block l % blocks(). All threads call, with the same
  // value, each time for the next `exchange`. Nobody leaves before it has all others' messages, so none is sent to a
  // block that has left.
  template <class V> __device__ __forceinline__ V tell(const V& value, int exchange) {
    static_assert(sizeof(V) <= words * word_bytes);
    V told = value;
    if constexpr (available) told = exchanged(value, exchange);
    return told;
  }
  __device__ __forceinline__ int blocks() const { return size; }

 private:
  template <class V> __device__ __forceinline__ V exchanged(const V& value, int exchange) {
    constexpr int used = static_cast<int>(sizeof(V) / word_bytes);
    const unsigned number = static_cast<unsigned>(exchange) + 1;
    if (exchange == 0) await_cluster();
    unsigned word[used];
    if (const int to = static_cast<int>(threadIdx.x); to < size) {
      memcpy(word, &value, sizeof value);
#pragma unroll
      for (int w = 0; w < used; ++w) send(inbox.message[exchange][rank][w], static_cast<unsigned>(to), word[w], number);
    }
    const int from = static_cast<int>(threadIdx.x) & (size - 1);
#pragma unroll
    for (int w = 0; w < used; ++w) word[w] = receive(inbox.message[exchange][from][w], number);
    V told;
    memcpy(&told, word, sizeof told);
    return told;
  }
  Inbox& inbox;
  int rank = 0, size = 1;  // of which blocks, a power of two
};

}  // namespace ridge::tile::sm90
