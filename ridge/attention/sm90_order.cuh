// Tile scheduler of Hopper's kernels: which tiles of queries a block takes, and their tiles of keys. Plain arithmetic,
// independent of how tiles are loaded and used.
#pragma once
#include <ridge/attention/arguments.cuh>
#include <ridge/core/divider.hpp>

namespace ridge::attention_kernels {

// Persistent tile scheduler. Blocks take tiles of queries head by head, so that concurrent blocks share keys in the L2
// cache. Heads that share K and V are not consecutive: blocks that ask for the same lines at once wait, measured
// 2 to 7 % with groups of four. With a causal mask a head's last queries take longest. Then a block takes a long tile
// and a short one as a pair, and all such pairs take the same time. Where blocks have few tiles, the longest tiles of
// all heads come first instead (longest processing time first); among later ones, blocks that had shorter tiles get
// longer ones.
struct WgmmaTileScheduler {
  unsigned tiles, group, kv_heads, steps_of_head, steps;  // tiles: per head; steps: pairs, or tiles
  bool pairs, longest_first;
  unsigned all_heads, blocks, places_on, kv_on, members_on,
      batches_on;  // increments of a block per step, so that the device divides once
  // A division by a number that the compiler does not know is 20 instructions and two waits for the special units.
  // Every role of a block would begin with four of them, before its first load.
  Divider by_steps_of_head, by_kv_heads, by_group, by_all_heads;

  // all_heads: of the whole batch; group: heads that share K and V; rises: later tiles of a head take longer
  static WgmmaTileScheduler of(unsigned tiles, unsigned all_heads, unsigned heads_of_batch, unsigned group, bool rises,
                               unsigned most_blocks) {
    if (all_heads == 0 || tiles == 0) return {};
    const unsigned all = all_heads * tiles;
    const bool share = rises && all > most_blocks;  // else each tile has a block
    const bool longest_first = share && is_longest_first_better(tiles, all_heads, most_blocks);
    const bool pairs = share && !longest_first;
    const unsigned of_head = pairs ? (tiles + 1) / 2 : tiles, steps = all_heads * of_head;
    const unsigned blocks = steps < most_blocks ? steps : most_blocks;
    const unsigned kv_heads = heads_of_batch / group, heads_on = blocks / of_head;
    return {.tiles = tiles,
            .group = group,
            .kv_heads = kv_heads,
            .steps_of_head = of_head,
            .steps = steps,
            .pairs = pairs,
            .longest_first = longest_first,
            .all_heads = all_heads,
            .blocks = blocks,
            .places_on = blocks % of_head,
            .kv_on = heads_on % kv_heads,
            .members_on = heads_on / kv_heads % group,
            .batches_on = heads_on / heads_of_batch,
            .by_steps_of_head = Divider(of_head),
            .by_kv_heads = Divider(kv_heads),
            .by_group = Divider(group),
            .by_all_heads = Divider(all_heads)};
  }
  // f(BlockCoord) for each tile of this block.
  template <class F> __device__ __forceinline__ void for_each(F f) const {
    unsigned place = blockIdx.x, kv = by_steps_of_head.divide(place), member = by_kv_heads.divide(kv),
             batch = by_group.divide(member), round = 0;
    bool shorter = false;  // the second tile of a pair
#pragma unroll 1
    for (unsigned step = blockIdx.x; step < steps;) {
      if (longest_first) {
        kv = step;
        place = by_all_heads.divide(kv);
        member = by_kv_heads.divide(kv);
        batch = by_group.divide(member);
      }
      const unsigned tile = shorter ? place : tiles - 1 - place, head = kv * group + member;
      f(BlockCoord(static_cast<int>(batch), static_cast<int>(head), static_cast<int>(tile)));
      if (longest_first) {
        step = step_of(++round, blockIdx.x, blocks);
        continue;
      }
      shorter = pairs && !shorter && tile != place;
      if (shorter) continue;
      step += blocks;
      place += places_on;
      kv += kv_on;
      member += members_on;
      batch += batches_on;
      if (place >= steps_of_head) place -= steps_of_head, ++kv;
      if (kv >= kv_heads) kv -= kv_heads, ++member;
      if (member >= group) member -= group, ++batch;
    }
  }

  // The head of K and V of a query head.
  __device__ __forceinline__ int kv_head(int head) const {
    return static_cast<int>(by_group(static_cast<unsigned>(head)));
  }

