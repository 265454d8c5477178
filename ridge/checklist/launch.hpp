// The interface of checklist.cu for plan.cpp.
#pragma once
#include <ridge/checklist/checklist.hpp>
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>

namespace ridge::checklist_detail {

// Preconditions: the pointers match the plan; b is null except for vecadd.
template <class Backend> Status launch(const ChecklistPlan&, const void* a, const void* b, void* y, Stream);

}  // namespace ridge::checklist_detail
