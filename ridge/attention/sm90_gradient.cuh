// Gradients of attention on Hopper's tensor cores: f16 and bf16. The formulas are in gradient.cuh.
//
// A block owns a tile of keys, 64 for each of its two consumers, and iterates over the queries that attend to them,
// from the first tile to the last, for every head that shares the keys. S and dP have keys as rows: P and dS are then
// in registers as the left operands of dV and dK, which accumulate in registers too. dQ needs the transpose: dS goes to
// shared memory, which tensor cores read transposed, and a tile of dQ leaves in float32 by bulk copies that add. (Dao,
// "FlashAttention-2", 2023; Shah et al., "FlashAttention-3", 2024.)
//
// With few key heads the heads that share keys are split into parts, each with blocks of its own, and with few keys a
// head's queries are too: dK and dV of each part go to the workspace in float32, and a post-processing kernel sums them
// in the parts' order.
//
// Blocks add to a tile of dQ in the order of their keys, from the last ones on, unless nondeterministic. A block takes
// its number when it begins and waits only for smaller numbers, so a block that is waited for is running. With a causal
// mask every block begins at different queries, and finds that the one before it has already added. Without a mask
// blocks follow one another at the distance of an addition, and blocks of several heads interleave, so that fewer
// blocks of one head run at a time.
//
// Zero times NaN would reach sums from rows that a pair may not meet in. Where that can happen, at the edges of masks,
// spare warps check the tiles, and what they find is left out of the products that sum over it.
#pragma once
#include <ridge/attention/sm90_gradient_prepost.cuh>
#include <ridge/attention/sm90_gradient_steps.cuh>
#include <ridge/attention/sm90_gradient_wide.cuh>
#include <ridge/attention/sm90_launch.cuh>
#include <ridge/tile/sm90/dependent_launch.cuh>

