// Sweeps: the stream that problems are drawn from, and many problems of each operator that has a distribution.
#include <ridge/check/draw.hpp>
#include <ridge/check/harness.hpp>
#include <ridge/check/placement.hpp>
#include <ridge/core/device.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cstdio>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace ridge::check {

void PrintTo(const CaseBook* book, std::ostream* out) { *out << book->op; }

namespace {

// Expected values from a Python program that implements the algorithm as published.
TEST(Draw, IsTheSameEverywhere) {
  Draw d(1234567);
  EXPECT_EQ(d.bits(), 9709514789577493705u);
  EXPECT_EQ(d.bits(), 13013878896559074743u);
  EXPECT_EQ(Draw(1234567, 1).bits(), 8191798161129120596u);
}

TEST(Draw, EachValueOfARangeIsAsLikely) {
  Draw d(1);
  std::vector<int> times(7);
  for (int i = 0; i < 7000; ++i) ++times[static_cast<std::size_t>(d.below(7))];
  for (int count : times) EXPECT_NEAR(count, 1000, 120);
}

TEST(Draw, LogUniformFillsOctavesEvenly) {
  Draw d(2);
  std::vector<int> octaves(14);
  for (int i = 0; i < 10000; ++i) {
    const std::int64_t x = d.log_uniform(16, 16383);
    ASSERT_TRUE(x >= 16 && x <= 16383);
    ++octaves[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(x)) - 1)];
  }
  for (std::size_t octave = 4; octave < 14; ++octave) EXPECT_NEAR(octaves[octave], 1000, 130) << octave;
  EXPECT_EQ(d.log_uniform(5, 5), 5);
}

TEST(Draw, SizesAreRoundedAsModelsRound) {
  Draw d(3);
  int of_64 = 0, of_8 = 0, odd = 0;
  for (int i = 0; i < 10000; ++i) {
    const std::int64_t x = d.size(512, 8192);
    ASSERT_TRUE(x >= 512 && x <= 8192);
    of_64 += x % 64 == 0;
    of_8 += x % 8 == 0;
    odd += x % 2;
  }
  EXPECT_GT(of_64, 7200);
  EXPECT_GT(of_8, 8800);
  EXPECT_GT(odd, 500);
}

TEST(Draw, ShrinkingKeepsRemainders) {
  Draw d(4);
  std::int64_t m = 4097, n = 8200, k = 64, heads = 12;
  d.shrink({&m, &n, &k}, 64, [&] { return m * n * k <= 200000; });
  EXPECT_LE(m * n * k, 200000);
  EXPECT_EQ(m % 64, 1);
  EXPECT_EQ(n % 64, 8);
  EXPECT_EQ(k, 64);
  d.shrink({&heads}, 1, [&] { return heads <= 2; });
  EXPECT_LE(heads, 2);
  d.shrink({&m, &n, &k, &heads}, 64, [] { return false; });  // ends
  EXPECT_EQ(k, 64);
}

// ---- each operator --------------------------------------------------------------------------------------------------

std::vector<const CaseBook*> drawn_books() {
  std::vector<const CaseBook*> books;
  for (const CaseBook* book : case_books())
    if (book->draw) books.push_back(book);
  return books;
}

class Sweep : public testing::TestWithParam<const CaseBook*> {
 protected:
  Case drawn(std::uint64_t problem, Room room, std::uint64_t seed = 1) const {
    Draw draw(seed, problem, room);
    auto c = drawn_case(*GetParam(), draw);
    EXPECT_TRUE(c.ok()) << c.error().message();
    return c ? *c : Case{};
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Sweep);

TEST_P(Sweep, ASeedHasItsProblems) {
  std::set<std::string> different;
  for (std::uint64_t problem = 0; problem < 100; ++problem) {
    const std::string text = drawn(problem, room_of_gpu).text();
    EXPECT_EQ(drawn(problem, room_of_gpu).text(), text);
    EXPECT_EQ(Case::parse(text)->text(), text);
    different.insert(text);
  }
  EXPECT_GT(different.size(), 90u);
  EXPECT_NE(drawn(0, room_of_gpu, 1).text(), drawn(0, room_of_gpu, 2).text());
}

// An operator accepts every problem of its own distribution, on every device.
TEST_P(Sweep, EveryProblemIsPlanned) {
  const OpInfo& op = **find_op(GetParam()->op);
  std::vector<DeviceInfo> devices{cpu()};
  for (const char* model : {"h200", "h100", "a100"}) devices.push_back(*device_model(model));
  for (const Room room : {room_of_gpu, room_of_cpu})
    for (std::uint64_t problem = 0; problem < (room.bytes > 1e9 ? 300u : 100u); ++problem) {
      const Case c = drawn(problem, room);
      const auto types = case_inputs(*GetParam(), c);
      ASSERT_TRUE(types.ok()) << c.text() << ": " << types.error().message();
      double bytes = 0;
      for (const TensorType& type : *types)
        bytes += static_cast<double>(Layout::contiguous(type.shape).count()) * static_cast<double>(size_of(type.dtype));
      EXPECT_LE(bytes, 2 * room.bytes) << c.text();
      const Place place = *place_of(c);
      for (const DeviceInfo& device : devices) {
        std::uintptr_t at = std::uintptr_t{1} << 40;
        const auto in = views_to_plan(*types, place, device.id, at);
        const auto out_types = infer_op(op, in, c.operator_options());
        ASSERT_TRUE(out_types.ok()) << c.text() << ": " << out_types.error().message();
        auto out = views_to_plan(*out_types, place_of_outputs(place), device.id, at);
        if (place == Place::inplace) out[0] = in[0];
        const auto plan = plan_op(op, in, out, c.operator_options(), device);
        ASSERT_TRUE(plan.ok()) << c.text() << " on " << device.name << ": " << plan.error().message();
        const Explanation e = (*plan)->explain();
        EXPECT_GT(e.predicted_us, 0) << c.text() << " on " << device.name;
        EXPECT_GE(e.predicted_us, 0.5 * e.least_us) << c.text() << " on " << device.name << " by " << e.variant;
      }
    }
}

TEST_P(Sweep, ProblemsAreRight) {
  for (std::uint64_t problem = 0; problem < 12; ++problem)
    for (const Outcome& outcome : run_case(drawn(problem, room_of_cpu), cpu(), false))
      EXPECT_EQ(outcome.kind, Outcome::passed) << outcome.case_text << ": " << outcome.why;
}

using SweepOnGpu = Sweep;
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SweepOnGpu);

// Runs every row that fits, on problems that fill a few tiles each.
TEST_P(SweepOnGpu, ProblemsAreRight) {
  const auto gpu = device(0);
  if (!gpu) {
    std::puts("skipped: no GPU on this machine");  // CTest looks for this text
    GTEST_SKIP() << "no GPU";
  }
  constexpr Room room{8e6, 1e8, 1};
  for (std::uint64_t problem = 0; problem < 40; ++problem)
    for (const Outcome& outcome : run_case(drawn(problem, room), *gpu, true))
      EXPECT_NE(outcome.kind, Outcome::failed) << outcome.case_text << ": " << outcome.why;
}

const auto name_of = [](const auto& instance) { return instance.param->op; };
INSTANTIATE_TEST_SUITE_P(Of, Sweep, testing::ValuesIn(drawn_books()), name_of);
INSTANTIATE_TEST_SUITE_P(Of, SweepOnGpu, testing::ValuesIn(drawn_books()), name_of);

}  // namespace
}  // namespace ridge::check
