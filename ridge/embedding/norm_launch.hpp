// The interface of norm.cu for norm.cpp.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/embedding/norm.hpp>

namespace ridge::embedding_norm_detail {

using Types = TypeList<float, half, bfloat16>;

// Preconditions: the plan's problem has elements, and the tensors match it.
template <class Backend> Status launch(const EmbeddingNormPlan&, const EmbeddingNormTensors&, Stream);

}  // namespace ridge::embedding_norm_detail
