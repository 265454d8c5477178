// Runs a case of the book with one of Hopper's rows of the forward pass on the CPU runtime: launches it as on a GPU,
// and checks it with the book's tolerances. For tests.
#pragma once
#include <ridge/attention/cases.hpp>
#include <ridge/attention/launch.hpp>
#include <ridge/check/harness.hpp>
#include <ridge/check/hostile.hpp>

#include <gtest/gtest.h>

#include <cstring>

namespace ridge::attention_detail {

// Bytes aligned to 256, like a device's allocations, with a canary line behind them.
class Bytes {
 public:
  static constexpr std::size_t canary = 128;
  explicit Bytes(std::size_t size, int fill) : size_(size), data_(size + canary + 256, std::byte(fill)) {
    std::memset(get() + size, 0x77, canary);
  }
  std::byte* get() { return data_.data() + (256 - reinterpret_cast<std::uintptr_t>(data_.data()) % 256) % 256; }
  bool intact() {
    for (std::size_t i = 0; i < canary; ++i)
      if (get()[size_ + i] != std::byte(0x77)) return false;
    return true;
  }

 private:
  std::size_t size_;
  std::vector<std::byte> data_;
};

// launch: of a Call, for the row's family. splits: of the keys; 0: as planned. hostile: replaces input number
// `spoiled`; then any result is accepted if no other memory is written.
template <class Launch>
void check_on_hopper(const std::string& variant, const std::string& text, Launch launch, int splits = 0,
                     std::size_t spoiled = 0, const check::Hostile* hostile = nullptr) {
  SCOPED_TRACE(text + ", splits " + std::to_string(splits));
  const auto parsed = check::Case::parse("attention:" + text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  const check::Case& c = *parsed;
  const auto book = check::find_case_book("attention");
  ASSERT_TRUE(book.ok());
  auto inputs = check::fill_inputs(**book, c);
  ASSERT_TRUE(inputs.ok()) << inputs.error().message();
  auto expected = (*book)->oracle(c, *inputs);
  (*book)->tolerances(c, *inputs, variant, expected);
  if (hostile) (*inputs)[spoiled].values = hostile->values;

  const Options options = c.operator_options();
  const auto op = find_op("attention");
  ASSERT_TRUE(op.ok());
  const auto names = input_names(**op, options, inputs->size());
  ASSERT_TRUE(names.ok()) << names.error().message();
  const Request request = *request_of(options);
  const bool paged = std::find(names->begin(), names->end(), "block_table") != names->end();

  std::vector<Bytes> data;
  data.reserve(inputs->size() + 2);
  std::vector<TensorView> in, out;
  for (const auto& tensor : *inputs) {
    const auto bytes = check::encode(tensor.type.dtype, tensor.values);
    data.emplace_back(bytes.size(), 0);
    std::copy(bytes.begin(), bytes.end(), data.back().get());
    in.push_back({data.back().get(), tensor.type.dtype, Layout::contiguous(tensor.type.shape), ridge::cpu().id});
  }
  const auto types = (*op)->infer(in, options);
  ASSERT_TRUE(types.ok()) << types.error().message();
  for (const TensorType& type : *types) {
    std::int64_t count = 1;
    for (std::int64_t size : type.shape) count *= size;
    data.emplace_back(static_cast<std::size_t>(count * size_of(type.dtype)), 0xff);  // poison: NaN
    out.push_back({data.back().get(), type.dtype, Layout::contiguous(type.shape), ridge::cpu().id});
  }
  const auto as_bhsd = [&](const TensorView& v, bool of_pages) {
    return request.rows_first && v.rank() == 4 && !of_pages ? heads_first(v) : v;
  };
  const auto given = [&](std::string_view name) {
    const TensorView* found = find_view(in, *names, name);
    return found ? std::optional(*found) : std::nullopt;
  };
  AttentionTensors t{.q = as_bhsd(in[0], false),
                     .k = as_bhsd(in[1], paged),
                     .v = as_bhsd(in[2], paged),
                     .o = as_bhsd(out[0], false),
                     .cu_q = given("cu_q"),
                     .cu_k = given("cu_k"),
                     .lengths = given("lengths"),
                     .block_table = given("block_table"),
                     .max_q = request.max_q,
                     .max_k = request.max_k};
  if (out.size() == 2) t.lse = out[1];

  const auto problem = AttentionProblem::of(t, request.rule);
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  auto plan = plan_attention(*problem, *device_model("H200"), {.variant = variant});
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  if (splits > 0) plan->splits = splits;
  Bytes workspace(plan->workspace_bytes(), 0xff);
  const Call call{*plan, *problem, t, {workspace.get(), plan->workspace_bytes()}, {}};
  std::vector<std::byte> before;
  for (int run = 0; run < 2; ++run) {
    const Status status = launch(call);
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<std::byte> now;
    for (std::size_t i = 0; i < out.size(); ++i) {
      Bytes& bytes = data[in.size() + i];
      now.insert(now.end(), bytes.get(), bytes.get() + expected[i].value.size() * size_of(out[i].dtype));
    }
    if (run == 1 && !hostile) {
      EXPECT_TRUE(now == before) << "another result from run to run";
    }
    before = std::move(now);
  }
  EXPECT_TRUE(workspace.intact());
  for (Bytes& bytes : data) EXPECT_TRUE(bytes.intact());
  if (hostile) return;
  const char* outputs[] = {"o", "lse"};
  for (std::size_t i = 0; i < out.size(); ++i) {
    Bytes& bytes = data[in.size() + i];
    EXPECT_TRUE(bytes.intact()) << outputs[i];
    const auto got = check::decode(out[i].dtype, bytes.get(), static_cast<std::int64_t>(expected[i].value.size()));
    for (std::size_t n = 0; n < got.size(); ++n) {
      const double want = expected[i].value[n], tolerance = expected[i].tolerance[n];
      const bool right = std::isnan(want)   ? std::isnan(got[n])
                         : std::isinf(want) ? got[n] == want
                                            : std::fabs(got[n] - want) <= tolerance;
      ASSERT_TRUE(right) << outputs[i] << " " << n << ": " << got[n] << ", not " << want << " within " << tolerance;
    }
  }
}

// run(input number, contents): invalid numbers in each of a case's inputs that describe sequences.
template <class Run> void for_each_hostile(const std::string& text, Run run) {
  if (!check::may_share_places) GTEST_SKIP() << "what wrong numbers have written twice is a race";
  const auto inputs =
      check::fill_inputs(**check::find_case_book("attention"), *check::Case::parse("attention:" + text));
  ASSERT_TRUE(inputs.ok()) << inputs.error().message();
  bool any = false;
  for (std::size_t i = 0; i < inputs->size(); ++i) {
    if (!check::is_of_places((*inputs)[i].type.dtype)) continue;
    any = true;
    for (const check::Hostile& hostile : check::hostile_numbers((*inputs)[i])) {
      SCOPED_TRACE("input " + std::to_string(i) + ": " + hostile.name);
      run(i, &hostile);
    }
  }
  EXPECT_TRUE(any);
}
template <class Launch>
void check_untrusted_on_hopper(const std::string& variant, const std::string& text, Launch launch, int splits = 0) {
  for_each_hostile(text, [&](std::size_t input, const check::Hostile* hostile) {
    check_on_hopper(variant, text, launch, splits, input, hostile);
  });
}

}  // namespace ridge::attention_detail
