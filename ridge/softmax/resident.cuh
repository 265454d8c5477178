// Rows that are read once and kept on chip: in registers, and in shared memory beyond that. The blocks of a cluster
// share a long row, a slice each.
#pragma once
#include <ridge/softmax/element.cuh>
#include <ridge/softmax/launch.cuh>
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/tile/l2_prefetch.cuh>
#include <ridge/tile/online_softmax.cuh>
#include <ridge/tile/opaque.cuh>
#include <ridge/tile/packed_max.cuh>
#include <ridge/tile/row_lanes.cuh>
#include <ridge/tile/row_part.cuh>
#include <ridge/tile/row_vectors.cuh>

namespace ridge::softmax_detail {

using tile::Packed;
using tile::unpack;
template <class T> using Vector = tile::Vector<T>;

inline constexpr int spill_batch = 4;  // vectors that a lane writes to shared memory together: as many loads in flight

// A slice's greatest element, and its sum of exponentials relative to slice_base().
struct SliceSum {
  float max, sum;
};
// The base of a slice's exponentials: its maximum, as far as ScaledExponential takes it. If the maximum is too large or
// too small, the row's maximum decides what the sum becomes.
__device__ __forceinline__ float slice_base(float max) {
  constexpr float most = tile::ScaledExponential::most;
  return max > most ? most : max == tile::minus_infinity<float> ? 0.0f : fmaxf(max, -most);
}

// The reduction of all slices' values, in every lane. Lane l has the value of slice l % blocks.
template <class F> __device__ __forceinline__ float of_slices(float value, int blocks, F&& f) {
  const simt::tile<32> warp;
  for (int apart = 1; apart < blocks; apart *= 2) value = f(value, warp.shfl_xor(value, apart));
  return value;
}
__device__ __forceinline__ float sum_of(float a, float b) { return a + b; }

// softmax of a row whose greatest element is too large for ScaledExponential, or not finite: it reads the row again,
// element by element.
template <class Team, class T, class Blocks>
__device__ void softmax_huge(const T* in, T* out, int cols, float max, bool log,
                             typename Team::template Scratch<float>& scratch, Blocks& blocks) {
  float sum = 0;
#pragma unroll 1  // rare: its code lies among what other rows execute
  for (int i = Team::lane(); i < cols; i += Team::lanes) sum += tile::exponential(float(in[i]) - max);
  sum = Team::template reduce<true>(sum, sum_of, scratch);  // other rows of the warp may not be here
  if constexpr (Blocks::shares) sum = of_slices(blocks.all_gather(sum, 1), blocks.blocks(), sum_of);
  const float log_sum = logf(sum);
#pragma unroll 1
  for (int i = Team::lane(); i < cols; i += Team::lanes) {
    const float d = float(in[i]) - max;
    out[i] = T(log ? d - log_sum : tile::exponential(d) / sum);
  }
}

// y[r][:] = softmax(x[r][:])                         x: [rows, cols], pitch_x between rows; y the same with pitch_y
// Preconditions: rows of x and y are co-aligned on 16 bytes, and cols / V vectors fit in capacity(Config), of a cluster
// if Blocks share a row; the grid covers rows; smem_bytes(Config) of dynamic shared memory. y may be x.
template <class Policy, class T, int Warp, class Blocks = tile::WholeRow>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    softmax_resident(const T* x, T* y, std::int64_t rows, std::int64_t cols, std::int64_t pitch_x, std::int64_t pitch_y,
                     std::int64_t ahead, bool log) {
  constexpr Config c = Policy::config;
  constexpr int threads = c.threads, L = lanes(c), V = vector_bytes / sizeof(T), K = c.in_registers, S = c.in_shared;
  using Team = tile::BlockRows<threads, c.rows, Warp>;
  static_assert(S % spill_batch == 0, "shared memory is filled in whole batches");
  __shared__ typename Team::template Scratch<float> scratch_max, scratch_sum, scratch_huge;
  __shared__ typename Blocks::ExchangeBuffer exchange_buffer;
  Packed* spill = simt::dynamic_shared<Packed>() + threadIdx.x;  // [S][threads], this lane's column

  Blocks blocks(exchange_buffer);
  const std::int64_t row = blocks.template row<Team>();
  if (row >= rows) return;  // all lanes of the row together: no other lane waits for them
  const tile::RowPart part = blocks.part(x + row * pitch_x, cols);
  const T* in = x + row * pitch_x + part.begin;  // [part.size]
  T* out = y + row * pitch_y + part.begin;
  if constexpr (c.dependent_launch) {  // prefetch the row to the L2 cache while the kernel before ends
    tile::launch_dependents();
    tile::prefetch_lines_l2<L>(in, part.size, Team::lane());
    tile::grid_dependency_wait();
  }
  constexpr bool on_lines = Blocks::shares && sizeof(T) == 4;  // 16-bit rows leave no register for it
  const auto vectors = tile::vectors_of<on_lines, L>(in, part.size, Team::lane(), L * (K + S));
  constexpr int step = L * V;  // from one vector of a lane to its next
  const int at0 = vectors.at(0), edge_at = vectors.edge_at;

  // ---- load: every element once; vectors that the row does not have are -inf, which changes neither maximum nor sum.
  // There is no branch between the loads: all of them must be in flight before the first is used.
  const Packed nothing = tile::packed_fill<T>(tile::minus_infinity<float>);
  const auto load = [&](int k) { return vectors.has(k) ? tile::load_packed(in + at0 + k * step) : nothing; };
  const auto used = [&](int k) { return vectors.used(k); };  // uniform over the row's lanes: no divergence
  Packed kept[K];
#pragma unroll
  for (int k = 0; k < K; ++k) kept[k] = load(k);
  for (int s = 0; s < S; s += spill_batch)
    if (used(K + s)) {
      Packed batch[spill_batch];
#pragma unroll
      for (int i = 0; i < spill_batch; ++i) batch[i] = load(K + s + i);
#pragma unroll
      for (int i = 0; i < spill_batch; ++i) spill[(s + i) * threads] = batch[i];
    }
  const float edge = edge_at >= 0 ? float(in[edge_at]) : tile::minus_infinity<float>;
  if (ahead > 0 && Team::lane() == 0 && row + ahead < rows) tile::prefetch_row_l2(in + ahead * pitch_x, part.size);

  // Calls f(packed, k) for every vector that the row uses. Between passes the vectors are made opaque, or the compiler
  // would keep every converted element, and its exponential, in registers that it does not have.
  const auto for_each_vector = [&](auto&& f) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (used(k)) f(kept[k], k);
      tile::make_opaque(kept[k]);
    }
    for (int s = 0; s < S; s += spill_batch)
      if (used(K + s)) {
#pragma unroll
        for (int i = 0; i < spill_batch; ++i) f(spill[(s + i) * threads], K + s + i);
      }
  };

  // ---- compute: maximum, then the sum of exponentials
  Packed largest = nothing;
  for_each_vector([&](const Packed& packed, int) {
#pragma unroll
    for (int w = 0; w < tile::vector_words; ++w) largest[w] = tile::packed_max<T>(largest[w], packed[w]);
  });
  float max = edge;
  tile::for_elements<T>(largest, [&](float e, int) { max = tile::greater(max, e); });
  const auto greater = [](float a, float b) { return tile::greater(a, b); };
  max = Team::reduce(max, greater, scratch_max);
  if constexpr (!Blocks::shares)
    if (!tile::ScaledExponential::takes(max)) {  // uniform over the row's lanes
      softmax_huge<Team>(in, out, part.size, max, log, scratch_huge, blocks);
      return;
    }
  tile::ScaledExponential exponential(slice_base(max));

  float sum = exponential(edge);
  for_each_vector(
      [&](const Packed& packed, int) { tile::for_elements<T>(packed, [&](float e, int) { sum += exponential(e); }); });
  sum = Team::reduce(sum, sum_of, scratch_sum);
  if constexpr (Blocks::shares) {
    const SliceSum gathered = blocks.all_gather(SliceSum{max, sum}, 0);
    max = of_slices(gathered.max, blocks.blocks(), greater);
    if (!tile::ScaledExponential::takes(max)) {  // uniform over all blocks
      softmax_huge<Team>(in, out, part.size, max, log, scratch_huge, blocks);
      return;
    }
    exponential = tile::ScaledExponential(tile::softmax_base(max));
    // The sum of a slice of only -inf is 0, or NaN.
    const float offset = tile::ScaledExponential(slice_base(gathered.max)).offset;
    const float share =
        gathered.max == tile::minus_infinity<float> ? 1.0f : simt::fast_exp2(offset - exponential.offset);
    sum = of_slices(gathered.sum * share, blocks.blocks(), sum_of);
  }

  // ---- finish
  const float scale = 1.0f / sum, log_sum = log ? exponential.log_of_sum(sum) : 0.0f;
  const auto answer = [&](float value) {
    return log ? value - exponential.base - log_sum : exponential(value) * scale;
  };
  for_each_vector([&](const Packed& packed, int k) {
    if (!vectors.has(k)) return;
    tile::Floats<T> vector = tile::unpack_floats<T>(packed);
#pragma unroll
    for (int v = 0; v < V; ++v) vector[v] = answer(vector[v]);
    tile::store_packed(out + at0 + k * step, tile::pack_floats<T>(vector));
  });
  if (edge_at >= 0) out[edge_at] = T(answer(edge));
}

