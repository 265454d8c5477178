// ridge survey and plans.
#include "cli.hpp"

#include <algorithm>

namespace ridge {
namespace {

// The lines by which two builds are compared: a line for each row of the table, of each case on each device.
TEST_F(Cli, PlansTellsEveryRow) {
  const auto rows = json::parse(ridge_program({"ops", "softmax", "--json"}).out)["operators"][0]["variants"].size();
  const auto told = ridge_program({"plans", "softmax:f32:rows={1,64},cols=17", "--on", "h200", "--on", "a100"});
  expect_done(told);
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(told.out, '\n')), rows * 4) << told.out;
  std::size_t chosen = 0;
  for (std::size_t at = 0; (at = told.out.find(" chosen\n", at)) != std::string::npos; ++at) ++chosen;
  EXPECT_EQ(chosen, 4u) << told.out;
  EXPECT_TRUE(contains(told.out, "softmax:f32:rows=1,cols=17 | A100 | vec4 | ")) << told.out;
  EXPECT_TRUE(contains(told.out, " | no: ")) << told.out;
  expect_done(ridge_program({"plans", "checklist", "--on", "h200"}));  // a family's cases
  expect_refused(ridge_program({"plans", "softmaxx"}), "nor a file that can be read");
}

TEST_F(Cli, SurveyShowsTheFurthestFromTheRoof) {
  const std::string pattern = "softmax:{f32,bf16}:rows={1,4096},cols={17,4096,100000}";
  const auto told = ridge_program({"survey", pattern, "--on", "h200", "--worst", "3"});
  expect_done(told);
  EXPECT_TRUE(contains(told.out, "12 cases on H200")) << told.out;
  EXPECT_EQ(std::ranges::count(told.out, '\n'), 1 + 3 + 1) << told.out;  // titles, three cases, what was counted
}

TEST_F(Cli, SurveyHoldsAFileToItsTimes) {
  const std::string kind = folder.write("kind.txt", "# comment\nsum:f32:n={1000,1000000} | 50 | tested\n");
  expect_done(ridge_program({"survey", kind, "--on", "h200"}));
  const std::string strict = folder.write("strict.txt", "softmax:f32:rows=8192,cols=8192:variant=naive | 1.5\n");
  const auto failed = ridge_program({"survey", strict, "--on", "h200"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_TRUE(contains(failed.out, "1 further off than their file allows")) << failed.out;
}

TEST_F(Cli, SurveyRefusesWhatIsNoPattern) {
  expect_refused(ridge_program({"survey", "sum:f32:n={1,{2}}", "--on", "h200"}), "hold no braces");
  expect_refused(ridge_program({"survey", "sum:f32:n={1,2", "--on", "h200"}), "hold no braces");
  expect_refused(ridge_program({"survey", "nowhere.txt", "--on", "h200"}), "nor a file that can be read");
  expect_refused(ridge_program({"survey", folder.write("few.txt", "sum:f32:n=1 | few\n"), "--on", "h200"}),
                 ":1: the number of times is 'few'");
  expect_refused(ridge_program({"survey", "relax:f32:n={1,2}", "--on", "h200"}), "no operator 'relax'");
}

}  // namespace
}  // namespace ridge
