// Numbers on the device are not trusted: passes hostile offsets, lengths, page tables, positions and indices to every
// operator that takes some, with every variant that fits. Nothing outside of the tensors is written (nor read, which
// the `bounds` build sees), and a plan that is checked says which number is wrong.
#include <ridge/check/harness.hpp>
#include <ridge/check/hostile.hpp>
#include <ridge/core/check_indices.hpp>
#include <ridge/core/device.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace ridge::check {

void PrintTo(const CaseBook* book, std::ostream* out) { *out << book->op; }

namespace {

bool takes_checked(const OpInfo& op) {
  return std::ranges::any_of(op.options, [](const OptionInfo& o) { return o.name == "checked"; });
}

std::vector<const CaseBook*> books() {
  std::vector<const CaseBook*> found;
  for (const CaseBook* book : case_books())
    if (takes_checked(**find_op(book->op))) found.push_back(book);
  return found;
}

// Every operator with an input of indices or offsets has the option.
TEST(Untrusted, OperatorsThatTakePlacesAreChecked) {
  const std::set<std::string_view> places{"indices", "positions", "offsets", "cu_q", "cu_k", "lengths", "block_table"};
  for (const OpInfo* op : ops())
    for (std::string_view input : op->inputs)
      if (places.contains(input)) {
        EXPECT_TRUE(takes_checked(*op)) << op->name << " takes " << input;
      }
}

#ifdef RIDGE_SIMT_SERIAL  // the `bounds` build
constexpr std::size_t margin = 0;
#else
constexpr std::size_t margin = 1 << 16;
#endif

// Bytes with a margin on both sides that nothing may write. Without a margin they fill their allocation, and
// AddressSanitizer reports reads past it too.
class Fenced {
 public:
  explicit Fenced(const TensorType& type) {
    view_ = {nullptr, type.dtype, Layout::contiguous(type.shape), cpu().id};
    bytes_ = static_cast<std::size_t>(view_.count()) * size_of(type.dtype);
    auto buffer = Buffer::allocate(view_.device, bytes_ + 2 * margin);
    EXPECT_TRUE(buffer.ok());
    buffer_ = std::move(*buffer);
    std::memset(buffer_.data(), canary, bytes_ + 2 * margin);
    view_.data = static_cast<unsigned char*>(buffer_.data()) + margin;
  }
  const TensorView& view() const { return view_; }
  void write(const std::vector<double>& values) {
    const auto encoded = encode(view_.dtype, values);
    ASSERT_EQ(encoded.size(), bytes_);
    if (bytes_ > 0) std::memcpy(view_.data, encoded.data(), bytes_);
  }
  bool intact() const {
    const auto* data = static_cast<const unsigned char*>(buffer_.data());
    const auto is_canary = [](unsigned char x) { return x == canary; };
    return std::all_of(data, data + margin, is_canary) &&
           std::all_of(data + margin + bytes_, data + bytes_ + 2 * margin, is_canary);
  }

 private:
  static constexpr unsigned char canary = 0x7b;  // far out of range as an offset, large as a float
  std::size_t bytes_ = 0;
  Buffer buffer_;
  TensorView view_;
};

// The book's cases; among cases that differ only in sizes and in options that do not affect addresses, the first.
std::vector<Case> cases_of(const CaseBook& book) {
  std::vector<Case> cases;
  std::set<std::string> seen;
  for (const std::string& text : book.tests) {
    Case c = *Case::parse(text);
    // Small sizes are enough to show wrong addresses.
    for (auto& [name, size] : c.dims)
      if (name == "b" || name == "sq" || name == "sk") size = std::min<std::int64_t>(size, name == "b" ? 3 : 40);
    Case key = c;
    for (auto& [name, size] : key.dims) size = size != 0;
    for (const char* more : {"fill", "warp", "seed", "place", "lse", "scale", "softcap", "causal", "window", "align"})
      key.options.erase(more);
    if (seen.insert(key.text()).second) cases.push_back(std::move(c));
  }
  return cases;
}

// A run of a case with these inputs.
struct Trial {
  const CaseBook& book;
  const Case& c;
  const std::vector<HostTensor>& inputs;
  std::vector<std::unique_ptr<Fenced>> tensors;
  std::vector<TensorView> in, out;

