// Helpers for tests of every operator: plans by name, for cases from the books; they need no device.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/check/placement.hpp>
#include <ridge/core/device.hpp>
#include <ridge/core/op.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace ridge::check {

// The plan of a case with these options instead of its own; or the refusal.
inline Result<std::unique_ptr<OpPlan>> plan_case(const Case& c, const Options& options, const DeviceInfo& device) {
  const auto book = find_case_book(c.op);
  if (!book) return book.error();
  const auto op = find_op(c.op);
  if (!op) return op.error();
  const auto place = place_of(c);
  if (!place) return place.error();
  const auto types = case_inputs(**book, c);
  if (!types) return types.error();
  std::uintptr_t at = std::uintptr_t{1} << 40;
  const auto in = views_to_plan(*types, *place, device.id, at);
  const auto out_types = infer_op(**op, in, options);
  if (!out_types) return out_types.error();
  auto out = views_to_plan(*out_types, place_of_outputs(*place), device.id, at);
  if (*place == Place::inplace && !out.empty()) out[0] = in[0];
  return plan_op(**op, in, out, options, device);
}

}  // namespace ridge::check
