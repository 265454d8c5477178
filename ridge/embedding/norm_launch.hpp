// What norm.cpp knows of norm.cu.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/embedding/norm.hpp>

namespace ridge::embedding_norm_detail {

using Types = TypeList<float, half, bfloat16>;
inline constexpr std::int64_t max_grid = 0x7fffffff;  // blocks in x, on every device

// Preconditions: the plan's problem has elements, and the tensors are as it says.
template <class Backend> Status launch(const EmbeddingNormPlan&, const EmbeddingNormTensors&, Stream);

}  // namespace ridge::embedding_norm_detail
