// ridge ops, devices and calibrate.
#include "cli.hpp"

#include <stdlib.h>

#include <algorithm>

namespace ridge {
namespace {

TEST_F(CliOnGpu, CalibratesAndKeepsIt) {
  setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1);
  const auto before = json::parse(ridge_program({"devices", "--json"}).out)["devices"][1];
  const auto done = ridge_program({"calibrate", "--json"});
  expect_done(done);
  const auto after = json::parse(ridge_program({"devices", "--json"}).out)["devices"][1];
  EXPECT_EQ(json::parse(done.out)["device"], after);
  const auto latencies = json::parse(done.out)["latencies"];
  for (const char* level : {"global", "L2", "L1", "shared"}) EXPECT_GT(latencies[level]["ns"], 0) << level;
  EXPECT_GT(latencies["global"]["cycles"], latencies["L2"]["cycles"]);
  EXPECT_GT(latencies["L2"]["cycles"], latencies["L1"]["cycles"]);
  EXPECT_GT(latencies["L1"]["cycles"], latencies["shared"]["cycles"]);
  EXPECT_TRUE(before["measured"].is_null());
  EXPECT_TRUE(contains(after["measured"].get<std::string>(), "read_gbs"));
  for (const char* figure : {"memory_gbs", "read_gbs"}) {
    EXPECT_GT(after[figure], 0.5 * before[figure].get<double>()) << figure;
    EXPECT_LT(after[figure], 2 * before[figure].get<double>()) << figure;
  }
  unsetenv("XDG_CACHE_HOME");
}

TEST_F(Cli, OpsAndDevices) {
  const auto ops_text = ridge_program({"ops"});
  expect_done(ops_text);
  for (const char* op : {"relu", "sum", "histogram", "softmax"}) EXPECT_TRUE(contains(ops_text.out, op)) << op;
  const auto ops_json = json::parse(ridge_program({"ops", "--json"}).out);
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(ops_text.out, '\n')), ops_json["operators"].size() + 3)
      << "a line each, titles, and what there is besides";
  const auto family = ridge_program({"ops", "norm"});
  expect_done(family);
  for (const char* op : {"layer_norm", "add_rms_norm", "warp_32"}) EXPECT_TRUE(contains(family.out, op)) << op;
  EXPECT_TRUE(contains(ridge_program({"ops", "histogram"}).out, "the number of bins; default 256"));
  for (const auto& op : ops_json["operators"]) {
    EXPECT_FALSE(op["variants"].empty()) << op;
    for (const auto& variant : op["variants"]) {
      if (variant["item"].is_null()) continue;
      EXPECT_NE(std::ranges::find(checklist, variant["item"].get<std::string>()), std::end(checklist)) << variant;
    }
    for (const char* key : {"name", "family", "summary", "inputs", "outputs", "dtypes", "options"})
      EXPECT_TRUE(op.contains(key)) << key;
  }
  const auto devices_text = ridge_program({"devices"});
  expect_done(devices_text);
  EXPECT_TRUE(contains(devices_text.out, "cpu")) << devices_text.out;
  const auto devices_json = json::parse(ridge_program({"devices", "--json"}).out);
  EXPECT_EQ(devices_json["devices"][0]["id"], "cpu");
  EXPECT_EQ(devices_json["no_gpu"].is_null(), devices_json["devices"].size() > 1);
  EXPECT_GE(devices_json["models"].size(), 7u);
}

// Each row says which item of the checklist it is about, but for the simplest, and those that only take more.
TEST_F(Cli, RowsHaveTheirItem) {
  for (const char* op : {"gemm", "grouped_gemm", "linear", "attention_merge"}) {
    const auto report = json::parse(ridge_program({"ops", op, "--json"}).out);
    const auto& rows = report["operators"][0]["variants"];
    ASSERT_FALSE(rows.empty()) << op;
    EXPECT_EQ(std::ranges::count_if(rows, [](const json& row) { return row["item"].is_null(); }),
              op == std::string("attention_merge") ? 0 : 2)  // naive, gate_naive
        << op;
  }
}

}  // namespace
}  // namespace ridge
