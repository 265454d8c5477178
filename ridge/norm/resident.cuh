// Rows that are read once and kept on chip: in registers, and in shared memory beyond that. The blocks of a cluster
// share a long row with a residual, a slice each.
#pragma once
#include <ridge/norm/vector.cuh>
#include <ridge/tile/l2_prefetch.cuh>
#include <ridge/tile/row_part.cuh>

namespace ridge::norm_detail {

// Statistics of rows on chip: the first pass takes distances from the row's first element, with no mean beforehand.
struct DistanceSums {
  static constexpr bool plain = true;
  template <class Team, class X> struct Scratch { typename Team::template Scratch<Differences<X>> pass[2]; };
};

// y of rows [rows, cols]; Added: of x + residual, which is written to sum.
// Sums: how the rows' statistics are taken.
// Blocks: what shares a row: a block or part of one, or a cluster (tile/sm90/row_cluster.cuh).
// Preconditions: rows of all tensors are co-aligned and evenly spaced, and cols / V vectors fit in capacity(Config);
// gamma and beta are contiguous; the grid covers rows, exactly so for a dependent launch; footprint().smem of dynamic
// shared memory. y and sum may be x or residual.
template <class Policy, class Team, class T, bool Added, class Sums, class Blocks = tile::WholeRow>
__global__ void __launch_bounds__(Team::threads,
                                  resident::held(Policy::config, Added ? Use::added : Use::plain).blocks_per_sm)
    norm_resident(Forward<T> a, Sums given) {
  constexpr resident::Held h = resident::held(Policy::config, Added ? Use::added : Use::plain);
  constexpr int step = Team::lanes * tile::vector_elements<T>;  // from one vector of a lane to its next
  constexpr int batch = h.in_registers % 2 == 0 ? 2 : 1;        // vectors of gamma and of beta in flight
  using tile::Packed;
  __shared__ typename Sums::template Scratch<Team, float> scratch;
  __shared__ typename Blocks::ExchangeBuffer exchange_buffer;
  Blocks blocks(exchange_buffer);
  const std::int64_t row = blocks.template row<Team>();
  if (row >= a.rows) return;  // all lanes of the row together: no other lane waits for them
  const tile::RowPart part = blocks.part(a.x.strided_row(row), a.cols);
  const T* x = a.x.strided_row(row) + part.begin;
  if constexpr (Policy::config.dependent_launch) {  // prefetch the row to the L2 cache while the kernel before ends
    tile::launch_dependents();
    const auto prefetch = [&](const T* from) { tile::prefetch_lines_l2<Team::lanes>(from, part.size, Team::lane()); };
    prefetch(x);
    if (Added) prefetch(a.residual.strided_row(row) + part.begin);
    if (a.gamma.data) prefetch(a.gamma.data + part.begin);
    if (a.beta.data) prefetch(a.beta.data + part.begin);
    tile::grid_dependency_wait();
  }
  [[maybe_unused]] const T* residual = Added ? a.residual.strided_row(row) + part.begin : nullptr;
  constexpr bool on_lines = Blocks::shares && sizeof(T) == 4;  // 16-bit rows leave no register for it
  const auto vectors =
      tile::vectors_of<on_lines, Team::lanes>(x, part.size, Team::lane(), Team::lanes * (h.in_registers + h.in_shared));
  const int at0 = vectors.at(0), edge_at = vectors.edge_at;
  tile::ResidentRows<std::remove_const_t<decltype(vectors)>, 1, h.in_registers, h.in_shared> kept{
      vectors, simt::dynamic_shared<Packed>() + threadIdx.x, Team::threads, {}};

  // ---- load: every element once, zeros for vectors that the row does not have
  const auto load = [&](const T* from, int k) {
    return vectors.has(k) ? tile::load_packed(from + at0 + k * step) : Packed{};
  };
  const auto element = [&](int i) {
    if constexpr (Added) return float(rounded_sum(x[i], residual[i]));
    else return float(x[i]);
  };
  kept.fill([&](int k, Packed* vector) {
    vector[0] = load(x, k);
    if constexpr (Added) vector[0] = packed_sum<T>(vector[0], load(residual, k));
  });
  if constexpr (!Added)
    if (a.prefetch_distance > 0 && Team::lane() == 0 && row + a.prefetch_distance < a.rows)
      tile::prefetch_row_l2(a.x.strided_row(row + a.prefetch_distance) + part.begin, part.size);
  [[maybe_unused]] float base = !Sums::plain || a.rms || part.size == 0 ? 0.0f : element(0);
  const float edge = edge_at >= 0 ? element(edge_at) : 0.0f;
  kept.end_pass();

  // The first vectors of gamma and beta are loaded while the row is summed.
  const T *gamma = a.gamma.data ? a.gamma.data + part.begin : nullptr,
          *beta = a.beta.data ? a.beta.data + part.begin : nullptr;
  const bool co_aligned = tile::on_vectors(gamma, vectors.head) && tile::on_vectors(beta, vectors.head);
  const auto load_parameter = [&](const T* parameter, float without, Packed* vector, int first, int n) {
#pragma unroll
    for (int i = 0; i < n; ++i) {
      vector[i] = tile::packed_fill<T>(without);
      if (parameter && vectors.has(first + i)) vector[i] = tile::load_packed(parameter + at0 + (first + i) * step);
    }
  };
  constexpr bool ahead = !Added && Sums::plain;  // else there are no registers left
  [[maybe_unused]] Packed first_gamma[batch], first_beta[batch];
  if (ahead && co_aligned) {
    load_parameter(gamma, 1.0f, first_gamma, 0, batch);
    load_parameter(beta, 0.0f, first_beta, 0, batch);
  }

  // ---- compute
  const auto each = [&](auto&& f) {
    kept.for_each([&](const Packed* vector, int k) {
      const bool exists = vectors.has(k);
      for_elements<T>(vector[0], [&](float e, int) { f(e, exists); });
    });
    f(edge, edge_at >= 0);
  };
  const auto normalised = [&] {
    if constexpr (!Sums::plain) {
      return given.template statistics<Team>(
          each, [&] { kept.end_pass(); }, scratch);
    } else {
      const float per_column = 1 / static_cast<float>(a.cols);
      float per_element = a.rms ? 0.0f : per_column;
      if (Blocks::shares && per_element != 0) per_element = part.size > 0 ? 1 / static_cast<float>(part.size) : 0.0f;
      const auto sums = [&](float from, int pass) {
        Differences<float> s{0, 0};
        each([&](float e, bool exists) { s.add(e - (exists ? from : 0.0f)); });  // an absent element adds 0
        kept.end_pass();
        return Team::reduce(s, plus<Differences<float>>, scratch.pass[pass]);
      };
      Differences<float> s = sums(base, 0);
      Spread<float> spread = Spread<float>::of(s, per_element);
      bool far = spread.far(s);
      if constexpr (Team::lanes < Team::warp) far = simt::tiles<Team::warp>().any(far);  // one branch for the warp
      if (far) {
        base += a.rms ? 0.0f : spread.mean;
        s = sums(base, 1);
        spread = Spread<float>::of(s, per_element);
      }
      if constexpr (Blocks::shares) {
        SliceMoments mine{static_cast<float>(part.size), base, spread};
        if (!is_ordinary(spread.divisor(part.size > 0 ? 1 / static_cast<float>(part.size) : 0.0f, a.eps))) {
          mine = wide_slice_alone<Team::warp>(x, Added ? residual : nullptr, part.size, a.rms);
          __syncthreads();  // y may be x: no thread writes it before all have read x
        }
        return statistics_of_cluster(mine, blocks.all_gather(mine, 0), blocks.blocks(), a.cols, per_column, a.eps);
      } else {
        const float divisor = spread.divisor(per_column, a.eps);
        if (in_any_row<Team>(!is_ordinary(divisor))) {
          const auto wide =
              wide_statistics_alone<lanes_alone<Team>>(x, Added ? residual : nullptr, a.cols, a.eps, a.rms);
          if constexpr (Team::lanes > Team::warp) __syncthreads();  // y may be x
          return wide;
        }
      }
      return spread.statistics(base, per_column, a.eps);
    }
  }();

  // ---- finish
  T* y = a.y.strided_row(row) + part.begin;
  [[maybe_unused]] T* sum = Added ? a.sum.strided_row(row) + part.begin : nullptr;
  T* first_vector = y + at0;
  tile::make_opaque(first_vector);  // one address and constants
  const auto write = [&](Packed vector, Packed of_gamma, Packed of_beta, int k) {
    // Opaque, or the compiler unpacks them too early, into registers that it does not have.
    tile::make_opaque(vector), tile::make_opaque(of_gamma), tile::make_opaque(of_beta);
    if (!vectors.has(k)) return;
    if constexpr (Added) tile::store_packed(sum + at0 + k * step, vector);
    tile::store_packed(first_vector + k * step, normalised_vector<T>(normalised, vector, {of_gamma, of_beta}));
  };
  if (co_aligned) {
    kept.template for_batches<batch>([&](auto count, const Packed(*vector)[1], int first) {
      constexpr int n = decltype(count)::value;
      Packed of_gamma[n], of_beta[n];
      if (ahead && first == 0) {
#pragma unroll
        for (int i = 0; i < n; ++i) of_gamma[i] = first_gamma[i], of_beta[i] = first_beta[i];
      } else {
        load_parameter(gamma, 1.0f, of_gamma, first, n);
        load_parameter(beta, 0.0f, of_beta, first, n);
      }
#pragma unroll
      for (int i = 0; i < n; ++i) write(vector[i][0], of_gamma[i], of_beta[i], first + i);
    });
  } else {
    kept.template for_batches<1>([&](auto, const Packed(*vector)[1], int k) {
      Packed of_gamma = tile::packed_fill<T>(1.0f), of_beta{};
      if (gamma && vectors.has(k)) of_gamma = tile::load_packed_anywhere(gamma + vectors.at(k));
      if (beta && vectors.has(k)) of_beta = tile::load_packed_anywhere(beta + vectors.at(k));
      write(vector[0][0], of_gamma, of_beta, k);
    });
  }
  if (edge_at >= 0) {
    if constexpr (Added) sum[edge_at] = T(edge);
    y[edge_at] = norm_element(a, normalised, edge, part.begin + edge_at);
  }
}

// dx for a vector of x and dy.
template <class T>
__device__ __forceinline__ tile::Vector<T> gradient_vector(const RowGradient<float>& gradient, const tile::Packed& x,
                                                           const tile::Packed& dy, const tile::Packed& gamma,
                                                           bool has_gamma, const tile::Packed& dsum) {
  const tile::Vector<T> ex = tile::unpack<T>(x), ey = tile::unpack<T>(dy), eg = tile::unpack<T>(gamma),
                        es = tile::unpack<T>(dsum);
  tile::Vector<T> vector;
#pragma unroll
  for (int v = 0; v < tile::vector_elements<T>; ++v) {
    const float g = has_gamma ? float(ey[v]) * float(eg[v]) : float(ey[v]);
    vector[v] = T(gradient(gradient.normalised(float(ex[v])), g) + float(es[v]));
  }
  return vector;
}

// dx of rows, and their statistics for the kernels over columns. x and dy are kept on chip, gamma is read twice.
template <class Policy, class Team, class T>
__global__ void __launch_bounds__(Team::threads, resident::held(Policy::config, Use::gradient).blocks_per_sm)
    norm_resident_gradient(Backward<T> a) {
  constexpr resident::Held h = resident::held(Policy::config, Use::gradient);
  using Packed = tile::Packed;
  __shared__ SumsScratch<Team, float> scratch;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;
  const T *x = a.x.strided_row(row), *dy = a.dy.strided_row(row), *gamma = a.gamma.data;
  const T* dsum = a.dsum.data ? a.dsum.strided_row(row) : nullptr;
  T* dx = a.dx.strided_row(row);
  const tile::RowVectors<T, Team::lanes> vectors(x, a.cols, Team::lane());
  const int edge_at = vectors.edge_at;
  tile::ResidentRows<tile::RowVectors<T, Team::lanes>, 2, h.in_registers, h.in_shared> kept{
      vectors, simt::dynamic_shared<Packed>() + threadIdx.x, Team::threads, {}};
  enum { of_x, of_dy };

  const auto load = [&](const T* from, int k) {
    return vectors.has(k) ? tile::load_packed(from + vectors.at(k)) : Packed{};
  };
  kept.fill([&](int k, Packed* vector) {
    vector[of_x] = load(x, k);
    vector[of_dy] = load(dy, k);
  });
  const float edge_x = edge_at >= 0 ? float(x[edge_at]) : 0.0f, edge_dy = edge_at >= 0 ? float(dy[edge_at]) : 0.0f;
  const float edge_g = edge_at >= 0 && gamma ? edge_dy * float(gamma[edge_at]) : edge_dy;
  const auto load_gamma = [&](int k) {
    return gamma && vectors.has(k) ? tile::load_packed_anywhere(gamma + vectors.at(k)) : Packed{};
  };

  const auto each_x = [&](auto&& f) {
    kept.for_each([&](const Packed* vector, int) { for_elements<T>(vector[of_x], [&](float e, int) { f(e, true); }); });
    f(edge_x, true);
  };
  const auto each = [&](auto&& f) {
    kept.for_each(load_gamma, [&](const Packed* vector, int k, const Packed& packed_gamma) {
      const bool exists = vectors.has(k);
      const tile::Vector<T> ey = tile::unpack<T>(vector[of_dy]), eg = tile::unpack<T>(packed_gamma);
      for_elements<T>(vector[of_x],
                      [&](float e, int v) { f(e, gamma ? float(ey[v]) * float(eg[v]) : float(ey[v]), exists); });
    });
    f(edge_x, edge_g, edge_at >= 0);
  };
  const auto wide = [&](float) {
    const auto of_row = wide_gradient_alone<lanes_alone<Team>>(x, dy, gamma, a.cols, a.eps, a.rms);
    if constexpr (Team::lanes > Team::warp) __syncthreads();  // dx may be x or dy
    return of_row;
  };
  const auto gradient = row_gradient<Team, float>(
      each_x, each, [&] { kept.end_pass(); }, static_cast<float>(a.cols), a.eps, a.rms, scratch, wide);

  struct Ahead {
    Packed gamma, dsum;
  };
  kept.for_each(
      [&](int k) {
        return Ahead{load_gamma(k), dsum ? load(dsum, k) : Packed{}};
      },
      [&](const Packed* vector, int k, const Ahead& ahead) {
        if (vectors.has(k))
          simt::store_global(dx + vectors.at(k), gradient_vector<T>(gradient, vector[of_x], vector[of_dy], ahead.gamma,
                                                                    gamma != nullptr, ahead.dsum));
      });
  if (edge_at >= 0)
    dx[edge_at] = T(gradient(gradient.normalised(edge_x), edge_g) + (dsum ? float(dsum[edge_at]) : 0.0f));
  if (vectors.lane == 0) store_statistics(a.statistics, row, gradient.normalised);
}

namespace resident {

// Launches rows of one block; rows of clusters: sm90_resident.cu.
template <class Policy, class T, int Warp, class Sums> static Status launch_forward(const Call& call, Sums sums) {
  using Team = TeamOf<Policy, Warp>;
  const simt::Config at = launch_config(call, Warp);
  const auto forward = [&](auto kernel) {
    if constexpr (Policy::config.dependent_launch)
      return tile::launch_dependent(call.plan.device.cc, at, kernel, forward_of<T>(call), sums);
    else return simt::launch(at, kernel, forward_of<T>(call), sums);
  };
  if (call.plan.problem.added) return forward(norm_resident<Policy, Team, T, true, Sums>);
  return forward(norm_resident<Policy, Team, T, false, Sums>);
}

template <class Policy, class T, int Warp> static Status launch(const Call& call) {
  if (!call.plan.problem.backward) return launch_forward<Policy, T, Warp>(call, DistanceSums{});
  if constexpr (!has_gradient(Policy::config)) return no_kernel();
  else
    return simt::launch(launch_config(call, Warp), norm_resident_gradient<Policy, TeamOf<Policy, Warp>, T>,
                        backward_of<T>(call));
}

}  // namespace resident
}  // namespace ridge::norm_detail
