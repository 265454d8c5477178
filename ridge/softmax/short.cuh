// Short vector-aligned rows (whole 16-byte vectors): a lane has a few vectors of each of a few rows at a time; their
// loads and reductions do not wait for one another. There are no edges, no branch between the passes and no shared
// memory, so that the code is short: for a small problem, loading it is a good part of the time.
#pragma once
#include <ridge/softmax/resident.cuh>

namespace ridge::softmax_detail {

// What a lane has of a block's rows: vectors at, at + step, ... of rows first, first + rows, ...
template <class Policy, class T, int Warp, bool Backward> struct ShortRows {
  static constexpr Config c = Policy::config;
  static constexpr int R = rows_per_lane(c, Backward, sizeof(T)), K = c.in_registers, V = tile::vector_elements<T>;
  using Team = tile::BlockRows<c.threads, c.rows, Warp>;
  static_assert(Team::lanes <= Team::warp, "a row is part of a warp");
  static constexpr int step = Team::lanes * V;  // elements from one vector of a lane to its next

  std::int64_t first;  // row
  int left;            // rows from the first on, at most those of the block
  int at, cols;

  __device__ __forceinline__ ShortRows(std::int64_t rows, int columns) : cols(columns) {
    constexpr unsigned lanes = Team::lanes;  // unsigned: a remainder and a quotient are one instruction each
    at = static_cast<int>(threadIdx.x % lanes) * V;
    const int row = static_cast<int>(threadIdx.x / lanes);
    const std::int64_t before = std::int64_t{blockIdx.x} * (c.rows * R), rest = rows - before;
    first = before + row;
    left = static_cast<int>(rest < c.rows * R ? rest : c.rows * R) - row;
  }
  __device__ __forceinline__ bool has_row(int t) const { return t * c.rows < left; }
  __device__ __forceinline__ bool has_vector(int k) const { return at + k * step < cols; }
  __device__ __forceinline__ bool has(int t, int k) const { return has_row(t) && has_vector(k); }

  // Calls f(t, the lane's first vector of row t) for each of its rows, whether they exist or not. Without make_opaque,
  // the compiler makes the address of each row a product of its own.
  template <class X, class F> __device__ __forceinline__ void for_rows(X* tensor, std::int64_t pitch, F&& f) const {
    unsigned rows_apart = c.rows;
    tile::make_opaque(rows_apart);
    const std::int64_t apart = rows_apart * pitch;
    X* vectors = tensor + first * pitch + at;  // [K], step apart
#pragma unroll
    for (int t = 0; t < R; ++t, vectors += apart) {
      // Stores say that they are of global memory; of what is loaded through an opaque pointer nobody would know.
      if constexpr (!std::is_const_v<X>) tile::make_opaque(vectors);
      f(t, vectors);
    }
  }
};

// The reduction of a vector's elements, neighbours last: half as deep a chain as one by one.
template <class T, class F> __device__ __forceinline__ float of_elements(tile::Floats<T> e, F&& f) {
#pragma unroll
  for (int n = tile::vector_elements<T> / 2; n > 0; n /= 2)
#pragma unroll
    for (int v = 0; v < n; ++v) e[v] = f(e[v], e[v + n]);
  return e[0];
}

// The greatest element of a lane's K vectors; 16-bit types two at a time. NaN only if there is no number.
template <class T, int K> __device__ __forceinline__ float greatest(const Packed (&vector)[K]) {
  Packed most = vector[0];
#pragma unroll
  for (int k = 1; k < K; ++k)
#pragma unroll
    for (int w = 0; w < tile::vector_words; ++w) most[w] = tile::packed_max<T>(most[w], vector[k][w]);
#pragma unroll
  for (int n = tile::vector_words / 2; n > 0; n /= 2)
#pragma unroll
    for (int w = 0; w < n; ++w) most[w] = tile::packed_max<T>(most[w], most[w + n]);
  if constexpr (tile::has_pairs<T>) {
    float low, high;
    tile::unpack_pair<T>(most[0], low, high);
    return tile::greater(low, high);
  } else {
    return __builtin_bit_cast(float, most[0]);
  }
}

// y[r][:] = softmax(x[r][:]), Log: its logarithm     x: [rows, cols], pitch_x between rows; y the same with pitch_y
// Policy::config: a block has `rows` rows side by side, `rows_per_lane` times.
// Preconditions: rows of x and y are vector-aligned, with at most `in_registers` vectors for each lane; the grid covers
// rows. y may be x.
template <class Policy, class T, int Warp, bool Log>
__global__ void __launch_bounds__(Policy::config.threads)
    softmax_short(const T* x, T* y, std::int64_t rows, int cols, std::int64_t pitch_x, std::int64_t pitch_y) {
  using Rows = ShortRows<Policy, T, Warp, false>;
  using Team = typename Rows::Team;
  constexpr int R = Rows::R, K = Rows::K, V = Rows::V;
  const Rows lane(rows, cols);
  const simt::tiles<Team::lanes> together;

  // ---- load: absent vectors are -inf, which changes neither maximum nor sum
  Packed vector[R][K];  // of x
  lane.for_rows(x, pitch_x, [&](int t, const T* in) {
#pragma unroll
    for (int k = 0; k < K; ++k)
      vector[t][k] =
          lane.has(t, k) ? tile::load_packed(in + k * Rows::step) : tile::packed_fill<T>(tile::minus_infinity<float>);
  });

  // ---- compute: rows side by side. Each exponential is taken once, and kept; logarithms need the elements instead.
  float max[R], sum[R] = {};  // of rows
  tile::Floats<T> e[R][K];    // exponentials, then y
#pragma unroll
  for (int t = 0; t < R; ++t) max[t] = greatest<T, K>(vector[t]);
#pragma unroll
  for (int t = 0; t < R; ++t) max[t] = together.reduce(max[t], [](float a, float b) { return tile::greater(a, b); });
#pragma unroll
  for (int t = 0; t < R; ++t) {
    const tile::ScaledExponential exponential(tile::softmax_base(max[t]));
#pragma unroll
    for (int k = 0; k < K; ++k) {
      e[t][k] = tile::unpack_floats<T>(vector[t][k]);
#pragma unroll
      for (int v = 0; v < V; ++v) e[t][k][v] = exponential(e[t][k][v]);
      const float of_vector = of_elements<T>(e[t][k], sum_of);
      sum[t] = k == 0 ? of_vector : sum[t] + of_vector;
    }
  }
#pragma unroll
  for (int t = 0; t < R; ++t) sum[t] = together.reduce(sum[t], sum_of);

  // A logarithm is many instructions: lane t takes that of row t, for all of the row's lanes.
  float log_of_mine = 0;
  if constexpr (Log) {
    static_assert(R <= Team::lanes);
    float its_sum = sum[0], its_max = max[0];
#pragma unroll
    for (int t = 1; t < R; ++t) {
      const bool mine = lane.at == t * V;
      its_sum = mine ? sum[t] : its_sum;
      its_max = mine ? max[t] : its_max;
    }
    log_of_mine = tile::ScaledExponential(tile::softmax_base(its_max)).log_of_sum(its_sum);
  }

  // ---- finish. Only the stores are conditional, or there would be a branch for each.
  bool all_taken = true;  // by ScaledExponential; absent rows, of -inf, are
  lane.for_rows(y, pitch_y, [&](int t, T* out) {
    const tile::ScaledExponential exponential(tile::softmax_base(max[t]));
    const bool taken = fabsf(exponential.base) < tile::ScaledExponential::most;  // takes(max[t]), by one comparison
    all_taken = all_taken && taken;
    const float scale = Log ? 1.0f : simt::fast_reciprocal(sum[t]);
    const float log_sum = Log ? together.shfl(log_of_mine, t) : 0.0f;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if constexpr (Log) e[t][k] = tile::unpack_floats<T>(vector[t][k]);
#pragma unroll
      for (int v = 0; v < V; ++v) e[t][k][v] = Log ? e[t][k][v] - exponential.base - log_sum : e[t][k][v] * scale;
      const Packed result = tile::pack_floats<T>(e[t][k]);
      if (taken && lane.has(t, k)) tile::store_packed(out + k * Rows::step, result);
    }
  });
  if (all_taken) return;  // uniform over the lanes of a row

