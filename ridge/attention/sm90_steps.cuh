// First step of the ladder on Hopper's tensor cores, of which sm90_wgmma.cuh is the last: TMA loads tiles and wgmma
// reads them, without warp specialization. Each tile's scores, P and P V follow one another; the next tile is loaded
// meanwhile, and a block barrier says when its place is free.
#pragma once
#include <ridge/attention/sm90_consumer.cuh>
#include <ridge/attention/sm90_order.cuh>
#include <ridge/attention/sm90_tiles.cuh>

namespace ridge::attention_kernels {

template <int Stages> struct WgmmaStepSync { tile::sm90::Barrier full_q, full[Stages]; };

// o = softmax(scores(q k^T)) v                                                  shapes: see Arguments
//   shared  as WgmmaKernel says
// Preconditions: those of attention_wgmma; gridDim.x is batch * heads * tiles of queries; all sequences have one
// length.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, 1)
    attention_wgmma_alone(const __grid_constant__ WgmmaMaps maps, const __grid_constant__ Arguments<T> a) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    constexpr Config c = Policy::config;
    using K = WgmmaKernel<Policy>;
    using Sync = WgmmaStepSync<c.stages>;
    static_assert(sizeof(Sync) <= wgmma_barrier_bytes(c) && K::producers == 0 && c.stages == 2);
    unsigned char* shared = sm90::swizzled_shared();
    auto& sync = *reinterpret_cast<Sync*>(shared + K::barriers_at);
    const auto stage_k = [=](int stage) { return shared + K::k_at + stage * K::k_bytes; };
    const auto stage_v = [=](int stage) { return shared + K::v_at + stage * K::v_bytes; };
    const BlockCoord at((a.sq + c.bm - 1) / c.bm, a.heads);
    const WgmmaWalk<Policy, T> walk(a, at.tile * c.bm);
    const int kv_head = at.head / a.group;
    const auto start = [&](int tile) {
      load_panels<c.bn, c.d>(&maps.k, stage_k(tile % 2), sync.full + tile % 2, walk.first(tile), kv_head, at.batch);
      load_panels<c.bn, c.dv>(&maps.v, stage_v(tile % 2), sync.full + tile % 2, walk.first(tile), kv_head, at.batch);
    };
    if (threadIdx.x == 0) {
      sm90::init(&sync.full_q, K::consumers);
      for (int s = 0; s < c.stages; ++s) sm90::init(sync.full + s, 2);  // K and V
      sm90::fence_init();
      for (int m = 0; m < K::consumers; ++m)
        load_panels<64, c.d>(&maps.q, shared + sm90::outer_offset(m * 64), &sync.full_q, walk.first_query + m * 64,
                             at.head, at.batch, K::q_panel);
      if (walk.tiles > 0) start(0);
    }
    __syncthreads();

    const int group = sm90::warpgroup_index(), first_row = group * 64;
    WgmmaConsumer<Policy, T> m(first_row);
    const Scores<T> scores(a);
    m.clear();
    int first_special = walk.tiles;  // the first tile whose V was cleared of NaN or infinity
    sm90::wait(&sync.full_q, 0);
    for (int tile = 0; tile < walk.tiles; ++tile) {
      const bool whole = walk.whole.contains(tile);
      const auto span = [&, first = walk.first(tile)](int r) {
        return span_of(a, walk.first_query + m.row(r), first, ::min(first + c.bn, walk.keys.last));
      };
      if (threadIdx.x == 0 && tile + 1 < walk.tiles) start(tile + 1);
      sm90::wait(sync.full + tile % 2, tile / 2 & 1);
      // NaN and infinite values are left out of the product, and added to the queries that attend to them.
      if (!whole) {
        const int thread = static_cast<int>(threadIdx.x);
        if (__syncthreads_or(finds_special<K::v_bytes, c.threads, T>(stage_v(tile % 2), thread))) {
          first_special = ::min(first_special, tile);
          clear_special<K::v_bytes, c.threads, T>(stage_v(tile % 2), thread);
          sm90::fence_shared_for_copies();  // orders the stores before products
          __syncthreads();
        }
      }
      sm90::fence_sums();
      m.start_qk(sm90::shared_address(shared), sm90::shared_address(stage_k(tile % 2)));
      sm90::wait_products<0>();
      if (!scores.as_is) m.for_scores([&](int, int, float product) { return scores.of(product); });
      if (!whole) m.apply_mask(span);
      m.compute_p(scores.scale_log2);
      m.rescale();
      m.pack_p();
      sm90::fence_sums();
      m.start_pv(sm90::shared_address(stage_v(tile % 2)));
      sm90::wait_products<0>();
      m.settle();
      __syncthreads();  // all have read the tile
    }
    m.finish();

    // O goes through this warpgroup's rows of the staging buffer.
    unsigned char* const out = shared + K::o_at;
    const int first_query = walk.first_query + first_row;
    static_assert(K::o_columns == c.dv, "O leaves at once");
    m.store(sm90::shared_address(out), 0);
    if (first_special < walk.tiles) {
      sm90::sync_warpgroup(K::own + group);
      add_special<Policy, false, K::o_columns>(a, at, walk, {first_special, walk.tiles}, first_row, 0,
                                               StagedO<Policy, T>{out, first_row, 0});
    }
    sm90::fence_shared_for_copies();
    sm90::sync_warpgroup(K::own + group);
    if (threadIdx.x % 128 == 0 && first_query < a.sq) {
      for (int p = 0; p < c.dv / panel; ++p)
        sm90::store(&maps.o, out + p * K::q_panel + sm90::outer_offset(first_row), p * panel, first_query, at.head,
                    at.batch);
      sm90::commit_stores();
      sm90::wait_stores_read<0>();
    }
#pragma unroll
    for (int r = 0; r < m.rows; ++r) {
      const int query = walk.first_query + m.row(r);
      if (threadIdx.x % 4 == 0 && query < a.sq)
        store_lse(a, at.batch, at.head, query, m.running[r].lse(scores.scale_log2));
    }
  }
}

}  // namespace ridge::attention_kernels
