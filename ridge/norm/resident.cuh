// The row is read once and kept on chip: in registers, and past those in shared memory; a long one with a residual in
// slices of a cluster's blocks.
#pragma once
#include <ridge/norm/vector.cuh>
#include <ridge/tile/row_part.cuh>
#include <ridge/tile/rows_ahead.cuh>

namespace ridge::norm_detail {

// Where rows are on chip, the first pass takes distances from the row's first element, and no mean beforehand.
struct DistanceSums {
  static constexpr bool plain = true;
  template <class Team, class X> struct Scratch {
    typename Team::template Scratch<Differences<X>> pass[2];
    WideScratch<Team> wide;
  };
};

// y of rows [rows, cols], or of their sum with residual, which sum gets.
// Sums: how their statistics are taken.
// Blocks: who shares a row, one block or part of it, or a cluster (tile/sm90/row_cluster.cuh).
// Preconditions: rows of all tensors are co-aligned and evenly spaced, and cols / V units fit in capacity(Config);
// gamma and beta are contiguous; the grid covers rows, and is of rows alone where the launch is a dependent one;
// footprint().smem of dynamic shared memory. y and sum may be x or residual.
template <class Policy, class Team, class T, bool Added, class Sums, class Blocks = tile::WholeRow>
__global__ void __launch_bounds__(Team::threads,
                                  resident::held(Policy::config, Added ? Use::added : Use::plain).blocks_per_sm)
    norm_resident(Forward<T> a, Sums given) {
  constexpr resident::Held h = resident::held(Policy::config, Added ? Use::added : Use::plain);
  constexpr int step = Team::lanes * tile::unit_elements<T>;  // from one unit of a lane to its next
  constexpr int batch = h.in_registers % 2 == 0 ? 2 : 1;      // units whose gamma and beta are on their way together
  using tile::Packed;
  __shared__ typename Sums::template Scratch<Team, float> scratch;
  __shared__ typename Blocks::Inbox inbox;
  Blocks blocks(inbox);
  const std::int64_t row = blocks.template row<Team>();
  if (row >= a.rows) return;  // a whole row's lanes: nobody waits for them
  const tile::RowPart part = blocks.part(a.x.even_row(row), a.cols);
  const T* x = a.x.even_row(row) + part.begin;
  if constexpr (Policy::config
                    .dependent_launch) {  // the row is on its way to the L2 cache while the kernel before ends
    tile::let_next_begin();
    const auto bring = [&](const T* from) { tile::bring_lines<Team::lanes>(from, part.size, Team::lane()); };
    bring(x);
    if (Added) bring(a.residual.even_row(row) + part.begin);
    if (a.gamma.data) bring(a.gamma.data + part.begin);
    if (a.beta.data) bring(a.beta.data + part.begin);
    tile::await_last();
  }
  [[maybe_unused]] const T* residual = Added ? a.residual.even_row(row) + part.begin : nullptr;
  constexpr bool on_lines = Blocks::shares && sizeof(T) == 4;  // 16-bit rows have no register left for it
  const auto units =
      tile::units_of<on_lines, Team::lanes>(x, part.size, Team::lane(), Team::lanes * (h.in_registers + h.in_shared));
  const int at0 = units.at(0), edge_at = units.edge_at;
  tile::ResidentRows<std::remove_const_t<decltype(units)>, 1, h.in_registers, h.in_shared> kept{
      units, simt::dynamic_shared<Packed>() + threadIdx.x, Team::threads, {}};

  // ---- load: everything once, and zeros where there is nothing
  const auto load = [&](const T* from, int k) {
    return units.has(k) ? tile::load_packed(from + at0 + k * step) : Packed{};
  };
  const auto element = [&](int i) {
    if constexpr (Added) return float(rounded_sum(x[i], residual[i]));
    else return float(x[i]);
  };
  kept.fill([&](int k, Packed* unit) {
    unit[0] = load(x, k);
    if constexpr (Added) unit[0] = packed_sum<T>(unit[0], load(residual, k));
  });
  if constexpr (!Added)
    if (a.prefetch_distance > 0 && Team::lane() == 0 && row + a.prefetch_distance < a.rows)
      tile::bring_row(a.x.even_row(row + a.prefetch_distance) + part.begin, part.size);
  [[maybe_unused]] float base = !Sums::plain || a.rms || part.size == 0 ? 0.0f : element(0);
  const float edge = edge_at >= 0 ? element(edge_at) : 0.0f;
  kept.end_pass();

  // Those of the first units come while the row is summed up.
  const T *gamma = a.gamma.data ? a.gamma.data + part.begin : nullptr,
          *beta = a.beta.data ? a.beta.data + part.begin : nullptr;
  const bool alike = tile::on_units(gamma, units.head) && tile::on_units(beta, units.head);
  const auto load_vector = [&](const T* vector, float without, Packed* unit, int first, int n) {
#pragma unroll
    for (int i = 0; i < n; ++i) {
      unit[i] = tile::packed_fill<T>(without);
      if (vector && units.has(first + i)) unit[i] = tile::load_packed(vector + at0 + (first + i) * step);
    }
  };
  constexpr bool ahead = !Added && Sums::plain;  // where registers are left
  [[maybe_unused]] Packed first_gamma[batch], first_beta[batch];
  if (ahead && alike) {
    load_vector(gamma, 1.0f, first_gamma, 0, batch);
    load_vector(beta, 0.0f, first_beta, 0, batch);
  }

  // ---- compute
  const auto each = [&](auto&& f) {
    kept.for_each([&](const Packed* unit, int k) {
      const bool exists = units.has(k);
      for_elements<T>(unit[0], [&](float e, int) { f(e, exists); });
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
        each(
            [&](float e, bool exists) { s.add(e - (exists ? from : 0.0f)); });  // what is not there is no distance away
        kept.end_pass();
        return Team::reduce(s, plus<Differences<float>>, scratch.pass[pass]);
      };
      Differences<float> s = sums(base, 0);
      Spread<float> spread = Spread<float>::of(s, per_element);
      bool far = spread.far(s);
      if constexpr (Team::lanes < Team::warp) far = simt::tiles<Team::warp>().any(far);  // all of the warp together
      if (far) {
        base += a.rms ? 0.0f : spread.mean;
        s = sums(base, 1);
        spread = Spread<float>::of(s, per_element);
      }
      if constexpr (Blocks::shares) {
        SliceMoments mine{static_cast<float>(part.size), base, spread};
        if (!is_ordinary(spread.divisor(part.size > 0 ? 1 / static_cast<float>(part.size) : 0.0f, a.eps))) {
          mine = wide_slice_alone<Team::warp>(x, Added ? residual : nullptr, part.size, a.rms);
          __syncthreads();  // nobody writes y in x's place before all have read x
        }
        return statistics_of_cluster(mine, blocks.tell(mine, 0), blocks.blocks(), a.cols, per_column, a.eps);
      } else {
        const float divisor = spread.divisor(per_column, a.eps);
        if (in_any_row<Team>(!is_ordinary(divisor)))
          return wide_statistics<Team, float>(
              each, [&] { kept.end_pass(); }, static_cast<float>(a.cols), a.eps, a.rms, divisor, scratch.wide);
      }
      return spread.statistics(base, per_column, a.eps);
    }
  }();

  // ---- finish
  T* y = a.y.even_row(row) + part.begin;
  [[maybe_unused]] T* sum = Added ? a.sum.even_row(row) + part.begin : nullptr;
  T* first_unit = y + at0;
  tile::make_opaque(first_unit);  // one address and constants
  const auto write = [&](Packed unit, Packed of_gamma, Packed of_beta, int k) {
    // Or they are unpacked ahead of their turn, into registers that are not there.
    tile::make_opaque(unit), tile::make_opaque(of_gamma), tile::make_opaque(of_beta);
    if (!units.has(k)) return;
    if constexpr (Added) tile::store_packed(sum + at0 + k * step, unit);
    tile::store_packed(first_unit + k * step, norm_unit<T>(normalised, unit, {of_gamma, of_beta}));
  };
  if (alike) {
    kept.template for_batches<batch>([&](auto count, const Packed(*unit)[1], int first) {
      constexpr int n = decltype(count)::value;
      Packed of_gamma[n], of_beta[n];
      if (ahead && first == 0) {
#pragma unroll
        for (int i = 0; i < n; ++i) of_gamma[i] = first_gamma[i], of_beta[i] = first_beta[i];
      } else {
        load_vector(gamma, 1.0f, of_gamma, first, n);
        load_vector(beta, 0.0f, of_beta, first, n);
      }
#pragma unroll
      for (int i = 0; i < n; ++i) write(unit[i][0], of_gamma[i], of_beta[i], first + i);
    });
  } else {
    kept.template for_batches<1>([&](auto, const Packed(*unit)[1], int k) {
      Packed of_gamma = tile::packed_fill<T>(1.0f), of_beta{};
      if (gamma && units.has(k)) of_gamma = tile::load_packed_anywhere(gamma + units.at(k));
      if (beta && units.has(k)) of_beta = tile::load_packed_anywhere(beta + units.at(k));
      write(unit[0][0], of_gamma, of_beta, k);
    });
  }
  if (edge_at >= 0) {
    if constexpr (Added) sum[edge_at] = T(edge);
    y[edge_at] = norm_element(a, normalised, edge, part.begin + edge_at);
  }
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
template <class Policy, class Team, class T>
__global__ void __launch_bounds__(Team::threads, resident::held(Policy::config, Use::gradient).blocks_per_sm)
    norm_resident_gradient(Backward<T> a) {
  constexpr resident::Held h = resident::held(Policy::config, Use::gradient);
  using Packed = tile::Packed;
  __shared__ GradientScratch<Team, float> scratch;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;
  const T *x = a.x.even_row(row), *dy = a.dy.even_row(row), *gamma = a.gamma.data;
  const T* dsum = a.dsum.data ? a.dsum.even_row(row) : nullptr;
  T* dx = a.dx.even_row(row);
  const tile::RowUnits<T, Team::lanes> units(x, a.cols, Team::lane());
  const int edge_at = units.edge_at;
  tile::ResidentRows<tile::RowUnits<T, Team::lanes>, 2, h.in_registers, h.in_shared> kept{
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

namespace resident {

// Of one block's rows; clusters': sm90_resident.cu.
template <class Policy, class T, int Warp, class Sums> static Status launch_forward(const Call& call, Sums sums) {
  using Team = TeamOf<Policy, Warp>;
  const simt::Config at = launch_config(call, Warp);
  const auto forward = [&](auto kernel) {
    if constexpr (Policy::config.dependent_launch) return launch_dependent(call, at, kernel, forward_of<T>(call), sums);
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
