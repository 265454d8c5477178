// ridge explain.
#include "cli.hpp"

#include <chrono>

namespace ridge {
namespace {

TEST_F(CliOnGpu, ExplainAsksTheBuiltKernels) {
  for (const char* text :
       {"relu:f32:n=1048576", "softmax:bf16:rows=4096,cols=50257", "sum:f32:n=1048576", "histogram:u8:n=1048576"}) {
    const auto done = ridge_program({"explain", text, "--on", "cuda", "--json"});
    expect_done(done);
    const auto analysis = json::parse(done.out)["analysis"];
    EXPECT_EQ(analysis["registers_source"], "the built kernel") << text;  // and no spilled registers
    EXPECT_GT(analysis["registers"], 0) << text;
    EXPECT_GT(analysis["blocks_per_multiprocessor"], 0) << text;
  }
}

TEST_F(Cli, ExplainNeedsNoDevice) {
  const auto text = ridge_program({"explain", "softmax:f32:rows=8192,cols=50264", "--on", "h200"});
  expect_done(text);
  EXPECT_TRUE(contains(text.out, "bound by    memory")) << text.out;
  const auto report =
      json::parse(ridge_program({"explain", "softmax:f32:rows=8192,cols=50264", "--on", "h200", "--json"}).out);
  EXPECT_EQ(report["operator"], "softmax");
  EXPECT_EQ(report["bound"], "memory");
  EXPECT_EQ(report["bytes"], 2.0 * 8192 * 50264 * 4);
  EXPECT_GT(report["operations"], 0);
  EXPECT_GT(report["least_us"], 0);
  EXPECT_GE(report["predicted_us"], report["least_us"]);
  ASSERT_FALSE(report["candidates"].empty());
  for (const auto& candidate : report["candidates"]) EXPECT_EQ(candidate["fits"], candidate["reason"] == "");
}

TEST_F(Cli, ExplainSaysWhyACheaperRowIsNotChosen) {
  const std::string text = "softmax:f32:rows=64,cols=17";
  const auto told = ridge_program({"explain", text, "--device", "h200"});
  expect_done(told);
  for (const char* part : {"  lesson\n", "lesson: runs by name", "  fallback\n", "fallback: chosen where"})
    EXPECT_TRUE(contains(told.out, part)) << part << "\n" << told.out;
  const auto report = json::parse(ridge_program({"explain", text, "--on", "h200", "--json"}).out);
  double least = 1e30, chosen = 0;
  for (const auto& row : report["candidates"]) {
    if (!row["fits"]) continue;
    if (row["role"] == "general") least = std::min(least, row["predicted_us"].get<double>());
    if (row["variant"] == report["variant"]) chosen = row["predicted_us"];
  }
  EXPECT_EQ(chosen, least);
}

TEST_F(Cli, ExplainSaysWhatHasNotBeenMeasured) {
  const auto told = ridge_program({"explain", "gemm:bf16:m=512,n=6144,k=4096:layout=nt", "--on", "h200"});
  expect_done(told);
  for (const char* part : {"stream_k", "  trial\n", "trial: not measured yet"})
    EXPECT_TRUE(contains(told.out, part)) << part << "\n" << told.out;
}

TEST_F(Cli, ExplainFoldsRefusals) {
  const std::string text = "gemm:bf16:m=64,n=64,k=64";
  const auto folded = ridge_program({"explain", text, "--on", "h200"}),
             all = ridge_program({"explain", text, "--on", "h200", "--all"});
  expect_done(folded);
  expect_done(all);
  EXPECT_TRUE(contains(folded.out, "no: not instantiated for bf16 (")) << folded.out;
  EXPECT_FALSE(contains(folded.out, "double_buffer")) << folded.out;
  EXPECT_TRUE(contains(all.out, "double_buffer")) << all.out;
}

TEST_F(Cli, ExplainShowsEachTerm) {
  const std::string text = "softmax:bf16:rows=4096,cols=50257";
  const auto told = ridge_program({"explain", text, "--on", "h200"});
  expect_done(told);
  for (const char* part : {"intensity", "DRAM", "L2", "shared", "occupancy", "waves", "in flight", "launch", "memory",
                           "latency", "arithmetic", "tail", "to gain", "<- chosen", "no: a row has"})
    EXPECT_TRUE(contains(told.out, part)) << part << "\n" << told.out;
  const auto report = json::parse(ridge_program({"explain", text, "--on", "h200", "--json"}).out);
  const auto& analysis = report["analysis"];
  for (const char* key : {"terms", "intensity", "levels", "blocks", "occupancy", "limiter", "waves", "tail_share",
                          "tile_efficiency", "bytes_in_flight", "bytes_needed", "registers_source", "advice"})
    EXPECT_TRUE(analysis.contains(key)) << key;
  EXPECT_EQ(analysis["levels"].size(), 3u);
  double together = 0;
  for (const auto& term : analysis["terms"]) together += term["us"].get<double>();
  EXPECT_GE(together, report["predicted_us"]);  // some of them overlap
}

TEST_F(Cli, ExplainTakesUnder50Milliseconds) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i)
    expect_done(ridge_program({"explain", "softmax:bf16:rows=4096,cols=50257", "--on", "h200"}));
  const std::chrono::duration<double, std::milli> each = (std::chrono::steady_clock::now() - begin) / 10;
  EXPECT_LT(each.count(), 50) << "the whole process, its start included";
}