namespace ridge::attention_kernels {

// Consumer of 64 keys: a thread has two rows of S and dP with a tile of queries, and of dK and dV; and a consumer has
// 64 x 64 of the tile's dQ.
template <class Policy, class T, bool AsIs> class GradientConsumer : public GradientSteps<Policy, T, AsIs> {
  using Steps = GradientSteps<Policy, T, AsIs>;
  using Steps::c, Steps::first_, Steps::thread_;
  using K = WgmmaGradientKernel<Policy>;
  using Axis = tile::sm90::Axis;

 public:
  using Steps::row, Steps::pair, Steps::any_base;
  // consumer: 0 or 1. Addresses are in shared memory.
  __device__ __forceinline__ explicit GradientConsumer(int consumer) : Steps(consumer * 64), consumer_(consumer) {
#pragma unroll
    for (float& sum : dk_) sum = 0;
#pragma unroll
    for (float& sum : dv_) sum = 0;
  }

  // Starts S = K Q^T.
  __device__ __forceinline__ void start_qk(unsigned k, unsigned q) { this->template start_rows<c.d>(s_, k, q); }
  // Starts dP = V dO^T.
  __device__ __forceinline__ void start_dp(unsigned v, unsigned grad_o) {
    this->template start_rows<c.dv>(dp_, v, grad_o);
  }
  // Starts dV += P dO.
  __device__ __forceinline__ void start_dv(unsigned grad_o) { this->template start_sums<c.dv>(dv_, p_, grad_o); }
  // Starts dK += dS Q.
  __device__ __forceinline__ void start_dk(unsigned q) { this->template start_sums<c.d>(dk_, ds_, q); }
  // Starts dQ = dS^T K.
  __device__ __forceinline__ void start_dq(unsigned ds, unsigned k) {
    ds += K::by_queries ? mma_tile_bytes(c.bm, first_) : 0;
    k += K::by_queries ? 0 : mma_tile_bytes(c.bm, first_);
#pragma unroll
    for (int n = 0; n < c.bm; n += 16) {
      const unsigned down = tile::sm90::k_offset(Axis::outer, static_cast<unsigned>(n));
      tile::sm90::multiply<T, Axis::outer, Axis::outer, 64>(dq_, tile::sm90::descriptor(Axis::outer, ds + down, c.bm),
                                                            tile::sm90::descriptor(Axis::outer, k + down, c.bm), n > 0);
    }
    tile::sm90::commit_products();
  }

  // Computes P from products and rounds it, which leaves registers for the products in flight. span(r): the tile's
  // queries that meet row r.
  template <bool Masked, bool Far, class MaskAt, class SpanOf>
  __device__ __forceinline__ void compute_p(const Scores<T>& scores, const TileStats* stats, const float* bases,
                                            const MaskAt& mask, SpanOf span) {
    this->template compute_p_each<Masked, Far>(
        s_, scores, stats, bases, mask, span, [&](int n, int r, const float(&p)[2], const float(&slope)[2]) {
          p_[n / 2][n % 2 * 2 + r] = tile::pack_pair<T>(p[0], p[1]);
          if constexpr (!AsIs) sloped_[n / 2][n % 2 * 2 + r] = tile::pack_pair<T>(p[0] * slope[0], p[1] * slope[1]);
        });
  }
  // Computes dS from dP, and rounds it.
  template <bool Masked, class SpanOf> __device__ __forceinline__ void compute_ds(const TileStats* stats, SpanOf span) {
    this->template compute_ds_each<Masked>(
        dp_, stats, span,
        [&](int n, int r) { return AsIs ? p_[n / 2][n % 2 * 2 + r] : sloped_[AsIs ? 0 : n / 2][n % 2 * 2 + r]; },
        [&](int n, int r, const float(&ds)[2]) { ds_[n / 2][n % 2 * 2 + r] = tile::pack_pair<T>(ds[0], ds[1]); });
  }
  // Stores dS to shared memory: one line of 64 queries per key.
  __device__ __forceinline__ void store_ds(unsigned to) const { this->store_tile(to, ds_); }
  // Stores dQ to shared memory, in float32.
  __device__ __forceinline__ void store_dq(float* to) const {
#pragma unroll
    for (int j = 0; j < 8; ++j)
      if (8 * j < K::dq_last || consumer_ == 0)
        simt::store(to + 4 * dq_vector(consumer_, j, thread_),
                    simt::vec<float, 4>{dq_[4 * j], dq_[4 * j + 1], dq_[4 * j + 2], dq_[4 * j + 3]});
  }

  // The same, without NaN and infinities of K: the dS that must meet them is NaN.
  __device__ __forceinline__ void store_dq_of_finite(float* to, const unsigned char* ds, const unsigned char* k) const {
    ds += K::by_queries ? mma_tile_bytes(c.bm, first_) : 0;
    k += K::by_queries ? 0 : mma_tile_bytes(c.bm, first_);
#pragma unroll 1
    for (int j = 0; j < (consumer_ == 0 ? 8 : K::dq_last / 8); ++j) {
      simt::vec<float, 4> sums{0, 0, 0, 0};
#pragma unroll 1
      for (int key = 0; key < c.bm; ++key) {
        const auto at = [&](int column) {
          return tile::sm90::swizzled(static_cast<unsigned>(key), static_cast<unsigned>(column * 2));
        };
        float two[2];
        tile::unpack_pair<T>(without_special<T>(*reinterpret_cast<const unsigned*>(k + at(pair(j)))), two[0], two[1]);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          sums[i] = fmaf(static_cast<float>(*reinterpret_cast<const T*>(ds + at(row(i / 2)))), two[i % 2], sums[i]);
      }
      simt::store(to + 4 * dq_vector(consumer_, j, thread_), sums);
    }
  }
  template <class Value, class Meets> __device__ __forceinline__ void add_special(Value value, Meets meets) {
    this->add_special_to(dv_, value, meets);
  }

  // Stores dK and dV as T, to panels in shared memory.
  __device__ __forceinline__ void store_dk(unsigned char* to, float scale) const {
    this->template store_rows<c.d>(to, dk_, scale);
  }
  __device__ __forceinline__ void store_dv(unsigned char* to) const { this->template store_rows<c.dv>(to, dv_, 1); }
  // Stores those of the block's heads in float32 to the first `rows` of the block's rows in global memory.
  __device__ __forceinline__ void store_partial_dk(float* to, float scale, int rows) const {
    this->template store_partial_rows<c.d>(to, dk_, scale, rows);
  }
  __device__ __forceinline__ void store_partial_dv(float* to, int rows) const {
    this->template store_partial_rows<c.dv>(to, dv_, 1, rows);
  }

 private:
  int consumer_;
  float s_[c.bn / 2], dp_[c.bn / 2], dk_[c.d / 2], dv_[c.dv / 2], dq_[32];  // accumulators of wgmma
  // P and dS [64][bn], by 16 queries; and P times the slope of scores, where that is not 1.
  unsigned p_[c.bn / 16][4], ds_[c.bn / 16][4], sloped_[AsIs ? 1 : c.bn / 16][4];
};

// dK, dV, and the dQ accumulator in the workspace, without the scale.                  shapes: see GradientArguments
// Preconditions: cc 90; maps as in WgmmaGradientMaps and GradientMaskMap; rows of the tensors are whole 16-byte
// vectors; a mask tensor if and only if the Config has masks; the pre-processing kernel has run, or is the one before
// this; AsIs: no softcap and a positive scale; FloatMasks: the mask is of float32; d and dv are at most the Config's;
// gridDim.x is batch * key heads * parts * tiles of keys.
template <class Policy, class T, bool AsIs, bool FloatMasks = false>
__global__ void __launch_bounds__(Policy::config.threads, 1)
    attention_wgmma_gradient(const __grid_constant__ WgmmaGradientMaps maps,
                             const __grid_constant__ GradientArguments<T> a, const __grid_constant__ GradientWork work,
                             [[maybe_unused]] const __grid_constant__ GradientMaskOf<Policy> mask) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    constexpr Config c = Policy::config;
    using K = WgmmaGradientKernel<Policy>;
    unsigned char* shared = sm90::swizzled_shared();
    auto& sync = *reinterpret_cast<WgmmaGradientSync<c.stages>*>(shared + K::barriers_at);
    static_assert(sizeof sync == wgmma_gradient_barrier_bytes(c));
    const sm90::Pipeline<c.stages> pipeline_q{sync.full_q, sync.empty_q}, pipeline_o{sync.full_o, sync.empty_o};
    const auto stage_q = [=](int stage) { return shared + K::q_at + stage * K::q_bytes; };
    const auto stage_o = [=](int stage) { return shared + K::o_at + stage * K::o_bytes; };
    const auto stage_stats = [=](int stage) {
      return reinterpret_cast<TileStats*>(shared + K::stats_at + stage * K::stats_bytes);
    };
    const auto parity_of_mask = [](int step) { return static_cast<unsigned>(step % 2); };
    const int group = sm90::warpgroup_index();

