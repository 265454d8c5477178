// Adds up the sums of a product's split-K slices for an epilogue, in an order that the sizes determine.
#pragma once
#include <ridge/core/stream.hpp>
#include <ridge/gemm/add_slices.hpp>
#include <ridge/gemm/element.cuh>
#include <ridge/gemm/epilogue.cuh>
#include <ridge/gemm/raster.hpp>
#include <ridge/simt/simt.hpp>
#include <ridge/tile/dependent_launch.cuh>

#include <algorithm>
#include <type_traits>

namespace ridge::gemm_kernels {

inline constexpr int slice_threads = 128;

// Adds up the slices of two neighbours of one row: `depth` threads of the block add up as many neighbouring slices
// each, and the first of them their results. All threads of the block call, and the first of each `depth` gets the sum.
//   from: the neighbours in the first slice; step: from slice to slice; found: [depth][width]
template <class X>
__device__ __forceinline__ simt::vec<X, slice_columns> sum_of_slices(const X* from, std::int64_t step,
                                                                     std::int64_t slices, int depth, bool there,
                                                                     simt::vec<X, slice_columns>* found) {
  using Neighbours = simt::vec<X, slice_columns>;
  const int width = slice_threads / depth, thread = simt::thread_rank();
  const std::int64_t each = (slices + depth - 1) / depth, first = thread / width * each,
                     last = ::min(first + each, slices);
  const auto add = [](Neighbours& sum, const Neighbours& more) {
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < slice_columns; ++v) sum[v] = added(sum[v], more[v]);
  };
  Neighbours sum{};
  if (there && first < last) {
    sum = simt::load<slice_columns>(from + first * step);
    for (std::int64_t s = first + 1; s < last; s += slices_at_once) {
      Neighbours more[slices_at_once];
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < slices_at_once; ++i)  // past the end: the last slice again, unused
        more[i] = simt::load<slice_columns>(from + ::min(s + i, last - 1) * step);
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < slices_at_once; ++i)
        if (s + i < last) add(sum, more[i]);
    }
  }
  if (depth > 1) {
    found[thread] = sum;
    __syncthreads();
    for (int other = 1; thread < width && other * each < slices; ++other) add(sum, found[other * width + thread]);
    __syncthreads();
  }
  return sum;
}

// epilogue(the sum of all slices), or with `gated` epilogue(that, the sum of A G's slices)
//   parts: [batch][slices][A B, A G][m][pitch]
// Precondition: depth is a power of two, at most max_slice_depth.
template <class X, class Epilogue>
__global__ void __launch_bounds__(slice_threads)
    gemm_add_slices(const X* parts, std::int64_t pitch, Shape shape, int depth, bool gated, Epilogue epilogue) {
  using Neighbours = simt::vec<X, slice_columns>;
  __shared__ Neighbours found[slice_threads];  // [depth][width]
  const int width = slice_threads / depth, thread = simt::thread_rank();
  const std::int64_t of_row = pitch / slice_columns, of_matrix = shape.m * of_row, vectors = shape.batch * of_matrix;
  const std::int64_t product = shape.m * pitch, step = gated ? 2 * product : product;
  tile::grid_dependency_wait();
  for (std::int64_t at = std::int64_t{blockIdx.x} * width; at < vectors; at += std::int64_t{gridDim.x} * width) {
    const std::int64_t u = at + thread % width, batch = u / of_matrix, in_matrix = u - batch * of_matrix,
                       row = in_matrix / of_row, col = (in_matrix - row * of_row) * slice_columns;
    const bool there = u < vectors && col < shape.n;  // inside the matrix, and not in the pitch's padding
    const X* from = parts + batch * shape.slices * step + row * pitch + col;
    const Neighbours sum = sum_of_slices(from, step, shape.slices, depth, there, found);
    const bool finishes = thread < width && there;
    const At place{batch, row, col, static_cast<int>(::min(shape.n - col, std::int64_t{slice_columns}))};
    if constexpr (requires { epilogue(sum, sum, place); }) {
      if (gated) {  // uniform
        const Neighbours gates = sum_of_slices(from + product, step, shape.slices, depth, there, found);
        if (finishes) epilogue(sum, gates, place);
        continue;
      }
    }
    if (finishes) epilogue(sum, place);
  }
}

// Launches the kernel. With cc 90 it may start once the kernel before it has called tile::launch_dependents().
template <class X, class Epilogue>
[[nodiscard]] static Status launch_add_slices(const X* parts, const Shape& shape, const Epilogue& epilogue,
                                              Stream stream = {}, int warp = simt::native_warp, int cc = 0,
                                              bool gated = false) {
  if constexpr (!requires(simt::vec<X, slice_columns> sum, At at) { epilogue(sum, sum, at); })
    if (gated) return Status::error(Code::unsupported, "gemm: this epilogue takes no sums of a gate");
  const std::int64_t pitch = slice_pitch(shape.n), vectors = shape.batch * shape.m * (pitch / slice_columns);
  const int depth = slice_depth(vectors, shape.slices), width = slice_threads / depth;
  const std::int64_t blocks = std::min<std::int64_t>((vectors + width - 1) / width, max_tiles);
  const simt::Config at{
      .grid = dim3(static_cast<unsigned>(blocks)), .block = dim3(slice_threads), .stream = stream.handle, .warp = warp};
  return tile::launch_dependent(cc, at, gemm_add_slices<X, Epilogue>, parts, pitch, shape, depth, gated, epilogue);
}

}  // namespace ridge::gemm_kernels
