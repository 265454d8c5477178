// One query against many keys, on Hopper: f16 and bf16. sm90_decode.cuh does this for up to 16 rows, any mask and paged
// keys. This kernel is for calls with cold caches: there the code is fetched from memory too, line by line, behind keys
// that have been requested.
//
// So a producer warp requests K and V from the kernel's first instructions on, and the consumers' code is short.
// Products are transposed (swap-AB): up to 8 rows, heads that share K and V, are columns; keys, and then columns of V,
// are rows. This takes half of the products of a 16-row tile. What a window leaves out is outside of the tensor maps
// and reads as zeros, like missing columns of K and V. The last block to arrive with its split of the keys merges the
// splits, with the code that merged its own warps' parts.
#pragma once
#include <ridge/attention/launch_table.cuh>
#include <ridge/attention/sm80_warp.cuh>
#include <ridge/attention/sm90_decode_one.hpp>
#include <ridge/tile/sm90/bulk_copy.cuh>
#include <ridge/tile/sm90/dependent_launch.cuh>
#include <ridge/tile/sm90/last_block.cuh>
#include <ridge/tile/sm90/tma.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>

namespace ridge::attention_kernels {

// q [batch, heads, d], o [batch, heads, dv], with contiguous elements. Row r of a block is its r-th head.
template <class T> struct DecodeOneArguments {
  const T* q;
  T* o;
  float* lse;                     // [batch, heads]; may be null
  Indices lengths;                // [batch]: keys, at most `keys`, for variable-length sequences
  int keys;                       // of all sequences, or of the longest
  int heads, blocks;              // heads that share K and V; blocks for them, c.bm heads each
  int d, dv;                      // existing columns
  int tiles;                      // tiles of keys per split
  int ring;                       // tiles of the circular buffer
  float scale_log2;               // applied to scores, in the exponent of 2
  float* parts;                   // [batch, blocks in x][parts][decode_part_floats]
  tile::Arrivals *arrivals, run;  // [batch, blocks in x]
  std::int64_t q_batch, q_head, o_batch, o_head, lse_batch, lse_head;
};

// Tensor maps of K and V [batch, heads of K, keys, columns], in boxes of bn keys and 64 columns.
struct DecodeOneMaps {
  tile::sm90::TensorMap k, v;
};

template <class Policy> struct DecodeOneKernel {
  static constexpr Config c = Policy::config;
  static constexpr int warps = decode_one_warps(c), threads = warps * 32;  // of the consumers
  static constexpr int ring = decode_ring_tiles(c);                        // at most
  static constexpr int k_bytes = mma_tile_bytes(c.bn, c.d), tile_bytes = decode_stage_bytes(c);
  static constexpr int sums_at = mma_tile_bytes(c.bm, c.d);
  static constexpr int full_at = sums_at + warps * decode_part_floats(c, c.bm) * 4, empty_at = full_at + ring * 8;
  static constexpr int gathered_at = empty_at + ring * 8, last_at = gathered_at + 8, ring_at = decode_ring_at(c);
  static_assert(last_at + 8 <= ring_at && ring_at - last_at - 8 < 1024 && tile_bytes % 1024 == 0);
  static_assert(c.bm == 8 && c.bn % 16 == 0 && c.d % panel == 0 && c.dv % panel == 0);
};

// One consumer warp: transposed scores with the keys of a tile, [keys][rows]; and transposed O, [columns][rows].
template <class Policy, class T> class DecodeOneWarp {
  static constexpr Config c = Policy::config;
  static constexpr int N = c.bn / 16, D = c.d / 16, V = c.dv / 16;  // fragments
  using TileQ = PanelTile<c.bm>;
  using TileK = PanelTile<c.bn>;
  using Axis = tile::sm80::Axis;

 public:
  static constexpr int columns = 2;  // rows of Q in this lane's fragments

  __device__ __forceinline__ DecodeOneWarp()
      : lane_(static_cast<int>(threadIdx.x) % 32),
        from_k_(TileK::origin(Axis::k, 0)),
        from_v_(TileK::origin(Axis::outer, 0)) {
#pragma unroll
    for (int r = 0; r < columns; ++r) running[r] = SoftmaxState::empty();
#pragma unroll
    for (int v = 0; v < V; ++v)
#pragma unroll
      for (int e = 0; e < 4; ++e) o_[v][e] = 0;
  }

  __device__ __forceinline__ int row(int r) const { return lane_ % 4 * 2 + r; }

  // Loads matrices of 8 rows and 8 columns; registers 0 and 2 are the first 16 columns, and 1 and 3 the next ones.
  __device__ __forceinline__ void read_q(unsigned q) {
    const unsigned piece = lane_ / 8 % 2 * 2 + lane_ / 16, from = q + TileQ::at(lane_ % 8, piece * 8);
#pragma unroll
    for (int d = 0; d < D / 2; ++d) tile::sm80::load_matrices<false>(q_[d], TileQ::advanced(from, 0, d * 32));
  }

  // s = k q^T
  __device__ __forceinline__ void multiply_qk(unsigned k) {
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) s_[n][e] = 0;
#pragma unroll
    for (int d = 0; d < D; ++d)
#pragma unroll
      for (int n = 0; n < N; ++n) {
        unsigned keys[4];
        tile::sm80::load_matrices<false>(keys, TileK::advanced(k + from_k_, n * 16, d * 16));
        tile::sm80::multiply<T>(s_[n], keys, q_[d / 2], d % 2);
      }
  }

