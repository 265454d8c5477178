// dgamma and dbeta: sums over rows, for every column. One kernel sums slices of rows, in an order that the plan fixes;
// a second one the slices. A block's lanes add up through shared memory. For a few rows, one thread sums each column.
#pragma once
#include <ridge/norm/aligned.cuh>
#include <ridge/norm/launch.cuh>
#include <ridge/norm/statistics.cuh>

namespace ridge::norm_detail {

// slices[s][0][j] = sum of dy n over the rows of slice s, and [s][1][j] of dy; n is x normalised.
// dy, x: [rows, cols], any strides; statistics: [rows, statistics_size]. Block (c, s): a group of columns of slice s.
// A lane has several columns, so that a row's statistics and addresses serve several loads, which are in flight
// together.
template <class T>
__global__ void __launch_bounds__(columns_threads)
    norm_columns(Backward<T> a, Compute<T>* slices, std::int64_t rows_of_slice) {
  using X = Compute<T>;
  constexpr int wide = columns_wide, high = columns_threads / wide, C = columns_of_lane, group = wide * C;
  __shared__ X sums[2][high][group];  // of dy n, of dy
  const int lane = static_cast<int>(threadIdx.x) % wide, line = static_cast<int>(threadIdx.x) / wide;
  const std::int64_t groups = (a.cols + group - 1) / group, slice = blockIdx.x / groups;
  const std::int64_t start = (blockIdx.x - slice * groups) * group, column = start + lane;
  const std::int64_t first = slice * rows_of_slice, end = ::min(first + rows_of_slice, a.rows);
  X sum_gamma[C] = {}, sum_beta[C] = {};
  [[maybe_unused]] constexpr int at_once = sizeof(X) == 4 ? 2 : 1;  // rows
#pragma unroll at_once
  for (std::int64_t row = first + line; row < end; row += high) {
    const T *of_dy = a.dy.row(row) + column * a.dy.step, *of_x = a.x.row(row) + column * a.x.step;
    const Statistics<X> normalised = load_statistics(a.statistics, row);
    T dy[C] = {}, x[C] = {};
#pragma unroll
    for (int c = 0; c < C; ++c)
      if (column + c * wide < a.cols) dy[c] = of_dy[c * wide * a.dy.step], x[c] = of_x[c * wide * a.x.step];
#pragma unroll
    for (int c = 0; c < C; ++c) {
      sum_gamma[c] = multiply_add(X(dy[c]), normalised(X(x[c])), sum_gamma[c]);
      sum_beta[c] += X(dy[c]);
    }
  }
#pragma unroll
  for (int c = 0; c < C; ++c) {
    sums[0][line][lane + c * wide] = sum_gamma[c];
    sums[1][line][lane + c * wide] = sum_beta[c];
  }
  __syncthreads();
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < 2 * group; i += columns_threads) {
    const int which = i / group, at = i % group;
    if (start + at >= a.cols) continue;
    X all = 0;
#pragma unroll
    for (int l = 0; l < high; ++l) all += sums[which][l][at];
    slices[(slice * 2 + which) * a.cols + start + at] = all;
  }
}

