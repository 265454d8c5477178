// Hopper: fused gradients whose rows are in slices of a cluster's blocks, which exchange their sums.
#pragma once
#include <ridge/norm/fused.cuh>
#include <ridge/tile/sm90/bulk_copy.cuh>
#include <ridge/tile/sm90/tma.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>

#include <type_traits>

namespace ridge::norm_detail {

// The copy engine loads the whole vectors of a row, or of a block's slice of it, for all lanes that share it.
class BulkCopies {
 public:
  static constexpr bool by_lanes = false;
  struct Barriers {
    tile::sm90::Barrier full[FusedRows::most_stages];
  };
  // Barriers are ready after the next barrier of the block or cluster.
  __device__ __forceinline__ BulkCopies(Barriers& of_row, int stages, int lane) {
    if (lane > 0) return;
    for (int s = 0; s < stages; ++s) tile::sm90::init(&of_row.full[s], 1);
    tile::sm90::fence_init();
  }
  // Called by the row's first lane. x, dy: at the row's first whole vector. Precondition: all have read the slot.
  template <class T>
  __device__ __forceinline__ void load(tile::sm90::Barrier& full, tile::Packed* slot, int row_vectors, int vectors,
                                       const T* x, const T* dy) const {
    const auto bytes = static_cast<unsigned>(vectors * vector_bytes);
    tile::sm90::arrive_and_expect_tx(&full, 2 * bytes);
    if (bytes == 0) return;
    tile::sm90::copy_bulk(slot, x, bytes, &full);
    tile::sm90::copy_bulk(slot + row_vectors, dy, bytes, &full);
  }
  __device__ __forceinline__ void end_group() const {}
  __device__ __forceinline__ void await(Barriers& of_row, int stage, int) {
    tile::sm90::wait(&of_row.full[stage], parities >> stage & 1);
    parities ^= 1u << stage;
  }
  // Orders this thread's stores to the slots before the copies of the next alignment offset's rows.
  __device__ __forceinline__ void finish() const { tile::sm90::fence_shared_for_copies(); }

 private:
  unsigned parities = 0;  // a bit for each stage
};

// A row in slices of a cluster's blocks. Blocks exchange words with their number, as tile/sm90/row_ring.cuh does: a
// block sends a row's sums before it takes those of the next row, and receives the others' after that.
class ClusterBlocks {
 public:
  static constexpr bool available = tile::sm90::available;
  // For 16-bit types, the copy engine's registers would be spilled in every iteration.
  template <class T> using Copies = std::conditional_t<sizeof(T) == 4, BulkCopies, LaneCopies>;
  static constexpr int most = 16, words = 5, exchanges = 2;  // words of RowSums
  struct ExchangeBuffer {
    alignas(8) unsigned slots[exchanges][most][words][2];  // a word, and its number
    float elements[most];                                  // of each block's slice
  };

  __device__ __forceinline__ ClusterBlocks(const FusedRows& rows, ExchangeBuffer& buffer)
      : shape(rows), exchange_buffer(buffer) {
    for (int i = static_cast<int>(threadIdx.x); i < static_cast<int>(sizeof exchange_buffer.slots / tile::word_bytes);
         i += static_cast<int>(blockDim.x))
      (&exchange_buffer.slots[0][0][0][0])[i] = 0;  // no exchange's number
  }
  __device__ __forceinline__ void start() const { tile::sm90::cluster_sync(); }
  // No block leaves while another one may still write to it.
  __device__ __forceinline__ void finish() const { tile::sm90::cluster_sync_relaxed(); }
  __device__ __forceinline__ std::int64_t index() const { return static_cast<int>(blockIdx.x) / shape.cluster; }
  __device__ __forceinline__ std::int64_t count() const { return static_cast<int>(gridDim.x) / shape.cluster; }

  // A slice is whole vectors; the first one has the row's head too, the last one its tail. Call a barrier before
  // receive().
  template <class T> __device__ __forceinline__ ColumnSlice slice(const T* row, std::int64_t cols) {
    const tile::RowVectors<T, warp> vectors(row, cols, 0);
    const auto begin = [&](int r) -> std::int64_t {
      const int u = r * shape.slice_vectors;
      return r == 0               ? 0
             : r == shape.cluster ? cols
                                  : vectors.head + (u < vectors.count ? u : vectors.count) * vectors.V;
    };
    if (const int r = static_cast<int>(threadIdx.x); r < most)
      exchange_buffer.elements[r] = r < shape.cluster ? static_cast<float>(begin(r + 1) - begin(r)) : 0.0f;
    const int rank = static_cast<int>(tile::sm90::cluster_rank());
    return {begin(rank), begin(rank + 1)};
  }

  __device__ __forceinline__ void send(const RowSums& own) {
    ++number;
    if (static_cast<int>(threadIdx.x) >= shape.cluster) return;
    const unsigned rank = tile::sm90::cluster_rank();
    unsigned word[words];
    memcpy(word, &own, sizeof word);
#pragma unroll
    for (int w = 0; w < words; ++w)
      tile::sm90::send(exchange_buffer.slots[number % exchanges][rank][w], threadIdx.x, word[w], number);
  }
  // Each warp waits for itself: lane l for the value of block l % most.
  __device__ __forceinline__ RowSums receive(const RowSums&) {
    const int sender = static_cast<int>(threadIdx.x) % most, from = sender < shape.cluster ? sender : 0;
    unsigned word[words];
#pragma unroll
    for (int w = 0; w < words; ++w)
      word[w] = tile::sm90::receive(exchange_buffer.slots[number % exchanges][from][w], number);
    RowSums s{};
    memcpy(&s, word, sizeof word);
    if (sender >= shape.cluster) s.of = {0, 0, 0, 0};
    return together<most>(s, exchange_buffer.elements[sender], simt::tile<warp>());
  }

 private:
  // As little as possible in registers.
  static constexpr int warp = 32;
  const FusedRows& shape;
  ExchangeBuffer& exchange_buffer;
  unsigned number = 0;
};

}  // namespace ridge::norm_detail