// dx; both rows are read once and kept on chip.                 y, dy, dx: [rows, cols], pitches between rows
// Preconditions: rows are co-aligned on 16 bytes, and cols / V vectors fit in capacity(Config, backward); the grid
// covers rows; smem_bytes(Config, backward) of dynamic shared memory. dx may be y or dy.
template <class Policy, class Team, class T>
__global__ void __launch_bounds__(Team::threads, Policy::config.blocks_per_sm)
    softmax_gradient_resident(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t cols,
                              std::int64_t pitch_y, std::int64_t pitch_dy, std::int64_t pitch_dx, bool log) {
  constexpr resident::Kept keeps = resident::kept(Policy::config, true);
  constexpr int K = keeps.in_registers, S = keeps.in_shared;
  __shared__ typename Team::template Scratch<float> scratch;
  const std::int64_t row = Team::row();
  if (row >= rows) return;
  y += row * pitch_y;
  dy += row * pitch_dy;
  dx += row * pitch_dx;
  const tile::RowVectors<T, Team::lanes> vectors(y, cols, Team::lane());
  tile::ResidentRows<tile::RowVectors<T, Team::lanes>, 2, K, S> kept{
      vectors, simt::dynamic_shared<tile::Packed>() + threadIdx.x, Team::threads, {}};
  enum { of_y, of_dy };
  const auto load = [&](const T* from, int k) {
    return vectors.has(k) ? tile::load_packed(from + vectors.at(k)) : tile::Packed{};
  };
  kept.fill([&](int k, tile::Packed* vector) {
    vector[of_y] = load(y, k);
    vector[of_dy] = load(dy, k);
  });
  kept.end_pass();
  const int edge_at = vectors.edge_at;
  const float edge_y = edge_at >= 0 ? float(y[edge_at]) : 0.0f, edge_dy = edge_at >= 0 ? float(dy[edge_at]) : 0.0f;

  const Gradient<float> gradient{log};
  float sum = gradient.term(edge_y, edge_dy);  // absent elements are 0
  kept.for_each([&](const tile::Packed* vector, int) {
    const tile::Floats<T> a = tile::unpack_floats<T>(vector[of_y]), b = tile::unpack_floats<T>(vector[of_dy]);
#pragma unroll
    for (int v = 0; v < tile::vector_elements<T>; ++v) sum += gradient.term(a[v], b[v]);
  });
  sum = Team::reduce(
      sum, [](float a, float b) { return a + b; }, scratch);
  kept.end_pass();
  kept.for_each([&](const tile::Packed* vector, int k) {
    if (!vectors.has(k)) return;
    tile::Floats<T> a = tile::unpack_floats<T>(vector[of_y]);
    const tile::Floats<T> b = tile::unpack_floats<T>(vector[of_dy]);
#pragma unroll
    for (int v = 0; v < tile::vector_elements<T>; ++v) a[v] = gradient.dx(a[v], b[v], sum);
    tile::store_packed(dx + vectors.at(k), tile::pack_floats<T>(a));
  });
  if (edge_at >= 0) dx[edge_at] = T(gradient.dx(edge_y, edge_dy, sum));
}

