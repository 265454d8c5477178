// ridge lab, on the files of lab/: what is right in them, and what is wrong.
#include "cli.hpp"

#include <utility>

namespace ridge {
namespace {

class CliLab : public Cli {
 protected:
  static std::string file(const std::string& name) { return std::string(RIDGE_LAB_FILES) + "/" + name; }
  static Finished study(const std::string& name, Arguments more) {
    more.insert(more.begin(), {"lab", file(name)});
    return ridge_program(std::move(more));
  }
  static json json_of(const Finished& finished) { return json::parse(finished.out); }
};

TEST_F(CliLab, ARightFileIsRunAndItsTimePredicted) {
  const auto done = study("saxpy.cu", {"--trace", "--", "100000"});
  expect_done(done);
  EXPECT_TRUE(contains(done.out, "largest error 0, timed\n")) << done.out;  // the program's own output
  EXPECT_TRUE(contains(done.out, "saxpy.cu:23 saxpy  grid (391), block (256)")) << done.out;
  EXPECT_TRUE(contains(done.out, "nothing wrong was found")) << done.out;
}

TEST_F(CliLab, LinesThatWasteSectorsAndBanksComeWithWhatWouldGain) {
  const auto launches = json_of(study("transpose.cu", {"--trace", "--json"}))["run"]["launches"];
  ASSERT_EQ(launches.size(), 2u);
  const auto stored = launches[0]["trace"]["accesses"][1];
  EXPECT_EQ(stored["line"], 8);
  EXPECT_EQ(stored["units"].get<int>(), 32 * stored["requests"].get<int>());
  EXPECT_EQ(stored["least"].get<int>(), 4 * stored["requests"].get<int>());
  const auto says = [](const json& launch, const std::string& what) {
    for (const auto& advice : launch["advice"])
      if (contains(advice["text"].get<std::string>(), what)) return true;
    return false;
  };
  EXPECT_TRUE(says(launches[0], "coalesce: 32.0 sectors")) << launches[0]["advice"];
  EXPECT_TRUE(says(launches[1], "no bank conflicts: 32.0 wavefronts")) << launches[1]["advice"];
}

TEST_F(CliLab, AMissingBarrierIsARace) {
  const auto done = study("race.cu", {"--race"});
  EXPECT_EQ(done.code, 1);
  EXPECT_TRUE(contains(done.out, "race.cu:10: race: a thread writes what another reads at race.cu:10")) << done.out;
}

TEST_F(CliLab, AnAccessOutOfBoundsNamesLineThreadAndAllocation) {
  const auto done = study("beyond.cu", {"--bounds"});
  EXPECT_EQ(done.code, 1);
  EXPECT_TRUE(contains(done.out,
                       "beyond.cu:2: block (3,0,0), thread (232,0,0) writes 4 bytes out of bounds: 0 bytes to the "
                       "right of 4000-byte region, allocated at beyond.cu:6"))
      << done.out;
}

TEST_F(CliLab, HostCodeMayNotFollowADevicesPointer) {
  const auto done = study("host_access.cu", {"--trace"});
  EXPECT_EQ(done.code, 1);
  EXPECT_TRUE(contains(done.out, "host_access.cu:6: host code reads or writes device memory: ")) << done.out;
  EXPECT_TRUE(contains(done.out, "is 12 bytes into the 400 bytes that cudaMalloc gave at host_access.cu:5"))
      << done.out;
  EXPECT_FALSE(contains(done.out, "not reached")) << done.out;
}

TEST_F(CliLab, SharedMemoryThatNobodyWroteIsFoundAndThreadsMayLeaveBeforeABarrier) {
  const auto done = study("unset.cu", {"--trace"});
  EXPECT_EQ(done.code, 1);
  EXPECT_TRUE(contains(done.out, "wrong:\n  unset.cu:7: reads shared memory that no thread of the block has written\n"))
      << done.out;
}

TEST_F(CliLab, WhatNoDeviceTakesIsRefusedAsADeviceWould) {
  const auto done = study("refused.cu", {"--run"});
  EXPECT_EQ(done.code, 1);
  EXPECT_TRUE(contains(done.out, "cudaErrorInvalidConfiguration\ncudaErrorLaunchFailure\n")) << done.out;
  EXPECT_TRUE(contains(done.out, "refused.cu:10: nothing: a block of (2048,1,1) threads: it may have 1024"))
      << done.out;
  EXPECT_TRUE(contains(done.out, "PTX is not emulated: ")) << done.out;
}

TEST_F(CliLab, AKernelMayLaunchAnother) {
  const auto done = study("nested.cu", {"--run"});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_TRUE(contains(done.out, "6 6\n")) << done.out;
}

TEST_F(CliLab, WhatWasFoundSurvivesAnAbort) {
  const auto right = study("ends.cu", {"--trace"});
  EXPECT_EQ(right.code, 0) << right.out;  // memset in a kernel and padding are no unset memory
  const auto ended = study("ends.cu", {"--trace", "--", "now"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(contains(ended.out, "trace: the program ended without a report, by abort() or _exit()\n")) << ended.out;
  EXPECT_TRUE(contains(ended.out, "ends.cu:32: right: argument 1 points to host memory, which a device cannot read\n"))
      << ended.out;
}

TEST_F(CliLab, ALibraryThatIsNotCompiledIsNotRefused) {
  const std::string file =
      folder.write("guarded.cu", "#ifdef USE_THRUST\n#include <thrust/sort.h>\n#endif\nint main() {}\n");
  expect_done(ridge_program({"lab", file, "--run"}));
}

TEST_F(CliLab, ThePageHoldsTheSourceAndItsGutter) {
  const std::string page = folder / "page.html";
  expect_done(study("transpose.cu", {"--trace", "--html", page}));
  const std::string html = file_bytes(page);
  EXPECT_TRUE(html.starts_with("<!doctype html>")) << html.substr(0, 80);
  EXPECT_TRUE(contains(html, "y[col * size + row] = x[row * size + col];"));
  EXPECT_TRUE(contains(html, "<tr class=\"hot\"><td class=\"n\">8</td>"));
  EXPECT_FALSE(contains(html, "<script") || contains(html, "http"));
}

TEST_F(CliLab, WhatIsWrongWithARequest) {
  expect_refused(study("nowhere.cu", {}), "there is no file " + file("nowhere.cu"));
  expect_refused(study("saxpy.cu", {"--on", "h1000"}), "h1000");
  const std::string thrust = folder.write("sorts.cu", "#include <cstdio>\n#include <thrust/sort.h>\nint main() {}\n");
  expect_refused(ridge_program({"lab", thrust}),
                 "sorts.cu:2: Thrust (thrust/sort.h) is not emulated: the lab runs the kernels of your own files");
  const std::string broken = folder.write("broken.cu", "int main() { return x; }\n");
  const auto refused = ridge_program({"lab", broken, "--run"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(contains(refused.err, "broken.cu:1:21: error: ")) << refused.err;
}

}  // namespace
}  // namespace ridge
