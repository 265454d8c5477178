// The same bits from run to run: every row of every operator's table, for each type of its cases, on the CPU runtime
// with different numbers of workers and different orders of blocks and threads.
#include <ridge/check/case_tensors.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridge::check {

void PrintTo(const CaseBook* book, std::ostream* out) { *out << book->op; }

namespace {

// A row of the table on a case that it fits, and how much the CPU runtime has to do for it.
struct RowCase {
  const Case* c;
  std::string_view row;
  std::int64_t blocks = 0, threads = 0;  // of the whole grid

  // A schedule has something to change where there are several blocks; with more of them it only takes longer.
  bool operator<(const RowCase& other) const {
    const auto key = [](const RowCase& x) { return std::pair(x.blocks < 4 || x.blocks > 64, x.threads); };
    return key(*this) < key(other);
  }
};

DeviceInfo device_of(const Case& c) {
  DeviceInfo device = cpu();
  device.warp = static_cast<int>(*c.options.integer(c.op, "warp", device.warp));
  return device;
}

// Adds the rows that fit the case.
void add_fitting_rows(const CaseBook& book, const OpInfo& op, const Case& c, std::vector<RowCase>& all) {
  const DeviceInfo device = device_of(c);
  const Place place = *place_of(c);
  std::uintptr_t at = std::uintptr_t{1} << 40;
  const auto types = case_inputs(book, c);
  if (!types) return;
  const auto in = views_to_plan(*types, place, device.id, at);
  const auto out_types = infer_op(op, in, c.operator_options());
  if (!out_types) return;
  const auto out = views_to_plan(*out_types, place_of_outputs(place), device.id, at);
  for (const VariantInfo& row : op.variants) {
    Options options = c.operator_options();
    options.set("variant", std::string(row.name));
    const auto plan = plan_op(op, in, out, options, device);
    if (!plan) continue;
    const Analysis analysis = (*plan)->explain().analysis;
    all.push_back({&c, row.name, analysis.blocks, analysis.blocks * analysis.threads});
  }
}

// The book's cases but those that are large on purpose.
std::vector<Case> small_cases(const CaseBook& book) {
  std::vector<Case> cases;
  for (const std::string& text : book.tests) {
    auto c = Case::parse(text);
    if (!c.ok() || c->options.text("place") == "inplace") continue;
    auto types = case_inputs(book, *c);
    if (!types.ok()) continue;
    std::int64_t elements = 0;
    for (const TensorType& type : *types) elements += Layout::contiguous(type.shape).count();
    constexpr std::int64_t too_many = 1 << 16;
    if (elements <= too_many) cases.push_back(std::move(*c));
  }
  return cases;
}

// For each row and type of the cases the one that suits best.
std::map<std::pair<std::string_view, DType>, RowCase> cases_by_row(const CaseBook& book, const OpInfo& op,
                                                                   std::span<const Case> cases) {
  std::vector<RowCase> all;
  for (const Case& c : cases) add_fitting_rows(book, op, c, all);
  std::map<std::pair<std::string_view, DType>, RowCase> best;
  for (const RowCase& it : all) {
    const auto [at, is_new] = best.try_emplace({it.row, it.c->dtype}, it);
    if (!is_new && it < at->second) at->second = it;
  }
  return best;
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

void expect_same_bits(const CaseBook& book, const OpInfo& op, const RowCase& it, const std::string& own_seed) {
  const Case& c = *it.c;
  const std::string text = c.text() + ", variant " + std::string(it.row);
  const DeviceInfo device = device_of(c);
  auto tensors = tensors_of(book, op, c, *place_of(c), device.id);
  ASSERT_TRUE(tensors.ok()) << text << ": " << tensors.error().message();
  Options options = c.operator_options();
  options.set("variant", std::string(it.row));
  auto plan = plan_op(op, tensors->in, tensors->out, options, device);
  ASSERT_TRUE(plan.ok()) << text << ": " << plan.error().message();
  set({"1", "0"});
  const auto first = bytes_of_run(*tensors, **plan, device.id);
  ASSERT_TRUE(first.ok()) << text << ": " << first.error().message();
  for (const Schedule s : {Schedule{"1", "7"}, {"2", "77"}, {"5", own_seed.c_str()}}) {
    set(s);
    const auto again = bytes_of_run(*tensors, **plan, device.id);
    ASSERT_TRUE(again.ok()) << text << ": " << again.error().message();
    EXPECT_TRUE(*first == *again || adds_in_any_order(it.row, c.dtype))
        << text << ", gives other bits with RIDGE_WORKERS=" << s.workers << " RIDGE_SEED=" << s.seed;
  }
}

TEST_P(Repeat, EveryRowGivesTheSameBits) {
  const CaseBook& book = *GetParam();
  const OpInfo& op = **find_op(book.op);
  const char* given = std::getenv("RIDGE_SEED");
  const std::string own = given ? given : "4711";
  const std::vector<Case> cases = small_cases(book);
  const auto chosen = cases_by_row(book, op, cases);
  std::set<std::string_view> rows;
  for (const auto& [row_and_type, it] : chosen) {
    rows.insert(it.row);
    expect_same_bits(book, op, it, own);
  }
  if (given) setenv("RIDGE_SEED", given, 1);
  else unsetenv("RIDGE_SEED");
  unsetenv("RIDGE_WORKERS");
  std::printf("%s: %zu of %zu rows, %zu with their types; not here:", book.op.c_str(), rows.size(), op.variants.size(),
              chosen.size());
  for (const VariantInfo& row : op.variants)
    if (!rows.contains(row.name)) std::printf(" %s", std::string(row.name).c_str());
  std::puts("");
  EXPECT_FALSE(rows.empty());
}

INSTANTIATE_TEST_SUITE_P(Of, Repeat, testing::ValuesIn(case_books()),
                         [](const auto& instance) { return instance.param->op; });

}  // namespace
}  // namespace ridge::check