    if (threadIdx.x == 0) {
      sm90::init(&sync.full_kv, 2);
      sm90::init(&sync.full_mask, 1);
      sm90::init(&sync.empty_mask, 1);
      for (int s = 0; s < c.stages; ++s) {
        sm90::init(sync.full_q + s, 2);  // the tile, and its statistics
        sm90::init(sync.full_o + s, 1);
        sm90::init(sync.empty_q + s, K::consumers);
        sm90::init(sync.empty_o + s, K::consumers);
        sm90::init(sync.arrived + s, 1);
        sm90::init(sync.checked + s, K::checkers);
        sync.special[s] = 0;
      }
      sync.special_k = 0;
      sm90::fence_init();
    }
    take_number(sync.number, maps, work);
    GradientWalk<Policy, T> walk(a, work, sync.number);

    if (group == 0) {
      sm90::dealloc_registers<K::producer_registers>();
      const int warp = sm90::warp_of_warpgroup();
      if (threadIdx.x == 0) {
        sm90::PipelineState<c.stages> at;
        for (int step = 0; step < walk.steps; ++step, walk.next(), at.next()) {
          pipeline_q.producer_acquire(at);
          load_panels<c.bn, c.d>(&maps.q, stage_q(at.stage), sync.full_q + at.stage, walk.first_query(), walk.head,
                                 walk.batch);
          pipeline_q.producer_expect(at, K::stats_bytes);
          sm90::copy_bulk(stage_stats(at.stage), work.stats + walk.place(work) * c.bn, K::stats_bytes,
                          sync.full_q + at.stage);
          if (step == 0) {
            load_panels<c.bm, c.d>(&maps.k, shared, &sync.full_kv, walk.first_key, walk.key_head(), walk.batch);
            load_panels<c.bm, c.dv>(&maps.v, shared + K::v_at, &sync.full_kv, walk.first_key, walk.key_head(),
                                    walk.batch);
          }
          pipeline_o.producer_acquire(at);
          load_panels<c.bn, c.dv>(&maps.grad_o, stage_o(at.stage), sync.full_o + at.stage, walk.first_query(),
                                  walk.head, walk.batch);
          if constexpr (c.masks) {
            sm90::wait(&sync.empty_mask, parity_of_mask(step) ^ 1);
            if constexpr (FloatMasks)
              walk.template load_mask<FloatMaskTile::columns>(mask, shared + K::float_mask_at, &sync.full_mask);
            else walk.load_mask(mask, shared + K::mask_at, &sync.full_mask);
          }
        }
      } else if (warp == 1) {
        // The warp that adds dQ to the accumulator.
        const bool is_leader = threadIdx.x % 32 == 0;
        const simt::tile<32> lanes;
        const auto release_dq = [](int step) {
          const int place = step % K::dq_stages * K::consumers;
          for (int m = 0; m < K::consumers; ++m) sm90::named_barrier_arrive<K::with_adder>(K::read + place + m);
        };
        for (int step = 0; step < ::min(walk.steps, K::dq_stages); ++step) release_dq(step);
        for (int step = 0; step < walk.steps; ++step, walk.next()) {
          const int stage = step % K::dq_stages;
          const std::int64_t place = walk.place(work);
          const unsigned predecessors = walk.predecessors();
          if (is_leader && work.in_order) sm90::semaphore_wait(work.semaphores + place, predecessors);
          lanes.sync();
          for (int m = 0; m < K::consumers; ++m) {
            sm90::named_barrier_sync<K::with_adder>(K::full + stage * K::consumers + m);
            if (is_leader) {
              float* to = walk.dq(work) + m * K::dq_elements;
              const unsigned char* from = shared + K::dq_at + stage * K::dq_bytes + m * K::dq_elements * 4;
              if (work.in_order && predecessors == 0) sm90::store_bulk(to, from, K::dq_bytes_of(m));
              else sm90::add_bulk(to, from, K::dq_bytes_of(m));
              sm90::commit_stores();
            }
            lanes.sync();
          }
          if (is_leader) sm90::wait_stores_read<0>();
          lanes.sync();
          if (step + K::dq_stages < walk.steps) release_dq(step + K::dq_stages);
          if (is_leader && work.in_order) {
            sm90::wait_stores<0>();
            sm90::semaphore_release(work.semaphores + place, predecessors);
          }
        }
        if (is_leader) sm90::wait_stores<0>();
      } else if (warp >= 2) {
        const int thread = static_cast<int>(threadIdx.x) - 64;
        sm90::PipelineState<c.stages> at;
        [[maybe_unused]] Parities arrived;
        bool of_k = false;  // K has been checked
        for (int step = 0; step < walk.steps; ++step, walk.next(), at.next()) {
          if (!walk.at_edge()) continue;
          // Consecutive steps signal every phase, so none can be missed.
          if constexpr (!c.masks) arrived.await(sync.arrived, at.stage);
          if (!of_k) {
            sm90::wait(&sync.full_kv, 0);
            if (finds_special<K::v_at, K::checkers, T>(shared, thread)) atomicMax(&sync.special_k, 1);
            of_k = true;
          }
          pipeline_q.consumer_wait(at);
          pipeline_o.consumer_wait(at);
          if (finds_special<K::q_bytes, K::checkers, T>(stage_q(at.stage), thread) ||
              finds_special<K::o_bytes, K::checkers, T>(stage_o(at.stage), thread))
            atomicMax(sync.special + at.stage, step + 1);
          sm90::arrive(sync.checked + at.stage);
        }
      }
      return;
    }

