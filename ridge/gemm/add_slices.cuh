// What slices of a product have summed up is added up, in their order, for an epilogue.
#pragma once
#include <ridge/core/stream.hpp>
#include <ridge/gemm/add_slices.hpp>
#include <ridge/gemm/epilogue.cuh>
#include <ridge/gemm/raster.hpp>
#include <ridge/simt/simt.hpp>

#include <algorithm>
#include <type_traits>

namespace ridge::gemm_kernels {

inline constexpr int slice_threads = 128;

// Integers wrap; in C++ only unsigned ones may.
template <class X> __device__ __forceinline__ X added(X a, X b) {
  if constexpr (std::is_integral_v<X>) return static_cast<X>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
  else return a + b;
}

// epilogue(the sum of all slices)                    parts: [batch][slices][m][pitch]
template <class X, class Epilogue>
__global__ void __launch_bounds__(slice_threads)
    gemm_add_slices(const X* parts, std::int64_t pitch, Shape shape, Epilogue epilogue) {
  using Neighbours = simt::vec<X, slice_columns>;
  const std::int64_t of_row = pitch / slice_columns, of_matrix = shape.m * of_row;
  for (std::int64_t u = std::int64_t{blockIdx.x} * slice_threads + simt::thread_rank(); u < shape.batch * of_matrix;
       u += std::int64_t{gridDim.x} * slice_threads) {
    const std::int64_t batch = u / of_matrix, in_matrix = u - batch * of_matrix, row = in_matrix / of_row,
                       col = (in_matrix - row * of_row) * slice_columns;
    if (col >= shape.n) continue;  // of the pitch alone
    const X* from = parts + (batch * shape.slices * shape.m + row) * pitch + col;
    const std::int64_t step = shape.m * pitch;
    Neighbours sum = simt::load<slice_columns>(from);
    for (std::int64_t s = 1; s < shape.slices; s += slices_at_once) {
      Neighbours more[slices_at_once];
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < slices_at_once; ++i)  // beyond the last: that one again, which is not used
        more[i] = simt::load<slice_columns>(from + ::min(s + i, shape.slices - 1) * step);
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < slices_at_once; ++i) RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < slice_columns; ++v)
        if (s + i < shape.slices) sum[v] = added(sum[v], more[i][v]);
    }
    epilogue(sum, At{batch, row, col, static_cast<int>(::min(shape.n - col, std::int64_t{slice_columns}))});
  }
}

// Launches it.
template <class X, class Epilogue>
[[nodiscard]] static Status launch_add_slices(const X* parts, const Shape& shape, const Epilogue& epilogue,
                                              Stream stream = {}, int warp = simt::native_warp) {
  const std::int64_t pitch = slice_pitch(shape.n), units = shape.batch * shape.m * (pitch / slice_columns),
                     blocks = std::min<std::int64_t>((units + slice_threads - 1) / slice_threads, max_tiles);
  const simt::Config at{
      .grid = dim3(static_cast<unsigned>(blocks)), .block = dim3(slice_threads), .stream = stream.handle, .warp = warp};
  return simt::launch(at, gemm_add_slices<X, Epilogue>, parts, pitch, shape, epilogue);
}

}  // namespace ridge::gemm_kernels
