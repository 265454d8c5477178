// ridge lab, on the files of lab/: what is right in them, and what is wrong.
#include "cli.hpp"
#include "page.hpp"

#include <chrono>
#include <map>
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

TEST_F(CliLab, LaunchesOfOneLineAreKeptApartWhereTheyDoNotDoTheSame) {
  const auto launches = json_of(study("given.cu", {"--trace", "--json"}))["run"]["launches"];
  std::vector<std::pair<std::string, int>> all;
  for (const auto& l : launches)
    all.emplace_back(l["kernel"].get<std::string>() + " " + l.value("given", "-"), l["launches"].get<int>());
  const std::vector<std::pair<std::string, int>> expected{
      {"copy argument 1 is float*, argument 2 is float*, argument 4 = 1", 3},
      {"copy argument 1 is float*, argument 2 is float*, argument 4 = 8", 3},
      {"copy argument 1 is double*, argument 2 is double*, argument 4 = 1", 1},
      {"kernel void copy<float>(float const*, float*, int, int)", 1},
      {"kernel clear(float const*, float*, int, int)", 1},
      {"step -", 50}};
  EXPECT_EQ(all, expected);
}

TEST_F(CliLab, UnrolledLoopsAreStraightCode) {
  const auto launches = json_of(study("unrolled.cu", {"--trace", "--json"}))["run"]["launches"];
  std::map<std::string, int> blocks;
  for (const auto& l : launches) blocks[l["kernel"].get<std::string>()] = l["trace"]["basic_blocks"].get<int>();
  EXPECT_GE(blocks["rolled"], 8);
  EXPECT_LE(blocks["unrolled"], 2);
  EXPECT_LE(blocks["of_template<width>"], 2);
  EXPECT_LE(blocks["tile"], 4 * 32);  // of 32 warps
}

TEST_F(CliLab, WhatTheEmulationDoesIsNotTheKernels) {
  const auto launches = json_of(study("emulated.cu", {"--trace", "--json"}))["run"]["launches"];
  ASSERT_EQ(launches.size(), 2u);
  for (const auto& l : launches) EXPECT_EQ(l["trace"]["branches"], json::array()) << l["kernel"];
  EXPECT_LE(launches[0]["trace"]["basic_blocks"].get<int>(), 4);
  EXPECT_LE(launches[1]["trace"]["basic_blocks"].get<int>(), 10);  // five sums among them
  ASSERT_EQ(launches[1]["trace"]["accesses"].size(), 2u);
  EXPECT_EQ(launches[1]["trace"]["accesses"][0]["line"], 16);
}

TEST_F(CliLab, AtomicsHaveTheKernelsLines) {
  const auto launches = json_of(study("atomics.cu", {"--trace", "--json"}))["run"]["launches"];
  std::vector<int> lines;
  for (const auto& l : launches)
    for (const auto& a : l["trace"]["accesses"])
      if (a["kind"] == "atomic" && contains(a["file"].get<std::string>(), "atomics.cu")) lines.push_back(a["line"]);
  EXPECT_EQ(lines, (std::vector<int>{5, 6, 7, 8, 9, 12, 13}));
}

TEST_F(CliLab, TexturesAreRefusedWhereTheyAreUsed) {
  const auto done = study("texture.cu", {"--run"});
  EXPECT_EQ(done.code, 2);
  EXPECT_TRUE(contains(done.err, "texture.cu:3:")) << done.err;
  EXPECT_TRUE(contains(done.err, "textures and surfaces are not emulated: read global memory")) << done.err;
}

TEST_F(CliLab, AnEventsTimeIsTheProcessorsWhereNoneIsPredicted) {
  EXPECT_TRUE(contains(study("saxpy.cu", {"--run", "--", "100000"}).out, "largest error 0, timed\n"));
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
  for (const char* more :
       {"refused.cu:12: nothing: 49153 bytes of dynamic shared memory: more than 48 KB must be allowed",
        "refused.cu:14: nothing: 65537 bytes of dynamic shared memory"})
    EXPECT_TRUE(contains(done.out, more)) << done.out;
  EXPECT_FALSE(contains(done.out, "refused.cu:15: ")) << done.out;
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

TEST_F(CliLab, ARunThatIsStoppedReportsWhatItHasSeen) {
  const auto done = study("endless.cu", {"--trace", "--seconds", "3"});
  EXPECT_EQ(done.code, 1);
  EXPECT_TRUE(contains(done.out, "endless.cu:12 twice  grid (4096), block (256), ")) << done.out << done.err;
  EXPECT_TRUE(contains(done.out, "us each, bound by ")) << done.out;
  EXPECT_TRUE(contains(done.out, "trace: stopped after 3 s (--seconds)\n")) << done.out;
  EXPECT_FALSE(contains(done.out, "never freed")) << done.out;  // it had not come to it
}

TEST_F(CliLab, EveryRunReadsTheSameInput) {
  std::string numbers;
  for (int i = 1; i <= 1000; ++i) numbers += std::to_string(i) + "\n";
  const std::string input = folder.write("numbers", numbers), lab = quoted_program + "lab " + file("input.cu");
  for (const std::string& way : {lab + " <" + input, "cat " + input + " | " + lab}) {
    const auto done = shell(way);
    EXPECT_EQ(done.code, 0) << way << done.out << done.err;
    EXPECT_TRUE(contains(done.out, "sum 500500 of 1000\n")) << done.out;
  }
}

TEST_F(CliLab, NobodyWaitsForAnInputThatIsNotRead) {
  const std::string open = folder / "open";
  const auto begun = std::chrono::steady_clock::now();
  const auto done = shell("mkfifo " + open + "; sleep 300 >" + open + " & " + quoted_program + "lab " +
                          file("nested.cu") + " --run <" + open + "; kill $!");
  EXPECT_TRUE(contains(done.out, "6 6\n")) << done.out << done.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(200));
}

