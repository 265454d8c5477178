// Hopper: rows pass through a ring in shared memory, which the copy engine fills; a cluster shares a row that is too
// long for one block. Blocks are persistent, and threads keep gamma and beta of their columns in registers. Each
// element is read from memory once, each of gamma and beta once by the team or cluster that shares a row.
#pragma once
#include <ridge/norm/vector.cuh>
#include <ridge/tile/sm90/row_ring.cuh>

#include <type_traits>

namespace ridge::norm_detail {

// The tensors whose rows pass through the ring: x, and residual if there is one.
template <int N> struct RingInputs { tile::sm90::RingRows rows[N]; };

// A row stays in the ring while the next one's sums are taken: so there is time for the cluster's exchange, and
// registers for gamma and beta. Added: x + residual is normalised, and written to sum.
//
// Policy::config: threads of a block and of its teams, vectors of a row in each lane, blocks of a cluster (a power of
// 2).
// Preconditions: rows of all tensors are co-aligned and evenly spaced; gamma and beta are contiguous; `ring` is that of
// ring_of(config, problem, shared memory), whose slices have at most capacity(config) whole vectors;
// RowRing::smem_bytes() of dynamic shared memory, and a cluster has ring.cluster blocks.
// y and sum may be x or residual.
template <class Policy, class T, bool Added>
__global__ void __launch_bounds__(Policy::config.threads, 1)
    norm_ring(Forward<T> a, const __grid_constant__ tile::RowRing ring,
              const __grid_constant__ RingInputs<Added ? 2 : 1> inputs) {
  if constexpr (tile::sm90::available) {
    namespace sm90 = tile::sm90;
    using tile::Floats;
    using tile::Packed;
    constexpr Config c = Policy::config;
    constexpr int V = tile::vector_elements<T>, K = c.in_registers;
    using Team = sm90::RingTeam<c.team>;
    using InSlot = sm90::RowInSlot<T>;
    Team team(ring, sm90::swizzled_shared());
    team.template load_first<T>(inputs.rows, a.rows, a.cols);  // before the cluster's barrier and gamma and beta
    const int begin = static_cast<int>(team.slice.begin), size = static_cast<int>(team.slice.end - team.slice.begin);
    const auto vectors = team.template vectors<T>(inputs.rows[0]);  // the same for all of the team's rows
    const int edge_at = vectors.edge_at;
    const float per_element = size > 0 ? 1 / static_cast<float>(size) : 0.0f;
    const float per_column = 1 / static_cast<float>(a.cols);
    const int at0 = vectors.at(0);
    constexpr int step = Team::lanes * V;  // from one vector of a lane to its next
    const bool centred = !a.rms && size > 0;

    // For this lane's columns.
    Packed gamma[K], beta[K];
    tile::load_vectors_anywhere(a.gamma.data ? a.gamma.data + begin : nullptr, vectors, 1.0f, gamma);
    tile::load_vectors_anywhere(a.beta.data ? a.beta.data + begin : nullptr, vectors, 0.0f, beta);
    team.start();

    const auto vector_of = [&](const InSlot& at_row, int k, const Packed& without) {
      Packed vector = without;
      if (vectors.has(k)) vector = tile::load_packed(at_row.of(0) + at0 + k * step);
      if constexpr (Added) {
        Packed other{};
        if (vectors.has(k)) other = tile::load_packed(at_row.of(1) + at0 + k * step);
        vector = packed_sum<T>(vector, other);
      }
      return vector;
    };
    const auto element_of = [&](const InSlot& at_row, int i) {
      if constexpr (Added) return rounded_sum(at_row.of(0)[i], at_row.of(1)[i]);
      else return at_row.of(0)[i];
    };
    struct Posted {
      float base;
      Spread<float> spread;
      unsigned number;
    };
    const auto residual_of = [](const InSlot& at_row) -> const T* {
      if constexpr (Added) return at_row.of(1);
      else return nullptr;
    };
    // Each warp for itself, from the ring: y may be x, and other blocks of the cluster may have written theirs.
    const auto wide_slice = [&](const InSlot& at_row) {
      return wide_slice_alone<32>(at_row.of(0), residual_of(at_row), size, a.rms);
    };
    const auto moments = [&](const Posted& p) { return SliceMoments{static_cast<float>(size), p.base, p.spread}; };
    const auto sums = [&](const InSlot& at_row, float base, float mean, auto keeps) {
      Differences<float> s{0, 0};
      const Packed nothing = tile::packed_fill<T>(base);  // vectors that the row does not have are at distance 0
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const Packed vector = vector_of(at_row, k, nothing);
        if constexpr (decltype(keeps)::value)
          if (vectors.has(k)) tile::store_packed(a.sum.strided_row(at_row.row) + begin + at0 + k * step, vector);
        const float shift = vectors.has(k) ? mean : 0.0f;
        for_elements<T>(vector, [&](float e, int) { s.add(e - base - shift); });
      }
      if (edge_at >= 0) {
        const T e = element_of(at_row, edge_at);
        if constexpr (decltype(keeps)::value) a.sum.strided_row(at_row.row)[begin + edge_at] = e;
        s.add(float(e) - base - mean);
      }
      return team.reduce_in_block(s, plus<Differences<float>>);
    };

    team.template for_each_row_later<T, Posted>(
        inputs.rows, a.rows,
        [&](const InSlot& at_row) {
          const float base = centred ? float(element_of(at_row, 0)) : 0.0f, of_element = centred ? per_element : 0.0f;
          Differences<float> s = sums(at_row, base, 0.0f, std::bool_constant<Added>{});
          Spread<float> spread = Spread<float>::of(s, of_element);
          if (spread.far(s)) {
            const float mean = spread.mean;
            s = sums(at_row, base, mean, std::false_type{});
            spread = Spread<float>::of(s, of_element);
            spread.mean += mean;
          }
          if (ring.cluster == 1) return Posted{base, spread, 0};
          SliceMoments part{static_cast<float>(size), base, spread};
          if (!is_ordinary(spread.divisor(per_element, a.eps))) part = wide_slice(at_row);
          return Posted{part.base, part.spread, team.post(part)};
        },
        [&](const InSlot& at_row, const Posted& posted) {
          const auto normalised = [&] {
            if (ring.cluster > 1)
              return statistics_of_cluster(moments(posted), team.template collect<SliceMoments>(posted.number),
                                           ring.cluster, a.cols, per_column, a.eps);
            if (is_ordinary(posted.spread.divisor(per_column, a.eps)))
              return posted.spread.statistics(posted.base, per_column, a.eps);
            return wide_statistics_alone<32>(at_row.of(0), residual_of(at_row), a.cols, a.eps, a.rms);
          }();
          T* y = a.y.strided_row(at_row.row) + begin + at0;
          tile::make_opaque(y);  // computed once, not for each vector
          // With a branch for each vector, none could be worked on while another one is read.
          constexpr int batch = K <= 8 ? 2 : sizeof(T) == 2 && K % 3 == 0 ? 3 : 1;  // more would spill
#pragma unroll
          for (int first = 0; first < K; first += batch) {
            if (vectors.lane + first * Team::lanes >= vectors.count) continue;
            Packed vector[batch];
#pragma unroll
            for (int k = first; k < K && k < first + batch; ++k) vector[k - first] = vector_of(at_row, k, Packed{});
#pragma unroll
            for (int k = first; k < K && k < first + batch; ++k) {
              tile::make_opaque(gamma[k]);  // or both would be unpacked for all rows, into registers that are not there
              tile::make_opaque(beta[k]);
              Packed result = normalised_vector<T>(normalised, vector[k - first], {gamma[k], beta[k]});
              tile::make_opaque(result);  // or all of it would move into the branch around its store
              if (vectors.has(k)) tile::store_packed(y + k * step, result);
            }
          }
          if (edge_at >= 0)
            a.y.strided_row(at_row.row)[begin + edge_at] =
                norm_element(a, normalised, float(element_of(at_row, edge_at)), begin + edge_at);
        });
    team.finish();
  }
}

}  // namespace ridge::norm_detail
