// Hopper: a row of the fused gradients in slices of a cluster's blocks, which tell each other their sums.
#pragma once
#include <ridge/norm/fused.cuh>
#include <ridge/tile/sm90/bulk_copy.cuh>
#include <ridge/tile/sm90/tma.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>

#include <type_traits>

namespace ridge::norm_detail {

// The copy engine brings the whole units of a row, or of a block's slice of it, for all lanes that share it.
class BulkCopies {
 public:
  static constexpr bool by_lanes = false;
  struct Barriers {
    tile::sm90::Barrier full[FusedRows::most_stages];
  };
  // Barriers are ready behind the next barrier of the block or cluster.
  __device__ __forceinline__ BulkCopies(Barriers& of_row, int stages, int lane) {
    if (lane > 0) return;
    for (int s = 0; s < stages; ++s) tile::sm90::init(&of_row.full[s], 1);
    tile::sm90::fence_init();
  }
  // By the row's first lane. x, dy: from the row's first whole unit on. Nobody reads the slot any more.
  template <class T>
  __device__ __forceinline__ void bring(tile::sm90::Barrier& full, tile::Packed* slot, int row_units, int units,
                                        const T* x, const T* dy) const {
    const auto bytes = static_cast<unsigned>(units * vector_bytes);
    tile::sm90::arrive_expecting(&full, 2 * bytes);
    if (bytes == 0) return;
    tile::sm90::copy_bulk(slot, x, bytes, &full);
    tile::sm90::copy_bulk(slot + row_units, dy, bytes, &full);
  }
  __device__ __forceinline__ void end_group() const {}
  __device__ __forceinline__ void await(Barriers& of_row, int stage, int) {
    tile::sm90::wait(&of_row.full[stage], parities >> stage & 1);
    parities ^= 1u << stage;
  }
  // This thread's stores to where rows lie, before those of the next phase are brought there.
  __device__ __forceinline__ void finish() const { tile::sm90::fence_shared_for_copies(); }

 private:
  unsigned parities = 0;  // a bit for each stage
};

// Messages are words with their number, as those of tile/sm90/row_ring.cuh: a block sends a row's while it takes the
// sums of the next, and looks for the others' after that.
class ClusterBlocks {
 public:
  // In 16 bits, what the engine takes of registers is spilled in every turn.
  template <class T> using Copies = std::conditional_t<sizeof(T) == 4, BulkCopies, LaneCopies>;
  static constexpr int most = 16, words = 5, exchanges = 2;  // words of RowSums
  struct Inbox {
    alignas(8) unsigned message[exchanges][most][words][2];  // a word, and its number
    float elements[most];                                    // of each block's slice
  };

  __device__ __forceinline__ ClusterBlocks(const FusedRows& rows, Inbox& words_of_others)
      : shape(rows), inbox(words_of_others) {
    for (int i = static_cast<int>(threadIdx.x); i < static_cast<int>(sizeof inbox.message / tile::word_bytes);
         i += static_cast<int>(blockDim.x))
      (&inbox.message[0][0][0][0])[i] = 0;  // no message's number
  }
  __device__ __forceinline__ void start() const { tile::sm90::sync_cluster_and_stores(); }
  // No block leaves while another one may still write to it.
  __device__ __forceinline__ void finish() const { tile::sm90::sync_cluster(); }
  __device__ __forceinline__ std::int64_t index() const { return static_cast<int>(blockIdx.x) / shape.cluster; }
  __device__ __forceinline__ std::int64_t count() const { return static_cast<int>(gridDim.x) / shape.cluster; }

  // Whole units each, the first with the row's head and the last with its tail. A barrier follows before receive().
  template <class T> __device__ __forceinline__ ColumnSlice slice(const T* row, std::int64_t cols) {
    const tile::RowUnits<T, warp> units(row, cols, 0);
    const auto begin = [&](int r) -> std::int64_t {
      const int u = r * shape.slice_vectors;
      return r == 0 ? 0 : r == shape.cluster ? cols : units.head + (u < units.units ? u : units.units) * units.V;
    };
    if (const int r = static_cast<int>(threadIdx.x); r < most)
      inbox.elements[r] = r < shape.cluster ? static_cast<float>(begin(r + 1) - begin(r)) : 0.0f;
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
      tile::sm90::send(inbox.message[number % exchanges][rank][w], threadIdx.x, word[w], number);
  }
  // Each warp waits for itself; its lanes, each for the message of one block, every one in several lanes.
  __device__ __forceinline__ RowSums receive(const RowSums&) {
    const int sender = static_cast<int>(threadIdx.x) % most, from = sender < shape.cluster ? sender : 0;
    unsigned word[words];
#pragma unroll
    for (int w = 0; w < words; ++w) word[w] = tile::sm90::receive(inbox.message[number % exchanges][from][w], number);
    RowSums s{};
    memcpy(&s, word, sizeof word);
    if (sender >= shape.cluster) s.of = {0, 0, 0, 0};
    return together<most>(s, inbox.elements[sender], simt::tile<warp>());
  }

 private:
  // No more in registers than must be there.
  static constexpr int warp = 32;
  const FusedRows& shape;
  Inbox& inbox;
  unsigned number = 0;
};

}  // namespace ridge::norm_detail