    sm90::alloc_registers<K::consumer_registers>();
    const int consumer = group - 1, first = walk.first_key + consumer * 64;
    const bool is_leader = threadIdx.x % 128 == 0;
    const unsigned base = sm90::shared_address(shared);
    GradientConsumer<Policy, T, AsIs> m(consumer);
    const Scores<T> scores(a);
    const auto span = [&](int r) { return walk.span(first + m.row(r)); };
    const auto address = [&](const unsigned char* tile) { return base + static_cast<unsigned>(tile - shared); };
    sm90::PipelineState<c.stages> at;
    Parities checked;
    bool found_special = false;

    const auto start_qk = [&](const auto& state) {
      pipeline_q.consumer_wait(state);
      sm90::fence_sums();
      m.start_qk(base, address(stage_q(state.stage)));
    };

    if (walk.steps > 0) {
      sm90::wait(&sync.full_kv, 0);
      start_qk(at);
      bool far = m.any_base(stage_stats(at.stage));  // overlaps the products
      for (int step = 0; step < walk.steps; ++step, walk.next(), at.next()) {
        const unsigned q = address(stage_q(at.stage)), grad_o = address(stage_o(at.stage));
        const TileStats* stats = stage_stats(at.stage);
        unsigned char* ds = shared + K::ds_at + (FloatMasks ? 0 : at.stage) * K::ds_apart;
        const bool whole = walk.whole(first, 64), at_edge = walk.at_edge();

        pipeline_o.consumer_wait(at);
        if (!c.masks && at_edge && consumer == 0 && is_leader) sm90::arrive(sync.arrived + at.stage);
        // The scores. No product may be in flight behind those of an earlier step: nvcc would serialize all of them.
        sm90::wait_products<0>();
        sm90::fence_sums();
        m.start_dp(base + K::v_at, grad_o);
        if (c.masks) sm90::wait(&sync.full_mask, parity_of_mask(step));
        const float* const bases = work.bases + walk.place(work) * c.bn;
        if constexpr (FloatMasks) {
          const FloatMaskTile tile{shared + K::float_mask_at};
          if (far) m.template compute_p<true, true>(scores, stats, bases, tile, span);
          else m.template compute_p<true, false>(scores, stats, bases, tile, span);
        } else {
          if (far) m.template compute_p<true, true>(scores, stats, bases, base + K::mask_at, span);
          else if (whole) m.template compute_p<false, false>(scores, stats, bases, base + K::mask_at, span);
          else m.template compute_p<true, false>(scores, stats, bases, base + K::mask_at, span);
        }
        sm90::wait_products<0>();
        if (whole) m.template compute_ds<false>(stats, span);
        else m.template compute_ds<true>(stats, span);
        if constexpr (FloatMasks) sm90::named_barrier_sync<256>(K::both);  // no dQ still reads the only stage
        m.store_ds(address(ds));

        bool special_k = false;
        if (at_edge) {
          checked.await(sync.checked, at.stage);
          special_k = sync.special_k != 0;
          if (sync.special[at.stage] == step + 1) {  // both consumers have used the unmodified tiles
            found_special = true;
            sm90::named_barrier_sync<256>(K::both);
            const int thread = static_cast<int>(threadIdx.x) - 128;
            clear_special<K::q_bytes, 256, T>(stage_q(at.stage), thread);
            clear_special<K::o_bytes, 256, T>(stage_o(at.stage), thread);
            sm90::fence_shared_for_copies();  // orders the stores before products
            sm90::named_barrier_sync<256>(K::both);
          }
        }

        sm90::fence_sums();
        m.start_dv(grad_o);
        sm90::fence_shared_for_copies();
        sm90::named_barrier_sync<256>(K::both);  // all of dS is stored, and the mask is read
        if (c.masks && consumer == 0 && is_leader) sm90::arrive(&sync.empty_mask);
        sm90::fence_sums();
        m.start_dq(address(ds), base);
        m.start_dk(q);
        sm90::wait_products<2>();  // dV
        if (is_leader) pipeline_o.consumer_release(at.stage);
        // The next scores; after the last step the same ones again, which costs less than a branch among products.
        sm90::PipelineState<c.stages> next = at;
        if (step + 1 < walk.steps) next.next();
        start_qk(next);
        far = m.any_base(stage_stats(next.stage));
        sm90::wait_products<2>();  // dQ
        const int place = step % K::dq_stages, barrier = place * K::consumers + consumer;
        float* const sums = reinterpret_cast<float*>(shared + K::dq_at + place * K::dq_bytes);
        sm90::named_barrier_sync<K::with_adder>(K::read + barrier);
        if (special_k) m.store_dq_of_finite(sums, ds, shared);
        else m.store_dq(sums);
        sm90::fence_shared_for_copies();
        sm90::named_barrier_arrive<K::with_adder>(K::full + barrier);
        sm90::wait_products<1>();  // dK
        if (is_leader) pipeline_q.consumer_release(at.stage);
      }
      sm90::wait_products<0>();
    }
    if (found_special) {
      GradientWalk<Policy, T> again(a, work, sync.number);
      for (int step = 0; step < again.steps; ++step, again.next()) {
        if (!again.at_edge()) continue;
        const Matrix<const T> rows(a.grad_o, a.at_grad_o, again.batch, again.head);
        m.add_special(
            [&](int query, int column) {
              const int i = again.first_query() + query;
              return column < a.dv && i < a.sq ? float(rows(i)[column]) : 0.0f;
            },
            [&](int r, int query) { return again.meets(first + m.row(r), query); });
      }
    }

