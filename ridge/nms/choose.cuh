// Selection of the kept boxes: one block, by descending score.
#pragma once
#include <ridge/nms/overlap.cuh>

namespace ridge::nms_detail {

struct Kept {
  std::int64_t* indices;  // [n], `step` apart
  std::int64_t step;
  std::int64_t* count;
};

// Fills the indices after the kept ones, and writes the count.
template <int Threads> __device__ __forceinline__ void fill_rest(const Kept& kept, unsigned count, unsigned n) {
  for (unsigned i = count + threadIdx.x; i < n; i += Threads) kept.indices[i * kept.step] = -1;
  if (threadIdx.x == 0) *kept.count = count;
}

// Box by box; a kept one suppresses later ones that it overlaps.               suppressed: [n], uninitialized
// Precondition: one block.
template <class Policy, bool Classes>
__global__ void __launch_bounds__(Policy::config.threads)
    nms_walk(Sorted sorted, unsigned char* suppressed, unsigned n, Overlap overlap, Kept kept) {
  constexpr int threads = Policy::config.threads;
  for (unsigned i = threadIdx.x; i < n; i += threads) suppressed[i] = 0;
  unsigned count = 0;
  for (unsigned i = 0; i < n; ++i) {
    __syncthreads();
    if (suppressed[i]) continue;
    if (threadIdx.x == 0) kept.indices[count * kept.step] = sorted.order[i];
    ++count;
    const Box mine = sorted.boxes[i];
    const float area = overlap.area(mine);
    for (unsigned j = i + 1 + threadIdx.x; j < n; j += threads) {
      if (Classes && sorted.classes[j] != sorted.classes[i]) continue;
      const Box other = sorted.boxes[j];
      if (overlap(mine, area, other, overlap.area(other))) suppressed[j] = 1;
    }
  }
  fill_rest<threads>(kept, count, n);
}

// ---- by the mask ----------------------------------------------------------------------------------------------------

// The kept boxes among 64, by one warp (lane l has boxes l and 32 + l). overlaps: the earlier boxes that each box
// overlaps; alive: the boxes that none before the 64 suppressed. Every round decides all boxes whose predecessors are
// decided, so the number of rounds is the length of the longest chain of overlaps.
__device__ __forceinline__ Word resolve(Word alive, const Word (&overlaps)[2], const simt::tile<32>& warp) {
  Word kept = 0, open = alive;
  const int lane = warp.rank();
  while (open) {
    Word keep = 0, removed = 0;
    RIDGE_UNROLL
    for (int half = 0; half < 2; ++half) {
      const bool undecided = open >> (32 * half + lane) & 1;
      keep |= Word{warp.ballot(undecided && !(overlaps[half] & (kept | open)))} << 32 * half;
      removed |= Word{warp.ballot(undecided && overlaps[half] & kept)} << 32 * half;
    }
    kept |= keep;
    open &= ~(keep | removed);
  }
  return kept;
}

// Writes the indices of a tile's kept boxes from position `count` on; the tile begins at box `first`.
__device__ __forceinline__ void write_kept(const Kept& to, const unsigned* order, Word kept, unsigned first,
                                           unsigned count, int lane) {
  for (int i = lane; i < word_bits; i += 32)
    if (kept >> i & 1) to.indices[(count + __popcll(kept & ((Word{1} << i) - 1))) * to.step] = order[first + i];
}

// Suppresses the boxes that `rows` of the mask overlap, in words from `from` on: a thread per word, or with more
// threads than words, several threads per word that share the rows. `helper`: this thread's index among `Helpers`.
template <int Helpers>
__device__ __forceinline__ void suppress(unsigned* suppressed, const Word* mask, const unsigned char* rows,
                                         int row_count, unsigned words, unsigned from, int helper) {
  const int columns = static_cast<int>(words - from), line = (columns + 31) / 32 * 32;  // whole warps side by side
  const int groups = ::max(Helpers / line, 1), group = line < Helpers ? helper / line : 0;
  if (group >= groups) return;
  for (int w = line < Helpers ? helper % line : helper; w < columns; w += line < Helpers ? line : Helpers) {
    Word word = 0;
#pragma unroll 8
    for (int i = group; i < row_count; i += groups) word |= mask[std::int64_t{rows[i]} * words + from + w];
    if (static_cast<unsigned>(word)) atomicOr(suppressed + 2 * (from + w), static_cast<unsigned>(word));
    if (word >> 32) atomicOr(suppressed + 2 * (from + w) + 1, static_cast<unsigned>(word >> 32));
  }
}

// Tile after tile of 64 boxes. Without `specialized` a tile is decided, then the boxes that its rows overlap are
// suppressed. With warp specialization, the first warp decides tile t: prefetched words of its boxes' own rows say
// which of them tile t - 1 suppresses. The other warps meanwhile suppress later boxes that tile t - 1 overlaps.
//                                                                                mask: [n][words], see nms_mask
// Preconditions: one block of a multiple of 32 threads, at least 64; n > 0; choose_smem_bytes().
template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads)
    nms_choose(const unsigned* order, const Word* mask, unsigned n, Kept kept_boxes) {
  constexpr int threads = Policy::config.threads, helpers = threads - 32;
  constexpr bool specialized = Policy::config.specialized;
  // For the decided tile and the one before: the kept boxes, as bits and as a list, and the number of boxes kept before
  // them.
  __shared__ Word kept_of[2];
  __shared__ unsigned char rows_of[2][word_bits];
  __shared__ unsigned count_of[2];
  const simt::tile<32> warp;
  const int lane = warp.rank(), number = warp.index();
  const unsigned words = (n + word_bits - 1) / word_bits;
  unsigned* suppressed = simt::dynamic_shared<unsigned>();  // [2 words]
  for (unsigned i = threadIdx.x; i < 2 * words; i += threads) suppressed[i] = 0;

  // First warp: boxes of this tile, and of the one before, that boxes `lane` and 32 + `lane` of a tile overlap.
  Word overlaps[2] = {}, before[2] = {}, last = 0;
  const auto fetch = [&](unsigned tile) {
    RIDGE_UNROLL
    for (int half = 0; half < 2; ++half) {
      const unsigned row = tile * word_bits + 32 * half + lane;
      const Word* of_row = mask + std::int64_t{row} * words;
      overlaps[half] = row < n ? of_row[tile] : 0;
      before[half] = specialized && row < n && tile > 0 ? of_row[tile - 1] : 0;
    }
  };
  if (number == 0) fetch(0);
  unsigned count = 0;
  __syncthreads();
  for (unsigned tile = 0; tile < words + 1; ++tile) {
    if (number == 0 && tile < words) {
      const Word mine[2] = {overlaps[0], overlaps[1]};
      Word gone = suppressed[2 * tile] | Word{suppressed[2 * tile + 1]} << 32;
      if constexpr (specialized)
        gone |= Word{warp.ballot((before[0] & last) != 0)} | Word{warp.ballot((before[1] & last) != 0)} << 32;
      const unsigned left = n - tile * word_bits;
      const Word all = left < word_bits ? (Word{1} << left) - 1 : ~Word{0};
      if (tile + 1 < words) fetch(tile + 1);
      const Word kept = resolve(all & ~gone, mine, warp);
      for (int i = lane; i < word_bits; i += 32)
        if (kept >> i & 1) rows_of[tile % 2][__popcll(kept & ((Word{1} << i) - 1))] = static_cast<unsigned char>(i);
      if (lane == 0) {
        kept_of[tile % 2] = kept;
        count_of[tile % 2] = count;
      }
      count += __popcll(kept);
      last = kept;
    }
    if constexpr (!specialized) __syncthreads();
    const unsigned done = specialized ? tile - 1 : tile;  // the tile whose overlaps are suppressed now
    if (number > 0 && done < words) {
      const Word kept = kept_of[done % 2];
      const unsigned from = done + (specialized ? 2 : 1);
      if (from < words)
        suppress<helpers>(suppressed, mask + std::int64_t{done} * word_bits * words, rows_of[done % 2], __popcll(kept),
                          words, from, static_cast<int>(threadIdx.x) - 32);
      if (number == 1) write_kept(kept_boxes, order, kept, done * word_bits, count_of[done % 2], lane);
    }
    __syncthreads();
  }
  const unsigned total = count_of[(words - 1) % 2] + __popcll(kept_of[(words - 1) % 2]);
  fill_rest<threads>(kept_boxes, total, n);
}

}  // namespace ridge::nms_detail