  // Sets scores past the first `keys` to -inf.
  __device__ __forceinline__ void apply_mask(int keys) {
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (n * 16 + e / 2 * 8 + lane_ / 4 >= keys) s_[n][e] = minus_infinity;
  }

  // Sets values past the first `keys` to zero: their P is 0, but what lies there may be NaN.
  __device__ __forceinline__ void clear_values(unsigned char* v, int keys) const {
    constexpr int vector = 16 / sizeof(T), row_vectors = c.dv / vector;
    RIDGE_KEEP_LOOP
    for (int n = keys * row_vectors + lane_; n < c.bn * row_vectors; n += 32)
      simt::store(reinterpret_cast<unsigned*>(v + TileK::at(n / row_vectors, n % row_vectors * vector)),
                  simt::vec<unsigned, 4>{});
    tile::sm90::fence_shared_for_copies();  // the merge may load parts to this place
    __syncwarp();
  }

  // Replaces scores by P. The reference follows the maximum only when that is far above it: a common power-of-two
  // factor of all P cancels.
  __device__ __forceinline__ void compute_p(float scale_log2) {
    constexpr float above = 8;
    float row_max[columns];
    bool rise = false, far = false;
#pragma unroll
    for (int r = 0; r < columns; ++r) {
      row_max[r] = minus_infinity;
#pragma unroll
      for (int n = 0; n < N; ++n) row_max[r] = fmaxf(row_max[r], fmaxf(s_[n][r], s_[n][2 + r]));
      rise = rise || (row_max[r] - running[r].row_max) * scale_log2 > above;
    }
    if (simt::tiles<32>().any(rise)) {
      float change[columns];
#pragma unroll
      for (int r = 0; r < columns; ++r) {
        const float of_row = over_keys(row_max[r], [](float x, float y) { return fmaxf(x, y); });
        change[r] = running[r].update_max(fmaxf(running[r].row_max, of_row), scale_log2);
      }
#pragma unroll
      for (int v = 0; v < V; ++v)
#pragma unroll
        for (int e = 0; e < 4; ++e) o_[v][e] *= change[e % 2];
    }
#pragma unroll
    for (int r = 0; r < columns; ++r) far = far || running[r].base() != 0;
    if (simt::tiles<32>().any(far)) {
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) s_[n][e] = running[e % 2].relative(s_[n][e]);
    }
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        s_[n][e] = running[e % 2].p(s_[n][e], scale_log2);
        running[e % 2].sum += s_[n][e];
      }
  }

  // O^T += V^T P^T
  __device__ __forceinline__ void add_pv(unsigned v) {
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const unsigned first = tile::sm80::transpose_matrix(tile::pack_pair<T>(s_[n][0], s_[n][1]));
      const unsigned next = tile::sm80::transpose_matrix(tile::pack_pair<T>(s_[n][2], s_[n][3]));
      const unsigned p[4] = {first, 0, next, 0};
#pragma unroll
      for (int d = 0; d < V; ++d) {
        unsigned values[4];
        tile::sm80::load_matrices<true>(values, TileK::advanced(v + from_v_, n * 16, d * 16));
        tile::sm80::multiply<T>(o_[d], values, p, 0);
      }
    }
  }

  // Stores the warp's part, with `rows` rows.
  __device__ __forceinline__ void store(float* part, int rows) {
#pragma unroll
    for (int r = 0; r < columns; ++r) {
      const float sum = over_keys(running[r].sum, [](float x, float y) { return x + y; });
      if (row(r) >= rows) continue;
      if (lane_ < 4) simt::store(part + 2 * row(r), simt::vec<float, 2>{sum, running[r].row_max});
#pragma unroll
      for (int v = 0; v < V; ++v)
#pragma unroll
        for (int h = 0; h < 2; ++h)
          part[2 * c.bm + row(r) * (c.dv + pad) + v * 16 + h * 8 + lane_ / 4] = o_[v][2 * h + r];
    }
  }

  SoftmaxState running[columns];  // sum: over this lane's keys

 private:
  // Reduces over the lanes that have other keys of the same rows.
  template <class F> __device__ __forceinline__ float over_keys(float value, F f) const {
#pragma unroll
    for (int distance = 4; distance < 32; distance *= 2) value = f(value, simt::tiles<32>().shfl_xor(value, distance));
    return value;
  }

  int lane_;
  unsigned from_k_, from_v_;  // offsets at which this lane reads in the tiles
  unsigned q_[D / 2][4];
  float s_[N][4], o_[V][4];  // [16 keys][8 rows], [16 columns][8 rows]
};

