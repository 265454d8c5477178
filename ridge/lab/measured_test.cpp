// Measured times beside predicted ones, from a run's report and the lines that a timed program writes.
#include <ridge/lab/measured.hpp>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace ridge::lab {
namespace {

using Json = nlohmann::ordered_json;

Json launch(int line, const std::string& kernel, int blocks) {
  return {{"file", "/a/b.cu"},      {"line", line},         {"kernel", kernel},
          {"grid", {blocks, 1, 1}}, {"block", {256, 1, 1}}, {"dynamic_shared_bytes", 0}};
}
Json predicted(Json of, double us, const char* bound) {
  of["prediction"] = {{"us", us}, {"bound", bound}};
  return of;
}
std::string timed(Json of, double us) {
  of["us"] = us;
  return of.dump() + "\n";
}

const Json a = launch(3, "a<float>", 64), b = launch(4, "b", 64), c = launch(5, "c", 64), d = launch(6, "d", 1);
const Json run = {{"launches", {predicted(a, 12, "DRAM"), predicted(b, 5, "latency"), c, predicted(d, 2, "L2 cache")}}};

TEST(LabMeasured, ALaunchIsKnownByLineKernelAndShape) {
  Json other_shape = a, other_block = a, other_shared = a;
  other_shape["grid"] = {65, 1, 1};
  other_block["block"] = {16, 16, 1};
  other_shared["dynamic_shared_bytes"] = 64;
  const auto all =
      compare(run, timed(b, 4) + timed(other_shape, 1) + timed(a, 10) + timed(other_block, 2) + timed(other_shared, 3));
  ASSERT_EQ(all.size(), 7u);  // the report's, each in its place, then the others
  EXPECT_EQ(all[0].us, std::vector{10.0});
  EXPECT_EQ(all[1].us, std::vector{4.0});
  EXPECT_TRUE(all[2].us.empty() && all[3].us.empty());
  EXPECT_EQ(all[4].us, std::vector{1.0});
  EXPECT_EQ(all[4].grid[0], 65);
  EXPECT_FALSE(all[4].predicted_us || all[4].ratio());
}

TEST(LabMeasured, TheFirstCountsWhereItIsTheOnlyOne) {
  const auto all = compare(run, timed(a, 90) + timed(a, 10) + timed(b, 4) + timed(a, 14) + timed(a, 11));
  EXPECT_EQ(all[0].measured_us(), 11);
  EXPECT_FALSE(all[0].is_first_alone());
  EXPECT_EQ(all[1].measured_us(), 4);
  EXPECT_TRUE(all[1].is_first_alone());
  EXPECT_FALSE(all[2].measured_us() || all[2].is_first_alone());
  EXPECT_EQ(compare(run, timed(a, 9) + timed(a, 10) + timed(a, 20))[0].measured_us(), 15);
}

TEST(LabMeasured, RecordsOfOneShapeHaveLaunchesOfTheirOwn) {
  Json ones = predicted(a, 12, "DRAM"), others = predicted(a, 30, "DRAM");
  ones["numbers"] = {0, 2};
  others["numbers"] = {1, 3, 4};
  others["given"] = "argument 3 = 8";
  std::string times;
  for (int number = 0; number < 5; ++number) {
    Json one = a;
    one["number"] = number;
    times += timed(std::move(one), 10 + number);
  }
  const auto all = compare({{"launches", {ones, others}}}, times);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].us, (std::vector{10.0, 12.0}));
  EXPECT_EQ(all[1].us, (std::vector{11.0, 13.0, 14.0}));
  EXPECT_EQ(all[1].given, "argument 3 = 8");
}

TEST(LabMeasured, TheMedianErrorIsOfThoseThatHaveBoth) {
  // 1.2, 0.5 and 4 of what was measured; c is not predicted.
  const auto all = compare(run, timed(a, 10) + timed(b, 10) + timed(c, 10) + timed(d, 0.5));
  EXPECT_DOUBLE_EQ(all[0].ratio().value(), 1.2);
  const Errors errors = errors_of(all);
  EXPECT_EQ(errors.all.of, 3);
  EXPECT_DOUBLE_EQ(errors.all.median.value(), 0.5);
  EXPECT_EQ(errors.memory_bound.of, 2);
  EXPECT_DOUBLE_EQ(errors.memory_bound.median.value(), (0.2 + 3) / 2);
  EXPECT_FALSE(errors_of(compare(run, "")).all.median);
}

TEST(LabMeasured, WithoutAReportWhatWasMeasuredIsThere) {
  const auto all = compare(nullptr, timed(a, 10) + timed(a, 12));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kernel, "a<float>");
  EXPECT_EQ(all[0].measured_us(), 12);
}

TEST(LabMeasured, LinesThatAreNoneArePassedOver) {
  const std::string whole = timed(a, 10);
  const auto all = compare(run, "hello\n\n{}\n[1]\n" + whole +
                                    R"({"file": 3})"
                                    "\n" +
                                    whole.substr(0, whole.size() / 2));
  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].us, std::vector{10.0});
}

}  // namespace
}  // namespace ridge::lab