// The same by vectors, by a block: lanes side by side have a vector of columns each, of every so many-th row. Puts the
// sums of rows [first, end) to slices, or to dgamma and dbeta if one slice has all rows.
// statistics(r): of row r. group: of column_group() columns. AtOnce: rows of a thread in flight.
// Precondition: rows are vector-aligned and evenly spaced; all threads of the block call.
template <int Threads, int Warp, int AtOnce, class T, class StatisticsOf>
__device__ __forceinline__ void sum_column_vectors(const AlignedBackward<T>& a, const SumsOutput<T>& to,
                                                   std::int64_t slice, int group, std::int64_t first, std::int64_t end,
                                                   StatisticsOf&& statistics) {
  using Floats = tile::Floats<T>;
  constexpr int V = tile::vector_elements<T>, wide = column_vectors_wide, columns = column_group(sizeof(T));
  constexpr int warps = Threads / Warp, high = Threads / wide;
  __shared__ float of_warps[warps][2][columns];
  const simt::tiles<Warp> warp;
  const int lane = static_cast<int>(threadIdx.x) % wide, line = static_cast<int>(threadIdx.x) / wide;
  const int start = group * columns, at = start + lane * V;

  // ---- sum the thread's rows
  float sum[2][V] = {};  // of dy n, of dy
  if (at < a.cols) {
#pragma unroll 1
    for (std::int64_t row = first + line; row < end; row += high * AtOnce) {
      tile::Packed x[AtOnce] = {}, dy[AtOnce] = {};
      Statistics<float> normalised[AtOnce] = {};
#pragma unroll
      for (int i = 0; i < AtOnce; ++i) {
        const std::int64_t r = row + i * high;
        if (r >= end) continue;
        x[i] = tile::load_packed(a.x.row(r) + at);
        dy[i] = tile::load_packed(a.dy.row(r) + at);
        normalised[i] = statistics(r);
      }
#pragma unroll
      for (int i = 0; i < AtOnce; ++i) {
        const Floats of_x = tile::unpack_floats<T>(x[i]), of_dy = tile::unpack_floats<T>(dy[i]);
#pragma unroll
        for (int v = 0; v < V; ++v) {
          sum[0][v] = fmaf(of_dy[v], normalised[i](of_x[v]), sum[0][v]);
          sum[1][v] += of_dy[v];
        }
      }
    }
  }

  // ---- sum the block's lines: those of a warp by exchanges, then the warps'
#pragma unroll
  for (int which = 0; which < 2; ++which)
#pragma unroll
    for (int v = 0; v < V; ++v) {
#pragma unroll
      for (int apart = wide; apart < Warp; apart *= 2) sum[which][v] += warp.shfl_xor(sum[which][v], apart);
      if (warp.rank() < wide) of_warps[warp.index()][which][lane * V + v] = sum[which][v];
    }
  __syncthreads();
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < 2 * columns; i += Threads) {
    const int which = i / columns, column = i % columns;
    if (start + column >= a.cols) continue;
    float all = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w) all += of_warps[w][which][column];
    to.put(slice, which, start + column, a.cols, all);
  }
}

// The kernel over columns by vectors. It may start before the statistics are written.
template <class T, int Warp>
__global__ void __launch_bounds__(column_vectors_threads)
    norm_column_vectors(AlignedBackward<T> a, SumsOutput<T> to, std::int64_t rows_of_slice) {
  constexpr int columns = column_group(sizeof(T));
  const std::int64_t groups = (a.cols + columns - 1) / columns, slice = blockIdx.x / groups;
  const std::int64_t first = slice * rows_of_slice, end = ::min(first + rows_of_slice, a.rows);
  tile::launch_dependents();
  tile::grid_dependency_wait();
  sum_column_vectors<column_vectors_threads, Warp, 4>(a, to, slice, static_cast<int>(blockIdx.x - slice * groups),
                                                      first, end,
                                                      [&](std::int64_t r) { return load_statistics(a.statistics, r); });
}