// Merges four neighbouring elements of a row of O over `count` parts in shared memory, `step` floats apart. Parts are
// not normalized.
//   stats: each part's sum, and the maximum that its P is relative to; -inf: it has none
struct DecodePiece {
  simt::vec<float, 4> o;
  SoftmaxState row;
};
__device__ __forceinline__ DecodePiece merge_parts(const float* stats, const float* o, int count, int step,
                                                   float scale_log2) {
  constexpr int batch = 4;  // parts that are read before the first of them is added
  DecodePiece all{{}, SoftmaxState::empty()};
  RIDGE_KEEP_LOOP
  for (int first = 0; first < count; first += batch) {
    simt::vec<float, 2> part_stat[batch];
    simt::vec<float, 4> part[batch]{};
    float row_max = all.row.row_max;
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      part_stat[i] = {0, minus_infinity};
      if (first + i < count) {
        part_stat[i] = simt::load<2>(stats + (first + i) * step);
        part[i] = simt::load<4>(o + (first + i) * step);
      }
      row_max = fmaxf(row_max, part_stat[i][1]);
    }
    const float before = all.row.update_max(row_max, scale_log2);
#pragma unroll
    for (int e = 0; e < 4; ++e) all.o[e] *= before;
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const Reference of_part = Reference::of(part_stat[i][1], scale_log2);
      const float change = part_stat[i][1] == minus_infinity ? 0 : of_part.change_to(all.row.reference(), scale_log2);
      all.row.sum += change * part_stat[i][0];
#pragma unroll
      for (int e = 0; e < 4; ++e) all.o[e] += change * part[i][e];
    }
  }
  return all;
}

