// Gradients of attention on Hopper's tensor cores: f16 and bf16. What is computed is in gradient.cuh.
//
// A block owns a tile of keys, of which each of its two multiplying warpgroups has 64, and walks over the queries that
// attend to them, from the first tile to the last, of every head that shares the keys. Scores and dP are taken with
// keys as rows: then weights and dX lie in registers as the left operands of dV and dK do, whose sums stay in registers
// too. dQ needs the other direction: dX goes to shared memory, where tensor cores read it turned, and a tile of dQ
// leaves in float32 by copies that add. (Dao, "FlashAttention-2", 2023; Shah et al., "FlashAttention-3", 2024.)
//
// Each tile of dQ is added to by blocks in the order of their keys, from the last ones on, unless they need not keep
// one. A block takes its number when it begins and waits for smaller ones alone, so whoever is waited for runs. Behind
// a causal mask, where all blocks begin at different queries, each finds that the one before it has been there already.
// Without a mask blocks follow each other at the distance of an addition, and those of several heads take turns in
// beginning, so that fewer of a head run at a time.
//
// Zero times NaN would reach sums from rows that a pair may not meet in. Where that can be, at the edges of masks,
// spare warps look through the tiles, and what they find is left out of the products that sum over it.
#pragma once
#include <ridge/attention/sm90_gradient_ends.cuh>
#include <ridge/attention/sm90_gradient_steps.cuh>
#include <ridge/attention/sm90_gradient_wide.cuh>
#include <ridge/attention/sm90_launch.cuh>