    if (work.parts > 1) {
      const std::int64_t row = walk.partial_row(work);
      m.store_partial_dk(work.partial_k + row * c.d, a.scale, a.sk - walk.first_key);
      m.store_partial_dv(work.partial_v + row * c.dv, a.sk - walk.first_key);
      return;
    }
    // dK and dV go through this consumer's rows of the places of K and V.
    sm90::named_barrier_sync<256>(K::both);
    m.store_dk(shared, a.scale);
    m.store_dv(shared + K::v_at);
    sm90::fence_shared_for_copies();
    sm90::sync_warpgroup(K::own + consumer);
    if (is_leader && first < a.sk) {
      const auto store = [&](const sm90::TensorMap* map, const unsigned char* from, int columns) {
        for (int p = 0; p < panels(columns); ++p)
          sm90::store(map, from + mma_tile_bytes(c.bm, p * panel) + sm90::outer_offset(consumer * 64), p * panel, first,
                      walk.key_part, walk.batch);  // a part is a whole group here
      };
      store(&maps.grad_k, shared, c.d);
      store(&maps.grad_v, shared + K::v_at, c.dv);
      sm90::commit_stores();
      sm90::wait_stores_read<0>();
    }
  }
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

// Number of heads in falling order (GradientWalk), for heads whose later tiles of keys meet fewer queries: enough for
// one block per multiprocessor, but at most half; none where each block has a multiprocessor.
constexpr std::int64_t falling_heads(std::int64_t heads, std::int64_t key_tiles, std::int64_t sms) {
  if (heads * key_tiles <= sms) return 0;
  return std::min((sms + key_tiles / 2) / key_tiles, heads / 2);
}