// o = softmax(scale q k^T) v                                                          shapes: see DecodeOneArguments
// Preconditions: cc 90; gridDim is (heads of K x a.blocks, splits, batch); split p has the tiles from p a.tiles on; a.d
// is a multiple of 8, a.dv of 4; rows of Q and O are aligned to 16 bytes; a.scale_log2 > 0; at most decode_most_parts
// splits; a.ring is at most K::ring, and at least a split's tiles or a multiple of the warps; with several splits it is
// K::ring.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    attention_decode_one(const DecodeOneArguments<T> a, const __grid_constant__ DecodeOneMaps maps) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    constexpr Config c = Policy::config;
    using K = DecodeOneKernel<Policy>;
    enum : int { ready = 1, summed, arrived, last_known };  // barriers of all threads; `summed`: of consumers
    unsigned char* const shared = sm90::swizzled_shared();
    auto* const full = reinterpret_cast<sm90::Barrier*>(shared + K::full_at);
    auto* const empty = reinterpret_cast<sm90::Barrier*>(shared + K::empty_at);
    auto* const gathered = reinterpret_cast<sm90::Barrier*>(shared + K::gathered_at);
    auto* const last = reinterpret_cast<int*>(shared + K::last_at);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp_index = simt::tiles<32>().shfl(static_cast<int>(threadIdx.x) / 32, 0);
    const int part = static_cast<int>(blockIdx.y);
    const int batch = static_cast<int>(blockIdx.z), parts = static_cast<int>(gridDim.y);
    const int head_of_k = static_cast<int>(blockIdx.x) / a.blocks,
              first_head = static_cast<int>(blockIdx.x) % a.blocks * c.bm,  // among those that share K and V
        rows = ::min(c.bm, a.heads - first_head), head = head_of_k * a.heads + first_head;
    tile::launch_dependents();  // what reads O waits for it, and may load its weights meanwhile
    tile::grid_dependency_wait();
    const int keys = a.lengths.data ? a.lengths(0, batch) : a.keys;
    const int first_tile = part * a.tiles, all_tiles = (keys + c.bn - 1) / c.bn;
    const int last_tile = ::min(all_tiles, first_tile + a.tiles);  // exclusive
    const int part_floats = decode_part_floats(c, decode_part_rows(c, a.heads));

    if (warp_index == K::warps) {
      const bool elected = sm90::is_elected();
      const auto load = [&](int tile, int stage) {  // called by the elected lane
        unsigned char* const to = shared + K::ring_at + stage * K::tile_bytes;
        sm90::arrive_and_expect_tx(full + stage, K::tile_bytes);
#pragma unroll
        for (int p = 0; p < c.d / panel; ++p)
          sm90::load(&maps.k, to + mma_tile_bytes(c.bn, p * panel), full + stage, p * panel, tile * c.bn, head_of_k,
                     batch);
#pragma unroll
        for (int p = 0; p < c.dv / panel; ++p)
          sm90::load(&maps.v, to + K::k_bytes + mma_tile_bytes(c.bn, p * panel), full + stage, p * panel, tile * c.bn,
                     head_of_k, batch);
      };
      if (elected) {
        RIDGE_KEEP_LOOP
        for (int stage = 0; stage < a.ring; ++stage) {
          sm90::init(full + stage, 1);
          sm90::fence_init();
          if (first_tile + stage < last_tile) load(first_tile + stage, stage);
        }
      }
      __syncwarp();
      sm90::named_barrier_sync<c.threads>(ready);
      int stage = 0;
      unsigned parity = 0;
      RIDGE_KEEP_LOOP
      for (int tile = first_tile + a.ring; tile < last_tile; ++tile) {
        sm90::wait(empty + stage, parity);
        if (elected) load(tile, stage);
        if (++stage == a.ring) stage = 0, parity ^= 1;
      }
      __syncwarp();
      if (parts == 1) return;
      const std::int64_t place = std::int64_t{batch} * gridDim.x + blockIdx.x;
      if (elected) tile::claim_arrivals(a.arrivals + place, a.run);
      __syncwarp();
      sm90::named_barrier_sync<c.threads>(arrived);  // the block's part has been stored
      if (elected) {
        const bool am_last = sm90::arrives_last(a.arrivals + place, parts);
        *last = am_last;
        if (am_last) {
          const int floats = parts * part_floats;
          sm90::fence_global_for_copies();
          sm90::arrive_and_expect_tx(gathered, static_cast<unsigned>(floats) * 4);
          sm90::copy_bulk(shared + K::ring_at, a.parts + place * floats, static_cast<unsigned>(floats) * 4, gathered);
        }
      }
      __syncwarp();
      sm90::named_barrier_arrive<c.threads>(last_known);
      return;
    }

    if (warp_index == 0 && sm90::is_elected()) {
#pragma unroll
      for (int s = 0; s <= K::ring; ++s) sm90::init(empty + s, 1);  // and `gathered`
      sm90::fence_init();
    }
    constexpr int vector = 16 / sizeof(T), row_vectors = c.d / vector;
    const T* const from_q = a.q + batch * a.q_batch + head * a.q_head;
