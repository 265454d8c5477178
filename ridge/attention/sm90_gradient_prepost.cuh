// Pre- and post-processing of gradients on Hopper's tensor cores: statistics of every query, a copy of the mask that
// TMA can load, dQ from its accumulator, and dK and dV from those of a group's parts.
#pragma once
#include <ridge/attention/sm90_gradient_steps.cuh>

#include <bit>

namespace ridge::attention_kernels {

inline constexpr int gradient_preprocess_threads = 256;
// Lanes of a row, a vector of its columns each.
constexpr int gradient_row_lanes(const Config& c) { return static_cast<int>(std::bit_ceil(c.dv / 8u)); }

// Pre-processing: statistics of every query; semaphores are set to 0, and dQ too, where blocks add to it in any order.
// Statistics of rows past the last query are not used.
// Preconditions: gridDim.x * gradient_preprocess_threads / gradient_row_lanes is at least batch * heads * tiles * bn;
// rows of o and grad_o are whole vectors.
template <class Policy, class T>
__global__ void __launch_bounds__(gradient_preprocess_threads)
    attention_wgmma_gradient_preprocess(GradientArguments<T> a, GradientWork work) {
  constexpr Config c = Policy::config;
  constexpr int vector = tile::vector_elements<T>, width = gradient_row_lanes(c);
  static_assert(vector == 8);
  tile::launch_dependents();
  const simt::tile<width> lanes;
  const std::int64_t rows = std::int64_t{work.tiles} * c.bn;
  const std::int64_t row = std::int64_t{blockIdx.x} * (gradient_preprocess_threads / width) + lanes.index();
  if (row == 0 && lanes.rank() == 0) *work.next = 0;
  if (row >= rows * a.batch * a.heads) return;
  const int i = static_cast<int>(row % rows), head = static_cast<int>(row / rows % a.heads);
  const int batch = static_cast<int>(row / rows / a.heads), column = lanes.rank() * vector;
  float delta = 0;
  if (i < a.sq && column < a.dv) {
    const Matrix<const T> o(a.o, a.at_o, batch, head), grad(a.grad_o, a.at_grad_o, batch, head);
    const auto x = tile::unpack_floats<T>(tile::load_packed(o(i) + column)),
               y = tile::unpack_floats<T>(tile::load_packed(grad(i) + column));
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < vector; ++e) delta = fmaf(x[e], y[e], delta);
  }
  delta = lanes.reduce(delta, [](float x, float y) { return x + y; });
  const float lse = i < a.sq ? a.lse[batch * a.at_lse.batch + head * a.at_lse.head + i * a.at_lse.row] : 0;
  const Reference reference = reference_of_query(a, batch, head, i, lse, lanes);
  if (lanes.rank() == 0) {
    work.stats[row] = TileStats::of(reference, delta);
    work.bases[row] = reference.base;
    if (constexpr int semaphores = gradient_semaphores_of_tile(c); i % c.bn < semaphores)
      work.semaphores[row / c.bn * semaphores + i % c.bn] = 0;
  }
  if (!work.in_order)
    for (int at = lanes.rank() * fragment; at < c.d; at += width * fragment)
      simt::store_global(work.dq_accum + row * c.d + at, simt::vec<float, fragment>{0, 0, 0, 0});
}

inline constexpr int mask_copy_threads = 256;  // each writes mask_copy_vector elements

// Copies the mask tensor to MaskShape, [batches][heads][rows][columns], of M. Columns past its last one are 0. A row
// that all queries share is repeated for each of `rows`.
// Preconditions: columns is a multiple of mask_copy_vector; gridDim.x * mask_copy_threads is at least the number of the
// copy's elements / mask_copy_vector; the mask is boolean or of M, which is T or float.
template <class M, class T>
__global__ void __launch_bounds__(mask_copy_threads)
    attention_mask_copy(GradientArguments<T> a, M* to, int batches, int heads, int rows, int columns) {
  const std::int64_t n = std::int64_t{blockIdx.x} * mask_copy_threads + threadIdx.x;
  const int row_vectors = columns / mask_copy_vector, column = static_cast<int>(n % row_vectors) * mask_copy_vector;
  const std::int64_t line = n / row_vectors;
  if (line >= std::int64_t{batches} * heads * rows) return;
  const int row = static_cast<int>(line % rows), head = static_cast<int>(line / rows % heads);
  const int batch = static_cast<int>(line / rows / heads);
  simt::vec<M, mask_copy_vector> values{};
  RIDGE_UNROLL_ON_GPU
  for (int e = 0; e < mask_copy_vector; ++e)
    if (column + e < a.sk) values[e] = M(mask_at(a, batch, head, row, column + e));
  simt::store_global(to + n * mask_copy_vector, values);
}

