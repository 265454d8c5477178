// Plans for sizes that no memory has: for every operator, each size of its cases, and each two of them, is so large
// that products do not fit into 64 bits. Each gives a plan or a sentence. Compiled with UBSan, this test finds signed
// overflow.
#include <ridge/check/case_book.hpp>
#include <ridge/core/device.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <limits>
#include <ostream>
#include <set>

namespace ridge::check {

void PrintTo(const CaseBook* book, std::ostream* out) { *out << book->op; }

namespace {

constexpr std::int64_t extremes[] = {std::int64_t{1} << 31, (std::int64_t{1} << 32) + 1, std::int64_t{1} << 40,
                                     std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max()};

std::vector<TensorView> contiguous(const std::vector<TensorType>& types) {
  std::vector<TensorView> views;
  for (const TensorType& type : types) views.push_back({nullptr, type.dtype, Layout::contiguous(type.shape), {}});
  return views;
}

// Whether the case can be planned; fails with a description of the request where a refusal has no sentence.
bool plans(const OpInfo& op, const CaseBook& book, const Case& c, const DeviceInfo& device) {
  auto types = case_inputs(book, c);
  if (!types) return false;
  const std::vector<TensorView> in = contiguous(*types);
  for (const TensorView& view : in)
    if (view.rank() > max_rank) return false;
  auto results = infer_op(op, in, c.operator_options());
  if (!results) {
    EXPECT_FALSE(results.error().message().empty()) << c.text();
    return false;
  }
  const std::vector<TensorView> out = contiguous(*results);
  auto plan = plan_op(op, in, out, c.operator_options(), device);
  if (!plan) {
    EXPECT_FALSE(plan.error().message().empty()) << c.text();
    return false;
  }
  (void)(*plan)->workspace_bytes();
  (void)(*plan)->explain().text();
  return true;
}

class Extremes : public testing::TestWithParam<const CaseBook*> {};

TEST_P(Extremes, APlanOrASentence) {
  const CaseBook& book = *GetParam();
  const auto op = find_op(book.op);
  ASSERT_TRUE(op);
  std::set<std::string> seen;  // one case for each combination of dtype, keys and options
  int asked = 0;
  for (const std::string& text : book.tests) {
    auto c = Case::parse(text);
    ASSERT_TRUE(c);
    std::string way = std::string(name(c->dtype));
    for (const auto& [key, size] : c->dims) way += "," + key;
    for (const auto& [key, value] : c->options.pairs())
      if (!Case::is_harness_option(key)) way += ":" + key + "=" + value;
    if (seen.size() >= 60 || !seen.insert(way).second) continue;
    for (const char* model : {"h100", "a100"}) {
      const DeviceInfo device = *device_model(model);
      for (std::size_t i = 0; i < c->dims.size(); ++i)
        for (std::size_t j = i; j < c->dims.size(); ++j)
          for (const std::int64_t size : extremes) {
            Case extreme = *c;
            extreme.dims[i].second = extreme.dims[j].second = size;
            (void)plans(**op, book, extreme, device);
            ++asked;
          }
    }
  }
  EXPECT_GT(asked, 0);
}

// Rows that overlap like windows, and elements that share an address: no output may have such a layout.
TEST_P(Extremes, OutputsThatOverlapThemselvesAreRefused) {
  const CaseBook& book = *GetParam();
  const auto op = find_op(book.op);
  ASSERT_TRUE(op);
  int refused = 0;
  for (const std::string& text : book.tests) {
    const auto c = Case::parse(text);
    ASSERT_TRUE(c);
    if (c->options.has("variant") || refused >= 20) continue;
    auto types = case_inputs(book, *c);
    ASSERT_TRUE(types);
    const std::vector<TensorView> in = contiguous(*types);
    auto results = infer_op(**op, in, c->operator_options());
    if (!results) continue;
    const std::vector<TensorView> out = contiguous(*results);
    if (!plan_op(**op, in, out, c->operator_options(), cpu())) continue;
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::vector<TensorView> overlapping = out;
      Layout& layout = overlapping[i].layout;
      const int last = layout.rank - 1;
      if (layout.count() == 0 || last < 0 || layout.shape[last] <= 1) continue;
      if (last > 0 && layout.shape[last - 1] > 1) layout.stride[last - 1] = 1;
      else layout.stride[last] = 0;
      EXPECT_FALSE(plan_op(**op, in, overlapping, c->operator_options(), cpu())) << text << ", output " << i;
      ++refused;
    }
  }
  std::printf("%d outputs\n", refused);
}

INSTANTIATE_TEST_SUITE_P(All, Extremes, testing::ValuesIn(case_books()),
                         [](const auto& book) { return book.param->op; });

// The same through strides: a tensor of few elements that are far apart.
TEST(Extremes, StridesBeyondMemoryAreRefusedInWords) {
  const auto op = find_op("relu");
  if (!op) GTEST_SKIP() << "this build has no relu";
  Layout far = Layout::contiguous({3, 3});
  far.stride[0] = std::int64_t{1} << 62;
  const TensorView x{nullptr, f32, far, {}}, y{nullptr, f32, Layout::contiguous({3, 3}), {}};
  const auto plan = plan_op(**op, std::array{x}, std::array{y}, {}, *device_model("h100"));
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message().find(".strides is 4611686018427387904,1; it must be such that elements lie within "
                                        "2^56 of the first"),
            std::string::npos)
      << plan.error().message();
}

}  // namespace
}  // namespace ridge::check
