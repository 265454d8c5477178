// Benchmarks of an operator with a known error, beside peers with known errors.
#include <ridge/bench/bench.hpp>
#include <ridge/bench/sweep.hpp>
#include <ridge/check/case_book.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace ridge::bench {
namespace {

// `off`: y = x + 2^-10, where x is whole; `off_unknown` is the same without `elements` in its case book.
constexpr float off_by = 0x1p-10f;

struct OffPlan {
  Explanation explanation;
  const Explanation& explain() const { return explanation; }
  std::size_t workspace_bytes() const { return 0; }
};

void add(const TensorView& x, const TensorView& y, float addend) {
  for (std::int64_t i = 0; i < x.count(); ++i)
    static_cast<float*>(y.data)[i] = static_cast<const float*>(x.data)[i] + addend;
}

Result<std::unique_ptr<OpPlan>> plan(Views in, Views, const Options&, const DeviceInfo& device) {
  OffPlan made{{.op = "off",
                .problem = in[0].layout.text(),
                .device = device.id_text(),
                .variant = "only",
                .cost = {},
                .bound = "latency",
                .predicted_us = 1,
                .candidates = {}}};
  return make_op_plan(std::move(made), [](const OffPlan&, Views x, Views y, Workspace, Stream) {
    add(x[0], y[0], off_by);
    return Status{};
  });
}

OpInfo op_of(std::string_view name) {
  return {.name = name,
          .family = "off",
          .summary = "y = x + 2^-10",
          .inputs = {"x"},
          .outputs = {"y"},
          .dtypes = {f32},
          .options = {},
          .variants = {{"only", "off on purpose"}},
          .infer = [](Views in, const Options&) -> Result<std::vector<TensorType>> {
            return std::vector<TensorType>{{in[0].dtype, {in[0].count()}}};
          },
          .plan = plan};
}

check::CaseBook book_of(std::string op) {
  return {
      .op = std::move(op),
      .keys = {"n"},
      .optional_keys = {},
      .inputs = [](const check::Case& c) -> Result<std::vector<TensorType>> {
        return std::vector<TensorType>{{c.dtype, {c.dim("n")}}};
      },
      .oracle = [](const check::Case&, const std::vector<check::HostTensor>& in) -> std::vector<check::Expected> {
        return {{in[0].values, std::vector<double>(in[0].values.size(), 0.0)}};
      },
      .elements =
          [](const check::Case&, const std::vector<check::HostTensor>& in, const std::vector<std::int64_t>& offsets) {
            check::Expected e;
            for (std::int64_t offset : offsets) e.value.push_back(in[0].at(offset));
            return e;
          },
      .adjust = nullptr,
      .tests = {},
      .benches = {}};
}

check::CaseBook without_elements(check::CaseBook book) {
  book.elements = nullptr;
  return book;
}

// A peer with the error `addend`; NaN: it writes nothing.
Peer peer(std::string op, std::string name, float addend) {
  return {std::move(op), std::move(name),
          [addend](const check::Case&, Views in, Views out) -> Result<std::function<Status(Stream)>> {
            return std::function<Status(Stream)>([=, x = in[0], y = out[0]](Stream) {
              if (!std::isnan(addend)) add(x, y, addend);
              return Status{};
            });
          },
          false, true};
}

const RegisterOp operators[] = {RegisterOp(op_of("off")), RegisterOp(op_of("off_unknown"))};
const check::RegisterCases books[] = {check::RegisterCases(book_of("off")),
                                      check::RegisterCases(without_elements(book_of("off_unknown")))};
const RegisterPeer registered[] = {RegisterPeer(peer("off", "as far", -off_by)),
                                   RegisterPeer(peer("off", "farther", 4 * off_by)),
                                   RegisterPeer(peer("off", "exact", 0)), RegisterPeer(peer("off", "nothing", NAN)),
                                   RegisterPeer(peer("off_unknown", "exact", 0))};

Measurement measured(const char* text, bool peers = true) {
  const auto all = measure(*check::Case::parse(text), cpu(), {.peers = peers, .repeats = 1});
  EXPECT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].error, "");
  return all[0];
}

// Samples all of few elements and some of many.
TEST(Accuracy, OfOursAndOfPeers) {
  for (const auto& [text, elements] : {std::pair{"off:f32:n=5:fill=ints", 5}, {"off:f32:n=100000:fill=ints", 1024}}) {
    const Measurement m = measured(text);
    ASSERT_TRUE(m.accuracy) << text;
    EXPECT_EQ(m.accuracy->elements, elements) << text;
    EXPECT_EQ(m.accuracy->rms_error, off_by) << text;
    EXPECT_EQ(m.accuracy->largest_error, off_by) << text;
    ASSERT_EQ(m.peers.size(), 4u);
    const double errors[] = {off_by, 4 * off_by, 0, HUGE_VAL}, ratios[] = {1, 0.25, HUGE_VAL, 0};
    for (std::size_t i = 0; i < m.peers.size(); ++i) {
      ASSERT_TRUE(m.peers[i].accuracy) << m.peers[i].name;
      EXPECT_EQ(m.peers[i].accuracy->rms_error, errors[i]) << text << " " << m.peers[i].name;
      EXPECT_EQ(m.peers[i].accuracy->largest_error, errors[i]) << text << " " << m.peers[i].name;
      EXPECT_EQ(error_ratio(m.accuracy->rms_error, m.peers[i].accuracy->rms_error), ratios[i]) << m.peers[i].name;
    }
  }
}

