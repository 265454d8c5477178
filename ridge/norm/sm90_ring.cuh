// Hopper: rows pass through a ring in shared memory, which the copy engine fills; a row that is too long for one block lies
// in the shared memory of a cluster. Each element is read from memory once, and each of gamma and beta once by a block.
#pragma once
#include <ridge/norm/vector.cuh>
#include <ridge/tile/sm90/row_ring.cuh>

#include <type_traits>

namespace ridge::norm_detail {

// The slice of a vector that goes with this block's rows: the n-th of those that a block keeps, on units as the rows lie;
// or where it is in memory, if there was no room. All threads of the block, before a barrier.
template <class T, class Units>
__device__ __forceinline__ const T* slice_of_vector(const T* vector, const tile::sm90::RowSlice& slice,
                                                    const Units& units, const tile::RowRing& ring,
                                                    unsigned char* shared, int n) {
  if (!vector) return nullptr;
  if (n >= ring.vectors) return vector + slice.begin;
  constexpr int V = tile::unit_elements<T>;
  T* kept = reinterpret_cast<T*>(shared + ring.vectors_at() + n * ring.vector_bytes) + (V - units.head % V) % V;
  const int size = static_cast<int>(slice.end - slice.begin);
  for (int i = static_cast<int>(threadIdx.x); i < size; i += static_cast<int>(blockDim.x))
    kept[i] = vector[slice.begin + i];
  return kept;
}

// Row::config: threads of a block, of its teams, and lanes of a row.
// Preconditions: rows of all tensors lie alike on 16-byte units and are evenly spaced; vectors are contiguous; `ring` is
// ring_of(config, problem, device), a cluster has ring.cluster blocks, and ring.smem_bytes() of dynamic shared memory.
// y may be x.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads, 1)
    norm_ring(Forward<T> a, const __grid_constant__ tile::RowRing ring,
              const __grid_constant__ tile::sm90::RingRows x_rows) {
  if constexpr (tile::sm90::available) {
    namespace sm90 = tile::sm90;
    using tile::Floats;
    constexpr Config c = Row::config;
    constexpr int V = tile::unit_elements<T>;
    using Team = sm90::RingTeam<c.team, c.lanes>;
    unsigned char* shared = sm90::swizzled_shared();
    Team team(ring, shared);
    team.start();
    const sm90::RingRows tensors[] = {x_rows};
    team.template bring_first<T>(tensors, a.rows, a.cols);
    const sm90::RowSlice slice = team.slice;
    const auto units = team.template units<T>(x_rows);  // alike in all of the team's rows
    const T* gamma = slice_of_vector(a.gamma.data, slice, units, ring, shared, 0);
    const T* beta = slice_of_vector(a.beta.data, slice, units, ring, shared, gamma ? 1 : 0);
    const auto on_units = [&](const T* p) {
      return !p || reinterpret_cast<std::uintptr_t>(p + units.head) % tile::unit_bytes == 0;
    };
    const bool aligned = on_units(gamma) && on_units(beta);
    __syncthreads();

    team.template for_each_row<T>(tensors, a.rows, [&](const sm90::RowInSlot<T>& at_row) {
      // ---- load: what the copy engine has brought
      const T* x = at_row.of(0);
      const auto for_units = [&](auto&& f) {
#pragma unroll 2
        for (int u = units.lane; u < units.units; u += Team::lanes) f(units.head + u * V);
      };
      const float edge = units.edge_at >= 0 ? float(x[units.edge_at]) : 0.0f;

      // ---- compute
      const auto each = [&](auto&& f) {
        for_units([&](int at) { for_elements<T>(tile::load_packed(x + at), [&](float e, int) { f(e, true); }); });
        f(edge, units.edge_at >= 0);
      };
      Scratch<Team, float> scratch{team, team};
      const Statistics<float> normalised = row_statistics<Team, float>(
          each, [] {}, static_cast<float>(a.cols), a.eps, a.rms, scratch);
      if (!at_row.exists) return;

      // ---- finish
      T* y = a.y.even_row(at_row.row) + slice.begin;
      const auto write = [&](auto has_gamma, auto has_beta, auto&& load) {
        constexpr bool G = decltype(has_gamma)::value, B = decltype(has_beta)::value;
        for_units([&](int at) {
          Floats<T> e = tile::unpack_floats<T>(tile::load_packed(x + at)), of_gamma, of_beta;
          if constexpr (G) of_gamma = load(gamma, at, 1.0f);
          if constexpr (B) of_beta = load(beta, at, 0.0f);
#pragma unroll
          for (int v = 0; v < V; ++v) {
            e[v] = normalised(e[v]);
            if constexpr (G && B) e[v] = fmaf(e[v], of_gamma[v], of_beta[v]);
            else if constexpr (G) e[v] *= of_gamma[v];
          }
          tile::store_packed(y + at, tile::pack_floats<T>(e));
        });
      };
      const auto unit = [](const T* p, int at, float) { return tile::unpack_floats<T>(tile::load_packed(p + at)); };
      const auto anything = [](const T* p, int at, float without) {
        return tile::unpack_floats<T>(p ? tile::load_packed_anywhere(p + at) : tile::packed_fill<T>(without));
      };
      constexpr std::true_type yes;
      constexpr std::false_type no;
      if (!gamma && !beta) write(no, no, unit);
      else if (aligned && gamma && beta) write(yes, yes, unit);
      else if (aligned && gamma) write(yes, no, unit);
      else write(yes, yes, anything);
      if (const int at = units.edge_at; at >= 0) y[at] = norm_element(a, normalised, edge, slice.begin + at);
    });
    team.finish();
  }
}

}  // namespace ridge::norm_detail