namespace ridge::attention_kernels {

// A multiplier's part: 64 keys, of which a thread has two rows' scores and dP with a tile of queries, their dK and dV;
// and 64 x 64 of the tile's dQ.
template <class Row, class T, bool AsIs> class GradientMultiplier : public GradientSteps<Row, T, AsIs> {
  using Steps = GradientSteps<Row, T, AsIs>;
  using Steps::c, Steps::first_, Steps::thread_;
  using K = WgmmaGradientKernel<Row>;
  using Axis = tile::sm90::Axis;

 public:
  using Steps::row, Steps::pair, Steps::any_base;
  // multiplier: 0 or 1. Addresses are of shared memory.
  __device__ __forceinline__ explicit GradientMultiplier(int multiplier)
      : Steps(multiplier * 64), multiplier_(multiplier) {
#pragma unroll
    for (float& sum : dk_) sum = 0;
#pragma unroll
    for (float& sum : dv_) sum = 0;
  }

  // Starts s = k q^T.
  __device__ __forceinline__ void start_scores(unsigned k, unsigned q) { this->template start_rows<c.d>(s_, k, q); }
  // Starts dP = v grad_o^T.
  __device__ __forceinline__ void start_dp(unsigned v, unsigned grad_o) {
    this->template start_rows<c.dv>(dp_, v, grad_o);
  }
  // Starts dv += p grad_o.
  __device__ __forceinline__ void start_dv(unsigned grad_o) { this->template start_sums<c.dv>(dv_, p_, grad_o); }
  // Starts dk += dx q.
  __device__ __forceinline__ void start_dk(unsigned q) { this->template start_sums<c.d>(dk_, x_, q); }
  // Starts dq = dx^T k.
  __device__ __forceinline__ void start_dq(unsigned x, unsigned k) {
    x += K::by_queries ? mma_tile_bytes(c.bm, first_) : 0;
    k += K::by_queries ? 0 : mma_tile_bytes(c.bm, first_);
#pragma unroll
    for (int n = 0; n < c.bm; n += 16) {
      const unsigned down = tile::sm90::k_offset(Axis::outer, static_cast<unsigned>(n));
      tile::sm90::multiply<T, Axis::outer, Axis::outer, 64>(dq_, tile::sm90::descriptor(Axis::outer, x + down, c.bm),
                                                            tile::sm90::descriptor(Axis::outer, k + down, c.bm), n > 0);
    }
    tile::sm90::commit_products();
  }

  // Products become weights, rounded: kept so, they leave room for the products under way. span(r): of the tile's
  // queries, those that meet row r.
  template <bool MayMiss, bool Far, class SpanOf>
  __device__ __forceinline__ void weigh(const Scores<T>& scores, const TileFacts* facts, const float* bases,
                                        unsigned mask, SpanOf span) {
    this->template weigh_each<MayMiss, Far>(
        s_, scores, facts, bases, mask, span, [&](int n, int r, const float(&weight)[2], const float(&slope)[2]) {
          p_[n / 2][n % 2 * 2 + r] = tile::pack_pair<T>(weight[0], weight[1]);
          if constexpr (!AsIs)
            sloped_[n / 2][n % 2 * 2 + r] = tile::pack_pair<T>(weight[0] * slope[0], weight[1] * slope[1]);
        });
  }
  // And dP becomes dX, rounded.
  template <bool MayMiss, class SpanOf>
  __device__ __forceinline__ void take_gradient(const TileFacts* facts, SpanOf span) {
    this->template take_gradient_of<MayMiss>(
        dp_, facts, span,
        [&](int n, int r) { return AsIs ? p_[n / 2][n % 2 * 2 + r] : sloped_[AsIs ? 0 : n / 2][n % 2 * 2 + r]; },
        [&](int n, int r, const float(&x)[2]) { x_[n / 2][n % 2 * 2 + r] = tile::pack_pair<T>(x[0], x[1]); });
  }
  // dX to shared memory: lines of 64 queries, one for each key.
  __device__ __forceinline__ void put_dx(unsigned to) const { this->put_tile(to, x_); }
  // dQ to its place in shared memory, in float32.
  __device__ __forceinline__ void put_dq(float* to) const {
#pragma unroll
    for (int j = 0; j < 8; ++j)
      simt::store(to + 4 * dq_unit(multiplier_, j, thread_),
                  simt::vec<float, 4>{dq_[4 * j], dq_[4 * j + 1], dq_[4 * j + 2], dq_[4 * j + 3]});
  }

  // The same, but taken without NaN and infinities of K: what of dX meets them by right is NaN.
  __device__ __forceinline__ void put_dq_of_finite(float* to, const unsigned char* x, const unsigned char* k) const {
    x += K::by_queries ? mma_tile_bytes(c.bm, first_) : 0;
    k += K::by_queries ? 0 : mma_tile_bytes(c.bm, first_);
#pragma unroll 1
    for (int j = 0; j < 8; ++j) {
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
          sums[i] = fmaf(static_cast<float>(*reinterpret_cast<const T*>(x + at(row(i / 2)))), two[i % 2], sums[i]);
      }
      simt::store(to + 4 * dq_unit(multiplier_, j, thread_), sums);
    }
  }
  template <class Value, class Meets> __device__ __forceinline__ void add_special(Value value, Meets meets) {
    this->add_special_to(dv_, value, meets);
  }

  // dK and dV as T, to panels in shared memory.
  __device__ __forceinline__ void put_dk(unsigned char* to, float scale) const {
    this->template put_rows<c.d>(to, dk_, scale);
  }
  __device__ __forceinline__ void put_dv(unsigned char* to) const { this->template put_rows<c.dv>(to, dv_, 1); }

 private:
  int multiplier_;
  float s_[c.bn / 2], dp_[c.bn / 2], dk_[c.d / 2], dv_[c.dv / 2], dq_[32];  // sums of wgmma
  // Weights and dX [64][bn], by 16 queries; and weights times the slope of scores, where that is not 1.
  unsigned p_[c.bn / 16][4], x_[c.bn / 16][4], sloped_[AsIs ? 1 : c.bn / 16][4];
};