[[maybe_unused]] GradientWork gradient_work_of(const Config& c, const Call& call) {
  const AttentionProblem& p = call.problem;
  const wgmma_gradient::WorkspaceParts room = wgmma_gradient::workspace_parts(c, p, call.plan.splits);
  char* at = static_cast<char*>(call.workspace.data);
  GradientWork work{};
  work.dq_accum = reinterpret_cast<float*>(at);
  work.stats = reinterpret_cast<TileStats*>(at += room.dq_accum);
  work.bases = reinterpret_cast<float*>(at += room.stats);
  work.partial_k = reinterpret_cast<float*>(at += room.bases + room.mask);
  work.partial_v = reinterpret_cast<float*>(at += room.partial_k);
  work.next = reinterpret_cast<unsigned*>(at += room.partial_v);
  work.semaphores = work.next + 1;
  work.tiles = static_cast<int>(room.tiles);
  work.parts = call.plan.splits;
  const wgmma_gradient::PartOfGroup part_of = wgmma_gradient::part_of_group(p, call.plan.splits);
  work.heads_of_part = static_cast<int>(part_of.heads);
  work.tiles_of_part = static_cast<int>(ceil_div(room.tiles, part_of.query_parts));
  work.in_order = !call.problem.rule.nondeterministic;
  work.counts = work.in_order && p.sk > c.bm;
  // Half of the L2 cache holds Q, dO and dQ of the parts whose blocks interleave. Where an addition takes longer than a
  // tile's products, blocks of one head wait longer the more of them run at a time, and the last heads longest: there
  // two thirds, and groups of equal size. More than the cache holds was measured: slower with causal masks.
  const bool waits = work.in_order && specializes_consumers(c);
  const std::int64_t of_keys = std::max<std::int64_t>(1, p.b * p.hkv * work.parts);
  if (work.in_order && p.rule.right >= 0 && p.rule.left < 0)
    work.falling = static_cast<unsigned>(falling_heads(of_keys, ceil_div(p.sk, c.bm), call.plan.device.sms));
  const std::int64_t heads = of_keys - work.falling;
  const std::int64_t bytes = part_of.heads * work.tiles_of_part * c.bn * (2 * c.d + 2 * c.dv + 4 * c.d);
  const std::int64_t part = call.plan.device.l2_bytes / 6 * (waits ? 4 : 3);
  const std::int64_t fit = std::clamp<std::int64_t>(part / std::max<std::int64_t>(1, bytes), 1, heads);
  const std::int64_t groups = waits ? ceil_div(heads, fit) : 1;
  const std::int64_t interleaved = waits ? ceil_div(heads, groups) : fit, key_tiles = ceil_div(p.sk, c.bm);
  work.interleaved = static_cast<unsigned>(interleaved);
  const auto divider = [](std::int64_t n) { return Divider(std::max<std::int64_t>(1, n)); };
  // At most as many blocks of a group as there are blocks, of which a grid has less than 2^31.
  work.by_group_blocks = divider(key_tiles * interleaved);
  work.by_interleaved = divider(interleaved);
  work.by_rest = divider(heads % interleaved);
  work.by_falling = divider(work.falling);
  work.by_batch_parts = divider(p.hkv * work.parts);
  work.by_ranges = divider(part_of.query_parts);
  return work;
}