TEST_F(CliLab, FunctionsOfCudaAndKernelsMayBePointers) {
  const auto done = study("pointers.cu", {"--trace"});
  EXPECT_TRUE(contains(done.out, "10 7\n")) << done.out << done.err;
  EXPECT_TRUE(contains(done.out,
                       "wrong:\n  pointers.cu:61: cudaLaunchKernel: which kernel's this pointer is was not to "
                       "be seen: give it the kernel itself"))
      << done.out;
  EXPECT_TRUE(contains(done.out, " twice_float  grid (1), block (32)")) << done.out;
  EXPECT_FALSE(contains(done.out, "never freed")) << done.out;
}

TEST_F(CliLab, StaticObjectsMayCallCuda) {
  const auto done = study("statics.cu", {});
  expect_done(done);
  EXPECT_TRUE(contains(done.out, "7\n")) << done.out;
  EXPECT_TRUE(contains(done.out, "2 launches")) << done.out;
  EXPECT_FALSE(contains(done.out, "never freed")) << done.out;
}

TEST_F(CliLab, TheSamplesHelpersAreThere) {
  const auto done = study("vectors.cu", {"--run"});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  const std::string own = folder.write("own.cu", "#include \"helper_math.h\"\nint main() { return of_mine; }\n");
  folder.write("helper_math.h", "constexpr int of_mine = 0;\n");
  expect_done(ridge_program({"lab", own, "--run"}));
}

TEST_F(CliLab, MoreStaticSharedMemoryThanABlockHasIsRefused) {
  const std::string large = folder.write("large.cu",
                                         "template <int N> __global__ void k(float* x) {\n  __shared__ float s[N];\n"
                                         "  __shared__ float t[32];\n  s[threadIdx.x] = t[0];\n  *x = s[0];\n}\n"
                                         "int main() { k<12256><<<1, 1>>>(nullptr); k<12257><<<1, 1>>>(nullptr); }\n");
  expect_refused(ridge_program({"lab", large, "--run"}),
                 "large.cu:3: 49156 bytes of static shared memory: a block may have 49152");
}

TEST_F(CliLab, AnotherCompilerThanGnusIsNotTaken) {
  const auto done = shell("CXX=/nowhere/clang++ " + quoted_program + "lab " + file("nested.cu") + " --run");
  EXPECT_EQ(done.code, 0) << done.err;
  const auto refused = shell("CXX=/nowhere/g++-99 " + quoted_program + "lab " + file("nested.cu") + " --run");
  expect_refused(refused, "/nowhere/g++-99 cannot be started");
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
  EXPECT_EQ(page_fault(html), "") << html;
  EXPECT_TRUE(contains(html, "y[col * size + row] = x[row * size + col];"));
  EXPECT_TRUE(contains(html, "<tr id=\"transpose.cu-8\" class=\"hot\">"));
  // Bytes are counted and operations are not: lines below the roofs, and no intensity in the table.
  EXPECT_TRUE(contains(html, "DRAM 3.35 TB/s") && contains(html, ">1 naive</text>") &&
              contains(html, ">2 tiled</text>"));
  EXPECT_FALSE(contains(html, "per byte</th>"));
}

TEST_F(CliLab, ThePageEscapesWhatTheSourceAndItsNameHold) {
  const std::string page = folder / "page.html",
                    odd = folder.write("a<b>&.cu",
                                       "__global__ void f(int* x) {\n\t*x = 1;  // \"<script>\" & </table>\n}\n"
                                       "int main() {\n  int* x;\n  cudaMalloc(&x, 4);\n  f<<<1, 1>>>(x);\n"
                                       "  cudaDeviceSynchronize();\n  cudaFree(x);\n}\n");
  expect_done(ridge_program({"lab", odd, "--trace", "--html", page}));
  const std::string html = file_bytes(page);
  EXPECT_EQ(page_fault(html), "") << html;
  EXPECT_TRUE(contains(html, "<title>a&lt;b&gt;&amp;.cu</title>")) << html;
  EXPECT_TRUE(contains(html, "        *x = 1;  // &quot;&lt;script&gt;&quot; &amp; &lt;/table&gt;</td>")) << html;
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
