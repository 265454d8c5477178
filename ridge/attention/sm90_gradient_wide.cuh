// Gradients of wide heads on Hopper's tensor cores: f16 and bf16, from 129 columns on.
//
// dK and dV of 64 keys and 256 columns fill the registers of two warpgroups, so consumers are specialized by gradient
// and not by keys: each product is computed by one warpgroup, and a tile of 64 x 64 in shared memory passes to the
// next.
//
//   GradientDv   S = K Q^T, P, passed on,          dV += P dO
//   GradientDk   dP = V dO^T, dS in P's place,     dK += dS Q
//   GradientDq   dQ = dS^T K, which is added from registers to global memory
//
// S of the next tile of queries is started before dV of this one, and P is computed meanwhile; GradientDk does the
// same, and GradientDq follows up to four tiles behind. So tensor cores always have a product. Tiles of dQ are added in
// the order that sm90_gradient.cuh describes, which the spare warps of the producer warpgroup track.
//
// At the edges of masks the warpgroup that sums over a tile first checks it for NaN and infinities.
#pragma once
#include <ridge/attention/sm90_gradient_steps.cuh>
#include <ridge/tile/opaque.cuh>
#include <ridge/tile/sm80/mma.cuh>

namespace ridge::attention_kernels {

// Accumulators of a warpgroup, 64 rows of `Columns`, in groups of half_columns: no instruction asks for more registers
// than the kernel begins with.
inline constexpr int half_columns = 128, dq_columns = 64;
template <int Columns> using HalfSums = float[Columns / half_columns][half_columns / 2];
template <int Columns> __device__ __forceinline__ void clear_sums(HalfSums<Columns>& sums) {
#pragma unroll
  for (int h = 0; h < Columns / half_columns; ++h)
#pragma unroll
    for (float& sum : sums[h]) {
      sum = 0;
      tile::make_opaque(sum);
    }
}

// Shared-memory layout: K, V; stages of Q, of dO, of P and dS [bm][bn]; a tile of the mask; stages of statistics;
// barriers.
template <class Policy> struct WideGradientKernel {
  static constexpr Config c = Policy::config;
  static_assert(specializes_consumers(c) && c.bn == 64 && c.stages == 2 && c.threads == 512);
  static_assert(c.d % half_columns == 0 && c.dv % half_columns == 0);

  // Total 65,536: 512 * 128. The accumulators of GradientDv and of GradientDk take 128 registers per thread.
  static constexpr int producer_registers = 24, dv_registers = 208, dk_registers = 216, dq_registers = 64;
  static constexpr int ds_stages = gradient_ds_stages(c), semaphores = gradient_semaphores_of_tile(c);

  static constexpr int q_bytes = mma_tile_bytes(c.bn, c.d), o_bytes = mma_tile_bytes(c.bn, c.dv),
                       k_bytes = mma_tile_bytes(c.bm, c.d), ds_bytes = mma_tile_bytes(c.bm, c.bn),
                       stats_bytes = c.bn * static_cast<int>(sizeof(TileStats));
  static constexpr int v_at = k_bytes, q_at = v_at + mma_tile_bytes(c.bm, c.dv), o_at = q_at + c.stages * q_bytes,
                       ds_at = o_at + c.stages * o_bytes, mask_at = ds_at + ds_stages * ds_bytes,
                       stats_at = mask_at + gradient_mask_bytes(c), barriers_at = stats_at + c.stages * stats_bytes;
  static_assert(barriers_at + wgmma_gradient_barrier_bytes(c) == wgmma_gradient_bytes(c));
  static_assert(wgmma_gradient_bytes(c) <= hopper_smem(c));

  // Named barriers: P of a step is stored (GradientDv is at most a step ahead), dS is stored, and both have been read;
  // the first two warpgroups; one per warpgroup; a part of a tile of dQ has been added; GradientDq has finished with K.
  // The last one reuses the first P barrier, after GradientDv's last arrival there. GradientDv must not arrive there
  // again, for it may come before P has been read.
  static constexpr int p = 1, ds = p + c.stages, read = ds + ds_stages, both = read + ds_stages, own = both + 1,
                       added = own + 3, read_k = p;
  static_assert(added <= 15, "number of hardware barriers");
  static constexpr int with_counters = 128 + 2 * 32;     // threads at `added`
  static constexpr int part_columns = c.d / semaphores;  // columns of dQ per semaphore
  static_assert(part_columns % dq_columns == 0);
};

template <int Stages> struct WideGradientSync {
  tile::sm90::Barrier full_k, full_v, full_mask, empty_mask, full_q[Stages], full_o[Stages], empty_q[Stages],
      empty_o[Stages], may_add;
  unsigned number;  // of the block
  // The latest of even and of odd steps, counted from 1, in which each of two warpgroups found NaN or infinite values
  // in its tile: one is read while a faster warp may be at the next. And whether K has some.
  int special[2][2], special_k;
};

// Starts sums = own other^T, for rows of 64 keys and of 64 queries.            own: [64][Columns], other: [64][Columns]
template <class T, int Columns>
__device__ __forceinline__ void start_product(float (&sums)[32], unsigned own, unsigned other) {
  using tile::sm90::Axis;
  tile::make_opaque(own);  // or descriptors of each step of K and V stay in registers until the next tile of queries
  const std::uint64_t a = tile::sm90::descriptor(Axis::k, own), b = tile::sm90::descriptor(Axis::k, other);
#pragma unroll
  for (int d = 0; d < Columns; d += 16) {
    const unsigned on = mma_tile_bytes(64, d / panel * panel) + tile::sm90::k_offset(Axis::k, d % panel);
    tile::sm90::multiply<T, Axis::k, Axis::k, 64>(sums, tile::sm90::advanced(a, on), tile::sm90::advanced(b, on),
                                                  d > 0);
  }
  tile::sm90::commit_products();
}
// Starts sums += factors rows.                                               factors: [64][64], rows: [64][Columns]
template <class T, int Columns>
__device__ __forceinline__ void start_sums(HalfSums<Columns>& sums, const unsigned (&factors)[4][4], unsigned rows) {
  using tile::sm90::Axis;
  const std::uint64_t b = tile::sm90::descriptor(Axis::outer, rows);
#pragma unroll
  for (int h = 0; h < Columns / half_columns; ++h)
#pragma unroll
    for (int n = 0; n < 64; n += 16) {
      const unsigned on = mma_tile_bytes(64, h * half_columns) + tile::sm90::k_offset(Axis::outer, n);
      tile::sm90::multiply_kept<T, Axis::outer, half_columns>(sums[h], factors[n / 16], tile::sm90::advanced(b, on),
                                                              true);
    }
  tile::sm90::commit_products();
}

// First consumer: P of 64 keys and 64 queries, and dV.
template <class Policy, class T, bool AsIs> class GradientDv : public GradientSteps<Policy, T, AsIs> {
  using Steps = GradientSteps<Policy, T, AsIs>;
  using Steps::c;

 public:
  __device__ __forceinline__ GradientDv() : Steps(0) {
    this->warp_ = tile::sm90::warp_of_warpgroup();  // not in a register of each thread
    clear_sums<c.dv>(dv_);
  }
  using Steps::any_base;
  // Starts S = K Q^T.
  __device__ __forceinline__ void start_qk(unsigned k, unsigned q) { start_product<T, c.d>(s_, k, q); }
  // Starts dV += P dO, with the packed P.
  __device__ __forceinline__ void start_dv(unsigned grad_o) { start_sums<T, c.dv>(dv_, p_, grad_o); }
  // Computes P from products; stores P times the slopes of scores, rounded, to shared memory.
  template <bool Masked, bool Far, class MaskAt, class SpanOf>
  __device__ __forceinline__ void compute_p(const Scores<T>& scores, const TileStats* stats, const float* bases,
                                            const MaskAt& mask, SpanOf span, unsigned to) {
    unsigned four[4];
    this->template compute_p_each<Masked, Far>(
        s_, scores, stats, bases, mask, span,
        [&, row = this->matrices_at(to, 0)](int n, int r, const float(&p)[2], const float(&slope)[2]) {
          s_[4 * n + 2 * r] = p[0];
          s_[4 * n + 2 * r + 1] = p[1];
          four[n % 2 * 2 + r] = tile::pack_pair<T>(p[0] * slope[0], p[1] * slope[1]);
          if (n % 2 == 1 && r == 1) tile::sm90::store_matrices(row ^ n / 2 * 32, four[0], four[1], four[2], four[3]);
        });
  }
  __device__ __forceinline__ void settle() {
#pragma unroll
    for (float& p : s_) tile::make_opaque(p);
  }
  // Rounds P for the next dV, when the last product is done.
  __device__ __forceinline__ void pack_p() { this->round(p_, s_); }
  template <class Value, class Meets> __device__ __forceinline__ void add_special(Value value, Meets meets) {
#pragma unroll
    for (int h = 0; h < c.dv / half_columns; ++h)
      this->add_special_to(
          dv_[h], [&](int query, int column) { return value(query, h * half_columns + column); }, meets);
  }
  __device__ __forceinline__ void store_dv(unsigned char* to) const {
#pragma unroll
    for (int h = 0; h < c.dv / half_columns; ++h)
      this->template store_rows<half_columns>(to + mma_tile_bytes(c.bm, h * half_columns), dv_[h], 1);
  }
  // Stores dV of the block's heads in float32 to the first `rows` of the block's rows in global memory.
  __device__ __forceinline__ void store_partial_dv(float* to, int rows) const {
#pragma unroll
    for (int h = 0; h < c.dv / half_columns; ++h)
      this->template store_partial_rows<c.dv>(to + h * half_columns, dv_[h], 1, rows);
  }

 private:
  float s_[c.bn / 2];  // accumulators of wgmma
  HalfSums<c.dv> dv_;
  unsigned p_[c.bn / 16][4];  // [64][bn], by 16 queries
};

// Second consumer: dS and dK.
template <class Policy, class T> class GradientDk : public GradientSteps<Policy, T, true> {
  using Steps = GradientSteps<Policy, T, true>;
  using Steps::c;

 public:
  __device__ __forceinline__ GradientDk() : Steps(0) {
    this->warp_ = tile::sm90::warp_of_warpgroup();
    clear_sums<c.d>(dk_);
  }
  // Starts dP = V dO^T.
  __device__ __forceinline__ void start_dp(unsigned v, unsigned grad_o) { start_product<T, c.dv>(dp_, v, grad_o); }
  // Starts dK += dS Q, with the packed dS.
  __device__ __forceinline__ void start_dk(unsigned q) { start_sums<T, c.d>(dk_, ds_, q); }
  // Computes dS from dP, and stores it, rounded, in P's place in shared memory. A warp uses only its own rows.
  template <bool Masked, class SpanOf>
  __device__ __forceinline__ void compute_ds(const TileStats* stats, SpanOf span, unsigned at) {
    unsigned p[4], four[4];
    const unsigned row = this->matrices_at(at, 0);  // swizzled: other columns differ within the line
    this->template compute_ds_each<Masked>(
        dp_, stats, span,
        [&](int n, int r) {
          if (n % 2 == 0 && r == 0) {
            tile::sm80::load_matrices<false>(p, row ^ n / 2 * 32);
            __syncwarp();
          }
          return p[n % 2 * 2 + r];
        },
        [&](int n, int r, const float(&ds)[2]) {
          dp_[4 * n + 2 * r] = ds[0];
          dp_[4 * n + 2 * r + 1] = ds[1];
          four[n % 2 * 2 + r] = tile::pack_pair<T>(ds[0], ds[1]);
          if (n % 2 == 1 && r == 1) tile::sm90::store_matrices(row ^ n / 2 * 32, four[0], four[1], four[2], four[3]);
        });
  }
  __device__ __forceinline__ void settle() {
#pragma unroll
    for (float& ds : dp_) tile::make_opaque(ds);
  }
  // Rounds dS for the next dK, when the last product is done.
  __device__ __forceinline__ void pack_ds() { this->round(ds_, dp_); }
  __device__ __forceinline__ void store_dk(unsigned char* to, float scale) {
    this->warp_ = tile::sm90::warp_of_warpgroup();  // again, otherwise it is spilled
#pragma unroll
    for (int h = 0; h < c.d / half_columns; ++h)
      this->template store_rows<half_columns>(to + mma_tile_bytes(c.bm, h * half_columns), dk_[h], scale);
  }
  // Stores dK of the block's heads in float32 to the first `rows` of the block's rows in global memory.
  __device__ __forceinline__ void store_partial_dk(float* to, float scale, int rows) {
    this->warp_ = tile::sm90::warp_of_warpgroup();
#pragma unroll
    for (int h = 0; h < c.d / half_columns; ++h)
      this->template store_partial_rows<c.d>(to + h * half_columns, dk_[h], scale, rows);
  }

 private:
  float dp_[c.bn / 2];  // accumulators of wgmma
  HalfSums<c.d> dk_;
  unsigned ds_[c.bn / 16][4];  // [64][bn], by 16 queries
};

// Third consumer: dq_columns of a tile of dQ at a time.
template <class Policy, class T> class GradientDq {
  static constexpr Config c = Policy::config;
  static constexpr int columns = dq_columns;
  using Axis = tile::sm90::Axis;

 public:
  // Starts dQ = dS^T K, for the columns from `first` on.
  __device__ __forceinline__ void start(unsigned ds, unsigned k, int first) {
    const std::uint64_t rows = tile::sm90::descriptor(Axis::outer, ds);
    const std::uint64_t of_k =
        tile::sm90::descriptor(Axis::outer, k + static_cast<unsigned>(mma_tile_bytes(c.bm, first)));
#pragma unroll
    for (int n = 0; n < c.bm; n += 16) {
      const unsigned on = tile::sm90::k_offset(Axis::outer, static_cast<unsigned>(n));
      tile::sm90::multiply<T, Axis::outer, Axis::outer, columns>(dq_, tile::sm90::advanced(rows, on),
                                                                 tile::sm90::advanced(of_k, on), n > 0);
    }
    tile::sm90::commit_products();
  }
  // Stores to a tile of the accumulator in global memory: overwrites, or adds.
  __device__ __forceinline__ void store(float* sums, int first, bool add) const {
    float* const to = sums + 4 * dq_vector(first / 64, 0, static_cast<int>(threadIdx.x) % 128);
    if (add) {
#pragma unroll
      for (int j = 0; j < columns / 8; ++j)
        tile::sm90::add_floats(to + 4 * dq_vector(0, j, 0), dq_[4 * j], dq_[4 * j + 1], dq_[4 * j + 2], dq_[4 * j + 3]);
    } else {
#pragma unroll
      for (int j = 0; j < columns / 8; ++j)
        simt::store_global(to + 4 * dq_vector(0, j, 0),
                           simt::vec<float, 4>{dq_[4 * j], dq_[4 * j + 1], dq_[4 * j + 2], dq_[4 * j + 3]});
    }
  }
  // The same, without NaN and infinities of K: the dS that meet them are NaN.
  __device__ __forceinline__ void store_of_finite(float* sums, const unsigned char* ds, const unsigned char* k,
                                                  int first, bool add) const {
    const int thread = static_cast<int>(threadIdx.x) % 128, lane = thread % 32, row = thread / 32 * 16 + lane / 4;
    const auto at = [](int key, int column) {
      return tile::sm90::swizzled(static_cast<unsigned>(key), static_cast<unsigned>(column * 2));
    };
#pragma unroll 1
    for (int j = 0; j < columns / 8; ++j) {
      const int column = first + j * 8 + lane % 4 * 2;
      const unsigned char* panel_of_k = k + mma_tile_bytes(c.bm, column / panel * panel);
      float four[4] = {0, 0, 0, 0};
#pragma unroll 1
      for (int key = 0; key < c.bm; ++key) {
        const auto word = *reinterpret_cast<const unsigned*>(panel_of_k + at(key, column % panel));
        float two[2];
        tile::unpack_pair<T>(without_special<T>(word), two[0], two[1]);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          four[i] =
              fmaf(static_cast<float>(*reinterpret_cast<const T*>(ds + at(key, row + i / 2 * 8))), two[i % 2], four[i]);
      }
      float* const to = sums + 4 * dq_vector(first / 64, j, thread);
      if (add) tile::sm90::add_floats(to, four[0], four[1], four[2], four[3]);
      else simt::store_global(to, simt::vec<float, 4>{four[0], four[1], four[2], four[3]});
    }
  }

  __device__ __forceinline__ void settle() {
#pragma unroll
    for (float& sum : dq_) tile::make_opaque(sum);
  }

 private:
  float dq_[columns / 2];  // accumulators of wgmma
};

// dK, dV, and the dQ accumulator in the workspace, without the scale.                  shapes: see GradientArguments
// Preconditions: those of attention_wgmma_gradient.
template <class Policy, class T, bool AsIs>
__global__ void __launch_bounds__(Policy::config.threads, 1)
    attention_wide_gradient(const __grid_constant__ WgmmaGradientMaps maps,
                            const __grid_constant__ GradientArguments<T> a, const __grid_constant__ GradientWork work,
                            [[maybe_unused]] const __grid_constant__ GradientMaskOf<Policy> mask) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    constexpr Config c = Policy::config;
    using K = WideGradientKernel<Policy>;
    using Walk = GradientWalk<Policy, T>;
    unsigned char* shared = sm90::swizzled_shared();
    auto& sync = *reinterpret_cast<WideGradientSync<c.stages>*>(shared + K::barriers_at);
    static_assert(sizeof sync == wgmma_gradient_barrier_bytes(c));
    const auto stage_q = [=](int stage) { return shared + K::q_at + stage * K::q_bytes; };
    const auto stage_o = [=](int stage) { return shared + K::o_at + stage * K::o_bytes; };
    const auto stage_ds = [=](int stage) { return shared + K::ds_at + stage * K::ds_bytes; };
    const auto stage_stats = [=](int stage) {
      return reinterpret_cast<TileStats*>(shared + K::stats_at + stage * K::stats_bytes);
    };
    const auto parity_of_mask = [](int step) { return static_cast<unsigned>(step % 2); };
    const int group = sm90::warpgroup_index();

