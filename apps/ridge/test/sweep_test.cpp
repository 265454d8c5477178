// ridge bench --sweep: problems at random.
#include "cli.hpp"

#include <algorithm>

namespace ridge {
namespace {

TEST_F(Cli, ASweepListsCasesToPaste) {
  const auto list = [](Arguments more) {
    Arguments all{"bench", "--sweep", "gemm", "--list"};
    all.insert(all.end(), more.begin(), more.end());
    const auto done = ridge_program(all);
    expect_done(done);
    return lines_of(done.out);
  };
  const auto small = list({"--count", "5", "--device", "cpu"});
  ASSERT_EQ(small.size(), 5u);
  EXPECT_EQ(list({"--count", "5", "--device", "cpu", "--seed", "1"}), small);
  EXPECT_NE(list({"--count", "5", "--device", "cpu", "--seed", "2"}), small);
  const auto fewer = list({"--count", "3", "--device", "cpu"});
  EXPECT_TRUE(std::ranges::equal(fewer, std::vector(small.begin(), small.begin() + 3)));
  Arguments check{"check", "--device", "cpu"};
  check.insert(check.end(), small.begin(), small.end());
  expect_done(ridge_program(check));
  // Those of a GPU need none to be listed.
  const auto large = list({"--device", "cuda"});
  ASSERT_EQ(large.size(), 100u);
  EXPECT_EQ(large[0], "gemm:bf16:m=1899,n=1408,k=1408:layout=nt");
  expect_done(ridge_program({"explain", large[0], "--on", "h200"}));
}

TEST_F(Cli, ASweepOnTheCpuIsChecked) {
  const std::string results = folder / "sweep.json";
  const auto done = ridge_program({"bench", "--sweep", "softmax", "--count", "4", "--seed", "3", "--device", "cpu",
                                   "--json", results, "--commit", "abc123"});
  expect_done(done);
  EXPECT_TRUE(contains(done.out, "worst error / tolerance")) << done.out;
  const auto report = json::parse(file_bytes(results));
  EXPECT_EQ(report["operator"], "softmax");
  EXPECT_EQ(report["seed"], 3);
  EXPECT_EQ(report["count"], 4);
  EXPECT_EQ(report["commit"], "abc123");
  EXPECT_EQ(report["failed"], 0);
  EXPECT_EQ(report["outcomes"].size(), 4u);
}

TEST_F(Cli, ASweepThatFindsAMismatchExitsWith1) {
  const auto failed = faulty_program({"bench", "--sweep", "faulty", "--count", "3", "--device", "cpu"});
  EXPECT_EQ(failed.code, 1) << failed.err;
  EXPECT_TRUE(contains(failed.out, "FAILED  faulty:f32:n=")) << failed.out;
  const auto report = faulty_program({"bench", "--sweep", "faulty", "--count", "3", "--device", "cpu", "--json"});
  EXPECT_EQ(report.code, 1);
  EXPECT_EQ(json::parse(report.out)["failed"], 3);
}

TEST_F(CliOnGpu, ASweepIsMeasured) {
  const std::string results = folder / "sweep.json";
  const auto done = ridge_program(
      {"bench", "--sweep", "softmax", "--count", "4", "--device", "cuda", "--repeats", "3", "--json", results});
  expect_done(done);
  const auto report = json::parse(file_bytes(results));
  EXPECT_EQ(report["measured"], 4);
  EXPECT_TRUE(report["geomean"].is_null());  // no peer of this program's measures it
  EXPECT_EQ(report["without_peer"].size(), 4u);
  EXPECT_EQ(report["furthest"].size(), 4u);
  EXPECT_GT(report["furthest"][0]["ridge_us"], 0);
  expect_done(ridge_program({"report", results, "-o", folder / "page"}));
}

}  // namespace
}  // namespace ridge
