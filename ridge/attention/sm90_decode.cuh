// Few queries against many keys, on Hopper: f16 and bf16. K and V are read once, so bytes in flight decide.
//
// A block has up to 16 rows, (query, head) pairs that share K and V, and each of its warps has all of them. Warps take
// different tiles of keys. Each warp has its own pipeline of tiles in shared memory, as producer (TMA) and consumer: no
// warp waits for another before the end. Then the warps' partial sums are merged, and those of split-KV blocks by a
// second kernel, which begins before the first one has ended (programmatic dependent launch).
#pragma once
#include <ridge/attention/launch_table.cuh>
#include <ridge/attention/merge.cuh>
#include <ridge/attention/sm80_warp.cuh>
#include <ridge/attention/sm90_decode.hpp>
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/tile/sm90/launch.cuh>
#include <ridge/tile/sm90/tma.cuh>

namespace ridge::attention_kernels {

// Tensor maps of K and V [batch or pages, heads of K, rows, columns], in boxes of `box` rows and 64 columns. box
// divides bn, and a page.
struct DecodeMaps {
  tile::sm90::TensorMap k, v;
  int box;
};

// Policy of a single warp, for MmaWarp.
template <class Policy> struct DecodeWarp {
  static constexpr Config config = {.algorithm = Algorithm::decode,
                                    .bm = Policy::config.bm,
                                    .bn = Policy::config.bn,
                                    .d = Policy::config.d,
                                    .dv = Policy::config.dv,
                                    .threads = 32,
                                    .rows = Policy::config.bm};
};

// Shared-memory layout of a block: Q, each warp's stages, and a barrier per stage. After the last key, a warp's O
// [bm][dv], row sums [bm] and row maxima [bm] overwrite its stages.
template <class Policy> struct DecodeKernel {
  static constexpr Config c = Policy::config;
  static constexpr int warps = decode_warps(c);
  static constexpr int k_bytes = mma_tile_bytes(c.bn, c.d), v_bytes = mma_tile_bytes(c.bn, c.dv);
  static constexpr int ring_bytes = c.stages * decode_stage_bytes(c);
  static constexpr int rings_at = mma_tile_bytes(c.bm, c.d), barriers_at = rings_at + warps * ring_bytes;
  static_assert(k_bytes + v_bytes == decode_stage_bytes(c));
  static_assert(barriers_at + warps * c.stages * 8 == decode_bytes(c));
  static constexpr int row_sums_at = c.bm * c.dv * 4, row_maxima_at = row_sums_at + c.bm * 4;
  static_assert(row_maxima_at + c.bm * 4 <= ring_bytes);
  static_assert(c.bm == 16 && c.bn % 16 == 0);
  static constexpr int least_box = 16;  // rows: of the smallest page
};

// Tiles of bn keys with numbers in [first, last).
struct DecodeTiles {
  int first, last;
};
// Split number `part` of the tiles that hold the keys.
__device__ __forceinline__ DecodeTiles part_of_tiles(Keys keys, int bn, int part, int parts) {
  if (keys.last <= keys.first) return {0, 0};
  const int first = keys.first / bn, last = (keys.last + bn - 1) / bn, each = (last - first + parts - 1) / parts;
  const int begin = ::min(last, first + part * each);
  return {begin, ::min(last, begin + each)};
}

// Whether the tile has a NaN or infinite element. Called by a whole warp.
template <int Bytes, class T> __device__ __forceinline__ bool warp_finds_special(const unsigned char* tile) {
  bool found = false;
  for (int at = static_cast<int>(threadIdx.x) % 32 * 16; at < Bytes; at += 32 * 16) {
    const auto words = simt::load<4>(reinterpret_cast<const unsigned*>(tile + at));
    for (int w = 0; w < 4; ++w) found = found || has_special<T>(words[w]);
  }
  return simt::tile<32>().any(found);
}

// o = softmax(scores(q k^T)) v                                                  shapes: see Arguments
// Rows and splits are those of attention_mma.
// Preconditions: cc 90; gridDim is (batch * heads / pack * tiles of rows, splits); rows of K and V are aligned to 16
// bytes, as their maps say; dv is a multiple of 4; no mask tensor; without Varlen, all sequences have one length and
// are not paged.
template <class Policy, class T, bool Varlen>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    attention_decode(const __grid_constant__ DecodeMaps maps, Arguments<T> a) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    constexpr Config c = Policy::config;
    using K = DecodeKernel<Policy>;
    unsigned char* const shared = sm90::swizzled_shared();
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp_index = simt::tile<32>().shfl(static_cast<int>(threadIdx.x) / 32, 0);
    unsigned char* const ring = shared + K::rings_at + warp_index * K::ring_bytes;
    auto* const full = reinterpret_cast<sm90::Barrier*>(shared + K::barriers_at) + warp_index * c.stages;
    const auto stage_k = [=](int stage) { return ring + stage * decode_stage_bytes(c); };
    const auto stage_v = [=](int stage) { return stage_k(stage) + K::k_bytes; };
    tile::launch_dependents();

