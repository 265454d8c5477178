// Plain rows of whole 16-byte units, by few instructions. A lane keeps its units in registers; or none, and the row is
// read again while it is in its multiprocessor's L1 cache: more rows are on their way then than registers and shared
// memory would hold.
#pragma once
#include <ridge/norm/vector.cuh>

namespace ridge::norm_detail {

// A lane's units of a row, U of them in registers.          row: [cols], which lane l has units l, l + lanes, ... of
template <class T, int Lanes, int U> struct EvenUnits {
  static constexpr int V = tile::unit_elements<T>, step = Lanes * V, at_once = U;
  const T* row;
  int first, cols;  // the lane's first element
  tile::Packed unit[U];

  __device__ __forceinline__ EvenUnits(const T* of_row, int lane, int n) : row(of_row), first(lane * V), cols(n) {
#pragma unroll
    for (int k = 0; k < U; ++k) unit[k] = has(k) ? tile::load_packed(row + first + k * step) : tile::Packed{};
  }
  __device__ __forceinline__ bool has(int k) const { return first + k * step < cols; }
  // f(units, at): the first of them has element `at`.
  template <simt::Reuse, class F> __device__ __forceinline__ void each(F&& f) const { f(unit, first); }
  // Between two passes: or the compiler would carry every element, converted, from one to the other.
  __device__ __forceinline__ void end_pass() {
#pragma unroll
    for (int k = 0; k < U; ++k) tile::make_opaque(unit[k]);
  }
};

// None of them: K at a time come from memory, and again from the L1 cache.
template <class T, int Lanes, int K> struct CachedUnits {
  static constexpr int V = tile::unit_elements<T>, step = Lanes * V, at_once = K;
  const T* row;
  int first, cols;

  __device__ __forceinline__ CachedUnits(const T* of_row, int lane, int n) : row(of_row), first(lane * V), cols(n) {}
  __device__ __forceinline__ void end_pass() {}
  template <simt::Reuse R, class F> __device__ __forceinline__ void each(F&& f) const {
#pragma unroll 1
    for (int at = first; at < cols; at += K * step) {
      tile::Packed unit[K];
#pragma unroll
      for (int k = 0; k < K; ++k)
        unit[k] = at + k * step < cols ? tile::load_packed_for<R>(row + at + k * step) : tile::Packed{};
      f(unit, at);
    }
  }
};

// The sum of squares alone, in the place of Differences.
struct Squares {
  float squares;
  __device__ __forceinline__ void add(float e) { squares = fmaf(e, e, squares); }
  friend __device__ __forceinline__ Squares operator+(const Squares& a, const Squares& b) {
    return {a.squares + b.squares};
  }
};

// x by the row's factor and gamma, of one unit.
template <class T>
__device__ __forceinline__ tile::Packed scaled_unit(float scale, const tile::Packed& x, const tile::Packed& gamma) {
  tile::Floats<T> e = tile::unpack_floats<T>(x);
  const tile::Floats<T> g = tile::unpack_floats<T>(gamma);
#pragma unroll
  for (int v = 0; v < tile::unit_elements<T>; ++v) e[v] = e[v] * scale * g[v];
  return tile::pack_floats<T>(e);
}

// y of rows [rows, cols].
// Scaled: y is x by a factor of the row and one of the column: rms_norm without beta.
// Preconditions: rows start on 16 bytes, are of whole units, evenly spaced, and below 2^31 elements; vectors are
// contiguous; the grid covers rows. y may be x.
template <class Row, class Team, class T, bool Scaled>
__global__ void __launch_bounds__(Team::threads, Row::config.blocks_per_sm) norm_even(Forward<T> a) {
  constexpr Config c = Row::config;
  using Units = std::conditional_t<(c.in_registers > 0), EvenUnits<T, Team::lanes, std::max(c.in_registers, 1)>,
                                   CachedUnits<T, Team::lanes, cached_at_once>>;
  constexpr int step = Units::step, N = Units::at_once;
  using Sums = std::conditional_t<Scaled, Squares, Differences<float>>;
  __shared__ typename Team::template Scratch<Sums> scratch;
  __shared__ typename Team::template Scratch<Differences<float>> scratch_again;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;  // a whole row's lanes: nobody waits for them
  const int cols = static_cast<int>(a.cols);

  // ---- load
  Units units(a.x.even_row(row), Team::lane(), cols);

  // ---- compute: elements as they are, which costs bits where their mean is far from 0
  const auto sums = [&](const auto& of, auto s, float base, auto& room) {
    of.template each<simt::Reuse::soon>([&](const auto& unit, int at) {
#pragma unroll
      for (int k = 0; k < of.at_once; ++k)
        if (at + k * step < cols) for_elements<T>(unit[k], [&](float e, int) { s.add(e - base); });
    });
    return Team::reduce(s, plus<decltype(s)>, room);
  };
  const float per_column = 1 / static_cast<float>(cols), per_element = a.rms ? 0.0f : per_column;
  const Sums s = sums(units, Sums{}, 0, scratch);
  bool far;
  Statistics<float> normalised{};
  if constexpr (Scaled) {
    far = !is_finite(s.squares);
    normalised.scale = reciprocal_root(s.squares * per_column + a.eps);
  } else {
    const Spread<float> spread = Spread<float>::of(s, per_element);
    far = spread.far(s);
    normalised = spread.statistics(0, per_column, a.eps);
  }
  units.end_pass();

  // ---- finish
  const T *gamma = a.gamma.data, *beta = Scaled ? nullptr : a.beta.data;
  T* y = a.y.even_row(row);
  if (!far && tile::on_units(gamma, 0) && tile::on_units(beta, 0)) {
    units.template each<simt::Reuse::never>([&](const tile::Packed(&unit)[N], int at) {
      // Units whose gamma and beta are on their way together, as far as there are registers.
      constexpr int batch = Scaled ? N : c.in_registers > 0 ? 2 : 1;
#pragma unroll
      for (int first = 0; first < N; first += batch) {
        Affine<T> affine[batch];
#pragma unroll
        for (int i = 0; i < batch; ++i) {
          const int k = at + (first + i) * step;
          affine[i] = {tile::packed_fill<T>(1), tile::packed_fill<T>(0)};
          if (gamma && k < cols) affine[i].gamma = tile::load_packed(gamma + k);
          if (beta && k < cols) affine[i].beta = tile::load_packed(beta + k);
        }
#pragma unroll
        for (int i = 0; i < batch; ++i)
          if (const int k = at + (first + i) * step; k < cols)
            tile::store_packed(y + k, Scaled ? scaled_unit<T>(normalised.scale, unit[first + i], affine[i].gamma)
                                             : norm_unit<T>(normalised, unit[first + i], affine[i]));
      }
    });
    return;
  }
  // Rare: the row is read again, a unit at a time.
  const CachedUnits<T, Team::lanes, 1> again(a.x.even_row(row), Team::lane(), cols);
  if (far) {
    float base = a.rms ? 0.0f : float(a.x.even_row(row)[0]);
    Differences<float> d = sums(again, Differences<float>{0, 0}, base, scratch_again);
    Spread<float> spread = Spread<float>::of(d, per_element);
    if constexpr (!Scaled)
      if (!a.rms && spread.far(d)) {  // the first element is far from the mean too
        base += spread.mean;
        d = sums(again, Differences<float>{0, 0}, base, scratch);
        spread = Spread<float>::of(d, per_element);
      }
    normalised = spread.statistics(base, per_column, a.eps);
  }
  again.template each<simt::Reuse::never>([&](const tile::Packed(&unit)[1], int at) {
    tile::store_packed(y + at, norm_unit<T>(a, normalised, unit[0], load_affine(a, at, true)));
  });
}

}  // namespace ridge::norm_detail