namespace resident {

// Launches rows of one block; rows of clusters: sm90_resident.cu.
template <class Policy, class T, int Warp> static Status launch(const Forward<T>& call) {
  constexpr Config c = Policy::config;
  const SoftmaxProblem& p = call.plan.problem;
  const simt::Config at = launch_config(call, Warp);
  const std::int64_t ahead = prefetch_distance(c, p, call.plan.device);
  constexpr auto kernel = softmax_resident<Policy, T, Warp>;
  const std::int64_t pitch_x = p.x->pitch(), pitch_y = p.y->pitch();
  if constexpr (c.dependent_launch)
    return tile::launch_dependent(call.plan.device.cc, at, kernel, call.x, call.y, p.rows, p.cols, pitch_x, pitch_y,
                                  ahead, p.log);
  else return simt::launch(at, kernel, call.x, call.y, p.rows, p.cols, pitch_x, pitch_y, ahead, p.log);
}

template <class Policy, class T, int Warp> static Status launch(const Backward<T>& call) {
  constexpr Config c = Policy::config;
  using Team = tile::BlockRows<c.threads, c.rows, Warp>;
  const SoftmaxProblem& p = call.plan.problem;
  return simt::launch(launch_config(call, Warp), softmax_gradient_resident<Policy, Team, T>, call.y, call.dy, call.dx,
                      p.rows, p.cols, p.x->pitch(), p.dy->pitch(), p.y->pitch(), p.log);
}

}  // namespace resident
}  // namespace ridge::softmax_detail
