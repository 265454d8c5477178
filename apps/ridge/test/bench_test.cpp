// ridge bench.
#include "cli.hpp"

namespace ridge {
namespace {

// What --all-variants says of its choices, of which the times decide.
TEST_F(Cli, BenchOfAllVariantsSaysWhichChoicesWereBeaten) {
  const std::string results = folder / "r.json";
  const auto told = ridge_program(
      {"bench", "relu:f32:n=4096", "--device", "cpu", "--repeats", "1", "--all-variants", "--json", results});
  expect_done(told);
  const auto report = json::parse(file_bytes(results));
  double chosen = 0, fastest = 0;
  for (const auto& m : report["measurements"]) {
    if (m["chosen"]) chosen = m["us"];
    if (fastest == 0 || m["us"] < fastest) fastest = m["us"];
  }
  EXPECT_NEAR(report["choices_over_fastest"], chosen / fastest, 1e-3);
  ASSERT_TRUE(report["beaten_choices"].is_array());
  EXPECT_NE(contains(told.out, "no row was faster than the plan's choice"), !report["beaten_choices"].empty())
      << told.out;
}

TEST_F(Cli, BenchOfACase) {
  const std::string results = folder / "results.json";
  const auto done = ridge_program(
      {"bench", "relu:f32:n=4096", "--device", "cpu", "--repeats", "2", "--json", results, "--commit", "abc123"});
  expect_done(done);
  EXPECT_TRUE(contains(done.out, "relu:f32:n=4096")) << done.out;
  const auto report = json::parse(file_bytes(results));
  EXPECT_EQ(report["commit"], "abc123");
  for (const char* key : {"device", "driver", "date", "settings"}) EXPECT_TRUE(report.contains(key)) << key;
  ASSERT_EQ(report["measurements"].size(), 1u);
  EXPECT_GT(report["measurements"][0]["us"], 0);
  const auto printed = ridge_program({"bench", "relu:f32:n=4096", "--device", "cpu", "--repeats", "2", "--json"});
  EXPECT_EQ(json::parse(printed.out)["measurements"].size(), 1u);
}

// On a terminal, where a second passes: which round, and which variant of how many.
TEST_F(Cli, BenchShowsHowFarItIs) {
  if (shell("command -v script").code != 0) GTEST_SKIP() << "no program makes a terminal here";
  const auto done = shell("timeout 100 script -qec \"" + quoted_program +
                          "bench softmax:f32:rows=512,cols=8192 --device cpu --all-variants --repeats 1\" /dev/null");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(contains(done.out, "measuring, round ") && contains(done.out, ", variant ")) << done.out;
}

TEST_F(Cli, BenchBesideAPeerShowsBothErrors) {
  const auto bench = [](Arguments more) {
    Arguments all{"bench", "faulty:f32:n=4:fill=ints", "--device", "cpu", "--repeats", "1", "--peers"};
    all.insert(all.end(), more.begin(), more.end());
    return faulty_program(all);
  };
  const auto shown = bench({});
  expect_done(shown);
  EXPECT_TRUE(contains(shown.out, "x worse (0.50, 0.50)")) << shown.out;
  const auto measured = json::parse(bench({"--json"}).out)["measurements"][0];
  EXPECT_EQ(measured["accuracy"], json({{"rms_error", 0.5}, {"largest_error", 1.0}, {"elements", 4}}));
  EXPECT_EQ(measured["peers"][0]["accuracy"]["rms_error"], 1.0);
  EXPECT_EQ(measured["peers"][0]["error_ratio"], json({{"rms", 0.5}, {"largest", 0.5}}));
  const auto alone = faulty_program({"bench", "faulty:f32:n=4", "--device", "cpu", "--repeats", "1", "--json"});
  EXPECT_TRUE(json::parse(alone.out)["measurements"][0]["accuracy"].is_null());
}

TEST_F(Cli, ResultsAndDrawingsOnStandardOutputAreAlone) {
  const auto bench = shell(quoted_program + "bench relu:f32:n=64 --device cpu --repeats 1 --json /dev/stdout | cat");
  EXPECT_EQ(json::parse(bench.out)["measurements"].size(), 1u);
  const auto drawn = shell(quoted_program + "explain relu:f32:n=64 --on h200 --plot /dev/stdout | cat");
  EXPECT_TRUE(drawn.out.starts_with("<svg ") && drawn.out.ends_with("</svg>\n")) << drawn.out;
  EXPECT_TRUE(contains(drawn.err, "bound by")) << drawn.err;
}

}  // namespace
}  // namespace ridge
