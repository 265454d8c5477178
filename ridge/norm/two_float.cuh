// Norms of float32 whose sums are taken in two floats (tile/two_float.cuh), and whose mean and scale stay two floats until
// y is rounded: what is left of the error are two roundings of the result, and terms of the square of float32's.
//
//   sums       of x and of its square, in one pass. Where the mean is more than 16 standard deviations from 0, their
//              difference would lose what two floats have: a second pass takes the squares of x - base, each of them exact
//              but for the square of its own rounding error
//   mean       base + offset, base its rounding
//   y          ((x - base) - offset) * scale, in two floats; then two multiply-adds with gamma and beta
//
// By count, 17 + 13 instructions of arithmetic for an element (rms: 10 + 5) in place of 7. eps too comes in two floats.
#pragma once
#include <ridge/norm/vector.cuh>
#include <ridge/tile/two_float.cuh>

namespace ridge::norm_detail {

using tile::TwoFloat;

// What float32 alone does not hold.
struct TwoFloatRow {
  TwoFloat cols, eps;
};

template <bool Rms> struct TwoFloatStatistics {
  float base, offset;  // rms: 0
  TwoFloat scale;
  __device__ __forceinline__ float operator()(float x, float gamma, float beta) const {
    TwoFloat d{x, 0};
    if constexpr (!Rms) {
      d = tile::two_sum(x, -base);
      d.low = __fsub_rn(d.low, offset);
    }
    const TwoFloat n = tile::two_product(d.high, scale.high);
    float low = __fmaf_rn(d.high, scale.low, n.low);
    if constexpr (!Rms) low = __fmaf_rn(d.low, scale.high, low);
    return __fmaf_rn(low, gamma, __fmaf_rn(n.high, gamma, beta));
  }
};

struct TwoFloatSums {
  TwoFloat first, squares;
  friend __device__ __forceinline__ TwoFloatSums operator+(const TwoFloatSums& a, const TwoFloatSums& b) {
    return {tile::add(a.first, b.first), tile::add(a.squares, b.squares)};
  }
};
__device__ __forceinline__ TwoFloat plus_two_floats(const TwoFloat& a, const TwoFloat& b) { return tile::add(a, b); }

// Shared memory of a row's reductions.
template <class Team, bool Rms> struct TwoFloatScratch {
  typename Team::template Scratch<std::conditional_t<Rms, TwoFloat, TwoFloatSums>> sums;
  typename Team::template Scratch<TwoFloat> squares;
};

// a plus the square of x.
__device__ __forceinline__ TwoFloat add_square(TwoFloat a, float x) {
  const TwoFloat square = tile::two_product(x, x), sum = tile::two_sum(a.high, square.high);
  return {sum.high, __fadd_rn(a.low, __fadd_rn(sum.low, square.low))};
}
// 1 / sqrt(variance + eps). Rounding may have left a variance of 0 below it; a NaN stays.
__device__ __forceinline__ TwoFloat two_float_scale(TwoFloat variance, TwoFloat eps) {
  if (variance.high < 0) variance = {0, 0};
  return tile::reciprocal_root(tile::renormalised(tile::add(variance, eps)));
}

// each(f) and end_pass() are those of row_statistics().
template <bool Rms, class Team, class Each, class EndPass>
__device__ __forceinline__ TwoFloatStatistics<Rms> two_float_statistics(Each&& each, EndPass&& end_pass,
                                                                        const TwoFloatRow& row,
                                                                        TwoFloatScratch<Team, Rms>& scratch) {
  if constexpr (Rms) {
    TwoFloat squares{0, 0};
    each([&](float x, bool) { squares = add_square(squares, x); });
    end_pass();
    squares = tile::renormalised(Team::reduce(squares, plus_two_floats, scratch.sums));
    return {0, 0, two_float_scale(tile::divided(squares, row.cols), row.eps)};
  } else {
    TwoFloatSums s{{0, 0}, {0, 0}};
    each([&](float x, bool) { s = {tile::add(s.first, x), add_square(s.squares, x)}; });
    end_pass();
    s = Team::reduce(s, plus<TwoFloatSums>, scratch.sums);
    const TwoFloat mean = tile::divided(tile::renormalised(s.first), row.cols);
    TwoFloat of_mean = tile::two_product(mean.high, mean.high);  // squared
    of_mean.low = __fmaf_rn(2 * mean.high, mean.low, of_mean.low);
    TwoFloat variance = tile::divided(tile::renormalised(s.squares), row.cols);
    variance = tile::renormalised(tile::add(variance, {-of_mean.high, -of_mean.low}));
    // Also where the squares have overflowed.
    bool far = !(of_mean.high <= 256 * variance.high && variance.high <= 3.402823466e38f);
    if constexpr (Team::lanes < Team::warp) far = simt::tiles<Team::warp>().any(far);  // all of the warp together
    if (far) {
      TwoFloat squares{0, 0};
      float parts = 0;  // the sum of products of the distances' two parts; they belong to their squares twice
      each([&](float x, bool exists) {
        const TwoFloat d = tile::two_sum(x, exists ? -mean.high : 0.0f);
        squares = add_square(squares, d.high);
        parts = __fmaf_rn(d.high, d.low, parts);
      });
      end_pass();
      squares.low = __fmaf_rn(2, parts, squares.low);
      squares = tile::renormalised(Team::reduce(squares, plus_two_floats, scratch.squares));
      // At most half of it is the offset's square: where the mean lies off a float, the row has floats on both sides.
      const TwoFloat of_offset = tile::two_product(mean.low, mean.low);
      variance = tile::divided(squares, row.cols);
      variance = tile::renormalised(tile::add(variance, {-of_offset.high, -of_offset.low}));
    }
    return {mean.high, mean.low, two_float_scale(variance, row.eps)};
  }
}

// The row is kept on chip. Shapes and preconditions are those of norm_resident.
template <class Row, class Team, bool Rms, bool Added>
__global__ void __launch_bounds__(Team::threads, held(Row::config, Added ? Use::added : Use::plain).blocks_per_sm)
    norm_two_float_resident(Forward<float> a, TwoFloatRow of_row) {
  constexpr int step = Team::lanes * tile::unit_elements<float>;  // from one unit of a lane to its next
  constexpr Held h = held(Row::config, Added ? Use::added : Use::plain);
  using tile::Packed;
  __shared__ TwoFloatScratch<Team, Rms> scratch;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;  // a whole row's lanes: nobody waits for them
  const float* x = a.x.even_row(row);
  [[maybe_unused]] const float* residual = Added ? a.residual.even_row(row) : nullptr;
  const tile::RowUnits<float, Team::lanes> units(x, a.cols, Team::lane());
  const int edge_at = units.edge_at, at0 = units.at(0);
  tile::ResidentRows<tile::RowUnits<float, Team::lanes>, 1, h.in_registers, h.in_shared> kept{
      units, simt::dynamic_shared<Packed>() + threadIdx.x, Team::threads, {}};

  // ---- load: everything once, and zeros where there is nothing
  const auto load = [&](const float* from, int k) {
    return units.has(k) ? tile::load_packed(from + at0 + k * step) : Packed{};
  };
  kept.fill([&](int k, Packed* unit) {
    unit[0] = load(x, k);
    if constexpr (Added) unit[0] = packed_sum<float>(unit[0], load(residual, k));
  });
  float edge = edge_at >= 0 ? x[edge_at] : 0.0f;
  if constexpr (Added)
    if (edge_at >= 0) edge = rounded_sum(edge, residual[edge_at]);
  kept.end_pass();

  // ---- compute
  const auto each = [&](auto&& f) {
    kept.for_each([&](const Packed* unit, int k) {
      const bool exists = units.has(k);
      for_elements<float>(unit[0], [&](float e, int) { f(e, exists); });
    });
    f(edge, edge_at >= 0);
  };
  const auto normalised = two_float_statistics<Rms, Team>(
      each, [&] { kept.end_pass(); }, of_row, scratch);

  // ---- finish: gamma and beta of one unit come while another is worked on, where registers are left
  float* y = a.y.even_row(row);
  [[maybe_unused]] float* sum = Added ? a.sum.even_row(row) : nullptr;
  float* first_unit = y + at0;
  tile::make_opaque(first_unit);  // one address and constants
  struct Vectors {
    Packed gamma, beta;
  };
  const auto load_vectors = [&](int k) {
    Vectors v{tile::packed_fill<float>(1), tile::packed_fill<float>(0)};
    if (a.gamma.data && units.has(k)) v.gamma = tile::load_packed_anywhere(a.gamma.data + units.at(k));
    if (a.beta.data && units.has(k)) v.beta = tile::load_packed_anywhere(a.beta.data + units.at(k));
    return v;
  };
  const auto write = [&](const Packed* unit, int k, const Vectors& v) {
    if (!units.has(k)) return;
    if constexpr (Added) tile::store_packed(sum + at0 + k * step, unit[0]);
    tile::Unit<float> e = tile::unpack<float>(unit[0]);
    const tile::Unit<float> gamma = tile::unpack<float>(v.gamma), beta = tile::unpack<float>(v.beta);
#pragma unroll
    for (int i = 0; i < tile::unit_elements<float>; ++i) e[i] = normalised(e[i], gamma[i], beta[i]);
    tile::store_packed(first_unit + k * step, tile::pack<float>(e));
  };
  if constexpr (Added) kept.for_each([&](const Packed* unit, int k) { write(unit, k, load_vectors(k)); });
  else kept.for_each(load_vectors, write);
  if (edge_at >= 0) {
    if constexpr (Added) sum[edge_at] = edge;
    y[edge_at] =
        normalised(edge, a.gamma.data ? a.gamma.data[edge_at] : 1.0f, a.beta.data ? a.beta.data[edge_at] : 0.0f);
  }
}

// The row is read again for every pass. Shapes and preconditions are those of norm_streaming.
template <class Team, bool Rms>
__global__ void __launch_bounds__(Team::threads) norm_two_float_streaming(Forward<float> a, TwoFloatRow of_row) {
  __shared__ TwoFloatScratch<Team, Rms> scratch;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;
  const int lane = Team::lane();
  const float* x = a.x.row(row);
  std::int64_t step = a.x.step;
  float* y = a.y.row(row);
  if (a.sum.data) {
    const float* residual = a.residual.row(row);
    float* sum = a.sum.row(row);
    for (std::int64_t i = lane; i < a.cols; i += Team::lanes)
      sum[i * a.sum.step] = rounded_sum(x[i * step], residual[i * a.residual.step]);
    x = sum;
    step = a.sum.step;
  }
  const auto each = [&](auto&& f) {
#pragma unroll 4
    for (std::int64_t i = lane; i < a.cols; i += Team::lanes) f(x[i * step], true);
  };
  const auto normalised = two_float_statistics<Rms, Team>(
      each, [] {}, of_row, scratch);
  for (std::int64_t i = lane; i < a.cols; i += Team::lanes)
    y[i * a.y.step] = normalised(x[i * step], a.gamma.data ? a.gamma.data[i * a.gamma.step] : 1.0f,
                                 a.beta.data ? a.beta.data[i * a.beta.step] : 0.0f);
}

}  // namespace ridge::norm_detail