  // ---- the rare rows, one by one, read again: behind everything else, so that no code is loaded to pass over it
  unsigned rare = 0;  // bit t: row t
#pragma unroll
  for (int t = 0; t < R; ++t) rare |= tile::ScaledExponential::takes(max[t]) ? 0 : 1u << t;
#pragma unroll 1
  for (int t = 0; t < R; ++t) {
    if ((rare >> t & 1) == 0) continue;
    const std::int64_t row = lane.first + t * Rows::c.rows;
    const T* in = x + row * pitch_x;                // [cols]
    T* out = y + row * pitch_y;                     // [cols]
    typename Team::template Scratch<float> unused;  // of rows of several warps
    tile::WholeRow::ExchangeBuffer of_no_cluster;
    tile::WholeRow whole(of_no_cluster);
    float most = tile::minus_infinity<float>;
#pragma unroll 1
    for (int i = Team::lane(); i < cols; i += Team::lanes) most = tile::greater(most, float(in[i]));
    most = Team::template reduce<true>(
        most, [](float a, float b) { return tile::greater(a, b); }, unused);
    softmax_huge<Team>(in, out, cols, most, Log, unused, whole);
  }
}

// dx                                                           y, dy, dx: [rows, cols], pitches between rows
// Preconditions: as above, for y, dy and dx. dx may be y or dy.
template <class Policy, class T, int Warp, bool Log>
__global__ void __launch_bounds__(Policy::config.threads)
    softmax_gradient_short(const T* y, const T* dy, T* dx, std::int64_t rows, int cols, std::int64_t pitch_y,
                           std::int64_t pitch_dy, std::int64_t pitch_dx) {
  using Rows = ShortRows<Policy, T, Warp, true>;
  constexpr int R = Rows::R, K = Rows::K, V = Rows::V;
  const Rows lane(rows, cols);
  const simt::tiles<Rows::Team::lanes> together;
  const Gradient<float> gradient{Log};

  // ---- load: absent vectors are 0, which changes no sum
  Packed of_y[R][K], of_dy[R][K];
  const auto load = [&](const T* tensor, std::int64_t pitch, Packed(&vector)[R][K]) {
    lane.for_rows(tensor, pitch, [&](int t, const T* in) {
#pragma unroll
      for (int k = 0; k < K; ++k) vector[t][k] = lane.has(t, k) ? tile::load_packed(in + k * Rows::step) : Packed{};
    });
  };
  load(y, pitch_y, of_y);
  load(dy, pitch_dy, of_dy);

  // ---- compute: rows side by side
  float sum[R] = {};
#pragma unroll
  for (int t = 0; t < R; ++t)
#pragma unroll
    for (int k = 0; k < K; ++k) {
      tile::Floats<T> terms = tile::unpack_floats<T>(of_y[t][k]);
      const tile::Floats<T> b = tile::unpack_floats<T>(of_dy[t][k]);
#pragma unroll
      for (int v = 0; v < V; ++v) terms[v] = gradient.term(terms[v], b[v]);
      const float of_vector = of_elements<T>(terms, sum_of);
      sum[t] = k == 0 ? of_vector : sum[t] + of_vector;
    }
#pragma unroll
  for (int t = 0; t < R; ++t) sum[t] = together.reduce(sum[t], sum_of);

  // ---- finish
  lane.for_rows(dx, pitch_dx, [&](int t, T* out) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      tile::Floats<T> a = tile::unpack_floats<T>(of_y[t][k]);
      const tile::Floats<T> b = tile::unpack_floats<T>(of_dy[t][k]);
#pragma unroll
      for (int v = 0; v < V; ++v) a[v] = gradient.dx(a[v], b[v], sum[t]);
      const Packed result = tile::pack_floats<T>(a);
      if (lane.has(t, k)) tile::store_packed(out + k * Rows::step, result);
    }
  });
}

namespace short_rows {

template <class Policy, class T, int Warp> static Status launch(const Forward<T>& call) {
  const SoftmaxProblem& p = call.plan.problem;
  const auto with = [&](auto kernel) {
    return simt::launch(launch_config(call, Warp), kernel, call.x, call.y, p.rows, static_cast<int>(p.cols),
                        p.x->pitch(), p.y->pitch());
  };
  return p.log ? with(softmax_short<Policy, T, Warp, true>) : with(softmax_short<Policy, T, Warp, false>);
}

template <class Policy, class T, int Warp> static Status launch(const Backward<T>& call) {
  const SoftmaxProblem& p = call.plan.problem;
  const auto with = [&](auto kernel) {
    return simt::launch(launch_config(call, Warp), kernel, call.y, call.dy, call.dx, p.rows, static_cast<int>(p.cols),
                        p.x->pitch(), p.dy->pitch(), p.y->pitch());
  };
  return p.log ? with(softmax_gradient_short<Policy, T, Warp, true>)
               : with(softmax_gradient_short<Policy, T, Warp, false>);
}

}  // namespace short_rows
}  // namespace ridge::softmax_detail