// Makes the mask's map; where the mask has to be copied, launches the copy first.
template <class T>
Status make_mask(GradientMaskMap* map, const Config& c, const Call& call, const GradientArguments<T>& a) {
  const AttentionProblem& p = call.problem;
  const wgmma_gradient::MaskShape shape = wgmma_gradient::mask_shape(c, p);
  *map = {{}, shape.batch > 1, shape.heads > 1, p.mask_layout->row != 0, p.mask_dtype == f32};
  if (map->in_f32 && specializes_consumers(c)) return {};
  const auto map_of = [&](const void* data, const AttentionOperand& at) {
    return (map->in_f32 ? make_map<float> : make_map<T>)(&map->map, data, at, p.sk, shape.rows, shape.heads,
                                                         shape.batch, c.bn);
  };
  if (!shape.is_copied) return map_of(call.tensors.mask->data, *p.mask_layout);
  const wgmma_gradient::WorkspaceParts room = wgmma_gradient::workspace_parts(c, p, call.plan.splits);
  void* to = static_cast<char*>(call.workspace.data) + room.dq_accum + room.stats + room.bases;
  const std::int64_t vectors = shape.elements() / mask_copy_vector;
  const auto copy = [&](auto kernel, auto* elements) {
    return simt::launch(launch_config(call, ceil_div(vectors, mask_copy_threads), mask_copy_threads), kernel, a,
                        elements, static_cast<int>(shape.batch), static_cast<int>(shape.heads),
                        static_cast<int>(shape.rows), static_cast<int>(shape.columns));
  };
  RIDGE_TRY(map->in_f32 ? copy(attention_mask_copy<float, T>, static_cast<float*>(to))
                        : copy(attention_mask_copy<T, T>, static_cast<T*>(to)));
  return map_of(to, {.batch = shape.heads * shape.rows * shape.columns,
                     .head = shape.rows * shape.columns,
                     .row = shape.columns,
                     .element = 1,
                     .alignment_offset = 0});
}

