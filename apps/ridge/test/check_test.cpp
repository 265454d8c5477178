// ridge check and fuzz.
#include "cli.hpp"

namespace ridge {
namespace {

TEST_F(Cli, CheckOfACase) {
  const auto done = ridge_program(
      {"check", "relu:f32:n=7", "softmax:f32:rows=2,cols=9:fill=overflow", "--device", "cpu", "--variant", "all"});
  expect_done(done);
  EXPECT_TRUE(contains(done.out, "softmax")) << done.out;
  const auto report = json::parse(ridge_program({"check", "relu:f32:n=7", "--device", "cpu", "--json"}).out);
  EXPECT_EQ(report["failed"], 0);
  EXPECT_EQ(report["outcomes"].size(), 1u);
  EXPECT_EQ(report["outcomes"][0]["outcome"], "passed");
}

TEST_F(Cli, AFailedCheckExitsWith1AndACaseToPaste) {
  const auto failed = faulty_program({"check", "faulty", "--device", "cpu"});
  EXPECT_EQ(failed.code, 1) << failed.err;
  EXPECT_EQ(failed.err, "");
  EXPECT_TRUE(contains(failed.out, "FAILED  faulty:f32:n=5:variant=only")) << failed.out;
  EXPECT_FALSE(contains(failed.out, "FAILED  faulty:f32:n=0"));
  EXPECT_EQ(faulty_program({"check", "faulty:f32:n=5:variant=only", "--device", "cpu"}).code, 1);
  EXPECT_EQ(faulty_program({"check", "faulty:f32:n=0", "--device", "cpu"}).code, 0);
  const auto report = faulty_program({"check", "faulty", "--device", "cpu", "--json"});
  EXPECT_EQ(report.code, 1);
  EXPECT_EQ(json::parse(report.out)["failed"], 1);
}

TEST_F(Cli, FuzzFindsAFaultAndMakesItSimple) {
  const auto failed = faulty_program({"fuzz", "faulty", "--cases", "20"});
  EXPECT_EQ(failed.code, 1) << failed.err;
  const auto lines = lines_of(failed.out);
  ASSERT_GE(lines.size(), 3u) << failed.out;
  EXPECT_TRUE(contains(lines[0], "wrong     faulty:f32:n=1:")) << failed.out;
  EXPECT_TRUE(contains(lines[1], "y: 1 of 1 elements are wrong")) << failed.out;
  const std::string found = lines[0].substr(10);
  EXPECT_EQ(faulty_program({"check", found, "--device", "cpu"}).code, 1) << found;
  expect_done(ridge_program({"fuzz", "relu", "--cases", "20", "--seed", "3"}));
  const auto listed = lines_of(ridge_program({"fuzz", "relu", "add", "--cases", "6", "--list"}).out);
  ASSERT_EQ(listed.size(), 6u);
  EXPECT_EQ(lines_of(ridge_program({"fuzz", "relu", "add", "--first", "4", "--cases", "1", "--list"}).out)[0],
            listed[4]);
}

}  // namespace
}  // namespace ridge
