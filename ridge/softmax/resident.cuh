// The row is read once and kept on chip: in registers, and past those in shared memory; a long one in slices of a
// cluster's blocks.
#pragma once
#include <ridge/softmax/element.cuh>
#include <ridge/softmax/launch.cuh>
#include <ridge/tile/online_softmax.cuh>
#include <ridge/tile/opaque.cuh>
#include <ridge/tile/overlap.cuh>
#include <ridge/tile/packed_max.cuh>
#include <ridge/tile/row_lanes.cuh>
#include <ridge/tile/row_part.cuh>
#include <ridge/tile/row_units.cuh>
#include <ridge/tile/rows_ahead.cuh>

namespace ridge::softmax_detail {

using tile::Packed;
using tile::unpack;
template <class T> using Unit = tile::Unit<T>;

inline constexpr int spill_batch = 4;  // units that a lane moves to shared memory together: as many loads in flight

// Greatest element, and the sum of exponentials relative to what ScaledExponential takes for it: of a slice.
struct SliceSum {
  float max, sum;
};
// What a slice's exponentials are relative to. Of elements that are too large for it, or too small, the row's maximum
// decides what becomes of their sum.
__device__ __forceinline__ float slice_base(float max) {
  constexpr float most = tile::ScaledExponential::most;
  return max > most ? most : max == tile::minus_infinity<float> ? 0.0f : fmaxf(max, -most);
}

// Of lane l of a warp the value of slice l % blocks; that of all of them, in every lane.
template <class F> __device__ __forceinline__ float of_slices(float value, int blocks, F&& f) {
  const simt::tile<32> warp;
  for (int apart = 1; apart < blocks; apart *= 2) value = f(value, warp.shfl_xor(value, apart));
  return value;
}
__device__ __forceinline__ float sum_of(float a, float b) { return a + b; }

// One row whose greatest element is too large for ScaledExponential, or not finite: read again, element by element.
template <class Team, class T, class Blocks>
__device__ void softmax_huge(const T* in, T* out, int cols, float max, bool log,
                             typename Team::template Scratch<float>& scratch, Blocks& blocks) {
  float sum = 0;
  for (int i = Team::lane(); i < cols; i += Team::lanes) sum += tile::exponential(float(in[i]) - max);
  sum = Team::template reduce<true>(sum, sum_of, scratch);  // other rows of the warp are elsewhere
  if constexpr (Blocks::shares) sum = of_slices(blocks.tell(sum, 1), blocks.blocks(), sum_of);
  const float log_sum = logf(sum);
  for (int i = Team::lane(); i < cols; i += Team::lanes) {
    const float d = float(in[i]) - max;
    out[i] = T(log ? d - log_sum : tile::exponential(d) / sum);
  }
}

// y[r][:] = softmax(x[r][:])                         x: [rows, cols], pitch_x between rows; y the same with pitch_y
// Preconditions: rows of x and y lie alike on 16-byte units, and cols / V units fit in capacity(Config), in a cluster
// of blocks if Blocks share a row; the grid covers rows; smem_bytes(Config) of dynamic shared memory. y may be x.
template <class Policy, class T, int Warp, class Blocks = tile::WholeRow>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    softmax_resident(const T* x, T* y, std::int64_t rows, std::int64_t cols, std::int64_t pitch_x, std::int64_t pitch_y,
                     std::int64_t ahead, bool log) {
  constexpr Config c = Policy::config;
  constexpr int threads = c.threads, L = lanes(c), V = vector_bytes / sizeof(T), K = c.in_registers, S = c.in_shared;
  using Team = tile::BlockRows<threads, c.rows, Warp>;
  static_assert(S % spill_batch == 0, "shared memory is filled in whole batches");
  __shared__ typename Team::template Scratch<float> scratch_max, scratch_sum, scratch_huge;
  __shared__ typename Blocks::Inbox inbox;
  Packed* spill = simt::dynamic_shared<Packed>() + threadIdx.x;  // [S][threads], this lane's column

  Blocks blocks(inbox);
  const std::int64_t row = blocks.template row<Team>();
  if (row >= rows) return;  // a whole tile of lanes: nobody waits for it
  const tile::RowPart part = blocks.part(x + row * pitch_x, cols);
  const T* in = x + row * pitch_x + part.begin;  // [part.size]
  T* out = y + row * pitch_y + part.begin;
  if constexpr (c.dependent_launch) {  // the row is on its way to the L2 cache while the kernel before ends
    tile::let_next_begin();
    tile::bring_lines<L>(in, part.size, Team::lane());
    tile::await_last();
  }
  constexpr bool on_lines = Blocks::shares && sizeof(T) == 4;  // 16-bit rows have no register left for it
  const auto units = tile::units_of<on_lines, L>(in, part.size, Team::lane(), L * (K + S));
  constexpr int step = L * V;  // from one unit of a lane to its next
  const int at0 = units.at(0), edge_at = units.edge_at;

  // ---- load: everything once; what is not the row's is -inf, which changes neither maximum nor sum. No branch stands
  // between the loads: all of them are to be in flight before the first is used.
  const Packed nothing = tile::packed_fill<T>(tile::minus_infinity<float>);
  const auto load = [&](int k) { return units.has(k) ? tile::load_packed(in + at0 + k * step) : nothing; };
  const auto used = [&](int k) { return units.used(k); };  // alike in all lanes of the row: no divergence
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
  if (ahead > 0 && Team::lane() == 0 && row + ahead < rows) tile::bring_row(in + ahead * pitch_x, part.size);

  // Calls f(packed, k) for every unit that the row uses. Between passes the units are made opaque, or the compiler
  // would carry every element converted, and its exponential, in registers it does not have.
  const auto for_each_unit = [&](auto&& f) {
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
  for_each_unit([&](const Packed& packed, int) {
#pragma unroll
    for (int w = 0; w < tile::unit_words; ++w) largest[w] = tile::packed_max<T>(largest[w], packed[w]);
  });
  float max = edge;
  tile::for_elements<T>(largest, [&](float e, int) { max = tile::greater(max, e); });
  const auto greater = [](float a, float b) { return tile::greater(a, b); };
  max = Team::reduce(max, greater, scratch_max);
  if constexpr (!Blocks::shares)
    if (!tile::ScaledExponential::takes(max)) {  // alike in all lanes of the row
      softmax_huge<Team>(in, out, part.size, max, log, scratch_huge, blocks);
      return;
    }
  tile::ScaledExponential exponential(slice_base(max));

  float sum = exponential(edge);
  for_each_unit(
      [&](const Packed& packed, int) { tile::for_elements<T>(packed, [&](float e, int) { sum += exponential(e); }); });
  sum = Team::reduce(sum, sum_of, scratch_sum);
  if constexpr (Blocks::shares) {
    const SliceSum told = blocks.tell(SliceSum{max, sum}, 0);
    max = of_slices(told.max, blocks.blocks(), greater);
    if (!tile::ScaledExponential::takes(max)) {  // alike in all blocks
      softmax_huge<Team>(in, out, part.size, max, log, scratch_huge, blocks);
      return;
    }
    exponential = tile::ScaledExponential(tile::softmax_base(max));
    // A slice of nothing but -inf has no sum, or NaN.
    const float offset = tile::ScaledExponential(slice_base(told.max)).offset;
    const float share = told.max == tile::minus_infinity<float> ? 1.0f : simt::fast_exp2(offset - exponential.offset);
    sum = of_slices(told.sum * share, blocks.blocks(), sum_of);
  }

  // ---- finish
  const float scale = 1.0f / sum, log_sum = log ? exponential.log_of_sum(sum) : 0.0f;
  const auto answer = [&](float value) {
    return log ? value - exponential.base - log_sum : exponential(value) * scale;
  };
  for_each_unit([&](const Packed& packed, int k) {
    if (!units.has(k)) return;
    tile::Floats<T> unit = tile::unpack_floats<T>(packed);
#pragma unroll
    for (int v = 0; v < V; ++v) unit[v] = answer(unit[v]);
    tile::store_packed(out + at0 + k * step, tile::pack_floats<T>(unit));
  });
  if (edge_at >= 0) out[edge_at] = T(answer(edge));
}

// Both rows are read once and kept on chip.                     y, dy, dx: [rows, cols], pitches between rows
// Preconditions: rows lie alike on 16-byte units, and cols / V units fit in capacity(Config, backward); the grid covers
// rows; smem_bytes(Config, backward). dx may be y or dy.
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
  const tile::RowUnits<T, Team::lanes> units(y, cols, Team::lane());
  tile::ResidentRows<tile::RowUnits<T, Team::lanes>, 2, K, S> kept{
      units, simt::dynamic_shared<tile::Packed>() + threadIdx.x, Team::threads, {}};
  enum { of_y, of_dy };
  const auto load = [&](const T* from, int k) {
    return units.has(k) ? tile::load_packed(from + units.at(k)) : tile::Packed{};
  };
  kept.fill([&](int k, tile::Packed* unit) {
    unit[of_y] = load(y, k);
    unit[of_dy] = load(dy, k);
  });
  kept.end_pass();
  const int edge_at = units.edge_at;
  const float edge_y = edge_at >= 0 ? float(y[edge_at]) : 0.0f, edge_dy = edge_at >= 0 ? float(dy[edge_at]) : 0.0f;

  const Gradient<float> gradient{log};
  float sum = gradient.term(edge_y, edge_dy);  // what the row does not have is 0
  kept.for_each([&](const tile::Packed* unit, int) {
    const tile::Floats<T> a = tile::unpack_floats<T>(unit[of_y]), b = tile::unpack_floats<T>(unit[of_dy]);
#pragma unroll
    for (int v = 0; v < tile::unit_elements<T>; ++v) sum += gradient.term(a[v], b[v]);
  });
  sum = Team::reduce(
      sum, [](float a, float b) { return a + b; }, scratch);
  kept.end_pass();
  kept.for_each([&](const tile::Packed* unit, int k) {
    if (!units.has(k)) return;
    tile::Floats<T> a = tile::unpack_floats<T>(unit[of_y]);
    const tile::Floats<T> b = tile::unpack_floats<T>(unit[of_dy]);
#pragma unroll
    for (int v = 0; v < tile::unit_elements<T>; ++v) a[v] = gradient.dx(a[v], b[v], sum);
    tile::store_packed(dx + units.at(k), tile::pack_floats<T>(a));
  });
  if (edge_at >= 0) dx[edge_at] = T(gradient.dx(edge_y, edge_dy, sum));
}

namespace resident {

// Of one block's rows; clusters': sm90_resident.cu.
template <class Policy, class T, int Warp> static Status launch(const Forward<T>& call) {
  constexpr Config c = Policy::config;
  const SoftmaxProblem& p = call.plan.problem;
  const simt::Config at = launch_config(call, Warp);
  const std::int64_t ahead = prefetch_distance(c, p, call.plan.device);
  constexpr auto kernel = softmax_resident<Policy, T, Warp>;
  const std::int64_t pitch_x = p.x->pitch(), pitch_y = p.y->pitch();
  if constexpr (c.dependent_launch)
    return launch_dependent(call, at, kernel, call.x, call.y, p.rows, p.cols, pitch_x, pitch_y, ahead, p.log);
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
