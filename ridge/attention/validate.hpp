// Interface between plan.cpp and problem.cpp.
#pragma once
#include <ridge/attention/attention.hpp>

namespace ridge::attention_detail {

inline constexpr std::int64_t max_columns = 512;      // of D and Dv
inline constexpr std::int64_t most_rows = 1ll << 30;  // sums of three positions stay below 2^32: kernels use int
inline constexpr std::int64_t least_page = 16;        // of a cache: keys of a page

// Completes the problem: describes every tensor that takes part; those not described are packed and aligned.
AttentionProblem with_operands(AttentionProblem);

// Checks the contract. Precondition: with_operands().
Status validate(const AttentionProblem&);

// Reads and checks the contents of cu_q, cu_k, lengths and block_table. Precondition: they belong to the problem.
Status check_sequences(const AttentionProblem&, const AttentionTensors&, Stream);

}  // namespace ridge::attention_detail