// The same by blocks beside those that write dx, for so few rows that each block takes the statistics of all of them.
// The block's warps share a row where there are several for each.
template <class Team, class T, bool Scaled>
__device__ __forceinline__ void norm_columns_beside(const AlignedBackward<T>& a, const SumsOutput<T>& to, int group) {
  constexpr int V = tile::vector_elements<T>, warps = Team::threads / Team::warp;
  constexpr int at_once = vectors_at_once_beside;
  using Sums = std::conditional_t<Scaled, Squares, Differences<float>>;
  __shared__ Statistics<float> of_row[most_rows_beside];
  __shared__ Sums of_warps[warps];
  const simt::tiles<Team::warp> warp;
  const float per_column = 1 / static_cast<float>(a.cols);
  const int sharing = warps_beside(warps, a.rows);
  // A warp's sums, in all of its lanes, of one of `parts` parts of a row: each is every so many-th vector.
  const auto sums = [&](const T* x, float base, int part, int parts) {
    Sums s{};
    const int step = parts * Team::warp * V;
#pragma unroll 1
    for (int at = (part * Team::warp + warp.rank()) * V; at < a.cols; at += at_once * step) {
      tile::Packed vector[at_once] = {};
#pragma unroll
      for (int k = 0; k < at_once; ++k)
        if (at + k * step < a.cols) vector[k] = tile::load_packed(x + at + k * step);
#pragma unroll
      for (int k = 0; k < at_once; ++k)
        if (at + k * step < a.cols) tile::for_elements<T>(vector[k], [&](float e, int) { s.add(e - base); });
    }
    return warp.reduce(s, plus<Sums>);
  };
  if (sharing > 1) {
    const int row = warp.index() / sharing;
    Sums part{};
    if (row < static_cast<int>(a.rows)) part = sums(a.x.row(row), 0, warp.index() % sharing, sharing);
    if (warp.rank() == 0) of_warps[warp.index()] = part;
    __syncthreads();
  }
#pragma unroll 1
  for (int row = warp.index(); row < static_cast<int>(a.rows); row += warps) {
    const T* x = a.x.row(row);
    Sums all{};  // of distances from 0
    if (sharing == 1) {
      all = sums(x, 0, 0, 1);
    } else {
      if (warp.rank() < sharing) all = of_warps[row * sharing + warp.rank()];
      all = warp.reduce(all, plus<Sums>);
    }
    float divisor;
    Statistics<float> normalised{};
    if constexpr (Scaled) {
      divisor = multiply_add(all.squares, per_column, a.eps);
      normalised.scale = reciprocal_root(divisor);
    } else {
      const float per_element = a.rms ? 0.0f : per_column;
      float base = 0;
      Spread<float> spread = Spread<float>::of(all, per_element);
      if (!a.rms && spread.far(all)) {
        base = spread.mean;
        spread = Spread<float>::of(sums(x, base, 0, 1), per_element);
      }
      divisor = spread.divisor(per_column, a.eps);
      normalised = spread.statistics(base, per_column, a.eps);
    }
    if (!is_ordinary(divisor))
      normalised = wide_statistics_alone<Team::warp>(x, static_cast<const T*>(nullptr), a.cols, a.eps, Scaled || a.rms);
    if (warp.rank() == 0) of_row[row] = normalised;
  }
  __syncthreads();
  sum_column_vectors<Team::threads, Team::warp, 1>(a, to, 0, group, 0, a.rows,
                                                   [&](std::int64_t r) { return of_row[r]; });
}

// dgamma[j] = sum of dy n, dbeta[j] = sum of dy, over at most few_rows rows; null: not wanted.
template <class T>
__global__ void __launch_bounds__(columns_threads)
    norm_columns_of_few(Backward<T> a, ParameterTensor<T> dgamma, ParameterTensor<T> dbeta) {
  using X = Compute<T>;
  const std::int64_t column = std::int64_t{blockIdx.x} * columns_threads + threadIdx.x;
  if (column >= a.cols) return;
  X sum_gamma = 0, sum_beta = 0;
#pragma unroll 4
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const X dy = X(a.dy.row(row)[column * a.dy.step]);
    const X n = load_statistics(a.statistics, row)(X(a.x.row(row)[column * a.x.step]));
    sum_gamma = multiply_add(dy, n, sum_gamma);
    sum_beta += dy;
  }
  if (dgamma.data) dgamma.data[column * dgamma.step] = T(sum_gamma);
  if (dbeta.data) dbeta.data[column * dbeta.step] = T(sum_beta);
}

