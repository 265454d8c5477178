// dx, dgamma and dbeta in one pass over x and dy: a block goes through rows, and its lanes keep the sums of their
// columns.
#pragma once
#include <ridge/norm/resident.cuh>
#include <ridge/tile/async_copy.cuh>

namespace ridge::norm_detail {

// What a lane sums up over rows: of dy n and of dy, for the columns of K units and of its head or tail element.
template <class T, int K> struct ColumnSums {
  static constexpr int V = tile::unit_elements<T>;
  float gamma[K][V] = {}, beta[K][V] = {}, edge_gamma = 0, edge_beta = 0;

  // Calls put(column, of gamma, of beta) for every column.
  template <class Units, class Put> __device__ __forceinline__ void for_each(const Units& units, Put&& put) const {
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (units.has(k)) {
#pragma unroll
        for (int v = 0; v < V; ++v) put(units.at(k) + v, gamma[k][v], beta[k][v]);
      }
    if (units.edge_at >= 0) put(units.edge_at, edge_gamma, edge_beta);
  }
};

// A row of which lanes have K units each: dx of it, and what it adds to the sums.
// x(k), dy(k), gamma(k), dsum(k): unit k of this lane, zeros where it has none; has_gamma: or it is 1 throughout.
// edge: the lane's head or tail element of each, 0 (gamma: 1) where it has none. dx: where the row's goes.
struct Edge {
  float x, dy, gamma, dsum;
};
template <class Team, class T, int K, class Units, class X, class Dy, class Gamma, class Dsum>
__device__ __forceinline__ void fused_row(const Backward<T>& a, const Units& units, X&& x, Dy&& dy, Gamma&& gamma,
                                          bool has_gamma, Dsum&& dsum, const Edge& edge, T* dx, ColumnSums<T, K>& sums,
                                          GradientScratch<Team, float>& scratch) {
  const float edge_g = edge.dy * edge.gamma;
  const auto for_each = [&](auto&& f) {
#pragma unroll
    for (int k = 0; k < K; ++k) f(k);
  };
  const auto each_x = [&](auto&& f) {
    for_each([&](int k) { for_elements<T>(x(k), [&](float e, int) { f(e, true); }); });
    f(edge.x, true);
  };
  using Floats = tile::Floats<T>;
  const auto g_of = [&](const Floats& ey, const Floats& eg, int v) { return has_gamma ? ey[v] * eg[v] : ey[v]; };
  const auto each = [&](auto&& f) {
    for_each([&](int k) {
      const Floats ey = tile::unpack_floats<T>(dy(k)), eg = has_gamma ? tile::unpack_floats<T>(gamma(k)) : ey;
      const bool exists = units.has(k);
      for_elements<T>(x(k), [&](float e, int v) { f(e, g_of(ey, eg, v), exists); });
    });
    f(edge.x, edge_g, units.edge_at >= 0);
  };
  const auto gradient = row_gradient<Team, float>(
      each_x, each, [] {}, static_cast<float>(a.cols), a.eps, a.rms, scratch);

  for_each([&](int k) {
    if (!units.has(k)) return;
    const Floats ey = tile::unpack_floats<T>(dy(k)), eg = has_gamma ? tile::unpack_floats<T>(gamma(k)) : ey;
    const Floats added = tile::unpack_floats<T>(dsum(k));
    Floats unit;
    for_elements<T>(x(k), [&](float e, int v) {
      const float n = gradient.normalised(e);
      unit[v] = gradient(n, g_of(ey, eg, v)) + added[v];
      sums.gamma[k][v] = fmaf(ey[v], n, sums.gamma[k][v]);
      sums.beta[k][v] += ey[v];
    });
    tile::store_packed(dx + units.at(k), tile::pack_floats<T>(unit));
  });
  if (units.edge_at >= 0) {
    const float n = gradient.normalised(edge.x);
    dx[units.edge_at] = T(gradient(n, edge_g) + edge.dsum);
    sums.edge_gamma = fmaf(edge.dy, n, sums.edge_gamma);
    sums.edge_beta += edge.dy;
  }
}

// slices[block][0][j] = sum of dy n over the rows of a block, [block][1][j] of dy.
//
// Where rows are not a multiple of 16 bytes apart, they start at `phases` different places of a unit, and each block
// takes rows of one: so a lane's columns stay the same. x and dy of the next row are copied to shared memory while one
// is worked on; each lane copies what it will read itself, so nobody waits for others.
//
// Preconditions: as norm_resident_gradient; gridDim.x is a multiple of phases; pitch * phases is a multiple
// of 16 bytes in every tensor; smem_bytes(Config).
template <class Row, class Team, class T>
__global__ void __launch_bounds__(Team::threads, Row::config.blocks_per_sm)
    norm_fused_gradient(Backward<T> a, float* slices, int phases) {
  constexpr Config c = Row::config;
  constexpr int K = c.in_registers, threads = Team::threads;
  using Packed = tile::Packed;
  __shared__ GradientScratch<Team, float> scratch[2];
  Packed* own = simt::dynamic_shared<Packed>() + threadIdx.x;  // [fused_stages][2][K] rows ahead, [K] gamma: [threads]
  const auto ahead_x = [&](int stage, int k) { return own + ((stage * 2 + 0) * K + k) * threads; };
  const auto ahead_dy = [&](int stage, int k) { return own + ((stage * 2 + 1) * K + k) * threads; };
  const auto own_gamma = [&](int k) { return own + (fused_stages * 2 * K + k) * threads; };

  const int phase = static_cast<int>(blockIdx.x) % phases;
  const std::int64_t stride = std::int64_t{gridDim.x} / phases * Team::rows * phases;
  const std::int64_t first = phase + (std::int64_t{blockIdx.x} / phases * Team::rows + Team::row_of_block()) * phases;
  // No element is read through this row where there is none: it says where units lie.
  const tile::RowUnits<T, Team::lanes> units(a.x.even_row(phase), a.cols, Team::lane());
  const int edge_at = units.edge_at;
  const T* gamma = a.gamma.data;
#pragma unroll
  for (int k = 0; k < K; ++k)
    *own_gamma(k) = gamma && units.has(k) ? tile::load_packed_anywhere(gamma + units.at(k)) : Packed{};
  const float edge_gamma = edge_at >= 0 && gamma ? float(gamma[edge_at]) : 1.0f;

  ColumnSums<T, K> sums;
  float next_x = 0, next_dy = 0;  // of the edge
  const auto copy_row = [&](std::int64_t row, int stage) {
    if (row < a.rows) {
      const T *x = a.x.even_row(row), *dy = a.dy.even_row(row);
#pragma unroll
      for (int k = 0; k < K; ++k)
        if (units.has(k)) {
          tile::copy_async<unit_bytes>(ahead_x(stage, k), x + units.at(k));
          tile::copy_async<unit_bytes>(ahead_dy(stage, k), dy + units.at(k));
        }
      if (edge_at >= 0) {
        next_x = float(x[edge_at]);
        next_dy = float(dy[edge_at]);
      }
    }
    tile::commit_copies();
  };
  copy_row(first, 0);
  int stage = 0;
  for (std::int64_t row = first; row < a.rows; row += stride, stage ^= 1) {
    const T* dsum = a.dsum.data ? a.dsum.even_row(row) : nullptr;
    const Edge edge{next_x, next_dy, edge_gamma, edge_at >= 0 && dsum ? float(dsum[edge_at]) : 0.0f};
    copy_row(row + stride, stage ^ 1);
    tile::wait_copies<1>();
    // Read where they were copied to in every pass: the sums of K units leave no registers for them.
    fused_row<Team, T, K>(
        a, units, [&](int k) { return units.has(k) ? *ahead_x(stage, k) : Packed{}; },
        [&](int k) { return units.has(k) ? *ahead_dy(stage, k) : Packed{}; }, [&](int k) { return *own_gamma(k); },
        gamma != nullptr, [&](int k) { return dsum ? tile::load_packed(dsum + units.at(k)) : Packed{}; }, edge,
        a.dx.even_row(row), sums, scratch[stage]);
  }
  tile::wait_for_copies();

  float* to = slices + std::int64_t{blockIdx.x} * 2 * a.cols;
  if constexpr (Team::rows == 1) {
    sums.for_each(units, [&](int column, float of_gamma, float of_beta) {
      to[column] = of_gamma;
      to[a.cols + column] = of_beta;
    });
  } else {                                            // the rows of a block, one after the other
    float* of_block = simt::dynamic_shared<float>();  // [2][cols], where the rows ahead were
    const int cols = static_cast<int>(a.cols);
    for (int turn = 0; turn < Team::rows; ++turn) {
      __syncthreads();
      if (turn == Team::row_of_block())
        sums.for_each(units, [&](int column, float of_gamma, float of_beta) {
          of_block[column] = turn > 0 ? of_block[column] + of_gamma : of_gamma;
          of_block[cols + column] = turn > 0 ? of_block[cols + column] + of_beta : of_beta;
        });
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < 2 * cols; i += threads) to[i] = of_block[i];
  }
}

}  // namespace ridge::norm_detail