    if (threadIdx.x == 0) {
      sm90::init(&sync.full_k, 1);
      sm90::init(&sync.full_v, 1);
      sm90::init(&sync.full_mask, 1);
      sm90::init(&sync.empty_mask, 4);  // one per warp that computes P
      for (int s = 0; s < c.stages; ++s) {
        sm90::init(sync.full_q + s, 2);  // the tile, and its statistics
        sm90::init(sync.full_o + s, 1);
        sm90::init(sync.empty_q + s, 1);  // released by dK; scores are done before
        sm90::init(sync.empty_o + s, 2);  // released by dP and dV
      }
      sm90::init(&sync.may_add, 1);
      for (auto& of_consumer : sync.special) of_consumer[0] = of_consumer[1] = 0;
      sync.special_k = 0;
      sm90::fence_init();
    }
    take_number(sync.number, maps, work);
    Walk walk(a, work, sync.number);
    walk.share();
    const bool is_leader = threadIdx.x % 128 == 0;
    const unsigned base = sm90::shared_address(shared);
    const auto address = [&](const unsigned char* tile) { return base + static_cast<unsigned>(tile - shared); };

    if (group == 0) {
      sm90::dealloc_registers<K::producer_registers>();
      const int warp = sm90::warp_of_warpgroup();
      if (threadIdx.x == 0) {
        sm90::PipelineState<c.stages> at;
        for (int step = 0; step < walk.steps; ++step, walk.next(), at.next()) {
          sm90::wait(sync.empty_q + at.stage, at.parity ^ 1);
          load_panels<c.bn, c.d>(&maps.q, stage_q(at.stage), sync.full_q + at.stage, walk.first_query(), walk.head,
                                 walk.batch);
          sm90::arrive_and_expect_tx(sync.full_q + at.stage, K::stats_bytes);
          sm90::copy_bulk(stage_stats(at.stage), work.stats + walk.place(work) * c.bn, K::stats_bytes,
                          sync.full_q + at.stage);
          if (step == 0) {
            load_panels<c.bm, c.d>(&maps.k, shared, &sync.full_k, walk.first_key, walk.key_head(), walk.batch);
            load_panels<c.bm, c.dv>(&maps.v, shared + K::v_at, &sync.full_v, walk.first_key, walk.key_head(),
                                    walk.batch);
          }
          if (c.masks && !is_float_mask<Policy, AsIs>(mask)) {
            sm90::wait(&sync.empty_mask, parity_of_mask(step) ^ 1);
            walk.load_mask(mask, shared + K::mask_at, &sync.full_mask);
          }
          sm90::wait(sync.empty_o + at.stage, at.parity ^ 1);
          load_panels<c.bn, c.dv>(&maps.grad_o, stage_o(at.stage), sync.full_o + at.stage, walk.first_query(),
                                  walk.head, walk.batch);
        }
      } else if (warp == 1 && work.in_order) {
        // Waits for the semaphore of the next tile while this tile is added.
        const simt::tile<32> lanes;
        for (int part = 0; part < walk.steps * K::semaphores;) {
          if (lanes.rank() == 0)
            sm90::semaphore_wait(work.semaphores + walk.place(work) * K::semaphores + part % K::semaphores,
                                 walk.predecessors());
          lanes.sync();
          if (part > 0) sm90::named_barrier_sync<K::with_counters>(K::added);
          if (lanes.rank() == 0) sm90::arrive(&sync.may_add);
          if (++part % K::semaphores == 0) walk.next();
        }
        if (walk.steps > 0) sm90::named_barrier_sync<K::with_counters>(K::added);
      } else if (warp == 2 && work.in_order) {
        // Releases semaphores.
        const simt::tile<32> lanes;
        for (int part = 0; part < walk.steps * K::semaphores;) {
          sm90::named_barrier_sync<K::with_counters>(K::added);
          if (lanes.rank() == 0)
            sm90::semaphore_release(work.semaphores + walk.place(work) * K::semaphores + part % K::semaphores,
                                    walk.predecessors());
          lanes.sync();
          if (++part % K::semaphores == 0) walk.next();
        }
      }
      return;
    }

