// Launches split-K products (slices.hpp).
#pragma once
#include <ridge/conv/launch.hpp>
#include <ridge/conv/slices.hpp>
#include <ridge/gemm/add_slices.cuh>

namespace ridge::conv_detail {

// Calls launch(output, shape) for a product whose sums go to `output`. With split-K the slices' sums go to the
// workspace, and a second kernel adds them up.
template <class Output, class Launch>
static Status launch_in_slices(const Arguments& args, bool pixels_are_rows, const Output& output, Launch&& launch) {
  const ConvPlan& plan = args.plan;
  const gemm_kernels::Shape shape =
      shape_of_product(plan.problem, pixels_are_rows, plan.steps, {plan.split, plan.slice_steps});
  if (shape.slices == 1) return launch(output, shape);
  Output sums = output;
  sums.slices = reinterpret_cast<float*>(static_cast<char*>(args.workspace) + plan.slices_at);
  sums.slice_rows = shape.m;
  sums.slice_pitch = gemm_kernels::slice_pitch(shape.n);
  RIDGE_TRY(launch(sums, shape));
  return gemm_kernels::launch_add_slices(static_cast<const float*>(sums.slices), shape, output, args.stream,
                                         plan.device.warp, plan.device.cc);
}

}  // namespace ridge::conv_detail