  Trial(const CaseBook& of, const Case& of_case, const std::vector<HostTensor>& values)
      : book(of), c(of_case), inputs(values) {
    const auto add = [&](const TensorType& type, std::vector<TensorView>& to) {
      tensors.push_back(std::make_unique<Fenced>(type));
      to.push_back(tensors.back()->view());
    };
    for (const HostTensor& input : inputs) add(input.type, in);
    const auto types = infer_op(**find_op(book.op), in, options("0"));
    EXPECT_TRUE(types.ok()) << types.error().message();
    for (const TensorType& type : *types) add(type, out);
    for (std::size_t i = 0; i < inputs.size(); ++i) tensors[i]->write(inputs[i].values);
  }
  Options options(const char* checked, std::string variant = "") const {
    Options o = c.operator_options();
    o.set("checked", checked);
    if (!variant.empty()) o.set("variant", std::move(variant));
    return o;
  }
  Status run(const Options& how) const {
    const auto plan = plan_op(**find_op(book.op), in, out, how, cpu());
    if (!plan) return plan.error();
    const Fenced workspace({u8, {static_cast<std::int64_t>((*plan)->workspace_bytes())}});
    Status status = (*plan)->run(in, out, {workspace.view().data, (*plan)->workspace_bytes()}, {});
    EXPECT_TRUE(workspace.intact()) << "workspace";
    return status;
  }
  bool intact() const {
    return std::ranges::all_of(tensors, [](const auto& tensor) { return tensor->intact(); });
  }
};

class UntrustedOf : public testing::TestWithParam<const CaseBook*> {
 protected:
  // Calls f(case, its inputs with hostile numbers in input `i`, i).
  template <class F> void for_each_hostile(F&& f) {
    const CaseBook& book = *GetParam();
    for (const Case& c : cases_of(book)) {
      const auto filled = fill_inputs(book, c);
      ASSERT_TRUE(filled.ok()) << filled.error().message();
      for (std::size_t i = 0; i < filled->size(); ++i) {
        const HostTensor& right = (*filled)[i];
        if (!is_of_places(right.type.dtype)) continue;
        for (const Hostile& hostile : hostile_numbers(right)) {
          std::vector<HostTensor> inputs = *filled;
          inputs[i].values = hostile.values;
          SCOPED_TRACE(c.text() + ", input " + std::to_string(i) + ": " + hostile.name);
          f(c, inputs, i);
        }
      }
    }
  }
};

TEST_P(UntrustedOf, StaysInsideOfTheTensors) {
  if (!may_share_places) GTEST_SKIP() << "what wrong numbers have written twice is a race";
  const OpInfo& op = **find_op(GetParam()->op);
  int ran = 0;
  for_each_hostile([&](const Case& c, const std::vector<HostTensor>& inputs, std::size_t) {
    const Trial trial(*GetParam(), c, inputs);
    for (const VariantInfo& row : op.variants) {
      const Status status = trial.run(trial.options("0", std::string(row.name)));
      if (status.code() == Code::unsupported) continue;
      ++ran;
      EXPECT_TRUE(status.ok()) << row.name << ": " << status.message();
      EXPECT_TRUE(trial.intact()) << row.name;
    }
  });
  EXPECT_GT(ran, 0);
}

TEST_P(UntrustedOf, IsRefusedWhereItIsChecked) {
  const OpInfo& op = **find_op(GetParam()->op);
  std::set<std::string> inputs_seen, inputs_refused;
  for_each_hostile([&](const Case& c, const std::vector<HostTensor>& inputs, std::size_t i) {
    const Trial trial(*GetParam(), c, inputs);
    const auto names = *input_names(op, trial.options("1"), inputs.size());
    const std::string name(names[i]);
    inputs_seen.insert(name);
    const Status status = trial.run(trial.options("1"));
    if (status.ok()) return;  // numbers that are not read, or that happen to be right
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_EQ(status.op(), GetParam()->op);
    EXPECT_TRUE(status.argument().starts_with(name + "[") || !status.argument().empty()) << status.message();
    EXPECT_FALSE(status.value().empty());
    EXPECT_FALSE(status.constraint().empty());
    if (status.argument().starts_with(name + "[")) inputs_refused.insert(name);
  });
  EXPECT_EQ(inputs_seen, inputs_refused);
}

// Right numbers are not refused.
TEST_P(UntrustedOf, WhatIsRightPasses) {
  if (GetParam()->op != "attention" && GetParam()->op != "grouped_gemm")
    GTEST_SKIP() << "its cases ask for rows that there are not";
  for (const Case& c : cases_of(*GetParam())) {
    const auto inputs = fill_inputs(*GetParam(), c);
    ASSERT_TRUE(inputs.ok());
    const Trial trial(*GetParam(), c, *inputs);
    const Status status = trial.run(trial.options("1"));
    EXPECT_TRUE(status.ok()) << c.text() << ": " << status.message();
  }
}

INSTANTIATE_TEST_SUITE_P(Of, UntrustedOf, testing::ValuesIn(books()),
                         [](const auto& instance) { return instance.param->op; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(UntrustedOf);  // a build may have none of these operators

TEST(Untrusted, NumbersOfAnyStrides) {
  std::int32_t data[] = {0, 1, 2, 3, 4, 5};
  TensorView rows = view(data + 4, {3, 2});
  rows.layout.stride = {-2, 1};
  EXPECT_EQ(*read_indices("op", "x", rows), (std::vector<std::int64_t>{4, 5, 2, 3, 0, 1}));
  EXPECT_EQ(check_indices("op", "x", rows, 5, "the rows").message(),
            "op: x[0, 1] is 5; it must be from 0 to 4, the rows");
  EXPECT_TRUE(check_indices("op", "x", rows, 6, "the rows").ok());
  EXPECT_EQ(check_indices("op", "x", view(data, {6}), 0, "the rows").message(),
            "op: x[0] is 0; it must be left out: there are none of the rows");
}

// The sentences of refusals.
// Of the operators that this build has.
TEST(Untrusted, Sentences) {
  struct Wrong {
    const char* text;
    std::size_t input;
    std::vector<double> numbers;
    const char* sentence;
  };
  const char* packed = "attention:f32:b=2,hq=1,hkv=1,sq=16,sk=16,d=8:inputs=q,k,v,cu_q,cu_k:seed=3";
  const char* paged = "attention:f32:b=2,hq=1,hkv=1,sq=4,sk=32,d=8:inputs=q,k,v,lengths,block_table";
  const Wrong all[] = {
      {packed, 3, {100, 132, 148}, "attention: cu_q[0] is 100; it must be from 0 to 17, the rows of q"},
      {packed, 3, {0, 9, 5}, "attention: cu_q[2] is 5; it must be at least cu_q[1], 9"},
      {paged, 3, {32, 33}, "attention: lengths[1] is 33; it must be from 0 to 32, the keys of a row of block_table"},
      {paged, 4, {0, -1, 0, 0}, "attention: block_table[0, 1] is -1; it must be from 0 to 4, the pages of k"},
      {"embedding:f32:rows=5,cols=8,n=3",
       1,
       {0, 4, 5},
       "embedding: indices[2] is 5; it must be from 0 to 4, the rows of table"},
      {"embedding:f32:rows=5,cols=8,b=2,n=2,wide=1",
       1,
       {0, 4, -0x1p63, 5},
       "embedding: indices[1, 0] is -9223372036854775808; it must be from 0 to 4, the rows of table"},
      {"grouped_gemm:f32:m=6,n=4,k=4,groups=3",
       2,
       {0, 4, 2, 6},
       "grouped_gemm: offsets[2] is 2; it must be at least offsets[1], 4"},
  };
  for (const Wrong& wrong : all) {
    const Case c = *Case::parse(wrong.text);
    if (!find_op(c.op)) continue;
    const CaseBook& book = **find_case_book(c.op);
    auto inputs = *fill_inputs(book, c);
    EXPECT_EQ(inputs[wrong.input].values.size(), wrong.numbers.size());
    inputs[wrong.input].values = wrong.numbers;
    const Trial trial(book, c, inputs);
    EXPECT_EQ(std::string(trial.run(trial.options("1")).message()), wrong.sentence);
  }
}

}  // namespace
}  // namespace ridge::check