// dK, dV, and of dQ the sums in the workspace, without the scale.                      shapes: see GradientArguments
// Preconditions: cc 90; maps as WgmmaGradientMaps and GradientMaskMap say; rows of the tensors are whole units of 16
// bytes; a mask tensor where the Config has masks, and only there; the start's kernel has run; AsIs: no softcap, and a
// positive scale; d and dv are at most the Config's; gridDim.x is batch * key heads * tiles of keys.
template <class Row, class T, bool AsIs>
__global__ void __launch_bounds__(Row::config.threads, 1)
    attention_wgmma_gradient(const __grid_constant__ WgmmaGradientMaps maps,
                             const __grid_constant__ GradientArguments<T> a, const __grid_constant__ GradientWork work,
                             [[maybe_unused]] const __grid_constant__ GradientMaskOf<Row> mask) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    constexpr Config c = Row::config;
    using K = WgmmaGradientKernel<Row>;
    unsigned char* shared = sm90::swizzled_shared();
    auto& sync = *reinterpret_cast<WgmmaGradientSync<c.stages>*>(shared + K::barriers_at);
    static_assert(sizeof sync == wgmma_gradient_barrier_bytes(c));
    const auto stage_q = [=](int stage) { return shared + K::q_at + stage * K::q_bytes; };
    const auto stage_o = [=](int stage) { return shared + K::o_at + stage * K::o_bytes; };
    const auto stage_facts = [=](int stage) {
      return reinterpret_cast<TileFacts*>(shared + K::facts_at + stage * K::facts_bytes);
    };
    const auto parity_of_mask = [](int step) { return static_cast<unsigned>(step % 2); };
    const int group = sm90::warpgroup_index();

    if (threadIdx.x == 0) {
      sm90::init(&sync.full_kv, 2);
      sm90::init(&sync.full_mask, 1);
      sm90::init(&sync.empty_mask, 1);
      for (int s = 0; s < c.stages; ++s) {
        sm90::init(sync.full_q + s, 2);  // the tile, and its facts
        sm90::init(sync.full_o + s, 1);
        sm90::init(sync.empty_q + s, K::multipliers);
        sm90::init(sync.empty_o + s, K::multipliers);
        sm90::init(sync.arrived + s, 1);
        sm90::init(sync.checked + s, K::checkers);
        sync.special[s] = 0;
      }
      sync.special_k = 0;
      sync.number = work.in_order ? atomicAdd(work.next, 1u) : blockIdx.x;
      sm90::fence_init();
    }
    __syncthreads();
    GradientWalk<Row, T> walk(a, work, sync.number);

    if (group == 0) {
      sm90::keep_registers<K::loader_registers>();
      const int warp = sm90::warp_of_warpgroup();
      if (threadIdx.x == 0) {
        sm90::RingPlace<c.stages> at;
        for (int step = 0; step < walk.steps; ++step, walk.next(), at.next()) {
          sm90::wait(sync.empty_q + at.stage, at.parity ^ 1);
          load_panels<c.bn, c.d>(&maps.q, stage_q(at.stage), sync.full_q + at.stage, walk.first_query(), walk.head,
                                 walk.batch);
          sm90::arrive_expecting(sync.full_q + at.stage, K::facts_bytes);
          sm90::copy_bulk(stage_facts(at.stage), work.facts + walk.place(work) * c.bn, K::facts_bytes,
                          sync.full_q + at.stage);
          if (step == 0) {
            load_panels<c.bm, c.d>(&maps.k, shared, &sync.full_kv, walk.first_key, walk.key_head, walk.batch);
            load_panels<c.bm, c.dv>(&maps.v, shared + K::v_at, &sync.full_kv, walk.first_key, walk.key_head,
                                    walk.batch);
          }
          sm90::wait(sync.empty_o + at.stage, at.parity ^ 1);
          load_panels<c.bn, c.dv>(&maps.grad_o, stage_o(at.stage), sync.full_o + at.stage, walk.first_query(),
                                  walk.head, walk.batch);
          if constexpr (c.masks) {
            sm90::wait(&sync.empty_mask, parity_of_mask(step) ^ 1);
            walk.load_mask(mask, shared + K::mask_at, &sync.full_mask);
          }
        }
      } else if (warp == 1) {
        // The adder.
        const bool speaks = threadIdx.x % 32 == 0;
        const simt::tile<32> lanes;
        const auto let_put = [](int step) {
          const int place = step % K::sums_stages * K::multipliers;
          for (int m = 0; m < K::multipliers; ++m) sm90::arrive_named<K::with_adder>(K::read + place + m);
        };
        for (int step = 0; step < ::min(walk.steps, K::sums_stages); ++step) let_put(step);
        for (int step = 0; step < walk.steps; ++step, walk.next()) {
          const int stage = step % K::sums_stages;
          const std::int64_t place = walk.place(work);
          const unsigned turn = walk.turn();
          if (speaks && work.in_order) sm90::await_turn(work.turns + place, turn);
          lanes.sync();
          for (int m = 0; m < K::multipliers; ++m) {
            sm90::await_named<K::with_adder>(K::full + stage * K::multipliers + m);
            if (speaks) {
              float* to = work.sums + place * (c.bn * c.d) + m * K::sums;
              const unsigned char* from = shared + K::sums_at + stage * K::sums_bytes + m * K::sums * 4;
              if (work.in_order && turn == 0) sm90::store_bulk(to, from, K::sums * 4);
              else sm90::add_bulk(to, from, K::sums * 4);
              sm90::commit_stores();
            }
            lanes.sync();
          }
          if (speaks) sm90::wait_stores_read<0>();
          lanes.sync();
          if (step + K::sums_stages < walk.steps) let_put(step + K::sums_stages);
          if (speaks && work.in_order) {
            sm90::wait_stores<0>();
            sm90::end_turn(work.turns + place, turn);
          }
        }
        if (speaks) sm90::wait_stores<0>();
      } else if (warp >= 2) {
        const int thread = static_cast<int>(threadIdx.x) - 64;
        sm90::RingPlace<c.stages> at;
        [[maybe_unused]] Parities arrived;
        bool of_k = false;  // K has been looked through
        for (int step = 0; step < walk.steps; ++step, walk.next(), at.next()) {
          if (!walk.at_edge()) continue;
          // Of steps that follow each other none can be missed.
          if constexpr (!c.masks) arrived.await(sync.arrived, at.stage);
          if (!of_k) {
            sm90::wait(&sync.full_kv, 0);
            if (finds_special<K::v_at, K::checkers, T>(shared, thread)) atomicMax(&sync.special_k, 1);
            of_k = true;
          }
          sm90::wait(sync.full_q + at.stage, at.parity);
          sm90::wait(sync.full_o + at.stage, at.parity);
          if (finds_special<K::q_bytes, K::checkers, T>(stage_q(at.stage), thread) ||
              finds_special<K::o_bytes, K::checkers, T>(stage_o(at.stage), thread))
            atomicMax(sync.special + at.stage, step + 1);
          sm90::arrive(sync.checked + at.stage);
        }
      }
      return;
    }

    sm90::take_registers<K::multiplier_registers>();
    const int multiplier = group - 1, first = walk.first_key + multiplier * 64;
    const bool speaks = threadIdx.x % 128 == 0;
    const unsigned base = sm90::shared_address(shared);
    GradientMultiplier<Row, T, AsIs> m(multiplier);
    const Scores<T> scores(a);
    const auto span = [&](int r) { return walk.span(first + m.row(r)); };
    const auto address = [&](const unsigned char* tile) { return base + static_cast<unsigned>(tile - shared); };
    sm90::RingPlace<c.stages> at;
    Parities checked;
    bool found_special = false;

    const auto start_scores = [&](const auto& of) {
      sm90::wait(sync.full_q + of.stage, of.parity);
      sm90::fence_sums();
      m.start_scores(base, address(stage_q(of.stage)));
    };

    if (walk.steps > 0) {
      sm90::wait(&sync.full_kv, 0);
      start_scores(at);
      bool far = m.any_base(stage_facts(at.stage));  // looked up while products are under way
      for (int step = 0; step < walk.steps; ++step, walk.next(), at.next()) {
        const unsigned q = address(stage_q(at.stage)), grad_o = address(stage_o(at.stage));
        const TileFacts* facts = stage_facts(at.stage);
        unsigned char* dx = shared + K::x_at + at.stage * K::x_bytes;
        const bool whole = walk.whole(first, 64), at_edge = walk.at_edge();

        sm90::wait(sync.full_o + at.stage, at.parity);
        if (!c.masks && at_edge && multiplier == 0 && speaks) sm90::arrive(sync.arrived + at.stage);
        // The scores. nvcc wants no product under way behind those that a former step started: it would have each wait.
        sm90::wait_products<0>();
        sm90::fence_sums();
        m.start_dp(base + K::v_at, grad_o);
        if constexpr (c.masks) sm90::wait(&sync.full_mask, parity_of_mask(step));
        const float* const bases = work.bases + walk.place(work) * c.bn;
        if (far) m.template weigh<true, true>(scores, facts, bases, base + K::mask_at, span);
        else if (whole) m.template weigh<false, false>(scores, facts, bases, base + K::mask_at, span);
        else m.template weigh<true, false>(scores, facts, bases, base + K::mask_at, span);
        sm90::wait_products<0>();
        if (whole) m.template take_gradient<false>(facts, span);
        else m.template take_gradient<true>(facts, span);
        m.put_dx(address(dx));

        bool special_k = false;
        if (at_edge) {
          checked.await(sync.checked, at.stage);
          special_k = sync.special_k != 0;
          if (sync.special[at.stage] == step + 1) {  // both multipliers have met the tiles as they were
            found_special = true;
            sm90::await_named<256>(K::both);
            const int thread = static_cast<int>(threadIdx.x) - 128;
            clear_special<K::q_bytes, 256, T>(stage_q(at.stage), thread);
            clear_special<K::o_bytes, 256, T>(stage_o(at.stage), thread);
            sm90::fence_shared_for_copies();  // and before products
            sm90::await_named<256>(K::both);
          }
        }

        sm90::fence_sums();
        m.start_dv(grad_o);
        sm90::fence_shared_for_copies();
        sm90::await_named<256>(K::both);  // all of dX is there, and the mask is read
        if (c.masks && multiplier == 0 && speaks) sm90::arrive(&sync.empty_mask);
        sm90::fence_sums();
        m.start_dq(address(dx), base);
        m.start_dk(q);
        sm90::wait_products<2>();  // dV
        if (speaks) sm90::arrive(sync.empty_o + at.stage);
        // The next scores; after the last step the same ones once more, which cost less than a branch among products.
        sm90::RingPlace<c.stages> next = at;
        if (step + 1 < walk.steps) next.next();
        start_scores(next);
        far = m.any_base(stage_facts(next.stage));
        sm90::wait_products<2>();  // dQ
        const int place = step % K::sums_stages, barrier = place * K::multipliers + multiplier;
        float* const sums = reinterpret_cast<float*>(shared + K::sums_at + place * K::sums_bytes);
        sm90::await_named<K::with_adder>(K::read + barrier);
        if (special_k) m.put_dq_of_finite(sums, dx, shared);
        else m.put_dq(sums);
        sm90::fence_shared_for_copies();
        sm90::arrive_named<K::with_adder>(K::full + barrier);
        sm90::wait_products<1>();  // dK
        if (speaks) sm90::arrive(sync.empty_q + at.stage);
      }
      sm90::wait_products<0>();
    }
    if (found_special) {
      GradientWalk<Row, T> again(a, work, sync.number);
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

    // dK and dV go through this multiplier's rows of the places of K and V.
    sm90::await_named<256>(K::both);
    m.put_dk(shared, a.scale);
    m.put_dv(shared + K::v_at);
    sm90::fence_shared_for_copies();
    sm90::sync_warpgroup(K::own + multiplier);
    if (speaks && first < a.sk) {
      const auto put = [&](const sm90::TensorMap* map, const unsigned char* from, int columns) {
        for (int p = 0; p < columns / panel; ++p)
          sm90::store(map, from + mma_tile_bytes(c.bm, p * panel) + sm90::outer_offset(multiplier * 64), p * panel,
                      first, walk.key_head, walk.batch);
      };
      put(&maps.grad_k, shared, c.d);
      put(&maps.grad_v, shared + K::v_at, c.dv);
      sm90::commit_stores();
      sm90::wait_stores_read<0>();
    }
  }
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

