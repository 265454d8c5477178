// The interface of embedding.cu for plan.cpp.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/embedding/embedding.hpp>

namespace ridge::embedding_detail {

using Types = TypeList<float, half, bfloat16>;

// Preconditions: the plan's problem has elements, and the pointers match it.
template <class Backend> Status launch(const EmbeddingPlan&, const void* table, const void* indices, void* y, Stream);

}  // namespace ridge::embedding_detail
