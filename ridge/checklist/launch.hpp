// What plan.cpp knows of checklist.cu.
#pragma once
#include <ridge/checklist/checklist.hpp>
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>

namespace ridge::checklist_detail {

// Preconditions: the pointers are as the plan says; b is null but for vecadd.
template <class Backend> Status launch(const ChecklistPlan&, const void* a, const void* b, void* y, Stream);

}  // namespace ridge::checklist_detail
