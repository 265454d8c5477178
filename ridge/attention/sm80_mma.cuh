// Attention with mma.sync, tensor cores that warps feed from registers, from Ampere on: f16 and bf16.
//
// A warp has 16 or 32 queries, and their scores and O in registers: the accumulators of one product have the lane
// layout of the next one's operand, so that P never leaves registers. Asynchronous copies load K and V, each during the
// product before its own. (Dao, "FlashAttention-2", 2023.)
#pragma once
#include <ridge/attention/launch_table.cuh>
#include <ridge/attention/parts.cuh>
#include <ridge/attention/sm80_mma.hpp>
#include <ridge/attention/sm80_warp.cuh>

namespace ridge::attention_kernels {

// Shared-memory layout of a block: Q, then stages of K and V.
template <class Policy> struct MmaKernel {
  static constexpr Config c = Policy::config;
  static constexpr int k_bytes = mma_tile_bytes(c.bn, c.d), stage_bytes = k_bytes + mma_tile_bytes(c.bn, c.dv);
  static constexpr int stages_at = mma_q_bytes(c);
  static_assert(stages_at + mma_stages * stage_bytes == mma_bytes(c));
};

// Pages of a tile of `Tile` keys: the lanes of each warp hold their numbers. Without Paged there are none.
template <int Tile, bool Paged> struct TilePages {
  static_assert(Tile / 16 < 32, "pages of 16 keys and more");
  int first = 0, number = 0;  // first: the first page's index in the table; number: this lane's page

  // Looks up the pages. Keys past the sequence have none.
  template <class T> __device__ __forceinline__ void look_up(const Arguments<T>& a, int batch, int first_key) {
    if constexpr (Paged) {
      const Sequences& s = a.sequences;
      if (s.pages.data == nullptr) return;
      first = first_key >> s.page_bits;
      const int page = first + static_cast<int>(threadIdx.x) % 32;
      const bool valid = page <= (::min(first_key + Tile, a.sk) - 1) >> s.page_bits;
      number = valid ? s.pages(batch, page) : 0;
    }
  }
  // Row of one of the keys. All lanes of a warp must call it.
  template <class T> __device__ __forceinline__ const T* row_of(const KeyRows<T>& rows, int key) const {
    if constexpr (Paged)
      if (rows.pages.data != nullptr)
        return rows.in_page(simt::tile<32>().shfl(number, (key >> rows.bits) - first), key);
    return rows.from + key * rows.row;
  }
};

// Rows of a block's tile are queries with `pack` heads each: query first + row / pack of head first + row % pack, so
// that heads which share K and V share a block. With more than one split, gridDim.y is their number, and O and its
// statistics go to `partial`, for attention_merge_kernel.
//   shared  Q [bm][d], 2 x (K [bn][d]  V [bn][dv])
// Preconditions: cc 80 or later; gridDim.x is batch * heads / pack * tiles of rows; d and dv are at most the Config's;
// without Varlen, all sequences have one length; paged keys need Varlen and split.
template <class Policy, class T, bool Varlen>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm) attention_mma(Arguments<T> a) {
  if constexpr (tile::sm80::available) {
    constexpr Config c = Policy::config;
    unsigned char* q = simt::dynamic_shared<unsigned char>();
    using K = MmaKernel<Policy>;
    const auto stage_k = [=](int stage) { return q + K::stages_at + stage * K::stage_bytes; };
    const auto stage_v = [=](int stage) { return stage_k(stage) + K::k_bytes; };
    const unsigned q_at = tile::sm80::shared_address(q);

    const BlockCoord at((a.sq * a.pack + c.bm - 1) / c.bm, a.heads / a.pack);
    if constexpr (Varlen) {
      select_sequence(a, at.batch);
      if (at.tile * c.bm >= a.sq * a.pack) return;
    }
    const int rows = a.sq * a.pack;
    const int first_row = at.tile * c.bm, first_query = first_row / a.pack, first_head = at.head * a.pack;
    const int last_query = (::min(first_row + c.bm, rows) - 1) / a.pack;
    const T* from_q = a.q + at.batch * a.at_q.batch;
    const KeyRows<T> from_k = k_rows(a, at.batch, first_head), from_v = v_rows(a, at.batch, first_head);
    const Keys keys = part_of(keys_of(a, first_query, last_query), c.bn, static_cast<int>(blockIdx.y), a.splits);
    TilePages<c.bn, Varlen && c.split> pages;
    pages.look_up(a, at.batch, keys.first);
    const auto start = [&](int first, int stage) {
      start_tile<c.bn, c.d, c.threads, T>(stage_k(stage), a.sk - first, a.d, a.at_k.element, a.vectors,
                                          [&](int row) { return pages.row_of(from_k, first + row); });
      start_tile<c.bn, c.dv, c.threads, T>(stage_v(stage), a.sk - first, a.dv, a.at_v.element, a.vectors,
                                           [&](int row) { return pages.row_of(from_v, first + row); });
      pages.look_up(a, at.batch, first + c.bn);  // one tile ahead
    };

    start_tile<c.bm, c.d, c.threads, T>(q, rows - first_row, a.d, a.at_q.element, a.vectors, [&](int row) {
      const int r = first_row + row;
      return from_q + r / a.pack * a.at_q.row + (first_head + r % a.pack) * a.at_q.head;
    });
    if (keys.first < keys.last) start(keys.first, 0);
    const Scores<T> scores(a);
    MmaWarp<Policy, T> warp;
    tile::wait_for_copies();
    __syncthreads();
    warp.read_q(q_at);
    const bool idle = c.split && first_row + static_cast<int>(threadIdx.x) / 32 * c.rows >= rows;  // no rows of its own
    int stage = 0;
    RIDGE_KEEP_LOOP
    for (int first = keys.first; first < keys.last; first += c.bn, stage ^= 1) {
      const bool inside = first + c.bn <= keys.last && all_attend(a, first_query, last_query, first, first + c.bn);
      const bool all = inside && a.mask == nullptr;
      // The tile is here, and no warp still reads the one before: its place is filled next.
      tile::wait_for_copies();
      bool special = false;
      if (all) __syncthreads();
      else special = __syncthreads_or(find_special<c.bn, c.dv, c.threads, T>(stage_v(stage)));
      if (first + c.bn < keys.last) start(first + c.bn, stage ^ 1);
      if (idle) continue;
      warp.multiply_qk(q_at, tile::sm80::shared_address(stage_k(stage)));
      if (!scores.as_is) warp.for_scores([&](int, int, float product) { return scores.of(product); });
      if (a.mask != nullptr)
        warp.for_scores([&](int r, int key, float score) {
          const int row = ::min(first_row + warp.row(r), rows - 1);
          return first + key >= a.sk
                     ? score
                     : scores.masked(a, at.batch, first_head + row % a.pack, row / a.pack, first + key, score);
        });
      if (!inside)
        warp.apply_mask([&](int r) {
          return span_of(a, (first_row + warp.row(r)) / a.pack, first, ::min(first + c.bn, keys.last));
        });
      if (all) warp.template compute_p<false>(scores.scale_log2);
      else warp.template compute_p<true>(scores.scale_log2);
      const unsigned v = tile::sm80::shared_address(stage_v(stage));
      if (!special) warp.add_pv(v);
      else warp.add_special_values(v, a.dv);
    }
    warp.finish();

    if (a.splits > 1) {
      const std::int64_t part = blockIdx.y * a.rows + at.batch * a.at_row.batch;
      const auto place_of = [&](int r) {
        const int row = first_row + warp.row(r);
        return part + (first_head + row % a.pack) * a.at_row.head + row / a.pack;
      };
      warp.for_pairs([&](int r, int column, simt::vec<float, 2> o) {
        if (first_row + warp.row(r) >= rows) return;
        float* to = a.partial_o + place_of(r) * a.dv + column;
        if (column < a.dv) to[0] = o[0];
        if (column + 1 < a.dv) to[1] = o[1];
      });
      for (int r = 0; r < warp.rows; ++r)
        if (threadIdx.x % 4 == 0 && first_row + warp.row(r) < rows)
          store_part(a, place_of(r), warp.running[r], scores.scale_log2);
      return;
    }
    store_rows(warp, q, rows - first_row, a.dv, a.at_o.element, a.vectors, 1, [&](int in_tile) {
      const int row = first_row + in_tile;
      return a.o + at.batch * a.at_o.batch + (first_head + row % a.pack) * a.at_o.head + row / a.pack * a.at_o.row;
    });
#pragma unroll
    for (int r = 0; r < warp.rows; ++r) {
      const int row = first_row + warp.row(r);
      if (threadIdx.x % 4 == 0 && row < rows)
        store_lse(a, at.batch, first_head + row % a.pack, row / a.pack, warp.running[r].lse(scores.scale_log2));
    }
  }
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

template <class T> struct MmaRows : RowsOf<Algorithm::mma_sync, T> {
  template <int I> static Status launch(const Call& call) {
    const Arguments<T> args = arguments_of<T>(call);
    const simt::Config at = launch_config(call, call.plan.blocks);
    RIDGE_TRY(has_lengths(call.problem) ? simt::launch(at, attention_mma<Policy<I>, T, true>, args)
                                        : simt::launch(at, attention_mma<Policy<I>, T, false>, args));
    return launch_parts<T>(call, args);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