TEST_F(Cli, ExplainDrawsTheRoofline) {
  const std::string drawing = folder / "roof.svg";
  expect_done(ridge_program({"explain", "sum:f32:n=1048576", "--on", "a100", "--plot", drawing}));
  const std::string svg = file_bytes(drawing);
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  for (const char* part : {"DRAM 2.04 TB/s", "L2 7.2 TB/s", "shared", "fp32 19.5", "(chosen)"})
    EXPECT_TRUE(contains(svg, part)) << part;
  expect_refused(ridge_program({"explain", "copy:f32:n=64", "--on", "a100", "--plot", drawing}), "computes nothing");
}

// ---- padding --------------------------------------------------------------------------------------------------------

json explained(const std::string& text, const std::string& on = "h200") {
  const auto told = ridge_program({"explain", text, "--on", on, "--json"});
  EXPECT_EQ(told.code, 0) << told.err;
  return json::parse(told.out);
}

TEST_F(Cli, ExplainPadsWhereThatIsPredictedToPay) {
  const std::string text = "gemm:bf16:m=4096,n=4096,k=4095:layout=nt";
  const auto e = explained(text), padded = explained("gemm:bf16:m=4096,n=4096,k=4096:layout=nt");
  ASSERT_FALSE(e["padding"].is_null());
  ASSERT_EQ(e["padding"]["sizes"].size(), 1u);
  EXPECT_EQ(e["padding"]["sizes"][0], (json{{"size", "k"}, {"from", 4095}, {"to", 4096}}));
  for (const char* key : {"variant", "predicted_us"}) EXPECT_EQ(e["padding"][key], padded[key]) << key;
  EXPECT_LT(padded["predicted_us"], 0.9 * e["predicted_us"].get<double>());
  const auto told = ridge_program({"explain", text, "--on", "h200"});
  EXPECT_TRUE(contains(told.out, "pad k from 4095 to 4096: predicted ")) << told.out;
}

// Of sizes that must be padded together those alone are named that gain something.
TEST_F(Cli, ExplainPadsSizesTogether) {
  const auto e = explained("gemm:f16:m=2000,n=4095,k=4095:layout=nt");
  ASSERT_FALSE(e["padding"].is_null());
  for (const auto& size : e["padding"]["sizes"]) EXPECT_NE(size["size"], "m") << e["padding"];
  ASSERT_EQ(e["padding"]["sizes"].size(), 2u) << e["padding"];
}

TEST_F(Cli, ExplainPadsNothingElse) {
  for (const char* text : {"gemm:bf16:m=4096,n=4096,k=4096:layout=nt",  // nothing to pad
                           "relu:f32:n=1000001",                        // nothing to gain
                           "relu:f32:n=7",                              // too small to tell
                           "max_pool2d:f32:n=1,c=8,h=6,w=7,r=3:backward"}) {
    EXPECT_TRUE(explained(text)["padding"].is_null()) << text;
    EXPECT_FALSE(contains(ridge_program({"explain", text, "--on", "h200"}).out, "where the result allows it")) << text;
  }
  EXPECT_TRUE(explained("gemm:bf16:m=64,n=64,k=63", "cpu")["padding"].is_null());
}

// ---- the block size -------------------------------------------------------------------------------------------------

TEST_F(Cli, ExplainSaysWhichBlockSizeIsFullest) {
  const auto e = explained("softmax:bf16:rows=65536,cols=1024");
  ASSERT_FALSE(e["block_size"].is_null());
  EXPECT_EQ(e["block_size"]["threads"], e["analysis"]["threads"]);  // 64 registers: no size has more than half
  EXPECT_EQ(e["block_size"]["occupancy"], e["analysis"]["occupancy"]);
  EXPECT_TRUE(explained("add:f32:n=4096")["block_size"].is_null());  // the grid leaves places empty, not the block
  EXPECT_TRUE(explained("add:f32:n=4096", "cpu")["block_size"].is_null());
}

TEST_F(Cli, ExplainNamesABlockSizeWhereLatencyIsWaitedFor) {
  const std::string text = "gemv:bf16:m=4095,k=4095:layout=t";
  const auto e = explained(text);
  EXPECT_GT(e["block_size"]["occupancy"], e["analysis"]["occupancy"]);
  const auto told = ridge_program({"explain", text, "--on", "h200"});
  EXPECT_TRUE(contains(told.out, "occupancy would pick blocks of ")) << told.out;
}

}  // namespace
}  // namespace ridge
