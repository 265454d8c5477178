// The row is read once and kept on chip: in registers, and past those in shared memory.
#pragma once
#include <ridge/norm/vector.cuh>

namespace ridge::norm_detail {

// Added: there may be a residual; so there is one kernel for both where few registers hold the row.
// Preconditions: rows of all tensors lie alike on 16-byte units and are evenly spaced, and cols / V units fit in
// capacity(Config); vectors are contiguous; the grid covers rows; smem_bytes(Config) of dynamic shared memory. y and
// sum may be x or residual.
template <class Row, class Team, class T, bool Added>
__global__ void __launch_bounds__(Team::threads, Row::config.blocks_per_sm) norm_resident(Forward<T> a) {
  constexpr Held h = held(Row::config, Added ? Use::added : Use::plain);
  using Packed = tile::Packed;
  __shared__ Scratch<Team, float> scratch;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;  // a whole row's lanes: nobody waits for them
  const T* x = a.x.even_row(row);
  const tile::RowUnits<T, Team::lanes> units(x, a.cols, Team::lane());
  tile::ResidentRows<T, 1, Team::lanes, h.in_registers, h.in_shared, !Added && h.in_shared % 4 == 0 ? 4 : 2> kept{
      units, simt::dynamic_shared<Packed>() + threadIdx.x, Team::threads, {}};

  // ---- load: everything once, and zeros where there is nothing
  const auto load = [&](const T* from, int k) {
    return units.has(k) ? tile::load_packed(from + units.at(k)) : Packed{};
  };
  float edge = units.edge_at >= 0 ? float(x[units.edge_at]) : 0.0f;
  if (Added && a.residual.data) {
    const T* residual = a.residual.even_row(row);
    kept.fill([&](int k, Packed* unit) { unit[0] = packed_sum<T>(load(x, k), load(residual, k)); });
    kept.end_pass();
    T* sum = a.sum.even_row(row);
    kept.for_each([&](const Packed* unit, int k) {
      if (units.has(k)) tile::store_packed(sum + units.at(k), unit[0]);
    });
    if (units.edge_at >= 0) {
      const T e = rounded_sum(T(edge), residual[units.edge_at]);
      sum[units.edge_at] = e;
      edge = float(e);
    }
  } else {
    kept.fill([&](int k, Packed* unit) { unit[0] = load(x, k); });
    kept.end_pass();
  }

  // ---- compute
  const auto each = [&](auto&& f) {
    kept.for_each([&](const Packed* unit, int k) {
      const bool exists = units.has(k);
      for_elements<T>(unit[0], [&](float e, int) { f(e, exists); });
    });
    f(edge, units.edge_at >= 0);
  };
  const auto normalised = row_statistics<Team, float>(
      each, [&] { kept.end_pass(); }, static_cast<float>(a.cols), a.eps, a.rms, scratch);

  // ---- finish
  T* y = a.y.even_row(row);
  const auto affine_of = [&](int k) { return load_affine(a, units.at(k), units.has(k)); };
  const auto write = [&](const Packed* unit, int k, const Affine<T>& affine) {
    if (units.has(k)) tile::store_packed(y + units.at(k), norm_unit(a, normalised, unit[0], affine));
  };
  // Of 64 registers, none are left for what the next unit needs.
  constexpr bool ahead = Team::threads * Row::config.blocks_per_sm < 1024;
  if constexpr (ahead) kept.for_each(affine_of, write);
  else kept.for_each([&](const Packed* unit, int k) { write(unit, k, affine_of(k)); });
  if (units.edge_at >= 0) y[units.edge_at] = norm_element(a, normalised, edge, units.edge_at);
}

// dx of a unit.
template <class T>
__device__ __forceinline__ tile::Unit<T> gradient_unit(const RowGradient<float>& gradient, const tile::Packed& x,
                                                       const tile::Packed& dy, const tile::Packed& gamma,
                                                       bool has_gamma, const tile::Packed& dsum) {
  const tile::Unit<T> ex = tile::unpack<T>(x), ey = tile::unpack<T>(dy), eg = tile::unpack<T>(gamma),
                      es = tile::unpack<T>(dsum);
  tile::Unit<T> unit;
#pragma unroll
  for (int v = 0; v < tile::unit_elements<T>; ++v) {
    const float g = has_gamma ? float(ey[v]) * float(eg[v]) : float(ey[v]);
    unit[v] = T(gradient(gradient.normalised(float(ex[v])), g) + float(es[v]));
  }
  return unit;
}

// The same for dx, and the row's statistics for the sums over columns. x and dy are kept, gamma is read twice.
template <class Row, class Team, class T>
__global__ void __launch_bounds__(Team::threads, Row::config.blocks_per_sm) norm_resident_gradient(Backward<T> a) {
  constexpr Held h = held(Row::config, Use::gradient);
  using Packed = tile::Packed;
  __shared__ GradientScratch<Team, float> scratch;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;
  const T *x = a.x.even_row(row), *dy = a.dy.even_row(row), *gamma = a.gamma.data;
  const T* dsum = a.dsum.data ? a.dsum.even_row(row) : nullptr;
  T* dx = a.dx.even_row(row);
  const tile::RowUnits<T, Team::lanes> units(x, a.cols, Team::lane());
  const int edge_at = units.edge_at;
  tile::ResidentRows<T, 2, Team::lanes, h.in_registers, h.in_shared> kept{
      units, simt::dynamic_shared<Packed>() + threadIdx.x, Team::threads, {}};
  enum { of_x, of_dy };

  const auto load = [&](const T* from, int k) {
    return units.has(k) ? tile::load_packed(from + units.at(k)) : Packed{};
  };
  kept.fill([&](int k, Packed* unit) {
    unit[of_x] = load(x, k);
    unit[of_dy] = load(dy, k);
  });
  const float edge_x = edge_at >= 0 ? float(x[edge_at]) : 0.0f, edge_dy = edge_at >= 0 ? float(dy[edge_at]) : 0.0f;
  const float edge_g = edge_at >= 0 && gamma ? edge_dy * float(gamma[edge_at]) : edge_dy;
  const auto load_gamma = [&](int k) {
    return gamma && units.has(k) ? tile::load_packed_anywhere(gamma + units.at(k)) : Packed{};
  };

  const auto each_x = [&](auto&& f) {
    kept.for_each([&](const Packed* unit, int) { for_elements<T>(unit[of_x], [&](float e, int) { f(e, true); }); });
    f(edge_x, true);
  };
  const auto each = [&](auto&& f) {
    kept.for_each(load_gamma, [&](const Packed* unit, int k, const Packed& packed_gamma) {
      const bool exists = units.has(k);
      const tile::Unit<T> ey = tile::unpack<T>(unit[of_dy]), eg = tile::unpack<T>(packed_gamma);
      for_elements<T>(unit[of_x],
                      [&](float e, int v) { f(e, gamma ? float(ey[v]) * float(eg[v]) : float(ey[v]), exists); });
    });
    f(edge_x, edge_g, edge_at >= 0);
  };
  const auto gradient = row_gradient<Team, float>(
      each_x, each, [&] { kept.end_pass(); }, static_cast<float>(a.cols), a.eps, a.rms, scratch);

  struct Ahead {
    Packed gamma, dsum;
  };
  kept.for_each(
      [&](int k) {
        return Ahead{load_gamma(k), dsum ? load(dsum, k) : Packed{}};
      },
      [&](const Packed* unit, int k, const Ahead& ahead) {
        if (units.has(k))
          simt::store_global(dx + units.at(k), gradient_unit<T>(gradient, unit[of_x], unit[of_dy], ahead.gamma,
                                                                gamma != nullptr, ahead.dsum));
      });
  if (edge_at >= 0)
    dx[edge_at] = T(gradient(gradient.normalised(edge_x), edge_g) + (dsum ? float(dsum[edge_at]) : 0.0f));
  if (units.lane == 0 && a.statistics) {
    float* to = a.statistics + row * statistics_size;
    to[0] = gradient.normalised.base;
    to[1] = gradient.normalised.offset;
    to[2] = gradient.normalised.scale;
  }
}

}  // namespace ridge::norm_detail
