// Which boxes are kept: one block, by falling score.
#pragma once
#include <ridge/nms/overlap.cuh>

namespace ridge::nms_detail {

struct Kept {
  std::int64_t* indices;  // [n] in steps of `step`
  std::int64_t step;
  std::int64_t* count;
};

// The indices after the kept ones.
template <int Threads> __device__ __forceinline__ void fill_rest(const Kept& kept, unsigned count, unsigned n) {
  for (unsigned i = count + threadIdx.x; i < n; i += Threads) kept.indices[i * kept.step] = -1;
  if (threadIdx.x == 0) *kept.count = count;
}

// From box to box; a kept one strikes out those after it that it overlaps.       struck: [n], need not be set
// Precondition: one block.
template <class Row, bool Classes>
__global__ void __launch_bounds__(Row::config.threads)
    nms_walk(Sorted sorted, unsigned char* struck, unsigned n, Overlap overlap, Kept kept) {
  constexpr int threads = Row::config.threads;
  for (unsigned i = threadIdx.x; i < n; i += threads) struck[i] = 0;
  unsigned count = 0;
  for (unsigned i = 0; i < n; ++i) {
    __syncthreads();
    if (struck[i]) continue;
    if (threadIdx.x == 0) kept.indices[count * kept.step] = sorted.order[i];
    ++count;
    const Box mine = sorted.boxes[i];
    const float area = overlap.area(mine);
    for (unsigned j = i + 1 + threadIdx.x; j < n; j += threads) {
      if (Classes && sorted.classes[j] != sorted.classes[i]) continue;
      const Box other = sorted.boxes[j];
      if (overlap(mine, area, other, overlap.area(other))) struck[j] = 1;
    }
  }
  fill_rest<threads>(kept, count, n);
}

// ---- by the mask ----------------------------------------------------------------------------------------------------

// Of 64 boxes those that are kept, by one warp (32 lanes with boxes `lane` and 32 + `lane`). overlaps: those before it
// that each box overlaps; alive: the boxes that none before the 64 struck out. Every round decides on all boxes whose
// predecessors are decided, so there are as many as overlaps form a chain.
__device__ __forceinline__ Word resolve(Word alive, const Word (&overlaps)[2], const simt::tile<32>& warp) {
  Word kept = 0, open = alive;
  const int lane = warp.rank();
  while (open) {
    Word keep = 0, strike = 0;
    RIDGE_UNROLL
    for (int half = 0; half < 2; ++half) {
      const bool undecided = open >> (32 * half + lane) & 1;
      keep |= Word{warp.ballot(undecided && !(overlaps[half] & (kept | open)))} << 32 * half;
      strike |= Word{warp.ballot(undecided && overlaps[half] & kept)} << 32 * half;
    }
    kept |= keep;
    open &= ~(keep | strike);
  }
  return kept;
}

// The kept boxes of a tile that begins at box `first`, to their places from `count` on.
__device__ __forceinline__ void put_kept(const Kept& to, const unsigned* order, Word kept, unsigned first,
                                         unsigned count, int lane) {
  for (int i = lane; i < word_bits; i += 32)
    if (kept >> i & 1) to.indices[(count + __popcll(kept & ((Word{1} << i) - 1))) * to.step] = order[first + i];
}

// Strikes out what `rows` of the mask overlap, in words from `from` on: a thread per word, or where there are more
// threads than words, one per word and every so many of the rows. `helper`: this thread's number among `Helpers`.
template <int Helpers>
__device__ __forceinline__ void strike(unsigned* struck, const Word* mask, const unsigned char* rows, int row_count,
                                       unsigned words, unsigned from, int helper) {
  const int columns = static_cast<int>(words - from), line = (columns + 31) / 32 * 32;  // whole warps side by side
  const int groups = ::max(Helpers / line, 1), group = line < Helpers ? helper / line : 0;
  if (group >= groups) return;
  for (int w = line < Helpers ? helper % line : helper; w < columns; w += line < Helpers ? line : Helpers) {
    Word word = 0;
#pragma unroll 8
    for (int i = group; i < row_count; i += groups) word |= mask[std::int64_t{rows[i]} * words + from + w];
    if (static_cast<unsigned>(word)) atomicOr(struck + 2 * (from + w), static_cast<unsigned>(word));
    if (word >> 32) atomicOr(struck + 2 * (from + w) + 1, static_cast<unsigned>(word >> 32));
  }
}

// Tile after tile of 64 boxes. Without `ahead` a tile is decided, then what its rows overlap is struck out. With it,
// the first warp decides on tile t by itself: which of its boxes tile t - 1 strikes out is in words of their own rows,
// which were fetched before, while the other warps strike out what tile t - 1 overlaps after that.
//                                                                                         mask: [n][words], see
//                                                                                         nms_mask
// Preconditions: one block of a multiple of 32 threads, at least 64; n > 0; choose_smem_bytes().
template <class Row>
__global__ void __launch_bounds__(Row::config.threads)
    nms_choose(const unsigned* order, const Word* mask, unsigned n, Kept kept_boxes) {
  constexpr int threads = Row::config.threads, helpers = threads - 32;
  constexpr bool ahead = Row::config.ahead;
  // Of the tile decided, and of the one before: which boxes were kept, as bits and one after the other, and how many
  // were before them.
  __shared__ Word kept_of[2];
  __shared__ unsigned char rows_of[2][word_bits];
  __shared__ unsigned count_of[2];
  const simt::tile<32> warp;
  const int lane = warp.rank(), number = warp.index();
  const unsigned words = (n + word_bits - 1) / word_bits;
  unsigned* struck = simt::dynamic_shared<unsigned>();  // [2 words]
  for (unsigned i = threadIdx.x; i < 2 * words; i += threads) struck[i] = 0;

  // The first warp's: of boxes `lane` and 32 + `lane` of a tile, what they overlap of it and of the one before.
  Word overlaps[2] = {}, before[2] = {}, last = 0;
  const auto fetch = [&](unsigned tile) {
    RIDGE_UNROLL
    for (int half = 0; half < 2; ++half) {
      const unsigned row = tile * word_bits + 32 * half + lane;
      const Word* of_row = mask + std::int64_t{row} * words;
      overlaps[half] = row < n ? of_row[tile] : 0;
      before[half] = ahead && row < n && tile > 0 ? of_row[tile - 1] : 0;
    }
  };
  if (number == 0) fetch(0);
  unsigned count = 0;
  __syncthreads();
  for (unsigned tile = 0; tile < words + 1; ++tile) {
    if (number == 0 && tile < words) {
      const Word mine[2] = {overlaps[0], overlaps[1]};
      Word gone = struck[2 * tile] | Word{struck[2 * tile + 1]} << 32;
      if constexpr (ahead)
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
    if constexpr (!ahead) __syncthreads();
    const unsigned done = ahead ? tile - 1 : tile;  // the tile whose overlaps are struck out now
    if (number > 0 && done < words) {
      const Word kept = kept_of[done % 2];
      const unsigned from = done + (ahead ? 2 : 1);
      if (from < words)
        strike<helpers>(struck, mask + std::int64_t{done} * word_bits * words, rows_of[done % 2], __popcll(kept), words,
                        from, static_cast<int>(threadIdx.x) - 32);
      if (number == 1) put_kept(kept_boxes, order, kept, done * word_bits, count_of[done % 2], lane);
    }
    __syncthreads();
  }
  const unsigned total = count_of[(words - 1) % 2] + __popcll(kept_of[(words - 1) % 2]);
  fill_rest<threads>(kept_boxes, total, n);
}

}  // namespace ridge::nms_detail
