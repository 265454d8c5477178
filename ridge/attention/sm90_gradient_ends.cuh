// The kernels before and behind those that multiply for gradients on Hopper's tensor cores: facts of every query, a
// mask as TMA can bring it, and dQ from the sums that blocks have added up.
#pragma once
#include <ridge/attention/sm90_gradient_steps.cuh>

namespace ridge::attention_kernels {

inline constexpr int gradient_start_threads = 256;

// Facts of every query; turns, and where there are none, sums are set to 0. Rows past the last query have facts that
// nobody looks at.
// Preconditions: gridDim.x * gradient_start_threads / (dv / 8 of the Config) is at least batch * heads * tiles * bn;
// rows of o and grad_o are whole vectors.
template <class Row, class T>
__global__ void __launch_bounds__(gradient_start_threads)
    attention_wgmma_gradient_start(GradientArguments<T> a, GradientWork work) {
  constexpr Config c = Row::config;
  constexpr int unit = tile::unit_elements<T>, width = c.dv / unit;
  const simt::tile<width> lanes;
  const std::int64_t rows = std::int64_t{work.tiles} * c.bn;
  const std::int64_t row = std::int64_t{blockIdx.x} * (gradient_start_threads / width) + lanes.index();
  if (row == 0 && lanes.rank() == 0) *work.next = 0;
  if (row >= rows * a.batch * a.heads) return;
  const int i = static_cast<int>(row % rows), head = static_cast<int>(row / rows % a.heads);
  const int batch = static_cast<int>(row / rows / a.heads), column = lanes.rank() * unit;
  float sum = 0;
  if (i < a.sq && column < a.dv) {
    const Matrix<const T> o(a.o, a.at_o, batch, head), grad(a.grad_o, a.at_grad_o, batch, head);
    const auto x = tile::unpack_floats<T>(tile::load_packed(o(i) + column)),
               y = tile::unpack_floats<T>(tile::load_packed(grad(i) + column));
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < unit; ++e) sum = fmaf(x[e], y[e], sum);
  }
  sum = lanes.reduce(sum, [](float x, float y) { return x + y; });
  const float lse = i < a.sq ? a.lse[batch * a.at_lse.batch + head * a.at_lse.head + i * a.at_lse.row] : 0;
  const Reference weights = reference_of_query(a, batch, head, i, lse, lanes);
  if (lanes.rank() == 0) {
    work.facts[row] = TileFacts::of(weights, sum);
    work.bases[row] = weights.base;
    if (constexpr int turns = gradient_turns_of_tile(c); i % c.bn < turns)
      work.turns[row / c.bn * turns + i % c.bn] = 0;
  }
  if (!work.in_order)
    for (int at = lanes.rank() * fragment; at < c.d; at += width * fragment)
      simt::store_global(work.sums + row * c.d + at, simt::vec<float, fragment>{0, 0, 0, 0});
}

inline constexpr int mask_copy_threads = 256;  // each of which writes mask_copy_unit elements

// The mask tensor as GradientMaskShape says, [batches][heads][rows][columns], of T. Columns behind its last one are 0,
// and so are rows that all queries share, once for each of `rows`.
// Preconditions: columns is a multiple of mask_copy_unit; gridDim.x * mask_copy_threads is at least all elements of the
// copy / mask_copy_unit; the mask is boolean or of T.
template <class T>
__global__ void __launch_bounds__(mask_copy_threads)
    attention_mask_copy(GradientArguments<T> a, T* to, int batches, int heads, int rows, int columns) {
  const std::int64_t n = std::int64_t{blockIdx.x} * mask_copy_threads + threadIdx.x;
  const int units = columns / mask_copy_unit, column = static_cast<int>(n % units) * mask_copy_unit;
  const std::int64_t line = n / units;
  if (line >= std::int64_t{batches} * heads * rows) return;
  const int row = static_cast<int>(line % rows), head = static_cast<int>(line / rows % heads);
  const int batch = static_cast<int>(line / rows / heads);
  simt::vec<T, mask_copy_unit> values{};
  RIDGE_UNROLL_ON_GPU
  for (int e = 0; e < mask_copy_unit; ++e)
    if (column + e < a.sk) values[e] = T(mask_at(a, batch, head, row, column + e));
  simt::store_global(to + n * mask_copy_unit, values);
}

inline constexpr int gradient_end_threads = 256;

// grad_q = scale * sums, 8 columns of a thread.
// Preconditions: gridDim.x * gradient_end_threads is at least batch * heads * sq * d / 8 of the Config; rows of grad_q
// are whole vectors.
template <class Row, class T>
__global__ void __launch_bounds__(gradient_end_threads)
    attention_wgmma_gradient_end(GradientArguments<T> a, GradientWork work) {
  constexpr Config c = Row::config;
  constexpr int units = c.d / 8;
  const std::int64_t n = std::int64_t{blockIdx.x} * gradient_end_threads + threadIdx.x, row = n / units;
  const int unit = static_cast<int>(n % units);
  if (row >= std::int64_t{a.batch} * a.heads * a.sq || unit * 8 >= a.d) return;
  const int i = static_cast<int>(row % a.sq), head = static_cast<int>(row / a.sq % a.heads);
  const int batch = static_cast<int>(row / a.sq / a.heads), tile = i / c.bn, in_tile = i % c.bn;
  const Keys keys = keys_of(a, tile * c.bn, ::min(tile * c.bn + c.bn, a.sq) - 1);
  simt::vec<T, 8> values{};
  if (keys.first < keys.last || !work.in_order) {  // else no block has been here
    const float* sums = work.sums + ((std::int64_t{batch} * a.heads + head) * work.tiles + tile) * (c.bn * c.d);
    const int part = sums_by_queries(c) ? in_tile / 64 : unit / 8, in_part = in_tile % 64;
    const int thread = in_part / 16 * 32 + in_part % 8 * 4, lower = in_part / 8 % 2;
    RIDGE_UNROLL_ON_GPU
    for (int quarter = 0; quarter < 4; ++quarter) {
      const auto two = simt::load<2>(sums + 4 * dq_unit(part, unit % 8, thread + quarter) + 2 * lower);
      values[2 * quarter] = T(two[0] * a.scale);
      values[2 * quarter + 1] = T(two[1] * a.scale);
    }
  }
  simt::store_global(Matrix<T>(a.grad_q, a.at_grad_q, batch, head)(i) + unit * 8, values);
}

}  // namespace ridge::attention_kernels
