// The C ABI as a way to plan and run a case: via=c.
#pragma once
#include <ridge/core/op.hpp>

#include <memory>

namespace ridge::check {

// A plan of ridge_plan_create(), for the device of the tensors. Each run first passes tensors with one wrong property
// at a time to ridge_plan_run(), and fails where one of them is accepted.
Result<std::unique_ptr<OpPlan>> plan_through_c(const OpInfo&, Views inputs, Views outputs, const Options&);

}  // namespace ridge::check
