// Slices of k as a batch of products by a plan of their own, and the kernel that adds up their sums.
#include <ridge/gemm/slices.cuh>

namespace ridge::gemm_detail {

template <> Status launch_sliced<simt::Backend>(const Arguments& args) {
  const GemmProblem& p = args.problem;
  const GemmPlan& batch = *args.plan.nested;
  const std::int64_t slices = args.plan.split, pitch = slice_pitch(p.n);
  const std::size_t sums = slice_bytes(p, static_cast<int>(slices));
  // [rows, columns] as [slices, rows, columns], cut along `axis`.
  const auto cut = [&](const TensorView& v, int axis) {
    const int rows = v.rank() - 2;
    Layout layout{.rank = 3};
    for (int i = 0; i < 2; ++i) {
      layout.shape[i + 1] = v.layout.shape[rows + i];
      layout.stride[i + 1] = v.layout.stride[rows + i];
    }
    layout.shape[axis + 1] /= slices;
    layout.shape[0] = slices;
    layout.stride[0] = layout.shape[axis + 1] * layout.stride[axis + 1];
    return TensorView{v.data, v.dtype, layout, v.device};
  };
  TensorView d{args.workspace.data, f32, Layout::contiguous({slices, p.m, p.n}), args.tensors.d.device};
  d.layout.stride[0] = p.m * pitch, d.layout.stride[1] = pitch;
  const GemmTensors tensors{.a = cut(args.tensors.a, 1), .b = cut(args.tensors.b, 0), .d = d};
  const Workspace rest{static_cast<unsigned char*>(args.workspace.data) + sums, args.workspace.bytes - sums};
  RIDGE_TRY(batch.run(tensors, rest, args.stream));
  const Shape shape{p.m, p.n, p.k, 1, slices, batch.problem.k};
  return launch_add_slices(static_cast<const float*>(args.workspace.data), shape, epilogue_of<float>(args), args.stream,
                           args.plan.device.warp, args.plan.device.cc);
}

}  // namespace ridge::gemm_detail