    const BlockCoord at((a.sq * a.pack + c.bm - 1) / c.bm, a.heads / a.pack);
    Begin begin{0, 0};
    if constexpr (Varlen) {
      begin = select_sequence(a, at.batch);
      if (at.tile * c.bm >= a.sq * a.pack) return;
    }
    const int rows = a.sq * a.pack;
    const int first_row = at.tile * c.bm, first_query = first_row / a.pack, first_head = at.head * a.pack;
    const int last_query = (::min(first_row + c.bm, rows) - 1) / a.pack, kv_head = first_head / a.group;
    const Keys keys = keys_of(a, first_query, last_query);
    const DecodeTiles tiles = part_of_tiles(keys, c.bn, static_cast<int>(blockIdx.y), a.splits);

    if (lane == 0) {
      for (int s = 0; s < c.stages; ++s) sm90::init(full + s, 1);
      sm90::fence_init();
    }
    __syncwarp();
    // Page of the lane's 16 keys of a tile; past the last key, the last page. Without Varlen there are no pages.
    const bool paged = Varlen && a.sequences.pages.data != nullptr;
    const int last_box = (a.sk - 1) / maps.box * maps.box;
    const auto page_of = [&](int tile) {
      if (!paged || tile >= tiles.last || lane >= c.bn / K::least_box) return 0;
      const int key = ::min(tile * c.bn + lane * K::least_box, last_box);
      return a.sequences.pages(at.batch, key >> a.sequences.page_bits);
    };
    // Starts to load K and V of a tile to a stage. Called by the warp, with its lanes' pages of the tile.
    const int batch = Varlen && a.sequences.from_k.data != nullptr ? 0 : at.batch;
    const auto start = [&](int tile, int stage, int page) {
      if (tile >= tiles.last) return;
      if (lane == 0) sm90::arrive_and_expect_tx(full + stage, decode_stage_bytes(c));
      for (int r = 0; r < c.bn; r += maps.box) {
        int key = begin.key + tile * c.bn + r, batch_index = batch;
        if (paged) {
          batch_index = simt::tile<32>().shfl(page, r / K::least_box);
          key = ::min(key, last_box) & ((1 << a.sequences.page_bits) - 1);
        }
        if (lane == 0) {
#pragma unroll
          for (int p = 0; p < c.d / panel; ++p)
            sm90::load(&maps.k, stage_k(stage) + mma_tile_bytes(c.bn, p * panel) + r * panel * 2, full + stage,
                       p * panel, key, kv_head, batch_index);
#pragma unroll
          for (int p = 0; p < c.dv / panel; ++p)
            sm90::load(&maps.v, stage_v(stage) + mma_tile_bytes(c.bn, p * panel) + r * panel * 2, full + stage,
                       p * panel, key, kv_head, batch_index);
        }
      }
    };
    const int first_tile = tiles.first + warp_index;
    int page[c.stages];
#pragma unroll
    for (int s = 0; s < c.stages; ++s) page[s] = page_of(first_tile + s * K::warps);
#pragma unroll
    for (int s = 0; s < c.stages; ++s) start(first_tile + s * K::warps, s, page[s]);
    int next_page = page_of(first_tile + c.stages * K::warps);  // of the tile that is started next

