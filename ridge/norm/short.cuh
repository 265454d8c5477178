// Short rows of whole 16-byte units: a lane has one unit of each of several rows at a time, so that gamma and beta are
// read once for all of them, and the rows' reductions do not wait for one another.
#pragma once
#include <ridge/norm/vector.cuh>

namespace ridge::norm_detail {

// Row::config: a block has `rows` rows side by side, `turns` times.
// Preconditions: rows of all tensors start on 16 bytes, are of whole units, at most one for each lane, and evenly spaced;
// vectors are contiguous, gridDim.x * rows * turns covers rows. y and sum may be x or residual.
template <class Row, class Team, class T, bool Added>
__global__ void __launch_bounds__(Row::config.threads) norm_short(Forward<T> a) {
  using tile::Packed;
  constexpr Config c = Row::config;
  constexpr int turns = c.turns, V = tile::unit_elements<T>;
  static_assert(Team::lanes <= Team::warp, "a row is part of a warp");
  const simt::tiles<Team::lanes> together;
  const int at = Team::lane() * V;
  const std::int64_t first = std::int64_t{blockIdx.x} * c.rows * turns + Team::row_of_block();
  const bool has = at < a.cols;
  const auto exists = [&](int t) { return has && first + t * c.rows < a.rows; };

  // ---- load
  Packed unit[turns];
#pragma unroll
  for (int t = 0; t < turns; ++t)
    unit[t] = exists(t) ? tile::load_packed(a.x.even_row(first + t * c.rows) + at) : Packed{};
  if constexpr (Added) {
    Packed other[turns];
#pragma unroll
    for (int t = 0; t < turns; ++t)
      other[t] = exists(t) ? tile::load_packed(a.residual.even_row(first + t * c.rows) + at) : Packed{};
#pragma unroll
    for (int t = 0; t < turns; ++t) unit[t] = packed_sum<T>(unit[t], other[t]);
  }
  Affine<T> affine{tile::packed_fill<T>(1), tile::packed_fill<T>(0)};
  if (has && a.gamma.data) affine.gamma = tile::load_packed_anywhere(a.gamma.data + at);
  if (has && a.beta.data) affine.beta = tile::load_packed_anywhere(a.beta.data + at);

  // ---- compute
  const float per_column = 1 / static_cast<float>(a.cols);
  const auto sums = [&](int t, float base) {
    Differences<float> s{0, 0};
    if (has) for_elements<T>(unit[t], [&](float e, int) { s.add(e - base); });
    return together.reduce(s, plus<Differences<float>>);
  };
#pragma unroll
  for (int t = 0; t < turns; ++t) {
    float base = a.rms ? 0.0f : together.shfl(tile::unpack_floats<T>(unit[t])[0], 0);
    Differences<float> s = sums(t, base);
    Spread<float> spread = Spread<float>::of(s, a.rms ? 0.0f : per_column);
    if (simt::tiles<Team::warp>().any(spread.far(s))) {  // all of the warp together
      base += spread.mean;
      s = sums(t, base);
      spread = Spread<float>::of(s, per_column);
    }

    // ---- finish
    if (!exists(t)) continue;
    const std::int64_t row = first + t * c.rows;
    if constexpr (Added) tile::store_packed(a.sum.even_row(row) + at, unit[t]);
    tile::store_packed(a.y.even_row(row) + at,
                       norm_unit<T>(spread.statistics(base, per_column, a.eps), unit[t], affine));
  }
}

}  // namespace ridge::norm_detail