#pragma unroll
    for (int first = 0; first < c.bm * row_vectors; first += K::threads) {
      const int n = first + static_cast<int>(threadIdx.x), r = n / row_vectors, column = n % row_vectors * vector;
      const bool valid = r < rows && column < a.d;
      if (n < c.bm * row_vectors)
        tile::copy_async<16>(shared + PanelTile<c.bm>::at(r, column), valid ? from_q + r * a.q_head + column : from_q,
                             valid ? 16 : 0);
    }
    float* const sums = reinterpret_cast<float*>(shared + K::sums_at);
    tile::wait_for_copies();
    sm90::named_barrier_sync<c.threads>(ready);  // Q and barriers are ready
    DecodeOneWarp<Policy, T> warp;
    warp.read_q(sm90::shared_address(shared));
    int stage = warp_index;
    unsigned parity = 0;
    RIDGE_KEEP_LOOP
    for (int tile = first_tile + warp_index; tile < last_tile; tile += K::warps) {
      const unsigned k = sm90::shared_address(shared + K::ring_at + stage * K::tile_bytes);
      sm90::wait(full + stage, parity);
      warp.multiply_qk(k);
      if (const int left = keys - tile * c.bn; left < c.bn) {
        warp.apply_mask(left);
        if (a.lengths.data) warp.clear_values(shared + K::ring_at + stage * K::tile_bytes + K::k_bytes, left);
      }
      warp.compute_p(a.scale_log2);
      warp.add_pv(k + K::k_bytes);
      __syncwarp();  // all lanes have read the tile
      if (lane == 0) sm90::arrive(empty + stage);
      if ((stage += K::warps) >= a.ring) stage = warp_index, parity ^= 1;
    }
    warp.store(sums + warp_index * decode_part_floats(c, c.bm), rows);
    sm90::named_barrier_sync<K::threads>(summed);

    // Merges the parts of the block's warps; then, in the last block of a sequence's heads, those of all splits.
    const float* from = sums;
    int count = K::warps, step = decode_part_floats(c, c.bm);
    const std::int64_t place = std::int64_t{batch} * gridDim.x + blockIdx.x;
    bool whole = parts == 1;
    RIDGE_KEEP_LOOP
    while (true) {
      for (int n = static_cast<int>(threadIdx.x); n < rows * (c.dv / 4); n += K::threads) {
        const int r = n / (c.dv / 4), column = n % (c.dv / 4) * 4;
        if (column >= a.dv) continue;
        const int o_at = 2 * c.bm + r * (c.dv + pad) + column;
        const DecodePiece all = merge_parts(from + 2 * r, from + o_at, count, step, a.scale_log2);
        if (whole) {
          const float inverse = all.row.sum == 0 ? 0 : __fdividef(1, all.row.sum);
          simt::vec<T, 4> o;
#pragma unroll
          for (int e = 0; e < 4; ++e) o[e] = T(all.o[e] * inverse);
          const std::int64_t h = head + r;
          simt::store(a.o + batch * a.o_batch + h * a.o_head + column, o);
          if (a.lse && column == 0)
            a.lse[batch * a.lse_batch + h * a.lse_head] =
                all.row.sum == 0 ? minus_infinity : all.row.reference().log_of(all.row.sum, a.scale_log2);
        } else {
          float* const to = a.parts + (place * parts + part) * part_floats;
          simt::store(to + o_at, all.o);
          if (column == 0) simt::store(to + 2 * r, simt::vec<float, 2>{all.row.sum, all.row.row_max});
        }
      }
      if (whole) break;
      whole = true;
      sm90::named_barrier_arrive<c.threads>(arrived);
      sm90::named_barrier_sync<c.threads>(last_known);
      if (!*last) break;
      sm90::wait(gathered, 0);
      from = reinterpret_cast<const float*>(shared + K::ring_at);
      count = parts;
      step = part_floats;
    }
  }
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