    const T* const from_q = a.q + at.batch * a.at_q.batch;
    start_tile<c.bm, c.d, c.threads, T>(shared, rows - first_row, a.d, a.at_q.element, a.vectors, [&](int row) {
      const int r = first_row + row;
      return from_q + r / a.pack * a.at_q.row + (first_head + r % a.pack) * a.at_q.head;
    });
    const Scores<T> scores(a);
    MmaWarp<DecodeWarp<Policy>, T> warp(0);
    tile::wait_for_copies();
    __syncthreads();
    const unsigned q_at = sm90::shared_address(shared);
    warp.read_q(q_at);

    sm90::PipelineState<c.stages> now;
    RIDGE_KEEP_LOOP
    for (int tile = first_tile; tile < tiles.last; tile += K::warps, now.next()) {
      const int first = tile * c.bn;
      const bool inside = first >= keys.first && first + c.bn <= keys.last &&
                          all_attend(a, first_query, last_query, first, first + c.bn);
      sm90::wait(full + now.stage, now.parity);
      warp.multiply_qk(q_at, sm90::shared_address(stage_k(now.stage)));
      if (!scores.as_is) warp.for_scores([&](int, int, float product) { return scores.of(product); });
      const unsigned v = sm90::shared_address(stage_v(now.stage));
      if (inside) {
        warp.template compute_p<false>(scores.scale_log2);
        warp.add_pv(v);
      } else {
        warp.apply_mask([&](int r) {
          return span_of(a, (first_row + warp.row(r)) / a.pack, first, ::min(first + c.bn, keys.last));
        });
        warp.template compute_p<true>(scores.scale_log2);
        if (warp_finds_special<K::v_bytes, T>(stage_v(now.stage))) warp.add_special_values(v, a.dv);
        else warp.add_pv(v);
      }
      __syncwarp();  // all lanes have read the tile
      start(tile + c.stages * K::warps, now.stage, next_page);
      next_page = page_of(tile + (c.stages + 1) * K::warps);
    }

    // Merges the warps' sums, each relative to its own maximum.
    warp.finish_sums();
    const auto floats_of = [=](int w, int from) {
      return reinterpret_cast<float*>(shared + K::rings_at + w * K::ring_bytes + from);
    };
    warp.for_pairs([&](int r, int column, simt::vec<float, 2> o) {
      if (first_row + warp.row(r) < rows) simt::store(floats_of(warp_index, 0) + warp.row(r) * c.dv + column, o);
    });
#pragma unroll
    for (int r = 0; r < warp.rows; ++r) {
      const SoftmaxState& row = warp.running[r];
      if (lane % 4 != 0) continue;
      floats_of(warp_index, K::row_sums_at)[warp.row(r)] = row.sum;
      // A sum without a maximum is NaN, and so is the row.
      floats_of(warp_index, K::row_maxima_at)[warp.row(r)] =
          row.row_max == minus_infinity && !row.is_empty() ? 0 : row.row_max;
    }
    __syncthreads();
    constexpr int vector = 4, row_vectors = c.dv / vector;
    for (int n = static_cast<int>(threadIdx.x); n < ::min(c.bm, rows - first_row) * row_vectors; n += c.threads) {
      const int in_tile = n / row_vectors, row = first_row + in_tile, column = n % row_vectors * vector;
      if (column >= a.dv) continue;
      float row_max = minus_infinity;
#pragma unroll
      for (int w = 0; w < K::warps; ++w) row_max = fmaxf(row_max, floats_of(w, K::row_maxima_at)[in_tile]);
      const Reference all = Reference::of(row_max, scores.scale_log2);
      SoftmaxState whole{row_max, all.offset, 0};
      simt::vec<float, vector> o{};
#pragma unroll
      for (int w = 0; w < K::warps; ++w) {
        const float of_warp = floats_of(w, K::row_maxima_at)[in_tile];
        const float change =
            of_warp == minus_infinity ? 0 : Reference::of(of_warp, scores.scale_log2).change_to(all, scores.scale_log2);
        const auto part = simt::load<vector>(floats_of(w, 0) + in_tile * c.dv + column);
        whole.sum += change * floats_of(w, K::row_sums_at)[in_tile];
#pragma unroll
        for (int e = 0; e < vector; ++e) o[e] += change * part[e];
      }
      const float inverse = whole.inverse();
#pragma unroll
      for (int e = 0; e < vector; ++e) o[e] *= inverse;
      const int query = row / a.pack, head = first_head + row % a.pack;
      if (a.splits > 1) {
        const std::int64_t place = blockIdx.y * a.rows + at.batch * a.at_row.batch + head * a.at_row.head + query;
        simt::store_global(a.partial_o + place * a.dv + column, o);
        if (column == 0) store_part(a, place, whole, scores.scale_log2);
      } else {
        T* const to = a.o + at.batch * a.at_o.batch + head * a.at_o.head + query * a.at_o.row;
        for (int e = 0; e < vector; ++e) to[(column + e) * a.at_o.element] = T(o[e]);
        if (column == 0) store_lse(a, at.batch, head, query, whole.lse(scores.scale_log2));
      }
    }
  }
}

