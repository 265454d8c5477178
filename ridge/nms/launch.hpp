// What plan.cpp knows of nms.cu.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/nms/nms.hpp>

namespace ridge::nms_detail {

using Types = TypeList<float, half>;
inline constexpr std::int64_t max_boxes = 0x7fffffff;

// Preconditions: the tensors are as the plan's problem says, and the workspace is as large as it asks.
template <class Backend> Status launch(const NmsPlan&, const NmsTensors&, Workspace, Stream);

}  // namespace ridge::nms_detail
