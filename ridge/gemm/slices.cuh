// What slices of k have summed up becomes D.
#pragma once
#include <ridge/gemm/epilogue.cuh>
#include <ridge/gemm/launch_arguments.cuh>
#include <ridge/gemm/slices.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::gemm_detail {
namespace {

inline constexpr int slice_threads = 128, slice_columns = 4;  // four neighbours for each thread
inline constexpr int slices_at_once = 4;                      // independent loads

// epilogue(the sum of all slices)                    parts: [batch][slices][m][pitch]
template <class X, class Epilogue>
__global__ void __launch_bounds__(slice_threads)
    gemm_add_slices(const X* parts, std::int64_t pitch, Shape shape, Epilogue epilogue) {
  using Four = simt::vec<X, slice_columns>;
  const std::int64_t of_row = pitch / slice_columns, of_matrix = shape.m * of_row;
  for (std::int64_t u = std::int64_t{blockIdx.x} * slice_threads + simt::thread_rank(); u < shape.batch * of_matrix;
       u += std::int64_t{gridDim.x} * slice_threads) {
    const std::int64_t batch = u / of_matrix, in_matrix = u - batch * of_matrix, row = in_matrix / of_row,
                       col = (in_matrix - row * of_row) * slice_columns;
    const X* from = parts + (batch * shape.slices * shape.m + row) * pitch + col;
    const std::int64_t step = shape.m * pitch;
    Four sum = simt::load<slice_columns>(from);
    for (std::int64_t s = 1; s < shape.slices; s += slices_at_once) {
      Four more[slices_at_once];
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < slices_at_once; ++i)  // beyond the last: that one again, which is not used
        more[i] = simt::load<slice_columns>(from + ::min(s + i, shape.slices - 1) * step);
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < slices_at_once; ++i) RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < slice_columns; ++v)
        if (s + i < shape.slices) sum[v] = sum[v] + more[i][v];
    }
    epilogue(sum, At{batch, row, col, static_cast<int>(::min(shape.n - col, std::int64_t{slice_columns}))});
  }
}

Shape shape_of(const Arguments& args) {
  const GemmProblem& p = args.problem;
  const Slices slices = slices_of(variants[args.plan.variant].config, products(p), args.plan.split);
  return {p.m, p.n, products(p), p.batch, slices.count, slices.k};
}

// launch(epilogue) of the product; where it is in slices, of their sums into the workspace, which are then added up.
template <class X, class Launch> Status launch_in_slices(const Arguments& args, Launch launch) {
  const StandardEpilogue<X> epilogue = epilogue_of<X>(args);
  const Shape shape = shape_of(args);
  if (shape.slices == 1) return launch(epilogue);
  const std::int64_t pitch = slice_pitch(args.problem);
  StandardEpilogue<X> sums{};
  sums.alpha = sums.scale = X(1);
  sums.d = {args.workspace.data, dtype_of<X>, true, pitch, 1, shape.m * pitch};
  RIDGE_TRY(launch(sums));
  const std::int64_t units = shape.batch * shape.m * (pitch / slice_columns),
                     blocks = std::min<std::int64_t>((units + slice_threads - 1) / slice_threads, max_tiles);
  const simt::Config at{.grid = dim3(static_cast<unsigned>(blocks)),
                        .block = dim3(slice_threads),
                        .stream = args.stream.handle,
                        .warp = args.plan.device.warp};
  return simt::launch(at, gemm_add_slices<X, StandardEpilogue<X>>, static_cast<const X*>(args.workspace.data), pitch,
                      shape, epilogue);
}

}  // namespace
}  // namespace ridge::gemm_detail
