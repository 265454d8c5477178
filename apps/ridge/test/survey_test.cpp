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

// ---- over one size --------------------------------------------------------------------------------------------------

const std::string product = "gemm:bf16:n=2048,k=4096:layout=nt";

TEST_F(Cli, SurveySweepsASize) {
  const auto told = ridge_program({"survey", product, "--on", "h100", "--sweep", "m=1920:2304:128"});
  expect_done(told);
  EXPECT_EQ(std::ranges::count(told.out, '\n'), 1 + 1 + 4 + 1) << told.out;  // case, titles, sizes, highest step
  for (const char* part : {" on H100, over m\n", "last wave", "\n  2048  ", "\n  2304  ", "the highest step: m from "})
    EXPECT_TRUE(contains(told.out, part)) << part << "\n" << told.out;
  // A size that the case gives is replaced.
  const auto given =
      ridge_program({"survey", "gemm:bf16:m=1,n=2048,k=4096:layout=nt", "--on", "h100", "--sweep", "m=1920:2304:128"});
  expect_done(given);
  EXPECT_EQ(std::ranges::count(given.out, '\n'), 7) << given.out;
}

// The sweep says of each size what explain says.
TEST_F(Cli, SurveySweepsAsExplainExplains) {
  const auto sweep =
      json::parse(ridge_program({"survey", product, "--on", "h200", "--sweep", "m=2048:2176:128", "--json"}).out);
  EXPECT_EQ(sweep["device"], "H200");
  EXPECT_EQ(sweep["sweep"]["size"], "m");
  ASSERT_EQ(sweep["stairs"].size(), 2u);
  for (const auto& stair : sweep["stairs"]) {
    const auto e =
        json::parse(ridge_program({"explain", stair["case"].get<std::string>(), "--on", "h200", "--json"}).out);
    for (const char* key : {"variant", "predicted_us", "least_us"}) EXPECT_EQ(stair[key], e[key]) << key;
    for (const char* key : {"blocks", "waves", "tail_share", "tile_efficiency"})
      EXPECT_EQ(stair[key], e["analysis"][key]) << key;
    EXPECT_DOUBLE_EQ(stair["roof_share"], e["least_us"].get<double>() / e["predicted_us"].get<double>());
  }
}

TEST_F(Cli, SurveySweepsPastSizesThatNoVariantTakes) {
  const auto told = json::parse(ridge_program({"survey", "attention:f32:b=1,hkv=3,sq=16,sk=16,d=8", "--on", "h200",
                                               "--sweep", "hq=3:4", "--json"})
                                    .out);
  ASSERT_EQ(told["stairs"].size(), 2u);
  EXPECT_FALSE(told["stairs"][0].contains("refusal"));
  EXPECT_NE(told["stairs"][1]["refusal"], "");
}

TEST_F(Cli, SurveyDrawsTheSweep) {
  const std::string drawing = folder / "stairs.svg";
  expect_done(ridge_program({"survey", product, "--on", "h200", "--sweep", "m=1024:3072:512", "--plot", drawing}));
  const std::string svg = file_bytes(drawing);
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  for (const char* part :
       {"on H200, predicted", ">m</text>", ">us</text>", "the least time", "1536: ", " waves, the last "})
    EXPECT_TRUE(contains(svg, part)) << part;
  const auto piped =
      ridge_program({"survey", product, "--on", "h200", "--sweep", "m=1024:3072:512", "--plot", "/dev/stdout"});
  EXPECT_EQ(piped.code, 0);
  EXPECT_TRUE(piped.out.starts_with("<svg ")) << piped.out;
  EXPECT_TRUE(contains(piped.err, "the highest step")) << piped.err;
}

TEST_F(Cli, SurveyRefusesWhatIsNoSweep) {
  const auto refused = [](const char* range, std::string_view part) {
    expect_refused(ridge_program({"survey", product, "--on", "h200", "--sweep", range}), part);
  };
  for (const char* range : {"m", "m=", "=1:2", "m=1", "m=2:1", "m=1:2:0", "m=1:2:", "m=1:2:3:4", "m=a:2", "m=-1:2"})
    refused(range, "it must be SIZE=FROM:TO");
  refused("m=0:10000", "of at most 10000 sizes");
  expect_refused(ridge_program({"survey", "gemm:bf16:m=1,n=2,k=4", "--on", "h200", "--sweep", "rows=1:2"}), "'rows'");
  for (const char* place : {"gemm:bf16:m=1,n={1,2},k=4", "nowhere.txt"})
    expect_refused(ridge_program({"survey", place, "--on", "h200", "--sweep", "k=1:2"}), "given with one");
  expect_refused(ridge_program({"survey", product, "--on", "h200", "--json"}), "--sweep");
  expect_refused(ridge_program({"survey", product, "--on", "h200", "--sweep", "m=1:2", "--worst", "3"}), "excludes");
}

}  // namespace
}  // namespace ridge