template <class T> struct WgmmaGradientRows : RowsOf<Algorithm::wgmma_gradient, T> {
  // float_mask: the instance for scores of every kind takes masks of float32. In one kernel with tiles of 16-bit masks,
  // and in one for scores that are products, nvcc runs out of registers and serializes the products.
  template <int I, bool AsIs> static constexpr auto kernel([[maybe_unused]] bool float_mask) {
    constexpr Config c = variants[I].config;
    if constexpr (specializes_consumers(c)) return attention_wide_gradient<Policy<I>, T, AsIs>;
    else if constexpr (AsIs || !c.masks) return attention_wgmma_gradient<Policy<I>, T, AsIs>;
    else
      return float_mask ? attention_wgmma_gradient<Policy<I>, T, false, true>
                        : attention_wgmma_gradient<Policy<I>, T, false>;
  }
  // Maps of the row's kernel over keys.
  template <int I> static Status make_maps(WgmmaGradientMaps& maps, const Call& call) {
    constexpr Config c = variants[I].config;
    const AttentionProblem& p = call.problem;
    const AttentionGradientTensors& t = *call.gradient;
    RIDGE_TRY(make_map<T>(&maps.k, t.k.data, *p.k, p.d, p.sk, p.hkv, p.b, c.bm));
    RIDGE_TRY(make_map<T>(&maps.v, t.v.data, *p.v, p.dv, p.sk, p.hkv, p.b, c.bm));
    RIDGE_TRY(make_map<T>(&maps.grad_k, t.grad_k.data, *p.grad_k, p.d, p.sk, p.hkv, p.b, 64));  // a consumer's rows
    RIDGE_TRY(make_map<T>(&maps.grad_v, t.grad_v.data, *p.grad_v, p.dv, p.sk, p.hkv, p.b, 64));
    maps.q = maps.k;  // without queries there is no map
    maps.grad_o = maps.v;
    if (p.b * p.hq * p.sq == 0) return {};
    RIDGE_TRY(make_map<T>(&maps.q, t.q.data, *p.q, p.d, p.sq, p.hq, p.b, c.bn));
    return make_map<T>(&maps.grad_o, t.grad_o.data, *p.grad_o, p.dv, p.sq, p.hq, p.b, c.bn);
  }
  template <int I>
  static Status launch_main(const Call& call, const GradientArguments<T>& a, const GradientWork& work) {
    constexpr Config c = variants[I].config;
    simt::Config at = config_of_keys(call);
    if (at.grid.x == 0) return {};
    at.grid = dim3(at.grid.x * at.grid.y);  // blocks of all parts take their numbers from one counter
    WgmmaGradientMaps maps;
    RIDGE_TRY(make_maps<I>(maps, call));
    GradientMaskOf<Policy<I>> mask;
    if constexpr (c.masks)
      if (call.problem.b * call.problem.hq * work.tiles > 0) RIDGE_TRY(make_mask<T>(&mask, c, call, a));
    const bool float_mask = c.masks && call.problem.mask_dtype == f32;
    const bool as_is = a.softcap == 0 && a.scale > 0 && !float_mask;
    return tile::sm90::launch_dependent_clusters(
        at, 1, as_is ? kernel<I, true>(float_mask) : kernel<I, false>(float_mask), maps, a, work, mask);
  }
  template <int I> static Status launch(const Call& call) {
    constexpr Config c = variants[I].config;
    const AttentionProblem& p = call.problem;
    const auto a = gradient_arguments_of<T>(call);
    const GradientWork work = gradient_work_of(c, call);
    constexpr std::int64_t preprocess_rows = gradient_preprocess_threads / gradient_row_lanes(c);  // rows per block
    const std::int64_t preprocess_blocks =
        std::max<std::int64_t>(1, ceil_div(p.b * p.hq * work.tiles * c.bn, preprocess_rows));
    RIDGE_TRY(simt::launch(launch_config(call, preprocess_blocks, gradient_preprocess_threads),
                           attention_wgmma_gradient_preprocess<Policy<I>, T>, a, work));
    RIDGE_TRY(launch_main<I>(call, a, work));
    const auto config_of_vectors = [&](std::int64_t vectors) {
      return launch_config(call, ceil_div(vectors, gradient_postprocess_threads), gradient_postprocess_threads);
    };
    // Each kernel may begin as the one before it ends.
    const int cc = call.plan.device.cc;
    if (work.parts > 1)
      RIDGE_TRY(tile::launch_dependent(cc, config_of_vectors(p.b * p.hkv * p.sk * ((c.d + c.dv) / 8)),
                                       attention_wgmma_gradient_sum_parts<Policy<I>, T>, a, work));
    const std::int64_t vectors = p.b * p.hq * p.sq * (c.d / 8);
    if (vectors == 0) return {};
    return tile::launch_dependent(cc, config_of_vectors(vectors), attention_wgmma_gradient_postprocess<Policy<I>, T>, a,
                                  work);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