// Of heads whose later tiles of keys meet fewer queries, those that fall (GradientWalk): as many as have a block for
// each multiprocessor, but never most of them; none where each block has a multiprocessor.
constexpr std::int64_t falling_heads(std::int64_t heads, std::int64_t key_tiles, std::int64_t sms) {
  if (heads * key_tiles <= sms) return 0;
  return std::min((sms + key_tiles / 2) / key_tiles, heads / 2);
}

[[maybe_unused]] GradientWork gradient_work_of(const Config& c, const Call& call) {
  const wgmma_gradient::WorkspaceParts parts = wgmma_gradient::workspace_parts(c, call.problem);
  char* at = static_cast<char*>(call.workspace.data);
  GradientWork work{};
  work.sums = reinterpret_cast<float*>(at);
  work.facts = reinterpret_cast<TileFacts*>(at += parts.sums);
  work.bases = reinterpret_cast<float*>(at += parts.facts);
  work.next = reinterpret_cast<unsigned*>(at += parts.bases + parts.mask);
  work.turns = work.next + 1;
  work.tiles = static_cast<int>(parts.tiles);
  work.in_order = !call.problem.rule.nondeterministic;
  // Half of the L2 cache holds what the blocks of heads that take turns meet: Q, dO and dQ. Where an addition and its
  // turn take longer than a tile's products, the more of a head run at a time the longer they wait, and the last heads
  // longest: two thirds, and groups of heads alike. More than the cache holds was measured: slower behind causal masks.
  const bool waits = work.in_order && has_gradient_roles(c);
  const AttentionProblem& p = call.problem;
  const std::int64_t of_keys = std::max<std::int64_t>(1, p.b * p.hkv);
  if (work.in_order && p.rule.right >= 0 && p.rule.left < 0)
    work.falling = static_cast<unsigned>(falling_heads(of_keys, ceil_div(p.sk, c.bm), call.plan.device.sms));
  const std::int64_t heads = of_keys - work.falling;
  const std::int64_t bytes = p.b * p.hq / of_keys * parts.tiles * c.bn * (2 * c.d + 2 * c.dv + 4 * c.d);
  const std::int64_t part = call.plan.device.l2_bytes / 6 * (waits ? 4 : 3);
  const std::int64_t fit = std::clamp<std::int64_t>(part / std::max<std::int64_t>(1, bytes), 1, heads);
  const std::int64_t groups = waits ? ceil_div(heads, fit) : 1;
  work.together = static_cast<unsigned>(waits ? ceil_div(heads, groups) : fit);
  return work;
}

