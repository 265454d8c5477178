// Sizes of 0, for every operator: the cases of its book with each size, and each two sizes, set to 0. Such a problem is
// planned and explained on every device and agrees with the oracle on the CPU, or is refused with a sentence.
#include <ridge/check/harness.hpp>
#include <ridge/check/placement.hpp>
#include <ridge/core/device.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace ridge::check {

void PrintTo(const CaseBook* book, std::ostream* out) { *out << book->op; }

namespace {

// The book's cases with one or two sizes of 0, each once. alike: of the cases that differ only in other sizes and fills
// the one of the least sizes, which costs the least.
std::vector<Case> zeroed(const CaseBook& book, bool alike) {
  std::vector<Case> cases;
  std::map<std::string, std::size_t> seen;  // the place in `cases`
  const auto product = [](const Case& c) {
    double p = 1;
    for (const auto& [name, size] : c.dims) p *= size ? static_cast<double>(size) : 1;
    return p;
  };
  for (const std::string& text : book.tests) {
    const auto parsed = Case::parse(text);
    EXPECT_TRUE(parsed.ok()) << text;
    if (!parsed) continue;
    const std::size_t sizes = parsed->dims.size();
    for (std::size_t i = 0; i < sizes; ++i)
      for (std::size_t j = i; j < sizes; ++j) {
        Case c = *parsed;
        c.dims[i].second = c.dims[j].second = 0;
        Case key = c;
        if (alike) {
          for (auto& [name, size] : key.dims) size = size != 0;
          key.options.erase("fill");
          key.options.erase("seed");
        }
        const auto [at, is_new] = seen.try_emplace(key.text(), cases.size());
        if (is_new) cases.push_back(std::move(c));
        else if (product(c) < product(cases[at->second])) cases[at->second] = std::move(c);
      }
  }
  return cases;
}

// The CPU runtime with both warp widths, the models, and a minimal GPU.
std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> all{cpu(), cpu({.warp = 64})};
  for (const DeviceInfo& model : device_models()) all.push_back(model);
  DeviceInfo least{.name = "the least of all GPUs", .id = {DeviceKind::cuda, 0}, .cc = 70};
  least.clock_ghz = least.peak_gbs = least.memory_gbs = least.l2_gbs = 1;
  least.fp32_tflops = least.fp64_tflops = least.tf32_tflops = least.fp16_tflops = least.fp8_tflops = least.int8_tops =
      1;
  all.push_back(least);
  return all;
}

// Plans and explains the problem; returns its refusal, if any. is_empty: whether one of its tensors is empty.
Status plan_and_explain(const CaseBook& book, const Case& c, const DeviceInfo& device, bool* is_empty = nullptr) {
  const OpInfo& op = **find_op(book.op);
  const auto types = case_inputs(book, c);
  if (!types) return types.error();
  const auto place = place_of(c);
  if (!place) return place.error();
  std::uintptr_t at = std::uintptr_t{1} << 40;
  const auto in = views_to_plan(*types, *place, device.id, at);
  const auto out_types = infer_op(op, in, c.operator_options());
  if (!out_types) return out_types.error();
  auto out = views_to_plan(*out_types, place_of_outputs(*place), device.id, at);
  if (*place == Place::inplace) out[0] = in[0];
  const auto empty = [](const TensorView& v) { return v.count() == 0; };
  if (is_empty) *is_empty = std::ranges::any_of(in, empty) || std::ranges::any_of(out, empty);
  const auto plan = plan_op(op, in, out, c.operator_options(), device);
  if (!plan) return plan.error();
  const Explanation e = (*plan)->explain();
  EXPECT_FALSE(e.text().empty());
  EXPECT_TRUE(std::isfinite(e.predicted_us) && e.predicted_us >= 0) << e.predicted_us << " us";
  EXPECT_TRUE(std::isfinite(e.least_us) && e.least_us >= 0) << e.least_us << " us";
  EXPECT_TRUE(std::isfinite(e.cost.bytes_read) && e.cost.bytes_read >= 0) << e.cost.bytes_read;
  EXPECT_TRUE(std::isfinite(e.cost.bytes_written) && e.cost.bytes_written >= 0) << e.cost.bytes_written;
  for (const Candidate& candidate : e.candidates)
    EXPECT_TRUE(!candidate.fits() || std::isfinite(candidate.predicted_us)) << candidate.variant;
  return {};
}

class ZeroSizes : public testing::TestWithParam<const CaseBook*> {};

TEST_P(ZeroSizes, ArePlannedOrRefused) {
  for (const Case& c : zeroed(*GetParam(), false))
    for (const DeviceInfo& device : devices()) {
      SCOPED_TRACE(c.text() + " on " + device.name);
      const Status refusal = plan_and_explain(*GetParam(), c, device);
      if (refusal.ok()) continue;
      EXPECT_TRUE(refusal.code() == Code::invalid_argument || refusal.code() == Code::unsupported);
      EXPECT_FALSE(refusal.message().empty());
    }
}

TEST_P(ZeroSizes, AreRight) {
  int passed = 0;
  for (const Case& c : zeroed(*GetParam(), true)) {
    bool is_empty = false;  // in some cases a size of 0 only means that an optional part is absent
    if (!plan_and_explain(*GetParam(), c, cpu(), &is_empty).ok() || !is_empty) continue;
    for (const Outcome& outcome : run_case(c, cpu(), true)) {
      EXPECT_NE(outcome.kind, Outcome::failed) << outcome.case_text << ": " << outcome.why;
      passed += outcome.kind == Outcome::passed;
    }
  }
  EXPECT_GT(passed, 0);
}

INSTANTIATE_TEST_SUITE_P(Of, ZeroSizes, testing::ValuesIn(case_books()),
                         [](const auto& instance) { return instance.param->op; });

}  // namespace
}  // namespace ridge::check
