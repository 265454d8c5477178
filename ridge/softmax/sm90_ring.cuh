// Hopper: rows pass through a ring in shared memory, which the copy engine fills; a cluster shares a row that is too
// long for one block. Each element is read from memory once.
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
// Policy::config: threads of a block, and of its teams; a team has one row at a time.
// Preconditions: rows of all tensors are co-aligned on 16 bytes; `ring` is ring_of(config, problem, device); a cluster
// has ring.cluster blocks; ring.smem_bytes() of dynamic shared memory. dx may be y or dy.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, 1)
    softmax_ring_gradient(const __grid_constant__ tile::sm90::RingRows y_rows,
                          const __grid_constant__ tile::sm90::RingRows dy_rows, RingOutput<T> dx, std::int64_t rows,
                          std::int64_t cols, bool log, const __grid_constant__ tile::RowRing ring) {
  if constexpr (tile::sm90::available) {
    namespace sm90 = tile::sm90;
    constexpr Config c = Policy::config;
    constexpr int V = tile::vector_elements<T>;
    using Team = sm90::RingTeam<c.team>;
    Team team(ring, sm90::swizzled_shared());
    team.start();
    const sm90::RingRows tensors[] = {y_rows, dy_rows};
    team.template load_first<T>(tensors, rows, cols);
    const auto vectors = team.template vectors<T>(tensors[0]);  // the same for all of the team's rows
    const Gradient<float> gradient{log};
    team.template for_each_row<T>(tensors, rows, [&](const sm90::RowInSlot<T>& at_row) {
      const T *y = at_row.of(0), *dy = at_row.of(1);
      const auto load = [&](const T* from, int u) {
        return tile::unpack_floats<T>(tile::load_packed(from + vectors.head + u * V));
      };
      const int edge_at = vectors.edge_at;
      const float edge_y = edge_at >= 0 ? float(y[edge_at]) : 0.0f, edge_dy = edge_at >= 0 ? float(dy[edge_at]) : 0.0f;
      float sum = gradient.term(edge_y, edge_dy);  // absent elements are 0
#pragma unroll 2
      for (int u = vectors.lane; u < vectors.count; u += Team::lanes) {
        const tile::Floats<T> a = load(y, u), b = load(dy, u);
#pragma unroll
        for (int v = 0; v < V; ++v) sum += gradient.term(a[v], b[v]);
      }
      sum = Team::reduce(
          sum, [](float a, float b) { return a + b; }, team);
      T* out = dx.data + at_row.row * dx.pitch + team.slice.begin;
#pragma unroll 2
      for (int u = vectors.lane; u < vectors.count; u += Team::lanes) {
        tile::Floats<T> a = load(y, u);
        const tile::Floats<T> b = load(dy, u);
#pragma unroll
        for (int v = 0; v < V; ++v) a[v] = gradient.dx(a[v], b[v], sum);
        tile::store_packed(out + vectors.head + u * V, tile::pack_floats<T>(a));
      }
      if (edge_at >= 0) out[edge_at] = T(gradient.dx(edge_y, edge_dy, sum));
    });
    team.finish();
  }
}

}  // namespace ridge::softmax_detail
