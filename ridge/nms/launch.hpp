// The interface of nms.cu for plan.cpp.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/nms/nms.hpp>

namespace ridge::nms_detail {

using Types = TypeList<float, half>;
inline constexpr std::int64_t max_boxes = 0x7fffffff;

// Preconditions: the tensors match the plan's problem, and the workspace has workspace_bytes().
template <class Backend> Status launch(const NmsPlan&, const NmsTensors&, Workspace, Stream);

}  // namespace ridge::nms_detail