inline constexpr int gradient_postprocess_threads = 256;

// Post-processing: grad_q = scale * accumulator, 8 columns per thread.
// Preconditions: gridDim.x * gradient_postprocess_threads is at least batch * heads * sq * d / 8 of the Config; rows of
// grad_q are whole vectors.
template <class Policy, class T>
__global__ void __launch_bounds__(gradient_postprocess_threads)
    attention_wgmma_gradient_postprocess(GradientArguments<T> a, GradientWork work) {
  constexpr Config c = Policy::config;
  constexpr int row_vectors = c.d / 8;
  tile::grid_dependency_wait();
  const std::int64_t n = std::int64_t{blockIdx.x} * gradient_postprocess_threads + threadIdx.x, row = n / row_vectors;
  const int vector = static_cast<int>(n % row_vectors);
  if (row >= std::int64_t{a.batch} * a.heads * a.sq || vector * 8 >= a.d) return;
  const int i = static_cast<int>(row % a.sq), head = static_cast<int>(row / a.sq % a.heads);
  const int batch = static_cast<int>(row / a.sq / a.heads), tile = i / c.bn, in_tile = i % c.bn;
  const Keys keys = keys_of(a, tile * c.bn, ::min(tile * c.bn + c.bn, a.sq) - 1);
  simt::vec<T, 8> values{};
  if (keys.first < keys.last || !work.in_order) {  // otherwise no block has added
    const float* sums = work.dq_accum + ((std::int64_t{batch} * a.heads + head) * work.tiles + tile) * (c.bn * c.d);
    const int part = dq_by_queries(c) ? in_tile / 64 : vector / 8, in_part = in_tile % 64;
    const int thread = in_part / 16 * 32 + in_part % 8 * 4, lower = in_part / 8 % 2;
    RIDGE_UNROLL_ON_GPU
    for (int quarter = 0; quarter < 4; ++quarter) {
      const auto two = simt::load<2>(sums + 4 * dq_vector(part, vector % 8, thread + quarter) + 2 * lower);
      values[2 * quarter] = T(two[0] * a.scale);
      values[2 * quarter + 1] = T(two[1] * a.scale);
    }
  }
  simt::store_global(Matrix<T>(a.grad_q, a.at_grad_q, batch, head)(i) + vector * 8, values);
}

// Post-processing of groups of heads in parts: grad_k and grad_v are the sums of their parts, in the parts' order, of
// which each thread has 8 columns of one.
// Preconditions: gridDim.x * gradient_postprocess_threads is at least batch * key heads * sk * (d + dv) / 8 of the
// Config; rows of grad_k and grad_v are whole vectors.
template <class Policy, class T>
__global__ void __launch_bounds__(gradient_postprocess_threads)
    attention_wgmma_gradient_sum_parts(GradientArguments<T> a, GradientWork work) {
  constexpr Config c = Policy::config;
  constexpr int vectors_of_k = c.d / 8, row_vectors = vectors_of_k + c.dv / 8;
  tile::launch_dependents();
  tile::grid_dependency_wait();
  const std::int64_t n = std::int64_t{blockIdx.x} * gradient_postprocess_threads + threadIdx.x, row = n / row_vectors;
  const int vector = static_cast<int>(n % row_vectors);
  if (row >= std::int64_t{a.batch} * a.key_heads * a.sk) return;
  const int key = static_cast<int>(row % a.sk), head = static_cast<int>(row / a.sk % a.key_heads);
  const int batch = static_cast<int>(row / a.sk / a.key_heads);
  // partial: [batch, key heads, parts, sk][width]; to: a row of width `columns`
  const auto sum = [&](const float* partial, int width, int column, int columns, T* to) {
    if (column >= columns) return;
    const float* part = partial + ((row - key) * work.parts + key) * width + column;
    auto values = simt::load<8>(part);
    for (int p = 1; p < work.parts; ++p) {
      part += std::int64_t{a.sk} * width;
      const auto more = simt::load<8>(part);
      RIDGE_UNROLL_ON_GPU
      for (int e = 0; e < 8; ++e) values[e] += more[e];
    }
    tile::store_packed(to + column, tile::pack_floats<T>(values));
  };
  if (vector < vectors_of_k)
    sum(work.partial_k, c.d, vector * 8, a.d, Matrix<T>(a.grad_k, a.at_grad_k, batch, head)(key));
  else sum(work.partial_v, c.dv, (vector - vectors_of_k) * 8, a.dv, Matrix<T>(a.grad_v, a.at_grad_v, batch, head)(key));
}

}  // namespace ridge::attention_kernels
