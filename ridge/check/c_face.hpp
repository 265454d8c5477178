// The C ABI as a way to plan and run a case: via=c.
#pragma once
#include <ridge/core/op.hpp>

#include <memory>

namespace ridge::check {

// A plan that ridge_plan_create() makes, where the tensors are. Each run first hands ridge_plan_run() tensors that are
// not those planned for, one lie at a time, and fails where one of them is taken.
Result<std::unique_ptr<OpPlan>> plan_through_c(const OpInfo&, Views inputs, Views outputs, const Options&);

}  // namespace ridge::check
