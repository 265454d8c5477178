// Interface between merge.cpp and merge.cu.
#pragma once
#include <ridge/attention/merge.hpp>
#include <ridge/core/backend.hpp>

namespace ridge::attention_detail {

struct MergeVariant {
  std::string_view name, step;
  int threads;
};
inline constexpr MergeVariant merge_variants[] = {
    {"block", "a block for each query, a thread for each of its columns", 128},
};

// Precondition: there are queries, and the tensors match the plan's problem.
template <class Backend> Status launch_merge(const AttentionMergePlan&, const AttentionMergeTensors&, Stream);

}  // namespace ridge::attention_detail