// The mask's map; where it has to be copied, after that has been started.
template <class T>
Status make_mask(GradientMaskMap* map, const Config& c, const Call& call, const GradientArguments<T>& a) {
  const AttentionProblem& p = call.problem;
  const wgmma_gradient::MaskShape shape = wgmma_gradient::mask_shape(c, p);
  *map = {{}, shape.batch > 1, shape.heads > 1, p.mask_lies->row != 0};
  const auto map_of = [&](const void* data, const AttentionOperand& at) {
    return make_map<T>(&map->map, data, at, p.sk, shape.rows, shape.heads, shape.batch, c.bn);
  };
  if (!shape.is_copied) return map_of(call.tensors.mask->data, *p.mask_lies);
  const wgmma_gradient::WorkspaceParts parts = wgmma_gradient::workspace_parts(c, p);
  T* to = reinterpret_cast<T*>(static_cast<char*>(call.workspace.data) + parts.sums + parts.facts + parts.bases);
  const std::int64_t units = shape.elements() / mask_copy_unit;
  RIDGE_TRY(simt::launch(launch_config(call, ceil_div(units, mask_copy_threads), mask_copy_threads),
                         attention_mask_copy<T>, a, to, static_cast<int>(shape.batch), static_cast<int>(shape.heads),
                         static_cast<int>(shape.rows), static_cast<int>(shape.columns)));
  return map_of(to, {.batch = shape.heads * shape.rows * shape.columns,
                     .head = shape.rows * shape.columns,
                     .row = shape.columns,
                     .element = 1,
                     .phase = 0});
}

