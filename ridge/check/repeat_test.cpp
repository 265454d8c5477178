// The same bits from run to run: every row of every operator's table, for each type of its cases, on the CPU runtime
// with different numbers of workers and different orders of blocks and threads.
#include <ridge/check/case_tensors.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridge::check {

void PrintTo(const CaseBook* book, std::ostream* out) { *out << book->op; }

namespace {

// The rows that fit the case.
std::vector<std::string_view> fitting_rows(const CaseBook& book, const OpInfo& op, const Case& c, Place place,
                                           const DeviceInfo& device) {
  std::vector<std::string_view> rows;
  std::uintptr_t at = std::uintptr_t{1} << 40;
  const auto types = case_inputs(book, c);
  if (!types) return rows;
  const auto in = views_to_plan(*types, place, device.id, at);
  const auto out_types = infer_op(op, in, c.operator_options());
  if (!out_types) return rows;
  const auto out = views_to_plan(*out_types, place_of_outputs(place), device.id, at);
  for (const VariantInfo& row : op.variants) {
    Options options = c.operator_options();
    options.set("variant", std::string(row.name));
    if (plan_op(op, in, out, options, device).ok()) rows.push_back(row.name);
  }
  return rows;
}

// The order prefers small cases of several blocks: cases from 4096 elements on, the smallest first, then smaller cases,
// the largest first. It leaves out cases that are large on purpose, which take minutes.
std::vector<Case> cases_to_run(const CaseBook& book) {
  std::vector<std::pair<std::int64_t, Case>> sized;
  for (const std::string& text : book.tests) {
    auto c = Case::parse(text);
    if (!c.ok() || c->options.text("place") == "inplace") continue;
    auto types = case_inputs(book, *c);
    if (!types.ok()) continue;
    std::int64_t elements = 0;
    for (const TensorType& type : *types) elements += Layout::contiguous(type.shape).count();
    constexpr std::int64_t enough = 4096, too_many = 1 << 16;
    if (elements > too_many) continue;
    sized.emplace_back(elements < enough ? enough * enough - elements : elements, std::move(*c));
  }
  std::stable_sort(sized.begin(), sized.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Case> cases;
  for (auto& [size, c] : sized) cases.push_back(std::move(c));
  return cases;
}

struct Schedule {
  const char *workers, *seed;
};
void set(const Schedule& s) {
  setenv("RIDGE_WORKERS", s.workers, 1);
  setenv("RIDGE_SEED", s.seed, 1);
}

// Rows whose sums have no fixed order, which a user must ask for by name.
bool adds_in_any_order(std::string_view row, DType dtype) {
  return row.find("atomic") != row.npos && roundoff(dtype) > 0;
}

class Repeat : public testing::TestWithParam<const CaseBook*> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Repeat);

TEST_P(Repeat, EveryRowGivesTheSameBits) {
  const CaseBook& book = *GetParam();
  const OpInfo& op = **find_op(book.op);
  const char* given = std::getenv("RIDGE_SEED");
  const std::string own = given ? given : "4711";
  std::set<std::pair<std::string_view, DType>> done;  // row and type
  std::set<std::string_view> rows;
  for (const Case& c : cases_to_run(book)) {
    const Place place = *place_of(c);
    DeviceInfo device = cpu();
    device.warp = static_cast<int>(*c.options.integer(c.op, "warp", device.warp));
    std::optional<CaseTensors> tensors;
    for (const std::string_view row : fitting_rows(book, op, c, place, device)) {
      if (!done.insert({row, c.dtype}).second) continue;
      rows.insert(row);
      const std::string text = c.text() + ", variant " + std::string(row);
      if (!tensors) {
        auto made = tensors_of(book, op, c, place, device.id);
        ASSERT_TRUE(made.ok()) << text << ": " << made.error().message();
        tensors = std::move(*made);
      }
      Options options = c.operator_options();
      options.set("variant", std::string(row));
      auto plan = plan_op(op, tensors->in, tensors->out, options, device);
      ASSERT_TRUE(plan.ok()) << text << ": " << plan.error().message();
      set({"1", "0"});
      const auto first = bytes_of_run(*tensors, **plan, device.id);
      ASSERT_TRUE(first.ok()) << text << ": " << first.error().message();
      for (const Schedule s : {Schedule{"1", "7"}, {"2", "77"}, {"5", own.c_str()}}) {
        set(s);
        const auto again = bytes_of_run(*tensors, **plan, device.id);
        ASSERT_TRUE(again.ok()) << text << ": " << again.error().message();
        EXPECT_TRUE(*first == *again || adds_in_any_order(row, c.dtype))
            << text << ", gives other bits with RIDGE_WORKERS=" << s.workers << " RIDGE_SEED=" << s.seed;
      }
    }
  }
  if (given) setenv("RIDGE_SEED", given, 1);
  else unsetenv("RIDGE_SEED");
  unsetenv("RIDGE_WORKERS");
  std::printf("%s: %zu of %zu rows, %zu with their types; not here:", book.op.c_str(), rows.size(), op.variants.size(),
              done.size());
  for (const VariantInfo& row : op.variants)
    if (!rows.contains(row.name)) std::printf(" %s", std::string(row.name).c_str());
  std::puts("");
  EXPECT_FALSE(rows.empty());
}

INSTANTIATE_TEST_SUITE_P(Of, Repeat, testing::ValuesIn(case_books()),
                         [](const auto& instance) { return instance.param->op; });

}  // namespace
}  // namespace ridge::check