// dgamma[j] = sum over s of slices[s][0][j], dbeta[j] = sum of slices[s][1][j]; null: not wanted. A block has
// finish_wide of the 2 cols columns. It may start before the slices are written (tile/dependent_launch.cuh).
template <class T>
__global__ void __launch_bounds__(finish_threads)
    norm_finish(const Compute<T>* slices, std::int64_t count, std::int64_t cols, ParameterTensor<T> dgamma,
                ParameterTensor<T> dbeta) {
  using X = Compute<T>;
  constexpr int wide = finish_wide, high = finish_threads / wide;
  __shared__ X partial[high][wide];
  const int lane = static_cast<int>(threadIdx.x) % wide, line = static_cast<int>(threadIdx.x) / wide;
  const std::int64_t column = std::int64_t{blockIdx.x} * wide + lane;
  X sum = 0;
  tile::grid_dependency_wait();
  const bool is_gamma = column < cols;
  const ParameterTensor<T>& to = is_gamma ? dgamma : dbeta;
  if (column < 2 * cols && to.data) {
#pragma unroll 8
    for (std::int64_t s = line; s < count; s += high) sum += slices[s * 2 * cols + column];
  }
  partial[line][lane] = sum;
  __syncthreads();
  if (line > 0 || column >= 2 * cols) return;
  for (int i = 1; i < high; ++i) sum += partial[i][lane];
  if (to.data) to.data[(is_gamma ? column : column - cols) * to.step] = T(sum);
}

// Launches the kernels that sums_plan() has planned, on what the kernel over rows has left in the workspace.
template <class T, int Warp> static Status launch_sums(const Call& call) {
  using X = Compute<T>;
  const NormProblem& p = call.plan.problem;
  const Operands& o = call.operands;
  const SumsPlan& sums = call.sums;
  X* slices = reinterpret_cast<X*>(static_cast<std::byte*>(o.workspace) + sums.statistics_bytes);
  const auto blocks = [&](std::int64_t columns, int wide) { return static_cast<unsigned>(ceil_div(columns, wide)); };
  const ParameterTensor<T> dgamma{static_cast<T*>(o.dgamma.data), o.dgamma.step},
      dbeta{static_cast<T*>(o.dbeta.data), o.dbeta.step};
  simt::Config at{.grid = dim3(static_cast<unsigned>(sums.slices) * blocks(p.cols, columns_wide * columns_of_lane)),
                  .block = dim3(columns_threads),
                  .stream = call.stream.handle,
                  .warp = Warp};
  if (sums.direct || sums.beside) return {};
  if constexpr (!std::is_same_v<T, double>) {
    if (sums.by_vectors) {
      const SumsOutput<T> to =
          sums.of_few ? SumsOutput<T>{.dgamma = dgamma.data, .dbeta = dbeta.data} : SumsOutput<T>{.slices = slices};
      simt::Config by_vectors = at;
      by_vectors.grid = dim3(static_cast<unsigned>(std::max<std::int64_t>(sums.slices, 1)) *
                             static_cast<unsigned>(ceil_div(p.cols, column_group(sizeof(T)))));
      by_vectors.block = dim3(column_vectors_threads);
      RIDGE_TRY(tile::launch_dependent(call.plan.device.cc, by_vectors, norm_column_vectors<T, Warp>,
                                       aligned(backward_of<T>(call)), to, sums.rows_of_slice));
      if (sums.of_few) return {};
    }
  }
  if (sums.of_few) {
    at.grid = dim3(blocks(p.cols, columns_threads));
    return simt::launch(at, norm_columns_of_few<T>, backward_of<T>(call), dgamma, dbeta);
  }
  if (!sums.kept && !sums.by_vectors && sums.slices > 0)
    RIDGE_TRY(simt::launch(at, norm_columns<T>, backward_of<T>(call), slices, sums.rows_of_slice));
  at.grid = dim3(blocks((p.dbeta ? 2 : 1) * p.cols, finish_wide));
  at.block = dim3(finish_threads);
  return tile::launch_dependent(call.plan.device.cc, at, norm_finish<T>, static_cast<const X*>(slices), sums.slices,
                                p.cols, dgamma, dbeta);
}

}  // namespace ridge::norm_detail