template <class T> struct WgmmaGradientRows : RowsOf<Algorithm::wgmma_gradient, T> {
  template <int I, bool AsIs> static constexpr auto kernel() {
    if constexpr (has_gradient_roles(variants[I].config)) return attention_wide_gradient<Row<I>, T, AsIs>;
    else return attention_wgmma_gradient<Row<I>, T, AsIs>;
  }
  // Of the row's kernel over keys.
  template <int I> static Status make_maps(WgmmaGradientMaps& maps, const Call& call) {
    constexpr Config c = variants[I].config;
    const AttentionProblem& p = call.problem;
    const AttentionGradientTensors& t = *call.gradient;
    RIDGE_TRY(make_map<T>(&maps.k, t.k.data, *p.k, p.d, p.sk, p.hkv, p.b, c.bm));
    RIDGE_TRY(make_map<T>(&maps.v, t.v.data, *p.v, p.dv, p.sk, p.hkv, p.b, c.bm));
    RIDGE_TRY(make_map<T>(&maps.grad_k, t.grad_k.data, *p.grad_k, p.d, p.sk, p.hkv, p.b, 64));  // a multiplier's rows
    RIDGE_TRY(make_map<T>(&maps.grad_v, t.grad_v.data, *p.grad_v, p.dv, p.sk, p.hkv, p.b, 64));
    maps.q = maps.k;  // of no queries there is no map
    maps.grad_o = maps.v;
    if (p.b * p.hq * p.sq == 0) return {};
    RIDGE_TRY(make_map<T>(&maps.q, t.q.data, *p.q, p.d, p.sq, p.hq, p.b, c.bn));
    return make_map<T>(&maps.grad_o, t.grad_o.data, *p.grad_o, p.dv, p.sq, p.hq, p.b, c.bn);
  }
  template <int I>
  static Status launch_sums(const Call& call, const GradientArguments<T>& a, const GradientWork& work) {
    constexpr Config c = variants[I].config;
    const simt::Config at = config_of_keys(call);
    if (at.grid.x == 0) return {};
    WgmmaGradientMaps maps;
    RIDGE_TRY(make_maps<I>(maps, call));
    GradientMaskOf<Row<I>> mask;
    if constexpr (c.masks)
      if (call.problem.b * call.problem.hq * work.tiles > 0) RIDGE_TRY(make_mask<T>(&mask, c, call, a));
    const bool as_is = a.softcap == 0 && a.scale > 0;
    return tile::sm90::launch_clusters(at, 1, as_is ? kernel<I, true>() : kernel<I, false>(), maps, a, work, mask);
  }
  template <int I> static Status launch(const Call& call) {
    constexpr Config c = variants[I].config;
    const AttentionProblem& p = call.problem;
    const auto a = gradient_arguments_of<T>(call);
    const GradientWork work = gradient_work_of(c, call);
    constexpr std::int64_t starts = gradient_start_threads / (c.dv / tile::unit_elements<T>);  // rows of a block
    const std::int64_t start_blocks = std::max<std::int64_t>(1, ceil_div(p.b * p.hq * work.tiles * c.bn, starts));
    RIDGE_TRY(simt::launch(launch_config(call, start_blocks, gradient_start_threads),
                           attention_wgmma_gradient_start<Row<I>, T>, a, work));
    RIDGE_TRY(launch_sums<I>(call, a, work));
    const std::int64_t units = p.b * p.hq * p.sq * (c.d / 8);
    if (units == 0) return {};
    return simt::launch(launch_config(call, ceil_div(units, gradient_end_threads), gradient_end_threads),
                        attention_wgmma_gradient_end<Row<I>, T>, a, work);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