inline constexpr int decode_merge_warps = 8;

// Does what attention_merge_kernel does, for float32 splits that are all stored: a block per row; its warps share the
// splits and have all reads in flight at once. The code is run once without splits while the previous kernel works:
// otherwise it would be fetched from memory, line by line, when everything waits for it.
//   partial_o [splits][rows][dv]   partial_log, partial_sum [splits][rows]   o [batch, heads, sq, dv]
// Preconditions: gridDim.x is batch * heads * sq; dv is a multiple of 4 and at most Columns, a multiple of 64.
template <class T, int Columns>
__global__ void __launch_bounds__(decode_merge_warps * 32)
    attention_decode_merge(MergeArguments<T, PartsInWorkspace> a) {
  if constexpr (tile::sm90::available) {
    constexpr int vector = 4, vectors = (Columns + 32 * vector - 1) / (32 * vector);  // of a lane
    constexpr int batch = 4;                                                          // splits in flight
    __shared__ float sums[decode_merge_warps][vectors * 32 * vector], row_maxima[decode_merge_warps],
        row_sums[decode_merge_warps];
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const PartsInWorkspace& parts = a.parts;
    BlockCoord at(a.sq, a.heads);
    if (!parts.find(at)) {
      tile::grid_dependency_wait();  // later kernels in the stream rely on the previous kernel's end
      return;
    }
    T* const to = a.o + at.batch * a.at_o.batch + at.head * a.at_o.head + at.tile * a.at_o.row;
    RIDGE_KEEP_LOOP
    for (int pass = 0; pass < 2; ++pass) {
      const bool real_pass = pass == 1;
      if (real_pass) tile::grid_dependency_wait();
      const int count = real_pass ? parts.parts : 0;
      float row_max = minus_infinity, sum = 0;
      simt::vec<float, vector> o[vectors] = {};
      int first = warp;
      do {
        float log[batch], of_part[batch];
        simt::vec<float, vector> values[batch][vectors] = {};
#pragma unroll
        for (int b = 0; b < batch; ++b) {
          const int part = first + b * decode_merge_warps;
          log[b] = part < count ? parts.log_of(part, at) : minus_infinity;
          of_part[b] = part < count ? parts.sum_of(part, at) : 0;
#pragma unroll
          for (int u = 0; u < vectors; ++u) {
            const int column = (u * 32 + lane) * vector;
            if (part < count && column < a.dv)
              values[b][u] = simt::load<vector>(parts.o + parts.row(part, at) * a.dv + column);
          }
        }
        float most = row_max;
#pragma unroll
        for (int b = 0; b < batch; ++b) most = fmaxf(most, log[b]);
        const float base = most == minus_infinity ? 0 : most, change = expf(row_max - base);
        row_max = most;
        sum *= change;
#pragma unroll
        for (int u = 0; u < vectors; ++u)
#pragma unroll
          for (int e = 0; e < vector; ++e) o[u][e] *= change;
#pragma unroll
        for (int b = 0; b < batch; ++b) {
          const float weight = expf(log[b] - base) * of_part[b];
          sum += weight;
#pragma unroll
          for (int u = 0; u < vectors; ++u)
#pragma unroll
            for (int e = 0; e < vector; ++e) o[u][e] += weight * values[b][u][e];
        }
        first += batch * decode_merge_warps;
      } while (first < count);
#pragma unroll
      for (int u = 0; u < vectors; ++u) simt::store(&sums[warp][(u * 32 + lane) * vector], o[u]);
      if (lane == 0) row_maxima[warp] = row_max, row_sums[warp] = sum;
      __syncthreads();
      row_max = minus_infinity, sum = 0;
#pragma unroll
      for (int w = 0; w < decode_merge_warps; ++w) row_max = fmaxf(row_max, row_maxima[w]);
      const float base = row_max == minus_infinity ? 0 : row_max;
      float change[decode_merge_warps];
#pragma unroll
      for (int w = 0; w < decode_merge_warps; ++w)
        change[w] = expf(row_maxima[w] - base), sum += change[w] * row_sums[w];
      const float inverse = sum == 0 ? 0 : 1 / sum;
      for (int column = static_cast<int>(threadIdx.x); column < a.dv; column += decode_merge_warps * 32) {
        float value = 0;
#pragma unroll
        for (int w = 0; w < decode_merge_warps; ++w) value += change[w] * sums[w][column];
        if (real_pass) to[column * a.at_o.element] = T(value * inverse);
      }
      if (real_pass && a.lse && threadIdx.x == 0)
        a.lse[at.batch * a.at_lse.batch + at.head * a.at_lse.head + at.tile * a.at_lse.row] =
            sum == 0 ? minus_infinity : base + logf(sum);
      __syncthreads();
    }
  }
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

template <class T> struct DecodeRows : RowsOf<Algorithm::decode, T> {
  template <int I> static Status launch(const Call& call) {
    constexpr Config c = variants[I].config;
    const AttentionProblem& p = call.problem;
    const Arguments<T> args = arguments_of<T>(call);
    DecodeMaps maps;
    maps.box = static_cast<int>(p.block_table ? std::min<std::int64_t>(c.bn, p.page) : c.bn);
    // Packed sequences form one batch, and each page is a batch of its own.
    const std::int64_t rows = p.block_table ? p.page : p.cu_k ? p.total_k : p.sk;
    const std::int64_t batch = p.block_table ? p.pages : p.cu_k ? 1 : p.b;
    const auto make_map = [&](tile::sm90::TensorMap* map, const TensorView& view, const AttentionOperand& at,
                              std::int64_t columns) {
      return tile::sm90::make_tensor_map(map, view.data, dtype_of<T>, columns,
                                         {{rows, at.row}, {p.hkv, at.head}, {batch, at.batch}}, maps.box,
                                         tile::sm90::line_bytes, tile::sm90::Fetch::lines);
    };
    RIDGE_TRY(make_map(&maps.k, call.tensors.k, *p.k, p.d));
    RIDGE_TRY(make_map(&maps.v, call.tensors.v, *p.v, p.dv));
    const simt::Config at = launch_config(call, call.plan.blocks);
    RIDGE_TRY(has_lengths(p) ? tile::sm90::launch_clusters(at, 1, attention_decode<Policy<I>, T, true>, maps, args)
                             : tile::sm90::launch_clusters(at, 1, attention_decode<Policy<I>, T, false>, maps, args));
    if (args.splits == 1) return {};
    return tile::launch_dependent(call.plan.device.cc, launch_config(call, p.b * p.hq * p.sq, decode_merge_warps * 32),
                                  attention_decode_merge<T, c.dv>, merge_of(args));
  }
};

}  // namespace
}  // namespace ridge::attention_detail
