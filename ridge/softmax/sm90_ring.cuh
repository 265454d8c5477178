// Hopper: rows pass through a ring in shared memory, which the copy engine fills; a row that is too long for one block
// lies in the shared memory of a cluster. Each element is read from memory once.
#pragma once
#include <ridge/softmax/element.cuh>
#include <ridge/softmax/variants.hpp>
#include <ridge/tile/sm90/row_ring.cuh>

namespace ridge::softmax_detail {

template <class T> struct RingOutput {
  T* data;
  std::int64_t pitch;
};

// dx from y and dy, as softmax_gradient_resident.                    y, dy, dx: [rows, cols]
// Policy::config: threads of a block, and of its teams, each of which has a row at a time.
// Preconditions: rows of all tensors lie alike on 16-byte units; `ring` is ring_of(config, problem, device), a cluster
// has ring.cluster blocks, and ring.smem_bytes() of dynamic shared memory. dx may be y or dy.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, 1)
    softmax_ring_gradient(const __grid_constant__ tile::sm90::RingRows y_rows,
                          const __grid_constant__ tile::sm90::RingRows dy_rows, RingOutput<T> dx, std::int64_t rows,
                          std::int64_t cols, bool log, const __grid_constant__ tile::RowRing ring) {
  if constexpr (tile::sm90::available) {
    namespace sm90 = tile::sm90;
    constexpr Config c = Policy::config;
    constexpr int V = tile::unit_elements<T>;
    using Team = sm90::RingTeam<c.team>;
    Team team(ring, sm90::swizzled_shared());
    team.start();
    const sm90::RingRows tensors[] = {y_rows, dy_rows};
    team.template bring_first<T>(tensors, rows, cols);
    const auto units = team.template units<T>(tensors[0]);  // alike in all of the team's rows
    const Gradient<float> gradient{log};
    team.template for_each_row<T>(tensors, rows, [&](const sm90::RowInSlot<T>& at_row) {
      const T *y = at_row.of(0), *dy = at_row.of(1);
      const auto load = [&](const T* from, int u) {
        return tile::unpack_floats<T>(tile::load_packed(from + units.head + u * V));
      };
      const int edge_at = units.edge_at;
      const float edge_y = edge_at >= 0 ? float(y[edge_at]) : 0.0f, edge_dy = edge_at >= 0 ? float(dy[edge_at]) : 0.0f;
      float sum = gradient.term(edge_y, edge_dy);  // what the row does not have is 0
#pragma unroll 2
      for (int u = units.lane; u < units.units; u += Team::lanes) {
        const tile::Floats<T> a = load(y, u), b = load(dy, u);
#pragma unroll
        for (int v = 0; v < V; ++v) sum += gradient.term(a[v], b[v]);
      }
      sum = Team::reduce(
          sum, [](float a, float b) { return a + b; }, team);
      T* out = dx.data + at_row.row * dx.pitch + team.slice.begin;
#pragma unroll 2
      for (int u = units.lane; u < units.units; u += Team::lanes) {
        tile::Floats<T> a = load(y, u);
        const tile::Floats<T> b = load(dy, u);
#pragma unroll
        for (int v = 0; v < V; ++v) a[v] = gradient.dx(a[v], b[v], sum);
        tile::store_packed(out + units.head + u * V, tile::pack_floats<T>(a));
      }
      if (edge_at >= 0) out[edge_at] = T(gradient.dx(edge_y, edge_dy, sum));
    });
    team.finish();
  }
}

}  // namespace ridge::softmax_detail
