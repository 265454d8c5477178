// Gradients of wide heads on Hopper's tensor cores: f16 and bf16, from 129 columns on.
//
// 64 keys' dK and dV of 256 columns fill the registers of two warpgroups, so these share out not keys but sums: each
// product has one warpgroup that takes it, and what passes from one to the next is a tile of 64 x 64 in shared memory.
//
//   weights   S = K Q^T, weights, which go on,         dV += P dO
//   dx        dP = V dO^T, dX in the weights' place,    dK += dX Q
//   dq        dQ = dX^T K, which leaves from registers by additions to global memory
//
// Scores of the next tile of queries are under way before dV's product of this one, and weights are taken beside it;
// dX's warpgroup does the same, and the third follows up to four tiles behind. So tensor cores are never without a
// product. Tiles of dQ are added to in the order that sm90_gradient.cuh describes,
// of which the loader's spare warps keep count.
//
// At the edges of masks who sums over a tile looks through it first, for what is NaN or infinite.
#pragma once
#include <ridge/attention/sm90_gradient_steps.cuh>
#include <ridge/tile/opaque.cuh>
#include <ridge/tile/sm80/mma.cuh>

namespace ridge::attention_kernels {

// Sums of a warpgroup, 64 rows of `Columns`, by half_columns: no instruction asks for more registers than the kernel
// begins with.
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

// Where tiles lie in shared memory: K, V; stages of Q, of dO, of weights and dX [bm][bn]; a mask's tile; stages of
// facts; barriers.
template <class Row> struct WideGradientKernel {
  static constexpr Config c = Row::config;
  static_assert(has_gradient_roles(c) && c.bn == 64 && c.stages == 2 && c.threads == 512);
  static_assert(c.d % half_columns == 0 && c.dv % half_columns == 0);

  // Of 65,536: 512 * 128. The sums of one of the first two are 128 registers of a thread.
  static constexpr int loader_registers = 24, weights_registers = 208, dx_registers = 216, dq_registers = 64;
  static constexpr int x_stages = gradient_x_stages(c), turns = gradient_turns_of_tile(c);

  static constexpr int q_bytes = mma_tile_bytes(c.bn, c.d), o_bytes = mma_tile_bytes(c.bn, c.dv),
                       k_bytes = mma_tile_bytes(c.bm, c.d), x_bytes = mma_tile_bytes(c.bm, c.bn),
                       facts_bytes = c.bn * static_cast<int>(sizeof(TileFacts));
  static constexpr int v_at = k_bytes, q_at = v_at + mma_tile_bytes(c.bm, c.dv), o_at = q_at + c.stages * q_bytes,
                       x_at = o_at + c.stages * o_bytes, mask_at = x_at + x_stages * x_bytes,
                       facts_at = mask_at + gradient_mask_bytes(c), barriers_at = facts_at + c.stages * facts_bytes;
  static_assert(barriers_at + wgmma_gradient_barrier_bytes(c) == wgmma_gradient_bytes(c));
  static_assert(wgmma_gradient_bytes(c) <= hopper_smem);

  // Named barriers: weights of a step are there (whoever makes them is at most a step ahead), dX is, and both have been
  // read; the first two warpgroups; each alone; part of a tile of dQ has been added. The third warpgroup is through
  // with K: the first one once more, where whoever makes weights has come for the last time, and must not come again,
  // for it may be there before the weights are read.
  static constexpr int weights = 1, dx = weights + c.stages, read = dx + x_stages, both = read + x_stages,
                       own = both + 1, added = own + 3, read_k = weights;
  static_assert(added <= 15, "the barriers that there are");
  static constexpr int with_counters = 128 + 2 * 32;  // threads at `added`
  static constexpr int part_columns = c.d / turns;    // of dQ, that turns are of
  static_assert(part_columns % dq_columns == 0);
};

template <int Stages> struct WideGradientSync {
  tile::sm90::Barrier full_k, full_v, full_mask, empty_mask, full_q[Stages], full_o[Stages], empty_q[Stages],
      empty_o[Stages], may_add;
  unsigned number;  // the block's
  // The latest of even and of odd steps, counted from 1, in which each of two warpgroups found NaN or infinite values
  // in its tile: one is read while a faster warp may be at the next. And whether K has some.
  int special[2][2], special_k;
};

// Starts sums = own other^T, of rows of 64 keys and of 64 queries.             own: [64][Columns], other: [64][Columns]
template <class T, int Columns>
__device__ __forceinline__ void start_product(float (&sums)[32], unsigned own, unsigned other) {
  using tile::sm90::Axis;
  tile::make_opaque(own);  // or what describes each step of K and V waits in registers for the next tile of queries
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

// The first warpgroup's part: weights of 64 keys and 64 queries, and dV.
template <class Row, class T, bool AsIs> class GradientWeights : public GradientSteps<Row, T, AsIs> {
  using Steps = GradientSteps<Row, T, AsIs>;
  using Steps::c;

 public:
  __device__ __forceinline__ GradientWeights() : Steps(0) {
    this->warp_ = tile::sm90::warp_of_warpgroup();  // in no register of each thread
    clear_sums<c.dv>(dv_);
  }
  using Steps::any_base;
  // Starts s = k q^T.
  __device__ __forceinline__ void start_scores(unsigned k, unsigned q) { start_product<T, c.d>(s_, k, q); }
  // Starts dv += p grad_o, with the weights that are kept.
  __device__ __forceinline__ void start_dv(unsigned grad_o) { start_sums<T, c.dv>(dv_, p_, grad_o); }
  // Products become weights. Rounded and times the slopes of their scores they go to shared memory.
  template <bool MayMiss, bool Far, class SpanOf>
  __device__ __forceinline__ void weigh(const Scores<T>& scores, const TileFacts* facts, const float* bases,
                                        unsigned mask, SpanOf span, unsigned to) {
    unsigned four[4];
    this->template weigh_each<MayMiss, Far>(
        s_, scores, facts, bases, mask, span,
        [&, row = this->matrices_at(to, 0)](int n, int r, const float(&weight)[2], const float(&slope)[2]) {
          s_[4 * n + 2 * r] = weight[0];
          s_[4 * n + 2 * r + 1] = weight[1];
          four[n % 2 * 2 + r] = tile::pack_pair<T>(weight[0] * slope[0], weight[1] * slope[1]);
          if (n % 2 == 1 && r == 1) tile::sm90::store_matrices(row ^ n / 2 * 32, four[0], four[1], four[2], four[3]);
        });
  }
  __device__ __forceinline__ void settle() {
#pragma unroll
    for (float& weight : s_) tile::make_opaque(weight);
  }
  // Rounds them for the next dV, when the last one's product is done.
  __device__ __forceinline__ void keep_weights() { this->round(p_, s_); }
  template <class Value, class Meets> __device__ __forceinline__ void add_special(Value value, Meets meets) {
#pragma unroll
    for (int h = 0; h < c.dv / half_columns; ++h)
      this->add_special_to(
          dv_[h], [&](int query, int column) { return value(query, h * half_columns + column); }, meets);
  }
  __device__ __forceinline__ void put_dv(unsigned char* to) const {
#pragma unroll
    for (int h = 0; h < c.dv / half_columns; ++h)
      this->template put_rows<half_columns>(to + mma_tile_bytes(c.bm, h * half_columns), dv_[h], 1);
  }

 private:
  float s_[c.bn / 2];  // sums of wgmma
  HalfSums<c.dv> dv_;
  unsigned p_[c.bn / 16][4];  // [64][bn], by 16 queries
};

// The second one's: dX, and dK.
template <class Row, class T> class GradientOfScores : public GradientSteps<Row, T, true> {
  using Steps = GradientSteps<Row, T, true>;
  using Steps::c;

 public:
  __device__ __forceinline__ GradientOfScores() : Steps(0) {
    this->warp_ = tile::sm90::warp_of_warpgroup();
    clear_sums<c.d>(dk_);
  }
  // Starts dP = v grad_o^T.
  __device__ __forceinline__ void start_dp(unsigned v, unsigned grad_o) { start_product<T, c.dv>(dp_, v, grad_o); }
  // Starts dk += dx q, with the dX that is kept.
  __device__ __forceinline__ void start_dk(unsigned q) { start_sums<T, c.d>(dk_, x_, q); }
  // dP becomes dX, which rounded takes the weights' place in shared memory. A warp reads and writes its own rows alone.
  template <bool MayMiss, class SpanOf>
  __device__ __forceinline__ void take_gradient(const TileFacts* facts, SpanOf span, unsigned at) {
    unsigned weights[4], four[4];
    const unsigned row = this->matrices_at(at, 0);  // of the swizzle: others lie at other places of their line
    this->template take_gradient_of<MayMiss>(
        dp_, facts, span,
        [&](int n, int r) {
          if (n % 2 == 0 && r == 0) {
            tile::sm80::load_matrices<false>(weights, row ^ n / 2 * 32);
            __syncwarp();
          }
          return weights[n % 2 * 2 + r];
        },
        [&](int n, int r, const float(&x)[2]) {
          dp_[4 * n + 2 * r] = x[0];
          dp_[4 * n + 2 * r + 1] = x[1];
          four[n % 2 * 2 + r] = tile::pack_pair<T>(x[0], x[1]);
          if (n % 2 == 1 && r == 1) tile::sm90::store_matrices(row ^ n / 2 * 32, four[0], four[1], four[2], four[3]);
        });
  }
  __device__ __forceinline__ void settle() {
#pragma unroll
    for (float& x : dp_) tile::make_opaque(x);
  }
  // Rounds it for the next dK, when the last one's product is done.
  __device__ __forceinline__ void keep_gradient() { this->round(x_, dp_); }
  __device__ __forceinline__ void put_dk(unsigned char* to, float scale) {
    this->warp_ = tile::sm90::warp_of_warpgroup();  // again, or it is spilled meanwhile
#pragma unroll
    for (int h = 0; h < c.d / half_columns; ++h)
      this->template put_rows<half_columns>(to + mma_tile_bytes(c.bm, h * half_columns), dk_[h], scale);
  }

 private:
  float dp_[c.bn / 2];  // sums of wgmma
  HalfSums<c.d> dk_;
  unsigned x_[c.bn / 16][4];  // [64][bn], by 16 queries
};

// The third one's: dq_columns of a tile of dQ at a time.
template <class Row, class T> class GradientOfQueries {
  static constexpr Config c = Row::config;
  static constexpr int columns = dq_columns;
  using Axis = tile::sm90::Axis;

 public:
  // Starts dq = dx^T k, of the columns from `first` on.
  __device__ __forceinline__ void start(unsigned x, unsigned k, int first) {
    const std::uint64_t rows = tile::sm90::descriptor(Axis::outer, x);
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
  // To a tile of sums in global memory: what is there is not read, or added to.
  __device__ __forceinline__ void put(float* sums, int first, bool add) const {
    float* const to = sums + 4 * dq_unit(first / 64, 0, static_cast<int>(threadIdx.x) % 128);
    if (add) {
#pragma unroll
      for (int j = 0; j < columns / 8; ++j)
        tile::sm90::add_floats(to + 4 * dq_unit(0, j, 0), dq_[4 * j], dq_[4 * j + 1], dq_[4 * j + 2], dq_[4 * j + 3]);
    } else {
#pragma unroll
      for (int j = 0; j < columns / 8; ++j)
        simt::store_global(to + 4 * dq_unit(0, j, 0),
                           simt::vec<float, 4>{dq_[4 * j], dq_[4 * j + 1], dq_[4 * j + 2], dq_[4 * j + 3]});
    }
  }
  // The same, but taken without NaN and infinities of K, which meet a dX that is NaN.
  __device__ __forceinline__ void put_of_finite(float* sums, const unsigned char* x, const unsigned char* k, int first,
                                                bool add) const {
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
              fmaf(static_cast<float>(*reinterpret_cast<const T*>(x + at(key, row + i / 2 * 8))), two[i % 2], four[i]);
      }
      float* const to = sums + 4 * dq_unit(first / 64, j, thread);
      if (add) tile::sm90::add_floats(to, four[0], four[1], four[2], four[3]);
      else simt::store_global(to, simt::vec<float, 4>{four[0], four[1], four[2], four[3]});
    }
  }

  __device__ __forceinline__ void settle() {
#pragma unroll
    for (float& sum : dq_) tile::make_opaque(sum);
  }

 private:
  float dq_[columns / 2];  // sums of wgmma
};

// dK, dV, and of dQ the sums in the workspace, without the scale.                      shapes: see GradientArguments
// Preconditions: those of attention_wgmma_gradient.
template <class Row, class T, bool AsIs>
__global__ void __launch_bounds__(Row::config.threads, 1)
    attention_wide_gradient(const __grid_constant__ WgmmaGradientMaps maps,
                            const __grid_constant__ GradientArguments<T> a, const __grid_constant__ GradientWork work,
                            [[maybe_unused]] const __grid_constant__ GradientMaskOf<Row> mask) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    constexpr Config c = Row::config;
    using K = WideGradientKernel<Row>;
    using Walk = GradientWalk<Row, T>;
    unsigned char* shared = sm90::swizzled_shared();
    auto& sync = *reinterpret_cast<WideGradientSync<c.stages>*>(shared + K::barriers_at);
    static_assert(sizeof sync == wgmma_gradient_barrier_bytes(c));
    const auto stage_q = [=](int stage) { return shared + K::q_at + stage * K::q_bytes; };
    const auto stage_o = [=](int stage) { return shared + K::o_at + stage * K::o_bytes; };
    const auto stage_x = [=](int stage) { return shared + K::x_at + stage * K::x_bytes; };
    const auto stage_facts = [=](int stage) {
      return reinterpret_cast<TileFacts*>(shared + K::facts_at + stage * K::facts_bytes);
    };
    const auto parity_of_mask = [](int step) { return static_cast<unsigned>(step % 2); };
    const int group = sm90::warpgroup_index();

