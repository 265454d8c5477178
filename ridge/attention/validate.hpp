// What plan.cpp knows of problem.cpp.
#pragma once
#include <ridge/attention/attention.hpp>

namespace ridge::attention_detail {

inline constexpr std::int64_t max_columns = 256;      // of D and Dv
inline constexpr std::int64_t most_rows = 1ll << 30;  // sums of three positions stay below 2^32: kernels use int
inline constexpr std::int64_t least_page = 16;        // of a cache: keys of a page

// The problem with every tensor that takes part described; those that were not are packed and aligned.
AttentionProblem with_operands(AttentionProblem);

// Whether the contract takes it. Precondition: with_operands().
Status validate(const AttentionProblem&);

// Whether it takes what cu_q, cu_k, lengths and block_table hold, which is read. Precondition: they are of the problem.
Status check_sequences(const AttentionProblem&, const AttentionTensors&, Stream);

}  // namespace ridge::attention_detail