template <class T> struct DecodeOneRows : RowsOf<Algorithm::decode_one, T> {
  // Keys that the query does not attend to are outside of the map.
  static Status make_map(tile::sm90::TensorMap* map, const Config& c, const AttentionProblem& p, const TensorView& view,
                         const AttentionOperand& at, std::int64_t columns) {
    const decode_one::KeyRange keys = decode_one::keys_of(p);
    const T* const from = static_cast<const T*>(view.data) + keys.first * at.row;
    return tile::sm90::make_tensor_map(map, from, dtype_of<T>, columns,
                                       {{keys.count(), at.row}, {p.hkv, at.head}, {p.b, at.batch}}, c.bn,
                                       tile::sm90::line_bytes, tile::sm90::Fetch::lines);
  }
  static DecodeOneArguments<T> decode_arguments_of(const Config& c, const Call& call) {
    const AttentionProblem& p = call.problem;
    const Arguments<T> all = arguments_of<T>(call);
    const int splits = call.plan.splits, heads = static_cast<int>(pack_of(c, p)), blocks = (heads + c.bm - 1) / c.bm;
    const std::int64_t keys = decode_one::keys_of(p).count();
    DecodeOneArguments<T> args{.q = all.q,
                               .o = all.o,
                               .lse = all.lse,
                               .lengths = indices_of(call.tensors.lengths, p.lengths, keys),
                               .keys = static_cast<int>(keys),
                               .heads = heads,
                               .blocks = blocks,
                               .d = static_cast<int>(p.d),
                               .dv = static_cast<int>(p.dv),
                               .tiles = static_cast<int>(ceil_div(ceil_div(keys, c.bn), splits)),
                               .ring = decode_one::ring_tiles(c, p, call.plan.device, splits),
                               .scale_log2 = all.scale * log2_e,
                               .parts = nullptr,
                               .arrivals = nullptr,
                               .run = 0,
                               .q_batch = all.at_q.batch,
                               .q_head = all.at_q.head,
                               .o_batch = all.at_o.batch,
                               .o_head = all.at_o.head,
                               .lse_batch = all.at_lse.batch,
                               .lse_head = all.at_lse.head};
    if (splits == 1) return args;
    // The workspace has the parts, aligned to 16 bytes, and then the arrival counters.
    args.parts = static_cast<float*>(call.workspace.data);
    args.arrivals = reinterpret_cast<tile::Arrivals*>(
        args.parts + p.b * p.hkv * blocks * splits * decode_part_floats(c, decode_part_rows(c, heads)));
    args.run = tile::run_number();
    return args;
  }
  template <int I> static Status launch(const Call& call) {
    constexpr Config c = variants[I].config;
    const AttentionProblem& p = call.problem;
    DecodeOneMaps maps;
    RIDGE_TRY(make_map(&maps.k, c, p, call.tensors.k, *p.k, p.d));
    RIDGE_TRY(make_map(&maps.v, c, p, call.tensors.v, *p.v, p.dv));
    const DecodeOneArguments<T> args = decode_arguments_of(c, call);
    simt::Config at = launch_config(call, p.hkv * args.blocks);
    at.grid.z = static_cast<unsigned>(p.b);
    at.smem = static_cast<std::size_t>(decode_one_bytes(c, args.ring));
    return tile::sm90::launch_dependent_clusters(at, 1, attention_decode_one<Policy<I>, T>, args, maps);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
