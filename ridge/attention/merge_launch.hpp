// Interface between merge.cpp and merge.cu.
#pragma once
#include <ridge/attention/merge.hpp>
#include <ridge/core/backend.hpp>

namespace ridge::attention_kernels {

inline constexpr int merge_threads = 128, merge_lanes = 32;     // lanes: of a query
inline constexpr int merge_rows = merge_threads / merge_lanes;  // queries of a block
constexpr std::int64_t merge_blocks(std::int64_t queries) { return (queries + merge_rows - 1) / merge_rows; }

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {

struct MergeVariant {
  std::string_view name, step;
  int threads;
};
inline constexpr MergeVariant merge_variants[] = {
    {"block", "a block for four queries, 32 lanes for the columns of each", attention_kernels::merge_threads},
};

// Precondition: there are queries, and the tensors match the plan's problem.
template <class Backend> Status launch_merge(const AttentionMergePlan&, const AttentionMergeTensors&, Stream);

}  // namespace ridge::attention_detail
