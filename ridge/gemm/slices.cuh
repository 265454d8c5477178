// A product in split-K slices, whose sums become D.
#pragma once
#include <ridge/gemm/add_slices.cuh>
#include <ridge/gemm/epilogue.cuh>
#include <ridge/gemm/launch_arguments.cuh>
#include <ridge/gemm/slices.hpp>

namespace ridge::gemm_detail {
namespace {

[[maybe_unused]] Shape shape_of(const Arguments& args) {
  const GemmProblem& p = args.problem;
  const Slices slices = slices_of(variants[args.plan.variant].config, products(p), args.plan.split);
  return {p.m, p.n, products(p), p.batch, slices.count, slices.k};
}

// launch(epilogue) for the product; with slices, launches it to store their sums to the workspace from byte `sums_at`,
// then adds them up.
template <class X, class Launch>
Status launch_in_slices(const Arguments& args, Launch launch, std::size_t sums_at = 0) {
  const StandardEpilogue<X> epilogue = epilogue_of<X>(args);
  const Shape shape = shape_of(args);
  if (shape.slices == 1) return launch(epilogue);
  const std::int64_t pitch = slice_pitch(shape.n), product = shape.m * pitch;
  const bool gated = args.problem.gate;
  StandardEpilogue<X> sums{};
  sums.alpha = sums.scale = X(1);
  unsigned char* at = static_cast<unsigned char*>(args.workspace.data) + sums_at;
  sums.d = {at, dtype_of<X>, true, pitch, 1, gated ? 2 * product : product};
  if (gated) sums.gate_sums = product;
  RIDGE_TRY(launch(sums));
  return launch_add_slices(reinterpret_cast<const X*>(at), shape, epilogue, args.stream, args.plan.device.warp,
                           args.plan.device.cc, gated);
}

}  // namespace
}  // namespace ridge::gemm_detail