    // Checks a tile in which queries and keys may not meet, once all its products but the sum are done. Returns whether
    // it had to be cleared.
    const auto clear = [&](int consumer, unsigned char* tile, auto bytes, int step) {
      const int thread = static_cast<int>(threadIdx.x) % 128;
      int& special = sync.special[consumer][step % 2];
      if (finds_special<bytes(), 128, T>(tile, thread)) atomicMax(&special, step + 1);
      sm90::named_barrier_sync<256>(K::both);
      if (special != step + 1) return false;
      clear_special<bytes(), 128, T>(tile, thread);
      sm90::fence_shared_for_copies();  // orders the stores before products
      sm90::sync_warpgroup(K::own + consumer);
      return true;
    };
    const auto stage_of = [=](int step) { return step % c.stages; };
    const auto parity_of = [=](int step) { return static_cast<unsigned>(step / c.stages & 1); };
    const auto span = [&](int r) { return walk.span(walk.first_key + r); };

    if (group == 1) {
      sm90::alloc_registers<K::dv_registers>();
      GradientDv<Policy, T, AsIs> m;
      const Scores<T> scores(a);
      const auto span_of_row = [&](int r) { return span(m.row(r)); };
      bool edge = false, found_special = false;  // edge: of the step whose packed P is held
      const auto start_qk = [&](int step) {
        sm90::wait(sync.full_q + stage_of(step), parity_of(step));
        sm90::fence_sums();
        m.start_qk(base, address(stage_q(stage_of(step))));
      };
      const auto compute_p = [&](int step, bool far) {
        const int stage = step % K::ds_stages;
        const unsigned to = address(stage_ds(stage));
        if (step >= K::ds_stages) sm90::named_barrier_sync<256>(K::read + stage);
        edge = walk.at_edge();
        const TileStats* stats = stage_stats(stage_of(step));
        const float* const bases = work.bases + walk.place(work) * c.bn;
        const bool float_mask = is_float_mask<Policy, AsIs>(mask);
        if (Policy::config.masks && !float_mask) sm90::wait(&sync.full_mask, parity_of_mask(step));
        if (float_mask) m.template compute_p<true, true>(scores, stats, bases, walk.float_mask(), span_of_row, to);
        else if (far) m.template compute_p<true, true>(scores, stats, bases, base + K::mask_at, span_of_row, to);
        else if (walk.whole(walk.first_key, c.bm))
          m.template compute_p<false, false>(scores, stats, bases, base + K::mask_at, span_of_row, to);
        else m.template compute_p<true, false>(scores, stats, bases, base + K::mask_at, span_of_row, to);
        m.settle();
        if (Policy::config.masks && !float_mask) {
          __syncwarp();
          if (threadIdx.x % 32 == 0) sm90::arrive(&sync.empty_mask);
        }
        sm90::named_barrier_arrive<256>(K::p + stage_of(step));
      };
      const auto prepare_dv = [&](int step) {
        sm90::wait(sync.full_o + stage_of(step), parity_of(step));
        if (edge && clear(0, stage_o(stage_of(step)), std::integral_constant<int, K::o_bytes>{}, step))
          found_special = true;
      };
      const auto start_dv = [&](int step) {
        sm90::fence_sums();
        m.start_dv(address(stage_o(stage_of(step))));
      };
      if (walk.steps > 0) {
        sm90::wait(&sync.full_k, 0);
        start_qk(0);
        const bool first_far = m.any_base(stage_stats(0));
        sm90::wait_products<0>();
        compute_p(0, first_far);
        m.pack_p();
        for (int step = 1; step < walk.steps; ++step) {
          prepare_dv(step - 1);
          start_qk(step);
          start_dv(step - 1);
          walk.next();
          const bool far = m.any_base(stage_stats(stage_of(step)));  // overlaps the products
          sm90::wait_products<1>();
          compute_p(step, far);
          sm90::wait_products<0>();
          m.pack_p();
          if (is_leader) sm90::arrive(sync.empty_o + stage_of(step - 1));
        }
        prepare_dv(walk.steps - 1);
        start_dv(walk.steps - 1);
        sm90::wait_products<0>();
      }
      if (found_special) {
        Walk again(a, work, sync.number);
        for (int step = 0; step < again.steps; ++step, again.next()) {
          if (!again.at_edge()) continue;
          const Matrix<const T> rows(a.grad_o, a.at_grad_o, again.batch, again.head);
          m.add_special(
              [&](int query, int column) {
                const int i = again.first_query() + query;
                return column < a.dv && i < a.sq ? float(rows(i)[column]) : 0.0f;
              },
              [&](int r, int query) { return again.meets(again.first_key + m.row(r), query); });
        }
      }
      sm90::named_barrier_sync<256>(K::both);  // V has been read
      if (work.parts > 1) {
        m.store_partial_dv(work.partial_v + walk.partial_row(work) * c.dv, a.sk - walk.first_key);
        return;
      }
      m.store_dv(shared + K::v_at);
      sm90::fence_shared_for_copies();
      sm90::sync_warpgroup(K::own);
      if (is_leader) {
        for (int p = 0; p < c.dv / panel; ++p)
          sm90::store(&maps.grad_v, shared + K::v_at + mma_tile_bytes(c.bm, p * panel), p * panel, walk.first_key,
                      walk.key_part, walk.batch);  // a part is a whole group here
        sm90::commit_stores();
        sm90::wait_stores_read<0>();
      }
    } else if (group == 2) {
      sm90::alloc_registers<K::dk_registers>();
      GradientDk<Policy, T> m;
      const auto span_of_row = [&](int r) { return span(m.row(r)); };
      bool edge = false;  // edge: of the step whose packed dS is held
      const auto start_dp = [&](int step) {
        sm90::wait(sync.full_o + stage_of(step), parity_of(step));
        sm90::fence_sums();
        m.start_dp(base + K::v_at, address(stage_o(stage_of(step))));
      };
      const auto compute_ds = [&](int step) {
        const int stage = step % K::ds_stages;
        const unsigned in = address(stage_ds(stage));
        if (is_leader) sm90::arrive(sync.empty_o + stage_of(step));
        sm90::named_barrier_sync<256>(K::p + stage_of(step));
        edge = walk.at_edge();
        const TileStats* stats = stage_stats(stage_of(step));
        if (walk.whole(walk.first_key, c.bm)) m.template compute_ds<false>(stats, span_of_row, in);
        else m.template compute_ds<true>(stats, span_of_row, in);
        m.settle();
        sm90::fence_shared_for_copies();
        sm90::named_barrier_arrive<256>(K::ds + stage);
      };
      const auto prepare_dk = [&](int step) {
        sm90::wait(sync.full_q + stage_of(step), parity_of(step));
        if (edge) clear(1, stage_q(stage_of(step)), std::integral_constant<int, K::q_bytes>{}, step);
      };
      const auto start_dk = [&](int step) {
        sm90::fence_sums();
        m.start_dk(address(stage_q(stage_of(step))));
      };
      if (walk.steps > 0) {
        sm90::wait(&sync.full_v, 0);
        start_dp(0);
        sm90::wait_products<0>();
        compute_ds(0);
        m.pack_ds();
        for (int step = 1; step < walk.steps; ++step) {
          prepare_dk(step - 1);
          start_dp(step);
          start_dk(step - 1);
          walk.next();
          sm90::wait_products<1>();
          compute_ds(step);
          sm90::wait_products<0>();
          m.pack_ds();
          if (is_leader) sm90::arrive(sync.empty_q + stage_of(step - 1));
        }
        prepare_dk(walk.steps - 1);
        start_dk(walk.steps - 1);
        sm90::wait_products<0>();
      }
      sm90::named_barrier_arrive<256>(K::both);
      sm90::named_barrier_sync<256>(K::read_k);  // scores have read K before: their P is there
      if (work.parts > 1) {
        m.store_partial_dk(work.partial_k + walk.partial_row(work) * c.d, a.scale, a.sk - walk.first_key);
        return;
      }
      m.store_dk(shared, a.scale);
      sm90::fence_shared_for_copies();
      sm90::sync_warpgroup(K::own + 1);
      if (is_leader) {
        for (int p = 0; p < c.d / panel; ++p)
          sm90::store(&maps.grad_k, shared + mma_tile_bytes(c.bm, p * panel), p * panel, walk.first_key, walk.key_part,
                      walk.batch);
        sm90::commit_stores();
        sm90::wait_stores_read<0>();
      }
    } else {
      sm90::dealloc_registers<K::dq_registers>();
      GradientDq<Policy, T> m;
      bool looked = false, special_k = false;  // looked: K has been checked; special_k: it has NaN or infinite values
      const auto end_reading = [&](int step, int stage) {
        if (step + K::ds_stages < walk.steps) sm90::named_barrier_arrive<256>(K::read + stage);
        if (step + 1 == walk.steps) sm90::named_barrier_arrive<256>(K::read_k);
      };
      if (walk.steps == 0) sm90::named_barrier_arrive<256>(K::read_k);
      else sm90::wait(&sync.full_k, 0);
      for (int step = 0; step < walk.steps; ++step, walk.next()) {
        const int stage = step % K::ds_stages;
        const bool edge = walk.at_edge(), add = !work.in_order || walk.predecessors() != 0;
        const auto begin_part = [&](int first) {
          if (first % K::part_columns == 0 && work.in_order)
            sm90::wait(&sync.may_add, static_cast<unsigned>(step * K::semaphores + first / K::part_columns) % 2);
        };
        const auto end_part = [&](int first) {
          if ((first + dq_columns) % K::part_columns == 0 && work.in_order)
            sm90::named_barrier_arrive<K::with_counters>(K::added);
        };
        float* const sums = walk.dq(work);
        if (edge && !looked) {
          if (finds_special<K::k_bytes, 128, T>(shared, static_cast<int>(threadIdx.x) % 128))
            atomicMax(&sync.special_k, 1);
          sm90::sync_warpgroup(K::own + 2);
          special_k = sync.special_k != 0;
          looked = true;
        }
        sm90::named_barrier_sync<256>(K::ds + stage);
#pragma unroll 1
        for (int first = 0; first < c.d; first += dq_columns) {
          const bool last = first + dq_columns == c.d;
          if (edge && special_k) {
            begin_part(first);
            m.store_of_finite(sums, stage_ds(stage), shared, first, add);
            if (last) end_reading(step, stage);
            end_part(first);
            continue;
          }
          sm90::fence_sums();
          m.start(address(stage_ds(stage)), base, first);
          sm90::wait_products<0>();
          if (last) end_reading(step, stage);
          begin_part(first);
          m.store(sums, first, add);
          m.settle();
          end_part(first);
        }
      }
    }
  }
}

}  // namespace ridge::attention_kernels
