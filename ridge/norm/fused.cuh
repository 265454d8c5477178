// dx, dgamma and dbeta in one pass over x and dy: a block goes through rows, and its lanes keep the sums of their
// columns.
#pragma once
#include <ridge/norm/resident.cuh>
#include <ridge/tile/async_copy.cuh>

namespace ridge::norm_detail {

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
  constexpr int K = c.in_registers, V = tile::unit_elements<T>, threads = Team::threads;
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

  float sum_gamma[K][V], sum_beta[K][V], edge_sum_gamma = 0, edge_sum_beta = 0;
#pragma unroll
  for (int k = 0; k < K; ++k)
#pragma unroll
    for (int v = 0; v < V; ++v) sum_gamma[k][v] = sum_beta[k][v] = 0;

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
    const float edge_x = next_x, edge_dy = next_dy, edge_g = edge_dy * edge_gamma;
    copy_row(row + stride, stage ^ 1);
    tile::wait_copies<1>();
    const T* dsum = a.dsum.data ? a.dsum.even_row(row) : nullptr;
    // Read where they were copied to in every pass: the sums of K units leave no registers for them.
    const auto x = [&](int k) { return units.has(k) ? *ahead_x(stage, k) : Packed{}; };
    const auto dy = [&](int k) { return units.has(k) ? *ahead_dy(stage, k) : Packed{}; };
    const auto for_each = [&](auto&& f) {
#pragma unroll
      for (int k = 0; k < K; ++k) f(k);
    };
    const auto each_x = [&](auto&& f) {
      for_each([&](int k) { for_elements<T>(x(k), [&](float e, int) { f(e, true); }); });
      f(edge_x, true);
    };
    const auto g_of = [&](const tile::Unit<T>& ey, const tile::Unit<T>& eg, int v) {
      return gamma ? float(ey[v]) * float(eg[v]) : float(ey[v]);
    };
    const auto each = [&](auto&& f) {
      for_each([&](int k) {
        const tile::Unit<T> ey = tile::unpack<T>(dy(k)), eg = gamma ? tile::unpack<T>(*own_gamma(k)) : ey;
        const bool exists = units.has(k);
        for_elements<T>(x(k), [&](float e, int v) { f(e, g_of(ey, eg, v), exists); });
      });
      f(edge_x, edge_g, edge_at >= 0);
    };
    const auto gradient = row_gradient<Team, float>(
        each_x, each, [] {}, static_cast<float>(a.cols), a.eps, a.rms, scratch[stage]);

    T* dx = a.dx.even_row(row);
    for_each([&](int k) {
      if (!units.has(k)) return;
      const tile::Unit<T> ey = tile::unpack<T>(dy(k)), eg = gamma ? tile::unpack<T>(*own_gamma(k)) : ey;
      const tile::Unit<T> added = tile::unpack<T>(dsum ? tile::load_packed(dsum + units.at(k)) : Packed{});
      tile::Unit<T> unit;
      for_elements<T>(x(k), [&](float e, int v) {
        const float n = gradient.normalised(e);
        unit[v] = T(gradient(n, g_of(ey, eg, v)) + float(added[v]));
        sum_gamma[k][v] = fmaf(float(ey[v]), n, sum_gamma[k][v]);
        sum_beta[k][v] += float(ey[v]);
      });
      simt::store_global(dx + units.at(k), unit);
    });
    if (edge_at >= 0) {
      const float n = gradient.normalised(edge_x);
      dx[edge_at] = T(gradient(n, edge_g) + (dsum ? float(dsum[edge_at]) : 0.0f));
      edge_sum_gamma = fmaf(edge_dy, n, edge_sum_gamma);
      edge_sum_beta += edge_dy;
    }
  }
  tile::wait_for_copies();

  float* to = slices + std::int64_t{blockIdx.x} * 2 * a.cols;
  const auto write_sums = [&](auto&& put) {
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (units.has(k)) {
#pragma unroll
        for (int v = 0; v < V; ++v) put(units.at(k) + v, sum_gamma[k][v], sum_beta[k][v]);
      }
    if (edge_at >= 0) put(edge_at, edge_sum_gamma, edge_sum_beta);
  };
  if constexpr (Team::rows == 1) {
    write_sums([&](int column, float of_gamma, float of_beta) {
      to[column] = of_gamma;
      to[a.cols + column] = of_beta;
    });
  } else {                                        // the rows of a block, one after the other
    float* sums = simt::dynamic_shared<float>();  // [2][cols], where the rows ahead were
    const int cols = static_cast<int>(a.cols);
    for (int turn = 0; turn < Team::rows; ++turn) {
      __syncthreads();
      if (turn == Team::row_of_block())
        write_sums([&](int column, float of_gamma, float of_beta) {
          sums[column] = turn > 0 ? sums[column] + of_gamma : of_gamma;
          sums[cols + column] = turn > 0 ? sums[cols + column] + of_beta : of_beta;
        });
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < 2 * cols; i += threads) to[i] = sums[i];
  }
}

}  // namespace ridge::norm_detail