TEST(Accuracy, IsThatOfTheLargestErrorToo) {  // one element of five is far off
  const check::CaseBook book = book_of("off");
  const check::Case c = *check::Case::parse("off:f32:n=5");
  const std::vector<float> y{1, 2, 3, 4, 8};
  const TensorView view{const_cast<float*>(y.data()), f32, Layout::contiguous({5}), {}};
  const auto sample = Sample::make(book, c, {{{f32, {5}}, {1, 2}}}, view);  // 1 2 1 2 1
  ASSERT_TRUE(sample);
  const auto accuracy = sample->accuracy_of(view);
  ASSERT_TRUE(accuracy.ok());
  EXPECT_EQ(accuracy->largest_error, 7);
  EXPECT_DOUBLE_EQ(accuracy->rms_error, std::sqrt((4 + 4 + 49) / 5.0));
}

TEST(Accuracy, IsLeftOutWhereNothingGivesIt) {
  EXPECT_FALSE(measured("off:f32:n=5", false).accuracy);
  const Measurement unknown = measured("off_unknown:f32:n=5");
  EXPECT_FALSE(unknown.accuracy);
  ASSERT_EQ(unknown.peers.size(), 1u);
  EXPECT_FALSE(unknown.peers[0].accuracy);
  EXPECT_FALSE(measured("off:f32:n=0").accuracy);
}

TEST(Accuracy, OfEqualErrorsTheRatioIsOne) {
  EXPECT_EQ(error_ratio(0, 0), 1);
  EXPECT_EQ(error_ratio(HUGE_VAL, HUGE_VAL), 1);
  EXPECT_EQ(error_ratio(1, 2), 0.5);
}

// Tensors are placed as the case says, and a peer without strides is not measured on strided ones.
TEST(Measure, PlacesTensors) {
  const Measurement offset = measured("off:f32:n=5:fill=ints:place=offset");
  EXPECT_EQ(offset.peers.size(), 4u);
  ASSERT_TRUE(offset.accuracy);
  EXPECT_EQ(offset.accuracy->largest_error, off_by);
  const Measurement strided = measured("off:f32:n=5:fill=ints:place=strided");
  EXPECT_TRUE(strided.peers.empty());
  EXPECT_FALSE(strided.accuracy);
  EXPECT_FALSE(measured("off:f32:n=5:fill=ints:place=inplace").accuracy);
  const auto nowhere = measure(*check::Case::parse("off:f32:n=5:place=moon"), cpu(), {});
  EXPECT_NE(nowhere[0].error.find("'moon'"), std::string::npos);
}

// ---- sweeps ---------------------------------------------------------------------------------------------------------

Measurement of(const char* text, double us, double predicted_us, std::vector<double> peers) {
  Measurement m;
  m.case_text = text;
  m.time.us = us;
  m.predicted_us = predicted_us;
  for (double peer_us : peers) m.peers.push_back({std::to_string(peer_us), {peer_us, 0}, {}});
  return m;
}

TEST(Sweep, IsSummedUp) {
  Measurement failed = of("failed", 0, 0, {});
  failed.error = "no memory";
  const std::vector<Measurement> all{of("even", 10, 9, {12, 10}), failed, of("slow", 40, 40, {10, 50}),
                                     of("fast", 10, 1, {40}), of("alone", 10, 50, {})};
  const Sweep s = summarise(all, 2);
  EXPECT_EQ(s.measured, 4u);
  ASSERT_EQ(s.failed.size(), 1u);
  EXPECT_EQ(s.failed[0]->error, "no memory");
  ASSERT_EQ(s.alone.size(), 1u);
  EXPECT_EQ(s.alone[0]->case_text, "alone");
  EXPECT_NEAR(s.geomean, 1, 1e-12);  // mean of 1, 1/4 and 4
  EXPECT_EQ(s.p5, 0.25);
  ASSERT_EQ(s.worst.size(), 2u);
  EXPECT_EQ(s.worst[0]->case_text, "slow");
  EXPECT_EQ(s.worst[1]->case_text, "even");
  EXPECT_EQ(best_peer(*s.worst[0])->time.us, 10);
  ASSERT_EQ(s.furthest.size(), 2u);
  EXPECT_EQ(s.furthest[0]->case_text, "fast");   // ten times longer than predicted
  EXPECT_EQ(s.furthest[1]->case_text, "alone");  // a fifth of it
  EXPECT_EQ(times_off(all[4]), 5);
}

TEST(Sweep, OfTwentyTheWorstIsTheFifthPercentile) {
  std::vector<Measurement> all;
  for (int i = 1; i <= 21; ++i) all.push_back(of("x", 1, 1, {static_cast<double>(i)}));
  EXPECT_EQ(summarise(std::span(all).first(20)).p5, 1);
  EXPECT_EQ(summarise(all).p5, 2);
  EXPECT_EQ(summarise(all).worst.size(), 20u);
  EXPECT_EQ(summarise({}).geomean, 0);
}

}  // namespace
}  // namespace ridge::bench
