// Merges two parts, for every type.
#include <ridge/attention/merge.cuh>
#include <ridge/attention/merge_launch.hpp>

namespace ridge::attention_detail {

using namespace attention_kernels;

static_assert(merge_variants[0].threads == merge_threads);

template <class T>
static Status launch_merge_of(const AttentionMergePlan& plan, const AttentionMergeTensors& t, Stream stream) {
  const AttentionMergeProblem& p = plan.problem;
  const auto strides = [](const AttentionMergeProblem::Strides& s) { return Strides{s[0], s[1], s[2], s[3]}; };
  const MergeArguments<T, PartsOfTwo<T>> args{
      .parts = {.o = {static_cast<const T*>(t.o_a.data), static_cast<const T*>(t.o_b.data)},
                .lse = {static_cast<const float*>(t.lse_a.data), static_cast<const float*>(t.lse_b.data)},
                .at_o = {strides(p.o_a), strides(p.o_b)},
                .at_lse = {strides(p.lse_a), strides(p.lse_b)}},
      .o = static_cast<T*>(t.o.data),
      .lse = static_cast<float*>(t.lse.data),
      .at_o = strides(p.o),
      .at_lse = strides(p.lse),
      .batch = static_cast<int>(p.b),
      .heads = static_cast<int>(p.h),
      .sq = static_cast<int>(p.s),
      .dv = static_cast<int>(p.dv)};
  return simt::launch({.grid = dim3(static_cast<unsigned>(merge_blocks(p.b * p.h * p.s))),
                       .block = dim3(merge_threads),
                       .smem = 0,
                       .stream = stream.handle,
                       .warp = plan.device.warp},
                      attention_merge_kernel<T, PartsOfTwo<T>>, args);
}

template <>
Status launch_merge<simt::Backend>(const AttentionMergePlan& plan, const AttentionMergeTensors& t, Stream stream) {
  switch (plan.problem.dtype) {
    case DType::f16: return launch_merge_of<half>(plan, t, stream);
    case DType::bf16: return launch_merge_of<bfloat16>(plan, t, stream);
    default: return launch_merge_of<float>(plan, t, stream);
  }
}

}  // namespace ridge::attention_detail
