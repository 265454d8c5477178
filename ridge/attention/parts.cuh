// Merges the split-KV parts that blocks stored. Internal to its translation unit, like launch_arguments.cuh.
#pragma once
#include <ridge/attention/launch_arguments.cuh>
#include <ridge/attention/merge.cuh>
#include <ridge/attention/parts.hpp>

namespace ridge::attention_detail {
namespace {

template <class T> Status launch_parts(const Call& call, const Arguments<T>& args) {
  if (args.splits == 1) return {};  // O is final
  const std::int64_t queries = call.problem.b * call.problem.hq * call.problem.sq;
  return tile::launch_dependent(call.plan.device.cc, launch_config(call, merge_blocks(queries), merge_threads),
                                attention_merge_kernel<T, PartsInWorkspace>, merge_of(args));
}

}  // namespace
}  // namespace ridge::attention_detail