    if (threadIdx.x == 0) {
      sm90::init(&sync.full_k, 1);
      sm90::init(&sync.full_v, 1);
      sm90::init(&sync.full_mask, 1);
      sm90::init(&sync.empty_mask, 4);  // warps that weigh
      for (int s = 0; s < c.stages; ++s) {
        sm90::init(sync.full_q + s, 2);  // the tile, and its facts
        sm90::init(sync.full_o + s, 1);
        sm90::init(sync.empty_q + s, 1);  // dK is through with it, and scores were before
        sm90::init(sync.empty_o + s, 2);  // dP and dV are
      }
      sm90::init(&sync.may_add, 1);
      for (auto& of_role : sync.special) of_role[0] = of_role[1] = 0;
      sync.special_k = 0;
      sync.number = work.in_order ? atomicAdd(work.next, 1u) : blockIdx.x;
      sm90::fence_init();
    }
    __syncthreads();
    Walk walk(a, work, sync.number);
    walk.share();
    const bool speaks = threadIdx.x % 128 == 0;
    const unsigned base = sm90::shared_address(shared);
    const auto address = [&](const unsigned char* tile) { return base + static_cast<unsigned>(tile - shared); };

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
            load_panels<c.bm, c.d>(&maps.k, shared, &sync.full_k, walk.first_key, walk.key_head, walk.batch);
            load_panels<c.bm, c.dv>(&maps.v, shared + K::v_at, &sync.full_v, walk.first_key, walk.key_head, walk.batch);
          }
          if constexpr (c.masks) {
            sm90::wait(&sync.empty_mask, parity_of_mask(step) ^ 1);
            walk.load_mask(mask, shared + K::mask_at, &sync.full_mask);
          }
          sm90::wait(sync.empty_o + at.stage, at.parity ^ 1);
          load_panels<c.bn, c.dv>(&maps.grad_o, stage_o(at.stage), sync.full_o + at.stage, walk.first_query(),
                                  walk.head, walk.batch);
        }
      } else if (warp == 1 && work.in_order) {
        // Looks whose turn it is, of the next tile while this one is added to.
        const simt::tile<32> lanes;
        for (int part = 0; part < walk.steps * K::turns;) {
          if (lanes.rank() == 0)
            sm90::await_turn(work.turns + walk.place(work) * K::turns + part % K::turns, walk.turn());
          lanes.sync();
          if (part > 0) sm90::await_named<K::with_counters>(K::added);
          if (lanes.rank() == 0) sm90::arrive(&sync.may_add);
          if (++part % K::turns == 0) walk.next();
        }
        if (walk.steps > 0) sm90::await_named<K::with_counters>(K::added);
      } else if (warp == 2 && work.in_order) {
        // Ends turns.
        const simt::tile<32> lanes;
        for (int part = 0; part < walk.steps * K::turns;) {
          sm90::await_named<K::with_counters>(K::added);
          if (lanes.rank() == 0)
            sm90::end_turn(work.turns + walk.place(work) * K::turns + part % K::turns, walk.turn());
          lanes.sync();
          if (++part % K::turns == 0) walk.next();
        }
      }
      return;
    }

    // Looks through a tile in which queries and keys may not meet, once all products of it but the sum have been taken;
    // whether it had to be cleared.
    const auto clear = [&](int role, unsigned char* tile, auto bytes, int step) {
      const int thread = static_cast<int>(threadIdx.x) % 128;
      int& special = sync.special[role][step % 2];
      if (finds_special<bytes(), 128, T>(tile, thread)) atomicMax(&special, step + 1);
      sm90::await_named<256>(K::both);
      if (special != step + 1) return false;
      clear_special<bytes(), 128, T>(tile, thread);
      sm90::fence_shared_for_copies();  // and before products
      sm90::sync_warpgroup(K::own + role);
      return true;
    };
    const auto stage_of = [=](int step) { return step % c.stages; };
    const auto parity_of = [=](int step) { return static_cast<unsigned>(step / c.stages & 1); };
    const auto span = [&](int r) { return walk.span(walk.first_key + r); };

    if (group == 1) {
      sm90::take_registers<K::weights_registers>();
      GradientWeights<Row, T, AsIs> m;
      const Scores<T> scores(a);
      const auto span_of_row = [&](int r) { return span(m.row(r)); };
      bool edge = false, found_special = false;  // edge: of the step whose weights are kept
      const auto start_scores = [&](int step) {
        sm90::wait(sync.full_q + stage_of(step), parity_of(step));
        sm90::fence_sums();
        m.start_scores(base, address(stage_q(stage_of(step))));
      };
      const auto weigh = [&](int step, bool far) {
        const int x = step % K::x_stages;
        const unsigned to = address(stage_x(x));
        if (step >= K::x_stages) sm90::await_named<256>(K::read + x);
        edge = walk.at_edge();
        const TileFacts* facts = stage_facts(stage_of(step));
        const float* const bases = work.bases + walk.place(work) * c.bn;
        if constexpr (Row::config.masks) sm90::wait(&sync.full_mask, parity_of_mask(step));
        if (far) m.template weigh<true, true>(scores, facts, bases, base + K::mask_at, span_of_row, to);
        else if (walk.whole(walk.first_key, c.bm))
          m.template weigh<false, false>(scores, facts, bases, base + K::mask_at, span_of_row, to);
        else m.template weigh<true, false>(scores, facts, bases, base + K::mask_at, span_of_row, to);
        m.settle();
        if constexpr (Row::config.masks) {
          __syncwarp();
          if (threadIdx.x % 32 == 0) sm90::arrive(&sync.empty_mask);
        }
        sm90::arrive_named<256>(K::weights + stage_of(step));
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
        start_scores(0);
        const bool first_far = m.any_base(stage_facts(0));
        sm90::wait_products<0>();
        weigh(0, first_far);
        m.keep_weights();
        for (int step = 1; step < walk.steps; ++step) {
          prepare_dv(step - 1);
          start_scores(step);
          start_dv(step - 1);
          walk.next();
          const bool far = m.any_base(stage_facts(stage_of(step)));  // while products are under way
          sm90::wait_products<1>();
          weigh(step, far);
          sm90::wait_products<0>();
          m.keep_weights();
          if (speaks) sm90::arrive(sync.empty_o + stage_of(step - 1));
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
      sm90::await_named<256>(K::both);  // V is read
      m.put_dv(shared + K::v_at);
      sm90::fence_shared_for_copies();
      sm90::sync_warpgroup(K::own);
      if (speaks) {
        for (int p = 0; p < c.dv / panel; ++p)
          sm90::store(&maps.grad_v, shared + K::v_at + mma_tile_bytes(c.bm, p * panel), p * panel, walk.first_key,
                      walk.key_head, walk.batch);
        sm90::commit_stores();
        sm90::wait_stores_read<0>();
      }
    } else if (group == 2) {
      sm90::take_registers<K::dx_registers>();
      GradientOfScores<Row, T> m;
      const auto span_of_row = [&](int r) { return span(m.row(r)); };
      bool edge = false;  // of the step whose dX is kept
      const auto start_dp = [&](int step) {
        sm90::wait(sync.full_o + stage_of(step), parity_of(step));
        sm90::fence_sums();
        m.start_dp(base + K::v_at, address(stage_o(stage_of(step))));
      };
      const auto take_gradient = [&](int step) {
        const int x = step % K::x_stages;
        const unsigned in = address(stage_x(x));
        if (speaks) sm90::arrive(sync.empty_o + stage_of(step));
        sm90::await_named<256>(K::weights + stage_of(step));
        edge = walk.at_edge();
        const TileFacts* facts = stage_facts(stage_of(step));
        if (walk.whole(walk.first_key, c.bm)) m.template take_gradient<false>(facts, span_of_row, in);
        else m.template take_gradient<true>(facts, span_of_row, in);
        m.settle();
        sm90::fence_shared_for_copies();
        sm90::arrive_named<256>(K::dx + x);
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
        take_gradient(0);
        m.keep_gradient();
        for (int step = 1; step < walk.steps; ++step) {
          prepare_dk(step - 1);
          start_dp(step);
          start_dk(step - 1);
          walk.next();
          sm90::wait_products<1>();
          take_gradient(step);
          sm90::wait_products<0>();
          m.keep_gradient();
          if (speaks) sm90::arrive(sync.empty_q + stage_of(step - 1));
        }
        prepare_dk(walk.steps - 1);
        start_dk(walk.steps - 1);
        sm90::wait_products<0>();
      }
      sm90::arrive_named<256>(K::both);
      sm90::await_named<256>(K::read_k);  // by scores before: their weights are here
      m.put_dk(shared, a.scale);
      sm90::fence_shared_for_copies();
      sm90::sync_warpgroup(K::own + 1);
      if (speaks) {
        for (int p = 0; p < c.d / panel; ++p)
          sm90::store(&maps.grad_k, shared + mma_tile_bytes(c.bm, p * panel), p * panel, walk.first_key, walk.key_head,
                      walk.batch);
        sm90::commit_stores();
        sm90::wait_stores_read<0>();
      }
    } else {
      sm90::keep_registers<K::dq_registers>();
      GradientOfQueries<Row, T> m;
      bool looked = false, special_k = false;  // through K; whether it has NaN or infinite values
      const auto end_reading = [&](int step, int x) {
        if (step + K::x_stages < walk.steps) sm90::arrive_named<256>(K::read + x);
        if (step + 1 == walk.steps) sm90::arrive_named<256>(K::read_k);
      };
      if (walk.steps == 0) sm90::arrive_named<256>(K::read_k);
      else sm90::wait(&sync.full_k, 0);
      for (int step = 0; step < walk.steps; ++step, walk.next()) {
        const int x = step % K::x_stages;
        const bool edge = walk.at_edge(), add = !work.in_order || walk.turn() != 0;
        const auto begin_part = [&](int first) {
          if (first % K::part_columns == 0 && work.in_order)
            sm90::wait(&sync.may_add, static_cast<unsigned>(step * K::turns + first / K::part_columns) % 2);
        };
        const auto end_part = [&](int first) {
          if ((first + dq_columns) % K::part_columns == 0 && work.in_order)
            sm90::arrive_named<K::with_counters>(K::added);
        };
        float* const sums = work.sums + walk.place(work) * (c.bn * c.d);
        if (edge && !looked) {
          if (finds_special<K::k_bytes, 128, T>(shared, static_cast<int>(threadIdx.x) % 128))
            atomicMax(&sync.special_k, 1);
          sm90::sync_warpgroup(K::own + 2);
          special_k = sync.special_k != 0;
          looked = true;
        }
        sm90::await_named<256>(K::dx + x);
#pragma unroll 1
        for (int first = 0; first < c.d; first += dq_columns) {
          const bool last = first + dq_columns == c.d;
          if (edge && special_k) {
            begin_part(first);
            m.put_of_finite(sums, stage_x(x), shared, first, add);
            if (last) end_reading(step, x);
            end_part(first);
            continue;
          }
          sm90::fence_sums();
          m.start(address(stage_x(x)), base, first);
          sm90::wait_products<0>();
          if (last) end_reading(step, x);
          begin_part(first);
          m.put(sums, first, add);
          m.settle();
          end_part(first);
        }
      }
    }
  }
}

}  // namespace ridge::attention_kernels