 private:
  // Step of a block in a round: the order of blocks is reversed every other round.
  static RIDGE_HD unsigned step_of(unsigned round, unsigned block, unsigned blocks) {
    return round * blocks + (round % 2 ? blocks - 1 - block : block);
  }
  // Compares the load of the fullest block, in tiles of keys where a head's shortest tile has one. Pairs are all equal.
  // With the longest first, the fullest block is the first or last of all, or of those with a tile in the last round.
  // Pairs share keys: they are kept unless the gain is over a sixteenth.
  static RIDGE_HD bool is_longest_first_better(unsigned tiles, unsigned all_heads, unsigned blocks) {
    constexpr unsigned few = 8;  // tiles per block; with more, pairs are balanced
    const unsigned all = all_heads * tiles, pairs = all_heads * ((tiles + 1) / 2);
    if (all > few * blocks) return false;
    unsigned most = 0;
    for (const unsigned block : {0u, blocks - 1, (all - 1) % blocks, blocks - 1 - (all - 1) % blocks}) {
      unsigned time = 0;
      for (unsigned round = 0; round * blocks < all; ++round)
        if (const unsigned step = step_of(round, block, blocks); step < all) time += tiles - step / all_heads;
      most = time > most ? time : most;
    }
    return most + most / 16 < (pairs + blocks - 1) / blocks * (tiles + 1);
  }
};

// Sequence of a tile: its arguments, and its coordinates in the tensor maps.
template <class T, bool Varlen> struct WgmmaSequence {
  const Arguments<T>& given;
  int batch_q, batch_k;
  Begin begin{0, 0};
  __device__ __forceinline__ WgmmaSequence(const Arguments<T>& all, int batch)
      : given(all), batch_q(batch), batch_k(batch) {}
  __device__ __forceinline__ const Arguments<T>& arguments() const { return given; }
};
template <class T> struct WgmmaSequence<T, true> {
  Arguments<T> own;
  int batch_q, batch_k;
  Begin begin;
  __device__ __forceinline__ WgmmaSequence(const Arguments<T>& all, int batch)
      : own(all),
        batch_q(all.sequences.from_q.data ? 0 : batch),
        batch_k(all.sequences.from_k.data ? 0 : batch),
        begin(select_sequence(own, batch)) {}
  __device__ __forceinline__ const Arguments<T>& arguments() const { return own; }
};

// Tiles of bn keys for a tile of queries, last tile first. The last one is an edge of a causal mask and of sequences,
// and its values are checked while its scores are computed. Where blocks take parts of the keys, the part's tiles.
template <class Policy, class T> struct WgmmaWalk {
  static constexpr Config c = Policy::config;
  static constexpr int bn = c.bn;
  // Range of tiles [from, to).
  struct Tiles {
    int from, to;
    __device__ __forceinline__ bool contains(int tile) const { return tile >= from && tile < to; }
  };

  const Arguments<T>& a;
  int first_query, last_query;
  Keys keys;
  int tiles;
  Tiles whole;  // tiles without masking: all queries attend to all keys

  // masked: a mask tensor applies as well.
  __device__ __forceinline__ WgmmaWalk(const Arguments<T>& args, int query, bool masked = false)
      : a(args), first_query(query), last_query(::min(query + c.bm, args.sq) - 1) {
    keys = keys_of(a, first_query, last_query);
    if constexpr (c.split) keys = part_of(keys, bn, static_cast<int>(blockIdx.y), a.splits);
    tiles = ::max(0, (keys.last - keys.first + bn - 1) / bn);
    whole = masked ? Tiles{0, 0} : whole_of(first_query, last_query);
  }
  __device__ __forceinline__ int first(int tile) const { return keys.first + (tiles - 1 - tile) * bn; }
  // Tiles in which queries i to j attend to all keys.
  __device__ __forceinline__ Tiles whole_of(int i, int j) const {
    const int last = ::min(keys.last, keys_of(a, i).last), begin = keys_of(a, j).first;
    return {tiles - ::max(0, last - keys.first) / bn, tiles - ::max(0, begin - keys.first + bn - 1) / bn};
  }
  // Tiles that any query of a consumer attends to, from `first_row` of the tile on. If a tile has at least as many keys
  // as a block has queries, consumers have about the same tiles.
  __device__ __forceinline__ Tiles own(int first_row) const {
    if constexpr (c.bm <= bn) {
      return {0, tiles};
    } else {
      const int i = first_query + first_row;
      Keys mine = keys_of(a, i, ::min(i + 63, last_query));
      if constexpr (c.split) mine = {::max(mine.first, keys.first), ::min(mine.last, keys.last)};
      if (i > last_query || mine.last <= mine.first) return {tiles, tiles};
      return {tiles - (mine.last - keys.first + bn - 1) / bn, tiles - (mine.first - keys.first) / bn};
    }
  }
};

}  // namespace ridge::attention_kernels
