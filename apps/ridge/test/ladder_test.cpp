// ridge ladder.
#include "cli.hpp"
#include "results_files.hpp"

#include <filesystem>
#include <map>

namespace ridge {
namespace {

TEST_F(Cli, LadderRunsEveryRow) {
  const auto told = ridge_program({"ladder", "sum", "sum:f32:n=5000", "--device", "cpu", "--times", "--repeats", "1"});
  expect_done(told);
  for (const char* part : {"tree_interleaved", "privatisation", "divergence", "coalescing", "x previous", "no: "})
    EXPECT_TRUE(contains(told.out, part)) << part << "\n" << told.out;
  const auto report = json::parse(
      ridge_program({"ladder", "relu", "relu:f32:n=5000", "--device", "cpu", "--times", "--repeats", "1", "--json"})
          .out);
  const auto& rungs = report["ladders"][0]["rungs"];
  EXPECT_EQ(rungs.size(), 5u);
  EXPECT_GT(rungs[1]["speed_up"], 0);
  EXPECT_EQ(rungs[1]["item"], "coalescing");
  EXPECT_TRUE(rungs[3]["us"].is_null());  // broadcast has no second input here
  expect_done(ridge_program({"ladder", "softmax", "--device", "cpu", "--times", "--repeats", "1"}));
}

TEST_F(Cli, LadderOfAFileAsMarkdown) {
  const std::string results = folder.write("r.json", results_text("NVIDIA H200"));
  const auto told = ridge_program({"ladder", "relu", "--from", results, "--markdown"});
  expect_done(told);
  EXPECT_TRUE(contains(told.out, "| variant | what it changes | item | f32:n=268435456 |")) << told.out;
  EXPECT_TRUE(contains(told.out, "| coalescing | 502.0 us, 100 % |")) << told.out;
  expect_refused(ridge_program({"ladder", "sum", "--from", results}), "a file with cases of sum");
}

// On the CPU the ladder is one of counts, whether ridge-trace is there or the folders' own have to do.
TEST_F(Cli, LadderOnTheCpuShowsCounts) {
  const auto told = ridge_program({"ladder", "checklist_banks", "--device", "cpu"});
  expect_done(told);
  for (const char* part : {"checklist_banks:f32:n=65536, ", "sectors", "wavefronts", "1179648", "--times"})
    EXPECT_TRUE(contains(told.out, part)) << part << "\n" << told.out;
  EXPECT_FALSE(contains(told.out, "x previous")) << told.out;
  const auto report = json::parse(ridge_program({"ladder", "checklist_banks", "--device", "cpu", "--json"}).out);
  for (const auto& rung : report["ladders"][0]["rungs"]) {
    EXPECT_EQ(rung["least_wavefronts"], 36864) << rung;
    EXPECT_EQ(rung["wavefronts"], rung["variant"] == "stride_32"  ? 1179648
                                  : rung["variant"] == "stride_4" ? 147456
                                  : rung["variant"] == "stride_2" ? 73728
                                                                  : 36864)
        << rung;
  }
}

// A program that is installed, far from its build: what it holds, and what it would take to have the rest.
TEST_F(Cli, LadderWithoutATracerSaysWhatItTakes) {
  const std::string alone = folder / "ridge";
  std::filesystem::copy_file(RIDGE_PROGRAM, alone);
  const auto told = run_program(alone, {"ladder", "softmax", "softmax:f32:rows=16,cols=128", "--device", "cpu"});
  expect_done(told);
  for (const char* part : {"counts that are held", "online", "512      512", "softmax:f32:rows=16,cols=128 --counts",
                           "needs ridge-trace, the target ridge_trace_cli"})
    EXPECT_TRUE(contains(told.out, part)) << part << "\n" << told.out;
  const auto report = json::parse(
      run_program(alone, {"ladder", "softmax", "softmax:f32:rows=16,cols=128", "--device", "cpu", "--json"}).out);
  int held = 0;
  for (const auto& rung : report["ladders"][0]["rungs"]) {
    if (rung["sectors"].is_null()) continue;
    EXPECT_NE(rung["variant"], "naive");
    ++held;
    EXPECT_EQ(rung["sectors"], 512) << rung;
    EXPECT_TRUE(rung["requests"].is_null()) << rung;
  }
  EXPECT_EQ(held, 2);  // warp_32 and short_32
  expect_refused(run_program(alone, {"ladder", "softmax", "--counts"}),
                 "there is no program " + folder / "ridge-trace");
}

TEST_F(CliTrace, ALadderByCounts) {
  const auto done = ridge_program({"ladder", "transpose", "transpose:f32:rows=64,cols=64", "--counts", "--json"});
  expect_done(done);
  std::map<std::string, json> rungs;
  const auto report = json::parse(done.out);
  for (const auto& rung : report["ladders"][0]["rungs"]) rungs[rung["variant"]] = rung;
  EXPECT_EQ(rungs["naive"]["least_sectors"], 2 * 64 * 64 * 4 / 32);
  EXPECT_EQ(rungs["naive"]["sectors"], (1 + 8) * 64 * 64 * 4 / 32);  // a sector for each element that is written
  EXPECT_EQ(rungs["shared"]["sectors"], rungs["shared"]["least_sectors"]);
  EXPECT_EQ(rungs["shared"]["least_wavefronts"], 2 * 64 * 64 / 32);
  EXPECT_EQ(rungs["shared"]["wavefronts"], (1 + 32) * 64 * 64 / 32);  // a column is one bank
  EXPECT_EQ(rungs["padded"]["wavefronts"], rungs["padded"]["least_wavefronts"]);
  EXPECT_EQ(rungs["copy"]["reason"].get<std::string>().substr(0, 10), "transpose:");
}

}  // namespace
}  // namespace ridge
